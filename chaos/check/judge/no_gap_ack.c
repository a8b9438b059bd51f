/* NO-GAP-ACK: a message of a group is deleted only when all before it are finished. Without the
 * sink, when the delete of all before it was asked for. */
#include "chaos/check/judge/groups.h"

static void judge_delete(const struct qn_groups *groups, struct qn_group_message *message,
                         const struct qn_check_event *event, struct qn_finding *finding)
{
    const struct qn_group_message *before = qn_groups_open_before(groups, message);

    if (before != NULL &&
        qn_finding_break(finding, QN_MUST,
                         "%.*s of group %.*s was deleted (seq %llu) before %.*s was finished",
                         QN_STR_ARG(message->k), QN_STR_ARG(message->group->name),
                         (unsigned long long)event->seq, QN_STR_ARG(before->k))) {
        qn_finding_witness(finding, event->seq);
    }
    /* That it had no effect then is for ACK-AFTER-EFFECT to say. */
    message->is_finished = true;
}

void qn_judge_no_gap_ack(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_groups groups;

    if (!qn_groups_are_seen(in, ret_finding)) {
        return;
    }
    qn_groups_init(&groups, in);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind != QN_CHECK_MSG_DELETE) {
            if (!qn_groups_note_request(&groups, event)) {
                qn_groups_note(&groups, event);
            }
            continue;
        }
        struct qn_group_message *message =
            qn_judge_on_source(in, event) ? qn_groups_find(&groups, event) : NULL;
        if (message != NULL) {
            judge_delete(&groups, message, event, ret_finding);
        }
    }
    if (ret_finding->result == QN_RESULT_PASS && in->level < QN_LEVEL_SINK) {
        qn_finding_set(ret_finding, QN_RESULT_PASS, "by the order of the deletes");
    }
    qn_groups_done(&groups);
}
