/* ListMessageMoveTasks: the latest tasks of a source queue, newest first. */
#include "server/actions/move_tasks.h"

struct input {
    struct qn_str source_arn;
    struct qn_integer max;
};

struct task {
    struct qn_str task_handle;
    struct qn_str status;
    struct qn_str source_arn;
    struct qn_str destination_arn;
    struct qn_integer per_second;
    struct qn_integer moved;
    struct qn_integer to_move;
    struct qn_str failure;
    struct qn_integer started_at_ms;
};

struct output {
    struct qn_list results;
};

static const struct qn_field input_fields[] = {
    {"SourceArn", NULL, QN_STRING, QN_REQUIRED, offsetof(struct input, source_arn), NULL, NULL,
     NULL},
    {"MaxResults", NULL, QN_INTEGER, 0, offsetof(struct input, max), NULL, NULL, NULL},
};
const struct qn_shape qn_list_message_move_tasks_in = QN_SHAPE(struct input, input_fields);

static const struct qn_field task_fields[] = {
    {"TaskHandle", NULL, QN_STRING, 0, offsetof(struct task, task_handle), NULL, NULL, NULL},
    {"Status", NULL, QN_STRING, 0, offsetof(struct task, status), NULL, NULL, NULL},
    {"SourceArn", NULL, QN_STRING, 0, offsetof(struct task, source_arn), NULL, NULL, NULL},
    {"DestinationArn", NULL, QN_STRING, 0, offsetof(struct task, destination_arn), NULL, NULL,
     NULL},
    {"MaxNumberOfMessagesPerSecond", NULL, QN_INTEGER, 0, offsetof(struct task, per_second), NULL,
     NULL, NULL},
    {"ApproximateNumberOfMessagesMoved", NULL, QN_INTEGER, 0, offsetof(struct task, moved), NULL,
     NULL, NULL},
    {"ApproximateNumberOfMessagesToMove", NULL, QN_INTEGER, 0, offsetof(struct task, to_move), NULL,
     NULL, NULL},
    {"FailureReason", NULL, QN_STRING, 0, offsetof(struct task, failure), NULL, NULL, NULL},
    {"StartedTimestamp", NULL, QN_INTEGER, 0, offsetof(struct task, started_at_ms), NULL, NULL,
     NULL},
};
static const struct qn_shape task_shape = QN_SHAPE(struct task, task_fields);

static const struct qn_field output_fields[] = {
    {"Results", "ListMessageMoveTasksResultEntry", QN_STRUCT_LIST, 0,
     offsetof(struct output, results), &task_shape, NULL, NULL},
};
const struct qn_shape qn_list_message_move_tasks_out = QN_SHAPE(struct output, output_fields);

bool qn_list_message_move_tasks_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;

    return qn_resolve_arn(tx, in->source_arn, "SourceArn", &tx->queue, err) &&
           qn_check_range(in->max, 1, QN_MOVE_TASKS_KEPT, "MaxResults", "Must be between 1 and 10.",
                          err);
}

static struct qn_integer integer(int64_t value)
{
    return (struct qn_integer){.value = value, .present = true};
}

static void fill(struct qn_tx *tx, const struct qn_task_view *view, struct task *task)
{
    static const char *const names[] = {"RUNNING", "COMPLETED", "CANCELLING", "CANCELLED",
                                        "FAILED"};

    *task = (struct task){
        .status = qn_str_from_cstr(names[view->status]),
        .source_arn = view->source_arn,
        .destination_arn = view->destination_arn,
        .moved = integer(view->moved),
        .to_move = integer(view->to_move),
        .failure = view->failure,
        .started_at_ms = integer(view->started_at_ms),
    };
    if (view->per_second > 0) {
        task->per_second = integer(view->per_second);
    }
    if (view->status == QN_TASK_RUNNING) {
        task->task_handle = qn_task_handle(tx, view->id, view->source_arn);
    }
}

bool qn_list_message_move_tasks_execute(struct qn_tx *tx, const void *input, void *ret_output,
                                        struct qn_error *err)
{
    const struct input *in = input;
    struct output *out = ret_output;
    size_t max = in->max.present ? (size_t)in->max.value : 1;
    struct qn_task_view view;

    if (!qn_list_new(tx, max, sizeof(struct task), &out->results, err)) {
        return false;
    }
    while (out->results.count < max &&
           qn_engine_task_at(tx->engine, tx->queue, out->results.count, &view)) {
        fill(tx, &view, (struct task *)out->results.items + out->results.count);
        out->results.count++;
    }
    return true;
}
