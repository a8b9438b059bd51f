/* Chains: what a rule does one after the other, to the request and apart from it. */
#include <criterion/criterion.h>

#include "chaos/chaos.h"

static struct qn_plan *plan;
static struct qn_arena arena;
static struct qn_event_list events;
static struct qn_facts facts;
static struct qn_fact_message message;

static void start(void)
{
    plan = qn_plan_new(&(struct qn_plan_options){.seed = 1, .start_ms = 1000});
    qn_arena_init(&arena, 1 << 20);
    events.wanted = true;
    qn_buf_init(&events.encoded, 1 << 20);
    message = (struct qn_fact_message){.message_id = QN_STR("id-1")};
    facts = (struct qn_facts){.arena = &arena,
                              .request_id = QN_STR("r-1"),
                              .action = QN_STR("ReceiveMessage"),
                              .account = QN_STR("000000000000"),
                              .queue = QN_STR("q"),
                              .now_ms = 1000,
                              .messages = &message,
                              .message_count = 1};
}

static void stop(void)
{
    qn_plan_free(plan);
    qn_buf_done(&events.encoded);
    qn_arena_done(&arena);
}

TestSuite(chain, .init = start, .fini = stop);

static struct qn_verdict fire(const char *text, enum qn_chaos_point point)
{
    struct qn_error err;

    cr_assert(qn_plan_add(plan, qn_str_from_cstr(text), &err), "%s: %s", text, err.message);
    return qn_chaos_at(plan, point, &facts, &events);
}

static void expect_effect(enum qn_effect_kind kind, int64_t due_ms)
{
    struct qn_effect effect;

    cr_expect_not(qn_plan_take_effect(plan, due_ms - 1, &effect), "something came too early");
    cr_assert(qn_plan_take_effect(plan, due_ms, &effect), "nothing came at %d", (int)due_ms);
    cr_expect_eq(effect.kind, kind);
    cr_expect_eq(effect.due_ms, due_ms);
}

static void expect_no_effect(void)
{
    struct qn_effect effect;

    cr_expect_not(qn_plan_take_effect(plan, INT64_MAX, &effect));
}

Test(chain, behind_a_delay_comes_what_is_done_to_the_request)
{
    struct qn_verdict verdict =
        fire("on any do delay 200ms then throttle as slow", QN_POINT_ARRIVE);

    cr_expect_eq(verdict.kind, QN_VERDICT_DELAY);
    cr_expect_eq(verdict.delay_ms, 200);
    cr_assert_not_null(verdict.then);
    cr_expect_eq(verdict.then->kind, QN_VERDICT_ERROR);
    cr_expect_eq(verdict.then->error, QN_ERR_THROTTLING);
    cr_expect_null(verdict.then->then);
    expect_no_effect();
}

Test(chain, waits_can_follow_each_other)
{
    struct qn_verdict verdict =
        fire("on any at arrive do delay 1s then delay 2s then hang", QN_POINT_ARRIVE);

    cr_expect_eq(verdict.delay_ms, 1000);
    cr_assert_not_null(verdict.then);
    cr_expect_eq(verdict.then->delay_ms, 2000);
    cr_assert_not_null(verdict.then->then);
    cr_expect_eq(verdict.then->then->kind, QN_VERDICT_HANG);
}

Test(chain, a_hold_ends_when_the_action_behind_it_is_finished)
{
    struct qn_verdict verdict =
        fire("on any at post-commit do hold then after 300ms expire-lease", QN_POINT_POST_COMMIT);

    cr_expect_eq(verdict.kind, QN_VERDICT_HOLD);
    cr_expect_null(verdict.then);
    expect_effect(QN_EFFECT_EXPIRE_LEASE, 1300);
    expect_effect(QN_EFFECT_RELEASE, 1300);
    expect_no_effect();
}

Test(chain, a_pause_is_an_action_that_a_hold_can_wait_for)
{
    (void)fire("on any do hold then after 2s", QN_POINT_ARRIVE);
    expect_effect(QN_EFFECT_RELEASE, 3000);
    expect_no_effect();
}

Test(chain, a_hold_at_the_end_is_released_from_outside)
{
    (void)fire("on any do expire-lease then hold", QN_POINT_POST_COMMIT);
    expect_effect(QN_EFFECT_EXPIRE_LEASE, 1000);
    expect_no_effect();
}

Test(chain, what_the_harness_finishes_it_releases)
{
    struct qn_verdict verdict =
        fire("on any do hold then after 1s kill instance", QN_POINT_POST_COMMIT);

    if (verdict.kind == QN_VERDICT_PASS) {
        verdict = qn_chaos_at(plan, QN_POINT_ARRIVE, &facts, &events);
    }
    cr_expect_eq(verdict.kind, QN_VERDICT_HOLD);
    expect_no_effect();
}

