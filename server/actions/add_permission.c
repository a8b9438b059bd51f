/* AddPermission: appends a statement to the queue's policy. The policy is stored, not enforced. */
#include "server/actions/permissions.h"

struct input {
    struct qn_str queue_url;
    struct qn_str label;
    struct qn_list accounts;
    struct qn_list actions;
};

static const struct qn_field fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
    {"Label", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT, offsetof(struct input, label),
     NULL, NULL, NULL},
    {"AWSAccountIds", "AWSAccountId", QN_STRING_LIST, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, accounts), NULL, NULL, NULL},
    {"Actions", "ActionName", QN_STRING_LIST, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, actions), NULL, NULL, NULL},
};
const struct qn_shape qn_add_permission_in = QN_SHAPE(struct input, fields);

static const char *const granted[] = {"*",
                                      "SendMessage",
                                      "ReceiveMessage",
                                      "DeleteMessage",
                                      "ChangeMessageVisibility",
                                      "GetQueueUrl",
                                      "PurgeQueue",
                                      "ListDeadLetterSourceQueues",
                                      "GetQueueAttributes"};

static const char *const owner_only[] = {
    "AddPermission", "CreateQueue",          "DeleteQueue",          "ListQueues",
    "ListQueueTags", "RemovePermission",     "SetQueueAttributes",   "TagQueue",
    "UntagQueue",    "StartMessageMoveTask", "ListMessageMoveTasks", "CancelMessageMoveTask"};

static bool is_in(struct qn_str name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (qn_str_equal(name, qn_str_from_cstr(names[i]))) {
            return true;
        }
    }
    return false;
}

static bool check_accounts(struct qn_list accounts, struct qn_error *err)
{
    const struct qn_str *items = accounts.items;

    for (size_t i = 0; i < accounts.count; i++) {
        int64_t number;
        if (items[i].len != 12 || !qn_str_to_int64(items[i], 0, INT64_MAX, &number)) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                           "Value [%.*s] for parameter PrincipalId is invalid. Reason: Unable to "
                           "verify principal.",
                           QN_STR_ARG(qn_str_first(items[i], 256)));
        }
    }
    return true;
}

static bool check_actions(struct qn_list actions, struct qn_error *err)
{
    const struct qn_str *items = actions.items;

    if (actions.count > QN_POLICY_ACTIONS_MAX) {
        return qn_fail(err, QN_ERR_OVER_LIMIT, "%zu Actions were found, maximum allowed is %d.",
                       actions.count, QN_POLICY_ACTIONS_MAX);
    }
    for (size_t i = 0; i < actions.count; i++) {
        if (is_in(items[i], granted, sizeof(granted) / sizeof(granted[0]))) {
            continue;
        }
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "Value SQS:%.*s for parameter ActionName is invalid. Reason: %s",
                       QN_STR_ARG(qn_str_first(items[i], 256)),
                       is_in(items[i], owner_only, sizeof(owner_only) / sizeof(owner_only[0]))
                           ? "Only the queue owner is allowed to invoke this action."
                           : "Please refer to the appropriate WSDL for a list of valid actions.");
    }
    return true;
}

bool qn_add_permission_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;
    struct qn_str policy;

    if (!qn_resolve_queue(tx, in->queue_url, err)) {
        return false;
    }
    if (!qn_is_plain_name(in->label, QN_LABEL_MAX)) {
        return qn_fail_value(err, in->label, "Label",
                             "Can only include alphanumeric characters, hyphens, or underscores. 1 "
                             "to 80 in length.");
    }
    return check_accounts(in->accounts, err) && check_actions(in->actions, err) &&
           qn_policy_with_statement(tx, in->label, in->accounts, in->actions, &policy, err);
}

bool qn_add_permission_execute(struct qn_tx *tx, const void *input, void *ret_output,
                               struct qn_error *err)
{
    const struct input *in = input;
    struct qn_str policy;
    (void)ret_output; /* the answer has no fields */

    if (!qn_policy_with_statement(tx, in->label, in->accounts, in->actions, &policy, err)) {
        return false;
    }
    qn_policy_store(tx, policy);
    return true;
}
