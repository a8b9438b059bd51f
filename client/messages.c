/* The actions on messages, with C types. */
#include <string.h>

#include "client/internal.h"
#include "client/quern.h"

enum { BATCH_MAX = 10 };

static json_t *message_fields(const struct quern_message *message)
{
    json_t *fields = json_object();

    json_object_set_new(fields, "MessageBody", json_stringn(message->body, message->body_len));
    if (message->group_id != NULL) {
        json_object_set_new(fields, "MessageGroupId", json_string(message->group_id));
    }
    if (message->deduplication_id != NULL) {
        json_object_set_new(fields, "MessageDeduplicationId",
                            json_string(message->deduplication_id));
    }
    if (message->delay_s >= 0) {
        json_object_set_new(fields, "DelaySeconds", json_integer(message->delay_s));
    }
    if (message->attributes != NULL) {
        json_object_set_new(fields, "MessageAttributes", json_deep_copy(message->attributes));
    }
    return fields;
}

bool quern_send_message(struct quern_client *client, const char *queue_url,
                        const struct quern_message *message, char **ret_message_id,
                        struct quern_error *err)
{
    json_t *input = message_fields(message);
    json_t *answer = NULL;

    json_object_set_new(input, "QueueUrl", json_string(queue_url));
    bool ok = quern_client_call(client, "SendMessage", input, &answer, err);
    if (ok && ret_message_id != NULL) {
        const char *id = json_string_value(json_object_get(answer, "MessageId"));
        *ret_message_id = qn_memory_copy_text(id != NULL ? id : "", id != NULL ? strlen(id) : 0);
    }
    json_decref(answer);
    json_decref(input);
    return ok;
}

/* Makes an error of the first failed entry. True when there is none. */
static bool no_entry_failed(const json_t *answer, struct quern_error *err)
{
    const json_t *failed = json_array_get(json_object_get(answer, "Failed"), 0);

    if (failed == NULL) {
        return true;
    }
    const char *code = json_string_value(json_object_get(failed, "Code"));
    const char *message = json_string_value(json_object_get(failed, "Message"));
    const char *id = json_string_value(json_object_get(failed, "Id"));
    (void)quern_fail(err, code != NULL ? code : "UnreadableAnswer", 200, "entry %s: %s",
                     id != NULL ? id : "?", message != NULL ? message : "");
    err->attempts = 1;
    return false;
}

static json_t *new_entry(size_t index, json_t *fields)
{
    char id[24];

    (void)snprintf(id, sizeof(id), "%zu", index);
    json_object_set_new(fields, "Id", json_string(id));
    return fields;
}

bool quern_send_message_batch(struct quern_client *client, const char *queue_url,
                              const struct quern_message *messages, size_t count,
                              char **ret_message_ids, struct quern_error *err)
{
    json_t *entries = json_array();
    json_t *answer = NULL;
    size_t i;
    const json_t *sent;

    for (i = 0; i < count; i++) {
        ret_message_ids[i] = NULL;
        json_array_append_new(entries, new_entry(i, message_fields(&messages[i])));
    }
    json_t *input = json_pack("{s:s, s:o}", "QueueUrl", queue_url, "Entries", entries);
    bool ok = quern_client_call(client, "SendMessageBatch", input, &answer, err);
    json_array_foreach(json_object_get(answer, "Successful"), i, sent)
    {
        const char *entry = json_string_value(json_object_get(sent, "Id"));
        const char *id = json_string_value(json_object_get(sent, "MessageId"));
        int64_t index;
        if (id != NULL && qn_str_to_int64(qn_str_from_cstr(entry), 0, (int64_t)count - 1, &index) &&
            ret_message_ids[index] == NULL) {
            ret_message_ids[index] = qn_memory_copy_text(id, strlen(id));
        }
    }
    ok = ok && no_entry_failed(answer, err);
    json_decref(answer);
    json_decref(input);
    return ok;
}

bool quern_receive_message(struct quern_client *client, const char *queue_url,
                           const struct quern_receive_options *options, json_t **ret_messages,
                           struct quern_error *err)
{
    static const struct quern_receive_options plain = {0, -1, -1};
    const struct quern_receive_options *o = options != NULL ? options : &plain;
    json_t *input = json_pack("{s:s, s:[s], s:[s]}", "QueueUrl", queue_url,
                              "MessageSystemAttributeNames", "All", "MessageAttributeNames", "All");
    json_t *answer = NULL;

    json_object_set_new(input, "MaxNumberOfMessages",
                        json_integer(o->max_messages > 0 ? o->max_messages : BATCH_MAX));
    if (o->wait_s >= 0) {
        json_object_set_new(input, "WaitTimeSeconds", json_integer(o->wait_s));
    }
    if (o->visibility_s >= 0) {
        json_object_set_new(input, "VisibilityTimeout", json_integer(o->visibility_s));
    }
    bool ok = quern_client_call(client, "ReceiveMessage", input, &answer, err);
    if (ok) {
        json_t *messages = json_object_get(answer, "Messages");
        *ret_messages = json_is_array(messages) ? json_incref(messages) : json_array();
    }
    json_decref(answer);
    json_decref(input);
    return ok;
}

bool quern_delete_message(struct quern_client *client, const char *queue_url,
                          const char *receipt_handle, struct quern_error *err)
{
    json_t *input = json_pack("{s:s, s:s}", "QueueUrl", queue_url, "ReceiptHandle", receipt_handle);
    bool ok = quern_client_call(client, "DeleteMessage", input, NULL, err);

    json_decref(input);
    return ok;
}

bool quern_delete_message_batch(struct quern_client *client, const char *queue_url,
                                const char *const *receipt_handles, size_t count,
                                struct quern_error *err)
{
    json_t *entries = json_array();
    json_t *answer = NULL;

    for (size_t i = 0; i < count; i++) {
        json_array_append_new(
            entries, new_entry(i, json_pack("{s:s}", "ReceiptHandle", receipt_handles[i])));
    }
    json_t *input = json_pack("{s:s, s:o}", "QueueUrl", queue_url, "Entries", entries);
    bool ok = quern_client_call(client, "DeleteMessageBatch", input, &answer, err) &&
              no_entry_failed(answer, err);
    json_decref(answer);
    json_decref(input);
    return ok;
}

bool quern_change_visibility(struct quern_client *client, const char *queue_url,
                             const char *receipt_handle, int64_t visibility_s,
                             struct quern_error *err)
{
    json_t *input = json_pack("{s:s, s:s, s:I}", "QueueUrl", queue_url, "ReceiptHandle",
                              receipt_handle, "VisibilityTimeout", (json_int_t)visibility_s);
    bool ok = quern_client_call(client, "ChangeMessageVisibility", input, NULL, err);

    json_decref(input);
    return ok;
}
