/* SendMessage: stores one message. */
#include "server/actions/batch.h"
#include "server/actions/message_attributes.h"

struct input {
    struct qn_str queue_url;
    struct qn_message_input message;
};

struct output {
    struct qn_message_output message;
};

static const struct qn_field input_fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
    QN_MESSAGE_INPUT_FIELDS(struct input, message, QN_REQUIRED | QN_EMPTY_IS_ABSENT),
};
const struct qn_shape qn_send_message_in = QN_SHAPE(struct input, input_fields);

static const struct qn_field output_fields[] = {
    QN_MESSAGE_OUTPUT_FIELDS(struct output, message),
};
const struct qn_shape qn_send_message_out = QN_SHAPE(struct output, output_fields);

bool qn_send_message_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;

    return qn_resolve_queue(tx, in->queue_url, err) &&
           qn_message_check(tx, &in->message, false, err);
}

bool qn_send_message_execute(struct qn_tx *tx, const void *input, void *ret_output,
                             struct qn_error *err)
{
    const struct input *in = input;
    struct output *out = ret_output;

    return qn_message_send(tx, &in->message, qn_is_faked(tx, 0), &out->message, err);
}

void qn_send_message_look(struct qn_tx *tx, const void *input, struct qn_facts *ret_facts)
{
    const struct input *in = input;

    qn_look_send(tx, &in->message, QN_STR_NONE, ret_facts);
}
