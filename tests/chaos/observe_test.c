/* Rules on what happens inside the server and on the clock, and the effects that they queue. */
#include <criterion/criterion.h>

#include "chaos/chaos.h"

static struct qn_plan *plan;
static struct qn_event_list events;
static uint64_t slots[256][4];

static void start(void)
{
    plan = qn_plan_new(&(struct qn_plan_options){.seed = 1, .start_ms = 1000, .counters = slots});
    events.wanted = true;
    qn_buf_init(&events.encoded, 1 << 20);
}

static void stop(void)
{
    qn_plan_free(plan);
    qn_buf_done(&events.encoded);
}

TestSuite(observe, .init = start, .fini = stop);

static void add(const char *text)
{
    struct qn_error err;
    cr_assert(qn_plan_add(plan, qn_str_from_cstr(text), &err), "%s: %s", text, err.message);
}

static void happens(enum qn_event_kind kind, const char *id, const char *key, int64_t now_ms)
{
    struct qn_event event;
    qn_event_init(&event, kind);
    event.account = QN_STR("000000000000");
    event.queue = QN_STR("q");
    event.message_id = qn_str_from_cstr(id);
    event.key = qn_str_from_cstr(key);
    event.payload_id = QN_STR("m-003");
    qn_plan_observe(plan, &event, now_ms);
}

static void ready(int64_t now_ms)
{
    struct qn_event event;
    qn_event_init(&event, QN_EVENT_MARK);
    event.reason = QN_STR("ready");
    qn_plan_observe(plan, &event, now_ms);
}

/* How many fault events were told since the last call; all of them are of this rule. */
static size_t faults(const char *rule)
{
    struct qn_reader reader;
    struct qn_event event;
    size_t count = 0;

    qn_plan_take_events(plan, &events);
    qn_reader_init(&reader, qn_buf_str(&events.encoded));
    while (reader.at < reader.end) {
        struct qn_reader one;
        qn_reader_init(&one, qn_reader_bytes(&reader));
        cr_assert(qn_event_decode(&one, &event));
        if (event.kind == QN_EVENT_FAULT) {
            cr_expect(qn_str_equal(event.rule, qn_str_from_cstr(rule)));
            count++;
        }
    }
    qn_buf_clear(&events.encoded);
    return count;
}

Test(observe, a_deleted_message_comes_back_once_and_later)
{
    struct qn_effect effect;
    add("on msg.delete where key=m-003 do after 500ms resurrect as back");
    happens(QN_EVENT_LEASE_EXPIRE, "id", "k", 1500);
    cr_expect_eq(qn_plan_next_ms(plan), INT64_MAX);
    happens(QN_EVENT_MSG_DELETE, "id", "k", 2000);
    cr_expect_eq(qn_plan_next_ms(plan), 2500);
    cr_expect_not(qn_plan_take_effect(plan, 2499, &effect));
    cr_assert(qn_plan_take_effect(plan, 2500, &effect));
    cr_expect_eq(effect.kind, QN_EFFECT_RESURRECT);
    cr_expect(qn_str_equal(effect.rule, QN_STR("back")));
    cr_expect(qn_str_equal(effect.account, QN_STR("000000000000")));
    cr_expect(qn_str_equal(effect.queue, QN_STR("q")));
    cr_expect(qn_str_equal(effect.message_id, QN_STR("id")));
    cr_expect_eq(faults("back"), 1);

    happens(QN_EVENT_MSG_DELETE, "id", "k", 3000); /* the copy: not again */
    cr_expect_not(qn_plan_take_effect(plan, 9000, &effect));
    happens(QN_EVENT_MSG_DELETE, "other", "k", 3000);
    cr_expect(qn_plan_take_effect(plan, 9000, &effect));
}

Test(observe, a_resurrection_is_not_repeated_after_a_crash)
{
    struct qn_effect effect;
    add("on msg.delete do resurrect as back");
    happens(QN_EVENT_MSG_DELETE, "id", "k", 2000);
    cr_expect(qn_plan_take_effect(plan, 2000, &effect));
    qn_plan_free(plan);
    plan = qn_plan_new(&(struct qn_plan_options){.seed = 1, .start_ms = 3000, .counters = slots});
    add("on msg.delete do resurrect as back");
    happens(QN_EVENT_MSG_DELETE, "id", "k", 3000);
    cr_expect_not(qn_plan_take_effect(plan, 9000, &effect));
}

