/* ReceiveMessage on standard queues: what comes, how much, in what order. Waiting is tested beside
 * the waiters, FIFO order beside the groups. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    f.looks = true;
    fixture_create(&f, "q", "");
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(receive, .init = start, .fini = stop);

Test(receive, RCV_1_a_short_poll_answers_at_once)
{
    struct fixture_poll *poll = fixture_poll(&f, "q", 1, 0, "");
    cr_assert(poll->is_answered);
    cr_expect_str_eq(poll->bodies, "");
}

Test(receive, RCV_1_the_wait_of_the_request_wins_over_the_queue_s)
{
    fixture_set(&f, "q", "'ReceiveMessageWaitTimeSeconds':'20'");
    cr_expect(fixture_poll(&f, "q", 1, 0, "")->is_answered);
    struct fixture_poll *poll = fixture_poll(&f, "q", 1, 3, "");
    cr_expect_not(poll->is_answered);
    fixture_advance_s(&f, 3);
    cr_expect(poll->is_answered);
}

Test(receive, RCV_1_without_a_wait_of_its_own_a_request_waits_as_the_queue_says)
{
    fixture_set(&f, "q", "'ReceiveMessageWaitTimeSeconds':'2'");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "");
    fixture_send(&f, "q", "m");
    /* The request above waits for ever, for nobody listens; it was not parked. */
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
}

Test(receive, RCV_2_a_short_poll_finds_the_only_message)
{
    for (int i = 0; i < 20; i++) {
        fixture_send(&f, "q", "m");
        cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
    }
}

Test(receive, RCV_7_an_empty_answer_has_no_messages)
{
    fixture_must(&f, "ReceiveMessage", "'QueueUrl':'q'");
    cr_expect_eq(json_object_size(f.answer), 0);
}

Test(receive, RCV_8_never_more_than_asked_for_and_one_by_default)
{
    fixture_send(&f, "q", "m01 m02 m03 m04 m05 m06 m07 m08 m09 m10 m11 m12");
    fixture_must(&f, "ReceiveMessage", "'QueueUrl':'q'");
    cr_expect_eq(fixture_count(&f, "Messages"), 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m02 m03 m04 m05 m06 m07 m08 m09 m10 m11");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m12");
}

Test(receive, RCV_9_oldest_first_also_among_those_that_came_back)
{
    fixture_send(&f, "q", "m1 m2 m3 m4 m5");
    fixture_receive_with(&f, "q", 4, "'VisibilityTimeout':100");
    fixture_change(&f, "q", fixture_handle(&f, "m4"), 0);
    fixture_change(&f, "q", fixture_handle(&f, "m2"), 0);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m2 m4 m5");
    fixture_change(&f, "q", fixture_handle(&f, "m3"), 0);
    fixture_change(&f, "q", fixture_handle(&f, "m1"), 0);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1 m3");
}

Test(receive, RCV_9_a_delayed_message_takes_the_place_of_its_send)
{
    fixture_send_with(&f, "q", "m1", "'DelaySeconds':1");
    fixture_send(&f, "q", "m2");
    fixture_advance_s(&f, 1);
    fixture_send(&f, "q", "m3");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1 m2 m3");
}

Test(receive, RCV_10_a_message_received_three_times_keeps_its_place)
{
    fixture_send(&f, "q", "m1 m2");
    for (int i = 0; i < 4; i++) {
        cr_expect_str_eq(fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0"), "m1");
    }
}

static void open_with_quota(int64_t in_flight)
{
    f.options.limits.in_flight = in_flight;
    fixture_restart(&f);
}

Test(receive, RCV_11_a_receive_takes_as_many_as_still_fit_under_the_quota)
{
    open_with_quota(3);
    fixture_send(&f, "q", "m1 m2 m3 m4 m5");
    cr_expect_str_eq(fixture_receive(&f, "q", 2), "m1 m2");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m3");
}

Test(receive, RCV_11_at_the_quota_a_short_poll_is_over_the_limit)
{
    open_with_quota(2);
    fixture_send(&f, "q", "m1 m2 m3");
    fixture_receive(&f, "q", 10);
    cr_expect_eq(fixture_code(&f, "ReceiveMessage", "'QueueUrl':'q'"), QN_ERR_OVER_LIMIT);
    fixture_delete_all(&f, "q", "m1");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m3");
}

Test(receive, RCV_11_at_the_quota_a_long_poll_waits_and_takes_what_becomes_free)
{
    open_with_quota(2);
    fixture_send(&f, "q", "m1 m2 m3");
    fixture_receive(&f, "q", 10);
    struct fixture_poll *poll = fixture_poll(&f, "q", 10, 20, "");
    cr_expect_not(poll->is_answered);
    fixture_delete_all(&f, "q", "m2");
    cr_assert(poll->is_answered);
    cr_expect_str_eq(poll->bodies, "m3");
}

Test(receive, RCV_11_at_the_quota_a_long_poll_ends_empty_without_an_error)
{
    open_with_quota(1);
    fixture_send(&f, "q", "m1 m2");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':100");
    struct fixture_poll *poll = fixture_poll(&f, "q", 10, 1, "");
    fixture_advance_s(&f, 1);
    cr_assert(poll->is_answered);
    cr_expect_eq(poll->code, QN_ERR_NONE);
    cr_expect_str_eq(poll->bodies, "");
}

Test(receive, RCV_11_the_quota_is_one_hundred_and_twenty_thousand)
{
    struct qn_limits limits = f.options.limits;
    cr_expect_eq(limits.in_flight, 120000);
}

Test(receive, RCV_12_at_the_quota_a_fifo_queue_gives_no_messages_and_no_error)
{
    open_with_quota(2);
    fixture_create(&f, "q.fifo", "");
    fixture_send(&f, "q.fifo", "a1 a2 b1");
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "a1 a2");
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "");
    fixture_delete_all(&f, "q.fifo", "a2");
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "b1");
}

