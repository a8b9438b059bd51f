/* The three batch actions: what fails the whole request, what fails one entry, and in what order
 * entries are done. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_create(&f, "q", "");
    fixture_create(&f, "q.fifo", "");
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(batch, .init = start, .fini = stop);

static const char *const actions[] = {"SendMessageBatch", "DeleteMessageBatch",
                                      "ChangeMessageVisibilityBatch"};
/* What an entry needs beside its id. */
static const char *const members[] = {"'MessageBody':'m'", "'ReceiptHandle':'h'",
                                      "'ReceiptHandle':'h','VisibilityTimeout':1"};

static void expect_refused(enum qn_error_code code, enum qn_error_code expected, const char *text)
{
    cr_expect_eq(code, expected, "%s", f.err.message);
    cr_expect_str_eq(f.err.message, text);
}

static enum qn_error_code call(int action, const char *entries)
{
    return fixture_code(&f, actions[action], "'QueueUrl':'q','Entries':[%s]", entries);
}

static const char *entry(int action, const char *id)
{
    return fixture_format(&f, "{'Id':'%s',%s}", id, members[action]);
}

static const char *entries(int action, int count)
{
    const char *all = "";

    for (int i = 0; i < count; i++) {
        all = fixture_format(&f, "%s%s%s", all, i > 0 ? "," : "",
                             entry(action, fixture_format(&f, "e%d", i)));
    }
    return all;
}

Test(batch, without_entries_it_is_refused)
{
    for (int action = 0; action < 3; action++) {
        const char *text = fixture_format(
            &f, "There should be at least one %sRequestEntry in the request.", actions[action]);
        expect_refused(call(action, ""), QN_ERR_EMPTY_BATCH_REQUEST, text);
        expect_refused(fixture_code(&f, actions[action], "'QueueUrl':'q'"),
                       QN_ERR_EMPTY_BATCH_REQUEST, text);
    }
}

Test(batch, ten_entries_and_no_more)
{
    for (int action = 0; action < 3; action++) {
        cr_expect_eq(call(action, entries(action, 10)), QN_ERR_NONE);
        expect_refused(call(action, entries(action, 11)), QN_ERR_TOO_MANY_ENTRIES_IN_BATCH_REQUEST,
                       "Maximum number of entries per request are 10. You have sent 11.");
    }
}

Test(batch, a_limit_for_tests_moves_the_number_of_entries)
{
    f.options.limits.batch_entries = 2;
    fixture_restart(&f);
    cr_expect_eq(call(0, entries(0, 2)), QN_ERR_NONE);
    cr_expect_eq(call(0, entries(0, 3)), QN_ERR_TOO_MANY_ENTRIES_IN_BATCH_REQUEST);
}

Test(batch, ID_12_ids_that_are_malformed_fail_the_request)
{
    static const char *const bad[] = {"", "a b", "a.b", "\\u00e4", "a/b"};

    for (int action = 0; action < 3; action++) {
        for (size_t i = 0; i <= sizeof(bad) / sizeof(bad[0]); i++) {
            const char *id =
                i < sizeof(bad) / sizeof(bad[0]) ? bad[i] : fixture_format(&f, "%081d", 1);
            expect_refused(
                call(action, fixture_format(&f, "%s,%s", entry(action, "good"), entry(action, id))),
                QN_ERR_INVALID_BATCH_ENTRY_ID,
                "A batch entry id can only contain alphanumeric characters, hyphens and "
                "underscores. It can be at most 80 letters long.");
        }
        cr_expect_eq(call(action, fixture_format(&f, "{%s}", members[action])),
                     QN_ERR_INVALID_BATCH_ENTRY_ID);
        cr_expect_eq(call(action, entry(action, fixture_format(&f, "%080d", 1))), QN_ERR_NONE);
    }
}

