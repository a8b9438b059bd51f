/* ReceiveRequestAttemptId: the same receive again gives the same messages. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    f.looks = true;
    fixture_create(&f, "q.fifo", "");
    fixture_send(&f, "q.fifo", "a1 a2 b1");
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(attempt, .init = start, .fini = stop);

static const char *receive_as(const char *id, int max, const char *members)
{
    return fixture_receive_with(&f, "q.fifo", max,
                                fixture_format(&f, "'ReceiveRequestAttemptId':'%s'%s%s", id,
                                               members[0] != '\0' ? "," : "", members));
}

static void expect_spoilt(const char *id)
{
    cr_expect_null(receive_as(id, 10, ""));
    cr_expect_eq(f.err.code, QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_str_eq(
        f.err.message,
        fixture_format(&f,
                       "Value %s for parameter ReceiveRequestAttemptId is invalid. Reason: The "
                       "receiveRequestAttemptId is not valid anymore since the receive call is "
                       "not retryable.",
                       id));
}

Test(attempt, RRA_1_an_id_counts_for_five_minutes)
{
    cr_expect_str_eq(receive_as("r", 2, "'VisibilityTimeout':1000"), "a1 a2");
    fixture_advance_ms(&f, 299999);
    cr_expect_str_eq(receive_as("r", 2, "'VisibilityTimeout':1000"), "a1 a2");
    fixture_advance_ms(&f, 1);
    cr_expect_str_eq(receive_as("r", 2, ""), "b1");
}

Test(attempt, RRA_1_not_on_standard_queues)
{
    fixture_create(&f, "q", "");
    cr_expect_eq(fixture_code(&f, "ReceiveMessage", "'QueueUrl':'q','ReceiveRequestAttemptId':'r'"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_str_eq(f.err.message,
                     "Value r for parameter ReceiveRequestAttemptId is invalid. Reason: The "
                     "request include parameter that is not valid for this queue type.");
}

Test(attempt, RRA_2_SM_F8_the_same_messages_under_the_same_handles_for_a_new_time)
{
    cr_expect_str_eq(receive_as("r", 2, ""), "a1 a2");
    const char *handle = fixture_handle(&f, "a1");
    fixture_advance_s(&f, 20);
    cr_expect_str_eq(receive_as("r", 2, ""), "a1 a2");
    cr_expect_str_eq(fixture_handle(&f, "a1"), handle);
    fixture_advance_ms(&f, 29999);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 2 0");
    cr_expect_eq(fixture_delete(&f, "q.fifo", handle), QN_ERR_NONE);
    fixture_advance_ms(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "2 0 0");
}

Test(attempt, RRA_2_another_id_is_another_receive)
{
    cr_expect_str_eq(receive_as("r", 2, ""), "a1 a2");
    cr_expect_str_eq(receive_as("s", 2, ""), "b1");
    cr_expect_str_eq(receive_as("r", 2, ""), "a1 a2");
}

Test(attempt, RRA_2_a_retry_is_told_as_a_longer_lease)
{
    f.events.wanted = true;
    receive_as("r", 2, "");
    receive_as("r", 2, "");
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_LEASE_GRANT), 2);
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_LEASE_EXTEND), 2);
    receive_as("r", 2, "'VisibilityTimeout':0");
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_LEASE_RELEASE), 2);
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_LEASE_EXPIRE), 0);
}

Test(attempt, RRA_3_a_retry_does_not_count_as_a_receive)
{
    receive_as("r", 1, "");
    receive_as("r", 1, "'AttributeNames':['All']");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.ApproximateReceiveCount"), "1");
}

Test(attempt, RRA_4_not_after_one_was_deleted)
{
    receive_as("r", 2, "");
    fixture_delete_all(&f, "q.fifo", "a1");
    expect_spoilt("r");
}

Test(attempt, RRA_4_not_after_the_visibility_of_one_was_changed)
{
    receive_as("r", 2, "");
    fixture_change(&f, "q.fifo", fixture_handle(&f, "a2"), 100);
    expect_spoilt("r");
}

Test(attempt, RRA_4_not_after_the_visibility_of_one_was_set_to_0)
{
    receive_as("r", 2, "");
    fixture_change(&f, "q.fifo", fixture_handle(&f, "a2"), 0);
    expect_spoilt("r");
}

Test(attempt, RRA_5_after_the_end_of_the_leases_it_is_an_ordinary_receive)
{
    receive_as("r", 2, "");
    const char *handle = fixture_handle(&f, "a1");
    fixture_advance_s(&f, 30);
    cr_expect_str_eq(receive_as("r", 10, "'AttributeNames':['All']"), "b1 a1 a2");
    cr_expect_str_eq(fixture_get(&f, "Messages.1.Attributes.ApproximateReceiveCount"), "2");
    cr_expect_str_neq(fixture_handle(&f, "a1"), handle);
    fixture_advance_s(&f, 10);
    cr_expect_str_eq(receive_as("r", 10, ""), "b1 a1 a2");
}

Test(attempt, RRA_5_after_the_end_of_the_leases_and_another_receive_too)
{
    receive_as("r", 1, "'VisibilityTimeout':1");
    fixture_advance_s(&f, 1);
    fixture_receive(&f, "q.fifo", 10);
    fixture_change(&f, "q.fifo", fixture_handle(&f, "a1"), 100);
    cr_expect_str_eq(receive_as("r", 10, ""), "");
}

Test(attempt, RRA_6_an_empty_answer_is_not_remembered)
{
    fixture_receive(&f, "q.fifo", 10);
    cr_expect_str_eq(receive_as("r", 10, ""), "");
    fixture_send(&f, "q.fifo", "c1");
    cr_expect_str_eq(receive_as("r", 10, ""), "c1");
}

Test(attempt, RRA_7_the_whole_set_comes_for_the_time_of_the_retry)
{
    cr_expect_str_eq(receive_as("r", 2, ""), "a1 a2");
    cr_expect_str_eq(receive_as("r", 1, "'VisibilityTimeout':100"), "a1 a2");
    fixture_advance_s(&f, 99);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 2 0");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "3 0 0");
}

Test(attempt, RRA_7_a_retry_with_visibility_0_ends_the_leases)
{
    receive_as("r", 2, "");
    cr_expect_str_eq(receive_as("r", 2, "'VisibilityTimeout':0"), "a1 a2");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "3 0 0");
}

Test(attempt, RRA_8_twelve_hours_count_from_the_first_receive)
{
    receive_as("r", 1, "'VisibilityTimeout':200");
    fixture_advance_s(&f, 100);
    receive_as("r", 1, "'VisibilityTimeout':43200");
    fixture_advance_s(&f, 43099);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "2 1 0");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "3 0 0");
}

Test(attempt, RRA_9_without_the_parameter_each_receive_is_its_own)
{
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 2), "a1 a2");
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 2), "b1");
}

Test(attempt, a_purge_forgets_attempts)
{
    receive_as("r", 2, "");
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q.fifo'");
    fixture_send(&f, "q.fifo", "c1");
    cr_expect_str_eq(receive_as("r", 2, ""), "c1");
}

Test(attempt, a_malformed_id_is_refused)
{
    cr_expect_null(receive_as("with blank", 1, ""));
    cr_expect_eq(f.err.code, QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_null(receive_as("", 1, ""));
    cr_expect_null(receive_as(fixture_format(&f, "%0129d", 1), 1, ""));
    cr_expect_str_eq(receive_as(fixture_format(&f, "%0128d", 1), 1, ""), "a1");
}
