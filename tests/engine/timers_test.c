/* Delays, retention, and the order of what falls due together. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_create(&f, "q", "");
    fixture_create(&f, "q.fifo", "");
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(timers, .init = start, .fini = stop);

/* ---- delay (14.1) ---- */

Test(timers, a_message_without_a_delay_of_its_own_takes_the_queue_s)
{
    fixture_set(&f, "q", "'DelaySeconds':'5'");
    fixture_send(&f, "q", "m");
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 1");
    fixture_advance_s(&f, 5);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
}

Test(timers, a_delay_of_0_counts_as_given)
{
    fixture_set(&f, "q", "'DelaySeconds':'5'");
    fixture_send_with(&f, "q", "m", "'DelaySeconds':0");
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
}

Test(timers, the_longest_delay_is_fifteen_minutes)
{
    fixture_send_with(&f, "q", "m", "'DelaySeconds':900");
    fixture_advance_ms(&f, 899999);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 1");
    fixture_advance_ms(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
}

Test(timers, a_change_of_the_delay_is_not_retroactive_on_a_standard_queue)
{
    fixture_set(&f, "q", "'DelaySeconds':'100'");
    fixture_send(&f, "q", "m");
    fixture_set(&f, "q", "'DelaySeconds':'0'");
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 1");
    fixture_advance_s(&f, 99);
    fixture_set(&f, "q", "'DelaySeconds':'900'");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
}

Test(timers, a_delay_of_0_on_a_fifo_message_is_ignored)
{
    fixture_set(&f, "q.fifo", "'DelaySeconds':'5'");
    fixture_send_with(&f, "q.fifo", "m",
                      "'MessageGroupId':'g','MessageDeduplicationId':'d','DelaySeconds':0");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "0 0 1");
}

Test(timers, a_delayed_message_that_expires_was_never_visible)
{
    fixture_set(&f, "q", "'MessageRetentionPeriod':'60'");
    f.events.wanted = true;
    fixture_send_with(&f, "q", "m", "'DelaySeconds':100");
    fixture_advance_s(&f, 60);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_MSG_EXPIRE), 1);
}

Test(timers, a_delayed_fifo_message_that_expires_leaves_the_others_delayed)
{
    fixture_set(&f, "q.fifo", "'DelaySeconds':'100','MessageRetentionPeriod':'60'");
    fixture_send(&f, "q.fifo", "a1");
    fixture_advance_s(&f, 30);
    fixture_send(&f, "q.fifo", "a2");
    fixture_advance_s(&f, 30);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "0 0 1");
    fixture_set(&f, "q.fifo", "'DelaySeconds':'40'");
    fixture_advance_s(&f, 10);
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 1), "a2");
}

/* ---- retention (14.2) ---- */

