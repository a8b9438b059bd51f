/* RECOVERY(WHICH, BOUND): what a killed process had in its hands is received again, or finished,
 * within BOUND (and slack) of the kill, of the next process being ready, or of the last other
 * message that was received before it: which message an answer brings is not the consumer's to say.
 * A consumer that leases for longer than V, as it may, waits for so much longer. When no process
 * had anything in its hands there was nothing to recover from. */
#include <signal.h>

#include "chaos/check/judge/busy.h"

struct state {
    const struct qn_judge_input *in;
    struct qn_str which;
    int64_t bound_ms;
    int64_t end_ms;
    struct qn_finding *finding;
    size_t count;
    int64_t slowest_ms;
};

static bool is_kill(const struct qn_check_event *event)
{
    return event->kind == QN_CHECK_PROC && qn_str_equal(event->what, QN_STR("signal")) &&
           event->detail->signal == SIGKILL;
}

static bool is_end(const struct qn_check_event *event)
{
    return event->kind == QN_CHECK_MARK && qn_str_equal(event->detail->reason, QN_STR("end"));
}

/* When the next process of this instance was ready; without one, when this one was killed. */
static int64_t ready_again_ms(const struct qn_history *history, size_t killed_at)
{
    const struct qn_check_event *kill = &history->events[killed_at];

    for (size_t i = killed_at + 1; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (event->kind == QN_CHECK_PROC && qn_str_equal(event->what, QN_STR("ready")) &&
            qn_str_equal(event->instance, kill->instance)) {
            return event->vt;
        }
    }
    return kill->vt;
}

static bool is_held(const struct qn_lease *lease, const struct qn_check_event *kill)
{
    return lease->grant->seq < kill->seq &&
           (lease->ended == NULL || lease->ended->seq > kill->seq) &&
           qn_str_equal(lease->owner->name, kill->instance);
}

/* The message is in other hands, or needs none any more. NULL: it was left lying. Until then
 * ret_others_ms is when the last other message was received, or the kill. */
static const struct qn_check_event *taken_up(const struct state *state, size_t killed_at,
                                             const struct qn_lease *lease, int64_t *ret_others_ms)
{
    const struct qn_history *history = state->in->history;

    *ret_others_ms = history->events[killed_at].vt;
    for (size_t i = killed_at + 1; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (is_end(event)) {
            break;
        }
        bool is_of_it = qn_judge_is_state(event) && qn_judge_on_source(state->in, event) &&
                        qn_str_equal(event->mid, lease->grant->mid);
        if (is_of_it && (event->kind == QN_CHECK_LEASE_GRANT ||
                         event->kind == QN_CHECK_MSG_DELETE || event->kind == QN_CHECK_MSG_DLQ)) {
            return event;
        }
        if (event->kind == QN_CHECK_LEASE_GRANT && !event->undone &&
            qn_judge_on_source(state->in, event)) {
            *ret_others_ms = event->vt;
        }
    }
    return NULL;
}

static void judge(struct state *state, size_t killed_at, int64_t ready_ms,
                  const struct qn_lease *lease)
{
    const struct qn_check_event *kill = &state->in->history->events[killed_at];
    int64_t others_ms;
    const struct qn_check_event *taken = taken_up(state, killed_at, lease, &others_ms);
    int64_t granted_ms = lease->deadline_ms - lease->grant->vt;
    int64_t longer_ms = granted_ms - state->in->visibility_ms;
    int64_t from_ms = ready_ms > others_ms ? ready_ms : others_ms;
    int64_t limit_ms = from_ms - kill->vt + state->bound_ms + (longer_ms > 0 ? longer_ms : 0);
    int64_t took_ms = (taken != NULL ? taken->vt : state->end_ms) - kill->vt;

    if (took_ms > limit_ms) {
        limit_ms += qn_busy_ms(state->in, kill->seq, taken != NULL ? taken->seq : UINT64_MAX,
                               state->bound_ms);
    }
    state->count++;
    state->slowest_ms = took_ms > state->slowest_ms ? took_ms : state->slowest_ms;
    if (took_ms > limit_ms &&
        qn_finding_break(state->finding, QN_MUST,
                         "%.*s, which a killed process had in its hands, was %s %lld ms after the "
                         "kill (limit %lld)",
                         QN_STR_ARG(lease->grant->k),
                         taken != NULL ? "received again" : "not received again",
                         (long long)took_ms, (long long)limit_ms)) {
        qn_finding_witness(state->finding, lease->grant->seq);
        qn_finding_witness(state->finding, kill->seq);
        if (taken != NULL) {
            qn_finding_witness(state->finding, taken->seq);
        }
    }
}

static void judge_kill(struct state *state, size_t killed_at)
{
    const struct qn_check_event *kill = &state->in->history->events[killed_at];
    int64_t ready_ms = ready_again_ms(state->in->history, killed_at);

    for (const struct qn_lease *lease = state->in->book->leases; lease != NULL;
         lease = lease->next) {
        if (is_held(lease, kill) &&
            qn_tally_selects(state->in->tally, state->which, lease->grant->k)) {
            judge(state, killed_at, ready_ms, lease);
        }
    }
}

void qn_judge_recovery(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    const struct qn_history *history = in->history;
    struct state state = {.in = in, .finding = ret_finding};
    struct qn_str bound;
    struct qn_error err;
    size_t end = 0;

    state.which = qn_str_trim(qn_str_cut(in->arguments, ',', &bound));
    if (!qn_judge_number(in, bound, &state.bound_ms, &err)) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE, "%s", err.message);
        return;
    }
    state.bound_ms += in->slack_ms;
    while (end < history->count && !is_end(&history->events[end])) {
        state.end_ms = history->events[end++].vt;
    }
    for (size_t i = 0; i < end; i++) {
        if (is_kill(&history->events[i])) {
            judge_kill(&state, i);
        }
    }
    if (state.count == 0) {
        qn_finding_set_unexercised(ret_finding,
                                   "no process had a message in its hands when it was killed");
    } else if (ret_finding->result == QN_RESULT_PASS) {
        qn_finding_set(ret_finding, QN_RESULT_PASS, "taken up again within %.2g s of the kill",
                       (double)state.slowest_ms / 1000);
    }
}
