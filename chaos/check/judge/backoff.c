/* BACKOFF: while every ReceiveMessage fails, the polls become fewer; afterwards they go on. By the
 * application's calls: what the SDK tries again by itself has the same invocation id. */
#include "chaos/check/judge/book.h"

enum {
    APPLICATION_PER_S = 10, /* per poller */
    HTTP_PER_S = 50,        /* per instance */
    SLOW_GAP_MS = 1000,     /* with such gaps nothing needs to grow */
    RESUME_MS = 30000,
    LONG_ENOUGH_MS = 3000, /* a shorter window shows no back-off */
    SHORTEST_MS = 1000,    /* rates over less are no rates */
    SHOWS_CALLS = 6        /* without invocation ids: more than the attempts of any usual SDK */
};

/* Consecutive receives of one process that failed. A call that waited for messages when the trouble
 * began has failed only when it was answered: from then on its process knows of it. So no time is
 * earlier than the first answer that was an error. */
struct window {
    uint64_t first_seq, last_seq;
    int64_t first_ms, last_ms; /* wall: arrivals */
    int64_t http;              /* calls */
    bool has_invocations;      /* they say which of them are attempts of one */
    int64_t *calls;            /* wall: arrivals of the application's */
    size_t count, cap;
    int64_t pollers;
};

struct state {
    const struct qn_judge_input *in;
    struct qn_finding *finding;
    struct qn_table failed; /* int64_t, by request that failed: when it was answered (wall), or 0 */
    struct qn_table invocations; /* bool: seen */
    struct qn_table windows;     /* struct window, by instance */
    size_t judged;
    bool has_failed;      /* some receive */
    int64_t failed_calls; /* of the application's, in those windows */
    double fastest_per_s;
};

static void blame(struct state *state, const struct window *window)
{
    qn_finding_witness(state->finding, window->first_seq);
    qn_finding_witness(state->finding, window->last_seq);
}

static void judge_rates(struct state *state, struct qn_str name, const struct window *window)
{
    int64_t length_ms = window->last_ms - window->first_ms;
    length_ms = length_ms > SHORTEST_MS ? length_ms : SHORTEST_MS;
    int64_t limit_per_s = window->pollers * APPLICATION_PER_S;
    int64_t per_s = (int64_t)window->count * 1000 / length_ms;
    int64_t http_per_s = window->http * 1000 / length_ms;

    state->failed_calls += (int64_t)window->count;
    double exactly_per_s = (double)window->count * 1000 / (double)length_ms;
    state->fastest_per_s =
        exactly_per_s > state->fastest_per_s ? exactly_per_s : state->fastest_per_s;
    if (per_s > limit_per_s &&
        qn_finding_break(state->finding, QN_MUST,
                         "while its receives failed, %.*s polled %lld times a second for %lld ms "
                         "(limit %lld)",
                         QN_STR_ARG(name), (long long)per_s, (long long)length_ms,
                         (long long)limit_per_s)) {
        blame(state, window);
    }
    if (http_per_s > HTTP_PER_S &&
        qn_finding_break(state->finding, QN_MUST,
                         "while its receives failed, %.*s sent %lld requests a second (limit %d)",
                         QN_STR_ARG(name), (long long)http_per_s, HTTP_PER_S)) {
        blame(state, window);
    }
}

/* Gaps of one poller: with several, every so many-th call is its. */
static void judge_growth(struct state *state, struct qn_str name, const struct window *window)
{
    size_t stride = (size_t)window->pollers;
    size_t count = window->count > stride ? window->count - stride : 0;

    if (count < 3 || window->last_ms - window->first_ms < LONG_ENOUGH_MS) {
        return;
    }
    int64_t *gaps = qn_memory_new_array(count, sizeof(int64_t));
    for (size_t i = 0; i < count; i++) {
        gaps[i] = window->calls[i + stride] - window->calls[i];
    }
    size_t third = count / 3;
    int64_t first = qn_judge_median(gaps, third);
    int64_t last = qn_judge_median(gaps + count - third, third);
    if (last * 2 < first * 3 && qn_judge_median(gaps, count) < SLOW_GAP_MS &&
        qn_finding_break(state->finding, QN_SHOULD,
                         "while its receives failed, %.*s polled every %lld ms at first and every "
                         "%lld ms at last: the gaps do not grow",
                         QN_STR_ARG(name), (long long)first, (long long)last)) {
        blame(state, window);
    }
    qn_memory_free(gaps);
}

