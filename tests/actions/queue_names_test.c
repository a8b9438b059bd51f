/* Which queue a request means: URLs, accounts, regions, and queues that come into being. */
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

TestSuite(queue_names, .init = start, .fini = stop);

static enum qn_error_code touch(const char *url)
{
    return fixture_code(&f, "GetQueueAttributes", "'QueueUrl':'%s'", url);
}

Test(queue_names, ID_5_any_host_and_any_form_of_url)
{
    static const char *const urls[] = {
        "q",
        "http://localhost:9324/000000000000/q",
        "https://sqs.us-east-1.amazonaws.com/000000000000/q",
        "http://anything/000000000000/q",
        "/000000000000/q",
        "http://localhost:4566/queue/us-east-1/000000000000/q",
        "http://localhost:9324/queue/q",
    };

    fixture_create(&f, "q", "");
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        cr_expect_eq(touch(urls[i]), QN_ERR_NONE, "%s: %s", urls[i], f.err.message);
    }
}

Test(queue_names, ID_5_where_the_path_s_account_has_no_such_queue_the_caller_s_is_tried)
{
    fixture_create(&f, "q", "");
    cr_expect_eq(touch("http://localhost/123456789012/q"), QN_ERR_NONE);
    f.caller.account = QN_STR("123456789012");
    fixture_create(&f, "q", "'DelaySeconds':'1'");
    f.caller.account = QN_STR("000000000000");
    cr_expect_str_eq(fixture_attribute(&f, "http://localhost/123456789012/q", "DelaySeconds"), "1");
    cr_expect_str_eq(fixture_attribute(&f, "q", "DelaySeconds"), "0");
}

Test(queue_names, ID_5_what_is_no_url_is_an_invalid_address)
{
    cr_expect_eq(touch("http://localhost/"), QN_ERR_INVALID_ADDRESS);
    cr_expect_str_eq(f.err.message,
                     "The address http://localhost/ is not valid for this endpoint.");
    cr_expect_eq(touch("http://localhost/000000000000/unknown"), QN_ERR_QUEUE_DOES_NOT_EXIST);
    cr_expect_eq(touch("unknown"), QN_ERR_QUEUE_DOES_NOT_EXIST);
    cr_expect_eq(touch(""), QN_ERR_MISSING_PARAMETER);
}

Test(queue_names, ID_6_arns_name_partition_region_and_account)
{
    static const char *const regions[][2] = {
        {"us-east-1", "aws"}, {"cn-north-1", "aws-cn"}, {"us-gov-west-1", "aws-us-gov"}};

    for (size_t i = 0; i < 3; i++) {
        f.caller.region = qn_str_from_cstr(regions[i][0]);
        fixture_create(&f, "q", "");
        cr_expect_str_eq(
            fixture_attribute(&f, "q", "QueueArn"),
            fixture_format(&f, "arn:%s:sqs:%s:000000000000:q", regions[i][1], regions[i][0]));
    }
}

Test(queue_names, ID_8_each_region_has_its_own_queues)
{
    fixture_create(&f, "q", "");
    fixture_send(&f, "q", "m");
    f.caller.region = QN_STR("eu-west-1");
    cr_expect_eq(touch("q"), QN_ERR_QUEUE_DOES_NOT_EXIST);
    fixture_create(&f, "q", "");
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
    fixture_must(&f, "ListQueues", "%s", "");
    cr_expect_eq(fixture_count(&f, "QueueUrls"), 1);
}

Test(queue_names, ID_8_with_one_region_all_share_one_set_of_queues)
{
    f.options.one_region = true;
    fixture_restart(&f);
    fixture_create(&f, "q", "");
    f.caller.region = QN_STR("eu-west-1");
    cr_expect_eq(touch("q"), QN_ERR_NONE);
    cr_expect_str_eq(fixture_attribute(&f, "q", "QueueArn"), fixture_arn(&f, "q"));
    fixture_must(&f, "ListQueues", "%s", "");
    cr_expect_eq(fixture_count(&f, "QueueUrls"), 1);
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 3);
    fixture_must(&f, "ListDeadLetterSourceQueues", "'QueueUrl':'dead'");
    cr_expect_eq(fixture_count(&f, "queueUrls"), 1);
}

