/* The live picture that decides about idle skips. */
#include <criterion/criterion.h>

#include "chaos/check/watch.h"

static struct qn_watch watch;

static void open_watch(void)
{
    qn_watch_init(&watch, QN_STR("q"), QN_STR("QUERNCHECK"), QN_STR_NONE);
}

static void close_watch(void)
{
    qn_watch_done(&watch);
}

TestSuite(watch, .init = open_watch, .fini = close_watch);

static void feed(enum qn_check_kind kind, const char *instance, const char *what, int64_t at_ms)
{
    struct qn_check_event event;
    bool is_call = kind == QN_CHECK_API_IN || kind == QN_CHECK_API_OUT;

    qn_check_event_init(&event, NULL, kind);
    event.queue = QN_STR("q");
    event.instance = qn_str_from_cstr(instance);
    event.wt = at_ms;
    if (is_call) {
        event.req = qn_str_from_cstr(what);
        event.action = what[0] == 'r' ? QN_STR("ReceiveMessage") : QN_STR("DeleteMessage");
    } else {
        event.mid = qn_str_from_cstr(what);
        event.deadline = at_ms + 4000;
    }
    qn_watch_feed(&watch, &event);
}

static bool is_idle(int64_t now_ms)
{
    return qn_watch_is_idle(qn_watch_instance_at(&watch, QN_STR("QUERN0001")), now_ms);
}

Test(watch, instance_is_idle_while_its_poll_is_parked)
{
    cr_expect_not(is_idle(0));
    feed(QN_CHECK_API_IN, "QUERN0001", "r1", 1000);
    cr_expect_not(is_idle(1010)); /* it may be answered any moment */
    cr_expect(is_idle(1100));
    feed(QN_CHECK_API_IN, "QUERN0001", "d1", 1100);
    cr_expect_not(is_idle(2000));
    feed(QN_CHECK_API_OUT, "QUERN0001", "d1", 1110);
    cr_expect(is_idle(2000));
}

Test(watch, a_delay_ends_when_the_message_can_be_received)
{
    cr_expect_eq(qn_watch_next_delay_ms(&watch, 0), INT64_MAX);
    feed(QN_CHECK_MSG_SEND, "QUERN0001", "m-1", 1000); /* until 5000 */
    feed(QN_CHECK_MSG_SEND, "QUERN0001", "m-2", 2000);
    cr_expect_eq(qn_watch_next_delay_ms(&watch, 4999), 5000);
    cr_expect_eq(qn_watch_next_delay_ms(&watch, 5000), 6000);
    feed(QN_CHECK_MSG_DELETE, "QUERN0001", "m-2", 2100);
    cr_expect_eq(qn_watch_next_delay_ms(&watch, 5000), INT64_MAX);
}

Test(watch, instance_is_idle_after_an_empty_answer_and_not_after_a_full_one)
{
    feed(QN_CHECK_API_IN, "QUERN0001", "r1", 1000);
    feed(QN_CHECK_API_OUT, "QUERN0001", "r1", 1000);
    cr_expect(is_idle(1000));
    feed(QN_CHECK_API_IN, "QUERN0001", "r2", 1000);
    feed(QN_CHECK_LEASE_GRANT, "QUERN0001", "m", 1000);
    feed(QN_CHECK_API_OUT, "QUERN0001", "r2", 1000);
    cr_expect_not(is_idle(5000));
}

Test(watch, lease_of_a_live_instance_is_held_and_that_of_a_dead_one_is_not)
{
    cr_expect_not(qn_watch_is_held(&watch));
    feed(QN_CHECK_LEASE_GRANT, "QUERN0001", "m", 1000);
    cr_expect(qn_watch_is_held(&watch));
    cr_expect_eq(qn_watch_next_deadline_ms(&watch), 5000);
    qn_watch_replace(&watch, QN_STR("QUERN0001"));
    cr_expect_not(qn_watch_is_held(&watch));
    cr_expect_eq(qn_watch_next_deadline_ms(&watch), 5000);
    feed(QN_CHECK_LEASE_EXPIRE, "QUERN0001", "m", 5000);
    cr_expect_eq(qn_watch_next_deadline_ms(&watch), INT64_MAX);
}