Test(batch, ids_that_repeat_fail_the_request)
{
    for (int action = 0; action < 3; action++) {
        expect_refused(call(action, fixture_format(&f, "%s,%s,%s", entry(action, "a"),
                                                   entry(action, "b"), entry(action, "a"))),
                       QN_ERR_BATCH_ENTRY_IDS_NOT_DISTINCT, "Id a repeated.");
    }
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

/* ---- SendMessageBatch ---- */

Test(batch, entries_are_sent_in_their_order)
{
    fixture_must(&f, "SendMessageBatch",
                 "'QueueUrl':'q','Entries':[{'Id':'x','MessageBody':'m1'},{'Id':'y','MessageBody':"
                 "'m2','DelaySeconds':5},{'Id':'z','MessageBody':'m3'}]");
    cr_expect_eq(fixture_count(&f, "Successful"), 3);
    cr_expect_null(json_object_get(f.answer, "Failed"));
    cr_expect_str_eq(fixture_get(&f, "Successful.1.Id"), "y");
    cr_expect_str_eq(fixture_get(&f, "Successful.0.MD5OfMessageBody"),
                     "ae7be26cdaa742ca148068d5ac90eaca");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1 m3");
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 2 1");
}

Test(batch, an_entry_that_fails_does_not_stop_the_others)
{
    fixture_set(&f, "q", "'MaximumMessageSize':'1024'");
    fixture_must(&f, "SendMessageBatch",
                 "'QueueUrl':'q','Entries':[{'Id':'a','MessageBody':'m1'},"
                 "{'Id':'b','MessageBody':'\\u0001'},{'Id':'c'},{'Id':'d','MessageBody':'%02000d'},"
                 "{'Id':'e','MessageBody':'m','DelaySeconds':901},"
                 "{'Id':'g','MessageBody':'m','MessageDeduplicationId':'x'},"
                 "{'Id':'h','MessageBody':'m','MessageAttributes':{'A':{'DataType':'x'}}},"
                 "{'Id':'i','MessageBody':'m2'}]",
                 1);
    static const char *const failed[][2] = {
        {"b", "InvalidMessageContents"}, {"c", "MissingParameter"},
        {"d", "InvalidParameterValue"},  {"e", "InvalidParameterValue"},
        {"g", "InvalidParameterValue"},  {"h", "InvalidParameterValue"}};
    cr_assert_eq(fixture_count(&f, "Failed"), 6);
    for (size_t i = 0; i < 6; i++) {
        cr_expect_str_eq(fixture_get(&f, fixture_format(&f, "Failed.%zu.Id", i)), failed[i][0]);
        cr_expect_str_eq(fixture_get(&f, fixture_format(&f, "Failed.%zu.Code", i)), failed[i][1]);
        cr_expect_str_eq(fixture_get(&f, fixture_format(&f, "Failed.%zu.SenderFault", i)), "true");
    }
    cr_expect_str_eq(fixture_get(&f, "Failed.2.Message"),
                     "One or more parameters cannot be validated. Reason: Message must be shorter "
                     "than 1024 bytes.");
    cr_expect_str_eq(
        fixture_get(&f, "Failed.3.Message"),
        "Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be "
        ">= 0 and <= 900.");
    cr_expect_eq(fixture_count(&f, "Successful"), 2);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1 m2");
}

Test(batch, when_all_fail_the_answer_has_no_successful_ones)
{
    fixture_must(&f, "SendMessageBatch", "'QueueUrl':'q','Entries':[{'Id':'c'}]");
    cr_expect_null(json_object_get(f.answer, "Successful"));
    cr_expect_eq(fixture_count(&f, "Failed"), 1);
}

/* Two bodies of these lengths. */
static enum qn_error_code send_two(size_t first, size_t second)
{
    return fixture_code(&f, "SendMessageBatch",
                        "'QueueUrl':'q','Entries':[{'Id':'a','MessageBody':'%0*d'},"
                        "{'Id':'b','MessageBody':'%0*d'}]",
                        (int)first, 1, (int)second, 1);
}

Test(batch, all_entries_together_have_at_most_one_mebibyte)
{
    cr_expect_eq(send_two(1000000, 48576), QN_ERR_NONE);
    cr_expect_eq(fixture_count(&f, "Successful"), 2);
    expect_refused(send_two(1000000, 48577), QN_ERR_BATCH_REQUEST_TOO_LONG,
                   "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 "
                   "bytes.");
    fixture_set(&f, "q", "'MaximumMessageSize':'1024'");
    cr_expect_eq(send_two(1000000, 48576), QN_ERR_NONE);
    cr_expect_eq(fixture_count(&f, "Failed"), 2);
    cr_expect_eq(send_two(1000000, 48577), QN_ERR_BATCH_REQUEST_TOO_LONG);
}

Test(batch, a_fifo_entry_without_group_fails_the_request)
{
    expect_refused(
        fixture_code(&f, "SendMessageBatch",
                     "'QueueUrl':'q.fifo','Entries':[{'Id':'a','MessageBody':'m','MessageGroupId':"
                     "'g','MessageDeduplicationId':'d'},{'Id':'b','MessageBody':'m',"
                     "'MessageDeduplicationId':'e'}]"),
        QN_ERR_INVALID_PARAMETER_VALUE, "The request must contain the parameter MessageGroupId.");
    expect_refused(
        fixture_code(&f, "SendMessageBatch",
                     "'QueueUrl':'q.fifo','Entries':[{'Id':'a','MessageBody':'m','MessageGroupId':"
                     "'g'}]"),
        QN_ERR_INVALID_PARAMETER_VALUE,
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId "
        "provided explicitly");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "0 0 0");
}

Test(batch, a_malformed_group_fails_its_entry)
{
    fixture_must(&f, "SendMessageBatch",
                 "'QueueUrl':'q.fifo','Entries':[{'Id':'a','MessageBody':'m','MessageGroupId':'',"
                 "'MessageDeduplicationId':'d'},{'Id':'b','MessageBody':'m','MessageGroupId':'g',"
                 "'MessageDeduplicationId':'e'}]");
    cr_expect_str_eq(fixture_get(&f, "Failed.0.Id"), "a");
    cr_expect_str_eq(fixture_get(&f, "Failed.0.Code"), "InvalidParameterValue");
    cr_expect_str_eq(fixture_get(&f, "Successful.0.Id"), "b");
    cr_expect_not_null(fixture_get(&f, "Successful.0.SequenceNumber"));
}

