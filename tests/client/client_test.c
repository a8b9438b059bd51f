/* The client against a real server process. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "client/quern.h"
#include "server/base/clock.h"
#include "tests/support/live_server.h"

static struct live_server server;
static struct quern_client *client;
static struct quern_error err;
static char *queue_url;

static void start_server(void)
{
    live_server_start(&server, QN_TEST_PROGRAM);
    client = server.client;
    cr_assert(quern_create_queue(client, "q", NULL, NULL, &queue_url, &err), "%s", err.message);
}

static void stop_server(void)
{
    quern_text_free(queue_url);
    live_server_stop(&server);
}

TestSuite(client, .init = start_server, .fini = stop_server);

static void send_text(const char *text)
{
    const struct quern_message message = {.body = text, .body_len = strlen(text), .delay_s = -1};
    struct quern_sent *sent = NULL;

    cr_assert(quern_send_message(client, queue_url, &message, &sent, &err), "%s", err.message);
    cr_expect_eq(strlen(sent->message_id), 36);
    cr_expect_null(sent->sequence_number);
    quern_answer_free(sent);
}

static struct quern_messages *receive(void)
{
    const struct quern_receive_options options = {.wait_s = 0, .visibility_s = 30};
    struct quern_messages *messages = NULL;

    cr_assert(quern_receive_message(client, queue_url, &options, &messages, &err), "%s",
              err.message);
    return messages;
}

static void expect_empty(void)
{
    struct quern_messages *messages = receive();

    cr_expect_eq(messages->count, 0);
    quern_answer_free(messages);
}

Test(client, endpoint_has_no_slash_at_its_end)
{
    cr_expect_null(strstr(quern_client_endpoint(client) + 8, "/"));
}

Test(client, message_is_sent_received_and_deleted)
{
    send_text("any \"text\" \xe2\x82\xac <&>");
    struct quern_messages *messages = receive();
    cr_assert_eq(messages->count, 1);
    cr_expect_str_eq(messages->items[0].body, "any \"text\" \xe2\x82\xac <&>");
    cr_expect_eq(messages->items[0].body_len, strlen(messages->items[0].body));
    cr_expect(
        quern_change_visibility(client, queue_url, messages->items[0].receipt_handle, 0, &err));
    quern_answer_free(messages);
    messages = receive();
    cr_assert_eq(messages->count, 1);
    cr_expect_eq(quern_received_number(&messages->items[0], "ApproximateReceiveCount"), 2);
    cr_expect(quern_delete_message(client, queue_url, messages->items[0].receipt_handle, &err));
    quern_answer_free(messages);
    expect_empty();
}

Test(client, attributes_come_back_as_they_were_sent)
{
    const struct quern_attribute attributes[] = {
        {.name = "price", .data_type = "Number.euro", .text = "12.50"},
        {.name = "key", .data_type = "Binary", .bytes = "\0\xff\x01", .byte_count = 3},
        {.name = "city", .data_type = "String", .text = "K\xc3\xb6ln"},
    };
    const struct quern_message message = {
        .body = "b",
        .body_len = 1,
        .delay_s = QUERN_NOT_GIVEN,
        .attributes = attributes,
        .attribute_count = 3,
        .trace_header = "Root=1-5759e988-bd862e3fe1be46a994272793",
    };

    cr_assert(quern_send_message(client, queue_url, &message, NULL, &err), "%s", err.message);
    struct quern_messages *messages = receive();
    cr_assert_eq(messages->count, 1);
    const struct quern_received *got = &messages->items[0];
    cr_assert_eq(got->attribute_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct quern_attribute *back = quern_received_attribute(got, attributes[i].name);
        cr_assert_not_null(back);
        cr_expect_str_eq(back->data_type, attributes[i].data_type);
        if (attributes[i].text != NULL) {
            cr_expect_str_eq(back->text, attributes[i].text);
            cr_expect_null(back->bytes);
        } else {
            cr_assert_eq(back->byte_count, attributes[i].byte_count);
            cr_expect_arr_eq(back->bytes, attributes[i].bytes, back->byte_count);
            cr_expect_null(back->text);
        }
    }
    cr_expect_str_eq(quern_received_system(got, "AWSTraceHeader"), message.trace_header);
    cr_expect_null(quern_received_system(got, "SequenceNumber"));
    cr_expect_null(quern_received_attribute(got, "other"));
    quern_answer_free(messages);
}

Test(client, only_the_attributes_asked_for_are_received)
{
    const struct quern_attribute attribute = {.name = "n", .data_type = "String", .text = "v"};
    const struct quern_message message = {.body = "b",
                                          .body_len = 1,
                                          .delay_s = QUERN_NOT_GIVEN,
                                          .attributes = &attribute,
                                          .attribute_count = 1};
    static const char *const names[] = {"SentTimestamp"};
    const struct quern_receive_options options = {.wait_s = 0,
                                                  .visibility_s = QUERN_NOT_GIVEN,
                                                  .system_names = names,
                                                  .system_name_count = 1,
                                                  .attribute_names = names,
                                                  .attribute_name_count = 0};
    struct quern_messages *messages = NULL;

    cr_assert(quern_send_message(client, queue_url, &message, NULL, &err), "%s", err.message);
    cr_assert(quern_receive_message(client, queue_url, &options, &messages, &err), "%s",
              err.message);
    cr_assert_eq(messages->count, 1);
    cr_expect_eq(messages->items[0].system.count, 1);
    cr_expect_gt(quern_received_number(&messages->items[0], "SentTimestamp"), 1600000000000);
    cr_expect_eq(messages->items[0].attribute_count, 0);
    quern_answer_free(messages);
}

Test(client, text_that_is_not_utf8_is_refused_and_not_sent)
{
    const struct quern_message message = {.body = "a\xff", .body_len = 2, .delay_s = -1};

    cr_expect_not(quern_send_message(client, queue_url, &message, NULL, &err));
    cr_expect_str_eq(err.code, "InvalidText");
    cr_expect_not_null(strstr(err.message, "MessageBody"));
    cr_expect_eq(err.attempts, 0);
    cr_expect_not(quern_delete_message(client, queue_url, "\xc0\xaf", &err));
    cr_expect_str_eq(err.code, "InvalidText");
    cr_expect_not(quern_delete_message(client, NULL, "x", &err));
    cr_expect_not_null(strstr(err.message, "QueueUrl is missing"));
    expect_empty();
}

Test(client, each_entry_of_a_batch_tells_for_itself)
{
    struct quern_message messages[3];
    struct quern_batch *batch = NULL;
    const char *handles[3];

    for (size_t i = 0; i < 3; i++) {
        messages[i] = (struct quern_message){.body = "b", .body_len = 1, .delay_s = -1};
    }
    cr_assert(quern_send_message_batch(client, queue_url, messages, 3, &batch, &err), "%s",
              err.message);
    cr_expect_eq(batch->count, 3);
    cr_expect_eq(batch->failed_count, 0);
    for (size_t i = 0; i < 3; i++) {
        cr_expect(batch->entries[i].is_done);
        cr_expect_eq(strlen(batch->entries[i].message_id), 36);
    }
    quern_answer_free(batch);
    struct quern_messages *received = receive();
    cr_assert_eq(received->count, 3);
    for (size_t i = 0; i < 3; i++) {
        handles[i] = received->items[i].receipt_handle;
    }
    handles[1] = "nonsense";
    cr_assert(quern_delete_message_batch(client, queue_url, handles, 3, &batch, &err), "%s",
              err.message);
    cr_expect_eq(batch->failed_count, 1);
    cr_expect(batch->entries[0].is_done);
    cr_expect_not(batch->entries[1].is_done);
    cr_expect_str_eq(batch->entries[1].code, "ReceiptHandleIsInvalid");
    cr_expect(batch->entries[1].is_sender_fault);
    cr_expect_not(batch->entries[1].is_retryable);
    cr_expect(batch->entries[1].message[0] != '\0');
    cr_expect(batch->entries[2].is_done);
    quern_answer_free(batch);
    quern_answer_free(received);
}

Test(client, entry_that_fails_leaves_the_others_their_ids)
{
    const struct quern_message messages[2] = {{.body = "b", .body_len = 1, .delay_s = -1},
                                              {.body = "", .body_len = 0, .delay_s = -1}};
    struct quern_batch *batch = NULL;

    cr_assert(quern_send_message_batch(client, queue_url, messages, 2, &batch, &err));
    cr_expect_not_null(batch->entries[0].message_id);
    cr_expect_not(batch->entries[1].is_done);
    cr_expect_null(batch->entries[1].message_id);
    cr_expect(batch->entries[1].code[0] != '\0');
    quern_answer_free(batch);
}

Test(client, batch_of_nothing_and_of_too_much_is_refused_by_the_service)
{
    const char *handles[QUERN_BATCH_MAX + 1] = {NULL};
    struct quern_batch *batch = NULL;

    cr_expect_not(quern_delete_message_batch(client, queue_url, handles, 0, &batch, &err));
    cr_expect_str_eq(err.code, "EmptyBatchRequest");
    for (size_t i = 0; i <= QUERN_BATCH_MAX; i++) {
        handles[i] = "h";
    }
    cr_expect_not(
        quern_delete_message_batch(client, queue_url, handles, QUERN_BATCH_MAX + 1, &batch, &err));
    cr_expect_str_eq(err.code, "TooManyEntriesInBatchRequest");
}

Test(client, leases_are_changed_in_batches)
{
    struct quern_visibility_change changes[3] = {
        {.visibility_s = 0}, {.visibility_s = 100}, {.receipt_handle = "nonsense"}};
    struct quern_batch *batch = NULL;

    send_text("1");
    send_text("2");
    struct quern_messages *messages = receive();
    cr_assert_eq(messages->count, 2);
    changes[0].receipt_handle = messages->items[0].receipt_handle;
    changes[1].receipt_handle = messages->items[1].receipt_handle;
    cr_assert(quern_change_visibility_batch(client, queue_url, changes, 3, &batch, &err), "%s",
              err.message);
    cr_expect(batch->entries[0].is_done && batch->entries[1].is_done);
    cr_expect_not(batch->entries[2].is_done);
    cr_expect_eq(batch->failed_count, 1);
    quern_answer_free(batch);
    struct quern_messages *again = receive();
    cr_assert_eq(again->count, 1);
    cr_expect_str_eq(again->items[0].message_id, messages->items[0].message_id);
    quern_answer_free(again);
    quern_answer_free(messages);
}

Test(client, queues_are_created_listed_and_deleted)
{
    struct quern_pair visibility = {"VisibilityTimeout", "7"};
    const struct quern_pairs attributes = {&visibility, 1};
    struct quern_queue_list *list = NULL;
    struct quern_pairs *got = NULL;
    char *url = NULL;
    char *found = NULL;

    cr_assert(quern_create_queue(client, "another", &attributes, NULL, &url, &err), "%s",
              err.message);
    cr_assert(quern_list_all_queues(client, "ano", &list, &err));
    cr_assert_eq(list->count, 1);
    cr_expect_str_eq(list->urls[0], url);
    cr_assert(quern_get_queue_url(client, "another", NULL, &found, &err));
    cr_expect_str_eq(found, url);
    cr_assert(quern_get_queue_attributes(client, url, NULL, 0, &got, &err));
    cr_expect_str_eq(quern_pairs_get(got, "VisibilityTimeout"), "7");
    cr_expect_gt(got->count, 5);
    visibility.value = "8";
    cr_expect(quern_set_queue_attributes(client, url, &attributes, &err), "%s", err.message);
    quern_answer_free(got);
    cr_assert(quern_get_queue_attributes(client, url, &visibility.name, 1, &got, &err));
    cr_assert_eq(got->count, 1);
    cr_expect_str_eq(got->items[0].value, "8");
    cr_expect(quern_delete_queue(client, url, &err));
    quern_answer_free(list);
    quern_answer_free(got);
    quern_text_free(url);
    quern_text_free(found);
}

Test(client, all_pages_of_a_list_are_read)
{
    const struct quern_list_options two = {.prefix = "many-", .max_results = 2};
    struct quern_queue_list *list = NULL;

    for (int i = 0; i < 1005; i++) {
        char name[32];
        char *url = NULL;
        (void)snprintf(name, sizeof(name), "many-%d", i);
        cr_assert(quern_create_queue(client, name, NULL, NULL, &url, &err), "%s", err.message);
        quern_text_free(url);
    }
    cr_assert(quern_list_all_queues(client, "many-", &list, &err), "%s", err.message);
    cr_expect_eq(list->count, 1005);
    cr_expect_null(list->next_token);
    for (size_t i = 1; i < list->count; i++) {
        cr_assert_str_neq(list->urls[i - 1], list->urls[i]);
    }
    quern_answer_free(list);
    cr_assert(quern_list_queues(client, &two, &list, &err), "%s", err.message);
    cr_expect_eq(list->count, 2);
    cr_expect_not_null(list->next_token);
    quern_answer_free(list);
}

Test(client, tags_are_set_listed_and_taken_away)
{
    const struct quern_pair items[] = {{"team", "a"}, {"cost", ""}};
    const struct quern_pairs tags = {items, 2};
    static const char *const keys[] = {"team", "nothing"};
    struct quern_pairs *got = NULL;

    cr_assert(quern_tag_queue(client, queue_url, &tags, &err), "%s", err.message);
    cr_assert(quern_untag_queue(client, queue_url, keys, 2, &err), "%s", err.message);
    cr_assert(quern_list_queue_tags(client, queue_url, &got, &err), "%s", err.message);
    cr_assert_eq(got->count, 1);
    cr_expect_str_eq(quern_pairs_get(got, "cost"), "");
    cr_expect_null(quern_pairs_get(got, "team"));
    quern_answer_free(got);
}

Test(client, queue_is_created_with_tags)
{
    const struct quern_pair item = {"team", "a"};
    const struct quern_pairs tags = {&item, 1};
    struct quern_pairs *got = NULL;
    char *url = NULL;

    cr_assert(quern_create_queue(client, "tagged", NULL, &tags, &url, &err), "%s", err.message);
    cr_assert(quern_list_queue_tags(client, url, &got, &err), "%s", err.message);
    cr_expect_str_eq(quern_pairs_get(got, "team"), "a");
    quern_answer_free(got);
    quern_text_free(url);
}

Test(client, permissions_are_added_and_taken_back)
{
    static const char *const accounts[] = {"111122223333"};
    static const char *const actions[] = {"SendMessage", "ReceiveMessage"};
    static const char *const policy[] = {"Policy"};
    const struct quern_permission permission = {
        .label = "friends",
        .accounts = accounts,
        .account_count = 1,
        .actions = actions,
        .action_count = 2,
    };
    struct quern_pairs *got = NULL;

    cr_assert(quern_add_permission(client, queue_url, &permission, &err), "%s", err.message);
    cr_assert(quern_get_queue_attributes(client, queue_url, policy, 1, &got, &err));
    cr_assert_eq(got->count, 1);
    cr_expect_not_null(strstr(got->items[0].value, "111122223333"));
    cr_expect_not_null(strstr(got->items[0].value, "SQS:ReceiveMessage"));
    quern_answer_free(got);
    cr_assert(quern_remove_permission(client, queue_url, "friends", &err), "%s", err.message);
    cr_assert(quern_get_queue_attributes(client, queue_url, policy, 1, &got, &err));
    cr_expect_eq(got->count, 0);
    quern_answer_free(got);
}

/* A queue whose messages go to queue_url after one receive. */
static char *create_source(void)
{
    const struct quern_pair item = {
        "RedrivePolicy",
        "{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:q\",\"maxReceiveCount\":1}"};
    const struct quern_pairs attributes = {&item, 1};
    char *url = NULL;

    cr_assert(quern_create_queue(client, "source", &attributes, NULL, &url, &err), "%s",
              err.message);
    return url;
}

