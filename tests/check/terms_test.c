/* What V and the other constants stand for in a run. */
#include <criterion/criterion.h>

#include "chaos/check/terms.h"

static struct qn_check_options options;
static struct qn_profile learned;

static struct qn_judge_input terms_with(const char *load, const char *grace)
{
    struct qn_scenario *scenario;
    struct qn_terms terms;
    struct qn_error err;
    struct qn_buf text;

    qn_buf_init(&text, 4096);
    qn_buf_append_format(&text,
                         "{\"id\":\"t\",\"load\":[\"%s\"],\"instances\":{\"delay\":\"300ms\"%s}}",
                         load, grace);
    cr_assert(qn_scenario_read(qn_buf_str(&text), "t", &scenario, &err), "%s", err.message);
    qn_buf_done(&text);
    qn_terms_init(&terms, scenario, &options, &learned);
    qn_scenario_free(scenario);
    return terms.in;
}

static struct qn_judge_input terms_of(const char *load)
{
    return terms_with(load, "");
}

static void begin(void)
{
    options = (struct qn_check_options){.tempo = "fast", .grace_ms = 7000};
    learned = (struct qn_profile){.is_known = true, .batch = 10, .concurrency = 2, .wait_s = 20};
}

TestSuite(terms, .init = begin);

Test(terms, tempo_says_how_long_leases_are)
{
    cr_expect_eq(terms_of("ok").visibility_ms, 4000);
    cr_expect_eq(terms_of("ok").heartbeat_visibility_ms, 10000);
    options.tempo = "normal";
    cr_expect_eq(terms_of("ok").visibility_ms, 10000);
    cr_expect_eq(terms_of("ok").heartbeat_visibility_ms, 10000);
    options.tempo = "real";
    cr_expect_eq(terms_of("ok").visibility_ms, 30000);
    cr_expect_eq(terms_of("ok").heartbeat_visibility_ms, 30000);
    options.visibility_s = 60;
    cr_expect_eq(terms_of("ok").visibility_ms, 60000);
    cr_expect_eq(terms_of("ok").heartbeat_visibility_ms, 60000);
}

Test(terms, others_are_declared_or_learned)
{
    struct qn_judge_input in = terms_of("ok");

    cr_expect_eq(in.grace_ms, 7000);
    cr_expect_eq(in.restart_ms, 300);
    cr_expect_eq(in.wait_ms, 20000);
    cr_expect_eq(in.concurrency, 2);
    cr_expect_eq(in.prefetch, 10);
    learned.held = 40;
    options.concurrency = 4;
    cr_expect_eq(terms_of("ok").prefetch, 38);
    cr_expect_eq(terms_of("ok").concurrency, 4);
}

Test(terms, soak_is_as_long_as_it_is_told_to_be)
{
    options.soak_ms = 30000;
    cr_expect_eq(terms_of("ok").soak_ms, 30000);
    /* 10 messages at once: 60 of 1 s, of which a batch of 10 counts. */
    cr_expect_eq(terms_of("ok rate=2 for=M work=1s").visibility_ms, 10 * 1000 * 3 / 4 + 2000 + 500);
    options.soak_ms = 2000;
    cr_expect_eq(terms_of("ok rate=2 for=M work=1s").visibility_ms, 4 * 1000 * 3 / 4 + 2000);
}

Test(terms, work_is_never_longer_than_the_consumer_may_take)
{
    options.work_max_ms = 100;
    cr_expect_eq(terms_of("ok count=20 work=1s").visibility_ms, 4000);
}

Test(terms, consumer_without_a_heartbeat_gets_room_for_its_batch)
{
    /* 10 of 1 s, two at once, one and a half times, and the longest, and a second. */
    cr_expect_eq(terms_of("ok count=20 work=1s").visibility_ms, 10 * 1000 * 3 / 4 + 2000 + 500);
    learned.heartbeat_ms = 2000;
    cr_expect_eq(terms_of("ok count=20 work=1s").visibility_ms, 4000);
}

