/* What may begin, and how much more is asked for. */
#include "client/consumer/hand.h"

#include <criterion/criterion.h>

#include "tests/support/hand.h"

static struct quern_hand hand;

static void open_hand(void)
{
    hand_fixture_init(&hand);
}

static void close_hand(void)
{
    quern_hand_done(&hand);
}

TestSuite(consumer_flow, .init = open_hand, .fini = close_hand);

static struct quern_delivery *admit(const char *id, const char *group)
{
    return hand_fixture_admit(&hand, id, "h", group, 1, 0);
}

static const char *begin(void)
{
    const struct quern_delivery *d = hand_fixture_begin(&hand, 0);

    return d != NULL ? d->id : "none";
}

/* ---- how many to ask for ---- */

Test(consumer_flow, receive_asks_for_as_many_as_fit)
{
    cr_expect_eq(quern_hand_ask(&hand, 0), 3);
    hand.max_messages = 1;
    cr_expect_eq(quern_hand_ask(&hand, 0), 1);
}

Test(consumer_flow, nothing_is_received_while_a_message_waits_that_could_begin)
{
    (void)admit("a", NULL);
    cr_expect_eq(quern_hand_ask(&hand, 0), 0);
    (void)begin();
    cr_expect_gt(quern_hand_ask(&hand, 0), 0);
}

Test(consumer_flow, nothing_is_received_without_a_free_worker)
{
    (void)admit("a", NULL);
    (void)admit("b", NULL);
    (void)begin();
    (void)begin();
    cr_expect_eq(quern_hand_ask(&hand, 0), 0);
}

Test(consumer_flow, receives_overlap_only_for_workers_that_none_works_for_yet)
{
    hand.workers = 4;
    hand.promised = 3;
    cr_expect_eq(quern_hand_ask(&hand, 0), 3); /* the fourth worker, and two that wait */
    hand.promised = 6;
    cr_expect_eq(quern_hand_ask(&hand, 0), 0);
}

Test(consumer_flow, in_hand_are_never_more_than_workers_and_the_buffer)
{
    struct quern_delivery *d;

    (void)admit("a", NULL); /* 2 workers and 3 - 1 that wait: 4 */
    (void)admit("b", NULL);
    (void)admit("c", NULL);
    d = hand_fixture_begin(&hand, 0);
    quern_hand_end(&hand, d);
    quern_hand_settle(&hand, d, QUERN_DELETE, 0); /* not deleted yet: still ours */
    (void)begin();
    d = hand_fixture_begin(&hand, 0);
    quern_hand_end(&hand, d);
    quern_hand_settle(&hand, d, QUERN_DELETE, 0);
    cr_expect_eq(quern_hand_ask(&hand, 0), 1);
}

Test(consumer_flow, nothing_is_received_while_draining)
{
    hand.is_draining = true;
    cr_expect_eq(quern_hand_ask(&hand, 0), 0);
}

Test(consumer_flow, messages_behind_their_group_do_not_keep_others_out)
{
    hand.is_fifo = true;
    (void)admit("a1", "a");
    (void)admit("a2", "a");
    cr_expect_str_eq(begin(), "a1");
    cr_expect_eq(quern_hand_ask(&hand, 0), 2);
}

/* ---- groups ---- */

Test(consumer_flow, group_is_serial_and_groups_are_parallel)
{
    hand.is_fifo = true;
    struct quern_delivery *first = admit("a1", "a");
    (void)admit("a2", "a");
    (void)admit("b1", "b");
    cr_expect_str_eq(begin(), "a1");
    cr_expect_str_eq(begin(), "b1");
    cr_expect_str_eq(begin(), "none");
    quern_hand_end(&hand, first);
    quern_hand_settle(&hand, first, QUERN_DELETE, 0);
    cr_expect_str_eq(begin(), "a2");
}

Test(consumer_flow, first_failure_sends_the_rest_of_its_group_back)
{
    hand.is_fifo = true;
    struct quern_delivery *first = admit("a1", "a");
    struct quern_delivery *second = admit("a2", "a");
    (void)admit("b1", "b");
    cr_expect_str_eq(begin(), "a1");
    quern_hand_release_group(&hand, first->group, 0);
    quern_hand_end(&hand, first);
    quern_hand_settle(&hand, first, 5, 0);
    cr_expect_eq(second->stage, QUERN_SETTLING);
    cr_expect_eq(second->visible_in_s, 0);
    cr_expect_str_eq(begin(), "b1");
}

