/* CancelMessageMoveTask: stops a running task; what has been moved stays moved. */
#include "server/actions/move_tasks.h"

struct input {
    struct qn_str task_handle;
};

struct output {
    struct qn_integer moved;
};

static const struct qn_field input_fields[] = {
    {"TaskHandle", NULL, QN_STRING, QN_REQUIRED, offsetof(struct input, task_handle), NULL, NULL,
     NULL},
};
const struct qn_shape qn_cancel_message_move_task_in = QN_SHAPE(struct input, input_fields);

static const struct qn_field output_fields[] = {
    {"ApproximateNumberOfMessagesMoved", NULL, QN_INTEGER, 0, offsetof(struct output, moved), NULL,
     NULL, NULL},
};
const struct qn_shape qn_cancel_message_move_task_out = QN_SHAPE(struct output, output_fields);

static bool read_handle(struct qn_tx *tx, const struct input *in, uint8_t ret_id[16],
                        struct qn_str *ret_arn, struct qn_error *err)
{
    return qn_task_handle_read(tx, in->task_handle, ret_id, ret_arn) ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "Value for parameter TaskHandle is invalid.");
}

bool qn_cancel_message_move_task_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;
    uint8_t id[16];
    struct qn_str arn;
    struct qn_task_view view;

    if (!read_handle(tx, in, id, &arn, err) ||
        !qn_resolve_arn(tx, arn, "SourceArn", &tx->queue, err)) {
        return false;
    }
    if (!qn_engine_find_task(tx->engine, id, &view) || view.status != QN_TASK_RUNNING ||
        !qn_str_equal(view.source_arn, qn_queue_arn(tx->queue))) {
        return qn_fail(err, QN_ERR_RESOURCE_NOT_FOUND, "Task does not exist.");
    }
    return true;
}

bool qn_cancel_message_move_task_execute(struct qn_tx *tx, const void *input, void *ret_output,
                                         struct qn_error *err)
{
    struct output *out = ret_output;
    uint8_t id[16];
    struct qn_str arn;

    if (!read_handle(tx, input, id, &arn, err)) {
        return false;
    }
    out->moved = (struct qn_integer){.value = qn_engine_cancel_task(tx, id), .present = true};
    return true;
}
