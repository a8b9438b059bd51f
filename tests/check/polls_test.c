/* Which polls are short. */
#include <criterion/criterion.h>

#include "chaos/check/judge/judge.h"

static const char polls[] =
    "{\"seq\":1,\"wt\":0,\"kind\":\"mark\",\"reason\":\"idle\"}\n"
    "{\"seq\":2,\"wt\":0,\"kind\":\"api.in\",\"req\":\"a\",\"action\":\"ReceiveMessage\","
    "\"instance\":\"I\"}\n"
    "{\"seq\":3,\"wt\":499,\"kind\":\"api.out\",\"req\":\"a\",\"code\":\"OK\",\"instance\":\"I\"}\n"
    "{\"seq\":4,\"wt\":500,\"kind\":\"api.in\",\"req\":\"b\",\"action\":\"ReceiveMessage\","
    "\"instance\":\"I\"}\n"
    "{\"seq\":5,\"wt\":1000,\"kind\":\"api.out\",\"req\":\"b\",\"code\":\"OK\",\"instance\":\"I\"}"
    "\n"
    "{\"seq\":6,\"wt\":1000,\"kind\":\"api.in\",\"req\":\"c\",\"action\":\"ReceiveMessage\","
    "\"instance\":\"I\"}\n"
    "{\"seq\":7,\"wt\":1001,\"kind\":\"lease.grant\",\"req\":\"c\",\"queue\":\"q\",\"mid\":\"a\"}\n"
    "{\"seq\":8,\"wt\":1002,\"kind\":\"api.out\",\"req\":\"c\",\"code\":\"OK\",\"instance\":\"I\"}"
    "\n"
    "{\"seq\":9,\"wt\":1002,\"kind\":\"api.in\",\"req\":\"d\",\"action\":\"ReceiveMessage\","
    "\"instance\":\"I\"}\n"
    "{\"seq\":10,\"wt\":1003,\"kind\":\"api.out\",\"req\":\"d\",\"code\":\"Throttled\","
    "\"instance\":\"I\"}\n"
    "{\"seq\":11,\"wt\":1004,\"kind\":\"mark\",\"reason\":\"late\"}\n"
    "{\"seq\":12,\"wt\":1004,\"kind\":\"api.in\",\"req\":\"e\",\"action\":\"ReceiveMessage\","
    "\"instance\":\"I\"}\n"
    "{\"seq\":13,\"wt\":1005,\"kind\":\"api.out\",\"req\":\"e\",\"code\":\"OK\",\"instance\":\"I\"}"
    "\n";

static void expect(const struct qn_judge_input *in, const char *text)
{
    struct qn_finding finding = {0};
    struct qn_error err;

    cr_assert(qn_judge_expression(in, qn_str_from_cstr(text), &finding, &err), "%s: %s", text,
              err.message);
    cr_expect_eq(finding.result, QN_RESULT_PASS, "%s: %s", text, finding.text);
}

Test(polls, one_that_is_answered_at_once_with_nothing_is_short)
{
    struct qn_history history;
    struct qn_error err;

    qn_history_init(&history);
    cr_assert(qn_history_read(&history, qn_str_from_cstr(polls), &err));
    qn_history_settle(&history);
    const struct qn_judge_input in = {
        .history = &history, .queue = QN_STR("q"), .self = QN_STR("QUERNCHECK")};
    expect(&in, "calls(ReceiveMessage, idle) == 4 and short_polls(idle) == 1");
    expect(&in, "short_polls(late) == 1");
    qn_history_done(&history);
}
