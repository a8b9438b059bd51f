/* A new engine from the rows of the old one goes on where that one stopped: messages, leases,
 * handles, windows, groups. */
#include "tests/engine/restart.h"

RESTART_TEST(messages_are_there_in_their_order_with_all_that_they_carry)
{
    const char *id = fixture_send_with(
        &f, "q", "m1",
        "'MessageGroupId':'tenant','MessageAttributes':{'A':{'DataType':'String','StringValue':"
        "'one'},'B':{'DataType':'Binary','BinaryValue':'AAEC/w=='}},'MessageSystemAttributes':{"
        "'AWSTraceHeader':{'DataType':'String','StringValue':'Root=1-2-3'}}");
    fixture_send(&f, "q", "m2 m3");
    fixture_advance_ms(&f, 5);
    fixture_restart(&f);
    cr_expect_str_eq(fixture_counts(&f, "q"), "3 0 0");
    cr_expect_str_eq(fixture_receive_with(
                         &f, "q", 10, "'AttributeNames':['All'],'MessageAttributeNames':['All']"),
                     "m1 m2 m3");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageId"), id);
    cr_expect_str_eq(attribute_of_first("SentTimestamp"), "1700000000000");
    cr_expect_str_eq(attribute_of_first("MessageGroupId"), "tenant");
    cr_expect_str_eq(attribute_of_first("AWSTraceHeader"), "Root=1-2-3");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageAttributes.A.StringValue"), "one");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageAttributes.B.BinaryValue"), "AAEC/w==");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MD5OfBody"), "ae7be26cdaa742ca148068d5ac90eaca");
}

RESTART_TEST(leases_go_on_to_their_deadlines)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    fixture_advance_s(&f, 20);
    fixture_restart(&f);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
    fixture_advance_ms(&f, 9999);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "");
    fixture_advance_ms(&f, 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
}

RESTART_TEST(a_lease_that_ended_meanwhile_is_over)
{
    fixture_send(&f, "q", "m1 m2");
    fixture_receive(&f, "q", 1);
    f.now_ms += 60000;
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1 m2");
}

RESTART_TEST(a_changed_deadline_is_kept)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    fixture_change(&f, "q", fixture_handle(&f, "m"), 100);
    fixture_restart(&f);
    fixture_advance_s(&f, 99);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
}

RESTART_TEST(receive_counts_and_the_first_receive_are_kept)
{
    fixture_send(&f, "q", "m");
    fixture_advance_ms(&f, 3);
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_restart(&f);
    fixture_receive_with(&f, "q", 1, "'AttributeNames':['All']");
    cr_expect_str_eq(attribute_of_first("ApproximateReceiveCount"), "3");
    cr_expect_str_eq(attribute_of_first("ApproximateFirstReceiveTimestamp"), "1700000000003");
}

RESTART_TEST(handles_from_before_delete_and_change)
{
    fixture_send(&f, "q", "m1 m2 m3");
    fixture_receive(&f, "q", 10);
    const char *first = fixture_handle(&f, "m1");
    fixture_restart(&f);
    cr_expect_eq(fixture_delete(&f, "q", first), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 2 0");
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m2"), 0), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 1 0");
    fixture_restart(&f);
    cr_expect_eq(fixture_delete(&f, "q", first), QN_ERR_NONE);
    cr_expect_eq(fixture_change(&f, "q", first, 0), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m3")), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
}

RESTART_TEST(an_older_handle_is_still_the_older_one)
{
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    const char *older = fixture_handle(&f, "m");
    fixture_receive(&f, "q", 1);
    fixture_restart(&f);
    cr_expect_eq(fixture_delete(&f, "q", older), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

RESTART_TEST(a_handle_from_before_does_not_hit_a_message_of_now)
{
    fixture_send(&f, "q", "m1 m2");
    fixture_receive(&f, "q", 10);
    fixture_delete_all(&f, "q", "m1");
    fixture_restart(&f);
    fixture_send(&f, "q", "n1 n2 n3");
    fixture_receive(&f, "q", 10);
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m1")), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 4 0");
}

RESTART_TEST(DED_1_windows_go_on)
{
    const char *first =
        fixture_send_with(&f, "q.fifo", "m", "'MessageGroupId':'g','MessageDeduplicationId':'d'");
    const char *number = fixture_get(&f, "SequenceNumber");
    fixture_advance_s(&f, 200);
    fixture_restart(&f);
    cr_expect_str_eq(
        fixture_send_with(&f, "q.fifo", "m", "'MessageGroupId':'g','MessageDeduplicationId':'d'"),
        first);
    cr_expect_str_eq(fixture_get(&f, "SequenceNumber"), number);
    fixture_advance_s(&f, 100);
    cr_expect_str_neq(
        fixture_send_with(&f, "q.fifo", "m", "'MessageGroupId':'g','MessageDeduplicationId':'d'"),
        first);
}

RESTART_TEST(DED_5_the_newer_of_two_with_one_id_counts)
{
    const char *members = "'MessageGroupId':'g','MessageDeduplicationId':'d'";
    fixture_send_with(&f, "q.fifo", "m", members);
    fixture_leap_ms(&f, 300000);
    const char *second = fixture_send_with(&f, "q.fifo", "m", members);
    fixture_restart(&f);
    cr_expect_str_eq(fixture_send_with(&f, "q.fifo", "m", members), second);
}

RESTART_TEST(RRA_2_attempts_go_on)
{
    fixture_send(&f, "q.fifo", "a1 a2");
    fixture_receive_with(&f, "q.fifo", 10, "'ReceiveRequestAttemptId':'r'");
    const char *handle = fixture_handle(&f, "a1");
    fixture_advance_s(&f, 20);
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive_with(&f, "q.fifo", 10, "'ReceiveRequestAttemptId':'r'"),
                     "a1 a2");
    cr_expect_str_eq(fixture_handle(&f, "a1"), handle);
    cr_expect_eq(fixture_delete(&f, "q.fifo", handle), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "0 1 0");
}

RESTART_TEST(RRA_4_an_attempt_stays_spoilt)
{
    fixture_send(&f, "q.fifo", "a1 a2 b1");
    fixture_receive_with(&f, "q.fifo", 2, "'ReceiveRequestAttemptId':'deleted'");
    fixture_receive_with(&f, "q.fifo", 2, "'ReceiveRequestAttemptId':'changed'");
    fixture_delete_all(&f, "q.fifo", "a1");
    fixture_change(&f, "q.fifo", fixture_handle(&f, "b1"), 100);
    fixture_restart(&f);
    cr_expect_null(fixture_receive_with(&f, "q.fifo", 2, "'ReceiveRequestAttemptId':'deleted'"));
    cr_expect_null(fixture_receive_with(&f, "q.fifo", 2, "'ReceiveRequestAttemptId':'changed'"));
}

RESTART_TEST(RRA_5_an_attempt_whose_leases_ended_is_an_ordinary_receive)
{
    fixture_send(&f, "q.fifo", "a1");
    fixture_receive_with(&f, "q.fifo", 2, "'ReceiveRequestAttemptId':'r'");
    f.now_ms += 31000;
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive_with(&f, "q.fifo", 2,
                                          "'ReceiveRequestAttemptId':'r','AttributeNames':['All']"),
                     "a1");
    cr_expect_str_eq(attribute_of_first("ApproximateReceiveCount"), "2");
}

