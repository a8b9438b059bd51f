/* RedrivePolicy and RedriveAllowPolicy as attributes: what is refused, and in which words. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_create(&f, "q", "");
    fixture_create(&f, "dead", "");
    fixture_create(&f, "q.fifo", "");
    fixture_create(&f, "dead.fifo", "");
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(redrive_policy, .init = start, .fini = stop);

/* The policy's text, with its own quotes as '. */
static enum qn_error_code set_text(const char *queue, const char *attribute, const char *policy)
{
    struct qn_buf escaped;

    qn_buf_init(&escaped, SIZE_MAX);
    for (const char *at = policy; *at != '\0'; at++) {
        if (*at == '\'') {
            qn_buf_append_char(&escaped, '\\');
        }
        qn_buf_append_char(&escaped, *at);
    }
    enum qn_error_code code =
        fixture_code(&f, "SetQueueAttributes", "'QueueUrl':'%s','Attributes':{'%s':'%.*s'}", queue,
                     attribute, QN_STR_ARG(qn_buf_str(&escaped)));
    qn_buf_done(&escaped);
    return code;
}

static enum qn_error_code redrive(const char *queue, const char *target, const char *count)
{
    return set_text(
        queue, "RedrivePolicy",
        fixture_format(&f, "{'deadLetterTargetArn':'%s','maxReceiveCount':%s}", target, count));
}

static void expect_reason(enum qn_error_code code, const char *parameter, const char *reason)
{
    cr_expect_eq(code, QN_ERR_INVALID_PARAMETER_VALUE, "%s", f.err.message);
    const char *found = strstr(f.err.message, ". Reason: ");
    cr_assert_not_null(found, "%s", f.err.message);
    cr_expect_str_eq(found + strlen(". Reason: "), reason);
    cr_expect_not_null(
        strstr(f.err.message, fixture_format(&f, " for parameter %s is invalid", parameter)));
}

Test(redrive_policy, RP_1_the_count_is_1_to_1000_as_number_or_text_and_comes_back_as_number)
{
    static const char *const good[][2] = {{"1", "1"}, {"1000", "1000"}, {"'7'", "7"}};
    static const char *const bad[][2] = {{"0", "0"},       {"1001", "1001"}, {"-1", "-1"},
                                         {"'0'", "0"},     {"'x'", "x"},     {"''", ""},
                                         {"null", "null"}, {"1.5", "null"},  {"[]", "null"}};

    for (size_t i = 0; i < 3; i++) {
        cr_expect_eq(redrive("q", fixture_arn(&f, "dead"), good[i][0]), QN_ERR_NONE);
        cr_expect_str_eq(fixture_attribute(&f, "q", "RedrivePolicy"),
                         fixture_format(&f,
                                        "{\"deadLetterTargetArn\":\"%s\",\"maxReceiveCount\":%s}",
                                        fixture_arn(&f, "dead"), good[i][1]));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_reason(redrive("q", fixture_arn(&f, "dead"), bad[i][0]), "RedrivePolicy",
                      fixture_format(&f,
                                     "Invalid value for maxReceiveCount: %s, valid values are from "
                                     "1 to 1000 both inclusive.",
                                     bad[i][1]));
    }
}

Test(redrive_policy, RP_1_both_members_are_demanded)
{
    expect_reason(set_text("q", "RedrivePolicy", "{'maxReceiveCount':1}"), "RedrivePolicy",
                  "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.");
    expect_reason(
        set_text("q", "RedrivePolicy",
                 fixture_format(&f, "{'deadLetterTargetArn':'%s'}", fixture_arn(&f, "dead"))),
        "RedrivePolicy", "Redrive policy does not contain mandatory attribute: maxReceiveCount.");
}

Test(redrive_policy, what_is_no_json_map_is_refused)
{
    static const char *const bad[] = {"x", "[]", "1", "{", "{}x"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_reason(set_text("q", "RedrivePolicy", bad[i]), "RedrivePolicy",
                      "Redrive policy is not a valid JSON map.");
    }
}

