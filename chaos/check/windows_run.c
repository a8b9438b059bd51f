/* Windows in a run: the events that they listen to, and their rules in the server. */
#include "chaos/check/running.h"
#include "server/base/clock.h"

void qn_running_feed_windows(struct qn_running *run, const struct qn_check_event *event)
{
    struct qn_str name = qn_watch_name(&run->watch, event->instance);

    if (!qn_windows_are_over(&run->windows) &&
        !qn_str_equal(event->instance, QN_STR(QN_SERVER_SELF))) {
        qn_windows_feed(&run->windows, event, name);
    }
}

/* Behind the first call that fails in the last one: what a poll that was parked before then would
 * bring away shows nothing of who comes back. Where that was before anybody was ready, or there is
 * no window, from readiness on. */
static void plan_load(struct qn_running *run)
{
    const struct qn_windows *windows = &run->windows;
    bool is_due = qn_windows_are_over(windows) ||
                  (qn_windows_is_last(windows) && qn_windows_is_noticed(windows));

    if (!is_due || run->ready_virtual_ms == 0 || run->is_window_load_planned) {
        return;
    }
    run->is_window_load_planned = true;
    if (windows->count > 0) {
        run->turned_ms = qn_recorder_now_ms(&run->recorder);
    }
    qn_load_plan(&run->load, QN_LOAD_WAITS_FOR_WINDOW,
                 windows->count > 0 ? run->turned_ms - run->ready_virtual_ms : 0);
}

static bool open_window(struct qn_running *run, const struct qn_fault *fault, struct qn_error *err)
{
    run->window_rule = qn_running_rule(run, fault->text);
    if (!qn_server_add_rule(&run->server, run->window_rule, err)) {
        return false;
    }
    qn_windows_opened(&run->windows);
    return true;
}

static bool end_window(struct qn_running *run, const struct qn_fault *fault, int64_t now_ms,
                       struct qn_error *err)
{
    if (!qn_server_remove_rule(&run->server, run->window_rule, fault->from->name.ptr, err)) {
        return false;
    }
    qn_windows_ended(&run->windows, now_ms);
    return true;
}

bool qn_running_move_windows(struct qn_running *run, struct qn_error *err)
{
    const struct qn_clock wall = qn_clock_system();
    int64_t now_ms = wall.now_ms(wall.state);
    struct qn_windows *windows = &run->windows;
    enum qn_windows_step step = qn_windows_step(windows, now_ms);

    plan_load(run);
    if (step == QN_WINDOWS_WAIT) {
        return true;
    }
    const struct qn_fault *fault = windows->items[windows->now].fault;
    bool ok = step == QN_WINDOWS_OPEN ? open_window(run, fault, err)
                                      : end_window(run, fault, now_ms, err);
    if (ok && run->ready_virtual_ms != 0) {
        run->turned_ms = qn_recorder_now_ms(&run->recorder);
    }
    return ok;
}
