/* The ledger of the effect sink, on a clock that the test moves. */
#include <criterion/criterion.h>

#include "chaos/check/effects.h"

enum { CALLS_MAX = 8 };

static struct qn_history history;
static struct qn_recorder recorder;
static struct qn_effects *effects;
static struct qn_effect_script script;
static struct qn_effect_answer answers[CALLS_MAX]; /* by owner; status 0: none so far */
static struct qn_effect_verdict verdict_at_begin;
static struct qn_effect_verdict verdict_at_commit;
static struct qn_effect_verdict verdict_at_reject;
static bool client_is_there;

static const struct qn_effect_script *script_of(void *state, struct qn_str k, int64_t attempt)
{
    (void)attempt;
    (void)state;
    (void)k;
    return &script;
}

static struct qn_effect_verdict at_event(void *state, const struct qn_check_event *event)
{
    (void)state;
    return event->kind == QN_CHECK_WORK_COMMIT ? verdict_at_commit
           : event->kind == QN_CHECK_REJECT    ? verdict_at_reject
                                               : verdict_at_begin;
}

static bool is_there(void *state, void *owner)
{
    (void)state;
    (void)owner;
    return client_is_there;
}

static void take_answer(void *state, void *owner, const struct qn_effect_answer *answer)
{
    (void)state;
    *(struct qn_effect_answer *)owner = *answer;
}

static void open_with(int64_t capacity, bool busy_is_409)
{
    const struct qn_effects_options options = {
        .recorder = &recorder,
        .script = script_of,
        .at_event = at_event,
        .answer = take_answer,
        .is_there = is_there,
        .capacity = capacity,
        .busy_is_409 = busy_is_409,
    };

    qn_effects_free(effects);
    effects = qn_effects_new(&options);
}

static void open_ledger(void)
{
    qn_history_init(&history);
    recorder = (struct qn_recorder){.history = &history};
    script = (struct qn_effect_script){.work_ms = 100};
    memset(answers, 0, sizeof(answers));
    verdict_at_begin = (struct qn_effect_verdict){.fate = QN_EFFECT_GO_ON};
    verdict_at_commit = verdict_at_reject = verdict_at_begin;
    client_is_there = true;
    effects = NULL;
    open_with(0, false);
}

static void close_ledger(void)
{
    qn_effects_free(effects);
    effects = NULL;
    qn_history_done(&history);
}

TestSuite(effects, .init = open_ledger, .fini = close_ledger);

static void begin(size_t owner, const char *k, const char *ik, uint64_t payload, int64_t now_ms)
{
    const struct qn_effect_item item = {qn_str_from_cstr(k), payload, QN_EVENT_NO_INT};
    const struct qn_effect_call call = {
        .ik = qn_str_from_cstr(ik),
        .instance = QN_STR("QUERN0001"),
        .items = &item,
        .item_count = 1,
        .n = QN_EVENT_NO_INT,
    };

    qn_effects_begin(effects, &call, now_ms, &answers[owner]);
}

/* Commits that were not replays, or replays. */
static size_t commits(bool replayed)
{
    size_t count = 0;

    for (size_t i = 0; i < history.count; i++) {
        count += history.events[i].kind == QN_CHECK_WORK_COMMIT &&
                 history.events[i].replayed == replayed;
    }
    return count;
}

static size_t events_of(enum qn_check_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < history.count; i++) {
        count += history.events[i].kind == kind;
    }
    return count;
}

Test(effects, effect_is_applied_when_its_work_is_over)
{
    begin(0, "k-1", "k-1", 1, 1000);
    cr_expect_eq(qn_effects_next_ms(effects), 1100);
    qn_effects_run(effects, 1099);
    cr_expect_eq(answers[0].status, 0);
    cr_expect_not(qn_effects_is_applied(effects, QN_STR("k-1")));
    qn_effects_run(effects, 1100);
    cr_expect_eq(answers[0].status, 200);
    cr_expect_not(answers[0].replayed);
    cr_expect(qn_effects_is_applied(effects, QN_STR("k-1")));
    cr_expect_eq(qn_effects_open_count(effects), 0);
    cr_expect_eq(qn_effects_next_ms(effects), INT64_MAX);
}

Test(effects, second_call_with_the_key_is_answered_as_a_replay)
{
    begin(0, "k-1", "k-1", 1, 0);
    qn_effects_run(effects, 100);
    begin(1, "k-1", "k-1", 1, 200);
    cr_expect_eq(answers[1].status, 200);
    cr_expect(answers[1].replayed);
    cr_expect_eq(commits(false), 1);
    cr_expect_eq(commits(true), 1);
}

