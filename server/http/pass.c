/* One pass of the loop after the other: wait, read the clock once, do what has fallen due, let
 * libmicrohttpd run, resume what was answered. And the end of it all. */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "server/base/failpoint.h"
#include "server/base/log.h"
#include "server/http/internal.h"

enum {
    EVENTS_MAX = 64,
    SETTLE_BUDGET = 1000, /* steps of what has fallen due, per pass */
    CROWDED_MS = 2,
    ACCEPT_LOOK_MS = 20,
    STALLED_MS = 20,   /* until the ring is asked again whether it has room */
    RESUME_ROUNDS = 8, /* pipelined requests may be answered and wait again */
    STOP_WITHIN_MS = 10000,
    ONE_WISH_MS = 500 /* timeout(1) sends a signal to the process and to its group */
};

void qn_pass_set_now(struct qn_loop *loop, int64_t now_ms)
{
    loop->now_ms = now_ms;
    if (loop->parts.legacy != NULL) {
        loop->parts.legacy->now_ms = now_ms;
    }
}

void qn_pass_read_clock(struct qn_loop *loop)
{
    struct qn_clock wall = qn_clock_system();
    int64_t now_ms = loop->parts.clock->now_ms(loop->parts.clock->state);

    loop->wall_ms = loop->parts.clock->now_ms == wall.now_ms ? now_ms : wall.now_ms(wall.state);
    if (now_ms > loop->now_ms) {
        qn_pass_set_now(loop, now_ms);
    }
}

/* ---- waiting ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t due_in(const struct qn_call_list *list, int64_t monotonic_ms)
{
    if (list->first == NULL || list->first->due_ms == INT64_MAX) {
        return INT64_MAX;
    }
    return list->first->due_ms > monotonic_ms ? list->first->due_ms - monotonic_ms : 0;
}

/* Without anybody who waits for it, real time need not be asked for. */
static bool real_time_matters(const struct qn_loop *loop)
{
    return loop->accept_again_ms != INT64_MAX || loop->refuses || loop->crowded.first != NULL ||
           loop->delayed.first != NULL || loop->pacing.first != NULL ||
           loop->parked.first != NULL || loop->reading.first != NULL;
}

/* Real milliseconds until the clock of the server reaches the instant. */
static int64_t real_ms_until(struct qn_loop *loop, int64_t instant_ms)
{
    if (instant_ms <= loop->now_ms) {
        return 0;
    }
    /* It may also have come since the pass read the clock. */
    return qn_clock_real_ms(loop->parts.clock->now_ms(loop->parts.clock->state), instant_ms,
                            qn_clock_rate(loop->parts.clock));
}

static int wait_ms(struct qn_loop *loop)
{
    int64_t monotonic_ms = real_time_matters(loop) ? qn_clock_monotonic_ms() : 0;
    int64_t least = INT64_MAX;
    MHD_UNSIGNED_LONG_LONG http_ms;

    if (!loop->is_stalled && (loop->settle_again || qn_advance_is_on(loop))) {
        return 0;
    }
    if (loop->behind.first != NULL) {
        return 0;
    }
    if (MHD_get_timeout(loop->daemon, &http_ms) == MHD_YES) {
        least = http_ms > INT32_MAX ? INT32_MAX : (int64_t)http_ms;
    }
    if (loop->is_stalled) {
        least = earlier(least, STALLED_MS);
    } else {
        least = earlier(least, real_ms_until(loop, qn_engine_next_event_ms(loop->parts.engine)));
    }
    if (qn_loop_has_rules(loop)) {
        least = earlier(least, real_ms_until(loop, qn_plan_next_ms(loop->parts.plan)));
        least = earlier(least, real_ms_until(loop, qn_restore_next_ms(loop)));
    }
    if (loop->crowded.first != NULL) {
        least = earlier(least, CROWDED_MS);
    }
    least = earlier(least, due_in(&loop->delayed, monotonic_ms));
    least = earlier(least, due_in(&loop->pacing, monotonic_ms));
    least = earlier(least, due_in(&loop->parked, monotonic_ms));
    least = earlier(least, due_in(&loop->reading, monotonic_ms));
    if (loop->accept_again_ms != INT64_MAX) {
        least = earlier(least, ACCEPT_LOOK_MS);
    }
    if (loop->refuses) {
        least = earlier(
            least, loop->listen_again_ms > monotonic_ms ? loop->listen_again_ms - monotonic_ms : 0);
    }
    if (loop->is_stopping) {
        least = earlier(least, 100);
    }
    return least == INT64_MAX ? -1 : (int)earlier(least, INT32_MAX);
}

/* ---- stopping ---- */

static void drop_all(struct qn_call_list *list)
{
    while (list->first != NULL) {
        qn_call_drop(list->first); /* moves it to those to be resumed */
    }
}

