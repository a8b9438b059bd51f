/* ChangeMessageVisibility: moves the instant at which an in-flight message can be received again.
 */
#include "server/actions/handles.h"

struct input {
    struct qn_str queue_url;
    struct qn_str receipt_handle;
    struct qn_integer visibility_timeout;
};

static const struct qn_field fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
    {"ReceiptHandle", NULL, QN_STRING, QN_REQUIRED, offsetof(struct input, receipt_handle), NULL,
     NULL, NULL},
    {"VisibilityTimeout", NULL, QN_INTEGER, QN_REQUIRED, offsetof(struct input, visibility_timeout),
     NULL, NULL, NULL},
};
const struct qn_shape qn_change_message_visibility_in = QN_SHAPE(struct input, fields);

bool qn_change_message_visibility_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;

    return qn_resolve_queue(tx, in->queue_url, err) &&
           qn_handle_change(tx, in->receipt_handle, in->visibility_timeout, true, err);
}

bool qn_change_message_visibility_execute(struct qn_tx *tx, const void *input, void *ret_output,
                                          struct qn_error *err)
{
    const struct input *in = input;
    (void)ret_output; /* the answer has no fields */

    return qn_handle_change(tx, in->receipt_handle, in->visibility_timeout, qn_is_faked(tx, 0),
                            err);
}

void qn_change_message_visibility_look(struct qn_tx *tx, const void *input,
                                       struct qn_facts *ret_facts)
{
    const struct input *in = input;

    qn_look_handle(tx, in->receipt_handle, QN_STR_NONE, ret_facts);
}
