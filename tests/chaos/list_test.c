/* What is told of the rules of a plan, and rules that are disabled. */
#include <criterion/criterion.h>

#include "chaos/chaos.h"

static struct qn_plan *plan;
static struct qn_arena arena;
static struct qn_event_list events;
static struct qn_facts facts;

static void start(void)
{
    plan = qn_plan_new(&(struct qn_plan_options){.seed = 1, .start_ms = 1000});
    qn_arena_init(&arena, 1 << 20);
    events.wanted = true;
    qn_buf_init(&events.encoded, 1 << 20);
    facts = (struct qn_facts){
        .arena = &arena, .action = QN_STR("ListQueues"), .queue = QN_STR("q"), .now_ms = 1000};
}

static void stop(void)
{
    qn_plan_free(plan);
    qn_buf_done(&events.encoded);
    qn_arena_done(&arena);
}

TestSuite(list, .init = start, .fini = stop);

static void add(const char *text)
{
    struct qn_error err;
    cr_assert(qn_plan_add(plan, qn_str_from_cstr(text), &err), "%s: %s", text, err.message);
}

static bool fires(void)
{
    return qn_chaos_at(plan, QN_POINT_ARRIVE, &facts, &events).kind != QN_VERDICT_PASS;
}

/* The member of the rule's row, as JSON. */
static void expect(size_t i, const char *member, const char *expected)
{
    json_t *list = qn_plan_list(plan);
    char *text = json_dumps(json_object_get(json_array_get(list, i), member),
                            JSON_ENCODE_ANY | JSON_COMPACT);
    cr_expect_str_eq(text, expected, "%s of rule %zu: %s", member, i, text);
    free(text);
    json_decref(list);
}

Test(list, says_everything_about_a_rule)
{
    add("on ListQueues do throttle as a # comment");
    add("unsound on msg.delete where queue=q.fifo do resurrect");
    expect(0, "name", "\"a\"");
    expect(0, "text", "\"on ListQueues do throttle as a\"");
    expect(0, "point", "\"arrive\"");
    expect(0, "enabled", "true");
    expect(0, "unsound", "false");
    expect(0, "matched", "0");
    expect(0, "fired", "0");
    expect(0, "last_fired", "null");
    expect(1, "name", "\"rule-1\"");
    expect(1, "point", "null");
    expect(1, "unsound", "true");
    cr_expect(fires());
    expect(0, "matched", "1");
    expect(0, "fired", "1");
    expect(0, "last_fired", "1000");
}

Test(list, names_the_queues_that_a_rule_names)
{
    add("on any do throttle");
    add("on any where queue=a or (queue in (b,a) and not queue ~ \"c*\") or queue != d do "
        "throttle");
    add("on any where queue > m and instance=x do throttle");
    add("on SendMessageBatch do fail-entries (queue=e and key=k) OverLimit");
    expect(0, "queues", "[]");
    expect(1, "queues", "[\"a\",\"b\",\"d\"]");
    expect(2, "queues", "[]");
    expect(3, "queues", "[\"e\"]");
}

Test(list, leaves_out_a_kind_of_queues_that_a_rule_leaves_out)
{
    add("on any where not queue ~ \"*.fifo\" do throttle");
    add("on any where not (queue ~ b* or queue = c) do throttle");
    add("on any where not not queue ~ d* do throttle");
    expect(0, "queues", "[]");
    expect(1, "queues", "[\"c\"]");
    expect(2, "queues", "[\"d*\"]");
}

Test(list, a_disabled_rule_counts_nothing_and_keeps_its_counts)
{
    add("on ListQueues nth 2,3 do throttle as a");
    cr_expect_not(fires());
    cr_expect(qn_plan_enable(plan, QN_STR("a"), false));
    expect(0, "enabled", "false");
    cr_expect_not(qn_plan_cares(plan, QN_POINT_ARRIVE));
    cr_expect_not(fires());
    cr_expect_not(fires());
    expect(0, "matched", "1");
    cr_expect(qn_plan_enable(plan, QN_STR("a"), true));
    cr_expect(fires());
    cr_expect(qn_plan_enable(plan, QN_STR("a"), true), "it is enabled already");
    cr_expect(fires());
    expect(0, "fired", "2");
    cr_expect_not(qn_plan_enable(plan, QN_STR("b"), true));
    cr_expect(qn_plan_has(plan, QN_STR("a")));
    cr_expect_not(qn_plan_has(plan, QN_STR("b")));
}

Test(list, a_rule_can_be_disabled_from_the_start)
{
    add("disabled on ListQueues do throttle as a");
    expect(0, "enabled", "false");
    expect(0, "text", "\"on ListQueues do throttle as a\"");
    cr_expect_not(fires());
    cr_expect(qn_plan_enable(plan, QN_STR("a"), true));
    cr_expect(fires());
    add("disabled unsound on SendMessage do fake-success as b");
    expect(1, "text", "\"unsound on SendMessage do fake-success as b\"");
}