static int64_t last_gap_ms(const struct window *window)
{
    return window->count > 1 ? window->calls[window->count - 1] - window->calls[window->count - 2]
                             : 0;
}

/* What an SDK tries again by itself says nothing of the loop around it. That an invocation has
 * failed for good shows in the next one, or in the end of the process; without ids, in more calls
 * than one invocation makes, or in a longer time until the next good call. */
static bool has_failed_for_good(const struct window *window, int64_t next_ms, bool is_over)
{
    if (!is_over) {
        return true;
    }
    return window->has_invocations
               ? window->count > 1
               : window->http >= SHOWS_CALLS || next_ms - window->first_ms >= LONG_ENOUGH_MS;
}

/* next_ms: when it polled again, or when the history ended. */
static void close_window(struct state *state, struct qn_str name, struct window *window,
                         int64_t next_ms, bool is_over, uint64_t next_seq)
{
    int64_t limit_ms = 2 * last_gap_ms(window);
    limit_ms = limit_ms > RESUME_MS ? limit_ms : RESUME_MS;

    state->has_failed = state->has_failed || window->http > 0;
    if (window->http > 1) {
        state->judged += has_failed_for_good(window, next_ms, is_over);
        judge_rates(state, name, window);
        judge_growth(state, name, window);
    }
    if (is_over && window->http > 0 && next_ms - window->last_ms > limit_ms &&
        qn_finding_break(state->finding, QN_MUST,
                         "%.*s did not poll again for %lld ms after a receive had failed (limit "
                         "%lld)",
                         QN_STR_ARG(name), (long long)(next_ms - window->last_ms),
                         (long long)limit_ms)) {
        qn_finding_witness(state->finding, window->last_seq);
        qn_finding_witness(state->finding, next_seq);
    }
    window->http = 0;
    window->count = 0;
    window->has_invocations = false;
}

static void note_failure(struct state *state, struct window *window,
                         const struct qn_check_event *call, int64_t answered_ms)
{
    bool is_new = true;
    int64_t known_ms = window->http == 0 ? answered_ms : window->first_ms;
    int64_t at_ms = call->wt > known_ms ? call->wt : known_ms;

    if (!qn_str_is_none(call->detail->invocation)) {
        window->has_invocations = true;
        bool *seen = qn_table_at(&state->invocations, call->detail->invocation);
        is_new = !*seen;
        *seen = true;
    }
    if (window->http == 0) {
        window->first_seq = call->seq;
        window->first_ms = at_ms;
    }
    window->http++;
    window->last_seq = call->seq;
    window->last_ms = at_ms;
    if (!is_new) {
        return;
    }
    if (window->count == window->cap) {
        window->cap = window->cap > 0 ? window->cap * 2 : 64;
        window->calls = qn_memory_resize(window->calls, window->cap, sizeof(int64_t));
    }
    window->calls[window->count++] = at_ms;
}

static void step(struct state *state, const struct qn_check_event *event)
{
    const struct qn_book_instance *instance;

    if (event->kind == QN_CHECK_PROC && qn_str_equal(event->what, QN_STR("exit"))) {
        instance = qn_book_instance_of(state->in->book, event->instance);
        struct window *window =
            instance != NULL ? qn_table_find(&state->windows, instance->name) : NULL;
        if (window != NULL) { /* a new process knows of no failure; that this one ended is for
                                 SURVIVES to say */
            close_window(state, instance->name, window, event->wt, false, event->seq);
        }
        return;
    }
    if (event->kind != QN_CHECK_API_IN ||
        !qn_judge_is_call(state->in, event, QN_STR("ReceiveMessage"))) {
        return;
    }
    instance = qn_book_instance_of(state->in->book, event->instance);
    if (instance == NULL) {
        return;
    }
    struct window *window = qn_table_at(&state->windows, instance->name);
    window->pollers = instance->pollers > 0 ? instance->pollers : 1;
    const int64_t *answered_ms = qn_table_find(&state->failed, event->req);
    if (answered_ms != NULL) {
        note_failure(state, window, event, *answered_ms);
    } else if (window->http > 0) {
        close_window(state, instance->name, window, event->wt, true, event->seq);
    }
}

