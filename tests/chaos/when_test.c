/* When a rule fires: every clause on both of its sides. */
#include <criterion/criterion.h>

#include "chaos/count.h"
#include "server/base/random.h"

static struct qn_arena arena;
static struct qn_rule *rule;
static struct qn_rule_state state;
static struct qn_rule_subject subject;
static struct qn_rule_moment moment;
static struct qn_fact_message messages[3];

static void start(void)
{
    qn_arena_init(&arena, 1 << 20);
    qn_rule_subject_init(&subject, QN_TARGET_SQS, QN_STR("DeleteMessage"), &arena);
    subject.point = QN_RULE_POST_COMMIT;
    subject.queue = QN_STR("q");
    subject.messages = messages;
    moment = (struct qn_rule_moment){.seed = 1};
}

static void stop(void)
{
    qn_rule_state_done(&state);
    qn_rule_free(rule);
    qn_arena_done(&arena);
}

TestSuite(when, .init = start, .fini = stop);

static void use(const char *clauses)
{
    char text[200] = "on any ";
    struct qn_error err;
    size_t len = strlen(clauses);
    memcpy(text + 7, clauses, len);
    memcpy(text + 7 + len, " do hang", 9);
    qn_rule_free(rule);
    rule = NULL;
    cr_assert(qn_rule_parse(qn_str_from_cstr(text), 1, NULL, &rule, &err), "%s", err.message);
    qn_rule_state_done(&state);
    qn_rule_state_init(&state, QN_STR("a-rule"), NULL);
    state.since_ms = 0;
}

/* One request; whether the rule fires, and which messages it takes. */
static uint64_t once(void)
{
    struct qn_rule_decision decision;
    subject.since_ready_ms = moment.now_ms - moment.ready_ms;
    qn_rule_decide(rule, &state, &subject, &moment, &decision);
    if (decision.fired != 0) {
        qn_rule_commit(&state, &decision, moment.now_ms);
    }
    return decision.fired;
}

/* As many requests as the pattern has characters: x fires, - does not. */
static void fires(const char *pattern)
{
    for (size_t i = 0; pattern[i] != '\0'; i++) {
        cr_expect_eq(once() != 0, pattern[i] == 'x', "request %zu of %s", i + 1, pattern);
    }
}

static void with_message(const char *id, const char *group)
{
    messages[0] = (struct qn_fact_message){.message_id = qn_str_from_cstr(id),
                                           .group = qn_str_from_cstr(group)};
    subject.message_count = 1;
}

Test(when, a_rule_without_clauses_fires_each_time)
{
    use("");
    fires("xxxx");
    cr_expect_eq(state.total[1], 4);
    cr_expect_eq(state.total[2], 4);
}

Test(when, nth_fires_at_the_listed_matches)
{
    use("nth 2");
    fires("-x----");
    use("nth 1,3,6");
    fires("x-x--x--");
}

Test(when, every_fires_at_each_multiple)
{
    use("every 3");
    fires("--x--x--x-");
    use("every 1");
    fires("xxx");
}

Test(when, first_and_after_split_the_matches)
{
    use("first 2");
    fires("xx----");
    use("after 2");
    fires("--xxxx");
    use("after 2 first 4");
    fires("--xx--");
}

Test(when, once_and_times_count_firings)
{
    use("once");
    fires("x-----");
    use("times 2 every 2");
    fires("-x-x----");
}

Test(when, a_rule_that_came_second_does_not_use_up_its_once)
{
    struct qn_rule_decision decision;
    use("once");
    qn_rule_decide(rule, &state, &subject, &moment, &decision);
    cr_expect_neq(decision.fired, 0);
    cr_expect_eq(decision.match, 1);
    qn_rule_cancel(&decision);
    cr_expect_eq(state.total[1], 1);
    cr_expect_eq(state.total[2], 0);
    fires("x-");
}

Test(when, prob_draws_by_seed_rule_and_match_index)
{
    enum { REQUESTS = 4000 };
    static bool drawn[REQUESTS];
    size_t fired = 0;
    size_t same = 0;

    use("prob 0.25 seed 7");
    for (size_t i = 0; i < REQUESTS; i++) {
        drawn[i] = once() != 0;
        fired += drawn[i];
    }
    cr_expect(fired > REQUESTS / 5 && fired < REQUESTS * 3 / 10, "%zu", fired);
    use("prob 0.25 seed 7"); /* the same again, whatever the seed of the plan */
    moment.seed = 99;
    for (size_t i = 0; i < REQUESTS; i++) {
        cr_assert_eq(once() != 0, drawn[i]);
    }
    use("prob 0.25"); /* by the seed of the plan */
    for (size_t i = 0; i < REQUESTS; i++) {
        same += (once() != 0) == drawn[i];
    }
    cr_expect_lt(same, REQUESTS * 9 / 10);
    use("prob 1");
    fires("xxxxxxxxxx");
}

Test(when, prob_draws_anew_for_each_message)
{
    size_t fired = 0;

    use("prob 0.5 seed 1 per message");
    for (int i = 0; i < 200; i++) {
        char id[8] = {(char)('a' + i % 26), (char)('a' + i / 26), '\0'};
        with_message(id, NULL);
        fired += once() != 0;
    }
    cr_expect(fired > 60 && fired < 140, "%zu", fired);
}

Test(when, between_is_a_window_of_virtual_time_since_ready)
{
    use("between 2s 10s");
    moment.ready_ms = 1000;
    moment.now_ms = 2999;
    fires("-");
    moment.now_ms = 3000;
    fires("xx");
    moment.now_ms = 10999;
    fires("x");
    moment.now_ms = 11000;
    fires("-");
    cr_expect_eq(state.total[1], 3, "what is outside of the window is no match");
}

