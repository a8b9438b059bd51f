/* GetQueueAttributes and SetQueueAttributes: each attribute's range, what excludes what, and the
 * errors of AWS. */
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

TestSuite(queue_attributes, .init = start, .fini = stop);

static enum qn_error_code set(const char *queue, const char *attributes)
{
    return fixture_code(&f, "SetQueueAttributes", "'QueueUrl':'%s','Attributes':{%s}", queue,
                        attributes);
}

static void expect_refused(enum qn_error_code code, enum qn_error_code expected, const char *text)
{
    cr_expect_eq(code, expected, "%s", f.err.message);
    cr_expect_str_eq(f.err.message, text);
}

static const struct {
    const char *name;
    int min, max;
} integers[] = {
    {"VisibilityTimeout", 0, 43200},          {"MaximumMessageSize", 1024, 1048576},
    {"MessageRetentionPeriod", 60, 1209600},  {"DelaySeconds", 0, 900},
    {"ReceiveMessageWaitTimeSeconds", 0, 20}, {"KmsDataKeyReusePeriodSeconds", 60, 86400},
};

Test(queue_attributes, integers_are_taken_at_both_ends_of_their_range)
{
    set("q", "'KmsMasterKeyId':'alias/k'");
    for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++) {
        const int values[] = {integers[i].min, integers[i].max};
        for (int j = 0; j < 2; j++) {
            const char *value = fixture_format(&f, "%d", values[j]);
            cr_expect_eq(set("q", fixture_format(&f, "'%s':'%s'", integers[i].name, value)),
                         QN_ERR_NONE);
            cr_expect_str_eq(fixture_attribute(&f, "q", integers[i].name), value);
        }
    }
}

Test(queue_attributes, integers_beyond_their_range_or_that_are_none_are_refused)
{
    static const char *const bad[] = {"", "x", "1.5", " 5", "5 ", "0x10", "99999999999999999999"};

    for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++) {
        const char *name = integers[i].name;
        const char *text = fixture_format(&f, "Invalid value for the parameter %s.", name);
        expect_refused(set("q", fixture_format(&f, "'%s':'%d'", name, integers[i].min - 1)),
                       QN_ERR_INVALID_ATTRIBUTE_VALUE, text);
        expect_refused(set("q", fixture_format(&f, "'%s':'%d'", name, integers[i].max + 1)),
                       QN_ERR_INVALID_ATTRIBUTE_VALUE, text);
        for (size_t j = 0; j < sizeof(bad) / sizeof(bad[0]); j++) {
            expect_refused(set("q", fixture_format(&f, "'%s':'%s'", name, bad[j])),
                           QN_ERR_INVALID_ATTRIBUTE_VALUE, text);
        }
    }
}

Test(queue_attributes, unknown_and_read_only_names_are_unknown_to_set)
{
    static const char *const bad[] = {"Odd",
                                      "visibilitytimeout",
                                      "All",
                                      "QueueArn",
                                      "CreatedTimestamp",
                                      "LastModifiedTimestamp",
                                      "ApproximateNumberOfMessages",
                                      "ApproximateNumberOfMessagesNotVisible",
                                      "ApproximateNumberOfMessagesDelayed"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_refused(set("q", fixture_format(&f, "'%s':'1'", bad[i])),
                       QN_ERR_INVALID_ATTRIBUTE_NAME,
                       fixture_format(&f, "Unknown Attribute %s.", bad[i]));
        cr_expect_eq(
            fixture_code(&f, "CreateQueue", "'QueueName':'n','Attributes':{'%s':'1'}", bad[i]),
            QN_ERR_INVALID_ATTRIBUTE_NAME);
    }
}

Test(queue_attributes, set_wants_attributes)
{
    cr_expect_eq(set("q", ""), QN_ERR_MISSING_PARAMETER);
    cr_expect_eq(fixture_code(&f, "SetQueueAttributes", "'QueueUrl':'q'"),
                 QN_ERR_MISSING_PARAMETER);
}

Test(queue_attributes, one_bad_attribute_changes_nothing)
{
    cr_expect_eq(set("q", "'DelaySeconds':'5','VisibilityTimeout':'x'"),
                 QN_ERR_INVALID_ATTRIBUTE_VALUE);
    cr_expect_eq(set("q", "'VisibilityTimeout':'5','Odd':'x'"), QN_ERR_INVALID_ATTRIBUTE_NAME);
    cr_expect_str_eq(fixture_attribute(&f, "q", "DelaySeconds"), "0");
    cr_expect_str_eq(fixture_attribute(&f, "q", "VisibilityTimeout"), "30");
    cr_expect_eq(fixture_code(&f, "CreateQueue",
                              "'QueueName':'n','Attributes':{'DelaySeconds':'5','Odd':'1'}"),
                 QN_ERR_INVALID_ATTRIBUTE_NAME);
    cr_expect_eq(fixture_code(&f, "GetQueueUrl", "'QueueName':'n'"), QN_ERR_QUEUE_DOES_NOT_EXIST);
}

