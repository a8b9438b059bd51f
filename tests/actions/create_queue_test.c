/* CreateQueue, DeleteQueue, GetQueueUrl: names, defaults, and a name that exists. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(create_queue, .init = start, .fini = stop);

static enum qn_error_code create(const char *name, const char *attributes)
{
    return fixture_code(&f, "CreateQueue", "'QueueName':'%s','Attributes':{%s}", name, attributes);
}

#define STANDARD_NAME_TEXT                                                                         \
    "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
#define FIFO_NAME_TEXT                                                                             \
    "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, " \
    "must end with .fifo suffix and be 1 to 80 in length."

static void expect_refused(enum qn_error_code code, enum qn_error_code expected, const char *text)
{
    cr_expect_eq(code, expected, "%s", f.err.message);
    cr_expect_str_eq(f.err.message, text);
}

Test(create_queue, ID_1_letters_digits_hyphen_and_underscore_up_to_80)
{
    cr_expect_eq(create("a", ""), QN_ERR_NONE);
    cr_expect_eq(create("AZaz09-_", ""), QN_ERR_NONE);
    cr_expect_eq(create(fixture_format(&f, "%080d", 1), ""), QN_ERR_NONE);
    expect_refused(create(fixture_format(&f, "%081d", 1), ""), QN_ERR_INVALID_PARAMETER_VALUE,
                   STANDARD_NAME_TEXT);
    expect_refused(create("", ""), QN_ERR_INVALID_PARAMETER_VALUE, STANDARD_NAME_TEXT);
    static const char *const bad[] = {"a.b", "a b", "a/b", "\xc3\xa4", "a\\u0000b", "a:b", "q."};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(create(bad[i], ""), QN_ERR_INVALID_PARAMETER_VALUE, "%s", bad[i]);
    }
}

Test(create_queue, ID_1_names_differ_by_case)
{
    fixture_create(&f, "q", "");
    fixture_create(&f, "Q", "");
    fixture_send(&f, "q", "m");
    cr_expect_str_eq(fixture_counts(&f, "Q"), "0 0 0");
}

Test(create_queue, ID_2_the_fifo_suffix_counts_toward_the_80)
{
    cr_expect_eq(create(fixture_format(&f, "%075d.fifo", 1), "'FifoQueue':'true'"), QN_ERR_NONE);
    expect_refused(create(fixture_format(&f, "%076d.fifo", 1), "'FifoQueue':'true'"),
                   QN_ERR_INVALID_PARAMETER_VALUE, FIFO_NAME_TEXT);
    expect_refused(create(".fifo", "'FifoQueue':'true'"), QN_ERR_INVALID_PARAMETER_VALUE,
                   FIFO_NAME_TEXT);
    expect_refused(create("a.b.fifo", "'FifoQueue':'true'"), QN_ERR_INVALID_PARAMETER_VALUE,
                   FIFO_NAME_TEXT);
}

Test(create_queue, CQ_1_fifo_needs_suffix_and_attribute)
{
    expect_refused(create("q", "'FifoQueue':'true'"), QN_ERR_INVALID_PARAMETER_VALUE,
                   FIFO_NAME_TEXT);
    expect_refused(create("q.fifo", ""), QN_ERR_INVALID_PARAMETER_VALUE, STANDARD_NAME_TEXT);
    expect_refused(create("q.fifo", "'FifoQueue':'false'"), QN_ERR_INVALID_PARAMETER_VALUE,
                   STANDARD_NAME_TEXT);
    cr_expect_eq(create("q.fifo", "'FifoQueue':'TRUE'"), QN_ERR_NONE);
    cr_expect_str_eq(fixture_attribute(&f, "q.fifo", "FifoQueue"), "true");
}

Test(create_queue, the_name_is_required)
{
    expect_refused(fixture_code(&f, "CreateQueue", "'Attributes':{}"), QN_ERR_MISSING_PARAMETER,
                   "The request must contain the parameter QueueName.");
}

Test(create_queue, ID_4_the_url_is_built_from_where_the_caller_reached_us)
{
    fixture_must(&f, "CreateQueue", "'QueueName':'q'");
    cr_expect_str_eq(fixture_get(&f, "QueueUrl"), "http://localhost:9324/000000000000/q");
    f.caller.url_base = QN_STR("http://sqs:80");
    fixture_must(&f, "GetQueueUrl", "'QueueName':'q'");
    cr_expect_str_eq(fixture_get(&f, "QueueUrl"), "http://sqs:80/000000000000/q");
}

Test(create_queue, a_new_queue_has_the_defaults)
{
    static const char *const defaults[][2] = {
        {"VisibilityTimeout", "30"},
        {"MaximumMessageSize", "1048576"},
        {"MessageRetentionPeriod", "345600"},
        {"DelaySeconds", "0"},
        {"ReceiveMessageWaitTimeSeconds", "0"},
        {"SqsManagedSseEnabled", "true"},
        {"CreatedTimestamp", "1700000000"},
        {"LastModifiedTimestamp", "1700000000"},
        {"QueueArn", "arn:aws:sqs:us-east-1:000000000000:q"},
        {"ApproximateNumberOfMessages", "0"},
        {"ApproximateNumberOfMessagesNotVisible", "0"},
        {"ApproximateNumberOfMessagesDelayed", "0"},
    };

    fixture_create(&f, "q", "");
    fixture_must(&f, "GetQueueAttributes", "'QueueUrl':'q','AttributeNames':['All']");
    cr_expect_eq(fixture_count(&f, "Attributes"), sizeof(defaults) / sizeof(defaults[0]));
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        cr_expect_str_eq(fixture_get(&f, fixture_format(&f, "Attributes.%s", defaults[i][0])),
                         defaults[i][1]);
    }
}

Test(create_queue, a_new_fifo_queue_has_four_more)
{
    static const char *const more[][2] = {
        {"FifoQueue", "true"},
        {"ContentBasedDeduplication", "false"},
        {"DeduplicationScope", "queue"},
        {"FifoThroughputLimit", "perQueue"},
    };

    fixture_create(&f, "q.fifo", "");
    fixture_must(&f, "GetQueueAttributes", "'QueueUrl':'q.fifo','AttributeNames':['All']");
    cr_expect_eq(fixture_count(&f, "Attributes"), 16);
    for (size_t i = 0; i < 4; i++) {
        cr_expect_str_eq(fixture_get(&f, fixture_format(&f, "Attributes.%s", more[i][0])),
                         more[i][1]);
    }
}

/* ---- a name that exists (CQ-2 to CQ-5) ---- */