Test(redrive_policy, RP_2_the_target_must_exist_in_the_same_account_and_region)
{
    const char *reason = "Dead letter target does not exist.";

    expect_reason(redrive("q", fixture_arn(&f, "unknown"), "1"), "RedrivePolicy", reason);
    expect_reason(redrive("q", "not an arn", "1"), "RedrivePolicy", reason);
    expect_reason(redrive("q", "arn:aws:sns:us-east-1:000000000000:dead", "1"), "RedrivePolicy",
                  reason);
    expect_reason(redrive("q", "arn:aws:sqs:eu-west-1:000000000000:dead", "1"), "RedrivePolicy",
                  reason);
    f.caller.region = QN_STR("eu-west-1");
    fixture_create(&f, "dead", "");
    f.caller.region = QN_STR("us-east-1");
    expect_reason(redrive("q", "arn:aws:sqs:eu-west-1:000000000000:dead", "1"), "RedrivePolicy",
                  reason);
    f.caller.account = QN_STR("123456789012");
    fixture_create(&f, "far", "");
    f.caller.account = QN_STR("000000000000");
    expect_reason(redrive("q", "arn:aws:sqs:us-east-1:123456789012:far", "1"), "RedrivePolicy",
                  reason);
}

Test(redrive_policy, RP_2_the_target_must_be_of_the_same_type)
{
    const char *reason = "Dead-letter queue must be same type of queue as the source.";

    expect_reason(redrive("q", fixture_arn(&f, "dead.fifo"), "1"), "RedrivePolicy", reason);
    expect_reason(redrive("q.fifo", fixture_arn(&f, "dead"), "1"), "RedrivePolicy", reason);
    cr_expect_eq(redrive("q.fifo", fixture_arn(&f, "dead.fifo"), "1"), QN_ERR_NONE);
}

Test(redrive_policy, RP_4_unknown_members_are_refused)
{
    cr_expect_eq(
        set_text("q", "RedrivePolicy",
                 fixture_format(&f, "{'deadLetterTargetArn':'%s','maxReceiveCount':1,'odd':1}",
                                fixture_arn(&f, "dead"))),
        QN_ERR_INVALID_PARAMETER_VALUE);
}

Test(redrive_policy, RP_5_a_queue_cannot_be_its_own_dead_letter_queue)
{
    cr_expect_eq(redrive("q", fixture_arn(&f, "q"), "1"), QN_ERR_INVALID_PARAMETER_VALUE);
}

Test(redrive_policy, RP_6_deleting_the_target_leaves_the_policy)
{
    fixture_redrive(&f, "q", "dead", 1);
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'dead'");
    cr_expect_not_null(fixture_attribute(&f, "q", "RedrivePolicy"));
}

Test(redrive_policy, RP_7_the_empty_text_removes_it_also_when_none_is_set)
{
    cr_expect_eq(set_text("q", "RedrivePolicy", ""), QN_ERR_NONE);
    fixture_redrive(&f, "q", "dead", 1);
    cr_expect_eq(set_text("q", "RedrivePolicy", ""), QN_ERR_NONE);
    cr_expect_null(fixture_attribute(&f, "q", "RedrivePolicy"));
}

Test(redrive_policy, a_policy_in_create_queue_is_checked_like_any)
{
    cr_expect_eq(fixture_code(&f, "CreateQueue",
                              "'QueueName':'n','Attributes':{'RedrivePolicy':'{\\'"
                              "deadLetterTargetArn\\':\\'%s\\',\\'maxReceiveCount\\':3}'}",
                              fixture_arn(&f, "dead")),
                 QN_ERR_NONE);
    cr_expect_eq(fixture_code(&f, "CreateQueue",
                              "'QueueName':'o','Attributes':{'RedrivePolicy':'{\\'"
                              "deadLetterTargetArn\\':\\'%s\\',\\'maxReceiveCount\\':3}'}",
                              fixture_arn(&f, "o")),
                 QN_ERR_INVALID_PARAMETER_VALUE);
}

/* ---- RedriveAllowPolicy (6.4) ---- */

static enum qn_error_code allow(const char *policy)
{
    return set_text("dead", "RedriveAllowPolicy", policy);
}

