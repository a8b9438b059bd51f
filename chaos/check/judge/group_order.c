/* GROUP-ORDER: within a group, a message is begun only when all before it are finished. Without the
 * sink, by the order in which their deletes are asked for. */
#include "chaos/check/judge/groups.h"

static void judge(const struct qn_groups *groups, const struct qn_group_message *message,
                  const struct qn_check_event *event, struct qn_finding *finding)
{
    const struct qn_group_message *before = qn_groups_open_before(groups, message);

    if (before != NULL &&
        qn_finding_break(finding, QN_MUST,
                         "%.*s of group %.*s was %s (seq %llu) before %.*s was finished",
                         QN_STR_ARG(message->k), QN_STR_ARG(message->group->name),
                         event->kind == QN_CHECK_API_IN ? "deleted" : "begun",
                         (unsigned long long)event->seq, QN_STR_ARG(before->k))) {
        qn_finding_witness(finding, event->seq);
    }
}

static void judge_request(const struct qn_groups *groups, const struct qn_check_event *call,
                          struct qn_finding *finding)
{
    for (size_t i = 0; i < call->detail->handle_count; i++) {
        const struct qn_group_message *message = qn_groups_of_request(groups, call, i);
        if (message != NULL) {
            judge(groups, message, call, finding);
        }
    }
}

static void step(const struct qn_groups *groups, const struct qn_check_event *event,
                 struct qn_finding *finding)
{
    if (event->kind == QN_CHECK_WORK_BEGIN) {
        struct qn_group_message *message = qn_groups_find(groups, event);
        if (message != NULL && !message->is_begun) {
            message->is_begun = true;
            judge(groups, message, event, finding);
        }
    } else if (qn_groups_note_request(groups, event)) {
        judge_request(groups, event, finding);
    } else {
        qn_groups_note(groups, event);
    }
}

void qn_judge_group_order(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_groups groups;

    if (!qn_groups_are_seen(in, ret_finding)) {
        return;
    }
    qn_groups_init(&groups, in);
    for (size_t i = 0; i < in->history->count; i++) {
        step(&groups, &in->history->events[i], ret_finding);
    }
    if (ret_finding->result == QN_RESULT_PASS && in->level < QN_LEVEL_SINK) {
        qn_finding_set(ret_finding, QN_RESULT_PASS, "by the order of the deletes");
    }
    qn_groups_done(&groups);
}
