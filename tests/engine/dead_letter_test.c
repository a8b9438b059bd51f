/* Dead-letter queues: when a message is moved, and what of it stays. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    f.looks = true;
    fixture_create(&f, "q", "");
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 2);
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(dead_letter, .init = start, .fini = stop);

static const char *take(const char *queue)
{
    return fixture_receive_with(&f, queue, 10, "'VisibilityTimeout':0,'AttributeNames':['All']");
}

static const char *count_of_first(void)
{
    return fixture_get(&f, "Messages.0.Attributes.ApproximateReceiveCount");
}

/* Sends m and brings it into the dead-letter queue. */
static void kill_message(void)
{
    fixture_send(&f, "q", "m");
    take("q");
    take("q");
    cr_assert_str_eq(take("q"), "");
}

Test(dead_letter, DLQ_1_a_message_is_delivered_as_often_as_the_policy_says)
{
    fixture_send(&f, "q", "m");
    cr_expect_str_eq(take("q"), "m");
    cr_expect_str_eq(take("q"), "m");
    cr_expect_str_eq(take("q"), "");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
}

Test(dead_letter, DLQ_1_a_fault_that_delivers_twice_adds_no_receive_beyond_the_policy)
{
    struct qn_verdict twice = {.kind = QN_VERDICT_DUP_IN_BATCH, .entry_mask = UINT64_MAX};

    fixture_send(&f, "q", "m");
    cr_expect_str_eq(take("q"), "m");
    f.verdict = &twice;
    cr_expect_str_eq(take("q"), "m"); /* its second one, and last */
    f.verdict = NULL;
    cr_expect_str_eq(count_of_first(), "2");
    cr_expect_str_eq(take("q"), "");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(dead_letter, DLQ_2_the_move_happens_at_the_receive_not_when_the_lease_ends)
{
    fixture_send(&f, "q", "m");
    for (int i = 0; i < 2; i++) {
        fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':1");
        fixture_advance_s(&f, 1);
    }
    fixture_advance_s(&f, 1000);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "0 0 0");
    cr_expect_str_eq(take("q"), "");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
}

Test(dead_letter, DLQ_2_a_message_past_the_limit_can_still_be_deleted_by_its_last_handle)
{
    fixture_send(&f, "q", "m");
    take("q");
    take("q");
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
    cr_expect_str_eq(take("q"), "");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "0 0 0");
}

Test(dead_letter, DLQ_3_it_keeps_id_body_attributes_group_and_trace_header)
{
    const char *id = fixture_send_with(
        &f, "q", "m",
        "'MessageGroupId':'tenant','MessageAttributes':{'A':{'DataType':'Binary.png',"
        "'BinaryValue':'iVBORw=='}},'MessageSystemAttributes':{'AWSTraceHeader':{"
        "'DataType':'String','StringValue':'Root=1-5759e988-bd862e3fe1be46a994272793'}}");
    const char *digest = fixture_get(&f, "MD5OfMessageAttributes");
    take("q");
    take("q");
    take("q");
    cr_assert_str_eq(fixture_receive_with(
                         &f, "dead", 1, "'AttributeNames':['All'],'MessageAttributeNames':['All']"),
                     "m");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageId"), id);
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MD5OfMessageAttributes"), digest);
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.MessageGroupId"), "tenant");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.AWSTraceHeader"),
                     "Root=1-5759e988-bd862e3fe1be46a994272793");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.SenderId"), "000000000000");
}

Test(dead_letter, DLQ_3_it_is_visible_without_the_dead_letter_queue_s_delay)
{
    fixture_set(&f, "dead", "'DelaySeconds':'900'");
    kill_message();
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
}

Test(dead_letter, DLQ_4_the_receive_count_goes_on)
{
    kill_message();
    cr_expect_str_eq(take("dead"), "m");
    cr_expect_str_eq(count_of_first(), "3");
}

Test(dead_letter, DLQ_5_it_expires_by_its_send_and_the_dead_letter_queue_s_retention)
{
    fixture_set(&f, "dead", "'MessageRetentionPeriod':'100'");
    fixture_send(&f, "q", "m");
    fixture_advance_s(&f, 60);
    take("q");
    take("q");
    take("q");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
    fixture_advance_ms(&f, 39999);
    cr_expect_str_eq(take("dead"), "m");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.SentTimestamp"), "1700000000000");
    fixture_advance_ms(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "dead"), "0 0 0");
}

Test(dead_letter, DLQ_5_one_that_is_too_old_for_the_dead_letter_queue_is_gone_at_once)
{
    fixture_set(&f, "dead", "'MessageRetentionPeriod':'60'");
    fixture_send(&f, "q", "m");
    fixture_advance_s(&f, 60);
    take("q");
    take("q");
    take("q");
    cr_expect_str_eq(take("dead"), "");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "0 0 0");
}

Test(dead_letter, DLQ_5_expiry_goes_by_age_and_not_by_arrival)
{
    fixture_set(&f, "dead", "'MessageRetentionPeriod':'100'");
    fixture_send(&f, "q", "old");
    take("q");
    take("q");
    fixture_advance_s(&f, 50);
    fixture_send(&f, "dead", "young");
    fixture_advance_s(&f, 10);
    take("q"); /* old arrives behind young */
    cr_expect_str_eq(fixture_counts(&f, "dead"), "2 0 0");
    fixture_advance_s(&f, 40);
    cr_expect_str_eq(fixture_receive(&f, "dead", 10), "young");
    fixture_advance_s(&f, 50);
    cr_expect_str_eq(fixture_counts(&f, "dead"), "0 0 0");
}

