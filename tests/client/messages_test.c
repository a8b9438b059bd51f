/* Messages, from the send to the deletion, against a real server process. */
#include <criterion/criterion.h>

#include "client/quern.h"
#include "tests/support/live_client.h"

static struct live_client live;

static void start(void)
{
    live_client_start(&live, QN_TEST_PROGRAM);
}

static void stop(void)
{
    live_client_stop(&live);
}

TestSuite(messages, .init = start, .fini = stop);

static void expect_empty(void)
{
    struct quern_messages *messages = live_client_receive(&live);

    cr_expect_eq(messages->count, 0);
    quern_answer_free(messages);
}

Test(messages, message_is_sent_received_and_deleted)
{
    live_client_send(&live, "any \"text\" \xe2\x82\xac <&>");
    struct quern_messages *messages = live_client_receive(&live);
    cr_assert_eq(messages->count, 1);
    cr_expect_str_eq(messages->items[0].body, "any \"text\" \xe2\x82\xac <&>");
    cr_expect_eq(messages->items[0].body_len, strlen(messages->items[0].body));
    cr_expect(quern_change_visibility(live.client, live.queue_url,
                                      messages->items[0].receipt_handle, 0, &live.err));
    quern_answer_free(messages);
    messages = live_client_receive(&live);
    cr_assert_eq(messages->count, 1);
    cr_expect_eq(quern_received_number(&messages->items[0], "ApproximateReceiveCount"), 2);
    cr_expect(quern_delete_message(live.client, live.queue_url, messages->items[0].receipt_handle,
                                   &live.err));
    quern_answer_free(messages);
    expect_empty();
}

Test(messages, attributes_come_back_as_they_were_sent)
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

    cr_assert(quern_send_message(live.client, live.queue_url, &message, NULL, &live.err), "%s",
              live.err.message);
    struct quern_messages *messages = live_client_receive(&live);
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

Test(messages, only_the_attributes_asked_for_are_received)
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

    cr_assert(quern_send_message(live.client, live.queue_url, &message, NULL, &live.err), "%s",
              live.err.message);
    cr_assert(quern_receive_message(live.client, live.queue_url, &options, &messages, &live.err),
              "%s", live.err.message);
    cr_assert_eq(messages->count, 1);
    cr_expect_eq(messages->items[0].system.count, 1);
    cr_expect_gt(quern_received_number(&messages->items[0], "SentTimestamp"), 1600000000000);
    cr_expect_eq(messages->items[0].attribute_count, 0);
    quern_answer_free(messages);
}

Test(messages, text_that_is_not_utf8_is_refused_and_not_sent)
{
    const struct quern_message message = {.body = "a\xff", .body_len = 2, .delay_s = -1};

    cr_expect_not(quern_send_message(live.client, live.queue_url, &message, NULL, &live.err));
    cr_expect_str_eq(live.err.code, "InvalidText");
    cr_expect_not_null(strstr(live.err.message, "MessageBody"));
    cr_expect_eq(live.err.attempts, 0);
    cr_expect_not(quern_delete_message(live.client, live.queue_url, "\xc0\xaf", &live.err));
    cr_expect_str_eq(live.err.code, "InvalidText");
    cr_expect_not(quern_delete_message(live.client, NULL, "x", &live.err));
    cr_expect_not_null(strstr(live.err.message, "QueueUrl is missing"));
    expect_empty();
}

Test(messages, each_entry_of_a_batch_tells_for_itself)
{
    struct quern_message messages[3];
    struct quern_batch *batch = NULL;
    const char *handles[3];

    for (size_t i = 0; i < 3; i++) {
        messages[i] = (struct quern_message){.body = "b", .body_len = 1, .delay_s = -1};
    }
    cr_assert(quern_send_message_batch(live.client, live.queue_url, messages, 3, &batch, &live.err),
              "%s", live.err.message);
    cr_expect_eq(batch->count, 3);
    cr_expect_eq(batch->failed_count, 0);
    for (size_t i = 0; i < 3; i++) {
        cr_expect(batch->entries[i].is_done);
        cr_expect_eq(strlen(batch->entries[i].message_id), 36);
    }
    quern_answer_free(batch);
    struct quern_messages *received = live_client_receive(&live);
    cr_assert_eq(received->count, 3);
    for (size_t i = 0; i < 3; i++) {
        handles[i] = received->items[i].receipt_handle;
    }
    handles[1] = "nonsense";
    cr_assert(
        quern_delete_message_batch(live.client, live.queue_url, handles, 3, &batch, &live.err),
        "%s", live.err.message);
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

Test(messages, entry_that_fails_leaves_the_others_their_ids)
{
    const struct quern_message messages[2] = {{.body = "b", .body_len = 1, .delay_s = -1},
                                              {.body = "", .body_len = 0, .delay_s = -1}};
    struct quern_batch *batch = NULL;

    cr_assert(
        quern_send_message_batch(live.client, live.queue_url, messages, 2, &batch, &live.err));
    cr_expect_not_null(batch->entries[0].message_id);
    cr_expect_not(batch->entries[1].is_done);
    cr_expect_null(batch->entries[1].message_id);
    cr_expect(batch->entries[1].code[0] != '\0');
    quern_answer_free(batch);
}

Test(messages, batch_of_nothing_and_of_too_much_is_refused_by_the_service)
{
    const char *handles[QUERN_BATCH_MAX + 1] = {NULL};
    struct quern_batch *batch = NULL;

    cr_expect_not(
        quern_delete_message_batch(live.client, live.queue_url, handles, 0, &batch, &live.err));
    cr_expect_str_eq(live.err.code, "EmptyBatchRequest");
    for (size_t i = 0; i <= QUERN_BATCH_MAX; i++) {
        handles[i] = "h";
    }
    cr_expect_not(quern_delete_message_batch(live.client, live.queue_url, handles,
                                             QUERN_BATCH_MAX + 1, &batch, &live.err));
    cr_expect_str_eq(live.err.code, "TooManyEntriesInBatchRequest");
}

Test(messages, leases_are_changed_in_batches)
{
    struct quern_visibility_change changes[3] = {
        {.visibility_s = 0}, {.visibility_s = 100}, {.receipt_handle = "nonsense"}};
    struct quern_batch *batch = NULL;

    live_client_send(&live, "1");
    live_client_send(&live, "2");
    struct quern_messages *messages = live_client_receive(&live);
    cr_assert_eq(messages->count, 2);
    changes[0].receipt_handle = messages->items[0].receipt_handle;
    changes[1].receipt_handle = messages->items[1].receipt_handle;
    cr_assert(
        quern_change_visibility_batch(live.client, live.queue_url, changes, 3, &batch, &live.err),
        "%s", live.err.message);
    cr_expect(batch->entries[0].is_done && batch->entries[1].is_done);
    cr_expect_not(batch->entries[2].is_done);
    cr_expect_eq(batch->failed_count, 1);
    quern_answer_free(batch);
    struct quern_messages *again = live_client_receive(&live);
    cr_assert_eq(again->count, 1);
    cr_expect_str_eq(again->items[0].message_id, messages->items[0].message_id);
    quern_answer_free(again);
    quern_answer_free(messages);
}