Test(client, sources_of_a_dead_letter_queue_are_listed)
{
    struct quern_queue_list *list = NULL;
    char *source = create_source();

    cr_assert(quern_list_dead_letter_source_queues(client, queue_url, NULL, &list, &err), "%s",
              err.message);
    cr_assert_eq(list->count, 1);
    cr_expect_str_eq(list->urls[0], source);
    quern_answer_free(list);
    quern_text_free(source);
}

Test(client, move_tasks_are_started_listed_and_cancelled)
{
    const struct quern_move move = {.source_arn = "arn:aws:sqs:us-east-1:000000000000:q",
                                    .destination_arn = "arn:aws:sqs:us-east-1:000000000000:source",
                                    .max_per_second = 1};
    struct quern_move_tasks *tasks = NULL;
    char *source = create_source();
    char *handle = NULL;
    int64_t moved = -7;

    for (int i = 0; i < 5; i++) {
        send_text("dead");
    }
    cr_assert(quern_start_message_move_task(client, &move, &handle, &err), "%s", err.message);
    cr_assert(quern_list_message_move_tasks(client, move.source_arn, 0, &tasks, &err), "%s",
              err.message);
    cr_assert_eq(tasks->count, 1);
    cr_expect_str_eq(tasks->items[0].task_handle, handle);
    cr_expect_str_eq(tasks->items[0].status, "RUNNING");
    cr_expect_str_eq(tasks->items[0].source_arn, move.source_arn);
    cr_expect_str_eq(tasks->items[0].destination_arn, move.destination_arn);
    cr_expect_eq(tasks->items[0].max_per_second, 1);
    cr_expect_eq(tasks->items[0].to_move, 5);
    cr_expect_gt(tasks->items[0].started_at_ms, 1600000000000);
    quern_answer_free(tasks);
    cr_assert(quern_cancel_message_move_task(client, handle, &moved, &err), "%s", err.message);
    cr_expect(moved >= 0 && moved < 5);
    quern_text_free(handle);
    quern_text_free(source);
}