Test(receive, RCV_13_a_receive_passes_by_what_it_dead_letters)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    fixture_send(&f, "q", "m1 m2");
    fixture_receive_with(&f, "q", 10, "'VisibilityTimeout':0");
    fixture_send(&f, "q", "m3 m4");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m3");
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 1 0");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "2 0 0");
}

Test(receive, RCV_14_with_visibility_0_no_message_comes_twice_in_one_answer)
{
    fixture_send(&f, "q", "m1 m2 m3");
    cr_expect_str_eq(fixture_receive_with(&f, "q", 10, "'VisibilityTimeout':0"), "m1 m2 m3");
    fixture_set(&f, "q", "'VisibilityTimeout':'0'");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1 m2 m3");
    cr_expect_str_eq(fixture_counts(&f, "q"), "3 0 0");
}

Test(receive, RCV_14_with_visibility_0_a_fifo_answer_has_no_message_twice)
{
    fixture_create(&f, "q.fifo", "");
    fixture_send(&f, "q.fifo", "a1 b1 a2");
    cr_expect_str_eq(fixture_receive_with(&f, "q.fifo", 10, "'VisibilityTimeout':0"), "a1 a2 b1");
    cr_expect_str_eq(fixture_receive_with(&f, "q.fifo", 10, "'VisibilityTimeout':0"), "a1 a2 b1");
}

Test(receive, a_change_of_the_queue_s_visibility_leaves_leases_alone)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    fixture_set(&f, "q", "'VisibilityTimeout':'1'");
    fixture_advance_s(&f, 29);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
}

static void send_poison(int count)
{
    for (int i = 0; i < count; i++) {
        fixture_send(&f, "q", "poison");
    }
    for (int i = 0; i < count; i += 10) {
        fixture_receive_with(&f, "q", 10, "'VisibilityTimeout':1");
    }
    fixture_advance_s(&f, 1);
}

Test(receive, RCV_13_a_long_poll_goes_on_behind_any_number_of_dead_letters)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    send_poison(2500);
    fixture_send(&f, "q", "good");
    struct fixture_poll *poll = fixture_poll(&f, "q", 10, 20, "");
    fixture_settle(&f);
    cr_assert(poll->is_answered);
    cr_expect_str_eq(poll->bodies, "good");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "2500 0 0");
}

Test(receive, RCV_13_a_short_poll_goes_on_behind_any_number_of_dead_letters)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    send_poison(2500);
    fixture_send(&f, "q", "good");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "good");
}

Test(receive, RCV_13_a_fifo_long_poll_goes_on_behind_any_number_of_dead_letters)
{
    fixture_create(&f, "dead.fifo", "");
    fixture_create(&f, "q.fifo", "");
    fixture_redrive(&f, "q.fifo", "dead.fifo", 1);
    for (int i = 0; i < 2500; i++) {
        fixture_send_with(
            &f, "q.fifo", "poison",
            fixture_format(&f, "'MessageGroupId':'g%d','MessageDeduplicationId':'d%d'", i, i));
    }
    for (int i = 0; i < 250; i++) {
        fixture_receive_with(&f, "q.fifo", 10, "'VisibilityTimeout':1");
    }
    fixture_advance_s(&f, 1);
    fixture_send(&f, "q.fifo", "good1");
    struct fixture_poll *poll = fixture_poll(&f, "q.fifo", 10, 20, "");
    fixture_settle(&f);
    cr_assert(poll->is_answered);
    cr_expect_str_eq(poll->bodies, "good1");
}
