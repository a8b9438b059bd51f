/* The state machine of one message of a standard queue, row by row, and what a receipt handle is
 * worth afterwards. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

enum { TWELVE_HOURS_S = 43200 };

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

TestSuite(standard, .init = start, .fini = stop);

static const char *system_attribute(const char *name)
{
    return fixture_get(&f, fixture_format(&f, "Messages.0.Attributes.%s", name));
}

static const char *receive_all(const char *queue)
{
    return fixture_receive_with(&f, queue, 10, "'AttributeNames':['All']");
}

Test(standard, SM_1_a_message_sent_without_delay_is_visible_and_was_never_received)
{
    f.events.wanted = true;
    fixture_send(&f, "q", "m");
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_MSG_SEND), 1);

    fixture_advance_ms(&f, 7);
    cr_assert_str_eq(receive_all("q"), "m");
    cr_expect_str_eq(system_attribute("ApproximateReceiveCount"), "1");
    cr_expect_str_eq(system_attribute("SentTimestamp"), "1700000000000");
    cr_expect_str_eq(system_attribute("ApproximateFirstReceiveTimestamp"), "1700000000007");
}

Test(standard, SM_2_a_message_sent_with_a_delay_is_delayed_until_it_is_over)
{
    fixture_send_with(&f, "q", "m", "'DelaySeconds':5");
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 1");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "");
    fixture_advance_ms(&f, 4999);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "");
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 1");
}

Test(standard, SM_3_a_delayed_message_becomes_visible_at_its_instant)
{
    fixture_send_with(&f, "q", "m", "'DelaySeconds':5");
    fixture_advance_ms(&f, 5000);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
}

Test(standard, SM_4_a_receive_leases_the_message_and_counts)
{
    fixture_send(&f, "q", "m");
    cr_assert_str_eq(fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':10"), "m");
    const char *first = fixture_handle(&f, "m");
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "");

    fixture_advance_s(&f, 10);
    cr_assert_str_eq(receive_all("q"), "m");
    cr_expect_str_eq(system_attribute("ApproximateReceiveCount"), "2");
    cr_expect_str_eq(system_attribute("ApproximateFirstReceiveTimestamp"), "1700000000000");
    cr_expect_str_neq(fixture_handle(&f, "m"), first);
}

Test(standard, SM_5_a_receive_with_visibility_0_leaves_the_message_visible_and_counts)
{
    fixture_send(&f, "q", "m");
    for (int i = 1; i <= 3; i++) {
        cr_assert_str_eq(
            fixture_receive_with(&f, "q", 10, "'VisibilityTimeout':0,'AttributeNames':['All']"),
            "m");
        cr_expect_eq(fixture_get_integer(&f, "Messages.0.Attributes.ApproximateReceiveCount"), i);
        cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    }
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(standard, SM_6_a_lease_ends_at_its_deadline_and_the_handle_stays_usable)
{
    f.events.wanted = true;
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    fixture_advance_ms(&f, 29999);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
    fixture_advance_ms(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_LEASE_EXPIRE), 1);
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(standard, SM_6_a_message_whose_lease_ended_takes_its_old_place)
{
    fixture_send(&f, "q", "m1 m2 m3");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':1");
    fixture_send(&f, "q", "m4");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1 m2 m3 m4");
}

Test(standard, SM_7_a_visibility_change_sets_the_deadline_from_now)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    fixture_advance_s(&f, 20);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), 40), QN_ERR_NONE);
    fixture_advance_ms(&f, 39999);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
    fixture_advance_ms(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
}

Test(standard, SM_7_a_visibility_change_can_shorten_and_counts_nothing)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), 1), QN_ERR_NONE);
    fixture_advance_s(&f, 1);
    cr_assert_str_eq(receive_all("q"), "m");
    cr_expect_str_eq(system_attribute("ApproximateReceiveCount"), "2");
}

Test(standard, SM_7_an_older_handle_changes_the_visibility_of_the_current_receive)
{
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':1");
    const char *older = fixture_handle(&f, "m");
    fixture_advance_s(&f, 1);
    fixture_receive(&f, "q", 1);
    cr_expect_eq(fixture_change(&f, "q", older, 100), QN_ERR_NONE);
    fixture_advance_s(&f, 99);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
    cr_expect_eq(fixture_change(&f, "q", older, 0), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
}

Test(standard, SM_7_twelve_hours_in_all_count_from_the_receive)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), TWELVE_HOURS_S), QN_ERR_NONE);
    fixture_advance_ms(&f, 1);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), TWELVE_HOURS_S),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_str_eq(f.err.message,
                     "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total "
                     "VisibilityTimeout for the message is beyond the limit [43200 seconds]");
    fixture_advance_ms(&f, 999);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), TWELVE_HOURS_S - 1), QN_ERR_NONE);
    fixture_advance_s(&f, TWELVE_HOURS_S - 2);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), 2),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), 1), QN_ERR_NONE);
}

Test(standard, SM_8_a_visibility_change_to_0_ends_the_lease_at_once)
{
    f.events.wanted = true;
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), 0), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_LEASE_RELEASE), 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
}

Test(standard, SM_9_the_latest_handle_deletes_a_message_in_flight)
{
    f.events.wanted = true;
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_MSG_DELETE), 1);
    fixture_advance_s(&f, 31);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "");
}

Test(standard, SM_10_the_latest_handle_deletes_a_message_that_is_visible_again)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    fixture_advance_s(&f, 31);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(standard, SM_11_an_older_handle_deletes_nothing_and_is_answered_as_success)
{
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':1");
    const char *older = fixture_handle(&f, "m");
    fixture_advance_s(&f, 1);
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':1");
    cr_expect_eq(fixture_delete(&f, "q", older), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
    fixture_advance_s(&f, 1);
    cr_expect_eq(fixture_delete(&f, "q", older), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
}

Test(standard, SM_11_with_the_option_for_stale_deletes_an_older_handle_deletes)
{
    f.options.stale_delete = true;
    fixture_restart(&f);
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':1");
    const char *older = fixture_handle(&f, "m");
    fixture_advance_s(&f, 1);
    fixture_receive(&f, "q", 1);
    cr_expect_eq(fixture_delete(&f, "q", older), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(standard, SM_12_a_message_received_too_often_is_moved_instead_of_returned)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    f.events.wanted = true;
    fixture_send(&f, "q", "m");
    cr_expect_str_eq(fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0"), "m");
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "");
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_MSG_DLQ), 1);
}

Test(standard, SM_1D_a_dead_lettered_message_keeps_what_it_was)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 2);
    const char *id = fixture_send_with(
        &f, "q", "m", "'MessageAttributes':{'A':{'DataType':'String','StringValue':'one'}}");
    fixture_advance_ms(&f, 5);
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_advance_ms(&f, 5);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "");

    cr_assert_str_eq(fixture_receive_with(
                         &f, "dead", 1, "'AttributeNames':['All'],'MessageAttributeNames':['All']"),
                     "m");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageId"), id);
    cr_expect_str_eq(system_attribute("ApproximateReceiveCount"), "3");
    cr_expect_str_eq(system_attribute("SentTimestamp"), "1700000000000");
    cr_expect_str_eq(system_attribute("ApproximateFirstReceiveTimestamp"), "1700000000005");
    cr_expect_str_eq(system_attribute("SenderId"), "000000000000");
    cr_expect_str_eq(system_attribute("DeadLetterQueueSourceArn"), fixture_arn(&f, "q"));
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageAttributes.A.StringValue"), "one");
}

Test(standard, SM_13_a_message_expires_in_every_state)
{
    fixture_set(&f, "q", "'MessageRetentionPeriod':'60'");
    f.events.wanted = true;
    fixture_send_with(&f, "q", "in_flight", "");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':100");
    fixture_send_with(&f, "q", "delayed", "'DelaySeconds':100");
    fixture_send_with(&f, "q", "visible", "");
    fixture_advance_ms(&f, 59999);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 1 1");
    fixture_advance_ms(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_MSG_EXPIRE), 3);
}

Test(standard, SM_13_a_shorter_retention_expires_what_is_too_old)
{
    fixture_send(&f, "q", "m1");
    fixture_advance_s(&f, 100);
    fixture_send(&f, "q", "m2");
    fixture_set(&f, "q", "'MessageRetentionPeriod':'60'");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m2");
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
}

Test(standard, SM_14_a_purge_removes_messages_in_every_state)
{
    f.events.wanted = true;
    fixture_send(&f, "q", "in_flight visible");
    fixture_receive(&f, "q", 1);
    fixture_send_with(&f, "q", "delayed", "'DelaySeconds':100");
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 1 1");
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q'");
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_MSG_PURGE), 1);
    fixture_advance_s(&f, 200);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "");
    fixture_send(&f, "q", "later");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "later");
}

Test(standard, SM_15_deleting_the_queue_removes_its_messages)
{
    fixture_send(&f, "q", "m1 m2");
    fixture_receive(&f, "q", 1);
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'q'");
    cr_expect_eq(fixture_code(&f, "ReceiveMessage", "'QueueUrl':'q'"), QN_ERR_QUEUE_DOES_NOT_EXIST);
    fixture_create(&f, "q", "");
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m1")),
                 QN_ERR_RECEIPT_HANDLE_IS_INVALID);
}

Test(standard, SM_16_a_move_task_makes_a_new_message_of_it)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    const char *id = fixture_send_with(&f, "q", "m", "");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_receive(&f, "q", 1);
    fixture_advance_s(&f, 9);
    fixture_must(&f, "StartMessageMoveTask", "'SourceArn':'%s'", fixture_arn(&f, "dead"));
    cr_assert_str_eq(receive_all("q"), "m");
    cr_expect_str_neq(fixture_get(&f, "Messages.0.MessageId"), id);
    cr_expect_str_eq(system_attribute("ApproximateReceiveCount"), "1");
    cr_expect_str_eq(system_attribute("SentTimestamp"), "1700000009000");
    cr_expect_str_eq(system_attribute("ApproximateFirstReceiveTimestamp"), "1700000009000");
    cr_expect_null(system_attribute("DeadLetterQueueSourceArn"));
    cr_expect_str_eq(fixture_counts(&f, "dead"), "0 0 0");
}

Test(standard, SM_17_deleting_what_is_gone_succeeds_any_number_of_times)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
    }
}

Test(standard, SM_18_changing_the_visibility_of_what_is_gone_is_refused)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    const char *handle = fixture_handle(&f, "m");
    fixture_delete(&f, "q", handle);
    cr_expect_eq(fixture_change(&f, "q", handle, 10), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_str_eq(f.err.message,
                     fixture_format(&f,
                                    "Value %s for parameter ReceiptHandle is invalid. Reason: "
                                    "Message does not exist or is not available for visibility "
                                    "timeout change.",
                                    handle));
    cr_expect_eq(fixture_change(&f, "q", handle, 0), QN_ERR_INVALID_PARAMETER_VALUE);
}

Test(standard, SM_19_a_visible_message_is_hidden_again_without_a_receive)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    fixture_advance_s(&f, 31);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), 10), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "");
    fixture_advance_s(&f, 10);
    cr_assert_str_eq(receive_all("q"), "m");
    cr_expect_str_eq(system_attribute("ApproximateReceiveCount"), "2");
}

Test(standard, SM_19_the_handle_still_deletes_what_it_hid_again)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    fixture_advance_s(&f, 31);
    fixture_change(&f, "q", fixture_handle(&f, "m"), 10);
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(standard, SM_19_the_twelve_hours_count_for_a_visible_message_too)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    fixture_advance_s(&f, 31);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), TWELVE_HOURS_S - 30),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), TWELVE_HOURS_S - 31),
                 QN_ERR_NONE);
}

Test(standard, SM_20_a_change_to_0_of_a_visible_message_succeeds_without_effect)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    fixture_advance_s(&f, 31);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), 0), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    fixture_advance_s(&f, TWELVE_HOURS_S);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), 0), QN_ERR_NONE);
}

/* ---- what a handle is worth (17.4) ---- */