Test(client, purge_empties_the_queue)
{
    send_text("x");
    cr_expect(quern_purge_queue(client, queue_url, &err), "%s", err.message);
    expect_empty();
}

Test(client, error_of_the_service_has_its_code_and_is_not_repeated)
{
    char *url = NULL;

    cr_expect_not(quern_get_queue_url(client, "nowhere", NULL, &url, &err));
    cr_expect_str_eq(err.code, "QueueDoesNotExist");
    cr_expect_eq(err.http_status, 400);
    cr_expect_eq(err.attempts, 1);
    cr_expect(err.message[0] != '\0');
}

static void set_rule(const char *text)
{
    json_t *body = json_pack("{s:s}", "rule", text);

    cr_assert(quern_http_post(client, "/_quern/rules", body, NULL, &err), "%s", err.message);
    json_decref(body);
}

Test(client, two_failures_of_the_server_are_outlived_by_the_third_attempt)
{
    set_rule("on SendMessage first 2 at arrive do 5xx 503");
    send_text("x");
}

Test(client, third_failure_is_given_up)
{
    const struct quern_message message = {.body = "x", .body_len = 1, .delay_s = -1};

    set_rule("on SendMessage at arrive do 5xx 500");
    cr_expect_not(quern_send_message(client, queue_url, &message, NULL, &err));
    cr_expect_eq(err.http_status, 500);
    cr_expect_eq(err.attempts, 3);
}

