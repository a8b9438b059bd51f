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
