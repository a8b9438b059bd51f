/* EXTEND-MARGIN(WHICH, BOUND): a lease is extended no later than BOUND before it would end. A beat
 * that comes later is in time until the first one that is late. A consumer may ask for leases of
 * its own that are shorter than the queue's: for these it is a third of them, if that is less. */
#include "chaos/check/judge/judge.h"

/* The way of a request. */
enum { MARGIN_MS = 250 };

enum { SHORT_PART = 3 };

/* Of one handle. */
struct lease {
    int64_t deadline_ms;
    int64_t lasts_ms; /* from when it was granted, or last changed */
};

/* Extensions alone: who gives a message back, at once or after a pause, shortens its lease. */
static bool is_extension(const struct qn_check_event *event, int64_t deadline_ms)
{
    return event->deadline > deadline_ms && !qn_str_equal(event->detail->reason, QN_STR("fault"));
}

static int64_t bound_of(const struct lease *lease, int64_t bound_ms)
{
    int64_t part_ms = lease->lasts_ms / SHORT_PART;

    return part_ms < bound_ms ? part_ms : bound_ms;
}

static void judge(const struct qn_judge_input *in, const struct qn_check_event *event,
                  int64_t left_ms, int64_t bound_ms, struct qn_finding *finding)
{
    if (left_ms + MARGIN_MS + in->slack_ms >= bound_ms) {
        return;
    }
    if (qn_finding_break(finding, QN_MUST,
                         "the lease of %.*s was extended %lld ms before its end (seq %llu, %lld "
                         "are wanted)",
                         QN_STR_ARG(qn_judge_message_name(event)), (long long)left_ms,
                         (unsigned long long)event->seq, (long long)bound_ms)) {
        qn_finding_witness(finding, event->seq);
    }
}

void qn_judge_extend_margin(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_str bound;
    struct qn_str which = qn_str_trim(qn_str_cut(in->arguments, ',', &bound));
    struct qn_table leases; /* struct lease, by handle */
    struct qn_error err;
    int64_t bound_ms;
    int64_t least_ms = INT64_MAX;

    if (!qn_judge_number(in, bound, &bound_ms, &err)) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE, "%s", err.message);
        return;
    }
    qn_table_init_for(&leases, sizeof(struct lease), &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        bool is_grant = event->kind == QN_CHECK_LEASE_GRANT;
        if ((!is_grant && event->kind != QN_CHECK_LEASE_EXTEND) || !qn_judge_on_source(in, event)) {
            continue;
        }
        struct lease *lease = qn_table_at_kept(&leases, event->h);
        if (!is_grant && lease->deadline_ms != 0 && is_extension(event, lease->deadline_ms) &&
            qn_tally_selects(in->tally, which, event->k)) {
            int64_t left_ms = lease->deadline_ms - event->vt;
            least_ms = left_ms < least_ms ? left_ms : least_ms;
            judge(in, event, left_ms, bound_of(lease, bound_ms), ret_finding);
        }
        *lease = (struct lease){event->deadline, event->deadline - event->vt};
    }
    qn_table_done(&leases);
    if (ret_finding->result == QN_RESULT_PASS && least_ms < INT64_MAX) {
        qn_finding_set(ret_finding, QN_RESULT_PASS, "extended %.2g s early (limit %.2g s)",
                       (double)least_ms / 1000, (double)bound_ms / 1000);
    }
}