/* Of a receive that is not answered so far. */
struct call {
    bool is_open;
    bool is_hit;       /* a rule did something to it */
    int64_t failed_ms; /* wall: when it was answered with an error; 0: never */
};

/* A call without an answer failed when a rule took the answer, or the server was gone; else it was
 * parked to the end. */
static void find_failed(struct state *state)
{
    const struct qn_history *history = state->in->history;
    struct qn_table calls; /* struct call, by request */

    qn_table_init_for(&calls, sizeof(struct call), &history->texts);
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        bool is_receive = qn_judge_is_call(state->in, event, QN_STR("ReceiveMessage"));
        if (event->kind == QN_CHECK_BOOT) {
            for (struct qn_table_item *item = calls.first; item != NULL; item = item->next) {
                struct call *call = item->value;
                call->is_hit = call->is_hit || call->is_open;
            }
        } else if (is_receive && event->kind == QN_CHECK_API_IN) {
            struct call *call = qn_table_at_kept(&calls, event->req);
            call->is_open = true;
        } else if (is_receive) {
            struct call *call = qn_table_at_kept(&calls, event->req);
            call->is_open = !qn_str_equal(event->code, QN_STR("OK"));
            call->failed_ms = call->is_open ? event->wt : 0;
            call->is_hit = true;
        } else if (event->kind == QN_CHECK_FAULT && !qn_str_is_none(event->req)) {
            struct call *call = qn_table_find_kept(&calls, event->req);
            if (call != NULL) {
                call->is_hit = true;
            }
        }
    }
    for (const struct qn_table_item *item = calls.first; item != NULL; item = item->next) {
        const struct call *call = item->value;
        if (call->is_open && call->is_hit) {
            *(int64_t *)qn_table_at(&state->failed, item->key) = call->failed_ms;
        }
    }
    qn_table_done(&calls);
}

/* The mark of the end, or the last event. */
static const struct qn_check_event *end_of(const struct qn_history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (event->kind == QN_CHECK_MARK && qn_str_equal(event->detail->reason, QN_STR("end"))) {
            return event;
        }
    }
    return history->count > 0 ? &history->events[history->count - 1] : NULL;
}

void qn_judge_backoff(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct state state = {.in = in, .finding = ret_finding};
    const struct qn_check_event *end = end_of(in->history);

    qn_table_init(&state.failed, sizeof(int64_t));
    qn_table_init(&state.invocations, sizeof(bool));
    qn_table_init(&state.windows, sizeof(struct window));
    find_failed(&state);
    for (size_t i = 0; i < in->history->count; i++) {
        step(&state, &in->history->events[i]);
    }
    for (const struct qn_table_item *item = state.windows.first; item != NULL; item = item->next) {
        struct window *window = item->value;
        close_window(&state, item->key, window, end->wt, true, end->seq);
        qn_memory_free(window->calls);
    }
    if (state.judged > 0 && ret_finding->result == QN_RESULT_PASS) {
        qn_finding_set(ret_finding, QN_RESULT_PASS, "%lld polls failed, at most %.2g a second",
                       (long long)state.failed_calls, state.fastest_per_s);
    }
    if (state.judged == 0 && ret_finding->result == QN_RESULT_PASS) {
        qn_finding_set_unexercised(ret_finding,
                                   state.has_failed
                                       ? "no invocation failed for good: the attempts of the SDK "
                                         "itself outlasted the errors"
                                       : "no receive failed");
    }
    qn_table_done(&state.windows);
    qn_table_done(&state.invocations);
    qn_table_done(&state.failed);
}