Test(consumer_flow, what_comes_of_a_group_that_is_on_its_way_back_goes_with_it)
{
    hand.is_fifo = true;
    struct quern_delivery *first = admit("a1", "a");
    (void)begin();
    quern_hand_end(&hand, first);
    quern_hand_settle(&hand, first, 5, 0);
    cr_expect_eq(admit("a2", "a")->stage, QUERN_SETTLING);
    quern_hand_remove(&hand, first);
    cr_expect_eq(admit("a3", "a")->stage, QUERN_SETTLING); /* a2 is still to go */
}

Test(consumer_flow, group_of_a_standard_queue_orders_nothing)
{
    (void)admit("a1", "a");
    (void)admit("a2", "a");
    cr_expect_str_eq(begin(), "a1");
    cr_expect_str_eq(begin(), "a2");
}

/* ---- leases ---- */

Test(consumer_flow, message_whose_lease_is_over_is_not_begun)
{
    int64_t wait_ms;

    (void)admit("a", NULL);
    cr_expect_null(quern_hand_pick(&hand, 30000, &wait_ms));
    cr_expect_eq(hand.counters.lapses, 1);
    cr_expect_eq(hand.counters.in_hand, 0);
}

/* ---- tenants ---- */

Test(consumer_flow, free_worker_goes_to_the_tenant_with_the_fewest_at_work)
{
    (void)admit("x1", "x");
    (void)admit("x2", "x");
    (void)admit("y1", "y");
    cr_expect_str_eq(begin(), "x1");
    cr_expect_str_eq(begin(), "y1");
}

Test(consumer_flow, tenant_beyond_its_share_gives_way)
{
    hand.tenant_workers = 1;
    (void)admit("x1", "x");
    struct quern_delivery *second = admit("x2", "x");
    cr_expect_str_eq(begin(), "x1");
    cr_expect_str_eq(begin(), "none");
    cr_expect_eq(second->stage, QUERN_SETTLING);
    cr_expect_gt(second->visible_in_s, 0);
    cr_expect_eq(hand.counters.deferred, 1);
}

/* ---- rate and circuit ---- */

Test(consumer_flow, rate_limit_says_when_the_next_may_begin)
{
    int64_t wait_ms;

    quern_bucket_init(&hand.bucket, 10, 1, 0);
    (void)admit("a", NULL);
    (void)admit("b", NULL);
    cr_expect_str_eq(begin(), "a");
    cr_expect_null(quern_hand_pick(&hand, 20, &wait_ms));
    cr_expect_eq(wait_ms, 80);
    cr_expect_not_null(quern_hand_pick(&hand, 100, &wait_ms));
}

Test(consumer_flow, open_circuit_begins_and_receives_nothing_then_tries_one)
{
    int64_t wait_ms;

    hand.circuit = (struct quern_circuit){.failures_max = 1, .open_ms = 500};
    (void)quern_circuit_note(&hand.circuit, true, 0);
    cr_expect_eq(quern_hand_ask(&hand, 0), 0);
    cr_expect_eq(quern_hand_ask(&hand, 500), 1);
    (void)admit("a", NULL);
    (void)admit("b", NULL);
    cr_expect_null(quern_hand_pick(&hand, 100, &wait_ms));
    cr_expect_eq(wait_ms, 400);
    cr_expect_not_null(hand_fixture_begin(&hand, 500));
    cr_expect_null(quern_hand_pick(&hand, 600, &wait_ms));
    cr_expect_lt(wait_ms, 0);
}

Test(consumer_flow, slow_work_does_not_keep_an_open_circuit_from_being_tried)
{
    hand.circuit = (struct quern_circuit){.failures_max = 1, .open_ms = 500};
    (void)admit("slow", NULL);
    cr_expect_str_eq(begin(), "slow");
    (void)quern_circuit_note(&hand.circuit, true, 0);
    cr_expect_eq(quern_hand_ask(&hand, 500), 1);
    (void)admit("a", NULL);
    cr_expect_not_null(hand_fixture_begin(&hand, 500));
    cr_expect_eq(quern_hand_ask(&hand, 600), 0); /* the trial has not ended */
}
