/* AddPermission and RemovePermission: the policy document that they keep. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_create(&f, "q", "");
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(permissions, .init = start, .fini = stop);

static enum qn_error_code add(const char *label, const char *accounts, const char *actions)
{
    return fixture_code(&f, "AddPermission",
                        "'QueueUrl':'q','Label':'%s','AWSAccountIds':[%s],'Actions':[%s]", label,
                        accounts, actions);
}

static enum qn_error_code remove_label(const char *label)
{
    return fixture_code(&f, "RemovePermission", "'QueueUrl':'q','Label':'%s'", label);
}

static void expect_refused(enum qn_error_code code, enum qn_error_code expected, const char *text)
{
    cr_expect_eq(code, expected, "%s", f.err.message);
    cr_expect_str_eq(f.err.message, text);
}

Test(permissions, one_account_and_one_action_make_a_statement_of_texts)
{
    cr_expect_eq(add("l", "'123456789012'", "'SendMessage'"), QN_ERR_NONE);
    cr_expect_str_eq(
        fixture_attribute(&f, "q", "Policy"),
        "{\"Version\":\"2008-10-17\",\"Id\":\"arn:aws:sqs:us-east-1:000000000000:q/"
        "SQSDefaultPolicy\",\"Statement\":[{\"Sid\":\"l\",\"Effect\":\"Allow\",\"Principal\":{"
        "\"AWS\":\"arn:aws:iam::123456789012:root\"},\"Action\":\"SQS:SendMessage\","
        "\"Resource\":\"arn:aws:sqs:us-east-1:000000000000:q\"}]}");
}

Test(permissions, several_accounts_and_actions_make_lists)
{
    cr_expect_eq(add("l", "'123456789012','210987654321'", "'SendMessage','ReceiveMessage'"),
                 QN_ERR_NONE);
    const char *policy = fixture_attribute(&f, "q", "Policy");
    cr_expect_not_null(strstr(policy, "\"AWS\":[\"arn:aws:iam::123456789012:root\","
                                      "\"arn:aws:iam::210987654321:root\"]"));
    cr_expect_not_null(strstr(policy, "\"Action\":[\"SQS:SendMessage\",\"SQS:ReceiveMessage\"]"));
}

Test(permissions, each_call_adds_a_statement)
{
    add("a", "'123456789012'", "'*'");
    add("b", "'123456789012'", "'PurgeQueue'");
    const char *policy = fixture_attribute(&f, "q", "Policy");
    cr_expect_lt(strstr(policy, "\"Sid\":\"a\""), strstr(policy, "\"Sid\":\"b\""));
    cr_expect_eq(remove_label("a"), QN_ERR_NONE);
    policy = fixture_attribute(&f, "q", "Policy");
    cr_expect_null(strstr(policy, "\"Sid\":\"a\""));
    cr_expect_not_null(strstr(policy, "\"Sid\":\"b\""));
}

Test(permissions, with_the_last_statement_the_policy_goes)
{
    add("a", "'123456789012'", "'*'");
    cr_expect_eq(remove_label("a"), QN_ERR_NONE);
    cr_expect_null(fixture_attribute(&f, "q", "Policy"));
}

Test(permissions, a_policy_of_the_user_s_own_is_kept)
{
    fixture_set(&f, "q",
                "'Policy':'{\\'Version\\':\\'2012-10-17\\',\\'Id\\':\\'mine\\',\\'Statement\\':{"
                "\\'Sid\\':\\'own\\',\\'Effect\\':\\'Deny\\',\\'Principal\\':\\'*\\',\\'Action\\':"
                "\\'SQS:*\\'}}'");
    cr_expect_eq(add("l", "'123456789012'", "'*'"), QN_ERR_NONE);
    const char *policy = fixture_attribute(&f, "q", "Policy");
    cr_expect_not_null(strstr(policy, "\"Id\":\"mine\""));
    cr_expect_not_null(strstr(policy, "\"Sid\":\"own\""));
    cr_expect_eq(remove_label("own"), QN_ERR_NONE);
    cr_expect_eq(remove_label("l"), QN_ERR_NONE);
    cr_expect_null(fixture_attribute(&f, "q", "Policy"));
}

Test(permissions, a_label_is_used_once)
{
    add("l", "'123456789012'", "'*'");
    expect_refused(add("l", "'210987654321'", "'SendMessage'"), QN_ERR_INVALID_PARAMETER_VALUE,
                   "Value l for parameter Label is invalid. Reason: Already exists.");
    cr_expect_eq(add("L", "'210987654321'", "'SendMessage'"), QN_ERR_NONE);
}

Test(permissions, ID_13_labels_are_1_to_80_letters_digits_hyphens_and_underscores)
{
    cr_expect_eq(add(fixture_format(&f, "%080d", 1), "'123456789012'", "'*'"), QN_ERR_NONE);
    cr_expect_eq(add(fixture_format(&f, "%081d", 1), "'123456789012'", "'*'"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(add("a b", "'123456789012'", "'*'"), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(add("", "'123456789012'", "'*'"), QN_ERR_MISSING_PARAMETER);
}

Test(permissions, accounts_have_twelve_digits)
{
    static const char *const bad[] = {
        "12345678901", "1234567890123", "12345678901x", "*", "arn:aws:iam::123456789012:root",
        "-12345678901"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_refused(add("l", fixture_format(&f, "'123456789012','%s'", bad[i]), "'*'"),
                       QN_ERR_INVALID_PARAMETER_VALUE,
                       fixture_format(&f,
                                      "Value [%s] for parameter PrincipalId is invalid. Reason: "
                                      "Unable to verify principal.",
                                      bad[i]));
    }
    cr_expect_eq(add("l", "", "'*'"), QN_ERR_MISSING_PARAMETER);
}

Test(permissions, actions_that_may_be_granted)
{
    static const char *const good[] = {"*",
                                       "SendMessage",
                                       "ReceiveMessage",
                                       "DeleteMessage",
                                       "ChangeMessageVisibility",
                                       "GetQueueAttributes",
                                       "GetQueueUrl",
                                       "ListDeadLetterSourceQueues",
                                       "PurgeQueue"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_expect_eq(add(fixture_format(&f, "l%zu", i), "'123456789012'",
                         fixture_format(&f, "'%s'", good[i])),
                     QN_ERR_NONE);
    }
}

Test(permissions, actions_of_the_owner_are_refused)
{
    static const char *const bad[] = {
        "AddPermission", "CreateQueue",          "DeleteQueue",          "ListQueues",
        "ListQueueTags", "RemovePermission",     "SetQueueAttributes",   "TagQueue",
        "UntagQueue",    "StartMessageMoveTask", "ListMessageMoveTasks", "CancelMessageMoveTask"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_refused(add("l", "'123456789012'", fixture_format(&f, "'%s'", bad[i])),
                       QN_ERR_INVALID_PARAMETER_VALUE,
                       fixture_format(&f,
                                      "Value SQS:%s for parameter ActionName is invalid. Reason: "
                                      "Only the queue owner is allowed to invoke this action.",
                                      bad[i]));
    }
}

Test(permissions, unknown_actions_and_batches_are_refused)
{
    static const char *const bad[] = {"SendMessageBatch", "DeleteMessageBatch", "Odd",
                                      "sendMessage",      "SQS:SendMessage",    ""};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_refused(add("l", "'123456789012'", fixture_format(&f, "'%s'", bad[i])),
                       QN_ERR_INVALID_PARAMETER_VALUE,
                       fixture_format(&f,
                                      "Value SQS:%s for parameter ActionName is invalid. Reason: "
                                      "Please refer to the appropriate WSDL for a list of valid "
                                      "actions.",
                                      bad[i]));
    }
    cr_expect_eq(add("l", "'123456789012'", ""), QN_ERR_MISSING_PARAMETER);
}

Test(permissions, seven_actions_and_no_more)
{
    cr_expect_eq(add("l", "'123456789012'",
                     "'SendMessage','ReceiveMessage','DeleteMessage','ChangeMessageVisibility',"
                     "'GetQueueAttributes','GetQueueUrl','PurgeQueue'"),
                 QN_ERR_NONE);
    expect_refused(add("m", "'123456789012'",
                       "'SendMessage','ReceiveMessage','DeleteMessage','ChangeMessageVisibility',"
                       "'GetQueueAttributes','GetQueueUrl','PurgeQueue','*'"),
                   QN_ERR_OVER_LIMIT, "8 Actions were found, maximum allowed is 7.");
}

Test(permissions, twenty_statements_and_no_more)
{
    for (int i = 0; i < 20; i++) {
        cr_expect_eq(add(fixture_format(&f, "l%d", i), "'123456789012'", "'*'"), QN_ERR_NONE);
    }
    cr_expect_eq(add("l20", "'123456789012'", "'*'"), QN_ERR_OVER_LIMIT);
}

Test(permissions, fifty_principals_and_no_more)
{
    struct qn_buf accounts;

    qn_buf_init(&accounts, SIZE_MAX);
    for (int i = 0; i < 50; i++) {
        qn_buf_append_format(&accounts, "%s'%012d'", i > 0 ? "," : "", i);
    }
    cr_expect_eq(add("l", fixture_format(&f, "%.*s", QN_STR_ARG(qn_buf_str(&accounts))), "'*'"),
                 QN_ERR_NONE);
    cr_expect_eq(add("m", "'123456789012'", "'*'"), QN_ERR_OVER_LIMIT);
    qn_buf_done(&accounts);
}

Test(permissions, removing_an_unknown_label_is_refused)
{
    const char *text = "Value l for parameter Label is invalid. Reason: can't find label.";

    expect_refused(remove_label("l"), QN_ERR_INVALID_PARAMETER_VALUE, text);
    add("L", "'123456789012'", "'*'");
    expect_refused(remove_label("l"), QN_ERR_INVALID_PARAMETER_VALUE, text);
    cr_expect_eq(remove_label(""), QN_ERR_MISSING_PARAMETER);
}
