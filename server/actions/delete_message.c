/* DeleteMessage: removes the message that the handle names, if the handle still counts. */
#include "server/actions/handles.h"

struct input {
    struct qn_str queue_url;
    struct qn_str receipt_handle;
};

static const struct qn_field fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
    {"ReceiptHandle", NULL, QN_STRING, QN_REQUIRED, offsetof(struct input, receipt_handle), NULL,
     NULL, NULL},
};
const struct qn_shape qn_delete_message_in = QN_SHAPE(struct input, fields);

bool qn_delete_message_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;

    return qn_resolve_queue(tx, in->queue_url, err) &&
           qn_handle_delete(tx, in->receipt_handle, true, err);
}

bool qn_delete_message_execute(struct qn_tx *tx, const void *input, void *ret_output,
                               struct qn_error *err)
{
    const struct input *in = input;
    (void)ret_output; /* the answer has no fields */

    return qn_handle_delete(tx, in->receipt_handle, qn_is_faked(tx, 0), err);
}

void qn_delete_message_look(struct qn_tx *tx, const void *input, struct qn_facts *ret_facts)
{
    const struct input *in = input;

    qn_look_handle(tx, in->receipt_handle, QN_STR_NONE, ret_facts);
}
