/* Scenarios that are not for a consumer, by what is declared and what was learned. */
#include <criterion/criterion.h>

#include "chaos/check/declared.h"
#include "chaos/check/options_rows.h"

static struct qn_check_options options;
static struct qn_profile learned;
static struct qn_scenario scenario;
static struct qn_buf reason;

static void begin(void)
{
    options = qn_options_default();
    learned = (struct qn_profile){.is_known = true, .level = QN_LEVEL_SINK, .batch = 10};
    scenario = (struct qn_scenario){0};
    qn_buf_init(&reason, 4096);
}

static void end(void)
{
    json_decref(scenario.json);
    qn_buf_done(&reason);
}

TestSuite(needs, .init = begin, .fini = end);

static bool are_met(const char *need)
{
    json_decref(scenario.json);
    scenario.json = json_pack("{s:[s]}", "needs", need);
    qn_buf_clear(&reason);
    return qn_needs_are_met(&scenario, &options, &learned, &reason);
}

static void expect_reason(const char *need, const char *words)
{
    cr_expect_not(are_met(need), "%s", need);
    cr_expect_lt(qn_str_find(qn_buf_str(&reason), qn_str_from_cstr(words)), reason.len, "%.*s",
                 QN_STR_ARG(qn_buf_str(&reason)));
}

Test(needs, a_scenario_that_needs_nothing_is_for_all)
{
    learned = (struct qn_profile){0};
    cr_expect(are_met("none"));
}

Test(needs, several_at_once_may_be_declared_or_seen)
{
    learned.concurrency = 1;
    expect_reason("concurrency", "--concurrency N");
    options.concurrency = 2;
    cr_expect(are_met("concurrency"));
    options.concurrency = 0;
    learned.concurrency = 3;
    cr_expect(are_met("concurrency"));
    options.concurrency = 1; /* what is said counts more than what was seen */
    expect_reason("concurrency", "several messages at once");
}

Test(needs, what_was_not_looked_at_is_not_held_against_it)
{
    learned = (struct qn_profile){0};
    cr_expect(are_met("concurrency") && are_met("prefetch") && are_met("batch_receive") &&
              are_met("batch_delete") && are_met("sink"));
}

Test(needs, work_that_no_lease_lapses_in_needs_no_heartbeat)
{
    scenario.visibility = QN_STR("VH");
    options.work_max_ms = 10000; /* as long as the lease at this tempo */
    expect_reason("heartbeat", "--work-max");
    options.work_max_ms = 10001;
    cr_expect(are_met("heartbeat"));
}

Test(needs, a_heartbeat_is_ruled_out_by_declaration_alone)
{
    cr_expect(are_met("heartbeat")); /* short work shows none */
    options.heartbeat = "no";
    expect_reason("heartbeat", "--heartbeat no");
}

Test(needs, queues_must_be_named)
{
    expect_reason("output_queue", "--output-queue NAME");
    expect_reason("retry_queue", "--retry-queue NAME");
    options.output_queue = options.retry_queue = "x";
    cr_expect(are_met("output_queue") && are_met("retry_queue"));
}

Test(needs, a_long_lease_of_its_own_must_fit_the_time_there_is)
{
    scenario.drained_within = QN_STR("3*V+10s");
    options.scenario_timeout_ms = 120000;
    learned.visibility_ms = 300000;
    cr_expect(are_met("none")); /* the queue's own is that of the tempo */
    learned.overrides_visibility = true;
    expect_reason("none", "visibility timeout of 300 s that the consumer asks for, and "
                          "--scenario-timeout is 120 s");
    options.scenario_timeout_ms = 0;
    cr_expect(are_met("none"));
}

Test(needs, references_are_followed_by_who_says_so)
{
    expect_reason("references", "--references");
    options.references = true;
    cr_expect(are_met("references"));
}

Test(needs, batches_are_what_was_seen)
{
    cr_expect(are_met("batch_receive"));
    learned.batch = 1;
    expect_reason("batch_receive", "asks for one");
    expect_reason("batch_delete", "DeleteMessageBatch");
}

Test(needs, a_quarantine_is_ruled_out_by_another_policy)
{
    cr_expect(are_met("reject"));
    options.poison = "dlq";
    expect_reason("reject", "--poison");
}

