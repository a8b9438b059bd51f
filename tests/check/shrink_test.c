/* The search for the smallest failing set of rules, with consumers that are made up: they fail when
 * certain rules are there. */
#include <criterion/criterion.h>

#include "chaos/check/narrow.h"
#include "chaos/check/shrink.h"

enum { RULES = 12, FOR_EVER = 1 };

static struct qn_scenario *scenario;
static struct qn_check_options options;
static struct qn_error err;
static struct qn_invariant broken;

static struct qn_scenario *read(size_t rules)
{
    struct qn_scenario *made;
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_buf_append_literal(&text, "{\"id\":\"t\",\"shrinks\":true,\"load\":[\"ok\"],\"faults\":[");
    for (size_t i = 0; i < rules; i++) {
        qn_buf_append_format(&text, "%s\"optional on Delete* prob 0.%zu1 do reset as r%zu\"",
                             i > 0 ? "," : "", i, i);
    }
    qn_buf_append_literal(&text, "]}");
    cr_assert(qn_scenario_read(qn_buf_str(&text), "t", &made, &err), "%s", err.message);
    qn_buf_done(&text);
    return made;
}

static void begin(void)
{
    scenario = read(RULES);
    options = (struct qn_check_options){.soak_ms = 60000, .shrink_ms = 1000};
}

static void end(void)
{
    qn_scenario_free(scenario);
}

TestSuite(shrink, .init = begin, .fini = end);

static struct qn_run_result result_of(bool fails, const char *name)
{
    broken = (struct qn_invariant){
        .name = name, .severity = QN_MUST, .finding = {.result = QN_RESULT_FAIL}};
    return (struct qn_run_result){
        .judgement = {.outcome = fails ? QN_OUTCOME_FAIL : QN_OUTCOME_PASS,
                      .invariants = &broken,
                      .invariant_count = fails},
        .wall_ms = 10,
    };
}

static bool has_rule(const struct qn_scenario *tried, const char *name)
{
    for (size_t i = 0; i < tried->fault_count; i++) {
        if (qn_str_equal(tried->faults[i].name, qn_str_from_cstr(name))) {
            return true;
        }
    }
    return false;
}

/* The smallest set for a consumer that fails when all of these rules are there (NULL behind the
 * last). */
static json_t *smallest(const char *const *culprits, int64_t end_ms)
{
    struct qn_run_result result = result_of(true, "ONCE");
    struct qn_shrink *shrink = qn_shrink_new(scenario, &options, &result, end_ms);
    const struct qn_scenario *tried;
    const struct qn_check_options *with;

    while (qn_shrink_next(shrink, &tried, &with)) {
        bool fails = true;
        for (size_t i = 0; culprits[i] != NULL; i++) {
            fails = fails && has_rule(tried, culprits[i]);
        }
        result = result_of(fails, "ONCE");
        cr_assert_eq(qn_shrink_take(shrink, &result), fails);
    }
    json_t *told = qn_shrink_conclude(shrink, &result);
    cr_expect_eq(result.wall_ms, 10 * (json_integer_value(json_object_get(told, "runs")) + 1));
    qn_run_result_done(&result);
    qn_shrink_free(shrink);
    return told;
}

static void expect_smallest(const char *const *culprits)
{
    json_t *told = smallest(culprits, INT64_MAX);
    const json_t *rules = json_object_get(told, "rules");
    size_t count = 0;

    while (culprits[count] != NULL) {
        char ending[32];
        (void)snprintf(ending, sizeof(ending), " as %s", culprits[count]);
        const char *text = json_string_value(json_array_get(rules, count));
        cr_assert_not_null(text, "%s", culprits[count]);
        cr_expect(qn_str_ends_with(qn_str_from_cstr(text), qn_str_from_cstr(ending)), "%s", text);
        count++;
    }
    cr_expect_eq(json_array_size(rules), count);
    cr_expect(json_is_true(json_object_get(told, "complete")));
    cr_expect_eq(json_integer_value(json_object_get(told, "of")), RULES);
    cr_expect_leq(json_integer_value(json_object_get(told, "runs")), 3 * RULES);
    json_decref(told);
}

Test(shrink, finds_the_rules_that_it_takes)
{
    expect_smallest((const char *const[]){"r7", NULL});
    expect_smallest((const char *const[]){"r0", NULL});
    expect_smallest((const char *const[]){"r11", NULL});
    expect_smallest((const char *const[]){"r0", "r11", NULL});
    expect_smallest((const char *const[]){"r3", "r4", "r9", NULL});
    expect_smallest((const char *const[]){"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8",
                                          "r9", "r10", "r11", NULL});
}

Test(shrink, one_run_shows_that_it_takes_no_rule)
{
    json_t *told = smallest((const char *const[]){NULL}, INT64_MAX);

    cr_expect_eq(json_array_size(json_object_get(told, "rules")), 0);
    cr_expect_eq(json_integer_value(json_object_get(told, "runs")), 1);
    json_decref(told);
}

Test(shrink, ends_when_its_time_is_over)
{
    json_t *told = smallest((const char *const[]){"r7", NULL}, FOR_EVER);

    cr_expect_eq(json_array_size(json_object_get(told, "rules")), RULES);
    cr_expect_eq(json_integer_value(json_object_get(told, "runs")), 0);
    cr_expect(json_is_false(json_object_get(told, "complete")));
    json_decref(told);
}

