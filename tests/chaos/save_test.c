/* Rules outlive the process that had them. */
#include <criterion/criterion.h>

#include "chaos/chaos.h"
#include "chaos/plan.h"

static uint64_t counters[QN_COUNT_SLOTS][4];
static struct qn_plan *plan;
static struct qn_arena arena;
static struct qn_event_list events;

static struct qn_plan *new_plan(int64_t start_ms)
{
    return qn_plan_new(&(struct qn_plan_options){.counters = counters, .start_ms = start_ms});
}

static void start(void)
{
    memset(counters, 0, sizeof(counters));
    plan = new_plan(1000);
    qn_arena_init(&arena, 1 << 20);
    events.wanted = true;
    qn_buf_init(&events.encoded, 1 << 20);
}

static void stop(void)
{
    qn_plan_free(plan);
    qn_buf_done(&events.encoded);
    qn_arena_done(&arena);
}

TestSuite(save, .init = start, .fini = stop);

static void add(const char *text)
{
    struct qn_error err;

    cr_assert(qn_plan_add(plan, qn_str_from_cstr(text), &err), "%s: %s", text, err.message);
}

/* Another process takes the rules over. */
static void die(int64_t now_ms)
{
    struct qn_buf saved;
    struct qn_error err;

    qn_buf_init(&saved, 1 << 20);
    qn_plan_save(plan, now_ms, &saved);
    qn_plan_free(plan);
    plan = new_plan(now_ms);
    cr_assert(qn_plan_restore(plan, qn_buf_str(&saved), &err), "%s", err.message);
    qn_buf_done(&saved);
}

static bool fires(int64_t now_ms)
{
    struct qn_facts facts = {
        .arena = &arena, .action = QN_STR("SendMessage"), .queue = QN_STR("q"), .now_ms = now_ms};

    return qn_chaos_at(plan, QN_POINT_ARRIVE, &facts, &events).kind != QN_VERDICT_PASS;
}

Test(save, rules_keep_their_order_names_and_texts)
{
    add("on any nth 3 do throttle   # why");
    add("on any do hang as second");
    add("unsound on SendMessage do fake-success");
    cr_assert(qn_plan_remove(plan, QN_STR("second")));
    json_t *before = qn_plan_list(plan);
    die(1000);
    json_t *after = qn_plan_list(plan);
    cr_expect(json_equal(before, after));
    cr_expect_eq(json_array_size(after), 2);
    add("on any do hang");
    cr_expect_not_null(qn_plan_find(plan, QN_STR("rule-3")), "no name is given again");
    json_decref(before);
    json_decref(after);
}

Test(save, a_disabled_rule_stays_disabled)
{
    add("on any do throttle as t");
    cr_assert(qn_plan_enable(plan, QN_STR("t"), false));
    die(1000);
    cr_expect_not(fires(1000));
    cr_assert(qn_plan_enable(plan, QN_STR("t"), true));
    die(1000);
    cr_expect(fires(1000));
}

Test(save, counts_go_on)
{
    add("on any nth 3 do throttle as t");
    cr_expect_not(fires(1000));
    cr_expect_not(fires(1000));
    die(1000);
    cr_expect(fires(1000));
    die(1000);
    cr_expect_not(fires(1000));
}

Test(save, for_counts_from_when_the_rule_was_added)
{
    cr_expect_not(fires(1000));
    cr_expect_not(fires(5000));
    qn_plan_observe(plan, NULL, 5000);
    add("on any for 10s do throttle as t");
    die(6000); /* before it was asked */
    cr_expect(fires(7000));
    die(8000);
    cr_expect(fires(15999));
    cr_expect_not(fires(16000));
}

Test(save, between_counts_from_the_first_start_or_from_the_ready_mark)
{
    struct qn_event mark;

    add("on any between 2s 10s do throttle as t");
    die(5000);
    cr_expect(fires(10999));
    cr_expect_not(fires(11000));
    qn_event_init(&mark, QN_EVENT_MARK);
    mark.reason = QN_STR("ready");
    qn_plan_observe(plan, &mark, 20000);
    die(25000);
    cr_expect(fires(29999));
    cr_expect_not(fires(30000));
}

Test(save, between_counts_from_the_first_request_before_the_crash)
{
    add("on any between 2s 10s do throttle as t");
    qn_plan_sqs_begins(plan, 50000);
    die(55000);
    qn_plan_sqs_begins(plan, 55500); /* the first of this life only */
    cr_expect_not(fires(51999));
    cr_expect(fires(59999));
    cr_expect_not(fires(60000));
}

Test(save, no_rules_are_rules_too)
{
    struct qn_error err;

    die(1000);
    cr_expect_eq(qn_plan_rule_count(plan), 0);
    cr_expect_not(qn_plan_restore(plan, QN_STR("x"), &err) && qn_plan_rule_count(plan) > 0);
}

static struct qn_plan *new_restorer(void)
{
    return qn_plan_new(&(struct qn_plan_options){.counters = counters, .can_restore = true});
}

static void expect_restores(int64_t least_ms, int64_t most_ms)
{
    int64_t least;
    int64_t most;

    cr_assert(qn_plan_restores(plan, &least, &most));
    cr_expect_eq(least, least_ms);
    cr_expect_eq(most, most_ms);
}

Test(save, snapshots_are_for_rules_that_can_still_go_back)
{
    int64_t least;
    int64_t most;

    qn_plan_free(plan);
    plan = new_restorer();
    add("on any do throttle as other");
    cr_expect_not(qn_plan_restores(plan, &least, &most));
    add("unsound on tick 1s do restore 10s as tick");
    add("unsound on SendMessage once at arrive do after 2s restore 30s as send");
    expect_restores(10000, 30000);
    cr_assert(qn_plan_enable(plan, QN_STR("tick"), false));
    expect_restores(30000, 30000);
    cr_assert(qn_plan_remove(plan, QN_STR("other")));
    cr_expect_not(fires(1000), "later");
    expect_restores(30000, 30000);
    struct qn_effect effect;
    cr_assert(qn_plan_take_effect(plan, 3000, &effect));
    cr_expect_eq(effect.amount_ms, 30000);
    cr_expect_not(qn_plan_restores(plan, &least, &most), "a once that has fired");
}
