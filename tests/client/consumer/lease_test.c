/* Heartbeats: how often, for which, and what their failures mean. */
#include "client/consumer/lease.h"

#include <criterion/criterion.h>

#include "client/internal.h"
#include "tests/support/hand.h"

enum { WORK_MAX_MS = 300000 };

static struct quern_hand hand;
static struct quern_delivery *batch[QUERN_BATCH_MAX];
static int64_t wait_ms;
static struct quern_error err;

static void open_hand(void)
{
    hand_fixture_init(&hand);
}

static void close_hand(void)
{
    quern_hand_done(&hand);
}

TestSuite(consumer_lease, .init = open_hand, .fini = close_hand);

/* ---- the interval ---- */

static int64_t interval(int64_t asked_ms, int64_t visibility_s, bool allows_short)
{
    const struct quern_consumer_options options = {.heartbeat_interval_ms = asked_ms,
                                                   .allows_short_leases = allows_short};
    int64_t interval_ms = -1;

    if (!quern_lease_interval(&options, visibility_s * 1000, &interval_ms, &err)) {
        cr_expect_str_eq(err.code, "InvalidParameterValue");
        return -1;
    }
    return interval_ms;
}

Test(consumer_lease, interval_is_at_least_5_s_less_than_the_visibility_timeout)
{
    cr_expect_eq(interval(25000, 30, false), 25000);
    cr_expect_eq(interval(25001, 30, false), -1);
    cr_expect_eq(interval(26000, 30, false), -1);
}

Test(consumer_lease, lease_of_5_s_has_no_interval)
{
    cr_expect_eq(interval(0, 5, false), -1);
    cr_expect_eq(interval(1, 5, false), -1);
    cr_expect_eq(interval(1000, 6, false), 1000);
}

Test(consumer_lease, short_leases_allow_up_to_half_of_the_visibility_timeout)
{
    cr_expect_eq(interval(2000, 4, true), 2000);
    cr_expect_eq(interval(2001, 4, true), -1);
    cr_expect_eq(interval(0, 4, true), 2000);
    cr_expect_eq(interval(25000, 30, true), 25000);
}

Test(consumer_lease, interval_that_was_not_asked_for_is_half_of_the_lease_or_5_s_less)
{
    cr_expect_eq(interval(0, 30, false), 15000);
    cr_expect_eq(interval(0, 8, false), 3000);
}

Test(consumer_lease, below_0_asks_for_no_extensions_whatever_the_lease)
{
    cr_expect_eq(interval(-1, 3, false), 0);
}

/* ---- which are due ---- */

static size_t due(int64_t now_ms)
{
    return quern_lease_due(&hand, WORK_MAX_MS, now_ms, batch, &wait_ms);
}

static struct quern_delivery *admit(const char *id, int64_t now_ms)
{
    return hand_fixture_admit(&hand, id, "h", NULL, 1, now_ms);
}

Test(consumer_lease, message_is_extended_while_it_waits_and_while_it_is_worked_on)
{
    (void)admit("a", 0);
    (void)admit("b", 0);
    (void)hand_fixture_begin(&hand, 0);
    cr_expect_eq(due(14999), 0);
    cr_expect_eq(wait_ms, 1);
    cr_expect_eq(due(15000), 2);
}

Test(consumer_lease, those_that_are_nearly_due_go_along)
{
    (void)admit("a", 0);
    (void)admit("b", 1000);
    (void)admit("c", 9000);
    cr_expect_eq(due(15000), 2);
}

Test(consumer_lease, extensions_end_before_the_deletion)
{
    struct quern_delivery *d = admit("a", 0);

    quern_hand_settle(&hand, d, QUERN_DELETE, 0);
    cr_expect_eq(due(29000), 0);
}

Test(consumer_lease, granted_extension_counts_from_when_it_was_asked_for)
{
    struct quern_delivery *d = admit("a", 0);

    quern_lease_extended(&hand, d, d->handle_number, 15000);
    cr_expect_eq(d->lease_end_ms, 45000);
    cr_expect_eq(d->next_beat_ms, 30000);
}

Test(consumer_lease, answer_for_an_older_handle_says_nothing_of_the_newest)
{
    struct quern_delivery *d = admit("a", 0);
    uint64_t older = d->handle_number;

    (void)hand_fixture_admit(&hand, "a", "h2", NULL, 2, 16000);
    quern_lease_extended(&hand, d, older, 15000);
    cr_expect_eq(d->lease_end_ms, 46000);
    (void)quern_fail(&err, "ReceiptHandleIsInvalid", 400, "gone");
    quern_lease_failed(&hand, d, older, &err, 16000);
    cr_expect_not(d->is_lost);
}

Test(consumer_lease, failed_extension_is_tried_again_soon)
{
    struct quern_delivery *d = admit("a", 0);

    (void)quern_fail(&err, "InternalFailure", 500, "down");
    quern_lease_failed(&hand, d, d->handle_number, &err, 15000);
    cr_expect_not(d->is_lost);
    cr_expect_eq(due(15100), 0);
    cr_expect_eq(due(15250), 1);
    quern_lease_failed(&hand, d, d->handle_number, &err, 15250);
    cr_expect_eq(due(15700), 0);
    cr_expect_eq(due(15750), 1);
    cr_expect_eq(hand.counters.extension_failures, 2);
}

/* ---- lost leases ---- */

Test(consumer_lease, lease_that_the_queue_calls_over_cancels_the_work)
{
    (void)admit("a", 0);
    struct quern_delivery *d = hand_fixture_begin(&hand, 0);

    (void)quern_fail(&err, "MessageNotInflight", 400, "no");
    quern_lease_failed(&hand, d, d->handle_number, &err, 15000);
    cr_expect(d->is_lost);
    cr_expect(d->is_cancelled);
    cr_expect_eq(due(15500), 0);
    cr_expect_eq(hand.counters.lapses, 1);
}

Test(consumer_lease, lease_that_could_not_be_extended_in_time_cancels_the_work)
{
    (void)admit("a", 0);
    struct quern_delivery *d = hand_fixture_begin(&hand, 0);

    d->next_beat_ms = 40000;
    (void)due(29999);
    cr_expect_not(d->is_cancelled);
    cr_expect_eq(wait_ms, 1);
    (void)due(30000);
    cr_expect(d->is_cancelled);
}

Test(consumer_lease, work_that_takes_too_long_is_cancelled_and_no_longer_extended)
{
    (void)admit("a", 0);
    struct quern_delivery *d = hand_fixture_begin(&hand, 0);

    d->lease_end_ms = 2 * WORK_MAX_MS;
    d->next_beat_ms = WORK_MAX_MS;
    cr_expect_eq(due(WORK_MAX_MS), 0);
    cr_expect(d->is_cancelled);
    cr_expect_not(d->is_lost);
}