Test(list, what_a_rule_had_begun_goes_on_when_it_is_disabled)
{
    struct qn_effect effect;
    struct qn_event event;
    qn_event_init(&event, QN_EVENT_MSG_DELETE);
    event.queue = QN_STR("q");
    event.message_id = QN_STR("id");
    add("on msg.delete do after 500ms resurrect as a");
    qn_plan_observe(plan, &event, 1000);
    cr_expect(qn_plan_enable(plan, QN_STR("a"), false));
    qn_plan_observe(plan, &event, 1000);
    cr_expect_eq(qn_plan_next_ms(plan), 1500);
    cr_expect(qn_plan_take_effect(plan, 1500, &effect));
    cr_expect_not(qn_plan_take_effect(plan, 1500, &effect));
}

Test(list, ticks_that_came_while_a_rule_was_disabled_are_not_made_up_for)
{
    add("on tick 1s do mark x as a");
    qn_plan_observe(plan, NULL, 1000);
    cr_expect_eq(qn_plan_next_ms(plan), 2000);
    qn_plan_observe(plan, NULL, 2000);
    cr_expect(qn_plan_enable(plan, QN_STR("a"), false));
    cr_expect_eq(qn_plan_next_ms(plan), INT64_MAX);
    qn_plan_observe(plan, NULL, 7300);
    cr_expect(qn_plan_enable(plan, QN_STR("a"), true));
    cr_expect_leq(qn_plan_next_ms(plan), 7300, "it learns the time");
    qn_plan_observe(plan, NULL, 7300);
    cr_expect_eq(qn_plan_next_ms(plan), 8000);
    expect(0, "fired", "1");
    qn_plan_observe(plan, NULL, 8000);
    expect(0, "fired", "2");
}

Test(list, for_counts_from_when_the_rule_was_added)
{
    (void)fires();
    add("on ListQueues for 2s do throttle as a");
    cr_expect_leq(qn_plan_next_ms(plan), 5000, "it learns the time");
    qn_plan_observe(plan, NULL, 5000);
    cr_expect_eq(qn_plan_next_ms(plan), INT64_MAX);
    facts.now_ms = 6999;
    cr_expect(fires());
    facts.now_ms = 7000;
    cr_expect_not(fires());
}

Test(list, the_text_of_all_rules_makes_them_again)
{
    static const char *const texts[] = {
        "on any do hang as a.b-C_9   # a comment",
        "on Delete* where key=k\n  # and here\n at arrive do hold",
        "disabled unsound on SendMessage do fake-success",
        "on any where body.\"a\\\"#b\\\\\" = \"x\ny\" do mark \"# \\n\"",
    };
    struct qn_buf text;
    struct qn_buf again;
    struct qn_mistakes mistakes = {.count = 0};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        add(texts[i]);
    }
    qn_buf_init(&text, 1 << 16);
    qn_buf_init(&again, 1 << 16);
    qn_plan_write(plan, &text);
    qn_buf_append_char(&text, '\0');
    cr_expect_str_eq(text.ptr, "on any do hang as a.b-C_9\n"
                               "on Delete* where key=k     at arrive do hold as rule-1\n"
                               "disabled unsound on SendMessage do fake-success as rule-2\n"
                               "on any where body.\"a\\\"#b\\\\\" = \"x\\ny\" do mark \"# \\n\" as "
                               "rule-3\n");
    cr_expect(qn_plan_remove(plan, QN_STR("")));
    cr_expect(qn_plan_add_lines(plan, qn_str(text.ptr, text.len - 1), &mistakes));
    qn_plan_write(plan, &again);
    cr_expect(qn_str_equal(qn_buf_str(&again), qn_str(text.ptr, text.len - 1)));
    qn_buf_done(&text);
    qn_buf_done(&again);
}

Test(list, a_rule_is_on_until_it_can_fire_no_more)
{
    add("on any once do throttle");
    add("on any nth 1,2 do throttle");
    add("on any first 2 do throttle");
    add("on any first 2 per queue do throttle");
    add("on any nth 3 do throttle");
    add("disabled on any once do throttle");
    for (size_t i = 0; i < 5; i++) {
        expect(i, "state", "\"on\"");
    }
    (void)fires();
    expect(0, "state", "\"done\"");
    expect(1, "state", "\"on\"");
    expect(2, "state", "\"on\"");
    (void)fires();
    expect(1, "state", "\"done\"");
    expect(2, "state", "\"done\"");
    expect(3, "state", "\"on\""); /* another queue may come */
    expect(4, "state", "\"on\"");
    expect(5, "state", "\"off\"");
}

Test(list, a_rule_that_was_switched_off_is_off_even_when_it_is_done)
{
    add("on any once do throttle as a");
    (void)fires();
    cr_assert(qn_plan_enable(plan, QN_STR("a"), false));
    expect(0, "state", "\"off\"");
    cr_assert(qn_plan_enable(plan, QN_STR("a"), true));
    expect(0, "state", "\"done\"");
}

Test(list, a_queue_that_the_rule_makes_is_none_that_it_waits_for)
{
    add("on ListQueues do create-queue made then purge of other");
    expect(0, "queues", "[\"other\"]");
}
