/* Expressions over a history. */
#include <criterion/criterion.h>

#include "chaos/check/judge/judge.h"

static const char trace[] =
    "{\"seq\":1,\"kind\":\"msg.send\",\"queue\":\"q\",\"mid\":\"a\",\"k\":\"k-001\"}\n"
    "{\"seq\":2,\"kind\":\"msg.send\",\"queue\":\"q\",\"mid\":\"b\",\"k\":\"k-002\"}\n"
    "{\"seq\":3,\"kind\":\"api.in\",\"action\":\"DeleteMessage\",\"instance\":\"QUERN0001\"}\n"
    "{\"seq\":4,\"kind\":\"api.in\",\"action\":\"DeleteMessageBatch\",\"instance\":\"QUERN0001\"}\n"
    "{\"seq\":5,\"kind\":\"api.in\",\"action\":\"DeleteMessage\",\"instance\":\"QUERNCHECK\"}\n"
    "{\"seq\":6,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"a\"}\n"
    "{\"seq\":7,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"a\"}\n"
    "{\"seq\":8,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"b\"}\n"
    "{\"seq\":9,\"kind\":\"lease.grant\",\"queue\":\"other\",\"mid\":\"b\"}\n"
    "{\"seq\":10,\"kind\":\"work.begin\",\"k\":\"k-001\"}\n"
    "{\"seq\":11,\"kind\":\"work.commit\",\"k\":\"k-001\"}\n"
    "{\"seq\":12,\"kind\":\"work.commit\",\"k\":\"k-001\",\"replayed\":true}\n"
    "{\"seq\":13,\"kind\":\"msg.dlq\",\"queue\":\"q\",\"mid\":\"b\"}\n";

static struct qn_history history;
static struct qn_judge_input in;

static void open_history(void)
{
    struct qn_error err;

    qn_history_init(&history);
    cr_assert(qn_history_read(&history, qn_str_from_cstr(trace), &err));
    qn_history_settle(&history);
    in = (struct qn_judge_input){.history = &history,
                                 .level = QN_LEVEL_SINK,
                                 .queue = QN_STR("q"),
                                 .self = QN_STR("QUERNCHECK"),
                                 .visibility_ms = 4000,
                                 .grace_ms = 10000,
                                 .concurrency = 2,
                                 .max_receive = 5};
}

static void close_history(void)
{
    qn_history_done(&history);
}

TestSuite(expression, .init = open_history, .fini = close_history);

static void expect(const char *text, enum qn_result result)
{
    struct qn_finding finding = {0};
    struct qn_error err;

    cr_assert(qn_judge_expression(&in, qn_str_from_cstr(text), &finding, &err), "%s: %s", text,
              err.message);
    cr_expect_eq(finding.result, result, "%s: %s", text, finding.text);
}

Test(expression, counts_per_key)
{
    expect("leases(k-001) == 2", QN_RESULT_PASS);
    expect("leases(k-001) == 1", QN_RESULT_FAIL);
    expect("leases(k-002) == 1", QN_RESULT_PASS);
    expect("leases(k-003) == 0", QN_RESULT_PASS);
    expect("effects(k-001) == 1 and attempts(k-001) == 1", QN_RESULT_PASS);
    expect("deletes(k-001) == 0", QN_RESULT_PASS);
    expect("dead(k-002) == 1", QN_RESULT_PASS);
}

Test(expression, counts_over_all)
{
    expect("max(leases) == 2", QN_RESULT_PASS);
    expect("min(leases) == 1", QN_RESULT_PASS);
    expect("calls(DeleteMessage) == 1", QN_RESULT_PASS);
    expect("calls(Delete*) == 2", QN_RESULT_PASS);
    expect("count(lease.grant) == 4", QN_RESULT_PASS);
    expect("count(lease.*) == 4", QN_RESULT_PASS);
    expect("dlq() == 1", QN_RESULT_PASS);
}

Test(expression, operators_bind_as_written)
{
    expect("1 == 2 or 3 == 3 and 4 == 4", QN_RESULT_PASS);
    expect("(1 == 2 or 3 == 3) and 4 == 5", QN_RESULT_FAIL);
    expect("not 1 == 2", QN_RESULT_PASS);
    expect("not not 1 == 2", QN_RESULT_FAIL);
    expect("1 < 2 and 2 <= 2 and 3 > 2 and 3 >= 3 and 1 != 2", QN_RESULT_PASS);
}

Test(expression, times_are_milliseconds)
{
    int64_t value = 0;
    struct qn_error err;

    expect("3*V+10s == 22000", QN_RESULT_PASS);
    expect("2min == 120s and 5ms == 5 and G == 10s and C == 2 and MRC == 5", QN_RESULT_PASS);
    cr_assert(qn_judge_number(&in, QN_STR("3*V+10s"), &value, &err));
    cr_expect_eq(value, 22000);
}

Test(expression, effects_need_the_sink)
{
    in.level = QN_LEVEL_PROTOCOL;
    expect("effects(k-001) == 1", QN_RESULT_NOT_OBSERVABLE);
    expect("leases(k-001) == 2", QN_RESULT_PASS);
}

Test(expression, mistakes_are_told_with_their_column)
{
    static const char *const wrong[] = {
        "",
        "leases(k-001",
        "leases(k-001) =",
        "wishes(k-001) == 1",
        "max(wishes) == 1",
        "1 == 2 or",
        "1 == 99999999999s",
        "3x == 1",
        "1 == 1 )",
        "X == 1",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct qn_finding finding = {0};
        struct qn_error err = {0};
        cr_expect_not(qn_judge_expression(&in, qn_str_from_cstr(wrong[i]), &finding, &err), "%s",
                      wrong[i]);
        cr_expect_not_null(strstr(err.message, "column"), "%s", err.message);
    }
}

Test(expression, depth_of_brackets_is_limited)
{
    char text[400] = "";
    struct qn_finding finding = {0};
    struct qn_error err;

    memset(text, '(', 300);
    cr_expect_not(qn_judge_expression(&in, qn_str_from_cstr(text), &finding, &err));
}

Test(expression, constants_are_of_the_run)
{
    in.heartbeat_visibility_ms = 10000;
    in.wait_ms = 20000;
    in.restart_ms = 200;
    in.prefetch = 10;
    expect("VH == 10s and W == 20s and R == 200ms and P == 10", QN_RESULT_PASS);
    expect("V == 4s and G == 10s and C == 2 and MRC == 5", QN_RESULT_PASS);
}
