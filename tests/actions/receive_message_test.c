/* ReceiveMessage's parameters and the system attributes of its answer; DeleteMessage's and
 * ChangeMessageVisibility's parameters. */
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

TestSuite(receive_message, .init = start, .fini = stop);

static enum qn_error_code receive(const char *members)
{
    return fixture_code(&f, "ReceiveMessage", "'QueueUrl':'q',%s", members);
}

static void expect_refused(enum qn_error_code code, enum qn_error_code expected, const char *text)
{
    cr_expect_eq(code, expected, "%s", f.err.message);
    cr_expect_str_eq(f.err.message, text);
}

Test(receive_message, ranges_at_their_ends_and_one_past)
{
    static const struct {
        const char *name;
        int min, max;
        const char *reason;
    } ranges[] = {
        {"MaxNumberOfMessages", 1, 10, "Must be between 1 and 10, if provided."},
        {"VisibilityTimeout", 0, 43200, "Must be between 0 and 43200, if provided."},
        {"WaitTimeSeconds", 0, 20, "Must be >= 0 and <= 20, if provided."},
    };

    for (size_t i = 0; i < 3; i++) {
        const int good[] = {ranges[i].min, ranges[i].max};
        const int bad[] = {ranges[i].min - 1, ranges[i].max + 1};
        for (int j = 0; j < 2; j++) {
            cr_expect_eq(receive(fixture_format(&f, "'%s':%d", ranges[i].name, good[j])),
                         QN_ERR_NONE);
            expect_refused(receive(fixture_format(&f, "'%s':%d", ranges[i].name, bad[j])),
                           QN_ERR_INVALID_PARAMETER_VALUE,
                           fixture_format(&f, "Value %d for parameter %s is invalid. Reason: %s",
                                          bad[j], ranges[i].name, ranges[i].reason));
        }
    }
}

Test(receive_message, without_names_no_attributes_come)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    cr_expect_eq(fixture_count(&f, "Messages.0"), 4);
    cr_expect_not_null(fixture_get(&f, "Messages.0.MessageId"));
    cr_expect_not_null(fixture_get(&f, "Messages.0.ReceiptHandle"));
    cr_expect_not_null(fixture_get(&f, "Messages.0.MD5OfBody"));
    cr_expect_not_null(fixture_get(&f, "Messages.0.Body"));
}

Test(receive_message, all_system_attributes_of_a_standard_message)
{
    fixture_send(&f, "q", "m");
    fixture_advance_ms(&f, 3);
    fixture_receive_with(&f, "q", 1, "'MessageSystemAttributeNames':['All']");
    cr_expect_eq(fixture_count(&f, "Messages.0.Attributes"), 4);
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.SenderId"), "000000000000");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.SentTimestamp"), "1700000000000");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.ApproximateReceiveCount"), "1");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.ApproximateFirstReceiveTimestamp"),
                     "1700000000003");
}

Test(receive_message, all_system_attributes_of_a_fifo_message)
{
    fixture_send_with(&f, "q.fifo", "m", "'MessageGroupId':'g','MessageDeduplicationId':'d'");
    const char *number = fixture_get(&f, "SequenceNumber");
    fixture_receive_with(&f, "q.fifo", 1, "'AttributeNames':['All']");
    cr_expect_eq(fixture_count(&f, "Messages.0.Attributes"), 7);
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.SequenceNumber"), number);
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.MessageGroupId"), "g");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.MessageDeduplicationId"), "d");
}

Test(receive_message, old_and_new_names_are_united)
{
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1,
                         "'AttributeNames':['SenderId'],"
                         "'MessageSystemAttributeNames':['SentTimestamp','SentTimestamp']");
    cr_expect_eq(fixture_count(&f, "Messages.0.Attributes"), 2);
}

Test(receive_message, known_names_that_do_not_apply_are_skipped)
{
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1,
                         "'AttributeNames':['SequenceNumber','MessageDeduplicationId',"
                         "'MessageGroupId','AWSTraceHeader','DeadLetterQueueSourceArn']");
    cr_expect_eq(fixture_count(&f, "Messages.0.Attributes"), 0);
}

Test(receive_message, unknown_names_are_refused)
{
    static const char *const bad[] = {"Odd", "all", "SqsManagedSseEnabled", ""};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *text = fixture_format(&f, "Unknown Attribute %s.", bad[i]);
        expect_refused(receive(fixture_format(&f, "'AttributeNames':['%s']", bad[i])),
                       QN_ERR_INVALID_ATTRIBUTE_NAME, text);
        expect_refused(
            receive(fixture_format(&f, "'MessageSystemAttributeNames':['All','%s']", bad[i])),
            QN_ERR_INVALID_ATTRIBUTE_NAME, text);
    }
}

Test(receive_message, ID_10_each_receive_has_a_handle_of_its_own)
{
    const char *handles[5];

    fixture_send(&f, "q", "m");
    for (int i = 0; i < 5; i++) {
        fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
        handles[i] = fixture_handle(&f, "m");
        cr_expect_leq(strlen(handles[i]), 1024);
        for (int j = 0; j < i; j++) {
            cr_expect_str_neq(handles[i], handles[j]);
        }
    }
}

/* ---- handles as parameters (11) ---- */

Test(receive_message, a_handle_is_required)
{
    cr_expect_eq(fixture_code(&f, "DeleteMessage", "'QueueUrl':'q'"), QN_ERR_MISSING_PARAMETER);
    cr_expect_str_eq(f.err.message, "The request must contain the parameter ReceiptHandle.");
    cr_expect_eq(
        fixture_code(&f, "ChangeMessageVisibility", "'QueueUrl':'q','VisibilityTimeout':1"),
        QN_ERR_MISSING_PARAMETER);
    cr_expect_str_eq(f.err.message, "The request must contain the parameter ReceiptHandle.");
}

Test(receive_message, a_visibility_is_required_and_0_to_43200)
{
    const char *reason = "VisibilityTimeout must be an integer between 0 and 43200";

    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    const char *handle = fixture_handle(&f, "m");
    cr_expect_eq(
        fixture_code(&f, "ChangeMessageVisibility", "'QueueUrl':'q','ReceiptHandle':'%s'", handle),
        QN_ERR_MISSING_PARAMETER);
    cr_expect_str_eq(f.err.message, "The request must contain the parameter VisibilityTimeout.");
    expect_refused(fixture_change(&f, "q", handle, -1), QN_ERR_INVALID_PARAMETER_VALUE,
                   fixture_format(&f,
                                  "Value -1 for parameter VisibilityTimeout is invalid. Reason: %s",
                                  reason));
    expect_refused(
        fixture_change(&f, "q", handle, 43201), QN_ERR_INVALID_PARAMETER_VALUE,
        fixture_format(&f, "Value 43201 for parameter VisibilityTimeout is invalid. Reason: %s",
                       reason));
    cr_expect_eq(fixture_change(&f, "q", handle, 43200), QN_ERR_NONE);
}