Test(terms, consumer_that_is_slow_by_itself_gets_a_longer_lease)
{
    learned.handling_p99_ms = 1000;
    cr_expect_eq(terms_of("ok").visibility_ms, 4000);
    learned.handling_p99_ms = 4700;
    cr_expect_eq(terms_of("ok").visibility_ms, 9000);
    learned.heartbeat_ms = 2000;
    cr_expect_eq(terms_of("ok").visibility_ms, 4000, "it takes care of its leases");
}

Test(terms, work_that_is_measured_by_the_lease_does_not_lengthen_it)
{
    cr_expect_eq(terms_of("ok count=20 work=2*V").visibility_ms, 4000);
    cr_expect_eq(terms_of("ok count=20 work=2*VH").visibility_ms, 4000);
}

Test(terms, a_busy_machine_has_slack_within_a_limit)
{
    struct qn_terms terms = {0};

    qn_terms_set_slack(&terms, 20);
    cr_expect_eq(terms.in.slack_ms, 200);
    qn_terms_set_slack(&terms, 900);
    cr_expect_eq(terms.in.slack_ms, 5000);
}

Test(terms, expressions_in_braces_become_numbers)
{
    const struct qn_history nothing = {0};
    const struct qn_terms terms = {.in = {.history = &nothing, .visibility_ms = 4000}};
    struct qn_arena arena;
    bool any;

    qn_arena_init(&arena, 65536);
    cr_expect(qn_str_equal(qn_terms_fill(&terms, QN_STR("stop {V+1s} {x}"), "ms", &arena, &any),
                           QN_STR("stop 5000ms {x}")));
    cr_expect(any);
    cr_expect(qn_str_equal(qn_terms_fill(&terms, QN_STR("{V+1}"), "", &arena, &any), QN_STR("5")));
    cr_expect(
        qn_str_equal(qn_terms_fill(&terms, QN_STR("send \"{\\\"a\\\":1}\""), "ms", &arena, &any),
                     QN_STR("send \"{\\\"a\\\":1}\"")));
    cr_expect_not(any);
    qn_arena_done(&arena);
}

Test(terms, a_scenario_may_give_more_grace_unless_it_is_declared)
{
    cr_expect_eq(terms_with("ok", ",\"grace\":\"3*VH\"").grace_ms, 30000);
    options.is_grace_said = true;
    cr_expect_eq(terms_with("ok", ",\"grace\":\"3*VH\"").grace_ms, 7000);
}

static void expect_dlq(const char *name)
{
    struct qn_profile nobody = {0};
    struct qn_scenario *scenario;
    struct qn_terms terms;
    struct qn_arena arena;
    struct qn_error err;
    bool any;

    cr_assert(qn_scenario_read(QN_STR("{\"id\":\"t\",\"load\":[\"ok\"]}"), "t", &scenario, &err));
    qn_terms_init(&terms, scenario, &options, &nobody);
    qn_scenario_free(scenario);
    qn_arena_init(&arena, 4096);
    struct qn_str text = qn_terms_fill(&terms, QN_STR("of {dlq} in {V} {x}"), "ms", &arena, &any);
    cr_expect(any);
    cr_expect(qn_str_ends_with(text, QN_STR(" in 4000ms {x}")), "%s", text.ptr);
    cr_expect(qn_str_starts_with(qn_str_from(text, 3), qn_str_from_cstr(name)), "%s", text.ptr);
    qn_arena_done(&arena);
}

Test(terms, the_dead_letter_queue_has_the_name_of_the_source_and_a_word_more)
{
    expect_dlq("q-dlq ");
    options.queue_name = "orders";
    expect_dlq("orders-dlq ");
    options.is_fifo = true;
    options.queue_name = "orders.fifo";
    expect_dlq("orders-dlq.fifo ");
}