Test(queue_attributes, set_moves_the_time_of_the_last_change)
{
    fixture_advance_s(&f, 7);
    set("q", "'DelaySeconds':'5'");
    cr_expect_str_eq(fixture_attribute(&f, "q", "LastModifiedTimestamp"), "1700000007");
    cr_expect_str_eq(fixture_attribute(&f, "q", "CreatedTimestamp"), "1700000000");
    fixture_advance_s(&f, 7);
    fixture_must(&f, "TagQueue", "'QueueUrl':'q','Tags':{'a':'1'}");
    cr_expect_str_eq(fixture_attribute(&f, "q", "LastModifiedTimestamp"), "1700000007");
    fixture_must(&f, "AddPermission",
                 "'QueueUrl':'q','Label':'l','AWSAccountIds':['123456789012'],'Actions':['*']");
    cr_expect_str_eq(fixture_attribute(&f, "q", "LastModifiedTimestamp"), "1700000014");
}

/* ---- FIFO attributes ---- */

Test(queue_attributes, fifo_booleans_are_unknown_to_a_standard_queue)
{
    static const char *const names[] = {"FifoQueue", "ContentBasedDeduplication"};
    static const char *const values[] = {"true", "false"};

    for (int i = 0; i < 4; i++) {
        const char *attribute = fixture_format(&f, "'%s':'%s'", names[i % 2], values[i / 2]);
        const char *text = fixture_format(&f, "Unknown Attribute %s.", names[i % 2]);
        expect_refused(set("q", attribute), QN_ERR_INVALID_ATTRIBUTE_NAME, text);
        if (i != 0) { /* FifoQueue=true asks for a FIFO queue */
            expect_refused(
                fixture_code(&f, "CreateQueue", "'QueueName':'n','Attributes':{%s}", attribute),
                QN_ERR_INVALID_ATTRIBUTE_NAME, text);
        }
    }
}

Test(queue_attributes, fifo_words_are_refused_on_a_standard_queue_in_other_words)
{
    static const char *const attributes[][2] = {{"DeduplicationScope", "queue"},
                                                {"FifoThroughputLimit", "perQueue"}};

    for (int i = 0; i < 2; i++) {
        const char *attribute = fixture_format(&f, "'%s':'%s'", attributes[i][0], attributes[i][1]);
        const char *text = fixture_format(
            &f, "You can specify the %s only when FifoQueue is set to true.", attributes[i][0]);
        expect_refused(set("q", attribute), QN_ERR_INVALID_ATTRIBUTE_NAME, text);
        expect_refused(
            fixture_code(&f, "CreateQueue", "'QueueName':'n','Attributes':{%s}", attribute),
            QN_ERR_INVALID_ATTRIBUTE_NAME, text);
    }
}

Test(queue_attributes, the_type_of_a_queue_cannot_be_changed)
{
    cr_expect_eq(set("q.fifo", "'FifoQueue':'true'"), QN_ERR_NONE);
    expect_refused(set("q.fifo", "'FifoQueue':'false'"), QN_ERR_INVALID_ATTRIBUTE_VALUE,
                   "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not "
                   "supported.");
    cr_expect_eq(set("q.fifo", "'FifoQueue':'x'"), QN_ERR_INVALID_ATTRIBUTE_VALUE);
}

Test(queue_attributes, booleans_are_taken_in_any_case_and_given_in_lower)
{
    cr_expect_eq(set("q.fifo", "'ContentBasedDeduplication':'TrUe'"), QN_ERR_NONE);
    cr_expect_str_eq(fixture_attribute(&f, "q.fifo", "ContentBasedDeduplication"), "true");
    cr_expect_eq(set("q.fifo", "'ContentBasedDeduplication':'FALSE'"), QN_ERR_NONE);
    cr_expect_str_eq(fixture_attribute(&f, "q.fifo", "ContentBasedDeduplication"), "false");
    expect_refused(set("q.fifo", "'ContentBasedDeduplication':'1'"), QN_ERR_INVALID_ATTRIBUTE_VALUE,
                   "Invalid value for the parameter ContentBasedDeduplication.");
    cr_expect_eq(set("q", "'SqsManagedSseEnabled':'yes'"), QN_ERR_INVALID_ATTRIBUTE_VALUE);
}

