/* PurgeQueue: removes all messages of a queue, whatever their state. */
#include "server/actions/common.h"

struct input {
    struct qn_str queue_url;
};

static const struct qn_field fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
};
const struct qn_shape qn_purge_queue_in = QN_SHAPE(struct input, fields);

bool qn_purge_queue_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;

    if (!qn_resolve_queue(tx, in->queue_url, err)) {
        return false;
    }
    int64_t purged_at_ms = qn_queue_settings_of(tx->queue)->purged_at_ms;
    if (qn_engine_options_of(tx->engine)->aws_waits && purged_at_ms >= 0 &&
        tx->now_ms - purged_at_ms < QN_PURGE_WAIT_MS) {
        return qn_fail(err, QN_ERR_PURGE_QUEUE_IN_PROGRESS,
                       "Only one PurgeQueue operation on %.*s is allowed every 60 seconds.",
                       QN_STR_ARG(qn_queue_name(tx->queue)));
    }
    return true;
}

bool qn_purge_queue_execute(struct qn_tx *tx, const void *input, void *ret_output,
                            struct qn_error *err)
{
    (void)input;
    (void)ret_output; /* the answer has no fields */
    (void)err;
    qn_engine_purge_queue(tx, tx->queue);
    return true;
}
