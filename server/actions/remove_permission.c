/* RemovePermission: removes the statement of a label from the queue's policy. */
#include "server/actions/permissions.h"

struct input {
    struct qn_str queue_url;
    struct qn_str label;
};

static const struct qn_field fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
    {"Label", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT, offsetof(struct input, label),
     NULL, NULL, NULL},
};
const struct qn_shape qn_remove_permission_in = QN_SHAPE(struct input, fields);

bool qn_remove_permission_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;
    struct qn_str policy;

    return qn_resolve_queue(tx, in->queue_url, err) &&
           qn_policy_without_statement(tx, in->label, &policy, err);
}

bool qn_remove_permission_execute(struct qn_tx *tx, const void *input, void *ret_output,
                                  struct qn_error *err)
{
    const struct input *in = input;
    struct qn_str policy;
    (void)ret_output; /* the answer has no fields */

    if (!qn_policy_without_statement(tx, in->label, &policy, err)) {
        return false;
    }
    qn_policy_store(tx, policy);
    return true;
}
