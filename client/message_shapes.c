/* What the calls that carry messages share. */
#include "client/message_shapes.h"

static const struct quern_field attribute_fields[] = {
    {.name = "DataType",
     .is_required = true,
     .offset = offsetof(struct quern_attribute, data_type)},
    {.name = "StringValue", .offset = offsetof(struct quern_attribute, text)},
    {.name = "BinaryValue",
     .kind = QUERN_BLOB,
     .offset = offsetof(struct quern_attribute, bytes),
     .count = offsetof(struct quern_attribute, byte_count)},
};
const struct quern_shape quern_attribute_shape =
    QUERN_SHAPE(struct quern_attribute, attribute_fields);

_Static_assert(offsetof(struct quern_attribute, name) == 0, "the codec keeps the name there");

void quern_message_prepare(const struct quern_message *message, struct quern_message_input *input)
{
    input->message = *message;
    input->trace = (struct quern_attribute){
        .name = "AWSTraceHeader", .data_type = "String", .text = message->trace_header};
    input->traces = &input->trace;
    input->trace_count = message->trace_header != NULL ? 1 : 0;
}

const char *quern_message_difference(const struct quern_message_input *sent,
                                     const struct quern_told_sums *told)
{
    char sum[QUERN_DIGEST_TEXT];

    quern_digest_body(qn_str(sent->message.body, sent->message.body_len), sum);
    if (!quern_digest_is_right(told->body, sum)) {
        return "body";
    }
    quern_digest_attributes(sent->message.attributes, sent->message.attribute_count, sum);
    if (!quern_digest_is_right(told->attributes, sum)) {
        return "attributes";
    }
    quern_digest_attributes(sent->traces, sent->trace_count, sum);
    return quern_digest_is_right(told->system_attributes, sum) ? NULL : "system attributes";
}

struct json_entry {
    struct quern_message_input message;
    struct quern_told_sums sums;
};

static const struct quern_field entry_fields[] = {QUERN_MESSAGE_FIELDS(struct json_entry, message)};
static const struct quern_field sum_fields[] = {QUERN_SUM_FIELDS(struct json_entry, sums)};
static const struct quern_shape entry_shape = QUERN_SHAPE(struct json_entry, entry_fields);
static const struct quern_shape sum_shape = QUERN_SHAPE(struct json_entry, sum_fields);

const char *quern_message_json_difference(const json_t *entry, const json_t *said)
{
    struct json_entry *sent = quern_answer_new(sizeof(*sent));
    struct json_entry *told = quern_answer_new(sizeof(*told));
    struct quern_error err;
    const char *differs = "body";

    if (quern_codec_read(&entry_shape, entry, sent, quern_answer_arena(sent), &err) &&
        quern_codec_read(&sum_shape, said, told, quern_answer_arena(told), &err)) {
        differs = quern_message_difference(&sent->message, &told->sums);
    }
    quern_answer_free(sent);
    quern_answer_free(told);
    return differs;
}
