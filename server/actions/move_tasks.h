/* What the three actions on message move tasks share. */
#ifndef QN_ACTIONS_MOVE_TASKS_H
#define QN_ACTIONS_MOVE_TASKS_H

#include "server/actions/common.h"

/* The queue of an ARN; fails with InvalidParameterValue when it is none, and with
 * ResourceNotFoundException when there is no such queue. parameter: SourceArn or DestinationArn. */
QN_MUST_CHECK bool qn_resolve_arn(struct qn_tx *tx, struct qn_str arn, const char *parameter,
                                  struct qn_queue **ret_queue, struct qn_error *err);
bool qn_is_dead_letter_queue(struct qn_tx *tx, const struct qn_queue *queue);

/* base64 of {"taskId":"...","sourceArn":"..."}. */
struct qn_str qn_task_handle(struct qn_tx *tx, const uint8_t id[16], struct qn_str source_arn);
/* False: not a handle. The ARN is in the arena. */
QN_MUST_CHECK bool qn_task_handle_read(struct qn_tx *tx, struct qn_str handle, uint8_t ret_id[16],
                                       struct qn_str *ret_source_arn);

#endif