Test(watch, messages_left_are_counted)
{
    feed(QN_CHECK_MSG_SEND, "QUERNCHECK", "a", 0);
    feed(QN_CHECK_MSG_SEND, "QUERNCHECK", "b", 0);
    cr_expect_eq(watch.left, 2);
    feed(QN_CHECK_MSG_DELETE, "QUERN0001", "a", 0);
    feed(QN_CHECK_MSG_DLQ, "QUERN0001", "b", 0);
    cr_expect_eq(watch.left, 0);
    feed(QN_CHECK_MSG_DUPCOPY, "QUERN0001", "a", 0);
    cr_expect_eq(watch.left, 1);
}

Test(watch, restart_of_the_server_ends_all_calls)
{
    feed(QN_CHECK_API_IN, "QUERN0001", "r1", 0);
    feed(QN_CHECK_API_IN, "QUERN0001", "d1", 0);
    feed(QN_CHECK_BOOT, NULL, "", 10);
    cr_expect_not(is_idle(1000)); /* it may be pausing before the next attempt */
    feed(QN_CHECK_API_IN, "QUERN0001", "r2", 1000);
    cr_expect(is_idle(1100));
}

static void feed_fault(const char *req, const char *code)
{
    struct qn_check_event event;

    qn_check_event_init(&event, NULL, QN_CHECK_FAULT);
    event.instance = QN_STR("QUERN0001");
    event.req = qn_str_from_cstr(req);
    event.code = qn_str_from_cstr(code);
    qn_watch_feed(&watch, &event);
}

static void feed_attempt(const char *req, const char *invocation, int64_t at_ms)
{
    struct qn_check_event event;
    struct qn_check_detail detail;

    qn_check_event_init(&event, &detail, QN_CHECK_API_IN);
    event.queue = QN_STR("q");
    event.instance = QN_STR("QUERN0001");
    event.action = req[0] == 'r' ? QN_STR("ReceiveMessage") : QN_STR("DeleteMessage");
    event.req = qn_str_from_cstr(req);
    event.wt = at_ms;
    detail.invocation = qn_str_from_cstr(invocation);
    qn_watch_feed(&watch, &event);
}

Test(watch, a_call_whose_connection_a_rule_ended_is_over)
{
    feed(QN_CHECK_API_IN, "QUERN0001", "d1", 0);
    feed(QN_CHECK_API_IN, "QUERN0001", "d2", 0);
    feed(QN_CHECK_API_IN, "QUERN0001", "r1", 10);
    feed_fault("d1", "reset");
    cr_expect_not(is_idle(1000), "the other delete is under way");
    feed_fault("d2", "delay");
    cr_expect_not(is_idle(1000), "it will be answered");
    feed_fault("d2", "close");
    cr_expect(is_idle(1000));
    feed_fault("r1", "reset");
    cr_expect_not(is_idle(1000), "it has no poll, and was not told that there is nothing");
    feed(QN_CHECK_API_OUT, "QUERN0001", "d1", 1000); /* what was over is not over twice */
    feed(QN_CHECK_API_IN, "QUERN0001", "r2", 1000);
    cr_expect(is_idle(2000));
}

Test(watch, an_attempt_is_over_when_the_sdk_makes_the_next_one)
{
    feed(QN_CHECK_API_IN, "QUERN0001", "r1", 0);
    feed_attempt("d1", "call-1", 10);
    feed_attempt("d2", "call-1", 20);
    cr_expect_not(is_idle(1000));
    feed(QN_CHECK_API_OUT, "QUERN0001", "d2", 30);
    cr_expect_not(is_idle(20), "its poll is not parked yet");
    cr_expect(is_idle(1000));
}

Test(watch, calls_of_the_harness_are_nobodys)
{
    feed(QN_CHECK_API_IN, "QUERNCHECK", "r1", 0);
    cr_expect_null(qn_table_find(&watch.instances, QN_STR("QUERNCHECK")));
}

Test(watch, with_one_instance_foreign_keys_are_its_own)
{
    qn_watch_done(&watch);
    qn_watch_init(&watch, QN_STR("q"), QN_STR("QUERNCHECK"), QN_STR("QUERN0001"));
    feed(QN_CHECK_API_IN, "test", "r1", 0);
    cr_expect(qn_watch_instance_at(&watch, QN_STR("QUERN0001"))->has_called);
}