Test(effects, without_a_key_each_call_is_an_application)
{
    begin(0, "k-1", NULL, 1, 0);
    begin(1, "k-1", NULL, 1, 0);
    qn_effects_run(effects, 100);
    cr_expect_eq(commits(false), 2);
}

Test(effects, key_of_another_payload_is_refused)
{
    begin(0, "k-1", "key", 1, 0);
    begin(1, "k-1", "key", 2, 10);
    cr_expect_eq(answers[1].status, 422);
    qn_effects_run(effects, 100);
    begin(2, "k-1", "key", 2, 200);
    cr_expect_eq(answers[2].status, 422);
    cr_expect_eq(commits(false), 1);
}

Test(effects, call_with_a_busy_key_waits_and_is_a_replay)
{
    begin(0, "k-1", "k-1", 1, 0);
    begin(1, "k-1", "k-1", 1, 50);
    qn_effects_run(effects, 60);
    cr_expect_eq(answers[1].status, 0);
    qn_effects_run(effects, 100);
    cr_expect_eq(answers[0].status, 200);
    cr_expect_eq(answers[1].status, 200);
    cr_expect(answers[1].replayed);
    cr_expect_eq(commits(false), 1);
}

Test(effects, waiting_call_does_the_work_when_the_first_one_fails)
{
    begin(0, "k-1", "k-1", 1, 0);
    begin(1, "k-1", "k-1", 1, 50);
    qn_effects_abort(effects, QN_STR("QUERN0002"), "gone"); /* another instance: nothing happens */
    cr_expect_eq(qn_effects_open_count(effects), 2);
    static const struct qn_str outcomes[] = {{"transient", 9}, {"ok", 2}};
    script.outcomes = outcomes;
    script.outcome_count = 2;
    begin(2, "k-2", "k-2", 1, 0); /* first attempt of its key: fails */
    begin(3, "k-2", "k-2", 1, 0); /* second attempt: waits, then works */
    qn_effects_run(effects, 100);
    cr_expect_eq(answers[2].status, 503);
    cr_expect_eq(answers[3].status, 0);
    qn_effects_run(effects, 200);
    cr_expect_eq(answers[3].status, 200);
    cr_expect_not(answers[3].replayed);
}

Test(effects, busy_key_may_be_answered_409)
{
    open_with(0, true);
    begin(0, "k-1", "k-1", 1, 0);
    begin(1, "k-1", "k-1", 1, 50);
    cr_expect_eq(answers[1].status, 409);
    qn_effects_run(effects, 100);
    cr_expect_eq(answers[0].status, 200);
}

Test(effects, calls_over_capacity_are_answered_429)
{
    open_with(1, false);
    begin(0, "k-1", "k-1", 1, 0);
    begin(1, "k-2", "k-2", 1, 0);
    cr_expect_eq(answers[1].status, 429);
    qn_effects_run(effects, 100);
    begin(2, "k-2", "k-2", 1, 200);
    qn_effects_run(effects, 300);
    cr_expect_eq(answers[2].status, 200);
}

Test(effects, permanent_outcome_is_answered_422_without_an_effect)
{
    static const struct qn_str outcomes[] = {{"permanent", 9}};
    script.outcomes = outcomes;
    script.outcome_count = 1;
    begin(0, "k-1", "k-1", 1, 0);
    qn_effects_run(effects, 100);
    cr_expect_eq(answers[0].status, 422);
    cr_expect_eq(commits(false), 0);
    cr_expect_eq(events_of(QN_CHECK_WORK_ABORT), 1);
}

Test(effects, work_of_an_instance_that_died_leaves_no_effect)
{
    begin(0, "k-1", "k-1", 1, 0);
    qn_effects_abort(effects, QN_STR("QUERN0001"), "gone");
    qn_effects_run(effects, 1000);
    cr_expect_eq(commits(false), 0);
    cr_expect_eq(events_of(QN_CHECK_WORK_ABORT), 1);
    begin(1, "k-1", "k-1", 1, 2000); /* the key is free again */
    qn_effects_run(effects, 2100);
    cr_expect_eq(answers[1].status, 200);
    cr_expect_not(answers[1].replayed);
}