static void begin_stop(struct qn_loop *loop, int signal_number)
{
    struct qn_waiter *waiter;

    qn_log(QN_LOG_INFO, "serve", "stopping signal=%d", signal_number);
    loop->is_stopping = true;
    loop->stop_by_ms = qn_clock_monotonic_ms() + STOP_WITHIN_MS;
    qn_listeners_close(loop->parts.listeners);
    while ((waiter = qn_engine_any_waiter(loop->parts.engine)) != NULL) {
        qn_loop_end_wait(QN_CONTAINER(waiter, struct qn_call, waiter));
    }
    drop_all(&loop->held);
    drop_all(&loop->delayed);
    drop_all(&loop->hanging);
    qn_damage_go_on(loop, INT64_MAX);
    drop_all(&loop->crowded);
    drop_all(&loop->behind);
    drop_all(&loop->starving);
    drop_all(&loop->advance.calls);
    drop_all(&loop->jumping);
    loop->advance.jump_to_ms = 0;
    loop->refuses = false;
    qn_control_stop_readers(loop);
}

/* Somebody has waited, and asks again. */
static bool is_repeated(const struct qn_loop *loop)
{
    return qn_clock_monotonic_ms() > loop->stop_by_ms - STOP_WITHIN_MS + ONE_WISH_MS;
}