Test(queue_attributes, throughput_per_group_needs_the_scope_of_a_group)
{
    cr_expect_eq(set("q.fifo", "'FifoThroughputLimit':'perMessageGroupId'"),
                 QN_ERR_INVALID_ATTRIBUTE_VALUE);
    cr_expect_eq(set("q.fifo", "'FifoThroughputLimit':'perMessageGroupId',"
                               "'DeduplicationScope':'messageGroup'"),
                 QN_ERR_NONE);
    cr_expect_eq(set("q.fifo", "'DeduplicationScope':'queue'"), QN_ERR_INVALID_ATTRIBUTE_VALUE);
    cr_expect_eq(set("q.fifo", "'DeduplicationScope':'queue','FifoThroughputLimit':'perQueue'"),
                 QN_ERR_NONE);
    cr_expect_eq(set("q.fifo", "'DeduplicationScope':'Queue'"), QN_ERR_INVALID_ATTRIBUTE_VALUE);
    cr_expect_eq(set("q.fifo", "'FifoThroughputLimit':'x'"), QN_ERR_INVALID_ATTRIBUTE_VALUE);
}

/* ---- encryption (6.2) ---- */

Test(queue_attributes, a_key_turns_managed_encryption_off)
{
    set("q", "'KmsMasterKeyId':'alias/aws/sqs'");
    cr_expect_str_eq(fixture_attribute(&f, "q", "KmsMasterKeyId"), "alias/aws/sqs");
    cr_expect_str_eq(fixture_attribute(&f, "q", "SqsManagedSseEnabled"), "false");
    cr_expect_str_eq(fixture_attribute(&f, "q", "KmsDataKeyReusePeriodSeconds"), "300");
}

Test(queue_attributes, removing_the_key_leaves_managed_encryption_off)
{
    set("q", "'KmsMasterKeyId':'k','KmsDataKeyReusePeriodSeconds':'600'");
    cr_expect_str_eq(fixture_attribute(&f, "q", "KmsDataKeyReusePeriodSeconds"), "600");
    set("q", "'KmsMasterKeyId':''");
    cr_expect_null(fixture_attribute(&f, "q", "KmsMasterKeyId"));
    cr_expect_null(fixture_attribute(&f, "q", "KmsDataKeyReusePeriodSeconds"));
    cr_expect_str_eq(fixture_attribute(&f, "q", "SqsManagedSseEnabled"), "false");
}

Test(queue_attributes, managed_encryption_removes_the_key)
{
    set("q", "'KmsMasterKeyId':'k'");
    set("q", "'SqsManagedSseEnabled':'true'");
    cr_expect_null(fixture_attribute(&f, "q", "KmsMasterKeyId"));
    cr_expect_str_eq(fixture_attribute(&f, "q", "SqsManagedSseEnabled"), "true");
}

Test(queue_attributes, both_encryptions_in_one_request_are_refused)
{
    const char *both = "'KmsMasterKeyId':'k','SqsManagedSseEnabled':'true'";
    const char *text =
        "You can use one type of server-side encryption (SSE) at one time. You can either enable "
        "KMS SSE or SQS SSE.";

    expect_refused(set("q", both), QN_ERR_INVALID_ATTRIBUTE_NAME, text);
    expect_refused(fixture_code(&f, "CreateQueue", "'QueueName':'n','Attributes':{%s}", both),
                   QN_ERR_INVALID_ATTRIBUTE_NAME, text);
    cr_expect_eq(set("q", "'KmsMasterKeyId':'k','SqsManagedSseEnabled':'false'"), QN_ERR_NONE);
    cr_expect_eq(set("q", "'KmsMasterKeyId':'','SqsManagedSseEnabled':'true'"), QN_ERR_NONE);
}

/* ---- Policy ---- */

#define STATEMENT "{\\'Effect\\':\\'Allow\\',\\'Principal\\':\\'*\\',\\'Action\\':\\'SQS:*\\'}"

Test(queue_attributes, a_policy_comes_back_as_it_was_given)
{
    cr_expect_eq(set("q", "'Policy':'{ \\'Statement\\' : [" STATEMENT "] }'"), QN_ERR_NONE);
    cr_expect_str_eq(fixture_attribute(&f, "q", "Policy"),
                     "{ \"Statement\" : [{\"Effect\":\"Allow\",\"Principal\":\"*\",\"Action\":"
                     "\"SQS:*\"}] }");
    cr_expect_eq(set("q", "'Policy':'{\\'Statement\\':" STATEMENT "}'"), QN_ERR_NONE);
    cr_expect_eq(set("q", "'Policy':''"), QN_ERR_NONE);
    cr_expect_null(fixture_attribute(&f, "q", "Policy"));
}