Test(client, connection_that_breaks_is_a_reason_to_repeat)
{
    set_rule("on SendMessage first 2 at post-commit do reset 0");
    send_text("x");
}

static void expect_stored(const char *count)
{
    struct quern_pairs *attributes = NULL;

    cr_assert(quern_get_queue_attributes(client, queue_url, NULL, 0, &attributes, &err), "%s",
              err.message);
    cr_expect_str_eq(quern_pairs_get(attributes, "ApproximateNumberOfMessages"), count);
    quern_answer_free(attributes);
}

Test(client, nothing_is_sent_again_behind_its_back)
{
    const struct quern_message message = {.body = "x", .body_len = 1, .delay_s = -1};

    set_rule("on SendMessage first 3 at post-commit do reset 0");
    cr_expect_not(quern_send_message(client, queue_url, &message, NULL, &err));
    cr_expect_str_eq(err.code, "ConnectionError");
    cr_expect_eq(err.attempts, 3);
    expect_stored("3");
}

Test(client, control_pages_are_read_and_their_errors_told)
{
    json_t *answer = NULL;
    char *text = NULL;
    size_t len = 0;

    cr_assert(quern_http_get(client, "/_quern/health", &answer, &err), "%s", err.message);
    cr_expect(json_is_object(answer));
    json_decref(answer);
    cr_expect_not(quern_http_get(client, "/_quern/nothing", &answer, &err));
    cr_expect_eq(err.http_status, 404);
    cr_expect(err.message[0] != '\0');
    cr_assert(quern_http_get_text(client, "/_quern/trace?since=0", &text, &len, &err));
    cr_expect_eq(strlen(text), len);
    quern_text_free(text);
    cr_assert(quern_http_delete(client, "/_quern/rules", &answer, &err), "%s", err.message);
    json_decref(answer);
}

