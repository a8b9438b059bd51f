/* Which of the settled messages share a call. */
#include "client/consumer/hand.h"

#include <criterion/criterion.h>

#include "tests/support/hand.h"

static struct quern_hand hand;
static struct quern_delivery *batch[QUERN_BATCH_MAX];
static int64_t wait_ms;

static void open_hand(void)
{
    hand_fixture_init(&hand);
    hand.workers = 50;
}

static void close_hand(void)
{
    quern_hand_done(&hand);
}

TestSuite(consumer_batch, .init = open_hand, .fini = close_hand);

static struct quern_delivery *settle(const char *id, const char *group, int64_t visible_in_s)
{
    struct quern_delivery *d = hand_fixture_admit(&hand, id, "h", group, 1, 0);

    quern_hand_settle(&hand, d, visible_in_s, 0);
    return d;
}

static size_t collect(int64_t now_ms)
{
    return quern_hand_collect(&hand, now_ms, batch, &wait_ms);
}

Test(consumer_batch, ten_go_in_a_call_and_no_more)
{
    char id[16];

    for (int i = 0; i < 12; i++) {
        (void)snprintf(id, sizeof(id), "m%d", i);
        (void)settle(id, NULL, QUERN_DELETE);
    }
    cr_assert_eq(collect(0), 10);
    cr_expect_str_eq(batch[0]->id, "m0");
    quern_hand_call(batch, 10);
    cr_expect_eq(collect(0), 2);
}

Test(consumer_batch, deletions_and_returns_do_not_share_a_call)
{
    (void)settle("a", NULL, QUERN_DELETE);
    (void)settle("b", NULL, 0);
    (void)settle("c", NULL, QUERN_DELETE);
    cr_assert_eq(collect(0), 2);
    cr_expect_str_eq(batch[1]->id, "c");
}

Test(consumer_batch, deletion_waits_for_company_while_there_is_work)
{
    hand.delete_lag_ms = 20;
    (void)settle("a", NULL, QUERN_DELETE);
    (void)hand_fixture_admit(&hand, "b", "h", NULL, 1, 0);
    cr_expect_eq(collect(5), 0);
    cr_expect_eq(wait_ms, 15);
    cr_expect_eq(collect(20), 1);
}

Test(consumer_batch, deletion_waits_for_nobody_when_nobody_can_come)
{
    hand.delete_lag_ms = 20;
    (void)settle("a", NULL, QUERN_DELETE);
    cr_expect_eq(collect(0), 1);
}

Test(consumer_batch, deletion_waits_not_while_draining)
{
    hand.delete_lag_ms = 20;
    (void)settle("a", NULL, QUERN_DELETE);
    (void)hand_fixture_admit(&hand, "b", "h", NULL, 1, 0);
    (void)hand_fixture_begin(&hand, 0);
    hand.is_draining = true;
    cr_expect_eq(collect(0), 1);
}

Test(consumer_batch, nothing_is_deleted_while_its_extension_is_under_way)
{
    settle("a", NULL, QUERN_DELETE)->is_beating = true;
    cr_expect_eq(collect(0), 0);
}

Test(consumer_batch, failed_deletion_waits_for_its_time)
{
    settle("a", NULL, QUERN_DELETE)->due_ms = 200;
    cr_expect_eq(collect(0), 0);
    cr_expect_eq(wait_ms, 200);
    cr_expect_eq(collect(200), 1);
}

Test(consumer_batch, group_is_deleted_in_its_order)
{
    hand.is_fifo = true;
    struct quern_delivery *first = settle("a1", "a", QUERN_DELETE);
    (void)settle("a2", "a", QUERN_DELETE);
    (void)settle("b1", "b", QUERN_DELETE);
    first->due_ms = 200; /* it has failed, and waits */
    cr_assert_eq(collect(0), 1);
    cr_expect_str_eq(batch[0]->id, "b1");
    cr_assert_eq(collect(200), 3);
    cr_expect_str_eq(batch[0]->id, "a1");
}

Test(consumer_batch, group_with_a_call_under_way_waits_for_its_answer)
{
    hand.is_fifo = true;
    (void)settle("a1", "a", QUERN_DELETE);
    cr_assert_eq(collect(0), 1);
    quern_hand_call(batch, 1);
    struct quern_delivery *first = batch[0];
    (void)settle("a2", "a", QUERN_DELETE);
    cr_expect_eq(collect(0), 0);
    quern_hand_return(&hand, first);
    cr_expect_eq(collect(0), 2);
}

Test(consumer_batch, what_comes_again_before_its_return_is_answered_begins_anew)
{
    struct quern_delivery *d = settle("a", NULL, 0);

    cr_assert_eq(collect(0), 1);
    quern_hand_call(batch, 1);
    d->is_cancelled = true;
    (void)hand_fixture_admit(&hand, "a", "h2", NULL, 2, 10);
    quern_hand_return(&hand, d);
    quern_hand_restore(&hand, d, 10);
    cr_expect_eq(hand.counters.waiting, 1);
    cr_expect_eq(hand.settling_count, 0);
    cr_expect_eq(hand_fixture_begin(&hand, 10), d);
    cr_expect_not(d->is_cancelled);
    cr_expect(d->beats);
}

Test(consumer_batch, what_comes_again_while_draining_goes_back_again)
{
    struct quern_delivery *d = settle("a", NULL, 5);

    hand.is_draining = true;
    cr_assert_eq(collect(0), 1);
    quern_hand_call(batch, 1);
    (void)hand_fixture_admit(&hand, "a", "h2", NULL, 2, 10);
    quern_hand_return(&hand, d);
    quern_hand_restore(&hand, d, 10);
    cr_assert_eq(collect(10), 1);
    cr_expect_str_eq(batch[0]->handle, "h2");
    cr_expect_eq(batch[0]->visible_in_s, 0);
}

Test(consumer_batch, group_goes_on_when_its_first_came_again)
{
    hand.is_fifo = true;
    struct quern_delivery *first = settle("a1", "a", 0);
    cr_assert_eq(collect(0), 1);
    quern_hand_call(batch, 1);
    (void)hand_fixture_admit(&hand, "a1", "h2", "a", 2, 10);
    quern_hand_return(&hand, first);
    quern_hand_restore(&hand, first, 10);
    cr_expect_eq(first->group->returning, 0);
    cr_expect_eq(hand_fixture_begin(&hand, 10), first);
}

Test(consumer_batch, what_came_again_keeps_the_order_of_its_group)
{
    hand.is_fifo = true;
    struct quern_delivery *first = hand_fixture_admit(&hand, "a1", "h", "a", 1, 0);
    struct quern_delivery *second = hand_fixture_admit(&hand, "a2", "h", "a", 1, 0);
    struct quern_delivery *third = hand_fixture_admit(&hand, "a3", "h", "a", 1, 0);

    quern_hand_release_group(&hand, first->group, 0);
    quern_hand_restore(&hand, third, 0);
    quern_hand_restore(&hand, first, 0);
    cr_expect_null(hand_fixture_begin(&hand, 0)); /* the second is not back yet */
    quern_hand_restore(&hand, second, 0);
    cr_expect_eq(hand_fixture_begin(&hand, 0), first);
    quern_hand_end(&hand, first);
    quern_hand_settle(&hand, first, QUERN_DELETE, 0);
    cr_expect_eq(hand_fixture_begin(&hand, 0), second);
}
