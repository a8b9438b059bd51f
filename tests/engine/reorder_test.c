/* Another order of what may be received: of all, of a window, of one key. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/support/engine_check.h"
#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_create(&f, "q", "'VisibilityTimeout':'30'");
    fixture_create(&f, "q.fifo", "");
}

static void stop(void)
{
    cr_expect_null(engine_check(f.engine));
    fixture_close(&f);
}

TestSuite(reorder, .init = start, .fini = stop);

static struct qn_tx *begin(struct fixture_change *change)
{
    return fixture_change_begin(&f, change);
}

static size_t end(struct fixture_change *change, size_t count)
{
    fixture_change_end(&f, change);
    return count;
}

static size_t reorder(const char *queue, enum qn_order order, size_t window, uint64_t draw)
{
    struct fixture_change change;
    struct qn_tx *tx = begin(&change);

    return end(&change, qn_engine_reorder(tx, fixture_queue(&f, queue), order, window, draw));
}

static size_t delay(const char *queue, const char *key, int64_t by_ms)
{
    struct fixture_change change;
    struct qn_tx *tx = begin(&change);

    return end(&change, qn_engine_delay_key(tx, fixture_queue(&f, queue), qn_str_from_cstr(key),
                                            tx->now_ms + by_ms));
}

Test(reorder, the_next_messages_come_in_reverse)
{
    fixture_send(&f, "q", "a b c d e");
    cr_expect_eq(reorder("q", QN_ORDER_REVERSE, 3, 0), 3);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "c b a d e");
}

Test(reorder, who_receives_one_by_one_sees_it_too)
{
    fixture_send(&f, "q", "a b c");
    reorder("q", QN_ORDER_REVERSE, 10, 0);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "c");
    fixture_send(&f, "q", "d");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "b");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "a");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "d");
}

Test(reorder, a_shuffle_depends_on_its_draw_alone)
{
    char orders[2][2][100];

    for (int draw = 0; draw < 2; draw++) {
        for (int time = 0; time < 2; time++) {
            fixture_send(&f, "q", "a b c d e f g h i j");
            reorder("q", QN_ORDER_SHUFFLE, 10, (uint64_t)draw);
            (void)snprintf(orders[draw][time], sizeof(orders[0][0]), "%s",
                           fixture_receive(&f, "q", 10));
            fixture_must(&f, "PurgeQueue", "'QueueUrl':'q'");
        }
        cr_expect_str_eq(orders[draw][0], orders[draw][1]);
    }
    cr_expect_str_neq(orders[0][0], orders[1][0]);
    cr_expect_str_neq(orders[0][0], "a b c d e f g h i j");
}

Test(reorder, messages_that_came_back_take_part)
{
    fixture_send(&f, "q", "a b c");
    fixture_receive(&f, "q", 2);
    fixture_change(&f, "q", fixture_handle(&f, "a"), 0);
    fixture_change(&f, "q", fixture_handle(&f, "b"), 0);
    reorder("q", QN_ORDER_REVERSE, 10, 0);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "c b a");
}

Test(reorder, looking_ahead_sees_the_new_order_and_leaves_it)
{
    fixture_send(&f, "q", "a b c");
    reorder("q", QN_ORDER_REVERSE, 10, 0);
    f.looks = true;
    cr_expect_str_eq(fixture_receive(&f, "q", 2), "c b");
    cr_expect_eq(f.facts.message_count, 2);
    cr_expect_str_eq(fixture_receive(&f, "q", 2), "a");
}

Test(reorder, handles_and_counts_stay_what_they_were)
{
    fixture_send(&f, "q", "a b");
    fixture_receive(&f, "q", 2);
    const char *handle = fixture_handle(&f, "a");
    fixture_advance_s(&f, 30);
    reorder("q", QN_ORDER_REVERSE, 10, 0);
    cr_expect_str_eq(fixture_receive_with(&f, "q", 1, "'AttributeNames':['All']"), "b");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.ApproximateReceiveCount"), "2");
    cr_expect_eq(fixture_delete(&f, "q", handle), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
}

Test(reorder, tenants_take_part)
{
    fixture_send_with(&f, "q", "a1", "'MessageGroupId':'a'");
    fixture_send_with(&f, "q", "b1", "'MessageGroupId':'b'");
    fixture_send_with(&f, "q", "n1", "");
    fixture_send_with(&f, "q", "a2", "'MessageGroupId':'a'");
    cr_expect_eq(reorder("q", QN_ORDER_REVERSE, 10, 0), 4);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "a2 n1 b1 a1");
}

Test(reorder, dead_letters_and_moved_messages_have_their_own_place_again)
{
    fixture_create(&f, "dlq", "");
    fixture_redrive(&f, "q", "dlq", 1);
    fixture_send(&f, "q", "a b");
    reorder("q", QN_ORDER_REVERSE, 10, 0);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "b");
    fixture_change(&f, "q", fixture_handle(&f, "b"), 0);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "a");
    fixture_change(&f, "q", fixture_handle(&f, "a"), 0);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "");
    cr_expect_str_eq(fixture_receive(&f, "dlq", 10), "b a");
}

Test(reorder, nothing_is_lost_by_a_restart)
{
    fixture_send(&f, "q", "a b c");
    reorder("q", QN_ORDER_REVERSE, 10, 0);
    fixture_restart(&f);
    cr_expect_str_eq(fixture_counts(&f, "q"), "3 0 0");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "a b c");
}

Test(reorder, few_messages_or_none_are_no_trouble)
{
    cr_expect_eq(reorder("q", QN_ORDER_SHUFFLE, 10, 1), 0);
    fixture_send(&f, "q", "a");
    cr_expect_eq(reorder("q", QN_ORDER_REVERSE, 10000, 1), 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "a");
}

Test(reorder, in_a_fifo_queue_the_messages_of_a_group_change_places)
{
    fixture_send(&f, "q.fifo", "a1 b1 a2 b2 a3 b3");
    cr_expect_eq(reorder("q.fifo", QN_ORDER_REVERSE, 10, 0), 6);
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "a3 a2 a1 b3 b2 b1");
    fixture_restart(&f);
    fixture_delete_all(&f, "q.fifo", "a3 a2 a1 b3 b2 b1");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "0 0 0");
}

Test(reorder, in_a_group_what_is_behind_the_window_stays_behind)
{
    fixture_send(&f, "q.fifo", "a1 a2 a3 a4");
    cr_expect_eq(reorder("q.fifo", QN_ORDER_REVERSE, 2, 0), 2);
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "a2 a1 a3 a4");
}

Test(reorder, a_key_comes_later)
{
    fixture_must(&f, "SendMessage",
                 "'QueueUrl':'q','MessageBody':'{\\'idempotencyKey\\':\\'k-1\\'}'");
    fixture_must(&f, "SendMessage",
                 "'QueueUrl':'q','MessageBody':'{\\'payload\\':{\\'id\\':\\'k-2\\'}}'");
    cr_expect_eq(delay("q", "k-3", 2000), 0);
    cr_expect_eq(delay("q", "k-1", 2000), 1);
    cr_expect_eq(delay("q", "k-2", 1000), 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 2");
    fixture_restart(&f);
    fixture_advance_ms(&f, 1000);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 1");
    fixture_advance_ms(&f, 1000);
    cr_expect_str_eq(fixture_counts(&f, "q"), "2 0 0");
}

Test(reorder, a_key_in_flight_or_in_a_fifo_queue_is_left_alone)
{
    fixture_must(&f, "SendMessage",
                 "'QueueUrl':'q','MessageBody':'{\\'idempotencyKey\\':\\'k\\'}'");
    fixture_receive(&f, "q", 1);
    cr_expect_eq(delay("q", "k", 1000), 0);
    fixture_must(&f, "SendMessage",
                 "'QueueUrl':'q.fifo','MessageBody':'{\\'idempotencyKey\\':\\'k\\'}',"
                 "'MessageGroupId':'g','MessageDeduplicationId':'d'");
    cr_expect_eq(delay("q.fifo", "k", 1000), 0);
}
