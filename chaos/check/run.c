/* The course of one scenario: one thread, one loop over the sink, the trace, the processes and the
 * clock. */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/check/process.h"
#include "chaos/check/running.h"
#include "chaos/check/signals.h"
#include "client/lambda/environment.h"
#include "server/base/clock.h"
#include "server/base/log.h"

enum {
    TRACE_EVERY_MS = 10,
    COUNT_EVERY_MS = 1000,
    PROGRESS_EVERY_MS = 100,
    COUNT_WHEN_EMPTY_MS = 50,
    TRACE_FAILURES_MAX = 200,
    EARLY_EXITS_MAX = 5,
    SLOW_STARTS_MAX = 2, /* as many environments as there are at least at first */
    SKIP_LEAST_MS = 100,
    SLOW_MESSAGE_MS = 5000,
    GIVE_UP_MORE_MS = 60000,
    SLOW_TIMES_MAX = 10 /* so many times the limit, at most */
};

static int64_t wall_ms(void)
{
    struct qn_clock wall = qn_clock_system();

    return wall.now_ms(wall.state);
}

/* New events of the server: into the live picture; what they ask of the harness becomes orders. */
bool qn_running_read_trace(struct qn_running *run, struct qn_error *err)
{
    size_t from = run->watch.read_count;

    if (!qn_server_read_trace(&run->server, err)) {
        return false;
    }
    for (size_t i = from; i < run->history.count; i++) {
        const struct qn_check_event *event = &run->history.events[i];
        if (run->options->verbose) {
            qn_running_tell(event);
        }
        run->fired += event->kind == QN_CHECK_FAULT;
        run->starts += event->kind == QN_CHECK_LAMBDA_STARTED;
        run->failed_starts += event->kind == QN_CHECK_LAMBDA_NOT_STARTED;
        run->slow_starts +=
            event->kind == QN_CHECK_LAMBDA_NOT_STARTED &&
            qn_str_starts_with(event->detail->reason, QN_STR(QN_LAMBDA_INIT_TIMEOUT));
        if (event->is_read) {
            qn_watch_feed(&run->watch, event);
        }
        qn_running_feed_windows(run, event);
        if (event->is_read && event->kind == QN_CHECK_FAULT) {
            qn_faults_take_from_server(&run->faults, event);
        }
    }
    run->watch.read_count = run->history.count;
    return true;
}

static bool is_server_up(const struct qn_running *run)
{
    return run->server.pid != 0;
}

/* It may have died a moment ago, which the next reaping will tell: only lasting failure is an
 * error. */
static bool poll_trace(struct qn_running *run, int64_t now_ms, struct qn_error *err)
{
    if (!is_server_up(run) || now_ms < run->next_trace_ms) {
        return true;
    }
    run->next_trace_ms = now_ms + TRACE_EVERY_MS;
    for (size_t i = 0; i < run->instance_count; i++) {
        qn_log_read(&run->instances[i].log, false);
    }
    if (qn_running_read_trace(run, err)) {
        run->trace_failures = 0;
        return true;
    }
    return ++run->trace_failures < TRACE_FAILURES_MAX;
}

