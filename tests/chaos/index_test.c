/* Rules that cannot apply are not asked; those that can always are. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "chaos/chaos.h"

static struct qn_plan *plan;
static struct qn_arena arena;
static struct qn_event_list events;
static struct qn_fact_message messages[2];
static struct qn_facts facts;

static const char *const actions[] = {"SendMessage", "ReceiveMessage", "DeleteMessageBatch"};
enum { SEND, RECEIVE, DELETE_BATCH };

static void start(void)
{
    plan = qn_plan_new(&(struct qn_plan_options){
        .seed = 1, .start_ms = 1000, .actions = actions, .action_count = 3});
    qn_arena_init(&arena, 1 << 20);
    events.wanted = true;
    qn_buf_init(&events.encoded, 1 << 20);
    messages[0] = (struct qn_fact_message){
        .message_id = QN_STR("id-0"), .body = QN_STR("{\"idempotencyKey\":\"k-0\",\"tag\":\"t\"}")};
    messages[1] =
        (struct qn_fact_message){.message_id = QN_STR("id-1"),
                                 .group = QN_STR("A"),
                                 .body = QN_STR("{\"payload\":{\"id\":\"m-1\"},\"n\":5}")};
    facts = (struct qn_facts){.arena = &arena,
                              .action = QN_STR("DeleteMessageBatch"),
                              .queue = QN_STR("q"),
                              .instance = QN_STR("QUERN0002"),
                              .connection = 5,
                              .wait_s = -1,
                              .max = -1,
                              .entries = 2,
                              .now_ms = 3000,
                              .messages = messages,
                              .message_count = 2};
}

static void stop(void)
{
    qn_plan_free(plan);
    qn_buf_done(&events.encoded);
    qn_arena_done(&arena);
}

TestSuite(index, .init = start, .fini = stop);

static void add(const char *text)
{
    struct qn_error err;
    cr_assert(qn_plan_add(plan, qn_str_from_cstr(text), &err), "%s: %s", text, err.message);
}

static json_int_t matched(size_t i)
{
    json_t *list = qn_plan_list(plan);
    json_int_t count = json_integer_value(json_object_get(json_array_get(list, i), "matched"));
    json_decref(list);
    return count;
}

/* As the server asks before it looks at messages. */
static unsigned may_apply(enum qn_chaos_point point, bool is_now)
{
    struct qn_facts bare = facts;
    bare.messages = NULL;
    bare.message_count = 0;
    bare.code = QN_STR_NONE;
    return qn_plan_may_apply(plan, point, &bare, is_now);
}

Test(index, knows_for_which_actions_there_are_rules)
{
    add("on Delete* do hang as a");
    add("on SendMessage do throttle as b");
    cr_expect(qn_plan_cares_about(plan, QN_POINT_POST_COMMIT, DELETE_BATCH));
    cr_expect_not(qn_plan_cares_about(plan, QN_POINT_POST_COMMIT, SEND));
    cr_expect_not(qn_plan_cares_about(plan, QN_POINT_ARRIVE, DELETE_BATCH));
    cr_expect(qn_plan_cares_about(plan, QN_POINT_ARRIVE, SEND));
    cr_expect(qn_plan_enable(plan, QN_STR("b"), false));
    cr_expect_not(qn_plan_cares_about(plan, QN_POINT_ARRIVE, SEND));
    add("on any do short 1 as c");
    cr_expect(qn_plan_cares_about(plan, QN_POINT_PRE_COMMIT, RECEIVE));
    cr_expect_not(qn_plan_cares_about(plan, QN_POINT_PRE_COMMIT, DELETE_BATCH),
                  "short is for receives, whatever the rule says");
    cr_expect(qn_plan_remove(plan, QN_STR("")));
    for (size_t i = 0; i < 3; i++) {
        cr_expect_not(qn_plan_cares_about(plan, QN_POINT_PRE_COMMIT, i));
    }
}

/* Facts of more requests than one, so that both sides of each comparison occur. */
static void vary(size_t i)
{
    static const char *const queues[] = {"q", "other", "q.fifo", "7", "007", ""};
    start();
    qn_plan_free(plan);
    plan = qn_plan_new(&(struct qn_plan_options){
        .seed = 1, .start_ms = 1000, .actions = actions, .action_count = 3});
    facts.queue = i % 6 == 5 ? QN_STR_NONE : qn_str_from_cstr(queues[i % 6]);
    facts.is_fifo = i % 6 == 2;
    facts.entries = i % 2 == 0 ? 2 : 10;
    facts.action = qn_str_from_cstr(actions[i / 2 % 3]);
    facts.max = i % 3 == 0 ? 10 : -1;
    facts.now_ms = i % 5 == 0 ? 1500 : 20000;
    messages[0].receive_count = (int64_t)(i % 4);
    facts.message_count = i % 7 == 0 ? 0 : 1 + i % 2;
    facts.code = i % 2 == 0 ? QN_STR("OK") : QN_STR("OverLimit");
}

