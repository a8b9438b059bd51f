/* Which warnings are looked at twice. */
#include <criterion/criterion.h>

#include "chaos/check/again.h"

static struct qn_scenario scenario;
static struct qn_invariant invariants[2];
static struct qn_judgement judgement;

static void begin(void)
{
    scenario =
        (struct qn_scenario){.json = json_pack("{s:[s,s]}", "should", "SECOND: gap(k-001,1) >= 2*V",
                                               "MATES: dlq() == 0")};
}

static void end(void)
{
    json_decref(scenario.json);
}

TestSuite(again, .init = begin, .fini = end);

/* A warning with these invariants broken at should-level; the second may be NULL. */
static bool is_due(const char *first, const char *second)
{
    const char *const names[] = {first, second};
    judgement = (struct qn_judgement){.outcome = QN_OUTCOME_WARN, .invariants = invariants};
    for (size_t i = 0; i < 2 && names[i] != NULL; i++) {
        invariants[i] = (struct qn_invariant){
            .name = names[i], .severity = QN_SHOULD, .finding = {.result = QN_RESULT_FAIL}};
        judgement.invariant_count++;
    }
    return qn_again_is_due(&scenario, &judgement);
}

Test(again, a_should_about_time_is_looked_at_twice)
{
    cr_expect(is_due("BACKOFF", NULL));
    cr_expect(is_due("PROGRESS(ok, 2*V)", NULL));
    cr_expect(is_due("RECOVERY(all, V+R+5s)", NULL));
    cr_expect(is_due("rate(ReceiveMessage) <= 5", NULL));
    cr_expect(is_due("last(msg.delete) <= 8s", NULL));
    cr_expect(is_due("count(work.commit,slow) >= 12", NULL)); /* of a phase, which takes its time */
    cr_expect(is_due("SECOND", NULL));                        /* by what its expression says */
}

Test(again, one_about_something_else_is_not)
{
    cr_expect_not(is_due("ONCE", NULL));
    cr_expect_not(is_due("MATES", NULL));
    cr_expect_not(is_due("leases(k-001) >= 2", NULL));
    cr_expect_not(is_due("count(work.commit) >= 12", NULL));
    cr_expect_not(is_due("BACKOFF", "ONCE")); /* it would be told in any case */
}

Test(again, a_broken_must_is_never_looked_at_twice)
{
    cr_assert(is_due("BACKOFF", NULL));
    judgement.outcome = QN_OUTCOME_FAIL;
    invariants[0].severity = QN_MUST;
    cr_expect_not(qn_again_is_due(&scenario, &judgement));
}

Test(again, an_error_of_the_harness_is_looked_at_twice)
{
    struct qn_run_result first = {.wall_ms = 2000,
                                  .judgement = {.outcome = QN_OUTCOME_ERROR, .text = "no answer"}};
    struct qn_run_result second = first;

    cr_expect(qn_again_is_due(&scenario, &first.judgement));
    qn_again_conclude(&first, &second);
    cr_expect_str_eq(second.judgement.text, "no answer");
    cr_expect_eq(second.wall_ms, 4000);
    second.judgement = (struct qn_judgement){.outcome = QN_OUTCOME_PASS};
    qn_again_conclude(&first, &second);
    cr_expect_str_eq(second.judgement.text, "in a second run; the first one: no answer");
}

Test(again, the_line_tells_of_both_runs)
{
    struct qn_run_result first = {.wall_ms = 2000,
                                  .judgement = {.outcome = QN_OUTCOME_WARN, .text = "QUIET: late"}};
    struct qn_run_result second = {.wall_ms = 1000, .judgement = {.outcome = QN_OUTCOME_PASS}};

    qn_again_conclude(&first, &second);
    cr_expect_str_eq(second.judgement.text, "in a second run; the first one: QUIET: late");
    cr_expect_eq(second.wall_ms, 3000);
    second = first;
    qn_again_conclude(&first, &second);
    cr_expect_str_eq(second.judgement.text, "QUIET: late (in two runs)");
}
