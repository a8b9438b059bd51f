/* StartMessageMoveTask: begins to move the messages of a dead-letter queue, in the background. */
#include "server/actions/move_tasks.h"

struct input {
    struct qn_str source_arn;
    struct qn_str destination_arn;
    struct qn_integer per_second;
};

struct output {
    struct qn_str task_handle;
};

static const struct qn_field input_fields[] = {
    {"SourceArn", NULL, QN_STRING, QN_REQUIRED, offsetof(struct input, source_arn), NULL, NULL,
     NULL},
    {"DestinationArn", NULL, QN_STRING, 0, offsetof(struct input, destination_arn), NULL, NULL,
     NULL},
    {"MaxNumberOfMessagesPerSecond", NULL, QN_INTEGER, 0, offsetof(struct input, per_second), NULL,
     NULL, NULL},
};
const struct qn_shape qn_start_message_move_task_in = QN_SHAPE(struct input, input_fields);

static const struct qn_field output_fields[] = {
    {"TaskHandle", NULL, QN_STRING, 0, offsetof(struct output, task_handle), NULL, NULL, NULL},
};
const struct qn_shape qn_start_message_move_task_out = QN_SHAPE(struct output, output_fields);

static bool find_destination(struct qn_tx *tx, const struct input *in, struct qn_queue **ret_queue,
                             struct qn_error *err)
{
    *ret_queue = NULL;
    if (qn_str_is_none(in->destination_arn)) {
        return true;
    }
    if (!qn_resolve_arn(tx, in->destination_arn, "DestinationArn", ret_queue, err)) {
        return false;
    }
    if (*ret_queue == tx->queue) {
        return qn_fail_value(err, in->destination_arn, "DestinationArn",
                             "The destination must be another queue than the source.");
    }
    if (qn_queue_is_fifo(*ret_queue) != qn_queue_is_fifo(tx->queue)) {
        return qn_fail_value(err, in->destination_arn, "DestinationArn",
                             "The destination must be of the same queue type as the source.");
    }
    return true;
}

bool qn_start_message_move_task_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;
    struct qn_queue *destination;

    if (!qn_resolve_arn(tx, in->source_arn, "SourceArn", &tx->queue, err) ||
        !find_destination(tx, in, &destination, err) ||
        !qn_check_range(in->per_second, 1, QN_MOVE_RATE_MAX, "MaxNumberOfMessagesPerSecond",
                        "Must be between 1 and 500.", err)) {
        return false;
    }
    if (!qn_is_dead_letter_queue(tx, tx->queue)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "Source queue must be configured as a Dead Letter Queue.");
    }
    if (qn_engine_task_is_active(tx->engine, tx->queue)) {
        return qn_fail(
            err, QN_ERR_INVALID_PARAMETER_VALUE,
            "There is already a task running. Only one active task is allowed for a source "
            "queue arn at a given time.");
    }
    if (qn_engine_active_tasks(tx->engine, qn_queue_account(tx->queue)) >=
        QN_MOVE_TASKS_ACTIVE_MAX) {
        return qn_fail(err, QN_ERR_OVER_LIMIT,
                       "Too many active message move tasks: an account can have at most %d.",
                       QN_MOVE_TASKS_ACTIVE_MAX);
    }
    return true;
}

bool qn_start_message_move_task_execute(struct qn_tx *tx, const void *input, void *ret_output,
                                        struct qn_error *err)
{
    const struct input *in = input;
    struct output *out = ret_output;
    struct qn_queue *destination;
    uint8_t id[16];

    if (!find_destination(tx, in, &destination, err)) {
        return false;
    }
    qn_engine_start_task(tx, tx->queue, destination,
                         in->per_second.present ? in->per_second.value : 0, id);
    out->task_handle = qn_task_handle(tx, id, qn_queue_arn(tx->queue));
    return true;
}
