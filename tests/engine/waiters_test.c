/* Long polls: what wakes them, whose turn it is, and how they end. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    f.looks = true;
    fixture_create(&f, "q", "");
    fixture_create(&f, "q.fifo", "");
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(waiters, .init = start, .fini = stop);

#define EXPECT_WAITS(poll) cr_expect_not((poll)->is_answered)

static void expect_answer(const struct fixture_poll *poll, const char *bodies)
{
    cr_assert(poll->is_answered, "still waiting for %s", bodies);
    cr_expect_eq(poll->code, QN_ERR_NONE);
    cr_expect_str_eq(poll->bodies, bodies);
}

Test(waiters, RCV_3_a_long_poll_takes_what_is_there_without_waiting)
{
    fixture_send(&f, "q", "m1 m2");
    expect_answer(fixture_poll(&f, "q", 10, 20, ""), "m1 m2");
}

Test(waiters, RCV_3_a_long_poll_ends_empty_when_its_wait_has_passed)
{
    struct fixture_poll *poll = fixture_poll(&f, "q", 10, 5, "");
    fixture_advance_ms(&f, 4999);
    EXPECT_WAITS(poll);
    fixture_advance_ms(&f, 1);
    expect_answer(poll, "");
}

Test(waiters, RCV_3_a_batch_wakes_a_long_poll_with_all_of_it)
{
    struct fixture_poll *poll = fixture_poll(&f, "q", 10, 5, "");
    fixture_must(&f, "SendMessageBatch",
                 "'QueueUrl':'q','Entries':[{'Id':'1','MessageBody':'m1'},{'Id':'2',"
                 "'MessageBody':'m2'}]");
    expect_answer(poll, "m1 m2");
}

Test(waiters, RCV_4_a_send_wakes)
{
    struct fixture_poll *poll = fixture_poll(&f, "q", 10, 5, "");
    fixture_send(&f, "q", "m");
    expect_answer(poll, "m");
}

Test(waiters, RCV_4_the_end_of_a_delay_wakes)
{
    struct fixture_poll *poll = fixture_poll(&f, "q", 10, 5, "");
    fixture_send_with(&f, "q", "m", "'DelaySeconds':2");
    EXPECT_WAITS(poll);
    fixture_advance_s(&f, 2);
    expect_answer(poll, "m");
    cr_expect_eq(poll->answered_at_ms, FIXTURE_START_MS + 2000);
}

Test(waiters, RCV_4_the_end_of_a_fifo_delay_wakes)
{
    fixture_set(&f, "q.fifo", "'DelaySeconds':'2'");
    struct fixture_poll *poll = fixture_poll(&f, "q.fifo", 10, 5, "");
    fixture_send(&f, "q.fifo", "a1");
    EXPECT_WAITS(poll);
    fixture_advance_s(&f, 2);
    expect_answer(poll, "a1");
}

Test(waiters, RCV_4_a_shorter_fifo_delay_wakes)
{
    fixture_set(&f, "q.fifo", "'DelaySeconds':'100'");
    fixture_send(&f, "q.fifo", "a1");
    fixture_advance_s(&f, 10);
    struct fixture_poll *poll = fixture_poll(&f, "q.fifo", 10, 5, "");
    fixture_set(&f, "q.fifo", "'DelaySeconds':'10'");
    expect_answer(poll, "a1");
}

Test(waiters, RCV_4_the_end_of_a_lease_wakes)
{
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':2");
    struct fixture_poll *poll = fixture_poll(&f, "q", 10, 5, "");
    fixture_advance_s(&f, 2);
    expect_answer(poll, "m");
}

Test(waiters, RCV_4_a_visibility_of_0_wakes)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    struct fixture_poll *poll = fixture_poll(&f, "q", 10, 5, "");
    fixture_change(&f, "q", fixture_handle(&f, "m"), 0);
    expect_answer(poll, "m");
}

Test(waiters, RCV_4_DLQ_15_a_dead_letter_wakes)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    struct fixture_poll *poll = fixture_poll(&f, "dead", 10, 5, "");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "");
    expect_answer(poll, "m");
}

Test(waiters, RCV_4_a_move_task_wakes)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_receive(&f, "q", 1);
    struct fixture_poll *poll = fixture_poll(&f, "q", 10, 5, "");
    fixture_must(&f, "StartMessageMoveTask", "'SourceArn':'%s'", fixture_arn(&f, "dead"));
    fixture_settle(&f);
    expect_answer(poll, "m");
}

Test(waiters, RCV_4_a_delete_that_opens_a_group_wakes)
{
    fixture_send(&f, "q.fifo", "a1 a2");
    fixture_receive(&f, "q.fifo", 1);
    struct fixture_poll *poll = fixture_poll(&f, "q.fifo", 10, 5, "");
    EXPECT_WAITS(poll);
    fixture_delete_all(&f, "q.fifo", "a1");
    expect_answer(poll, "a2");
}

Test(waiters, RCV_4_the_expiry_of_a_group_s_head_wakes)
{
    fixture_set(&f, "q.fifo", "'MessageRetentionPeriod':'60'");
    fixture_send(&f, "q.fifo", "a1");
    fixture_receive_with(&f, "q.fifo", 1, "'VisibilityTimeout':300");
    fixture_advance_s(&f, 50);
    fixture_send(&f, "q.fifo", "a2");
    struct fixture_poll *poll = fixture_poll(&f, "q.fifo", 10, 20, "");
    EXPECT_WAITS(poll);
    fixture_advance_s(&f, 10);
    expect_answer(poll, "a2");
}

Test(waiters, RCV_5_polls_are_served_in_the_order_in_which_they_came)
{
    struct fixture_poll *first = fixture_poll(&f, "q", 1, 5, "");
    struct fixture_poll *second = fixture_poll(&f, "q", 1, 5, "");
    struct fixture_poll *third = fixture_poll(&f, "q", 1, 5, "");
    fixture_send(&f, "q", "m1");
    expect_answer(first, "m1");
    EXPECT_WAITS(second);
    fixture_send(&f, "q", "m2 m3");
    expect_answer(second, "m2");
    expect_answer(third, "m3");
}

Test(waiters, RCV_5_each_message_goes_to_one_poll)
{
    struct fixture_poll *first = fixture_poll(&f, "q", 10, 5, "");
    struct fixture_poll *second = fixture_poll(&f, "q", 10, 5, "");
    fixture_send(&f, "q", "m");
    expect_answer(first, "m");
    fixture_advance_s(&f, 5);
    expect_answer(second, "");
}

Test(waiters, RCV_5_one_that_goes_away_empty_keeps_its_place_and_deadline)
{
    fixture_send(&f, "q.fifo", "a1");
    fixture_receive(&f, "q.fifo", 1);
    struct fixture_poll *first = fixture_poll(&f, "q.fifo", 1, 5, "");
    fixture_advance_s(&f, 1);
    struct fixture_poll *second = fixture_poll(&f, "q.fifo", 1, 5, "");
    fixture_send(&f, "q.fifo", "a2"); /* wakes, but the group is blocked */
    EXPECT_WAITS(first);
    fixture_send(&f, "q.fifo", "b1");
    expect_answer(first, "b1");
    EXPECT_WAITS(second);
    fixture_advance_s(&f, 5);
    expect_answer(second, "");
    cr_expect_eq(second->answered_at_ms, FIXTURE_START_MS + 6000);
}

