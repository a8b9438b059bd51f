/* Fair queues: tenants of a standard queue, and what a noisy one may not do to the others. */
#include <criterion/criterion.h>

#include "server/engine/state.h"
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

TestSuite(fair, .init = start, .fini = stop);

static void send_as(const char *tenant, const char *body, int count)
{
    for (int i = 0; i < count; i++) {
        fixture_send_with(&f, "q", body, fixture_format(&f, "'MessageGroupId':'%s'", tenant));
    }
}

/* Receives and keeps so many. */
static void keep(int count)
{
    for (; count > 0; count -= 10) {
        fixture_must(&f, "ReceiveMessage",
                     "'QueueUrl':'q','MaxNumberOfMessages':%d,'VisibilityTimeout':40000",
                     count < 10 ? count : 10);
        cr_assert_eq((int)fixture_count(&f, "Messages"), count < 10 ? count : 10);
    }
}

static const char *take_one(void)
{
    return fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':40000");
}

static struct qn_queue_figures figures(void)
{
    struct qn_queue_figures ret;

    qn_engine_figures(f.engine, fixture_queue(&f, "q"), f.now_ms, &ret);
    return ret;
}

Test(fair, FQ_1_messages_of_one_tenant_may_be_in_flight_together)
{
    send_as("A", "a", 3);
    cr_expect_str_eq(fixture_receive(&f, "q", 2), "a a");
    cr_expect_str_eq(fixture_receive(&f, "q", 2), "a");
}

Test(fair, FQ_1_a_group_id_brings_no_deduplication)
{
    send_as("A", "same", 2);
    cr_expect_str_eq(fixture_counts(&f, "q"), "2 0 0");
}

Test(fair, FQ_2_a_message_without_group_id_stands_beside_the_tenants)
{
    send_as("A", "a", 40);
    keep(40);
    send_as("A", "a", 5);
    fixture_send(&f, "q", "plain");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "plain");
}

Test(fair, FQ_3_the_group_id_comes_back_and_there_is_no_sequence_number)
{
    send_as("A", "a", 1);
    cr_expect_null(fixture_get(&f, "SequenceNumber"));
    fixture_receive_with(&f, "q", 1, "'AttributeNames':['All']");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.MessageGroupId"), "A");
    cr_expect_null(fixture_get(&f, "Messages.0.Attributes.SequenceNumber"));
    cr_expect_null(fixture_get(&f, "Messages.0.Attributes.MessageDeduplicationId"));
}

Test(fair, FQ_4_a_tenant_with_thirty_in_flight_and_a_tenth_of_all_is_noisy)
{
    send_as("A", "a", 40);
    keep(40);
    send_as("A", "a", 5);
    send_as("B", "b", 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "b");
    cr_expect_eq(figures().noisy_groups, 1);
}

Test(fair, FQ_4_a_tenant_with_twenty_nine_in_flight_is_not)
{
    send_as("A", "a", 29);
    keep(29);
    send_as("A", "a", 5);
    send_as("B", "b", 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "a");
}

Test(fair, FQ_4_a_tenant_with_a_tenth_or_less_of_all_in_flight_is_not)
{
    send_as("A", "a", 30);
    keep(30);
    for (int i = 0; i < 270; i++) {
        send_as(fixture_format(&f, "t%d", i), "t", 1);
    }
    keep(270); /* 30 of 300 is not more than a tenth */
    send_as("A", "a", 5);
    send_as("B", "b", 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "a");
}

Test(fair, FQ_4_a_tenant_with_more_than_a_tenth_of_the_processing_time_is_noisy)
{
    /* A's messages take long, those of the others do not. */
    send_as("A", "a", 1);
    for (int i = 0; i < 4; i++) {
        send_as(fixture_format(&f, "t%d", i), fixture_format(&f, "t%d", i), 1);
    }
    fixture_receive_with(&f, "q", 10, "'VisibilityTimeout':1000");
    fixture_advance_s(&f, 1);
    for (int i = 0; i < 4; i++) {
        fixture_delete_all(&f, "q", fixture_format(&f, "t%d", i));
    }
    fixture_advance_s(&f, 100);
    fixture_delete_all(&f, "q", "a");
    send_as("A", "a", 5);
    send_as("B", "b", 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "b");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "a");
}

Test(fair, FQ_4_processing_time_counts_for_five_minutes)
{
    send_as("A", "a", 1);
    send_as("t", "t", 1);
    fixture_receive_with(&f, "q", 10, "'VisibilityTimeout':1000");
    fixture_delete_all(&f, "q", "t");
    fixture_advance_s(&f, 100);
    fixture_delete_all(&f, "q", "a");
    fixture_advance_s(&f, 330);
    send_as("A", "a", 5);
    send_as("B", "b", 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "a");
}

