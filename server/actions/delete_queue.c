/* DeleteQueue: removes a queue and everything it holds, at once. */
#include "server/actions/common.h"

struct input {
    struct qn_str queue_url;
};

static const struct qn_field fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
};
const struct qn_shape qn_delete_queue_in = QN_SHAPE(struct input, fields);

bool qn_delete_queue_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;

    return qn_resolve_queue(tx, in->queue_url, err);
}

bool qn_delete_queue_execute(struct qn_tx *tx, const void *input, void *ret_output,
                             struct qn_error *err)
{
    (void)input;
    (void)ret_output; /* the answer has no fields */
    (void)err;
    qn_engine_delete_queue(tx, tx->queue);
    tx->queue = NULL;
    return true;
}