Test(chain, a_hold_then_a_verdict_is_released_into_it)
{
    struct qn_verdict verdict = fire("on any do hold then reset 0", QN_POINT_ARRIVE);

    if (verdict.kind == QN_VERDICT_PASS) {
        verdict = qn_chaos_at(plan, QN_POINT_POST_COMMIT, &facts, &events);
    }
    cr_expect_eq(verdict.kind, QN_VERDICT_HOLD);
    cr_assert_not_null(verdict.then);
    cr_expect_eq(verdict.then->kind, QN_VERDICT_RESET);
    expect_effect(QN_EFFECT_RELEASE, 1000);
    expect_no_effect();
}

Test(chain, effects_keep_their_distance)
{
    (void)fire("on any do expire-lease then after 1s expire-lease then after 2s crash server",
               QN_POINT_POST_COMMIT);
    expect_effect(QN_EFFECT_EXPIRE_LEASE, 1000);
    expect_effect(QN_EFFECT_EXPIRE_LEASE, 2000);
    expect_effect(QN_EFFECT_CRASH, 4000);
    expect_no_effect();
}

Test(chain, behind_a_delay_effects_come_later_too)
{
    (void)fire("on any at post-commit do delay 700ms then expire-lease", QN_POINT_POST_COMMIT);
    expect_effect(QN_EFFECT_EXPIRE_LEASE, 1700);
    expect_no_effect();
}

Test(chain, an_effect_knows_the_request_at_which_it_began)
{
    struct qn_effect effect;

    (void)fire("on any at post-commit do hold then after 1s expire-lease", QN_POINT_POST_COMMIT);
    cr_assert(qn_plan_take_effect(plan, 2000, &effect));
    cr_expect(qn_str_equal(effect.request, QN_STR("r-1")));
    cr_assert(qn_plan_take_effect(plan, 2000, &effect));
    cr_expect_eq(effect.kind, QN_EFFECT_RELEASE);
    cr_expect(qn_str_equal(effect.request, QN_STR("r-1")));
}

Test(chain, behind_an_answer_effects_wait_until_it_has_left)
{
    struct qn_effect effect;

    (void)fire("on any at post-response do expire-lease then after 1s expire-lease",
               QN_POINT_REPLY);
    cr_expect_eq(qn_plan_next_ms(plan), INT64_MAX);
    expect_no_effect();
    qn_plan_answer_left(plan, QN_STR("r-2"));
    expect_no_effect();
    qn_plan_answer_left(plan, QN_STR("r-1"));
    cr_expect_eq(qn_plan_next_ms(plan), 1000);
    cr_expect(qn_plan_take_effect(plan, 1000, &effect));
    expect_effect(QN_EFFECT_EXPIRE_LEASE, 2000);
    expect_no_effect();
}

Test(chain, what_waits_for_an_answer_comes_before_the_next_request)
{
    (void)fire("on any at post-response do refuse 1s then expire-lease then freeze server 1s",
               QN_POINT_REPLY);
    qn_plan_request_begins(plan);
    expect_effect(QN_EFFECT_EXPIRE_LEASE, 1000);
    expect_no_effect();
    qn_plan_answer_left(plan, QN_STR("r-1"));
    expect_effect(QN_EFFECT_REFUSE, 1000);
    expect_effect(QN_EFFECT_FREEZE, 1000);
    expect_no_effect();
}

Test(chain, what_waits_for_an_answer_goes_with_its_rule)
{
    (void)fire("on any at mid-response do expire-lease as mid", QN_POINT_REPLY);
    cr_expect(qn_plan_remove(plan, QN_STR("mid")));
    qn_plan_answer_left(plan, QN_STR("r-1"));
    expect_no_effect();
}

Test(chain, a_rule_that_has_nothing_but_effects_is_named_all_the_same)
{
    struct qn_verdict verdict = fire("on any at arrive do refuse 1s as gone", QN_POINT_ARRIVE);

    cr_expect_eq(verdict.kind, QN_VERDICT_PASS);
    cr_expect(qn_str_equal(verdict.rule, QN_STR("gone")));
    expect_effect(QN_EFFECT_REFUSE, 1000);
    cr_expect(qn_plan_remove(plan, QN_STR("gone")));
    verdict = fire("on any nth 9 at arrive do refuse 1s", QN_POINT_ARRIVE);
    cr_expect(qn_str_is_none(verdict.rule));
}

Test(chain, a_removed_rule_takes_its_effects_with_it)
{
    (void)fire("on any do after 1s expire-lease as lapse", QN_POINT_POST_COMMIT);
    cr_expect(qn_plan_remove(plan, QN_STR("lapse")));
    expect_no_effect();
}