Test(waiters, RCV_5_the_deadline_counts_from_the_request_also_after_an_empty_run)
{
    fixture_send(&f, "q.fifo", "a1");
    fixture_receive(&f, "q.fifo", 1);
    struct fixture_poll *poll = fixture_poll(&f, "q.fifo", 1, 5, "");
    fixture_advance_s(&f, 4);
    fixture_send(&f, "q.fifo", "a2");
    fixture_advance_s(&f, 1);
    expect_answer(poll, "");
}

Test(waiters, RCV_6_a_client_that_is_gone_gets_nothing)
{
    struct fixture_poll *gone = fixture_poll(&f, "q", 1, 5, "");
    struct fixture_poll *other = fixture_poll(&f, "q", 1, 5, "");
    fixture_poll_cancel(&f, gone);
    fixture_send(&f, "q", "m");
    EXPECT_WAITS(gone);
    expect_answer(other, "m");
}

Test(waiters, RCV_15_the_lease_of_a_long_poll_begins_at_the_delivery)
{
    struct fixture_poll *poll = fixture_poll(&f, "q", 1, 20, "'VisibilityTimeout':10");
    fixture_advance_s(&f, 15);
    fixture_send(&f, "q", "m");
    expect_answer(poll, "m");
    fixture_advance_ms(&f, 9999);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
    fixture_advance_ms(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
}

Test(waiters, RCV_3_all_that_becomes_visible_at_one_instant_is_there_for_the_poll)
{
    fixture_send(&f, "q", "m1 m2 m3");
    fixture_receive_with(&f, "q", 10, "'VisibilityTimeout':2");
    struct fixture_poll *poll = fixture_poll(&f, "q", 10, 20, "");
    fixture_advance_s(&f, 2);
    expect_answer(poll, "m1 m2 m3");
}

Test(waiters, RCV_3_a_fifo_batch_whose_leases_end_together_comes_back_together)
{
    fixture_send(&f, "q.fifo", "a1 a2 a3 b1");
    fixture_receive_with(&f, "q.fifo", 10, "'VisibilityTimeout':2");
    struct fixture_poll *poll = fixture_poll(&f, "q.fifo", 10, 20, "");
    fixture_advance_s(&f, 2);
    expect_answer(poll, "a1 a2 a3 b1");
}

Test(waiters, RCV_3_what_becomes_visible_at_the_very_deadline_is_delivered)
{
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':5");
    struct fixture_poll *poll = fixture_poll(&f, "q", 1, 5, "");
    fixture_advance_s(&f, 5);
    expect_answer(poll, "m");
}

Test(waiters, polls_of_a_deleted_queue_end_with_an_error)
{
    struct fixture_poll *poll = fixture_poll(&f, "q", 1, 20, "");
    struct fixture_poll *other = fixture_poll(&f, "q.fifo", 1, 20, "");
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'q'");
    cr_assert(poll->is_answered);
    cr_expect_eq(poll->code, QN_ERR_QUEUE_DOES_NOT_EXIST);
    EXPECT_WAITS(other);
}

Test(waiters, polls_of_a_purged_queue_wait_on)
{
    struct fixture_poll *poll = fixture_poll(&f, "q", 1, 20, "");
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q'");
    EXPECT_WAITS(poll);
    fixture_send(&f, "q", "m");
    expect_answer(poll, "m");
}

Test(waiters, a_poll_whose_dead_letters_were_all_it_found_waits_on)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':1");
    struct fixture_poll *poll = fixture_poll(&f, "q", 1, 20, "");
    fixture_advance_s(&f, 1);
    EXPECT_WAITS(poll);
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
    fixture_send(&f, "q", "n");
    expect_answer(poll, "n");
}