static void read_signals(struct qn_loop *loop)
{
    struct signalfd_siginfo info;

    while (read(loop->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (loop->is_stopping && is_repeated(loop)) {
            _exit(128 + (int)info.ssi_signo); /* what was answered is in the ring */
        }
        if (!loop->is_stopping) {
            begin_stop(loop, (int)info.ssi_signo);
        }
    }
}

static bool may_end(const struct qn_loop *loop)
{
    return loop->is_stopping && loop->resuming.first == NULL &&
           (loop->calls_begun == 0 || qn_clock_monotonic_ms() > loop->stop_by_ms);
}

/* ---- what epoll tells ---- */

static void drain_counter(int fd)
{
    uint64_t count;

    while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
}

static void take_event(struct qn_loop *loop, struct qn_watch *watch)
{
    switch (watch->kind) {
    case QN_WATCH_HTTP:
        break; /* MHD_run looks for itself */
    case QN_WATCH_LISTENER:
        if (watch->listener->fd >= 0) {
            qn_http_accept(loop, watch->listener);
        }
        break;
    case QN_WATCH_SIGNAL:
        read_signals(loop);
        break;
    case QN_WATCH_SYNC:
        drain_counter(qn_journal_sync_fd(loop->parts.journal));
        break;
    case QN_WATCH_CLIENT:
        qn_client_gone((struct qn_client *)(void *)watch);
        break;
    }
}

/* ---- what has fallen due ---- */

/* Timers have no request, and lapses not even rows: where crash tests stop the process stands here.
 */
static void keep_slice(struct qn_loop *loop)
{
    bool has_rows = loop->entry.len > 0;

    (void)qn_failpoint("lease_timer.before_commit");
    qn_loop_keep(loop);
    (void)qn_failpoint("lease_timer.after_commit");
    if (has_rows) {
        (void)qn_failpoint("retention.after_chunk");
    }
}

static enum qn_settle_result settle_slice(struct qn_loop *loop, int *budget)
{
    enum qn_settle_result result;
    struct qn_tx tx;
    int before = *budget;

    qn_tx_init(loop, &tx, &loop->scratch, &loop->background);
    result = qn_engine_settle(&tx, budget);
    if (*budget < before) {
        keep_slice(loop);
    } else {
        qn_loop_keep(loop);
    }
    qn_arena_reset(&loop->scratch);
    return result;
}

static bool is_stalled(struct qn_loop *loop)
{
    loop->is_stalled = loop->parts.journal != NULL && !qn_journal_has_room(loop->parts.journal);
    return loop->is_stalled;
}

/* True: all that is due is done. */
static bool settle(struct qn_loop *loop, int *budget)
{
    enum qn_settle_result result;

    do {
        if (is_stalled(loop)) {
            return false;
        }
        result = settle_slice(loop, budget);
        qn_loop_serve_waiters(loop);
    } while (result != QN_SETTLED && *budget > 0);
    return result == QN_SETTLED;
}

void qn_pass_settle(struct qn_loop *loop)
{
    while (!is_stalled(loop) && settle_slice(loop, &loop->settle_budget) == QN_SETTLE_MORE &&
           loop->settle_budget > 0) {
    }
}

static void run_plan(struct qn_loop *loop)
{
    if (!qn_loop_has_rules(loop)) {
        return;
    }
    if (qn_plan_next_ms(loop->parts.plan) <= loop->now_ms) {
        qn_plan_observe(loop->parts.plan, NULL, loop->now_ms);
        qn_plan_take_events(loop->parts.plan, &loop->events);
        qn_loop_keep(loop);
    }
    while (qn_effect_run_next(loop)) {
        qn_loop_serve_waiters(loop);
    }
}

static void go_on(struct qn_loop *loop, struct qn_call *call)
{
    qn_call_leave(call);
    qn_loop_go_on(call);
    qn_loop_serve_waiters(loop);
}

/* Released calls stand in front of those that are delayed. */
static bool is_released(const struct qn_call *call)
{
    return call != NULL && call->due_ms == 0;
}

static bool is_due(const struct qn_loop *loop)
{
    return qn_engine_is_due(loop->parts.engine, loop->now_ms) ||
           (qn_loop_has_rules(loop) && qn_plan_next_ms(loop->parts.plan) <= loop->now_ms);
}

/* What is due by now, and what that makes due in its turn: no request comes in between. True: all
 * is done. */
static bool do_what_is_due_now(struct qn_loop *loop)
{
    bool settled;

    qn_restore_run_due(loop); /* of what was before this instant */
    do {
        settled = settle(loop, &loop->settle_budget);
        run_plan(loop);
        while (is_released(loop->delayed.first)) {
            go_on(loop, loop->delayed.first);
        }
        loop->settle_budget--;
    } while (settled && loop->settle_budget > 0 && is_due(loop));
    return settled;
}

static void do_what_is_due(struct qn_loop *loop)
{
    bool settled;

    loop->settle_budget = SETTLE_BUDGET;
    settled = do_what_is_due_now(loop);
    while (settled && loop->settle_budget > 0 && qn_advance_is_on(loop)) {
        if (qn_advance_step(loop)) {
            settled = do_what_is_due_now(loop);
        }
    }
    loop->settle_again = !settled;
}

void qn_pass_catch_up(struct qn_loop *loop)
{
    while (loop->settle_budget > 0 &&
           (is_due(loop) || is_released(loop->delayed.first) || qn_advance_is_jumping(loop))) {
        if (!do_what_is_due_now(loop)) {
            loop->settle_again = true;
            return;
        }
        if (qn_advance_is_jumping(loop)) {
            (void)qn_advance_step(loop);
        }
    }
}

/* One more slice for each change of attributes that waits. */
static void do_behind(struct qn_loop *loop)
{
    for (size_t i = loop->behind.count; i > 0 && loop->behind.first != NULL; i--) {
        go_on(loop, loop->behind.first);
        qn_pass_catch_up(loop);
    }
}

/* Ends of delays and waits in real time. */
static void do_real_time(struct qn_loop *loop)
{
    int64_t monotonic_ms;
    struct qn_call *call;

    if (!real_time_matters(loop)) {
        return;
    }
    monotonic_ms = qn_clock_monotonic_ms();
    if (loop->accept_again_ms <= monotonic_ms && !loop->is_stopping) {
        qn_http_accept_again(loop);
    }
    qn_process_listen_again(loop, monotonic_ms);
    while ((call = loop->crowded.first) != NULL &&
           (call->due_ms <= monotonic_ms || qn_journal_has_room(loop->parts.journal))) {
        go_on(loop, call);
        qn_pass_catch_up(loop);
    }
    while ((call = loop->delayed.first) != NULL && call->due_ms <= monotonic_ms) {
        go_on(loop, call);
        qn_pass_catch_up(loop);
    }
    qn_damage_go_on(loop, monotonic_ms);
    while ((call = loop->parked.first) != NULL && call->due_ms <= monotonic_ms) {
        qn_loop_end_wait(call);
        qn_pass_catch_up(loop);
    }
    while ((call = loop->reading.first) != NULL && call->due_ms <= monotonic_ms) {
        qn_control_answer_reader(call);
    }
}

/* ---- the pass ---- */

static void run_http(struct qn_loop *loop)
{
    (void)MHD_run(loop->daemon);
    for (int i = 0; i < RESUME_ROUNDS; i++) {
        do_real_time(loop);
        if (loop->parts.journal != NULL) {
            qn_loop_synced(loop);
            qn_pass_catch_up(loop);
        }
        qn_control_feed_assumptions(loop);
        qn_control_wake_readers(loop);
        qn_body_feed(loop);
        if (!qn_calls_resume(loop)) {
            return;
        }
        (void)MHD_run(loop->daemon); /* resumed connections wait for it */
    }
    loop->settle_again = true;
}

static void run_pass(struct qn_loop *loop)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(loop->epoll_fd, events, EVENTS_MAX, wait_ms(loop));

    qn_pass_read_clock(loop);
    /* Clients that have gone come first: nothing may be leased to them any more. */
    for (int i = 0; i < count; i++) {
        struct qn_watch *watch = events[i].data.ptr;
        if (watch->kind == QN_WATCH_CLIENT) {
            take_event(loop, watch);
        }
    }
    for (int i = 0; i < count; i++) {
        struct qn_watch *watch = events[i].data.ptr;
        if (watch->kind != QN_WATCH_CLIENT) {
            take_event(loop, watch);
        }
    }
    do_what_is_due(loop);
    do_behind(loop);
    run_http(loop);
    qn_clients_end(loop);
    if (loop->record != NULL) {
        qn_record_flush(loop->record);
    }
    if (loop->parts.journal != NULL) {
        qn_engine_evict(loop->parts.engine, qn_journal_written_lsn(loop->parts.journal));
    }
}

void qn_loop_run(struct qn_loop *loop)
{
    while (!may_end(loop)) {
        run_pass(loop);
    }
    qn_keep_instant(loop);
}
