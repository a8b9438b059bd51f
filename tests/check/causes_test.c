/* What a verdict says of the cause, where it is not what became of the messages. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "chaos/check/report/report.h"

static struct qn_history history;
static struct qn_judgement judgement;

static void judge(const char *name)
{
    char path[128];
    struct qn_buf text;
    struct qn_error err;
    int byte;

    (void)snprintf(path, sizeof(path), "tests/check/traces/%s.jsonl", name);
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file, "%s", path);
    qn_buf_init(&text, 1024 * 1024);
    while ((byte = getc(file)) != EOF) {
        qn_buf_append_char(&text, (char)byte);
    }
    (void)fclose(file);
    qn_history_init(&history);
    bool is_read = qn_history_read(&history, qn_buf_str(&text), &err);
    qn_buf_done(&text);
    cr_assert(is_read, "%s: %s", name, err.message);
    qn_history_settle(&history);
    cr_assert(qn_judge(&history, &judgement, &err), "%s: %s", name, err.message);
}

static void forget(void)
{
    qn_judgement_done(&judgement);
    qn_history_done(&history);
}
TestSuite(causes, .fini = forget);

Test(causes, a_function_that_never_started_is_told_with_its_last_line)
{
    judge("function-never-started");
    cr_expect_eq(judgement.outcome, QN_OUTCOME_INCONCLUSIVE);
    cr_expect(judgement.never_got_going);
    cr_expect_str_eq(judgement.text, "the function never asked for an event: it left with status "
                                     "1; the last that it printed: ImportError: no app");
}

Test(causes, a_function_that_started_after_all_is_judged)
{
    judge("function-started-late");
    cr_expect_not(judgement.never_got_going);
    cr_expect_eq(judgement.outcome, QN_OUTCOME_FAIL);
}

/* Of who makes no extension, LEASE-COVER would be an observation here. */
Test(causes, a_heartbeat_that_is_refused_each_time_is_one_and_its_calls_are_told)
{
    struct qn_buf text;

    judge("refused-heartbeat");
    cr_expect_eq(judgement.outcome, QN_OUTCOME_FAIL, "%s", judgement.text);
    cr_assert_eq(judgement.refusal_count, 1);
    qn_buf_init(&text, 1024);
    qn_report_refusal(&judgement.refusals[0], &text);
    cr_expect(qn_str_equal(
        qn_buf_str(&text),
        QN_STR("2 ChangeMessageVisibility calls were refused: InvalidParameterValue: Value 43201 "
               "for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and "
               "43200.")));
    qn_buf_done(&text);
}

Test(causes, entries_of_a_batch_that_are_refused_are_told_though_the_call_was_answered)
{
    struct qn_buf text;

    judge("refused-entries");
    cr_expect_eq(judgement.outcome, QN_OUTCOME_FAIL, "%s", judgement.text);
    cr_assert_eq(judgement.refusal_count, 1);
    qn_buf_init(&text, 1024);
    qn_report_refusal(&judgement.refusals[0], &text);
    cr_expect(qn_str_starts_with(qn_buf_str(&text),
                                 QN_STR("2 ChangeMessageVisibilityBatch entries were refused: "
                                        "InvalidParameterValue: Value 43201 for parameter")));
    qn_buf_done(&text);
}

Test(causes, one_refused_call_for_each_lease_is_a_back_off)
{
    judge("refused-back-off");
    cr_expect_eq(judgement.outcome, QN_OUTCOME_INFO, "%s", judgement.text);
    cr_assert_eq(judgement.refusal_count, 1);
    cr_expect_eq(judgement.refusals[0].count, 2);
}

Test(causes, what_a_rule_or_a_lost_lease_refused_is_no_mistake)
{
    judge("refused-by-a-rule");
    cr_expect_eq(judgement.refusal_count, 0);
    cr_expect_eq(judgement.outcome, QN_OUTCOME_INFO, "%s", judgement.text);
    forget();
    judge("refused-lost-lease");
    cr_expect_eq(judgement.refusal_count, 0);
    cr_expect_eq(judgement.outcome, QN_OUTCOME_INFO, "%s", judgement.text);
}

Test(causes, a_call_that_was_given_up_is_no_handler_that_still_runs)
{
    judge("lease-cover-broken-left");
    cr_expect_not_null(strstr(judgement.text, "the consumer had given its call up after 3.0 s"),
                       "%s", judgement.text);
    forget();
    judge("lease-cover-broken");
    cr_expect_not_null(strstr(judgement.text, "the handler was still running"), "%s",
                       judgement.text);
}