Test(queue_names, accounts_have_their_own_queues)
{
    fixture_create(&f, "q", "");
    f.caller.account = QN_STR("123456789012");
    cr_expect_eq(touch("q"), QN_ERR_QUEUE_DOES_NOT_EXIST);
    cr_expect_eq(touch("http://localhost/000000000000/q"), QN_ERR_NONE);
    fixture_must(&f, "ListQueues", "%s", "");
    cr_expect_eq(fixture_count(&f, "QueueUrls"), 0);
}

Test(queue_names, with_auto_create_an_unknown_queue_comes_into_being)
{
    f.options.auto_create = true;
    fixture_restart(&f);
    cr_expect_eq(touch("q"), QN_ERR_NONE);
    fixture_must(&f, "SendMessage",
                 "'QueueUrl':'http://localhost/000000000000/x.fifo','MessageBody':'m',"
                 "'MessageGroupId':'g','MessageDeduplicationId':'d'");
    cr_expect_str_eq(fixture_attribute(&f, "x.fifo", "FifoQueue"), "true");
    fixture_must(&f, "GetQueueUrl", "'QueueName':'y'");
    cr_expect_str_eq(fixture_get(&f, "QueueUrl"), "http://localhost:9324/000000000000/y");
    cr_expect_eq(touch("http://localhost/000000000000/bad.name"), QN_ERR_QUEUE_DOES_NOT_EXIST);
    fixture_restart(&f);
    fixture_must(&f, "ListQueues", "%s", "");
    cr_expect_eq(fixture_count(&f, "QueueUrls"), 3);
}

Test(queue_names, every_action_is_found_by_its_name)
{
    cr_expect_eq(QN_ACTION_COUNT, 23);
    for (size_t i = 0; i < QN_ACTION_COUNT; i++) {
        const struct qn_action *action = qn_action_at(i);
        cr_expect_eq(qn_action_find(qn_str_from_cstr(action->name)), action);
        cr_expect_eq((action->flags & QN_ACTION_LOOKS) != 0, action->look != NULL);
        cr_expect_eq((size_t)action->id, i);
    }
    cr_expect_null(qn_action_find(QN_STR("sendMessage")));
    cr_expect_null(qn_action_find(QN_STR("SendMessag")));
    cr_expect_null(qn_action_find(QN_STR("")));
    cr_expect_null(qn_action_find(QN_STR_NONE));
}

Test(queue_names, every_action_on_a_queue_wants_one_that_exists)
{
    static const char *const requests[][2] = {
        {"DeleteQueue", ""},
        {"PurgeQueue", ""},
        {"ReceiveMessage", ""},
        {"GetQueueAttributes", ""},
        {"ListQueueTags", ""},
        {"ListDeadLetterSourceQueues", ""},
        {"SetQueueAttributes", ",'Attributes':{'DelaySeconds':'1'}"},
        {"SendMessage", ",'MessageBody':'m'"},
        {"SendMessageBatch", ",'Entries':[{'Id':'1','MessageBody':'m'}]"},
        {"DeleteMessage", ",'ReceiptHandle':'h'"},
        {"DeleteMessageBatch", ",'Entries':[{'Id':'1','ReceiptHandle':'h'}]"},
        {"ChangeMessageVisibility", ",'ReceiptHandle':'h','VisibilityTimeout':1"},
        {"ChangeMessageVisibilityBatch", ",'Entries':[{'Id':'1','ReceiptHandle':'h'}]"},
        {"TagQueue", ",'Tags':{'a':'1'}"},
        {"UntagQueue", ",'TagKeys':['a']"},
        {"AddPermission", ",'Label':'l','AWSAccountIds':['123456789012'],'Actions':['*']"},
        {"RemovePermission", ",'Label':'l'"},
    };

    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        cr_expect_eq(fixture_code(&f, requests[i][0], "'QueueUrl':'unknown'%s", requests[i][1]),
                     QN_ERR_QUEUE_DOES_NOT_EXIST, "%s: %s", requests[i][0], f.err.message);
        cr_expect_eq(fixture_code(&f, requests[i][0], "'QueueUrl':''%s", requests[i][1]),
                     QN_ERR_MISSING_PARAMETER, "%s: %s", requests[i][0], f.err.message);
    }
}
