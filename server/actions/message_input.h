/* What SendMessage and an entry of SendMessageBatch have in common: one message to be sent, and how
 * it is checked and sent. */
#ifndef QN_ACTIONS_MESSAGE_INPUT_H
#define QN_ACTIONS_MESSAGE_INPUT_H

#include "server/actions/common.h"

struct qn_message_input {
    struct qn_str body;
    struct qn_integer delay_s;
    struct qn_list attributes;        /* struct qn_message_attribute */
    struct qn_list system_attributes; /* struct qn_message_attribute */
    struct qn_str deduplication_id;
    struct qn_str group_id;
};

/* One sent message's answer; texts in the arena. */
struct qn_message_output {
    struct qn_str body_md5;
    struct qn_str attributes_md5;
    struct qn_str system_attributes_md5;
    struct qn_str message_id;
    struct qn_str sequence_number;
};

extern const struct qn_shape qn_message_attribute_shape;
extern const struct qn_shape qn_message_system_attribute_shape;

/* The fields above for a shape whose struct holds a struct qn_message_input as `member`. */
#define QN_MESSAGE_INPUT_FIELDS(type, member, body_flags)                                          \
    {"MessageBody", NULL, QN_STRING, (body_flags), offsetof(type, member.body), NULL, NULL, NULL}, \
        {"DelaySeconds", NULL, QN_INTEGER, 0, offsetof(type, member.delay_s), NULL, NULL, NULL},   \
        {"MessageAttributes",                                                                      \
         "MessageAttribute",                                                                       \
         QN_STRUCT_MAP,                                                                            \
         0,                                                                                        \
         offsetof(type, member.attributes),                                                        \
         &qn_message_attribute_shape,                                                              \
         "Name",                                                                                   \
         "Value"},                                                                                 \
        {"MessageSystemAttributes",                                                                \
         "MessageSystemAttribute",                                                                 \
         QN_STRUCT_MAP,                                                                            \
         0,                                                                                        \
         offsetof(type, member.system_attributes),                                                 \
         &qn_message_system_attribute_shape,                                                       \
         "Name",                                                                                   \
         "Value"},                                                                                 \
        {"MessageDeduplicationId",                                                                 \
         NULL,                                                                                     \
         QN_STRING,                                                                                \
         0,                                                                                        \
         offsetof(type, member.deduplication_id),                                                  \
         NULL,                                                                                     \
         NULL,                                                                                     \
         NULL},                                                                                    \
    {                                                                                              \
        "MessageGroupId", NULL, QN_STRING, 0, offsetof(type, member.group_id), NULL, NULL, NULL    \
    }

#define QN_MESSAGE_OUTPUT_FIELDS(type, member)                                                     \
    {"MD5OfMessageBody", NULL, QN_STRING, 0, offsetof(type, member.body_md5), NULL, NULL, NULL},   \
        {"MD5OfMessageAttributes",                                                                 \
         NULL,                                                                                     \
         QN_STRING,                                                                                \
         0,                                                                                        \
         offsetof(type, member.attributes_md5),                                                    \
         NULL,                                                                                     \
         NULL,                                                                                     \
         NULL},                                                                                    \
        {"MD5OfMessageSystemAttributes",                                                           \
         NULL,                                                                                     \
         QN_STRING,                                                                                \
         0,                                                                                        \
         offsetof(type, member.system_attributes_md5),                                             \
         NULL,                                                                                     \
         NULL,                                                                                     \
         NULL},                                                                                    \
        {"MessageId", NULL, QN_STRING, 0, offsetof(type, member.message_id), NULL, NULL, NULL},    \
    {                                                                                              \
        "SequenceNumber", NULL, QN_STRING, 0, offsetof(type, member.sequence_number), NULL, NULL,  \
            NULL                                                                                   \
    }

/* Bytes that count toward the limits: body, and name, type and value of each message attribute
 * (MSG-4, MA-8). */
size_t qn_message_size(const struct qn_message_input *message);

/* Everything AWS refuses about one message for this queue. A batch has other words for the size,
 * and has judged the FIFO ids for the whole request already. */
QN_MUST_CHECK bool qn_message_check(const struct qn_tx *tx, const struct qn_message_input *message,
                                    bool in_batch, struct qn_error *err);
/* FIFO: group id there, deduplication id there or made from the content. */
QN_MUST_CHECK bool qn_message_check_fifo_ids(const struct qn_queue *queue,
                                             const struct qn_message_input *message,
                                             enum qn_error_code missing_group_code,
                                             struct qn_error *err);

/* Sends a checked message to tx->queue; with `pretend` the answer is made but nothing is stored.
 * Fails with ServiceUnavailable at the memory ceiling. */
QN_MUST_CHECK bool qn_message_send(struct qn_tx *tx, const struct qn_message_input *message,
                                   bool pretend, struct qn_message_output *ret_output,
                                   struct qn_error *err);

#endif
