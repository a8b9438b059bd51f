/* GetQueueUrl: the URL of a queue by its name. */
#include "server/actions/common.h"

struct input {
    struct qn_str queue_name;
    struct qn_str owner;
};

struct output {
    struct qn_str queue_url;
};

static const struct qn_field input_fields[] = {
    {"QueueName", NULL, QN_STRING, QN_REQUIRED, offsetof(struct input, queue_name), NULL, NULL,
     NULL},
    {"QueueOwnerAWSAccountId", NULL, QN_STRING, 0, offsetof(struct input, owner), NULL, NULL, NULL},
};
const struct qn_shape qn_get_queue_url_in = QN_SHAPE(struct input, input_fields);

static const struct qn_field output_fields[] = {
    {"QueueUrl", NULL, QN_STRING, 0, offsetof(struct output, queue_url), NULL, NULL, NULL},
};
const struct qn_shape qn_get_queue_url_out = QN_SHAPE(struct output, output_fields);

bool qn_get_queue_url_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;
    struct qn_str account = qn_str_is_none(in->owner) ? tx->caller->account : in->owner;

    tx->queue = qn_engine_find_queue(tx->engine, account, tx->caller->region, in->queue_name);
    if (tx->queue != NULL) {
        return true;
    }
    if (qn_engine_options_of(tx->engine)->auto_create && qn_str_is_none(in->owner) &&
        in->queue_name.len > 0) {
        return qn_resolve_queue(tx, in->queue_name, err);
    }
    return qn_fail(err, QN_ERR_QUEUE_DOES_NOT_EXIST, "The specified queue does not exist.");
}

bool qn_get_queue_url_execute(struct qn_tx *tx, const void *input, void *ret_output,
                              struct qn_error *err)
{
    struct output *out = ret_output;

    (void)input;
    (void)err;
    out->queue_url = qn_queue_url_of(tx, tx->queue);
    return true;
}
