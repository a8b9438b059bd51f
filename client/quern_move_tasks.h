/* Moving messages out of a dead-letter queue. Included by quern.h. Queues are named by their ARN
 * here, the attribute QueueArn. */
#ifndef QUERN_MOVE_TASKS_H
#define QUERN_MOVE_TASKS_H

#include "quern_messages.h"

#ifdef __cplusplus
extern "C" {
#endif

struct quern_move {
    const char *source_arn;      /* a dead-letter queue */
    const char *destination_arn; /* of the same kind; NULL: each message's own source queue */
    int64_t max_per_second;      /* 1 to 500; 0: as fast as the service can */
};

/* Starts a task: StartMessageMoveTask. The handle, by which it can be cancelled, goes back through
 * quern_text_free. Messages get new ids and times. Errors: ResourceNotFoundException,
 * UnsupportedOperation, InvalidParameterValueException (a task is running on the source).
 * Source: API reference, StartMessageMoveTask. */
bool quern_start_message_move_task(struct quern_client *client, const struct quern_move *move,
                                   char **ret_task_handle, struct quern_error *err);

struct quern_move_task {
    const char *task_handle; /* of a running task only, else NULL */
    const char *status;      /* RUNNING, COMPLETED, CANCELLING, CANCELLED or FAILED */
    const char *source_arn;
    const char *destination_arn; /* NULL: each message's own source queue */
    int64_t max_per_second;      /* QUERN_NOT_GIVEN: as fast as the service can */
    int64_t moved;               /* messages, approximately */
    int64_t to_move;             /* when it was started, approximately; QUERN_NOT_GIVEN: not told */
    const char *failure_reason;  /* of a task that failed, else NULL */
    int64_t started_at_ms;       /* since the epoch */
};

struct quern_move_tasks {
    const struct quern_move_task *items; /* newest first */
    size_t count;
};

/* The tasks of a source queue: ListMessageMoveTasks. max_results 1 to 10; 0: 10.
 * Source: API reference, ListMessageMoveTasks. */
bool quern_list_message_move_tasks(struct quern_client *client, const char *source_arn,
                                   int64_t max_results, struct quern_move_tasks **ret_tasks,
                                   struct quern_error *err);

/* Stops a running task; what is moved stays moved: CancelMessageMoveTask. ret_moved, how many that
 * are approximately, may be NULL. Source: API reference, CancelMessageMoveTask. */
bool quern_cancel_message_move_task(struct quern_client *client, const char *task_handle,
                                    int64_t *ret_moved, struct quern_error *err);

#ifdef __cplusplus
}
#endif

#endif