Test(observe, effects_come_in_the_order_of_their_instants)
{
    struct qn_effect effect;
    add("on lease.grant where key=late do after 2s expire-lease as late");
    add("on lease.grant where key=early do after 1s expire-lease as early");
    happens(QN_EVENT_LEASE_GRANT, "1", "late", 1000);
    happens(QN_EVENT_LEASE_GRANT, "2", "early", 1000);
    happens(QN_EVENT_LEASE_GRANT, "3", "early", 1000);
    static const char *const expected[] = {"2", "3", "1"};
    for (size_t i = 0; i < 3; i++) {
        cr_assert(qn_plan_take_effect(plan, 3000, &effect));
        cr_expect_eq(effect.kind, QN_EFFECT_EXPIRE_LEASE);
        cr_expect(qn_str_equal(effect.message_id, qn_str_from_cstr(expected[i])));
    }
}

Test(observe, effects_of_a_removed_rule_are_forgotten)
{
    struct qn_effect effect;
    add("on msg.delete do after 1s resurrect as back");
    happens(QN_EVENT_MSG_DELETE, "id", "k", 1000);
    cr_expect(qn_plan_remove(plan, QN_STR("back")));
    cr_expect_eq(qn_plan_next_ms(plan), INT64_MAX);
    cr_expect_not(qn_plan_take_effect(plan, 9000, &effect));
}

Test(observe, fifo_queues_get_no_copies)
{
    struct qn_event event;
    struct qn_effect effect;
    add("on msg.delete do resurrect");
    qn_event_init(&event, QN_EVENT_MSG_DELETE);
    event.queue = QN_STR("q.fifo");
    event.message_id = QN_STR("id");
    qn_plan_observe(plan, &event, 1000);
    cr_expect_not(qn_plan_take_effect(plan, 9000, &effect));
}

Test(observe, ticks_come_at_each_multiple_since_ready)
{
    add("on tick 3s do signal instance=2 TERM as t");
    qn_plan_observe(plan, NULL, 1000);
    cr_expect_eq(qn_plan_next_ms(plan), 4000);
    qn_plan_observe(plan, NULL, 3999);
    cr_expect_eq(faults("t"), 0);
    qn_plan_observe(plan, NULL, 4000);
    cr_expect_eq(faults("t"), 1);
    qn_plan_observe(plan, NULL, 13000); /* a jump over three of them */
    cr_expect_eq(faults("t"), 3);
    cr_expect_eq(qn_plan_next_ms(plan), 16000);
    ready(14500);
    cr_expect_eq(qn_plan_next_ms(plan), 17500);
    qn_plan_observe(plan, NULL, 17499);
    cr_expect_eq(faults("t"), 0);
    qn_plan_observe(plan, NULL, 17500);
    cr_expect_eq(faults("t"), 1);
}

Test(observe, a_tick_can_be_once_and_crash_the_server)
{
    struct qn_effect effect;
    add("on tick 2s once do crash server then restart server as c");
    qn_plan_observe(plan, NULL, 10000);
    cr_expect_eq(faults("c"), 1);
    cr_assert(qn_plan_take_effect(plan, 10000, &effect));
    cr_expect_eq(effect.kind, QN_EFFECT_CRASH);
    cr_expect_not(qn_plan_take_effect(plan, 10000, &effect));
}

Test(observe, a_rule_that_is_added_later_ticks_from_then_on)
{
    qn_plan_observe(plan, NULL, 100000);
    add("on tick 3s do mark x as t");
    cr_expect_leq(qn_plan_next_ms(plan), 100000, "it wants to learn the time at once");
    qn_plan_observe(plan, NULL, 200000);
    cr_expect_eq(faults("t"), 0);
    cr_expect_eq(qn_plan_next_ms(plan), 203000);
}

Test(observe, very_many_ticks_are_done_in_slices)
{
    add("on tick 1ms do mark x as t");
    qn_plan_observe(plan, NULL, 1000 + 2500);
    cr_expect_eq(faults("t"), 1000);
    cr_expect_leq(qn_plan_next_ms(plan), 3500);
    qn_plan_observe(plan, NULL, 3500);
    qn_plan_observe(plan, NULL, 3500);
    cr_expect_eq(faults("t"), 1500);
    cr_expect_eq(qn_plan_next_ms(plan), 3501);
}

Test(observe, the_ready_mark_outlives_a_crash)
{
    ready(5000);
    qn_plan_free(plan);
    plan = qn_plan_new(&(struct qn_plan_options){.seed = 1, .start_ms = 9000, .counters = slots});
    add("on tick 1s between 6s 8s do mark x as t");
    qn_plan_observe(plan, NULL, 9000);
    cr_expect_eq(qn_plan_next_ms(plan), 10000, "no tick of the time before the crash");
    qn_plan_observe(plan, NULL, 20000);
    cr_expect_eq(faults("t"), 2); /* at 11000 and 12000: 6 s and 7 s since ready */
}
