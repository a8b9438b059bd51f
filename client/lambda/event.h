/* The event that a function gets.
 * https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html */
#ifndef QN_LAMBDA_EVENT_H
#define QN_LAMBDA_EVENT_H

#include <jansson.h>

#include "server/base/buf.h"

/* What an invocation may carry at most, of AWS's 6 MB. */
enum { QN_LAMBDA_EVENT_MAX = 6 * 1024 * 1024 };

/* One message, as ReceiveMessage gives it, as a record of an event. The caller's. */
json_t *qn_lambda_record_new(const json_t *message, const char *queue_arn, const char *region);

/* {"Records": [...]} is put together from the bytes of records, so that their sum is known before.
 */
void qn_lambda_event_begin(struct qn_buf *event);
/* False, and nothing is added, when the event would become too long; the first is always taken. */
bool qn_lambda_event_add(struct qn_buf *event, const json_t *record);
void qn_lambda_event_end(struct qn_buf *event);

#endif