Test(timers, a_message_is_kept_for_four_days_by_default)
{
    fixture_send(&f, "q", "m");
    fixture_advance_ms(&f, 345600000 - 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    fixture_advance_ms(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(timers, a_longer_retention_keeps_what_is_there)
{
    fixture_set(&f, "q", "'MessageRetentionPeriod':'60'");
    fixture_send(&f, "q", "m");
    fixture_advance_s(&f, 59);
    fixture_set(&f, "q", "'MessageRetentionPeriod':'1000'");
    fixture_advance_s(&f, 940);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(timers, a_longer_retention_does_not_bring_back_what_had_expired)
{
    fixture_set(&f, "q", "'MessageRetentionPeriod':'60'");
    fixture_send(&f, "q", "m");
    f.now_ms += 60000;
    fixture_set(&f, "q", "'MessageRetentionPeriod':'1000'");
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(timers, an_expired_message_does_not_go_to_the_dead_letter_queue)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    fixture_set(&f, "q", "'MessageRetentionPeriod':'60'");
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':1");
    fixture_advance_s(&f, 60);
    fixture_receive(&f, "q", 1);
    cr_expect_str_eq(fixture_counts(&f, "dead"), "0 0 0");
}

Test(timers, receiving_does_not_make_a_message_live_longer)
{
    fixture_set(&f, "q", "'MessageRetentionPeriod':'60'");
    fixture_send(&f, "q", "m");
    fixture_advance_s(&f, 59);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

/* ---- at one instant: expiry, delay end, visibility end, requests (17.1) ---- */

Test(timers, what_expires_at_the_instant_its_lease_ends_is_not_delivered)
{
    fixture_set(&f, "q", "'MessageRetentionPeriod':'60'");
    fixture_send(&f, "q", "m");
    fixture_advance_s(&f, 30);
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':30");
    fixture_advance_s(&f, 20);
    struct fixture_poll *poll = fixture_poll(&f, "q", 1, 20, "");
    fixture_advance_s(&f, 10);
    cr_expect_not(poll->is_answered);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(timers, what_expires_at_the_instant_its_delay_ends_is_not_delivered)
{
    fixture_set(&f, "q", "'MessageRetentionPeriod':'60'");
    struct fixture_poll *poll;
    fixture_send_with(&f, "q", "m", "'DelaySeconds':60");
    fixture_advance_s(&f, 50);
    poll = fixture_poll(&f, "q", 1, 20, "");
    fixture_advance_s(&f, 10);
    cr_expect_not(poll->is_answered);
}

Test(timers, a_request_at_the_instant_a_lease_ends_finds_the_message)
{
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':5");
    f.now_ms += 5000;
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
}

Test(timers, a_fifo_delete_at_the_instant_the_lease_ends_comes_too_late)
{
    fixture_send(&f, "q.fifo", "a1");
    fixture_receive_with(&f, "q.fifo", 1, "'VisibilityTimeout':5");
    f.now_ms += 5000;
    cr_expect_eq(fixture_delete(&f, "q.fifo", fixture_handle(&f, "a1")),
                 QN_ERR_INVALID_PARAMETER_VALUE);
}

Test(timers, an_expiring_head_and_the_end_of_the_next_delay_come_together)
{
    fixture_set(&f, "q.fifo", "'MessageRetentionPeriod':'60'");
    fixture_send(&f, "q.fifo", "a1");
    fixture_receive_with(&f, "q.fifo", 1, "'VisibilityTimeout':1000");
    fixture_set(&f, "q.fifo", "'DelaySeconds':'30'");
    fixture_advance_s(&f, 30);
    fixture_send(&f, "q.fifo", "a2");
    fixture_advance_s(&f, 30);
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "a2");
}

/* ---- the next event ---- */

Test(timers, next_event_is_never_without_anything_to_wait_for)
{
    cr_expect_eq(qn_engine_next_event_ms(f.engine), INT64_MAX);
}

Test(timers, next_event_is_the_earliest_of_all)
{
    int64_t start_ms = f.now_ms;

    fixture_send(&f, "q", "m");
    cr_expect_eq(qn_engine_next_event_ms(f.engine),
                 start_ms + QN_RETENTION_DEFAULT_S * INT64_C(1000));
    fixture_send(&f, "q.fifo", "a1");
    cr_expect_eq(qn_engine_next_event_ms(f.engine), start_ms + QN_DEDUPLICATION_MS);
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':100");
    cr_expect_eq(qn_engine_next_event_ms(f.engine), start_ms + 100000);
    struct fixture_poll *poll = fixture_poll(&f, "q", 1, 20, "");
    cr_expect_eq(qn_engine_next_event_ms(f.engine), start_ms + 20000);
    fixture_send_with(&f, "q", "n", "'DelaySeconds':7");
    cr_expect_eq(qn_engine_next_event_ms(f.engine), start_ms + 7000);
    fixture_poll_cancel(&f, poll);
    fixture_advance_s(&f, 7);
    cr_expect_eq(qn_engine_next_event_ms(f.engine), start_ms + 100000);
    fixture_change(&f, "q", fixture_handle(&f, "m"), 200);
    cr_expect_eq(qn_engine_next_event_ms(f.engine), start_ms + 207000);
}

Test(timers, next_event_follows_a_deleted_queue)
{
    fixture_send_with(&f, "q", "n", "'DelaySeconds':7");
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'q'");
    fixture_settle(&f);
    cr_expect_eq(qn_engine_next_event_ms(f.engine), INT64_MAX);
    fixture_send_with(&f, "q.fifo", "a", "'MessageGroupId':'g','MessageDeduplicationId':'d'");
    cr_expect_eq(qn_engine_next_event_ms(f.engine), f.now_ms + QN_DEDUPLICATION_MS);
}

Test(timers, next_event_knows_the_rate_of_a_move_task)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    fixture_send(&f, "dead", "m1 m2 m3");
    fixture_must(&f, "StartMessageMoveTask",
                 "'SourceArn':'%s','DestinationArn':'%s','MaxNumberOfMessagesPerSecond':2",
                 fixture_arn(&f, "dead"), fixture_arn(&f, "q"));
    fixture_settle(&f);
    cr_expect_eq(qn_engine_next_event_ms(f.engine), f.now_ms + 500);
}

Test(timers, next_event_knows_when_a_deleted_name_is_free)
{
    f.options.aws_waits = true;
    fixture_restart(&f);
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'q'");
    fixture_settle(&f);
    cr_expect_eq(qn_engine_next_event_ms(f.engine), f.now_ms + QN_RECREATE_WAIT_MS);
}

Test(timers, many_queues_come_in_the_order_of_their_instants)
{
    for (int i = 0; i < 50; i++) {
        const char *name = fixture_format(&f, "n%d", i);
        fixture_create(&f, name, "");
        fixture_send_with(&f, name, "m",
                          fixture_format(&f, "'DelaySeconds':%d", (i * 37) % 50 + 1));
    }
    for (int i = 0; i < 50; i += 3) {
        fixture_must(&f, "DeleteQueue", "'QueueUrl':'n%d'", i);
    }
    for (int t = 1; t <= 50; t++) {
        fixture_advance_s(&f, 1);
        for (int i = 0; i < 50; i++) {
            if (i % 3 != 0) {
                cr_expect_eq(
                    qn_queue_counts_of(fixture_queue(&f, fixture_format(&f, "n%d", i))).visible,
                    (i * 37) % 50 + 1 <= t);
            }
        }
    }
}
