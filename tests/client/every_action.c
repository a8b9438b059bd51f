/* Makes each call of the client once, with all that it can be told, and prints what it understood
 * of the answers: a line of JSON for each action, in the form of the API model. The texts given are
 * "in:" and the name of their member. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/quern.h"

static struct quern_client *client;
static struct quern_error err;

static const char url[] = "in:QueueUrl";
static const char *const names[] = {"in:Names"};
static const struct quern_pair pair = {"in:key", "in:value"};
static const struct quern_pairs pairs = {&pair, 1};

static void print(const char *action, bool ok, json_t *told_take)
{
    json_t *line = json_pack("{s:s, s:o}", "action", action, "told",
                             told_take != NULL ? told_take : json_object());

    if (!ok) {
        (void)fprintf(stderr, "%s: %s: %s\n", action, err.code, err.message);
        exit(1);
    }
    (void)json_dumpf(line, stdout, JSON_COMPACT);
    (void)putchar('\n');
    json_decref(line);
}

static json_t *text_member(const char *name, char *text_take)
{
    json_t *told = json_pack("{s:s}", name, text_take);

    quern_text_free(text_take);
    return told;
}

static json_t *pairs_json(const struct quern_pairs *told)
{
    json_t *object = json_object();

    for (size_t i = 0; i < told->count; i++) {
        json_object_set_new(object, told->items[i].name, json_string(told->items[i].value));
    }
    return object;
}

/* ---- queues ---- */

static void list_queues(void)
{
    const struct quern_list_options options = {
        .prefix = "in:QueueNamePrefix", .max_results = 21, .next_token = "in:NextToken"};
    struct quern_queue_list *list = NULL;

    bool ok = quern_list_queues(client, &options, &list, &err);
    print("ListQueues", ok,
          ok ? json_pack("{s:[s], s:s}", "QueueUrls", list->urls[0], "NextToken", list->next_token)
             : NULL);
    quern_answer_free(list);
    ok = quern_list_dead_letter_source_queues(client, url, &options, &list, &err);
    print("ListDeadLetterSourceQueues", ok,
          ok ? json_pack("{s:[s], s:s}", "queueUrls", list->urls[0], "NextToken", list->next_token)
             : NULL);
    quern_answer_free(list);
}

static void call_queues(void)
{
    char *text = NULL;
    bool ok = quern_create_queue(client, "in:QueueName", &pairs, &pairs, &text, &err);

    print("CreateQueue", ok, ok ? text_member("QueueUrl", text) : NULL);
    ok = quern_get_queue_url(client, "in:QueueName", "in:QueueOwnerAWSAccountId", &text, &err);
    print("GetQueueUrl", ok, ok ? text_member("QueueUrl", text) : NULL);
    print("PurgeQueue", quern_purge_queue(client, url, &err), NULL);
    print("DeleteQueue", quern_delete_queue(client, url, &err), NULL);
    list_queues();
}

static void call_attributes(void)
{
    const struct quern_permission permission = {.label = "in:Label",
                                                .accounts = names,
                                                .account_count = 1,
                                                .actions = names,
                                                .action_count = 1};
    struct quern_pairs *told = NULL;
    bool ok = quern_get_queue_attributes(client, url, names, 1, &told, &err);

    print("GetQueueAttributes", ok, ok ? json_pack("{s:o}", "Attributes", pairs_json(told)) : NULL);
    quern_answer_free(told);
    print("SetQueueAttributes", quern_set_queue_attributes(client, url, &pairs, &err), NULL);
    print("TagQueue", quern_tag_queue(client, url, &pairs, &err), NULL);
    print("UntagQueue", quern_untag_queue(client, url, names, 1, &err), NULL);
    ok = quern_list_queue_tags(client, url, &told, &err);
    print("ListQueueTags", ok, ok ? json_pack("{s:o}", "Tags", pairs_json(told)) : NULL);
    quern_answer_free(told);
    print("AddPermission", quern_add_permission(client, url, &permission, &err), NULL);
    print("RemovePermission", quern_remove_permission(client, url, "in:Label", &err), NULL);
}

/* ---- messages ---- */

static const struct quern_attribute attributes[] = {
    {.name = "text", .data_type = "String", .text = "in:StringValue"},
    {.name = "bytes", .data_type = "Binary", .bytes = "\0\xff\x80", .byte_count = 3},
};
static const struct quern_message message = {
    .body = "in:MessageBody",
    .body_len = sizeof("in:MessageBody") - 1,
    .group_id = "in:MessageGroupId",
    .deduplication_id = "in:MessageDeduplicationId",
    .delay_s = 22,
    .attributes = attributes,
    .attribute_count = 2,
    .trace_header = "in:AWSTraceHeader",
};

static json_t *batch_json(struct quern_batch *batch_take)
{
    const struct quern_batch_entry *done = &batch_take->entries[0];
    const struct quern_batch_entry *failed = &batch_take->entries[1];
    json_t *told = json_pack("{s:[{s:s, s:s*, s:s*}], s:[{s:s, s:s, s:s, s:b}]}", "Successful",
                             "Id", "0", "MessageId", done->message_id, "SequenceNumber",
                             done->sequence_number, "Failed", "Id", "1", "Code", failed->code,
                             "Message", failed->message, "SenderFault", failed->is_sender_fault);

    if (!done->is_done || failed->is_done || batch_take->failed_count != 1) {
        (void)json_object_clear(told);
    }
    quern_answer_free(batch_take);
    return told;
}

