/* The three actions on message move tasks: what they refuse. */
#include <criterion/criterion.h>

#include "server/base/digest.h"
#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_create(&f, "q", "");
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(move_tasks, .init = start, .fini = stop);

static enum qn_error_code begin(const char *source, const char *members)
{
    return fixture_code(&f, "StartMessageMoveTask", "'SourceArn':'%s'%s%s", source,
                        members[0] != '\0' ? "," : "", members);
}

static void expect_refused(enum qn_error_code code, enum qn_error_code expected, const char *text)
{
    cr_expect_eq(code, expected, "%s", f.err.message);
    cr_expect_str_eq(f.err.message, text);
}

#define FORMAT_TEXT                                                                                \
    "You must use this format to specify the SourceArn: "                                          \
    "arn:aws:sqs:region-id:account-id:queue-name"
#define UNKNOWN_TEXT "The resource that you specified for the SourceArn parameter doesn't exist."

Test(move_tasks, the_source_is_the_arn_of_a_dead_letter_queue)
{
    cr_expect_eq(fixture_code(&f, "StartMessageMoveTask", "%s", ""), QN_ERR_MISSING_PARAMETER);
    expect_refused(begin("dead", ""), QN_ERR_INVALID_PARAMETER_VALUE, FORMAT_TEXT);
    expect_refused(begin("arn:aws:sqs:us-east-1:000000000000", ""), QN_ERR_INVALID_PARAMETER_VALUE,
                   FORMAT_TEXT);
    expect_refused(begin("arn:aws:sqs:us-east-1:000000000000:dead:x", ""),
                   QN_ERR_INVALID_PARAMETER_VALUE, FORMAT_TEXT);
    expect_refused(begin(fixture_arn(&f, "unknown"), ""), QN_ERR_RESOURCE_NOT_FOUND, UNKNOWN_TEXT);
    expect_refused(begin(fixture_arn(&f, "q"), ""), QN_ERR_INVALID_PARAMETER_VALUE,
                   "Source queue must be configured as a Dead Letter Queue.");
    cr_expect_eq(begin(fixture_arn(&f, "dead"), ""), QN_ERR_NONE);
}

