/* NO-GHOST-EXTEND: the visibility of a message is not extended any more once it was deleted or
 * given back. */
#include "chaos/check/judge/busy.h"

/* An extension that was on its way is no ghost. */
enum { LATE_MS = 1000 };

/* Of one request: when it first arrived, over all attempts of the SDK. */
static int64_t first_arrival(struct qn_table *invocations, const struct qn_check_event *call)
{
    if (qn_str_is_none(call->detail->invocation)) {
        return call->wt;
    }
    int64_t *at_ms = qn_table_at_kept(invocations, call->detail->invocation);
    *at_ms = *at_ms != 0 ? *at_ms : call->wt;
    return *at_ms;
}

struct facts {
    struct qn_table answered;    /* const struct qn_check_event *: the answer to a request */
    struct qn_table invocations; /* int64_t */
};

static void note_answers(const struct qn_judge_input *in, struct facts *facts)
{
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind == QN_CHECK_API_OUT && !qn_str_is_none(event->req) &&
            (qn_judge_is_call(in, event, QN_STR("DeleteMessage*")) ||
             qn_judge_is_call(in, event, QN_STR("ChangeMessageVisibility*")))) {
            *(const struct qn_check_event **)qn_table_at_kept(&facts->answered, event->req) = event;
        }
    }
}

static void judge(const struct qn_judge_input *in, struct facts *facts,
                  const struct qn_check_event *call, struct qn_str handle,
                  struct qn_finding *finding)
{
    const struct qn_lease *lease = qn_book_lease_of(in->book, handle);
    int64_t arrived_ms = first_arrival(&facts->invocations, call);

    if (lease == NULL || qn_judge_is_excepted(in, lease->grant->k) ||
        (lease->end != QN_LEASE_DELETED && lease->end != QN_LEASE_RELEASED) ||
        lease->ended->seq > call->seq) {
        return;
    }
    /* Who has the message a second time is not told what became of it by the other handle. */
    if (!qn_str_is_none(lease->ended->h) && !qn_str_equal(lease->ended->h, handle)) {
        return;
    }
    /* Only who was told so knows that it is over. */
    const struct qn_check_event **answer = qn_table_find_kept(&facts->answered, lease->ended->req);
    const struct qn_check_event *known = qn_str_is_none(lease->ended->req) ? lease->ended
                                         : answer != NULL                  ? *answer
                                                                           : NULL;
    if (known == NULL ||
        arrived_ms - known->wt <=
            LATE_MS + in->slack_ms + qn_busy_ms(in, known->seq, call->seq, in->visibility_ms)) {
        return;
    }
    if (qn_finding_break(finding, QN_MUST,
                         "%.*s was extended (seq %llu) %lld ms after it was %s (seq %llu)",
                         QN_STR_ARG(qn_judge_message_name(lease->grant)),
                         (unsigned long long)call->seq, (long long)(arrived_ms - known->wt),
                         lease->end == QN_LEASE_DELETED ? "deleted" : "given back",
                         (unsigned long long)lease->ended->seq)) {
        qn_finding_witness(finding, lease->grant->seq);
        qn_finding_witness(finding, lease->ended->seq);
        qn_finding_witness(finding, call->seq);
    }
}

void qn_judge_no_ghost_extend(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct facts facts;

    qn_table_init_for(&facts.answered, sizeof(const struct qn_check_event *), &in->history->texts);
    qn_table_init_for(&facts.invocations, sizeof(int64_t), &in->history->texts);
    note_answers(in, &facts);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        /* 0 gives back: no extension. */
        if (event->kind != QN_CHECK_API_IN || event->detail->visibility == 0 ||
            !qn_judge_is_call(in, event, QN_STR("ChangeMessageVisibility*"))) {
            continue;
        }
        for (size_t j = 0; j < event->detail->handle_count; j++) {
            judge(in, &facts, event, event->detail->handles[j], ret_finding);
        }
    }
    qn_table_done(&facts.invocations);
    qn_table_done(&facts.answered);
}
