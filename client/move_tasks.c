/* The actions on message move tasks. */
#include "client/calls.h"
#include "client/internal.h"

enum { LIST_MAX = 10 };

/* ---- start ---- */

static const struct quern_field start_fields[] = {
    {.name = "SourceArn", .is_required = true, .offset = offsetof(struct quern_move, source_arn)},
    {.name = "DestinationArn", .offset = offsetof(struct quern_move, destination_arn)},
    {.name = "MaxNumberOfMessagesPerSecond",
     .kind = QUERN_NUMBER,
     .offset = offsetof(struct quern_move, max_per_second)},
};
static const struct quern_shape start_shape = QUERN_SHAPE(struct quern_move, start_fields);

/* A handle, given or told. */
struct handle {
    const char *task_handle;
};

static const struct quern_field handle_fields[] = {
    {.name = "TaskHandle", .is_required = true, .offset = offsetof(struct handle, task_handle)},
};
static const struct quern_shape handle_shape = QUERN_SHAPE(struct handle, handle_fields);

bool quern_start_message_move_task(struct quern_client *client, const struct quern_move *move,
                                   char **ret_task_handle, struct quern_error *err)
{
    struct quern_move input = *move;
    const struct quern_call call = {
        .action = "StartMessageMoveTask",
        .input_shape = &start_shape,
        .input = &input,
        .output_shape = &handle_shape,
    };
    void *output = NULL;

    if (input.max_per_second == 0) {
        input.max_per_second = QUERN_NOT_GIVEN;
    }
    if (!quern_call_make(client, &call, &output, err)) {
        return false;
    }
    const char *handle = ((const struct handle *)output)->task_handle;
    *ret_task_handle = qn_memory_copy_text(handle, strlen(handle));
    quern_answer_free(output);
    return true;
}

/* ---- list ---- */

struct list_input {
    const char *source_arn;
    int64_t max_results;
};

static const struct quern_field list_fields[] = {
    {.name = "SourceArn", .is_required = true, .offset = offsetof(struct list_input, source_arn)},
    {.name = "MaxResults",
     .kind = QUERN_NUMBER,
     .offset = offsetof(struct list_input, max_results)},
};
static const struct quern_shape list_shape = QUERN_SHAPE(struct list_input, list_fields);

#define AT(member) offsetof(struct quern_move_task, member)

static const struct quern_field task_fields[] = {
    {.name = "TaskHandle", .offset = AT(task_handle)},
    {.name = "Status", .is_required = true, .offset = AT(status)},
    {.name = "SourceArn", .offset = AT(source_arn)},
    {.name = "DestinationArn", .offset = AT(destination_arn)},
    {.name = "MaxNumberOfMessagesPerSecond", .kind = QUERN_NUMBER, .offset = AT(max_per_second)},
    {.name = "ApproximateNumberOfMessagesMoved", .kind = QUERN_NUMBER, .offset = AT(moved)},
    {.name = "ApproximateNumberOfMessagesToMove", .kind = QUERN_NUMBER, .offset = AT(to_move)},
    {.name = "FailureReason", .offset = AT(failure_reason)},
    {.name = "StartedTimestamp", .kind = QUERN_NUMBER, .offset = AT(started_at_ms)},
};
static const struct quern_shape task_shape = QUERN_SHAPE(struct quern_move_task, task_fields);

static const struct quern_field tasks_fields[] = {
    {.name = "Results",
     .kind = QUERN_ITEMS,
     .offset = offsetof(struct quern_move_tasks, items),
     .count = offsetof(struct quern_move_tasks, count),
     .item = &task_shape},
};
static const struct quern_shape tasks_shape = QUERN_SHAPE(struct quern_move_tasks, tasks_fields);

bool quern_list_message_move_tasks(struct quern_client *client, const char *source_arn,
                                   int64_t max_results, struct quern_move_tasks **ret_tasks,
                                   struct quern_error *err)
{
    const struct list_input input = {source_arn, max_results != 0 ? max_results : LIST_MAX};
    const struct quern_call call = {
        .action = "ListMessageMoveTasks",
        .input_shape = &list_shape,
        .input = &input,
        .output_shape = &tasks_shape,
    };
    void *output = NULL;
    bool ok = quern_call_make(client, &call, &output, err);

    if (ok) {
        *ret_tasks = output;
    }
    return ok;
}

/* ---- cancel ---- */

struct cancel_output {
    int64_t moved;
};

static const struct quern_field cancel_fields[] = {
    {.name = "ApproximateNumberOfMessagesMoved",
     .kind = QUERN_NUMBER,
     .offset = offsetof(struct cancel_output, moved)},
};
static const struct quern_shape cancel_shape = QUERN_SHAPE(struct cancel_output, cancel_fields);

bool quern_cancel_message_move_task(struct quern_client *client, const char *task_handle,
                                    int64_t *ret_moved, struct quern_error *err)
{
    const struct handle input = {task_handle};
    const struct quern_call call = {
        .action = "CancelMessageMoveTask",
        .input_shape = &handle_shape,
        .input = &input,
        .output_shape = &cancel_shape,
    };
    void *output = NULL;

    if (!quern_call_make(client, &call, &output, err)) {
        return false;
    }
    if (ret_moved != NULL) {
        *ret_moved = ((const struct cancel_output *)output)->moved;
    }
    quern_answer_free(output);
    return true;
}