Test(dead_letter, DLQ_5_a_fifo_message_starts_its_retention_anew)
{
    fixture_create(&f, "q.fifo", "");
    fixture_create(&f, "dead.fifo", "'MessageRetentionPeriod':'100'");
    fixture_redrive(&f, "q.fifo", "dead.fifo", 1);
    fixture_send(&f, "q.fifo", "a1");
    fixture_advance_s(&f, 60);
    take("q.fifo");
    take("q.fifo");
    fixture_advance_s(&f, 99);
    cr_expect_str_eq(fixture_counts(&f, "dead.fifo"), "1 0 0");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "dead.fifo"), "0 0 0");
}

Test(dead_letter, DLQ_6_the_first_receive_stays)
{
    fixture_send(&f, "q", "m");
    fixture_advance_ms(&f, 5);
    take("q");
    take("q");
    take("q");
    fixture_advance_ms(&f, 5);
    take("dead");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.ApproximateFirstReceiveTimestamp"),
                     "1700000000005");
}

Test(dead_letter, DLQ_8_it_tells_where_it_came_from)
{
    kill_message();
    take("dead");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.DeadLetterQueueSourceArn"),
                     fixture_arn(&f, "q"));
}

Test(dead_letter, DLQ_9_old_handles_do_not_act_on_it)
{
    kill_message();
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
}

static struct qn_queue_figures figures_of(const char *queue)
{
    struct qn_queue_figures figures;

    qn_engine_figures(f.engine, fixture_queue(&f, queue), f.now_ms, &figures);
    return figures;
}

Test(dead_letter, DLQ_10_an_automatic_move_is_no_send)
{
    kill_message();
    cr_expect_eq(figures_of("dead").sent, 0);
    cr_expect_eq(figures_of("q").sent, 1);
    fixture_send(&f, "dead", "n");
    cr_expect_eq(figures_of("dead").sent, 1);
}

Test(dead_letter, DLQ_11_a_dead_letter_queue_of_its_own_counts_its_own_receives)
{
    fixture_create(&f, "deader", "");
    fixture_redrive(&f, "dead", "deader", 2);
    kill_message();
    cr_expect_str_eq(take("dead"), "m");
    cr_expect_str_eq(take("dead"), "m");
    cr_expect_str_eq(take("dead"), "");
    cr_expect_str_eq(take("deader"), "m");
    cr_expect_str_eq(count_of_first(), "5");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.DeadLetterQueueSourceArn"),
                     fixture_arn(&f, "dead"));
}

Test(dead_letter, DLQ_12_without_the_dead_letter_queue_it_is_delivered_on)
{
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'dead'");
    fixture_send(&f, "q", "m");
    for (int i = 0; i < 5; i++) {
        cr_expect_str_eq(take("q"), "m");
    }
    cr_expect_str_eq(count_of_first(), "5");
    cr_expect_not_null(fixture_attribute(&f, "q", "RedrivePolicy"));
    fixture_create(&f, "dead", "");
    cr_expect_str_eq(take("q"), "");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
}

Test(dead_letter, DLQ_13_the_walk_goes_on_with_the_group_in_the_same_receive)
{
    fixture_create(&f, "q.fifo", "");
    fixture_create(&f, "dead.fifo", "");
    fixture_redrive(&f, "q.fifo", "dead.fifo", 1);
    fixture_send(&f, "q.fifo", "a1 a2");
    take("q.fifo");
    fixture_send(&f, "q.fifo", "a3 b1");
    cr_expect_str_eq(take("q.fifo"), "a3 b1");
    cr_expect_str_eq(fixture_receive(&f, "dead.fifo", 10), "a1 a2");
}

Test(dead_letter, DLQ_13_an_emptied_group_does_not_end_the_walk)
{
    fixture_create(&f, "q.fifo", "");
    fixture_create(&f, "dead.fifo", "");
    fixture_redrive(&f, "q.fifo", "dead.fifo", 1);
    fixture_send(&f, "q.fifo", "a1 b1 c1");
    take("q.fifo");
    fixture_send(&f, "q.fifo", "c2");
    cr_expect_str_eq(take("q.fifo"), "c2");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 0 0");
    cr_expect_str_eq(fixture_receive(&f, "dead.fifo", 10), "a1 b1 c1");
}

Test(dead_letter, DLQ_14_it_arrives_although_it_is_larger_than_the_queue_takes)
{
    fixture_set(&f, "dead", "'MaximumMessageSize':'1024'");
    const char *body = fixture_format(&f, "%02000d", 1);
    fixture_send(&f, "q", body);
    take("q");
    take("q");
    take("q");
    cr_expect_str_eq(take("dead"), body);
}

Test(dead_letter, a_lower_limit_moves_what_was_received_that_often_at_its_next_receive)
{
    fixture_redrive(&f, "q", "dead", 10);
    fixture_send(&f, "q", "m");
    for (int i = 0; i < 4; i++) {
        take("q");
    }
    fixture_redrive(&f, "q", "dead", 3);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    cr_expect_str_eq(take("q"), "");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
}

Test(dead_letter, RP_7_without_a_policy_nothing_is_moved)
{
    fixture_set(&f, "q", "'RedrivePolicy':''");
    fixture_send(&f, "q", "m");
    for (int i = 0; i < 5; i++) {
        cr_expect_str_eq(take("q"), "m");
    }
}

Test(dead_letter, two_queues_that_name_each_other_pass_a_message_to_and_fro)
{
    fixture_redrive(&f, "dead", "q", 1);
    kill_message();
    cr_expect_str_eq(take("dead"), "m");
    cr_expect_str_eq(take("dead"), "");
    cr_expect_str_eq(take("q"), "m");
    cr_expect_str_eq(count_of_first(), "4");
}
