/* FIFO queues: order within groups, which group comes next, and what blocks a group. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    f.looks = true;
    fixture_create(&f, "q.fifo", "");
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(fifo, .init = start, .fini = stop);

#define EXPECT_RECEIVE(max, bodies) cr_expect_str_eq(fixture_receive(&f, "q.fifo", max), bodies)

static const char *receive_for(int max, int visibility_s)
{
    return fixture_receive_with(&f, "q.fifo", max,
                                fixture_format(&f, "'VisibilityTimeout':%d", visibility_s));
}

static const char *system_attribute(const char *name)
{
    return fixture_get(&f, fixture_format(&f, "Messages.0.Attributes.%s", name));
}

Test(fifo, FIFO_1_within_a_group_messages_come_in_the_order_of_their_sends)
{
    fixture_send(&f, "q.fifo", "a1 a2 a3");
    EXPECT_RECEIVE(1, "a1");
    fixture_delete_all(&f, "q.fifo", "a1");
    EXPECT_RECEIVE(1, "a2");
    fixture_delete_all(&f, "q.fifo", "a2");
    EXPECT_RECEIVE(1, "a3");
}

Test(fifo, FIFO_2_nothing_behind_a_message_in_flight_is_delivered)
{
    fixture_send(&f, "q.fifo", "a1 a2");
    EXPECT_RECEIVE(1, "a1");
    EXPECT_RECEIVE(10, "");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 1 0");
}

Test(fifo, FIFO_2_a_released_message_in_front_of_one_in_flight_is_delivered)
{
    fixture_send(&f, "q.fifo", "a1 a2");
    EXPECT_RECEIVE(10, "a1 a2");
    fixture_change(&f, "q.fifo", fixture_handle(&f, "a1"), 0);
    EXPECT_RECEIVE(10, "a1");
}

Test(fifo, FIFO_3_a_receive_empties_a_group_before_it_goes_on)
{
    fixture_send(&f, "q.fifo", "a1 b1 a2 a3");
    EXPECT_RECEIVE(10, "a1 a2 a3 b1");
}

Test(fifo, FIFO_4_what_was_not_deleted_of_a_batch_comes_again_in_order)
{
    fixture_send(&f, "q.fifo", "a1 a2 a3 a4");
    EXPECT_RECEIVE(3, "a1 a2 a3");
    fixture_delete_all(&f, "q.fifo", "a2");
    fixture_send(&f, "q.fifo", "a5");
    fixture_advance_s(&f, 30);
    EXPECT_RECEIVE(10, "a1 a3 a4 a5");
}

Test(fifo, FIFO_5_a_group_opens_when_its_lease_ends)
{
    fixture_send(&f, "q.fifo", "a1 a2");
    EXPECT_RECEIVE(1, "a1");
    fixture_advance_s(&f, 30);
    EXPECT_RECEIVE(10, "a1 a2");
}

Test(fifo, FIFO_5_a_group_opens_when_all_in_flight_are_deleted)
{
    fixture_send(&f, "q.fifo", "a1 a2 a3");
    EXPECT_RECEIVE(2, "a1 a2");
    fixture_delete_all(&f, "q.fifo", "a2");
    EXPECT_RECEIVE(10, "");
    fixture_delete_all(&f, "q.fifo", "a1");
    EXPECT_RECEIVE(10, "a3");
}

Test(fifo, FIFO_5_an_emptied_group_works_again)
{
    fixture_send(&f, "q.fifo", "a1");
    EXPECT_RECEIVE(10, "a1");
    fixture_delete_all(&f, "q.fifo", "a1");
    fixture_send(&f, "q.fifo", "a2");
    EXPECT_RECEIVE(10, "a2");
}

Test(fifo, FIFO_7_any_number_of_groups)
{
    for (int i = 0; i < 1000; i++) {
        fixture_send_with(
            &f, "q.fifo", "m",
            fixture_format(&f, "'MessageGroupId':'g%d','MessageDeduplicationId':'d%d'", i, i));
    }
    for (int i = 0; i < 100; i++) {
        fixture_must(&f, "ReceiveMessage",
                     "'QueueUrl':'q.fifo','MaxNumberOfMessages':10,"
                     "'AttributeNames':['MessageGroupId']");
        cr_expect_str_eq(system_attribute("MessageGroupId"), fixture_format(&f, "g%d", i * 10));
    }
}

Test(fifo, FIFO_9_a_delayed_message_blocks_its_group_only)
{
    fixture_set(&f, "q.fifo", "'DelaySeconds':'10'");
    fixture_send(&f, "q.fifo", "a1");
    fixture_advance_s(&f, 5);
    fixture_send(&f, "q.fifo", "b1 a2");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "0 0 3");
    fixture_advance_s(&f, 5);
    EXPECT_RECEIVE(10, "a1");
    fixture_advance_s(&f, 5);
    EXPECT_RECEIVE(10, "b1");
    fixture_delete_all(&f, "q.fifo", "a1");
    EXPECT_RECEIVE(10, "a2");
}

Test(fifo, FIFO_10_the_group_comes_back_as_a_system_attribute)
{
    fixture_send(&f, "q.fifo", "a1");
    fixture_receive_with(&f, "q.fifo", 1, "'AttributeNames':['All']");
    cr_expect_str_eq(system_attribute("MessageGroupId"), "a");
}

/* ---- the order of groups (12.1) ---- */