Test(shrink, another_break_is_not_the_same_failure)
{
    struct qn_run_result result = result_of(true, "ONCE");
    struct qn_shrink *shrink = qn_shrink_new(scenario, &options, &result, INT64_MAX);
    const struct qn_scenario *tried;
    const struct qn_check_options *with;

    cr_assert(qn_shrink_next(shrink, &tried, &with));
    cr_expect_str_eq(with->fault_names, "none");
    result = result_of(true, "DRAINED");
    cr_expect_not(qn_shrink_take(shrink, &result));
    cr_expect_eq(qn_shrink_left(shrink), RULES);
    qn_shrink_free(shrink);
}

Test(shrink, early_break_is_looked_for_in_a_shorter_soak)
{
    static const char trace[] =
        "{\"kind\":\"proc\",\"what\":\"ready\",\"seq\":1,\"vt\":1000,\"wt\":1}\n"
        "{\"kind\":\"mark\",\"seq\":9,\"vt\":8000,\"wt\":2}\n";
    struct qn_run_result result = result_of(true, "ONCE");
    const struct qn_scenario *tried;
    const struct qn_check_options *with;

    broken.finding.witness[0] = 9;
    broken.finding.witness_count = 1;
    qn_history_init(&result.history);
    cr_assert(qn_history_read(&result.history, qn_str_from_cstr(trace), &err), "%s", err.message);
    struct qn_shrink *shrink = qn_shrink_new(scenario, &options, &result, INT64_MAX);
    cr_assert(qn_shrink_next(shrink, &tried, &with));
    cr_expect_eq(tried->fault_count, RULES); /* first it has to fail in that time at all */
    cr_expect_eq(with->soak_ms, 18000);
    result = result_of(false, "ONCE");
    cr_expect_not(qn_shrink_take(shrink, &result));
    cr_assert(qn_shrink_next(shrink, &tried, &with));
    cr_expect_eq(with->soak_ms, 60000);
    qn_shrink_free(shrink);
}

Test(shrink, is_for_failures_of_scenarios_that_want_it)
{
    struct qn_run_result result = result_of(true, "ONCE");

    cr_expect(qn_shrink_is_due(scenario, &result, &options));
    options.fail_fast = true;
    cr_expect_not(qn_shrink_is_due(scenario, &result, &options));
    options = (struct qn_check_options){.shrink_ms = 0};
    cr_expect_not(qn_shrink_is_due(scenario, &result, &options));
    options.shrink_ms = 1000;
    scenario->shrinks = false;
    cr_expect_not(qn_shrink_is_due(scenario, &result, &options));
    scenario->shrinks = true;
    result.judgement.outcome = QN_OUTCOME_WARN;
    cr_expect_not(qn_shrink_is_due(scenario, &result, &options));
}

Test(shrink, narrowed_scenario_keeps_names_and_plans)
{
    static const char text[] =
        "{\"id\":\"t\",\"load\":[\"ok\"],\"faults\":[\"on Delete* once do reset as a\","
        "\"on Delete* first 3 do reset\",\"optional on any once do reset as c\"]}";
    struct qn_scenario *whole;
    struct qn_scenario *part;

    cr_assert(qn_scenario_read(qn_str_from_cstr(text), "t", &whole, &err), "%s", err.message);
    cr_assert(qn_narrow(whole, QN_STR("c, fault-2"), &part, &err), "%s", err.message);
    cr_assert_eq(part->fault_count, 2);
    cr_expect_str_eq(part->faults[0].name.ptr, "fault-2");
    cr_expect_eq(part->faults[0].planned, 3);
    cr_expect_str_eq(part->faults[1].name.ptr, "c");
    cr_expect_eq(part->faults[1].planned, 0);
    qn_scenario_free(part);
    cr_assert(qn_narrow(whole, QN_STR("none"), &part, &err));
    cr_expect_eq(part->fault_count, 0);
    qn_scenario_free(part);
    cr_expect_not(qn_narrow(whole, QN_STR("a,fault2"), &part, &err));
    cr_expect_str_eq(err.message,
                     "t has no rule \"fault2\"; did you mean fault-2? (quern scenarios "
                     "show t has their names)");
    qn_scenario_free(whole);
}

Test(shrink, narrowed_scenario_is_narrowed_without_the_sink_too)
{
    static const char text[] =
        "{\"id\":\"t\",\"load\":[\"ok\"],\"faults\":[\"on sink.work.begin do hang as a\"],"
        "\"without_sink\":{\"faults\":[\"on Delete* do reset as b\",\"on any do reset as c\"]}}";
    struct qn_scenario *whole;
    struct qn_scenario *part;

    cr_assert(qn_scenario_read(qn_str_from_cstr(text), "t", &whole, &err), "%s", err.message);
    cr_assert(qn_narrow(whole, QN_STR("c"), &part, &err), "%s", err.message);
    cr_expect_eq(part->fault_count, 0);
    cr_assert_eq(part->without_sink->fault_count, 1);
    cr_expect_str_eq(part->without_sink->faults[0].name.ptr, "c");
    qn_scenario_free(part);
    qn_scenario_free(whole);
}