Test(effects, held_answer_keeps_its_effect_when_the_instance_dies)
{
    verdict_at_commit.fate = QN_EFFECT_HELD;
    begin(0, "k-1", "k-1", 1, 0);
    qn_effects_run(effects, 100);
    cr_expect_eq(answers[0].status, 0);
    cr_expect_eq(commits(false), 1);
    qn_effects_abort(effects, QN_STR("QUERN0001"), "gone");
    cr_expect_eq(events_of(QN_CHECK_WORK_ABORT), 0);
    verdict_at_commit.fate = QN_EFFECT_GO_ON;
    begin(1, "k-1", "k-1", 1, 200);
    cr_expect(answers[1].replayed);
}

Test(effects, bulk_call_commits_each_of_its_keys)
{
    const struct qn_effect_item items[] = {{QN_STR("k-1"), 1, 1}, {QN_STR("k-2"), 2, 2}};
    const struct qn_effect_call call = {.items = items, .item_count = 2, .n = QN_EVENT_NO_INT};

    qn_effects_begin(effects, &call, 0, &answers[0]);
    qn_effects_run(effects, 100);
    cr_expect_eq(answers[0].status, 200);
    cr_expect_eq(commits(false), 2);
    cr_expect(qn_effects_is_applied(effects, QN_STR("k-2")));
}

/* Work that can never succeed, with a call that rejects. */
static void begin_rejecting(size_t owner, int64_t now_ms)
{
    static const struct qn_str outcomes[] = {{"permanent", 9}};
    const struct qn_effect_item item = {QN_STR("k-1"), 1, QN_EVENT_NO_INT};
    const struct qn_effect_call call = {
        .ik = QN_STR("k-1"), .items = &item, .item_count = 1, .rejects = true};

    script.outcomes = outcomes;
    script.outcome_count = 1;
    qn_effects_begin(effects, &call, now_ms, &answers[owner]);
    qn_effects_run(effects, now_ms + 100);
}

Test(effects, what_can_never_succeed_is_recorded_and_then_answered)
{
    verdict_at_reject.fate = QN_EFFECT_HELD;
    begin_rejecting(0, 0);
    cr_expect_eq(events_of(QN_CHECK_WORK_ABORT), 1);
    cr_expect_eq(events_of(QN_CHECK_REJECT), 1);
    cr_expect_eq(answers[0].status, 0);
    cr_assert(qn_effects_release(effects, 1, 200));
    cr_expect_eq(answers[0].status, 200);
    cr_expect_eq(events_of(QN_CHECK_WORK_ABORT), 1);
    cr_expect_not(qn_effects_is_applied(effects, QN_STR("k-1")));
}

Test(effects, consumer_that_dies_before_it_hears_of_the_reject_has_it_recorded)
{
    verdict_at_reject.fate = QN_EFFECT_HELD;
    begin_rejecting(0, 0);
    qn_effects_close_all(effects);
    cr_expect_eq(answers[0].status, 503);
    cr_expect_eq(events_of(QN_CHECK_WORK_ABORT), 1);
    cr_expect_eq(events_of(QN_CHECK_REJECT), 1);
}

Test(effects, fault_in_place_of_a_reject_leaves_no_record)
{
    verdict_at_reject = (struct qn_effect_verdict){.fate = QN_EFFECT_STATUS, .status = 500};
    begin_rejecting(0, 0);
    cr_expect_eq(answers[0].status, 500);
    cr_expect_eq(events_of(QN_CHECK_REJECT), 0);
    verdict_at_reject.commits = true; /* in place of its answer it does */
    begin_rejecting(1, 200);
    cr_expect_eq(answers[1].status, 500);
    cr_expect_eq(events_of(QN_CHECK_REJECT), 1);
}

Test(effects, held_work_begins_when_it_is_released)
{
    verdict_at_begin.fate = QN_EFFECT_HELD;
    begin(0, "k-1", "k-1", 1, 0);
    qn_effects_run(effects, 5000);
    cr_expect_eq(answers[0].status, 0);
    cr_assert(qn_effects_release(effects, 1, 5000));
    cr_expect_not(qn_effects_release(effects, 1, 5000));
    qn_effects_run(effects, 5099);
    cr_expect_eq(answers[0].status, 0);
    qn_effects_run(effects, 5100);
    cr_expect_eq(answers[0].status, 200);
}

Test(effects, fault_in_place_of_the_work_leaves_no_effect)
{
    verdict_at_begin = (struct qn_effect_verdict){.fate = QN_EFFECT_STATUS, .status = 500};
    begin(0, "k-1", "k-1", 1, 0);
    cr_expect_eq(answers[0].status, 500);
    cr_expect_not(qn_effects_is_applied(effects, QN_STR("k-1")));
    verdict_at_begin = (struct qn_effect_verdict){.fate = QN_EFFECT_BREAK, .end = QN_EFFECT_RESET};
    begin(1, "k-1", "k-1", 1, 0);
    cr_expect_eq(answers[1].end, QN_EFFECT_RESET);
    cr_expect_not(qn_effects_is_applied(effects, QN_STR("k-1")));
}