static void send_messages(void)
{
    const struct quern_message messages[] = {message, message};
    struct quern_sent *sent = NULL;
    struct quern_batch *batch = NULL;
    bool ok = quern_send_message(client, url, &message, &sent, &err);

    print("SendMessage", ok,
          ok ? json_pack("{s:s, s:s}", "MessageId", sent->message_id, "SequenceNumber",
                         sent->sequence_number)
             : NULL);
    quern_answer_free(sent);
    ok = quern_send_message_batch(client, url, messages, 2, &batch, &err);
    print("SendMessageBatch", ok, ok ? batch_json(batch) : NULL);
}

static json_t *attribute_json(const struct quern_attribute *told)
{
    json_t *value = json_pack("{s:s}", "DataType", told->data_type);

    if (told->text != NULL) {
        json_object_set_new(value, "StringValue", json_string(told->text));
    }
    if (told->bytes != NULL) { /* what the test sends is text */
        json_object_set_new(value, "BinaryValue", json_stringn(told->bytes, told->byte_count));
    }
    return value;
}

static json_t *received_json(const struct quern_received *told)
{
    json_t *list = json_object();

    for (size_t i = 0; i < told->attribute_count; i++) {
        json_object_set_new(list, told->attributes[i].name, attribute_json(&told->attributes[i]));
    }
    return json_pack("{s:[{s:s, s:s, s:s%, s:o, s:o}]}", "Messages", "MessageId", told->message_id,
                     "ReceiptHandle", told->receipt_handle, "Body", told->body, told->body_len,
                     "Attributes", pairs_json(&told->system), "MessageAttributes", list);
}

static void receive_messages(void)
{
    const struct quern_receive_options options = {
        .max_messages = 23,
        .wait_s = 24,
        .visibility_s = 25,
        .attempt_id = "in:ReceiveRequestAttemptId",
        .system_names = names,
        .system_name_count = 1,
        .attribute_names = names,
        .attribute_name_count = 1,
    };
    struct quern_messages *messages = NULL;
    bool ok = quern_receive_message(client, url, &options, &messages, &err);

    print("ReceiveMessage", ok,
          ok && messages->count == 1 && messages->damaged_count == 2
              ? received_json(&messages->items[0])
              : NULL);
    quern_answer_free(messages);
}

static void settle_messages(void)
{
    static const char *const handles[] = {"in:ReceiptHandle", "in:ReceiptHandle"};
    const struct quern_visibility_change changes[] = {{handles[0], 25}, {handles[1], 25}};
    struct quern_batch *batch = NULL;

    print("DeleteMessage", quern_delete_message(client, url, handles[0], &err), NULL);
    print("ChangeMessageVisibility", quern_change_visibility(client, url, handles[0], 25, &err),
          NULL);
    bool ok = quern_delete_message_batch(client, url, handles, 2, &batch, &err);
    print("DeleteMessageBatch", ok, ok ? batch_json(batch) : NULL);
    ok = quern_change_visibility_batch(client, url, changes, 2, &batch, &err);
    print("ChangeMessageVisibilityBatch", ok, ok ? batch_json(batch) : NULL);
}

/* ---- move tasks ---- */

static json_t *task_json(const struct quern_move_task *told)
{
    return json_pack("{s:[{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:I}]}", "Results", "TaskHandle",
                     told->task_handle, "Status", told->status, "SourceArn", told->source_arn,
                     "DestinationArn", told->destination_arn, "MaxNumberOfMessagesPerSecond",
                     (json_int_t)told->max_per_second, "ApproximateNumberOfMessagesMoved",
                     (json_int_t)told->moved, "ApproximateNumberOfMessagesToMove",
                     (json_int_t)told->to_move, "FailureReason", told->failure_reason,
                     "StartedTimestamp", (json_int_t)told->started_at_ms);
}

static void call_move_tasks(void)
{
    const struct quern_move move = {
        .source_arn = "in:SourceArn", .destination_arn = "in:DestinationArn", .max_per_second = 26};
    struct quern_move_tasks *tasks = NULL;
    char *handle = NULL;
    int64_t moved = -1;
    bool ok = quern_start_message_move_task(client, &move, &handle, &err);

    print("StartMessageMoveTask", ok, ok ? text_member("TaskHandle", handle) : NULL);
    ok = quern_list_message_move_tasks(client, "in:SourceArn", 21, &tasks, &err);
    print("ListMessageMoveTasks", ok, ok && tasks->count == 1 ? task_json(&tasks->items[0]) : NULL);
    quern_answer_free(tasks);
    ok = quern_cancel_message_move_task(client, "in:TaskHandle", &moved, &err);
    print("CancelMessageMoveTask", ok,
          json_pack("{s:I}", "ApproximateNumberOfMessagesMoved", (json_int_t)moved));
}

int main(int argc, char **argv)
{
    const struct quern_options options = {.endpoint = argc == 2 ? argv[1] : NULL, .access_key = ""};

    if (argc != 2 || !quern_client_new(&options, &client, &err)) {
        return 2;
    }
    call_queues();
    call_attributes();
    send_messages();
    receive_messages();
    settle_messages();
    call_move_tasks();
    quern_client_free(client);
    return 0;
}