Test(fifo, groups_that_were_served_go_behind_untouched_ones)
{
    fixture_send(&f, "q.fifo", "a1 a2 b1 b2 c1");
    cr_expect_str_eq(receive_for(3, 0), "a1 a2 b1");
    EXPECT_RECEIVE(10, "c1 a1 a2 b1 b2");
}

Test(fifo, after_the_end_of_their_leases_groups_come_in_the_order_of_service)
{
    fixture_send(&f, "q.fifo", "a1 a2 a3 a4 b1");
    cr_expect_str_eq(receive_for(2, 1), "a1 a2");
    cr_expect_str_eq(receive_for(1, 1), "b1");
    fixture_send(&f, "q.fifo", "c1");
    fixture_advance_s(&f, 1);
    EXPECT_RECEIVE(10, "a1 a2 a3 a4 b1 c1");
}

Test(fifo, an_untouched_group_comes_before_those_whose_leases_ended)
{
    fixture_send(&f, "q.fifo", "a1 a2 a3 a4 b1 c1");
    cr_expect_str_eq(receive_for(2, 1), "a1 a2");
    cr_expect_str_eq(receive_for(1, 1), "b1");
    fixture_advance_s(&f, 1);
    EXPECT_RECEIVE(10, "c1 a1 a2 a3 a4 b1");
}

Test(fifo, visibility_0_over_several_groups_serves_each_once)
{
    fixture_send(&f, "q.fifo", "a1 b1 c1 a2 b2");
    cr_expect_str_eq(receive_for(10, 0), "a1 a2 b1 b2 c1");
    cr_expect_str_eq(receive_for(4, 0), "a1 a2 b1 b2");
    cr_expect_str_eq(receive_for(2, 0), "c1 a1");
    cr_expect_str_eq(receive_for(10, 0), "b1 b2 c1 a1 a2");
}

Test(fifo, a_new_group_stands_at_the_end)
{
    fixture_send(&f, "q.fifo", "a1 b1");
    EXPECT_RECEIVE(1, "a1");
    fixture_send(&f, "q.fifo", "c1");
    fixture_change(&f, "q.fifo", fixture_handle(&f, "a1"), 0);
    EXPECT_RECEIVE(1, "b1");
    EXPECT_RECEIVE(1, "a1");
    EXPECT_RECEIVE(1, "c1");
}

/* ---- what is in flight (12.4) ---- */

Test(fifo, example_two_deleted_one_by_one)
{
    fixture_send(&f, "q.fifo", "m1 m2 m3 m4");
    EXPECT_RECEIVE(2, "m1 m2");
    EXPECT_RECEIVE(10, "");
    fixture_delete_all(&f, "q.fifo", "m1");
    EXPECT_RECEIVE(10, "");
    fixture_delete_all(&f, "q.fifo", "m2");
    EXPECT_RECEIVE(10, "m3 m4");
}

Test(fifo, example_visibility_of_the_first_set_to_0)
{
    fixture_send(&f, "q.fifo", "m1 m2 m3 m4");
    EXPECT_RECEIVE(2, "m1 m2");
    fixture_change(&f, "q.fifo", fixture_handle(&f, "m1"), 0);
    EXPECT_RECEIVE(10, "m1");
}

Test(fifo, example_visibility_of_the_second_set_to_0)
{
    fixture_send(&f, "q.fifo", "m1 m2 m3 m4");
    EXPECT_RECEIVE(2, "m1 m2");
    fixture_change(&f, "q.fifo", fixture_handle(&f, "m2"), 0);
    EXPECT_RECEIVE(10, "");
}

Test(fifo, example_extending_one_delivers_exactly_those_before_it)
{
    static const char *const before[] = {"", "m1", "m1 m2"};

    for (int p = 1; p <= 3; p++) {
        fixture_send(&f, "q.fifo", "m1 m2 m3 m4");
        cr_assert_str_eq(receive_for(3, 10), "m1 m2 m3");
        fixture_change(&f, "q.fifo", fixture_handle(&f, fixture_format(&f, "m%d", p)), 100);
        fixture_advance_s(&f, 10);
        EXPECT_RECEIVE(10, before[p - 1]);
        fixture_must(&f, "PurgeQueue", "'QueueUrl':'q.fifo'");
    }
}

