/* Every limit of SQS with its unit. Sources: SQS developer guide, quotas-queues, quotas-messages,
 * quotas-fifo, quotas-policies; the texts of the SQS service model. */
#ifndef QN_MODEL_LIMITS_H
#define QN_MODEL_LIMITS_H

#include <stdint.h>

enum {
    QN_QUEUE_NAME_MAX = 80,
    QN_VISIBILITY_MAX_S = 43200,
    QN_VISIBILITY_DEFAULT_S = 30,
    QN_DELAY_MAX_S = 900,
    QN_WAIT_MAX_S = 20,
    QN_RETENTION_MIN_S = 60,
    QN_RETENTION_MAX_S = 1209600,
    QN_RETENTION_DEFAULT_S = 345600,
    QN_MESSAGE_SIZE_MIN = 1024,
    QN_MESSAGE_SIZE_MAX = 1048576,
    QN_BATCH_SIZE_MAX = 1048576,
    QN_BATCH_ENTRIES_MAX = 10,
    QN_BATCH_ID_MAX = 80,
    QN_RECEIVE_MAX = 10,
    QN_IN_FLIGHT_MAX = 120000,
    QN_MESSAGE_ATTRIBUTES_MAX = 10,
    QN_ATTRIBUTE_NAME_MAX = 256,
    QN_ATTRIBUTE_TYPE_MAX = 256,
    QN_NUMBER_DIGITS_MAX = 38,
    QN_FIFO_ID_MAX = 128, /* group id, deduplication id, receive attempt id: characters */
    QN_DEDUPLICATION_MS = 300000,
    QN_ATTEMPT_MS = 300000,
    QN_MAX_RECEIVE_COUNT_MAX = 1000,
    QN_SOURCE_ARNS_MAX = 10,
    QN_MOVE_RATE_MAX = 500,
    QN_MOVE_TASKS_ACTIVE_MAX = 100,
    QN_MOVE_TASKS_KEPT = 10,
    QN_MOVE_TASK_MAX_S = 36 * 3600,
    QN_LIST_MAX = 1000,
    QN_TAGS_MAX = 50,
    QN_TAG_KEY_MAX = 128,
    QN_TAG_VALUE_MAX = 256,
    QN_POLICY_BYTES_MAX = 8192,
    QN_POLICY_STATEMENTS_MAX = 20,
    QN_POLICY_PRINCIPALS_MAX = 50,
    QN_POLICY_CONDITIONS_MAX = 10,
    QN_POLICY_ACTIONS_MAX = 7,
    QN_LABEL_MAX = 80,
    QN_KMS_REUSE_MIN_S = 60,
    QN_KMS_REUSE_MAX_S = 86400,
    QN_KMS_REUSE_DEFAULT_S = 300,
    QN_PURGE_WAIT_MS = 60000,
    QN_RECREATE_WAIT_MS = 60000,
    QN_RECEIPT_HANDLE_MAX = 1024
};

/* What a server was started with; fixed while it runs. */
struct qn_limits {
    int64_t in_flight;    /* QN_IN_FLIGHT_MAX */
    int64_t message_size; /* bytes, QN_MESSAGE_SIZE_MAX: bound and default of MaximumMessageSize,
                             and of a batch */
    int64_t retention_min_s;
    int64_t batch_entries;
};

#endif