Test(redrive_policy, RP_3_deny_all_permits_no_source)
{
    cr_expect_eq(allow("{'redrivePermission':'denyAll'}"), QN_ERR_NONE);
    cr_expect_eq(redrive("q", fixture_arn(&f, "dead"), "1"), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(allow("{'redrivePermission':'allowAll'}"), QN_ERR_NONE);
    cr_expect_eq(redrive("q", fixture_arn(&f, "dead"), "1"), QN_ERR_NONE);
}

Test(redrive_policy, RP_3_by_queue_permits_the_listed_ones)
{
    cr_expect_eq(
        allow(fixture_format(&f, "{'redrivePermission':'byQueue','sourceQueueArns':['%s','%s']}",
                             fixture_arn(&f, "other"), fixture_arn(&f, "q"))),
        QN_ERR_NONE);
    cr_expect_eq(redrive("q", fixture_arn(&f, "dead"), "1"), QN_ERR_NONE);
    fixture_create(&f, "stranger", "");
    cr_expect_eq(redrive("stranger", fixture_arn(&f, "dead"), "1"), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(fixture_code(&f, "CreateQueue",
                              "'QueueName':'other','Attributes':{'RedrivePolicy':'{\\'"
                              "deadLetterTargetArn\\':\\'%s\\',\\'maxReceiveCount\\':3}'}",
                              fixture_arn(&f, "dead")),
                 QN_ERR_NONE);
}

Test(redrive_policy, RP_3_with_one_region_a_source_may_be_named_by_any)
{
    f.options.one_region = true;
    fixture_restart(&f);
    fixture_create(&f, "source", "");
    fixture_create(&f, "sourc", "");
    fixture_create(&f, "far", "");
    fixture_must(&f, "SetQueueAttributes",
                 "'QueueUrl':'far','Attributes':{'RedriveAllowPolicy':'{\\'redrivePermission\\':"
                 "\\'byQueue\\',\\'sourceQueueArns\\':[\\'arn:aws-cn:sqs:cn-north-1:000000000000:"
                 "source\\']}'}");
    cr_expect_eq(redrive("source", fixture_arn(&f, "far"), "1"), QN_ERR_NONE);
    cr_expect_eq(redrive("sourc", fixture_arn(&f, "far"), "1"), QN_ERR_INVALID_PARAMETER_VALUE);
}

Test(redrive_policy, a_policy_set_later_leaves_links_that_exist)
{
    fixture_redrive(&f, "q", "dead", 1);
    cr_expect_eq(allow("{'redrivePermission':'denyAll'}"), QN_ERR_NONE);
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_receive(&f, "q", 1);
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
}

Test(redrive_policy, an_allow_policy_comes_back_and_the_empty_text_removes_it)
{
    allow("{'redrivePermission':'denyAll'}");
    cr_expect_str_eq(fixture_attribute(&f, "dead", "RedriveAllowPolicy"),
                     "{\"redrivePermission\":\"denyAll\"}");
    cr_expect_eq(allow(""), QN_ERR_NONE);
    cr_expect_null(fixture_attribute(&f, "dead", "RedriveAllowPolicy"));
    cr_expect_eq(redrive("q", fixture_arn(&f, "dead"), "1"), QN_ERR_NONE);
}

Test(redrive_policy, an_allow_policy_that_is_none_is_refused)
{
    static const char *const bad[] = {
        "x",
        "[]",
        "{}",
        "{'redrivePermission':'maybe'}",
        "{'redrivePermission':1}",
        "{'redrivePermission':'byQueue'}",
        "{'redrivePermission':'byQueue','sourceQueueArns':[]}",
        "{'redrivePermission':'byQueue','sourceQueueArns':'x'}",
        "{'redrivePermission':'byQueue','sourceQueueArns':['x']}",
        "{'redrivePermission':'byQueue','sourceQueueArns':[1]}",
        "{'redrivePermission':'allowAll','sourceQueueArns':['arn:aws:sqs:us-east-1:1:x']}",
        "{'redrivePermission':'denyAll','sourceQueueArns':[]}",
        "{'redrivePermission':'allowAll','odd':1}",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(allow(bad[i]), QN_ERR_INVALID_PARAMETER_VALUE, "%s", bad[i]);
    }
    cr_expect_null(fixture_attribute(&f, "dead", "RedriveAllowPolicy"));
}

Test(redrive_policy, ten_sources_and_no_more)
{
    struct qn_buf arns;

    qn_buf_init(&arns, SIZE_MAX);
    for (int count = 1; count <= 11; count++) {
        qn_buf_append_format(&arns, "%s'%s'", count > 1 ? "," : "",
                             fixture_arn(&f, fixture_format(&f, "s%d", count)));
        cr_expect_eq(
            allow(fixture_format(&f, "{'redrivePermission':'byQueue','sourceQueueArns':[%.*s]}",
                                 QN_STR_ARG(qn_buf_str(&arns)))),
            count <= 10 ? QN_ERR_NONE : QN_ERR_INVALID_PARAMETER_VALUE);
    }
    qn_buf_done(&arns);
}
