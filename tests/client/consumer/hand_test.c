/* What is in hand: messages come once, and their newest handle counts. */
#include "client/consumer/hand.h"

#include <criterion/criterion.h>
#include <unistd.h>

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

TestSuite(consumer_hand, .init = open_hand, .fini = close_hand);

Test(consumer_hand, message_that_comes_again_is_in_hand_once_with_its_newest_handle)
{
    struct quern_delivery *first = hand_fixture_admit(&hand, "a", "h1", NULL, 1, 0);
    struct quern_delivery *again = hand_fixture_admit(&hand, "a", "h2", NULL, 2, 40000);

    cr_expect_eq(first, again);
    cr_expect_str_eq(again->handle, "h2");
    cr_expect_eq(again->handle_number, 2);
    cr_expect_eq(again->receive_count, 2);
    cr_expect_eq(again->lease_end_ms, 70000);
    cr_expect_eq(hand.counters.in_hand, 1);
    cr_expect_eq(hand.counters.waiting, 1);
    cr_expect_eq(hand.counters.redelivered, 1);
}

Test(consumer_hand, copy_gives_a_lost_lease_back)
{
    struct quern_delivery *d = hand_fixture_admit(&hand, "a", "h1", NULL, 1, 0);

    d->is_lost = true;
    (void)hand_fixture_admit(&hand, "a", "h2", NULL, 2, 1000);
    cr_expect_not(d->is_lost);
}

Test(consumer_hand, what_arrives_while_draining_goes_back_at_once)
{
    hand.is_draining = true;
    struct quern_delivery *d = hand_fixture_admit(&hand, "a", "h", NULL, 1, 0);

    cr_expect_eq(d->stage, QUERN_SETTLING);
    cr_expect_eq(d->visible_in_s, 0);
    cr_expect_not(d->beats);
    cr_expect_eq(hand.counters.waiting, 0);
}

Test(consumer_hand, what_a_handler_still_has_leaves_when_it_returns)
{
    (void)hand_fixture_admit(&hand, "a", "h", NULL, 1, 0);
    struct quern_delivery *d = hand_fixture_begin(&hand, 0);

    quern_hand_remove(&hand, d);
    cr_expect_eq(hand.counters.in_hand, 1);
    quern_hand_end(&hand, d);
    cr_expect_eq(hand.counters.in_hand, 0);
    cr_expect_eq(hand.counters.running, 0);
}

Test(consumer_hand, what_is_being_extended_leaves_when_the_answer_is_there)
{
    struct quern_delivery *d = hand_fixture_admit(&hand, "a", "h", NULL, 1, 0);

    d->is_beating = true;
    quern_hand_remove(&hand, d);
    cr_expect_eq(hand.counters.in_hand, 1);
    d->is_beating = false;
    quern_hand_bury(&hand, d);
    cr_expect_eq(hand.counters.in_hand, 0);
}

Test(consumer_hand, cancelling_wakes_who_waits_at_the_descriptor)
{
    struct quern_delivery *d = hand_fixture_admit(&hand, "a", "h", NULL, 1, 0);
    int ends[2];
    uint64_t told = 0;

    cr_assert_eq(pipe(ends), 0);
    d->cancel_fd = ends[1]; /* closed with the delivery */
    quern_delivery_cancel(d);
    cr_expect(d->is_cancelled);
    cr_expect_eq(read(ends[0], &told, sizeof(told)), sizeof(told));
    cr_expect_eq(told, 1);
    (void)close(ends[0]);
}