/* Waits until the server has parked a receive, and then ends it from outside. */
static void *cancel_when_parked(void *state)
{
    struct quern_client *other = NULL;
    struct quern_error problem;
    const struct quern_options options = {.endpoint = quern_client_endpoint(client),
                                          .max_attempts = 1};

    (void)state;
    if (quern_client_new(&options, &other, &problem)) {
        bool is_parked = false;
        while (!is_parked) {
            json_t *answer = NULL;
            (void)quern_http_get(other, "/_quern/queues", &answer, &problem);
            const json_t *queue = json_array_get(json_object_get(answer, "queues"), 0);
            is_parked = json_integer_value(json_object_get(queue, "waiting_polls")) > 0;
            json_decref(answer);
        }
        quern_client_cancel(client);
    }
    quern_client_free(other);
    return NULL;
}

Test(client, long_poll_is_ended_from_another_thread)
{
    const struct quern_receive_options options = {.wait_s = 20, .visibility_s = -1};
    struct quern_messages *messages = NULL;
    pthread_t canceller;

    cr_assert_eq(pthread_create(&canceller, NULL, cancel_when_parked, NULL), 0);
    int64_t start_ms = qn_clock_monotonic_ms();
    cr_expect_not(quern_receive_message(client, queue_url, &options, &messages, &err));
    cr_expect_lt(qn_clock_monotonic_ms() - start_ms, 5000);
    pthread_join(canceller, NULL);
    cr_expect_str_eq(err.code, "ConnectionError");
    cr_expect_eq(err.attempts, 1);
    cr_expect_not(quern_delete_message(client, queue_url, "later", &err), "it stays cancelled");
    cr_expect_str_eq(err.code, "ConnectionError");
}

Test(client, endpoint_where_nobody_listens_is_tried_three_times)
{
    const struct quern_options options = {
        .endpoint = "http://127.0.0.1:1", .access_key = "a", .secret_key = "b", .retry_base_ms = 1};
    struct quern_client *lonely = NULL;

    cr_assert(quern_client_new(&options, &lonely, &err));
    cr_expect_not(quern_client_call(lonely, "ListQueues", NULL, NULL, &err));
    cr_expect_str_eq(err.code, "ConnectionError");
    cr_expect_eq(err.http_status, 0);
    cr_expect_eq(err.attempts, 3);
    quern_client_free(lonely);
}