Test(fifo, example_the_next_receive_serves_the_other_group)
{
    fixture_send(&f, "q.fifo", "a1 a2 a3 a4 b1");
    EXPECT_RECEIVE(2, "a1 a2");
    EXPECT_RECEIVE(10, "b1");
}

/* ---- the state machine's differences (17.3) ---- */

Test(fifo, SM_F1_a_send_has_the_next_sequence_number)
{
    char last[21] = "";

    for (int i = 0; i < 5; i++) {
        fixture_send(&f, "q.fifo", i % 2 == 0 ? "a1" : "b1");
        const char *number = fixture_get(&f, "SequenceNumber");
        cr_assert_not_null(number);
        cr_expect_eq(strlen(number), 20);
        cr_expect_eq(strspn(number, "0123456789"), 20);
        cr_expect_gt(strcmp(number, last), 0);
        memcpy(last, number, sizeof(last));
    }
}

Test(fifo, SM_F1_a_duplicate_stores_nothing)
{
    for (int i = 0; i < 2; i++) {
        fixture_send_with(&f, "q.fifo", "a1", "'MessageGroupId':'a','MessageDeduplicationId':'d'");
    }
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 0 0");
}

Test(fifo, SM_F2_a_longer_delay_holds_back_what_is_still_delayed)
{
    fixture_set(&f, "q.fifo", "'DelaySeconds':'10'");
    fixture_send(&f, "q.fifo", "a1");
    fixture_advance_s(&f, 5);
    fixture_set(&f, "q.fifo", "'DelaySeconds':'60'");
    fixture_advance_s(&f, 54);
    EXPECT_RECEIVE(10, "");
    fixture_advance_s(&f, 1);
    EXPECT_RECEIVE(10, "a1");
}

Test(fifo, SM_F2_a_shorter_delay_lets_go_at_once)
{
    fixture_set(&f, "q.fifo", "'DelaySeconds':'100'");
    fixture_send(&f, "q.fifo", "a1");
    fixture_advance_s(&f, 10);
    fixture_send(&f, "q.fifo", "a2");
    fixture_set(&f, "q.fifo", "'DelaySeconds':'10'");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 0 1");
    EXPECT_RECEIVE(10, "a1");
    fixture_set(&f, "q.fifo", "'DelaySeconds':'0'");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 1 0");
}

Test(fifo, SM_F2_a_longer_delay_does_not_hide_what_was_visible)
{
    fixture_set(&f, "q.fifo", "'DelaySeconds':'1'");
    fixture_send(&f, "q.fifo", "a1");
    fixture_advance_s(&f, 1);
    fixture_set(&f, "q.fifo", "'DelaySeconds':'900'");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 0 0");
    EXPECT_RECEIVE(10, "a1");
}

Test(fifo, SM_F3_later_messages_in_flight_do_not_keep_an_earlier_one)
{
    fixture_send(&f, "q.fifo", "a1 a2 a3");
    EXPECT_RECEIVE(3, "a1 a2 a3");
    fixture_change(&f, "q.fifo", fixture_handle(&f, "a1"), 0);
    fixture_change(&f, "q.fifo", fixture_handle(&f, "a2"), 0);
    EXPECT_RECEIVE(10, "a1 a2");
}

Test(fifo, SM_F4_the_expiry_of_the_head_opens_the_group)
{
    fixture_set(&f, "q.fifo", "'MessageRetentionPeriod':'60'");
    fixture_send(&f, "q.fifo", "a1");
    fixture_advance_s(&f, 30);
    fixture_send(&f, "q.fifo", "a2");
    cr_expect_str_eq(receive_for(1, 100), "a1");
    fixture_advance_s(&f, 30);
    EXPECT_RECEIVE(10, "a2");
}

Test(fifo, SM_F4_a_dead_lettered_head_opens_the_group_in_the_same_receive)
{
    fixture_create(&f, "dead.fifo", "");
    fixture_redrive(&f, "q.fifo", "dead.fifo", 1);
    fixture_send(&f, "q.fifo", "a1");
    cr_expect_str_eq(receive_for(1, 0), "a1");
    fixture_send(&f, "q.fifo", "a2");
    EXPECT_RECEIVE(10, "a2");
    cr_expect_str_eq(fixture_counts(&f, "dead.fifo"), "1 0 0");
}

Test(fifo, SM_F4_a_purge_frees_all_groups)
{
    fixture_send(&f, "q.fifo", "a1 a2");
    EXPECT_RECEIVE(1, "a1");
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q.fifo'");
    fixture_send(&f, "q.fifo", "a3");
    EXPECT_RECEIVE(10, "a3");
}