Test(waiters, each_queue_has_its_own)
{
    fixture_create(&f, "other", "");
    struct fixture_poll *poll = fixture_poll(&f, "q", 1, 5, "");
    struct fixture_poll *other = fixture_poll(&f, "other", 1, 5, "");
    fixture_send(&f, "other", "m");
    EXPECT_WAITS(poll);
    expect_answer(other, "m");
}

Test(waiters, at_the_in_flight_limit_the_first_comes_first)
{
    f.options.limits.in_flight = 1;
    fixture_restart(&f);
    fixture_send(&f, "q", "m1 m2 m3");
    fixture_receive(&f, "q", 1);
    struct fixture_poll *first = fixture_poll(&f, "q", 1, 20, "");
    struct fixture_poll *second = fixture_poll(&f, "q", 1, 20, "");
    fixture_delete_all(&f, "q", "m1");
    expect_answer(first, "m2");
    EXPECT_WAITS(second);
    fixture_delete_all(&f, "q", "m2");
    expect_answer(second, "m3");
}

Test(waiters, an_idle_skip_of_the_clock_carries_deadlines_along)
{
    struct fixture_poll *poll = fixture_poll(&f, "q", 1, 5, "");
    qn_engine_shift_waiters(f.engine, 60000);
    fixture_leap_ms(&f, 60000);
    EXPECT_WAITS(poll);
    fixture_advance_ms(&f, 4999);
    EXPECT_WAITS(poll);
    fixture_advance_ms(&f, 1);
    expect_answer(poll, "");
}

Test(waiters, any_number_can_wait_and_leave_in_any_order)
{
    struct fixture_poll *polls[200];
    for (size_t i = 0; i < 200; i++) {
        polls[i] = fixture_poll(&f, "q", 1, 20, "");
    }
    cr_expect_eq(qn_engine_waiter_count(f.engine), 200);
    for (size_t i = 0; i < 200; i += 3) {
        fixture_poll_cancel(&f, polls[i]);
    }
    fixture_poll_cancel(&f, polls[0]); /* leaving twice does no harm */
    for (size_t i = 0; i < 200; i++) {
        if (i % 3 != 0) {
            fixture_send(&f, "q", fixture_format(&f, "m%zu", i));
            expect_answer(polls[i], fixture_format(&f, "m%zu", i));
        }
    }
    cr_expect_eq(qn_engine_waiter_count(f.engine), 0);
    cr_expect_null(qn_engine_any_waiter(f.engine));
}

Test(waiters, stopping_finds_each_of_them)
{
    fixture_poll(&f, "q", 1, 20, "");
    fixture_poll(&f, "q.fifo", 1, 20, "");
    size_t count = 0;
    for (struct qn_waiter *waiter; (waiter = qn_engine_any_waiter(f.engine)) != NULL; count++) {
        qn_engine_unpark(f.engine, waiter);
    }
    cr_expect_eq(count, 2);
}
