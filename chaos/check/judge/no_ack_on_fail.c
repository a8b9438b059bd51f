/* NO-ACK-ON-FAIL: a message whose last attempt failed, and not for good, is not deleted. */
#include "chaos/check/judge/judge.h"

struct key {
    bool is_settled;
    const struct qn_check_event *failure; /* the last attempt ended so; NULL: it did not */
};

static bool is_for_good(struct qn_str reason)
{
    return qn_str_equal(reason, QN_STR("permanent")) ||
           qn_str_starts_with(reason, QN_STR("key used"));
}

static void note(const struct qn_judge_input *in, struct qn_table *keys,
                 const struct qn_check_event *event)
{
    if (qn_judge_settles(in, event)) {
        struct key *key = qn_table_at_kept(keys, event->k);
        key->is_settled = true;
    } else if (event->kind == QN_CHECK_WORK_ABORT) {
        struct key *key = qn_table_at_kept(keys, event->k);
        key->failure = is_for_good(event->detail->reason) ? NULL : event;
    } else if (event->kind == QN_CHECK_WORK_BEGIN) {
        struct key *key = qn_table_at_kept(keys, event->k);
        key->failure = NULL; /* that it works on it when it deletes is for ACK-AFTER-EFFECT */
    }
}

void qn_judge_no_ack_on_fail(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_table keys;

    if (in->level < QN_LEVEL_SINK) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE, "needs the effect sink");
        return;
    }
    qn_table_init_for(&keys, sizeof(struct key), &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind != QN_CHECK_MSG_DELETE) {
            note(in, &keys, event);
            continue;
        }
        const struct key *key =
            qn_judge_on_source(in, event) ? qn_table_find_kept(&keys, event->k) : NULL;
        if (key == NULL || key->is_settled || key->failure == NULL ||
            qn_judge_is_excepted(in, event->k) ||
            (in->poison == QN_POISON_DISCARD && qn_judge_is_poison(in, event->k))) {
            continue;
        }
        if (qn_finding_break(
                ret_finding, QN_MUST,
                "%.*s was deleted (seq %llu) though its last attempt had failed (%.*s)",
                QN_STR_ARG(event->k), (unsigned long long)event->seq,
                QN_STR_ARG(key->failure->detail->reason))) {
            qn_finding_witness(ret_finding, key->failure->seq);
            qn_finding_witness(ret_finding, event->seq);
        }
    }
    qn_table_done(&keys);
}
