/* What the calls that carry messages share: the fields of a message, and its MD5 sums. */
#ifndef QUERN_MESSAGE_SHAPES_H
#define QUERN_MESSAGE_SHAPES_H

#include "client/codec.h"
#include "client/digests.h"

extern const struct quern_shape quern_attribute_shape;

/* The one system attribute that can be sent, as an attribute. */
struct quern_message_input {
    struct quern_message message;
    struct quern_attribute trace;
    size_t trace_count; /* 0 or 1 */
    const struct quern_attribute *traces;
};

/* Fills the input, which points into itself and into the message: it must stay where it is. */
void quern_message_prepare(const struct quern_message *message, struct quern_message_input *input);

#define QUERN_MESSAGE_FIELDS(type, member)                                                         \
    {.name = "MessageBody",                                                                        \
     .kind = QUERN_SIZED_TEXT,                                                                     \
     .is_required = true,                                                                          \
     .offset = offsetof(type, member.message.body),                                                \
     .count = offsetof(type, member.message.body_len)},                                            \
        {.name = "MessageGroupId", .offset = offsetof(type, member.message.group_id)},             \
        {.name = "MessageDeduplicationId",                                                         \
         .offset = offsetof(type, member.message.deduplication_id)},                               \
        {.name = "DelaySeconds",                                                                   \
         .kind = QUERN_NUMBER,                                                                     \
         .offset = offsetof(type, member.message.delay_s)},                                        \
        {.name = "MessageAttributes",                                                              \
         .kind = QUERN_NAMED_ITEMS,                                                                \
         .offset = offsetof(type, member.message.attributes),                                      \
         .count = offsetof(type, member.message.attribute_count),                                  \
         .item = &quern_attribute_shape},                                                          \
    {                                                                                              \
        .name = "MessageSystemAttributes", .kind = QUERN_NAMED_ITEMS,                              \
        .offset = offsetof(type, member.traces), .count = offsetof(type, member.trace_count),      \
        .item = &quern_attribute_shape                                                             \
    }

/* The sums that the service computed of what it stored; NULL: not told. */
struct quern_told_sums {
    const char *body;
    const char *attributes;
    const char *system_attributes;
};

#define QUERN_SUM_FIELDS(type, member)                                                             \
    {.name = "MD5OfMessageBody", .offset = offsetof(type, member.body)},                           \
        {.name = "MD5OfMessageAttributes", .offset = offsetof(type, member.attributes)},           \
    {                                                                                              \
        .name = "MD5OfMessageSystemAttributes", .offset = offsetof(type, member.system_attributes) \
    }

/* What of the message has another sum than was told ("body", "attributes", "system attributes"), or
 * NULL. */
const char *quern_message_difference(const struct quern_message_input *sent,
                                     const struct quern_told_sums *told);
/* The same of an entry of SendMessageBatch and of the word on it in the answer, as JSON. */
const char *quern_message_json_difference(const json_t *entry, const json_t *said);

#endif
