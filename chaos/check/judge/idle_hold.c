/* IDLE-HOLD(WHICH, BOUND): nobody fetches more while a message waits for its work in his hands for
 * longer than BOUND. One that takes several at a time and works them off in turn does not: it
 * fetches when all are begun. */
#include "chaos/check/judge/book.h"

/* The first work on the message that was begun under the lease. */
static const struct qn_check_event *begin_of(const struct qn_judge_input *in,
                                             const struct qn_lease *lease)
{
    for (const struct qn_handler *run = in->book->handlers; run != NULL; run = run->next) {
        bool is_unknown = run->is_ambiguous && qn_str_equal(run->begin->k, lease->grant->k) &&
                          run->begin->seq > lease->grant->seq;
        if (run->lease == lease || is_unknown) {
            return run->begin;
        }
    }
    return NULL;
}

/* Of all that its consumer took beside it, the first that came too late. *most_ms: the longest wait
 * so far of those that did not. */
static void judge(const struct qn_judge_input *in, const struct qn_lease *lease, int64_t bound_ms,
                  int64_t *most_ms, struct qn_finding *finding)
{
    const struct qn_check_event *begin = begin_of(in, lease);

    for (const struct qn_lease *other = lease->next; other != NULL; other = other->next) {
        int64_t waited_ms = other->grant->vt - lease->grant->vt;
        bool is_over = (lease->ended != NULL && lease->ended->seq < other->grant->seq) ||
                       (begin != NULL && begin->seq < other->grant->seq);
        if (is_over) {
            return;
        }
        if (other->owner != lease->owner || other->life != lease->life ||
            !qn_judge_on_source(in, other->grant)) {
            continue;
        }
        if (waited_ms <= bound_ms) {
            *most_ms = waited_ms > *most_ms ? waited_ms : *most_ms;
            continue;
        }
        if (qn_finding_break(finding, QN_MUST,
                             "%.*s had waited %lld ms for its work (limit %lld) when its consumer "
                             "took %.*s besides (seq %llu)",
                             QN_STR_ARG(qn_judge_message_name(lease->grant)), (long long)waited_ms,
                             (long long)bound_ms, QN_STR_ARG(qn_judge_message_name(other->grant)),
                             (unsigned long long)other->grant->seq)) {
            qn_finding_witness(finding, lease->grant->seq);
            qn_finding_witness(finding, other->grant->seq);
        }
        return;
    }
}

void qn_judge_idle_hold(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_str bound;
    struct qn_str which = qn_str_trim(qn_str_cut(in->arguments, ',', &bound));
    struct qn_error err;
    int64_t bound_ms;
    int64_t most_ms = 0;

    if (!qn_judge_number(in, bound, &bound_ms, &err)) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE, "%s", err.message);
        return;
    }
    if (in->level < QN_LEVEL_SINK) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE, "needs the effect sink");
        return;
    }
    for (const struct qn_lease *lease = in->book->leases; lease != NULL; lease = lease->next) {
        if (qn_judge_on_source(in, lease->grant) &&
            qn_tally_selects(in->tally, which, lease->grant->k)) {
            judge(in, lease, bound_ms, &most_ms, ret_finding);
        }
    }
    if (ret_finding->result == QN_RESULT_PASS && most_ms > 0) {
        qn_finding_set(ret_finding, QN_RESULT_PASS, "held %.2g s idle (limit %.2g s)",
                       (double)most_ms / 1000, (double)bound_ms / 1000);
    }
}