static const char *const tests[] = {
    "",
    "where queue=q",
    "where queue=7",
    "where queue in (q)",
    "where queue in (q,other)",
    "where queue != q",
    "where not queue=q",
    "where queue ~ \"*.fifo\"",
    "where queue=q and entries>5",
    "where entries>5 or queue=other",
    "where not (queue=other or entries<5)",
    "where instance=2 and max>=1",
    "where t > 5",
    "where t < 5 and queue=q",
    "between 10s 30s",
    "where key=k-0",
    "where key=m-1",
    "where key=7",
    "where key in (k-0)",
    "where queue=q and key=k-0",
    "where key=none or queue=q",
    "where not key=k-0",
    "where key != k-0 and entries=2",
    "where mid=id-1 and not (tag=t or rc>2)",
    "where body.n=5",
    "where group=A or tenant=A",
    "per message",
    "per group",
};
static const char *const ends[] = {"at arrive do throttle", "at pre-commit do delay 1s",
                                   "at post-commit do reset", "at pre-commit do fake-success",
                                   "at mid-response do hang"};
static const enum qn_chaos_point points[] = {QN_POINT_ARRIVE, QN_POINT_PRE_COMMIT,
                                             QN_POINT_POST_COMMIT, QN_POINT_PRE_COMMIT,
                                             QN_POINT_REPLY};

static size_t hits;
static size_t misses;

static void compare(size_t i, const char *test, size_t end)
{
    char text[200];
    struct qn_error err;

    stop();
    vary(i);
    (void)snprintf(text, sizeof(text), "unsound on any %s %s", test, ends[end]);
    cr_assert(qn_plan_add(plan, qn_str_from_cstr(text), &err) ||
                  strstr(err.message, "not known") != NULL,
              "%s: %s", text, err.message);
    bool now = may_apply(points[end], true) != 0;
    bool later = may_apply(points[end], false) != 0;
    (void)qn_chaos_at(plan, points[end], &facts, &events);
    bool matches = qn_plan_rule_count(plan) > 0 && matched(0) > 0;
    cr_assert(!matches || (now && later), "%zu: %s", i, text);
    hits += matches;
    misses += !now;
}

Test(index, no_rule_that_would_match_is_left_out)
{
    for (size_t i = 0; i < 60; i++) {
        for (size_t test = 0; test < sizeof(tests) / sizeof(tests[0]); test++) {
            for (size_t end = 0; end < sizeof(ends) / sizeof(ends[0]); end++) {
                compare(i, tests[test], end);
            }
        }
    }
    cr_expect_gt(hits, 1000);
    cr_expect_gt(misses, 1000);
}

Test(index, messages_are_needed_by_predicates_counters_and_actions)
{
    static const struct {
        const char *rule;
        enum qn_chaos_point point;
        unsigned found;
    } cases[] = {
        {"on any where queue=q do throttle", QN_POINT_ARRIVE, QN_PLAN_APPLIES},
        {"on any where queue=p do throttle", QN_POINT_ARRIVE, 0},
        {"on any where entries>1 prob 0.5 do delay 1s then reset", QN_POINT_ARRIVE,
         QN_PLAN_APPLIES},
        {"on any where mid=x do throttle", QN_POINT_ARRIVE,
         QN_PLAN_APPLIES | QN_PLAN_NEEDS_MESSAGES},
        {"on any where queue=p and mid=x do throttle", QN_POINT_ARRIVE, 0},
        {"on any once per message do throttle", QN_POINT_ARRIVE,
         QN_PLAN_APPLIES | QN_PLAN_NEEDS_MESSAGES},
        {"on any do fail-entries 1 OverLimit", QN_POINT_PRE_COMMIT,
         QN_PLAN_APPLIES | QN_PLAN_NEEDS_MESSAGES},
        {"on any at arrive do expire-lease", QN_POINT_ARRIVE,
         QN_PLAN_APPLIES | QN_PLAN_NEEDS_MESSAGES},
        {"on any at arrive do hold then kill instance", QN_POINT_ARRIVE, QN_PLAN_APPLIES},
        {"on any between 10s 20s do throttle", QN_POINT_ARRIVE, 0},
        {"on any where code=OK do reset", QN_POINT_POST_COMMIT, QN_PLAN_APPLIES},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        add(cases[i].rule);
        cr_expect_eq(may_apply(cases[i].point, true), cases[i].found, "%s", cases[i].rule);
        cr_expect_eq(matched(0), 0);
        cr_expect(qn_plan_remove(plan, QN_STR("")));
    }
    add("on any between 10s 20s do reset");
    cr_expect_eq(may_apply(QN_POINT_POST_COMMIT, false), QN_PLAN_APPLIES,
                 "it may be time when the request is there");
}

Test(index, events_are_wanted_for_rules_on_them_and_from_the_first_fault_on)
{
    add("on msg.delete where queue=q once do resurrect as back");
    cr_expect(qn_plan_wants_events(plan));
    cr_expect(qn_plan_resurrects(plan));
    cr_expect(qn_plan_enable(plan, QN_STR("back"), false));
    cr_expect_not(qn_plan_wants_events(plan));
    cr_expect_not(qn_plan_resurrects(plan));
    add("on any nth 2 do throttle as second");
    events.wanted = false;
    (void)qn_chaos_at(plan, QN_POINT_ARRIVE, &facts, &events);
    cr_expect_not(events.wanted);
    (void)qn_chaos_at(plan, QN_POINT_ARRIVE, &facts, &events);
    cr_expect(events.wanted);
    cr_expect_gt(events.encoded.len, 0);
    cr_expect(qn_plan_wants_events(plan));
}