Test(move_tasks, the_destination_is_another_queue_of_the_same_type)
{
    fixture_create(&f, "q.fifo", "");
    expect_refused(
        begin(fixture_arn(&f, "dead"),
              fixture_format(&f, "'DestinationArn':'%s'", fixture_arn(&f, "unknown"))),
        QN_ERR_RESOURCE_NOT_FOUND,
        "The resource that you specified for the DestinationArn parameter doesn't exist.");
    cr_expect_eq(begin(fixture_arn(&f, "dead"), "'DestinationArn':'x'"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(begin(fixture_arn(&f, "dead"),
                       fixture_format(&f, "'DestinationArn':'%s'", fixture_arn(&f, "dead"))),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(begin(fixture_arn(&f, "dead"),
                       fixture_format(&f, "'DestinationArn':'%s'", fixture_arn(&f, "q.fifo"))),
                 QN_ERR_INVALID_PARAMETER_VALUE);
}

Test(move_tasks, the_rate_is_1_to_500)
{
    cr_expect_eq(begin(fixture_arn(&f, "dead"), "'MaxNumberOfMessagesPerSecond':0"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(begin(fixture_arn(&f, "dead"), "'MaxNumberOfMessagesPerSecond':501"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(begin(fixture_arn(&f, "dead"), "'MaxNumberOfMessagesPerSecond':1"), QN_ERR_NONE);
    cr_expect_eq(begin(fixture_arn(&f, "dead"), "'MaxNumberOfMessagesPerSecond':500"), QN_ERR_NONE);
}

Test(move_tasks, the_handle_is_base64_of_task_and_source)
{
    struct qn_str text;
    struct qn_arena arena;

    qn_arena_init(&arena, SIZE_MAX);
    begin(fixture_arn(&f, "dead"), "");
    cr_assert(
        qn_digest_decode_base64(&arena, qn_str_from_cstr(fixture_get(&f, "TaskHandle")), &text));
    cr_expect(qn_str_starts_with(text, QN_STR("{\"taskId\":\"")));
    cr_expect(qn_str_ends_with(text, qn_str_from_cstr(fixture_format(&f, "\",\"sourceArn\":\"%s\"}",
                                                                     fixture_arn(&f, "dead")))));
    qn_arena_done(&arena);
}

Test(move_tasks, listing_wants_an_arn_and_1_to_10)
{
    cr_expect_eq(fixture_code(&f, "ListMessageMoveTasks", "%s", ""), QN_ERR_MISSING_PARAMETER);
    expect_refused(fixture_code(&f, "ListMessageMoveTasks", "'SourceArn':'x'"),
                   QN_ERR_INVALID_PARAMETER_VALUE, FORMAT_TEXT);
    expect_refused(
        fixture_code(&f, "ListMessageMoveTasks", "'SourceArn':'%s'", fixture_arn(&f, "unknown")),
        QN_ERR_RESOURCE_NOT_FOUND, UNKNOWN_TEXT);
    static const int bad[] = {0, 11, -1};
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(fixture_code(&f, "ListMessageMoveTasks", "'SourceArn':'%s','MaxResults':%d",
                                  fixture_arn(&f, "dead"), bad[i]),
                     QN_ERR_INVALID_PARAMETER_VALUE);
    }
    /* It need not be a dead-letter queue any more. */
    cr_expect_eq(fixture_code(&f, "ListMessageMoveTasks", "'SourceArn':'%s','MaxResults':10",
                              fixture_arn(&f, "q")),
                 QN_ERR_NONE);
    cr_expect_eq(json_object_size(f.answer), 0);
}

static const char *base64_of(const char *text)
{
    return fixture_format(&f, "%.*s",
                          QN_STR_ARG(qn_digest_base64(&f.arena, qn_str_from_cstr(text))));
}

Test(move_tasks, cancelling_wants_a_handle_that_names_a_running_task)
{
    static const char *const bad[] = {"x", "", "eHh4", "e30="};

    cr_expect_eq(fixture_code(&f, "CancelMessageMoveTask", "%s", ""), QN_ERR_MISSING_PARAMETER);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_refused(fixture_code(&f, "CancelMessageMoveTask", "'TaskHandle':'%s'", bad[i]),
                       QN_ERR_INVALID_PARAMETER_VALUE,
                       "Value for parameter TaskHandle is invalid.");
    }
    const char *id = "10000000-0000-4000-8000-000000000000";
    expect_refused(
        fixture_code(&f, "CancelMessageMoveTask", "'TaskHandle':'%s'",
                     base64_of(fixture_format(&f, "{\"taskId\":\"%s\",\"sourceArn\":\"%s\"}", id,
                                              fixture_arn(&f, "unknown")))),
        QN_ERR_RESOURCE_NOT_FOUND, UNKNOWN_TEXT);
    expect_refused(
        fixture_code(&f, "CancelMessageMoveTask", "'TaskHandle':'%s'",
                     base64_of(fixture_format(&f, "{\"taskId\":\"%s\",\"sourceArn\":\"%s\"}", id,
                                              fixture_arn(&f, "dead")))),
        QN_ERR_RESOURCE_NOT_FOUND, "Task does not exist.");
}

Test(move_tasks, a_handle_with_another_source_names_no_task)
{
    struct qn_str text;

    fixture_send(&f, "dead", "m1 m2");
    begin(fixture_arn(&f, "dead"),
          fixture_format(&f, "'DestinationArn':'%s','MaxNumberOfMessagesPerSecond':1",
                         fixture_arn(&f, "q")));
    cr_assert(
        qn_digest_decode_base64(&f.arena, qn_str_from_cstr(fixture_get(&f, "TaskHandle")), &text));
    const char *other =
        fixture_format(&f, "%.*s\",\"sourceArn\":\"%s\"}", (int)strlen("{\"taskId\":\"") + 36,
                       text.ptr, fixture_arn(&f, "q"));
    cr_expect_eq(fixture_code(&f, "CancelMessageMoveTask", "'TaskHandle':'%s'", base64_of(other)),
                 QN_ERR_RESOURCE_NOT_FOUND);
}