static void expect_exists(enum qn_error_code code, const char *attribute)
{
    expect_refused(code, QN_ERR_QUEUE_NAME_EXISTS,
                   fixture_format(&f,
                                  "A queue already exists with the same name and a different value "
                                  "for attribute %s",
                                  attribute));
}

Test(create_queue, CQ_2_equal_attributes_give_the_existing_queue)
{
    fixture_create(&f, "q", "'VisibilityTimeout':'40','DelaySeconds':'1'");
    fixture_send(&f, "q", "m");
    cr_expect_eq(create("q", "'VisibilityTimeout':'40'"), QN_ERR_NONE);
    cr_expect_str_eq(fixture_get(&f, "QueueUrl"), "http://localhost:9324/000000000000/q");
    cr_expect_eq(create("q", ""), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 1");
    cr_expect_str_eq(fixture_attribute(&f, "q", "VisibilityTimeout"), "40");
}

Test(create_queue, CQ_2_another_value_is_refused_by_name)
{
    fixture_create(&f, "q", "'VisibilityTimeout':'40'");
    expect_exists(create("q", "'VisibilityTimeout':'41'"), "VisibilityTimeout");
    expect_exists(create("q", "'VisibilityTimeout':'40','DelaySeconds':'5'"), "DelaySeconds");
}

Test(create_queue, CQ_2_the_values_of_now_are_compared)
{
    fixture_create(&f, "q", "'VisibilityTimeout':'40'");
    fixture_set(&f, "q", "'VisibilityTimeout':'50'");
    expect_exists(create("q", "'VisibilityTimeout':'40'"), "VisibilityTimeout");
    cr_expect_eq(create("q", "'VisibilityTimeout':'50'"), QN_ERR_NONE);
}

Test(create_queue, CQ_2_an_attribute_that_is_not_set_counts_as_its_default)
{
    fixture_create(&f, "q", "");
    cr_expect_eq(create("q", "'VisibilityTimeout':'30','SqsManagedSseEnabled':'TRUE',"
                             "'RedrivePolicy':'','Policy':'','KmsMasterKeyId':'',"
                             "'RedriveAllowPolicy':'{\\'redrivePermission\\':\\'allowAll\\'}'"),
                 QN_ERR_NONE);
    expect_exists(create("q", "'KmsMasterKeyId':'alias/k'"), "KmsMasterKeyId");
}

Test(create_queue, CQ_2_numbers_are_compared_as_numbers)
{
    fixture_create(&f, "q", "'VisibilityTimeout':'7'");
    cr_expect_eq(create("q", "'VisibilityTimeout':'007'"), QN_ERR_NONE);
}

Test(create_queue, CQ_2_json_is_compared_as_json)
{
    fixture_create(&f, "dead", "");
    const char *arn = fixture_arn(&f, "dead");
    fixture_create(&f, "q",
                   fixture_format(&f,
                                  "'RedrivePolicy':'{\\'deadLetterTargetArn\\':\\'%s\\',"
                                  "\\'maxReceiveCount\\':3}','RedriveAllowPolicy':'{"
                                  "\\'redrivePermission\\':\\'byQueue\\',\\'sourceQueueArns\\':"
                                  "[\\'arn:aws:sqs:us-east-1:1:x\\']}'",
                                  arn));
    cr_expect_eq(
        create("q", fixture_format(&f,
                                   "'RedrivePolicy':'{ \\'maxReceiveCount\\' : \\'3\\', "
                                   "\\'deadLetterTargetArn\\' : \\'%s\\' }','RedriveAllowPolicy':'{"
                                   "\\'sourceQueueArns\\' : [ \\'arn:aws:sqs:us-east-1:1:x\\' ],"
                                   "\\'redrivePermission\\':\\'byQueue\\'}'",
                                   arn)),
        QN_ERR_NONE);
    expect_exists(create("q", fixture_format(&f,
                                             "'RedrivePolicy':'{\\'deadLetterTargetArn\\':\\'%s\\',"
                                             "\\'maxReceiveCount\\':4}'",
                                             arn)),
                  "RedrivePolicy");
    expect_exists(create("q", "'RedriveAllowPolicy':'{\\'redrivePermission\\':\\'denyAll\\'}'"),
                  "RedriveAllowPolicy");
    expect_exists(create("q", "'RedriveAllowPolicy':''"), "RedriveAllowPolicy");
}

Test(create_queue, CQ_2_a_wrong_attribute_is_an_error_of_its_own_also_for_an_existing_name)
{
    fixture_create(&f, "q", "");
    cr_expect_eq(create("q", "'Odd':'1'"), QN_ERR_INVALID_ATTRIBUTE_NAME);
    cr_expect_eq(create("q", "'VisibilityTimeout':'x'"), QN_ERR_INVALID_ATTRIBUTE_VALUE);
}

Test(create_queue, CQ_3_tags_take_no_part_and_are_not_applied_to_an_existing_queue)
{
    fixture_must(&f, "CreateQueue", "'QueueName':'q','tags':{'a':'1'}");
    fixture_must(&f, "CreateQueue", "'QueueName':'q','tags':{'a':'2','b':'3'}");
    fixture_must(&f, "ListQueueTags", "'QueueUrl':'q'");
    cr_expect_eq(fixture_count(&f, "Tags"), 1);
    cr_expect_str_eq(fixture_get(&f, "Tags.a"), "1");
}

Test(create_queue, CQ_3_tags_are_checked)
{
    cr_expect_eq(fixture_code(&f, "CreateQueue", "'QueueName':'q','tags':{'aws:x':'1'}"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(fixture_code(&f, "GetQueueUrl", "'QueueName':'q'"), QN_ERR_QUEUE_DOES_NOT_EXIST);
}

Test(create_queue, CQ_4_a_name_can_be_used_again_at_once_by_default)
{
    fixture_create(&f, "q", "");
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'q'");
    cr_expect_eq(create("q", "'DelaySeconds':'3'"), QN_ERR_NONE);
}

Test(create_queue, CQ_4_with_the_waits_of_aws_a_name_rests_for_a_minute)
{
    f.options.aws_waits = true;
    fixture_restart(&f);
    fixture_create(&f, "q", "");
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'q'");
    fixture_advance_ms(&f, 59999);
    expect_refused(create("q", ""), QN_ERR_QUEUE_DELETED_RECENTLY,
                   "You must wait 60 seconds after deleting a queue before you can create another "
                   "with the same name.");
    cr_expect_eq(create("other", ""), QN_ERR_NONE);
    fixture_advance_ms(&f, 1);
    cr_expect_eq(create("q", ""), QN_ERR_NONE);
}

Test(create_queue, CQ_4_a_name_deleted_again_rests_again)
{
    f.options.aws_waits = true;
    fixture_restart(&f);
    for (int i = 0; i < 3; i++) {
        fixture_create(&f, "q", "");
        fixture_must(&f, "DeleteQueue", "'QueueUrl':'q'");
        cr_expect_eq(create("q", ""), QN_ERR_QUEUE_DELETED_RECENTLY);
        fixture_advance_s(&f, 60);
    }
}

Test(create_queue, CQ_5_a_queue_is_usable_at_once)
{
    fixture_create(&f, "q", "");
    fixture_send(&f, "q", "m");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
}

/* ---- DeleteQueue and GetQueueUrl ---- */

Test(create_queue, deleting_an_unknown_queue_is_an_error)
{
    expect_refused(fixture_code(&f, "DeleteQueue", "'QueueUrl':'q'"), QN_ERR_QUEUE_DOES_NOT_EXIST,
                   "The specified queue does not exist.");
    cr_expect_eq(fixture_code(&f, "DeleteQueue", "'QueueUrl':''"), QN_ERR_MISSING_PARAMETER);
}

Test(create_queue, a_queue_that_is_made_again_has_nothing_of_the_old_one)
{
    fixture_create(&f, "q", "'DelaySeconds':'3'");
    fixture_must(&f, "TagQueue", "'QueueUrl':'q','Tags':{'a':'1'}");
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'q'");
    fixture_advance_s(&f, 5);
    fixture_create(&f, "q", "");
    cr_expect_str_eq(fixture_attribute(&f, "q", "DelaySeconds"), "0");
    cr_expect_str_eq(fixture_attribute(&f, "q", "CreatedTimestamp"), "1700000005");
    fixture_must(&f, "ListQueueTags", "'QueueUrl':'q'");
    cr_expect_eq(fixture_count(&f, "Tags"), 0);
}

Test(create_queue, the_url_of_a_name_that_is_unknown_illegal_or_missing)
{
    expect_refused(fixture_code(&f, "GetQueueUrl", "'QueueName':'q'"), QN_ERR_QUEUE_DOES_NOT_EXIST,
                   "The specified queue does not exist.");
    cr_expect_eq(fixture_code(&f, "GetQueueUrl", "'QueueName':'a b/c'"),
                 QN_ERR_QUEUE_DOES_NOT_EXIST);
    expect_refused(fixture_code(&f, "GetQueueUrl", "%s", ""), QN_ERR_MISSING_PARAMETER,
                   "The request must contain the parameter QueueName.");
}

Test(create_queue, the_url_of_another_account_s_queue)
{
    fixture_create(&f, "q", "");
    fixture_must(&f, "GetQueueUrl", "'QueueName':'q','QueueOwnerAWSAccountId':'000000000000'");
    cr_expect_eq(
        fixture_code(&f, "GetQueueUrl", "'QueueName':'q','QueueOwnerAWSAccountId':'123456789012'"),
        QN_ERR_QUEUE_DOES_NOT_EXIST);
    cr_expect_eq(fixture_code(&f, "GetQueueUrl", "'QueueName':'q','QueueOwnerAWSAccountId':'x'"),
                 QN_ERR_QUEUE_DOES_NOT_EXIST);
}