Test(queue_attributes, a_policy_that_is_none_is_refused)
{
    static const char *const bad[] = {
        "x",
        "[]",
        "{}",
        "{\\'Statement\\':[]}",
        "{\\'Statement\\':\\'x\\'}",
        "{\\'Statement\\':[1]}",
        "{\\'Statement\\':[{\\'Effect\\':\\'Allow\\',\\'Principal\\':\\'*\\'}]}",
        "{\\'Statement\\':[{\\'Effect\\':\\'Allow\\',\\'Action\\':\\'*\\'}]}",
        "{\\'Statement\\':[{\\'Principal\\':\\'*\\',\\'Action\\':\\'*\\'}]}",
        "{\\'Statement\\':{\\'Effect\\':\\'Maybe\\',\\'Principal\\':\\'*\\',\\'Action\\':\\'*\\'}}",
        "{\\'Statement\\':[{\\'Effect\\':\\'Allow\\',\\'Principal\\':{},\\'Action\\':\\'*\\'}]}",
        "{\\'Statement\\':[{\\'Effect\\':\\'Allow\\',\\'Principal\\':\\'*\\',\\'Action\\':[]}]}",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_refused(set("q", fixture_format(&f, "'Policy':'%s'", bad[i])),
                       QN_ERR_INVALID_ATTRIBUTE_VALUE, "Invalid value for the parameter Policy.");
    }
}

Test(queue_attributes, a_policy_has_quotas)
{
    struct qn_buf many;

    for (int count = 20; count <= 21; count++) {
        qn_buf_init(&many, SIZE_MAX);
        for (int i = 0; i < count; i++) {
            qn_buf_append_format(&many, "%s" STATEMENT, i > 0 ? "," : "");
        }
        cr_expect_eq(set("q", fixture_format(&f, "'Policy':'{\\'Statement\\':[%.*s]}'",
                                             QN_STR_ARG(qn_buf_str(&many)))),
                     count == 20 ? QN_ERR_NONE : QN_ERR_INVALID_ATTRIBUTE_VALUE);
        qn_buf_done(&many);
    }
    cr_expect_eq(set("q", fixture_format(
                              &f, "'Policy':'{\\'Id\\':\\'%0*d\\',\\'Statement\\':" STATEMENT "}'",
                              8200, 1)),
                 QN_ERR_INVALID_ATTRIBUTE_VALUE);
}

/* ---- GetQueueAttributes ---- */

Test(queue_attributes, without_names_nothing_is_given)
{
    fixture_must(&f, "GetQueueAttributes", "'QueueUrl':'q'");
    cr_expect_eq(json_object_size(f.answer), 0);
    fixture_must(&f, "GetQueueAttributes", "'QueueUrl':'q','AttributeNames':[]");
    cr_expect_eq(json_object_size(f.answer), 0);
}

Test(queue_attributes, names_without_a_value_are_left_out)
{
    fixture_must(&f, "GetQueueAttributes",
                 "'QueueUrl':'q','AttributeNames':['Policy','RedrivePolicy','RedriveAllowPolicy',"
                 "'KmsMasterKeyId','KmsDataKeyReusePeriodSeconds','FifoQueue',"
                 "'ContentBasedDeduplication','DeduplicationScope','FifoThroughputLimit']");
    cr_expect_eq(json_object_size(f.answer), 0);
}

Test(queue_attributes, only_what_is_asked_for_and_once)
{
    fixture_must(&f, "GetQueueAttributes",
                 "'QueueUrl':'q','AttributeNames':['DelaySeconds','QueueArn','DelaySeconds']");
    cr_expect_eq(fixture_count(&f, "Attributes"), 2);
}

Test(queue_attributes, an_unknown_name_is_refused)
{
    expect_refused(
        fixture_code(&f, "GetQueueAttributes", "'QueueUrl':'q','AttributeNames':['All','Odd']"),
        QN_ERR_INVALID_ATTRIBUTE_NAME, "Unknown Attribute Odd.");
}

Test(queue_attributes, counts_follow_every_message)
{
    fixture_send(&f, "q", "m1 m2");
    fixture_send_with(&f, "q", "m3", "'DelaySeconds':5");
    fixture_receive(&f, "q", 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 1 1");
}

Test(queue_attributes, limits_for_tests_move_the_ranges)
{
    f.options.limits.message_size = 2000;
    f.options.limits.retention_min_s = 1;
    fixture_restart(&f);
    fixture_create(&f, "n", "");
    cr_expect_str_eq(fixture_attribute(&f, "n", "MaximumMessageSize"), "2000");
    cr_expect_eq(set("n", "'MaximumMessageSize':'2001'"), QN_ERR_INVALID_ATTRIBUTE_VALUE);
    cr_expect_eq(set("n", "'MessageRetentionPeriod':'1'"), QN_ERR_NONE);
    fixture_send(&f, "n", "m");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "n"), "0 0 0");
}