Test(standard, handle_of_another_queue_is_refused_by_both_actions)
{
    fixture_create(&f, "other", "");
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    const char *handle = fixture_handle(&f, "m");
    cr_expect_eq(fixture_delete(&f, "other", handle), QN_ERR_RECEIPT_HANDLE_IS_INVALID);
    cr_expect_str_eq(
        f.err.message,
        fixture_format(&f, "The receipt handle \"%s\" is not valid for this queue.", handle));
    cr_expect_eq(fixture_change(&f, "other", handle, 5), QN_ERR_RECEIPT_HANDLE_IS_INVALID);
}

Test(standard, handle_that_was_forged_is_refused_wherever_it_was_changed)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    const char *handle = fixture_handle(&f, "m");
    size_t len = strlen(handle);
    for (size_t i = 0; i + 2 < len; i++) {
        char *forged = (char *)(uintptr_t)fixture_format(&f, "%s", handle);
        forged[i] = forged[i] == 'A' ? 'B' : 'A';
        cr_expect_eq(fixture_delete(&f, "q", forged), QN_ERR_RECEIPT_HANDLE_IS_INVALID);
    }
    cr_expect_eq(fixture_delete(&f, "q", "garbage"), QN_ERR_RECEIPT_HANDLE_IS_INVALID);
    cr_expect_str_eq(f.err.message,
                     "The input receipt handle \"garbage\" is not a valid receipt handle.");
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
}

Test(standard, handle_of_a_purged_message_is_one_of_a_deleted_message)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q'");
    fixture_send(&f, "q", "other");
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), 5),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
}

Test(standard, handle_of_an_expired_message_is_one_of_a_deleted_message)
{
    fixture_set(&f, "q", "'MessageRetentionPeriod':'60'");
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':100");
    fixture_advance_s(&f, 60);
    fixture_send(&f, "q", "other");
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), 5),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
}

Test(standard, handle_of_a_moved_message_does_nothing_to_it)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_receive(&f, "q", 1);
    const char *handle = fixture_handle(&f, "m");
    cr_expect_eq(fixture_delete(&f, "q", handle), QN_ERR_NONE);
    cr_expect_eq(fixture_change(&f, "q", handle, 5), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(fixture_delete(&f, "dead", handle), QN_ERR_RECEIPT_HANDLE_IS_INVALID);
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
}

Test(standard, handle_of_a_place_that_was_used_again_does_not_touch_the_new_message)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    fixture_delete_all(&f, "q", "m");
    fixture_send(&f, "q", "n");
    fixture_receive(&f, "q", 1);
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), 0),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
}
