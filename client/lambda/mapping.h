/* An event source mapping and the settings of its function, in AWS's own names and limits.
 * https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html */
#ifndef QN_LAMBDA_MAPPING_H
#define QN_LAMBDA_MAPPING_H

#include "client/lambda/filter.h"

enum {
    QN_LAMBDA_BATCH_MAX = 10000,
    QN_LAMBDA_FIFO_BATCH_MAX = 10,
    QN_LAMBDA_WINDOW_MAX_S = 300,
    QN_LAMBDA_CONCURRENCY_MIN = 2,
    QN_LAMBDA_CONCURRENCY_MAX = 1000,
    QN_LAMBDA_TIMEOUT_MAX_S = 900,
    QN_LAMBDA_POLLERS = 5, /* with which Lambda begins */
};

struct qn_lambda_mapping {
    int64_t batch_size;      /* 10 */
    int64_t window_s;        /* 0 */
    bool reports;            /* ReportBatchItemFailures */
    int64_t max_concurrency; /* 0: not set */
    struct qn_lambda_filters filters;
    char function[141]; /* its name */
    int64_t timeout_s;  /* 3 */
    int64_t memory_mib; /* 128 */
    int64_t reserved;   /* ReservedConcurrentExecutions; -1: not set */
    /* The attributes of the queues in production, or NULL: for the audit. */
    json_t *queue;
    json_t *dead_letter_queue;
};

/* What the queue says of itself. */
struct qn_lambda_queue {
    char arn[256];
    char region[64];
    bool is_fifo;
    int64_t visibility_s;
    int64_t retention_s;
    int64_t max_receive_count; /* 0: no redrive policy */
    char dead_letter_arn[256];
    int64_t dead_letter_retention_s; /* 0: not known */
};

void qn_lambda_mapping_init(struct qn_lambda_mapping *mapping);
/* Accepts a zeroed mapping. */
void qn_lambda_mapping_done(struct qn_lambda_mapping *mapping);

/* Reads what `aws lambda get-event-source-mapping` prints or `create-event-source-mapping
 * --cli-input-json` takes; "Function" in it may hold what `get-function-configuration` prints, and
 * ReservedConcurrentExecutions, and "Queue" what `aws sqs get-queue-attributes` prints of the queue
 * in production, "DeadLetterQueue" of its dead-letter queue. What is not there stays. A name that
 * AWS does not know is refused.
 */
QN_MUST_CHECK bool qn_lambda_mapping_read(struct qn_lambda_mapping *mapping, const json_t *document,
                                          struct qn_error *err);
/* One value, under AWS's name, with AWS's range. */
QN_MUST_CHECK bool qn_lambda_mapping_set(struct qn_lambda_mapping *mapping, const char *name,
                                         int64_t value, struct qn_error *err);

/* attributes: those of GetQueueAttributes. */
void qn_lambda_queue_read(struct qn_lambda_queue *queue, const json_t *attributes);

/* What Lambda refuses when a mapping is made, in its words. */
QN_MUST_CHECK bool qn_lambda_mapping_check(const struct qn_lambda_mapping *mapping,
                                           const struct qn_lambda_queue *queue,
                                           struct qn_error *err);

/* What works and is still a mistake in production. Calls `tell` with a line for each, in order, and
 * returns how many. */
size_t qn_lambda_mapping_audit(const struct qn_lambda_mapping *mapping,
                               const struct qn_lambda_queue *queue,
                               void (*tell)(void *state, const char *line), void *state);

#endif