Test(needs, effects_are_seen_by_the_sink_or_by_the_command)
{
    learned.level = QN_LEVEL_PROTOCOL;
    expect_reason("sink", "needs the effect sink, and");
    expect_reason("cmd", "or --effects-cmd");
    options.effects_command = "count";
    cr_expect(are_met("cmd"));
    expect_reason("sink", "the effects command tells only what is there at the end");
}

Test(needs, what_only_the_sink_makes_happen_is_left_out_without_it)
{
    struct qn_scenario_load loads[] = {{.outcome = QN_LOAD_FLAKY, .count = 1}};

    scenario.loads = loads;
    scenario.load_count = 1;
    cr_expect(are_met("none"));
    learned.level = QN_LEVEL_PROTOCOL;
    expect_reason("none", "fails on some attempts");
    loads[0].outcome = QN_LOAD_PERM;
    expect_reason("none", "refuses some messages for good");
    options.bodies.count = 1;
    expect_reason("none", "--body poison=FILE");
    options.body_texts[QN_BODY_POISON] = QN_STR("bad");
    cr_expect(are_met("none"));
}

Test(needs, an_optional_fault_of_the_sink_may_stay_away)
{
    struct qn_rule *rule = NULL;
    struct qn_error err;

    cr_assert(qn_rule_parse(QN_STR("on sink.work.begin do status 503"), 1, NULL, &rule, &err));
    struct qn_scenario_fault fault = {.rule = rule, .planned = 1};
    scenario.faults = &fault;
    scenario.fault_count = 1;
    learned.level = QN_LEVEL_PROTOCOL;
    expect_reason("none", "where one of its faults happens");
    fault.planned = 0;
    cr_expect(are_met("none"));
    qn_rule_free(rule);
}

Test(needs, without_the_sink_nobody_sees_several_at_once)
{
    learned.level = QN_LEVEL_COMMAND;
    expect_reason("concurrency", "--concurrency N says it");
    options.concurrency = 2;
    cr_expect(are_met("concurrency"));
}

Test(needs, the_form_without_the_sink_is_for_who_does_not_call_it)
{
    struct qn_scenario other = {0};

    cr_expect_eq(qn_needs_form(&scenario, &options, &learned), &scenario);
    scenario.without_sink = &other;
    cr_expect_eq(qn_needs_form(&scenario, &options, &learned), &scenario);
    learned.level = QN_LEVEL_PROTOCOL;
    cr_expect_eq(qn_needs_form(&scenario, &options, &learned), &other);
    learned = (struct qn_profile){0};
    cr_expect_eq(qn_needs_form(&scenario, &options, &learned), &scenario);
    options.effects_command = "count"; /* why else would there be one */
    cr_expect_eq(qn_needs_form(&scenario, &options, &learned), &other);
    scenario.without_sink = NULL;
}

Test(needs, what_fails_on_purpose_is_not_for_those_who_delete_first)
{
    struct qn_scenario_load load = {.count = 1, .outcome = QN_LOAD_FLAKY};

    scenario.loads = &load;
    scenario.load_count = 1;
    cr_expect(are_met("none"));
    options.at_most_once = true;
    expect_reason("none", "--at-most-once is declared");
    load.outcome = QN_LOAD_OK;
    cr_expect(are_met("none"));
}

Test(needs, expected_exits_are_zero_and_that_of_sigterm_unless_said)
{
    cr_expect(qn_declared_exit(&options, 0) && qn_declared_exit(&options, 143));
    cr_expect_not(qn_declared_exit(&options, 1));
    options.expect_exit = (struct qn_text_list){.items = {"7"}, .count = 1};
    cr_expect(qn_declared_exit(&options, 7));
    cr_expect_not(qn_declared_exit(&options, 0));
}

Test(needs, a_grace_period_that_is_declared_is_not_made_longer)
{
    qn_options_complete(&options);
    scenario.grace = QN_STR("3*VH");
    cr_expect(are_met("none"));
    options.grace_ms = 29000;
    options.is_grace_said = true;
    expect_reason("none", "needs a grace period of 30 s, and --grace declares a shorter one");
    options.grace_ms = 30000;
    cr_expect(are_met("none"));
}