Test(effects, fault_in_place_of_the_answer_keeps_the_effect)
{
    verdict_at_begin =
        (struct qn_effect_verdict){.fate = QN_EFFECT_STATUS, .status = 504, .commits = true};
    begin(0, "k-1", "k-1", 1, 0);
    cr_expect_eq(answers[0].status, 0);
    qn_effects_run(effects, 100);
    cr_expect_eq(answers[0].status, 504);
    cr_expect(qn_effects_is_applied(effects, QN_STR("k-1")));
}

Test(effects, delay_of_a_rule_comes_before_the_work)
{
    verdict_at_begin.delay_ms = 300;
    begin(0, "k-1", "k-1", 1, 0);
    cr_expect_eq(qn_effects_next_ms(effects), 300);
    qn_effects_run(effects, 300);
    cr_expect_eq(qn_effects_next_ms(effects), 400);
    qn_effects_run(effects, 400);
    cr_expect_eq(answers[0].status, 200);
}

Test(effects, closed_gate_lets_nobody_begin)
{
    qn_effects_set_gate(effects, false);
    begin(0, "k-1", "k-1", 1, 0);
    begin(1, "k-2", "k-2", 1, 0);
    qn_effects_run(effects, 5000);
    cr_expect_eq(qn_effects_next_ms(effects), INT64_MAX);
    qn_effects_set_gate(effects, true);
    qn_effects_run(effects, 5000);
    cr_expect_eq(qn_effects_next_ms(effects), 5100);
    qn_effects_run(effects, 5100);
    cr_expect(answers[0].status == 200 && answers[1].status == 200);
}

Test(effects, what_is_under_way_can_be_over_at_once)
{
    begin(0, "k-1", "k-1", 1, 0);
    cr_expect_eq(qn_effects_next_ms(effects), 100);
    qn_effects_finish(effects, 20);
    cr_expect_eq(answers[0].status, 0);
    cr_expect_eq(qn_effects_next_ms(effects), 20);
    begin(1, "k-2", "k-2", 1, 20); /* what begins behind it takes its time */
    qn_effects_run(effects, 20);
    cr_expect_eq(answers[0].status, 200);
    cr_expect_eq(qn_effects_next_ms(effects), 120);
}

Test(effects, capacity_can_change)
{
    qn_effects_set_capacity(effects, 1);
    begin(0, "k-1", "k-1", 1, 0);
    begin(1, "k-2", "k-2", 1, 0);
    cr_expect_eq(answers[1].status, 429);
    qn_effects_set_capacity(effects, 2);
    begin(2, "k-2", "k-2", 1, 0);
    cr_expect_eq(answers[2].status, 0);
}

Test(effects, hung_call_ends_when_its_client_goes)
{
    static const struct qn_str outcomes[] = {{"hang", 4}, {"ok", 2}};

    script.outcomes = outcomes;
    script.outcome_count = 2;
    begin(0, "k-1", "k-1", 1, 0);
    qn_effects_run(effects, 99999);
    cr_expect_eq(answers[0].status, 0);
    cr_expect_eq(qn_effects_open_count(effects), 0);
    begin(1, "k-1", "k-1", 1, 0); /* waits for the key */
    client_is_there = false;
    qn_effects_run(effects, 100000);
    client_is_there = true;
    qn_effects_run(effects, 100100);
    cr_expect_eq(answers[1].status, 200);
    cr_expect_eq(qn_effects_open_count(effects), 0);
}

Test(effects, a_client_that_hangs_up_on_work_is_told_once_and_the_work_goes_on)
{
    size_t left = 0;

    script.work_ms = 5000;
    begin(0, "k-1", "k-1", 1, 1000);
    client_is_there = false;
    qn_effects_run(effects, 4000);
    qn_effects_run(effects, 4010);
    qn_effects_run(effects, 6000);
    for (size_t i = 0; i < history.count; i++) {
        const struct qn_check_event *event = &history.events[i];
        if (event->kind == QN_CHECK_WORK_LEFT) {
            left++;
            cr_expect(qn_str_equal(event->detail->reason, QN_STR("after 3.0 s")));
        }
    }
    cr_expect_eq(left, 1);
    cr_expect(qn_effects_is_applied(effects, QN_STR("k-1")));
}
