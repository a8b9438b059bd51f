/* Receiving for a command, and what was received as JSON for programs. */
#include "server/cli/received.h"

#include <stdio.h>

#include "client/receive.h"
#include "server/base/digest.h"

static json_t *base64_of(const void *bytes, size_t count)
{
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_digest_append_base64(&text, qn_str(bytes, count));
    json_t *value = json_stringn(qn_buf_str(&text).ptr, text.len);
    qn_buf_done(&text);
    return value;
}

static json_t *attribute_json(const struct quern_attribute *attribute)
{
    json_t *value = json_object();

    if (attribute->text != NULL) {
        json_object_set_new(value, "StringValue", json_string(attribute->text));
    }
    if (attribute->bytes != NULL) {
        json_object_set_new(value, "BinaryValue",
                            base64_of(attribute->bytes, attribute->byte_count));
    }
    json_object_set_new(value, "DataType", json_string(attribute->data_type));
    return value;
}

json_t *qn_received_json(const struct quern_received *message)
{
    json_t *value = json_pack("{s:s, s:s, s:s%}", "MessageId", message->message_id, "ReceiptHandle",
                              message->receipt_handle, "Body", message->body, message->body_len);
    json_t *system = json_object();
    json_t *attributes = json_object();

    for (size_t i = 0; i < message->system.count; i++) {
        const struct quern_pair *pair = &message->system.items[i];
        json_object_set_new(system, pair->name, json_string(pair->value));
    }
    for (size_t i = 0; i < message->attribute_count; i++) {
        const struct quern_attribute *attribute = &message->attributes[i];
        json_object_set_new(attributes, attribute->name, attribute_json(attribute));
    }
    json_object_set_new(value, "Attributes", system);
    if (json_object_size(attributes) > 0) {
        json_object_set(value, "MessageAttributes", attributes);
    }
    json_decref(attributes);
    return value;
}

bool qn_received_get(struct quern_client *client, const char *command, const char *queue_url,
                     const struct quern_receive_options *how, struct quern_messages **ret_messages,
                     struct quern_error *err)
{
    json_t *damaged_ids = json_array();
    bool ok = quern_receive_noting(client, queue_url, how, damaged_ids, ret_messages, err);
    size_t i;
    const json_t *id;

    json_array_foreach(damaged_ids, i, id)
    {
        (void)fprintf(stderr,
                      "quern %s: message %s arrived damaged (another MD5 than it was told to "
                      "have), and is left for its visibility timeout\n",
                      command, json_string_value(id));
    }
    json_decref(damaged_ids);
    return ok;
}
