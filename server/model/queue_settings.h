/* The attributes and tags of one queue, and their byte form in the store. */
#ifndef QN_MODEL_QUEUE_SETTINGS_H
#define QN_MODEL_QUEUE_SETTINGS_H

#include "server/base/buf.h"
#include "server/model/limits.h"
#include "server/model/shape.h"

enum { QN_ATTRIBUTE_FIFO_ONLY = 1 };

enum qn_attribute_kind {
    QN_ATTRIBUTE_INTEGER,
    QN_ATTRIBUTE_BOOLEAN,
    QN_ATTRIBUTE_POLICY,
    QN_ATTRIBUTE_REDRIVE,
    QN_ATTRIBUTE_ALLOW,
    QN_ATTRIBUTE_KEY,
    QN_ATTRIBUTE_SCOPE,
    QN_ATTRIBUTE_THROUGHPUT,
    QN_ATTRIBUTE_READ_ONLY
};

enum qn_attribute_id {
#define QN_ATTRIBUTE(symbol, name, kind, min, max, flags) QN_ATTRIBUTE_ID_##symbol,
#include "server/model/attributes.def"
#undef QN_ATTRIBUTE
    QN_ATTRIBUTE_ID_COUNT
};

struct qn_attribute_info {
    const char *name;
    enum qn_attribute_kind kind;
    int64_t min;
    int64_t max;
    unsigned flags;
};

const struct qn_attribute_info *qn_attribute_info(enum qn_attribute_id id);
/* By wire name (case matters); false when unknown. */
QN_MUST_CHECK bool qn_attribute_find(struct qn_str name, enum qn_attribute_id *ret_id);

enum qn_redrive_permission { QN_REDRIVE_ALLOW_ALL, QN_REDRIVE_DENY_ALL, QN_REDRIVE_BY_QUEUE };

/* Owned text; NULL means the attribute is not set. Integers in seconds and bytes. */
struct qn_queue_settings {
    bool is_fifo;
    int64_t visibility_timeout_s;
    int64_t maximum_message_size;
    int64_t retention_s;
    int64_t delay_s;
    int64_t wait_s;
    char *policy;
    char *redrive_policy;         /* compact JSON with a numeric maxReceiveCount */
    char *dead_letter_target_arn; /* out of it */
    int64_t max_receive_count;    /* out of it; 0 without a policy */
    char *redrive_allow_policy;
    enum qn_redrive_permission redrive_permission;
    char **redrive_source_arns; /* with BY_QUEUE */
    size_t redrive_source_count;
    char *kms_master_key_id;
    int64_t kms_reuse_s; /* -1: not set */
    bool sqs_managed_sse;
    bool content_based_deduplication;
    bool scope_is_group;           /* what the attribute shows */
    bool created_with_group_scope; /* what deduplication goes by: the scope at creation */
    bool throughput_per_group;
    struct qn_pair *tags; /* owned texts, sorted by key */
    size_t tag_count;
    int64_t created_at_ms;
    int64_t modified_at_ms;
    int64_t purged_at_ms; /* -1: never */
};

/* Defaults of a new queue. */
void qn_queue_settings_init(struct qn_queue_settings *settings, bool is_fifo,
                            const struct qn_limits *limits);
/* Accepts a zeroed struct. */
void qn_queue_settings_done(struct qn_queue_settings *settings);
void qn_queue_settings_copy(struct qn_queue_settings *to, const struct qn_queue_settings *from);

/* Replaces an owned text; text none removes it. */
void qn_queue_settings_set_text(char **field, struct qn_str text);
/* Replaces the list of source ARNs (borrowed texts are copied). */
void qn_queue_settings_set_sources(struct qn_queue_settings *settings, const struct qn_str *arns,
                                   size_t count);
void qn_queue_settings_set_tag(struct qn_queue_settings *settings, struct qn_str key,
                               struct qn_str value);
void qn_queue_settings_remove_tag(struct qn_queue_settings *settings, struct qn_str key);

/* The value as GetQueueAttributes gives it; false when the attribute is left out. Read-only ones
 * that hang on the queue's state (ARN, counts) are not known here. Writes at most buf's ceiling. */
QN_MUST_CHECK bool qn_queue_settings_get(const struct qn_queue_settings *settings,
                                         enum qn_attribute_id id, struct qn_buf *buf);

void qn_queue_settings_encode(const struct qn_queue_settings *settings, struct qn_buf *buf);
/* On success the caller owns the texts. False: damaged. */
QN_MUST_CHECK bool qn_queue_settings_decode(struct qn_str bytes,
                                            struct qn_queue_settings *ret_settings);

#endif