Test(batch, fifo_entries_are_enqueued_in_their_order)
{
    fixture_set(&f, "q.fifo", "'ContentBasedDeduplication':'true'");
    fixture_must(&f, "SendMessageBatch",
                 "'QueueUrl':'q.fifo','Entries':[{'Id':'1','MessageBody':'a1','MessageGroupId':"
                 "'a'},{'Id':'2','MessageBody':'b1','MessageGroupId':'b'},{'Id':'3','MessageBody':"
                 "'a2','MessageGroupId':'a'}]");
    cr_expect_lt(strcmp(fixture_get(&f, "Successful.0.SequenceNumber"),
                        fixture_get(&f, "Successful.1.SequenceNumber")),
                 0);
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "a1 a2 b1");
}

/* ---- DeleteMessageBatch and ChangeMessageVisibilityBatch ---- */

Test(batch, deletes_fail_one_by_one)
{
    fixture_send(&f, "q", "m1 m2 m3");
    fixture_receive(&f, "q", 2);
    fixture_must(&f, "DeleteMessageBatch",
                 "'QueueUrl':'q','Entries':[{'Id':'a','ReceiptHandle':'%s'},{'Id':'b',"
                 "'ReceiptHandle':'garbage'},{'Id':'c'},{'Id':'d','ReceiptHandle':'%s'},"
                 "{'Id':'e','ReceiptHandle':'%s'}]",
                 fixture_handle(&f, "m1"), fixture_handle(&f, "m1"), fixture_handle(&f, "m2"));
    cr_expect_eq(fixture_count(&f, "Successful"), 3);
    cr_expect_str_eq(fixture_get(&f, "Successful.1.Id"), "d");
    cr_expect_str_eq(fixture_get(&f, "Failed.0.Id"), "b");
    cr_expect_str_eq(fixture_get(&f, "Failed.0.Code"), "ReceiptHandleIsInvalid");
    cr_expect_str_eq(fixture_get(&f, "Failed.0.SenderFault"), "true");
    cr_expect_str_eq(fixture_get(&f, "Failed.1.Code"), "MissingParameter");
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
}

Test(batch, a_bad_id_comes_before_the_handles)
{
    cr_expect_eq(call(1, "{'Id':'bad id','ReceiptHandle':'garbage'}"),
                 QN_ERR_INVALID_BATCH_ENTRY_ID);
}

Test(batch, visibility_changes_are_done_in_order_each_on_what_the_one_before_left)
{
    fixture_send(&f, "q", "m1 m2");
    fixture_receive(&f, "q", 2);
    const char *handle = fixture_handle(&f, "m1");
    fixture_must(&f, "ChangeMessageVisibilityBatch",
                 "'QueueUrl':'q','Entries':[{'Id':'a','ReceiptHandle':'%s','VisibilityTimeout':0},"
                 "{'Id':'b','ReceiptHandle':'%s','VisibilityTimeout':7},"
                 "{'Id':'c','ReceiptHandle':'%s'},"
                 "{'Id':'d','ReceiptHandle':'%s','VisibilityTimeout':43201},"
                 "{'Id':'e','ReceiptHandle':'%s','VisibilityTimeout':0}]",
                 handle, handle, handle, handle, fixture_handle(&f, "m2"));
    cr_expect_eq(fixture_count(&f, "Successful"), 3);
    cr_expect_str_eq(fixture_get(&f, "Failed.0.Id"), "c");
    cr_expect_str_eq(fixture_get(&f, "Failed.0.Code"), "MissingParameter");
    cr_expect_str_eq(fixture_get(&f, "Failed.1.Code"), "InvalidParameterValue");
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 1 0");
    fixture_advance_s(&f, 7);
    cr_expect_str_eq(fixture_counts(&f, "q"), "2 0 0");
}

Test(batch, a_fifo_delete_that_opens_a_group_and_one_that_comes_too_late)
{
    fixture_send(&f, "q.fifo", "a1 a2 b1");
    fixture_receive_with(&f, "q.fifo", 2, "'VisibilityTimeout':100");
    fixture_receive_with(&f, "q.fifo", 1, "'VisibilityTimeout':1");
    fixture_advance_s(&f, 1);
    fixture_must(&f, "DeleteMessageBatch",
                 "'QueueUrl':'q.fifo','Entries':[{'Id':'a','ReceiptHandle':'%s'},{'Id':'b',"
                 "'ReceiptHandle':'%s'}]",
                 fixture_handle(&f, "a1"), fixture_handle(&f, "b1"));
    cr_expect_str_eq(fixture_get(&f, "Successful.0.Id"), "a");
    cr_expect_str_eq(fixture_get(&f, "Failed.0.Code"), "InvalidParameterValue");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 1 0");
}