static void expect_expired_handle(enum qn_error_code code, const char *handle)
{
    cr_expect_eq(code, QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_str_eq(f.err.message,
                     fixture_format(&f,
                                    "Value %s for parameter ReceiptHandle is invalid. Reason: The "
                                    "receipt handle has expired.",
                                    handle));
}

Test(fifo, SM_F5_a_delete_after_the_end_of_the_lease_is_refused)
{
    fixture_send(&f, "q.fifo", "a1");
    EXPECT_RECEIVE(1, "a1");
    const char *handle = fixture_handle(&f, "a1");
    fixture_advance_s(&f, 30);
    expect_expired_handle(fixture_delete(&f, "q.fifo", handle), handle);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 0 0");
}

Test(fifo, SM_F5_a_delete_after_the_lease_was_extended_in_time_succeeds)
{
    fixture_send(&f, "q.fifo", "a1");
    EXPECT_RECEIVE(1, "a1");
    fixture_change(&f, "q.fifo", fixture_handle(&f, "a1"), 100);
    fixture_advance_s(&f, 99);
    cr_expect_eq(fixture_delete(&f, "q.fifo", fixture_handle(&f, "a1")), QN_ERR_NONE);
}

Test(fifo, SM_F5_a_delete_with_an_older_handle_is_refused)
{
    fixture_send(&f, "q.fifo", "a1");
    cr_expect_str_eq(receive_for(1, 1), "a1");
    const char *older = fixture_handle(&f, "a1");
    fixture_advance_s(&f, 1);
    EXPECT_RECEIVE(1, "a1");
    expect_expired_handle(fixture_delete(&f, "q.fifo", older), older);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "0 1 0");
}

Test(fifo, SM_F5_deleting_twice_succeeds)
{
    fixture_send(&f, "q.fifo", "a1");
    EXPECT_RECEIVE(1, "a1");
    cr_expect_eq(fixture_delete(&f, "q.fifo", fixture_handle(&f, "a1")), QN_ERR_NONE);
    cr_expect_eq(fixture_delete(&f, "q.fifo", fixture_handle(&f, "a1")), QN_ERR_NONE);
}

Test(fifo, SM_F6_a_change_with_an_older_handle_or_after_the_lease_is_refused)
{
    fixture_send(&f, "q.fifo", "a1");
    cr_expect_str_eq(receive_for(1, 1), "a1");
    const char *older = fixture_handle(&f, "a1");
    fixture_advance_s(&f, 1);
    expect_expired_handle(fixture_change(&f, "q.fifo", older, 10), older);
    expect_expired_handle(fixture_change(&f, "q.fifo", older, 0), older);
    EXPECT_RECEIVE(1, "a1");
    expect_expired_handle(fixture_change(&f, "q.fifo", older, 10), older);
    cr_expect_eq(fixture_change(&f, "q.fifo", fixture_handle(&f, "a1"), 10), QN_ERR_NONE);
}

Test(fifo, SM_F7_a_dead_lettered_message_begins_anew_in_the_dead_letter_queue)
{
    fixture_create(&f, "dead.fifo", "'DelaySeconds':'900'");
    fixture_redrive(&f, "q.fifo", "dead.fifo", 1);
    fixture_send(&f, "dead.fifo", "x1");
    fixture_send(&f, "q.fifo", "a1");
    fixture_advance_s(&f, 3);
    fixture_receive_with(&f, "q.fifo", 1, "'VisibilityTimeout':0");
    const char *id = fixture_get(&f, "Messages.0.MessageId");
    fixture_advance_s(&f, 4);
    EXPECT_RECEIVE(1, "");
    cr_assert_str_eq(fixture_receive_with(&f, "dead.fifo", 10, "'AttributeNames':['All']"), "a1");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageId"), id);
    cr_expect_str_eq(system_attribute("MessageDeduplicationId"), id);
    cr_expect_str_eq(system_attribute("SentTimestamp"), "1700000007000");
    cr_expect_str_eq(system_attribute("ApproximateFirstReceiveTimestamp"), "1700000003000");
    cr_expect_str_eq(system_attribute("ApproximateReceiveCount"), "2");
    cr_expect_str_eq(system_attribute("MessageGroupId"), "a");
    cr_expect_not_null(system_attribute("SequenceNumber"));
}

Test(fifo, SM_F9_the_quota_gives_no_error)
{
    f.options.limits.in_flight = 1;
    fixture_restart(&f);
    fixture_send(&f, "q.fifo", "a1 b1");
    EXPECT_RECEIVE(10, "a1");
    EXPECT_RECEIVE(10, "");
}

Test(fifo, blocked_messages_count_as_visible)
{
    fixture_send(&f, "q.fifo", "a1 a2 a3 b1 b2 b3");
    EXPECT_RECEIVE(1, "a1");
    EXPECT_RECEIVE(1, "b1");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "4 2 0");
}