RESTART_TEST(no_sequence_number_is_drawn_twice)
{
    char last[21] = "";

    for (int i = 0; i < 20; i++) {
        fixture_send(&f, "q.fifo", "a1");
        const char *number = fixture_get(&f, "SequenceNumber");
        cr_assert_gt(strcmp(number, last), 0);
        memcpy(last, number, sizeof(last));
        fixture_receive(&f, "q.fifo", 1);
        fixture_delete_all(&f, "q.fifo", "a1");
        fixture_restart(&f);
    }
}

RESTART_TEST(no_message_id_is_drawn_twice_with_the_same_seed)
{
    const char *ids[10];

    for (int i = 0; i < 10; i++) {
        ids[i] = fixture_send_with(&f, "q", "m", "");
        for (int j = 0; j < i; j++) {
            cr_expect_str_neq(ids[i], ids[j]);
        }
        fixture_restart(&f);
    }
}

RESTART_TEST(groups_come_in_the_order_of_service)
{
    fixture_send(&f, "q.fifo", "a1 a2 b1 b2 c1");
    fixture_receive_with(&f, "q.fifo", 3, "'VisibilityTimeout':0");
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "c1 a1 a2 b1 b2");
}

RESTART_TEST(the_order_of_service_outlives_the_messages_that_were_served)
{
    fixture_send(&f, "q.fifo", "a1 a2 b1");
    fixture_receive(&f, "q.fifo", 1);
    fixture_delete_all(&f, "q.fifo", "a1");
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive_with(&f, "q.fifo", 10, "'VisibilityTimeout':0"), "b1 a2");
}

RESTART_TEST(the_order_of_service_outlives_what_expired_unreceived)
{
    fixture_set(&f, "q.fifo", "'MessageRetentionPeriod':'100'");
    fixture_send(&f, "q.fifo", "a1");
    fixture_advance_s(&f, 10);
    fixture_send(&f, "q.fifo", "a2");
    fixture_advance_s(&f, 50);
    fixture_send(&f, "q.fifo", "a3 b1");
    fixture_receive(&f, "q.fifo", 1);
    fixture_delete_all(&f, "q.fifo", "a1");
    fixture_advance_s(&f, 50); /* a2 is gone */
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "b1 a3");
}

RESTART_TEST(a_group_that_was_never_served_keeps_its_place)
{
    fixture_set(&f, "q.fifo", "'MessageRetentionPeriod':'100'");
    fixture_send(&f, "q.fifo", "a1");
    fixture_advance_s(&f, 50);
    fixture_send(&f, "q.fifo", "b1 a2");
    fixture_advance_s(&f, 50); /* a1 expires; a came before b */
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "a2 b1");
}

RESTART_TEST(a_blocked_group_stays_blocked)
{
    fixture_send(&f, "q.fifo", "a1 a2 b1");
    fixture_receive(&f, "q.fifo", 1);
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "b1");
    fixture_delete_all(&f, "q.fifo", "a1");
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "a2");
}