static bool server_has_ended(struct qn_running *run, int status, struct qn_error *err)
{
    int64_t delay_ms;

    run->server.pid = 0;
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL ||
        !qn_running_restart_delay(run, &delay_ms)) {
        return qn_fail(err, QN_ERR_INTERNAL, "the server ended by itself (%s %d)",
                       WIFSIGNALED(status) ? "signal" : "exit code",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    run->server_restart_ms = qn_clock_monotonic_ms() + delay_ms;
    return true;
}

static bool reap(struct qn_running *run, struct qn_error *err)
{
    pid_t pid;
    int status;

    while (qn_process_reap(&pid, &status)) {
        if (pid == run->server.pid) {
            if (!server_has_ended(run, status, err)) {
                return false;
            }
            continue;
        }
        if (qn_instance_stop_has_ended(run, pid, status)) {
            continue;
        }
        for (size_t i = 0; i < run->instance_count; i++) {
            if (run->instances[i].pid == pid) {
                qn_instance_has_ended(run, &run->instances[i], status);
            }
        }
    }
    return true;
}

static void read_signals(struct qn_running *run)
{
    run->is_interrupted = qn_signals_heard_end(run->signal_fd) || run->is_interrupted;
}

/* Starts again what is due. */
static bool restart(struct qn_running *run, int64_t now_ms, struct qn_error *err)
{
    if (run->server_restart_ms != 0 && now_ms >= run->server_restart_ms) {
        run->server_restart_ms = 0;
        if (!qn_server_restart(&run->server, err)) {
            return false;
        }
    }
    return qn_instances_tick(run, now_ms, err);
}

static bool all_are_ready(const struct qn_running *run)
{
    for (size_t i = 0; i < run->instance_count; i++) {
        if (!run->instances[i].is_ready) {
            return false;
        }
    }
    return is_server_up(run);
}

static void note_readiness(struct qn_running *run, int64_t now_ms)
{
    for (size_t i = 0; i < run->instance_count; i++) {
        struct qn_instance *instance = &run->instances[i];
        const struct qn_watch_instance *seen =
            qn_watch_instance_at(&run->watch, qn_str_from_cstr(instance->name));
        if (seen->has_called || qn_instance_says_ready(run, instance, now_ms)) {
            qn_instance_mark_ready(run, instance);
        }
        if (instance->is_ready && run->ready_virtual_ms == 0) {
            run->ready_virtual_ms = qn_recorder_now_ms(&run->recorder);
            run->faults.ready_ms = run->ready_virtual_ms;
            (void)qn_server_mark(&run->server, "ready"); /* from here on rules count their times */
        }
    }
    /* A slow start is not held against the consumer, the first time or any other; up to a limit,
     * for one that never comes up again. */
    if (run->ready_virtual_ms != 0 && !all_are_ready(run) &&
        run->paused_ms < run->options->startup_ms) {
        run->paused_ms += now_ms - run->last_pass_ms;
    }
    run->last_pass_ms = now_ms;
}

/* Nothing can happen but time: every instance waits for messages, the sink has no work, and what is
 * leased is leased to the dead. */
static bool can_skip(struct qn_running *run)
{
    if (run->options->no_idle_skip || !all_are_ready(run) || qn_faults_are_pending(&run->faults) ||
        qn_effects_open_count(qn_sink_effects(run->sink)) > 0 || qn_watch_is_held(&run->watch)) {
        return false;
    }
    for (size_t i = 0; i < run->instance_count; i++) {
        const struct qn_watch_instance *seen =
            qn_watch_instance_at(&run->watch, qn_str_from_cstr(run->instances[i].name));
        if (!qn_watch_is_idle(seen, wall_ms())) {
            return false;
        }
    }
    return true;
}

static void skip_idle_time(struct qn_running *run)
{
    int64_t next_ms = qn_watch_next_deadline_ms(&run->watch);
    int64_t delay_ms = qn_watch_next_delay_ms(&run->watch, qn_recorder_now_ms(&run->recorder));
    int64_t by_ms;

    next_ms = delay_ms < next_ms ? delay_ms : next_ms;
    if (next_ms == INT64_MAX || !can_skip(run)) {
        return;
    }
    by_ms = next_ms - qn_recorder_now_ms(&run->recorder) + 1;
    if (by_ms >= SKIP_LEAST_MS) {
        (void)qn_server_advance(&run->server, by_ms, true);
    }
}

/* Asks for the counts when they may have come to nothing, and now and then besides. */
static void look_at_queue(struct qn_running *run, int64_t now_ms)
{
    bool may_be_empty = run->watch.left == 0 && run->ready_virtual_ms != 0;
    struct qn_error ignored; /* the trace's failures are counted already */

    if (!is_server_up(run) || !run->is_queue_there || now_ms < run->next_count_ms) {
        return;
    }
    run->next_count_ms = now_ms + (may_be_empty ? COUNT_WHEN_EMPTY_MS : COUNT_EVERY_MS);
    if (!qn_running_count(run, &ignored)) {
        return;
    }
    bool is_drained = run->ready_virtual_ms != 0 && qn_load_next_ms(&run->load) == INT64_MAX &&
                      run->visible + run->in_flight + run->delayed == 0 &&
                      qn_effects_open_count(qn_sink_effects(run->sink)) == 0;
    if (!is_drained) {
        run->drained_since_ms = 0;
    } else if (run->drained_since_ms == 0) {
        run->drained_since_ms = now_ms;
    }
}

static bool faults_have_fired(const struct qn_running *run)
{
    for (size_t i = 0; i < run->scenario->fault_count; i++) {
        const struct qn_scenario_fault *fault = &run->scenario->faults[i];
        int64_t fired = 0;
        for (size_t j = 0; j < run->history.count; j++) {
            const struct qn_check_event *event = &run->history.events[j];
            fired +=
                event->kind == QN_CHECK_FAULT && qn_str_equal(event->detail->rule, fault->name);
        }
        if (fired == 0) {
            return false;
        }
    }
    return true;
}

static int64_t since_ready_ms(const struct qn_running *run)
{
    return qn_recorder_now_ms(&run->recorder) - run->ready_virtual_ms;
}

/* What polls for a function is ready at once, whatever becomes of the function. */
static bool is_function_hopeless(const struct qn_running *run, int64_t now_ms)
{
    return run->starts == 0 &&
           (run->failed_starts >= EARLY_EXITS_MAX || run->slow_starts >= SLOW_STARTS_MAX ||
            (run->failed_starts > 0 && now_ms - run->first_spawn_ms > run->options->startup_ms));
}

/* Whether the scenario has come to its end: drained for a while, out of time, or hopeless. */
static bool is_finished(const struct qn_running *run, int64_t now_ms)
{
    int64_t limit_ms = run->limit_ms;
    bool is_pending = qn_faults_are_pending(&run->faults) || run->server_restart_ms != 0 ||
                      !qn_windows_are_over(&run->windows);

    if (run->is_out_of_time || is_function_hopeless(run, now_ms)) {
        return true;
    }
    if (run->ready_virtual_ms == 0) {
        bool gives_up = now_ms - run->first_spawn_ms > run->options->startup_ms;
        bool all_are_gone = true;
        for (size_t i = 0; i < run->instance_count; i++) {
            const struct qn_instance *instance = &run->instances[i];
            gives_up = gives_up || instance->exits_before_ready >= EARLY_EXITS_MAX;
            all_are_gone = all_are_gone && instance->pid == 0 && instance->respawn_at_ms == 0;
        }
        return gives_up || (all_are_gone && !is_pending);
    }
    if (run->drained_since_ms != 0 && run->load.sent_count == run->load.count && !is_pending &&
        since_ready_ms(run) >= run->run_for_ms) {
        int64_t settle_ms = run->settle_ms;
        settle_ms = faults_have_fired(run) ? settle_ms : 3 * settle_ms;
        if (now_ms - run->drained_since_ms >= settle_ms) {
            return true;
        }
    }
    if (qn_windows_is_noticed(&run->windows)) {
        return false; /* it ends by itself, and then there is time to come back */
    }
    /* A consumer that needs seconds for each message is slow, not wrong: while the queue gets
     * shorter than it ever was, there is more time. A copy that is sent again and again does not
     * count. */
    int64_t slow_ms = run->progress_ms + 2 * run->terms.in.visibility_ms + SLOW_MESSAGE_MS;
    slow_ms = slow_ms < SLOW_TIMES_MAX * limit_ms ? slow_ms : SLOW_TIMES_MAX * limit_ms;
    int64_t busy_ms = run->busy_ms < limit_ms ? run->busy_ms : limit_ms;
    return since_ready_ms(run) - run->paused_ms - busy_ms >
           (slow_ms > limit_ms ? slow_ms : limit_ms);
}

static void note_progress(struct qn_running *run)
{
    /* With those that are still to come: else one of the first, alone in the queue, is the fewest.
     */
    int64_t left = run->watch.left + (int64_t)(run->load.count - run->load.sent_count);

    if (run->ready_virtual_ms != 0 && left > 0 &&
        (run->fewest_left == 0 || left < run->fewest_left)) {
        run->fewest_left = left;
        run->progress_ms = since_ready_ms(run) - run->paused_ms;
    }
}

static void wait_for_something(struct qn_running *run, int epoll, int64_t now_ms)
{
    struct epoll_event events[4];
    int64_t until_ms = run->next_trace_ms;
    int64_t sink_ms = qn_sink_next_ms(run->sink);

    until_ms = sink_ms < until_ms ? sink_ms : until_ms;
    int64_t wait_ms = until_ms > now_ms ? until_ms - now_ms : 0;
    if (!is_server_up(run) && wait_ms == 0) {
        wait_ms = 1;
    }
    wait_ms = wait_ms > TRACE_EVERY_MS ? TRACE_EVERY_MS : wait_ms;
    (void)epoll_wait(epoll, events, 4, (int)wait_ms);
}

static void tell_progress(struct qn_running *run, int64_t now_ms)
{
    const struct qn_run_progress progress = {
        .wall_ms = now_ms - run->begin_ms,
        .messages = run->load.count,
        .left = (size_t)(run->watch.left > 0 ? run->watch.left : 0),
        .faults = run->fired,
    };

    if (run->watcher != NULL && now_ms >= run->next_progress_ms) {
        run->next_progress_ms = now_ms + PROGRESS_EVERY_MS;
        run->watcher(run->watcher_state, &progress);
    }
}

/* The time for draining counts from the last message, from the return of the queue that it waits
 * for, from the redrive of its dead letters, or from the last window; a consumer that asks for
 * longer leases takes longer. */
static int64_t limit_of(const struct qn_running *run)
{
    struct qn_terms terms = run->terms;
    const struct qn_profile *learned = run->learned;
    int64_t last_ms = qn_load_last_ms(&run->load);
    int64_t back_ms = run->was_queue_deleted ? run->queue_back_ms - run->ready_virtual_ms : 0;

    last_ms = last_ms > back_ms ? last_ms : back_ms;
    int64_t turned_ms = run->turned_ms != 0 ? run->turned_ms - run->ready_virtual_ms : 0;
    last_ms = last_ms > turned_ms ? last_ms : turned_ms;
    terms.in.history = &terms.nothing;
    if (learned->overrides_visibility && learned->visibility_ms > terms.in.visibility_ms) {
        terms.in.visibility_ms = learned->visibility_ms;
    }
    int64_t limit_ms = last_ms + qn_terms_ms(&terms, run->scenario->drained_within);
    int64_t least_ms = qn_terms_ms(&terms, run->scenario->run_for);
    return limit_ms > least_ms ? limit_ms : least_ms;
}

/* Beyond every other limit: nothing that a consumer or the server does can hold us up. */
static void set_limits(struct qn_running *run)
{
    run->limit_ms = limit_of(run);
    run->give_up_at_ms = run->begin_ms + 2 * run->options->startup_ms +
                         (SLOW_TIMES_MAX + 1) * run->limit_ms + GIVE_UP_MORE_MS;
}

/* The queue, and messages, that come while the consumer runs. */
static bool send_due(struct qn_running *run, int64_t now_ms, struct qn_error *err)
{
    bool was_there = run->is_queue_there;

    if (!is_server_up(run)) {
        return true;
    }
    if (!qn_running_create_late(run, now_ms, err)) {
        return false;
    }
    if (!was_there && run->is_queue_there) {
        set_limits(run); /* of what waited for it, it is known now when it comes */
    }
    return run->ready_virtual_ms == 0 || !run->is_queue_there ||
           qn_load_next_ms(&run->load) > since_ready_ms(run) ||
           qn_running_send(run, since_ready_ms(run), err);
}

/* All of the first load is done, and nothing under way can be lost with the queue. */
static bool take_queue_away(struct qn_running *run, int64_t now_ms, struct qn_error *err)
{
    bool is_due = !qn_str_is_none(run->scenario->away_for) && run->drained_since_ms != 0 &&
                  qn_windows_are_over(&run->windows) && run->load.sent_count < run->load.count &&
                  now_ms - run->drained_since_ms >= run->settle_ms;

    if (!is_due || !is_server_up(run)) {
        return true;
    }
    run->drained_since_ms = 0;
    if (!qn_running_delete_queue(run, err)) {
        return false;
    }
    set_limits(run);
    return true;
}

static bool one_pass(struct qn_running *run, struct qn_error *err)
{
    int64_t now_ms = qn_clock_monotonic_ms();

    read_signals(run);
    if (run->is_interrupted) {
        return qn_fail(err, QN_ERR_INTERNAL, "interrupted");
    }
    int64_t limit_ms = run->options->scenario_timeout_ms;
    run->is_out_of_time = limit_ms > 0 && now_ms - run->begin_ms > limit_ms;
    if (now_ms > run->give_up_at_ms) {
        return qn_fail(err, QN_ERR_INTERNAL, "the scenario did not come to its end in time");
    }
    qn_sink_run(run->sink);
    if (!reap(run, err) || !poll_trace(run, now_ms, err)) {
        return false;
    }
    (void)qn_running_note_waits(run, now_ms);
    int64_t turned_ms = run->turned_ms;
    if (!qn_running_carry_out(run, err) || !restart(run, now_ms, err)) {
        return false;
    }
    struct qn_error why;
    if (is_server_up(run) && !qn_running_move_windows(run, &why)) {
        qn_log(QN_LOG_INFO, "check", "a window does not move: %s", why.message); /* so far */
    }
    if (run->turned_ms != turned_ms) {
        set_limits(run);
    }
    note_readiness(run, now_ms);
    if (!send_due(run, now_ms, err)) {
        return false;
    }
    skip_idle_time(run);
    look_at_queue(run, now_ms);
    tell_progress(run, now_ms);
    return take_queue_away(run, now_ms, err);
}

static int open_epoll(const struct qn_running *run)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    const int watched[] = {qn_sink_fd(run->sink), run->signal_fd};

    for (size_t i = 0; i < 2; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data = {.fd = watched[i]}};
        (void)epoll_ctl(epoll, EPOLL_CTL_ADD, watched[i], &event);
    }
    return epoll;
}

bool qn_running_go(struct qn_running *run, struct qn_error *err)
{
    int epoll = open_epoll(run);
    bool ok = true;

    set_limits(run);
    run->settle_ms = qn_terms_ms(&run->terms, run->scenario->settle);
    run->run_for_ms = qn_terms_ms(&run->terms, run->scenario->run_for);
    run->last_pass_ms = qn_clock_monotonic_ms();
    while (ok) {
        ok = one_pass(run, err);
        int64_t now_ms = qn_clock_monotonic_ms();
        note_progress(run);
        if (!ok || is_finished(run, now_ms)) {
            break;
        }
        wait_for_something(run, epoll, now_ms);
    }
    (void)close(epoll);
    /* Who had all the time that the scenario gives, and more, is judged like all others. */
    run->is_cut = run->is_out_of_time && (run->ready_virtual_ms == 0 ||
                                          since_ready_ms(run) - run->paused_ms <= run->limit_ms);
    return ok;
}