Test(fair, FQ_5_a_noisy_tenant_is_served_when_nothing_quiet_waits)
{
    send_as("A", "a", 40);
    keep(40);
    send_as("A", "a", 3);
    send_as("B", "b", 2);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "b b a a a");
}

Test(fair, FQ_5_quiet_tenants_are_served_by_age)
{
    send_as("B", "b1", 1);
    send_as("C", "c1", 1);
    fixture_send(&f, "q", "plain");
    send_as("B", "b2", 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "b1 c1 plain b2");
}

Test(fair, FQ_6_of_noisy_tenants_the_one_with_fewest_in_flight_comes_first)
{
    send_as("A", "a", 50);
    keep(50);
    send_as("B", "b", 40);
    keep(40);
    send_as("A", "a", 3);
    send_as("B", "b", 3);
    send_as("C", "c", 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 3), "c b b");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "b a a a");
}

Test(fair, FQ_7_a_tenant_without_backlog_is_not_noisy)
{
    send_as("A", "a", 40);
    keep(40);
    send_as("A", "a", 1);
    send_as("B", "b", 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "b");
    cr_expect_eq(figures().noisy_groups, 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "a");
    cr_expect_eq(figures().noisy_groups, 0);
}

Test(fair, FQ_7_a_tenant_that_sent_nothing_for_five_minutes_is_not_noisy)
{
    send_as("A", "a", 40);
    keep(40);
    send_as("A", "a", 5);
    send_as("B", "b1", 1);
    cr_expect_str_eq(take_one(), "b1");
    fixture_advance_s(&f, 299);
    send_as("B", "b2", 1);
    cr_expect_str_eq(take_one(), "b2");
    fixture_advance_s(&f, 1);
    send_as("B", "b3", 1);
    cr_expect_str_eq(take_one(), "a");
}

Test(fair, FQ_7_a_tenant_whose_share_falls_is_not_noisy)
{
    send_as("A", "a", 30);
    fixture_receive_with(&f, "q", 10, "'VisibilityTimeout':1000");
    const char *handle = fixture_handle(&f, "a");
    keep(20);
    send_as("A", "a", 5);
    send_as("B", "b1", 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "b1");
    fixture_delete(&f, "q", handle); /* 29 are left */
    send_as("B", "b2", 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "a");
}

Test(fair, FQ_8_a_single_tenant_is_served_by_age)
{
    send_as("A", "a", 60);
    keep(60);
    send_as("A", "a1", 1);
    send_as("A", "a2", 1);
    send_as("A", "a3", 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "a1 a2 a3");
}

Test(fair, FQ_9_no_attribute_is_needed)
{
    cr_expect_null(fixture_attribute(&f, "q", "FifoThroughputLimit"));
    send_as("A", "a", 1);
}

Test(fair, quiet_figures_leave_noisy_tenants_out)
{
    send_as("A", "a", 40);
    keep(40);
    fixture_advance_s(&f, 7);
    send_as("A", "a", 5);
    fixture_send_with(&f, "q", "later", "'MessageGroupId':'A','DelaySeconds':5");
    fixture_advance_s(&f, 3);
    send_as("B", "b", 2);
    fixture_receive(&f, "q", 1);
    struct qn_queue_figures now = figures();
    cr_expect_eq(now.noisy_groups, 1);
    cr_expect_eq(now.counts.visible, 6);
    cr_expect_eq(now.quiet.visible, 1);
    cr_expect_eq(now.counts.in_flight, 41);
    cr_expect_eq(now.quiet.in_flight, 1);
    cr_expect_eq(now.counts.delayed, 1);
    cr_expect_eq(now.quiet.delayed, 0);
    cr_expect_eq(now.oldest_age_s, 10);
    cr_expect_eq(now.oldest_quiet_age_s, 0);
}

Test(fair, tenants_are_forgotten_when_nothing_of_them_counts)
{
    for (int i = 0; i < 300; i++) {
        send_as(fixture_format(&f, "t%d", i), fixture_format(&f, "t%d", i), 1);
        fixture_receive(&f, "q", 1);
        fixture_advance_ms(&f, 10);
        fixture_delete_all(&f, "q", fixture_format(&f, "t%d", i));
    }
    fixture_advance_s(&f, 400);
    /* Each receive looks at a few. */
    for (int i = 0; i < 200; i++) {
        fixture_receive(&f, "q", 1);
    }
    cr_expect_eq(fixture_queue(&f, "q")->messages->by_name.len, 0);
}

Test(fair, a_redriven_message_keeps_its_tenant)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    send_as("A", "a", 1);
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_receive(&f, "q", 1);
    fixture_receive_with(&f, "dead", 1, "'AttributeNames':['All']");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.MessageGroupId"), "A");
}