Test(when, nth_counts_inside_of_the_window)
{
    use("nth 1 between 2s 10s");
    fires("--");
    moment.now_ms = 2000;
    fires("x-");
}

Test(when, for_ends_after_a_while)
{
    use("for 2s");
    moment.now_ms = 1999;
    fires("x");
    moment.now_ms = 2000;
    fires("-");
    moment.ready_ms = 2000; /* a ready mark begins it anew */
    fires("x");
    moment.now_ms = 4000;
    fires("-");
}

Test(when, for_counts_from_when_a_later_rule_is_first_asked)
{
    use("for 2s");
    state.since_ms = INT64_MIN;
    moment.now_ms = 100000;
    fires("x");
    moment.now_ms = 101999;
    fires("x");
    moment.now_ms = 102000;
    fires("-");
}

Test(when, per_message_counts_each_message_for_itself)
{
    use("nth 2 per message");
    with_message("a", NULL);
    fires("-");
    with_message("b", NULL);
    fires("-x-");
    with_message("a", NULL);
    fires("x-");
    cr_expect_eq(state.total[1], 6);
    cr_expect_eq(state.total[2], 2);
}

Test(when, per_group_instance_queue_and_connection)
{
    use("once per group");
    with_message("a", "A");
    fires("x-");
    with_message("b", "A");
    fires("-");
    with_message("c", "B");
    fires("x-");
    subject.queue = QN_STR("other");
    fires("x-");

    use("once per instance");
    subject.instance = QN_STR("QUERN0001");
    fires("x-");
    subject.instance = QN_STR("QUERN0002");
    fires("x-");

    use("first 1 per queue");
    fires("x-");
    subject.queue = QN_STR("third");
    fires("x-");

    use("first 1 per connection");
    subject.connection = 1;
    fires("x-");
    subject.connection = 2;
    fires("x-");
    subject.connection = 1;
    fires("-");
}

Test(when, each_entry_of_a_batch_is_a_match_of_its_own)
{
    for (size_t i = 0; i < 3; i++) {
        static const char *const ids[] = {"a", "b", "c"};
        messages[i] = (struct qn_fact_message){.message_id = qn_str_from_cstr(ids[i])};
    }
    subject.message_count = 3;

    use("where mid in (a,c)");
    cr_expect_eq(once(), 5);
    use("nth 2 where mid in (a,c)");
    cr_expect_eq(once(), 4);
    cr_expect_eq(once(), 0);
    use("once where mid in (a,c)");
    cr_expect_eq(once(), 1);
    cr_expect_eq(once(), 0);
    use("once per message");
    cr_expect_eq(once(), 7);
    cr_expect_eq(once(), 0);
    use("times 2 per group"); /* all in the same group: none */
    cr_expect_eq(once(), 3);
    cr_expect_eq(once(), 0);
    use("nth 1");
    cr_expect_eq(once(), UINT64_MAX, "without message fields the request is one match");
}

static uint64_t slots[QN_COUNT_SLOTS][4];

static void use_slots(const char *clauses, struct qn_str name)
{
    use(clauses);
    qn_rule_state_done(&state);
    qn_rule_state_init(&state, name, slots);
    state.since_ms = 0;
}

Test(when, counters_in_slots_go_on_after_a_restart)
{
    use_slots("nth 3", QN_STR("lost"));
    fires("--");
    use_slots("nth 3", QN_STR("lost"));
    fires("x");
    use_slots("once", QN_STR("crash"));
    moment.now_ms = 77;
    fires("x");
    use_slots("once", QN_STR("crash"));
    fires("-");
    cr_expect_eq(state.total[2], 1);
    cr_expect_eq(state.total[3], 77);
    use_slots("once", QN_STR("another"));
    fires("x");
}

Test(when, counters_per_message_go_on_after_a_restart)
{
    use_slots("first 1 per message", QN_STR("lost"));
    with_message("a", NULL);
    fires("x-");
    use_slots("first 1 per message", QN_STR("lost"));
    fires("-");
    with_message("b", NULL);
    fires("x");
}

Test(when, a_time_goes_on_after_a_restart)
{
    use_slots("for 10s", QN_STR("window"));
    state.since_ms = INT64_MIN;
    moment.now_ms = 5000;
    fires("x");
    use_slots("for 10s", QN_STR("window"));
    state.since_ms = INT64_MIN;
    moment.now_ms = 14999;
    fires("x");
    moment.now_ms = 15000;
    fires("-");
    qn_rule_state_forget(&state);
    use_slots("for 10s", QN_STR("window"));
    state.since_ms = INT64_MIN;
    fires("x");
}

Test(when, a_removed_rule_begins_anew)
{
    use_slots("first 1 per message", QN_STR("lost"));
    with_message("a", NULL);
    fires("x-");
    qn_rule_state_forget(&state);
    use_slots("first 1 per message", QN_STR("lost"));
    cr_expect_eq(state.total[1], 0);
    fires("x-");
}

Test(when, counters_that_find_no_slot_count_all_the_same)
{
    use_slots("once per message", QN_STR("lost"));
    for (int i = 0; i < 1000; i++) {
        char id[8] = {(char)('a' + i % 26), (char)('a' + i / 26 % 26), (char)('a' + i / 676), '\0'};
        with_message(id, NULL);
        fires("x-");
    }
    use_slots("once", QN_STR("late")); /* rules still find room */
    cr_expect_neq(state.total, state.own);
    fires("x-");
}
