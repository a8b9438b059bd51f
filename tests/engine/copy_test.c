/* The same message twice: copies that faults make, beside the original and in one answer. */
#include <criterion/criterion.h>

#include "tests/support/engine_check.h"
#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_create(&f, "q", "'VisibilityTimeout':'30'");
    fixture_create(&f, "q.fifo", "");
    f.events.wanted = true;
}

static void stop(void)
{
    cr_expect_null(engine_check(f.engine));
    fixture_close(&f);
}

TestSuite(copy, .init = start, .fini = stop);

static bool again(const char *queue, const char *body, enum qn_audience audience,
                  const char *instance)
{
    struct qn_arena arena;
    struct qn_random random;
    struct qn_buf entry;
    struct qn_tx tx;
    struct qn_leased leased = {qn_str_from_cstr(fixture_id(&f, body)),
                               qn_str_from_cstr(fixture_handle(&f, body)), -1};
    struct qn_party party = {instance == NULL ? QN_STR_NONE : qn_str_from_cstr(instance), 1};

    qn_arena_init(&arena, SIZE_MAX);
    fixture_begin(&f, &tx, &arena, &random, &entry);
    bool done = qn_engine_deliver_again(&tx, fixture_queue(&f, queue), &leased, audience, &party);
    fixture_commit(&f, &entry);
    qn_arena_done(&arena);
    fixture_serve_waiters(&f);
    return done;
}

/* The next requests come from this instance. */
static void become(const char *instance)
{
    f.caller.access_key_id = instance == NULL ? QN_STR_NONE : qn_str_from_cstr(instance);
}

static const char *receive(const char *queue, int max)
{
    return fixture_receive_with(&f, queue, max, "'AttributeNames':['All']");
}

static void send_and_receive(const char *queue, const char *body)
{
    fixture_send(&f, queue, body);
    receive(queue, 1);
}

Test(copy, a_copy_is_received_beside_the_live_lease_under_the_next_count)
{
    send_and_receive("q", "m");
    const char *id = fixture_id(&f, "m");
    const char *first = fixture_handle(&f, "m");
    cr_expect(again("q", "m", QN_FOR_ANYBODY, NULL));
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 1 0");
    cr_expect_str_eq(receive("q", 10), "m");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageId"), id);
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.ApproximateReceiveCount"), "2");
    cr_expect_str_neq(fixture_handle(&f, "m"), first);
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_MSG_DUPCOPY), 1);
}

Test(copy, each_copy_has_a_handle_and_a_lease_of_its_own)
{
    send_and_receive("q", "m");
    const char *first = fixture_handle(&f, "m");
    again("q", "m", QN_FOR_ANYBODY, NULL);
    fixture_advance_s(&f, 20);
    receive("q", 1);
    const char *second = fixture_handle(&f, "m");
    cr_expect_eq(fixture_change(&f, "q", first, 60), QN_ERR_NONE);
    fixture_advance_s(&f, 30); /* the second has lapsed, the first lasts */
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 1 0");
    cr_expect_eq(fixture_delete(&f, "q", second), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
    cr_expect_eq(fixture_delete(&f, "q", first), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(copy, a_copy_comes_before_what_waits_behind_the_original)
{
    fixture_send(&f, "q", "m1 m2 m3 m4");
    receive("q", 1);
    receive("q", 1);
    again("q", "m1", QN_FOR_ANYBODY, NULL);
    cr_expect_str_eq(receive("q", 10), "m1 m3 m4");
}

Test(copy, copies_outlive_a_restart_and_leases_hold)
{
    send_and_receive("q", "m");
    const char *first = fixture_handle(&f, "m");
    again("q", "m", QN_FOR_ANYBODY, NULL);
    fixture_restart(&f);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 1 0");
    receive("q", 1);
    fixture_restart(&f);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 2 0");
    cr_expect_eq(fixture_delete(&f, "q", first), QN_ERR_NONE);
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(copy, what_is_not_in_flight_is_not_delivered_again)
{
    send_and_receive("q", "m");
    fixture_change(&f, "q", fixture_handle(&f, "m"), 0);
    cr_expect_not(again("q", "m", QN_FOR_ANYBODY, NULL));
    receive("q", 1);
    fixture_delete_all(&f, "q", "m");
    cr_expect_not(again("q", "m", QN_FOR_ANYBODY, NULL));
}

Test(copy, a_copy_for_others_is_not_for_the_one)
{
    become("A");
    send_and_receive("q", "m");
    again("q", "m", QN_FOR_OTHERS, "A");
    cr_expect_str_eq(receive("q", 10), "");
    become("B");
    cr_expect_str_eq(receive("q", 10), "m");
    cr_expect_str_eq(receive("q", 10), "");
}

Test(copy, a_copy_for_one_is_not_for_others)
{
    become("QUERN0002");
    send_and_receive("q", "m");
    again("q", "m", QN_FOR_ONE, "2");
    become("QUERN0003");
    cr_expect_str_eq(receive("q", 10), "");
    become("QUERN0002");
    cr_expect_str_eq(receive("q", 10), "m");
}

Test(copy, a_copy_that_nobody_may_have_is_for_all_after_the_visibility_timeout)
{
    become("A");
    send_and_receive("q", "m");
    again("q", "m", QN_FOR_ONE, "B");
    fixture_advance_ms(&f, 29999);
    cr_expect_str_eq(receive("q", 10), "");
    fixture_advance_ms(&f, 1);
    cr_expect_str_eq(receive("q", 10), "m m"); /* with the original, whose lease has lapsed too */
}

Test(copy, after_a_restart_a_copy_for_one_waits_for_its_time)
{
    become("A");
    send_and_receive("q", "m");
    again("q", "m", QN_FOR_OTHERS, "A");
    fixture_restart(&f);
    become("B");
    cr_expect_str_eq(receive("q", 10), "");
    fixture_advance_s(&f, 30);
    cr_expect_str_eq(receive("q", 10), "m m");
}

Test(copy, a_poll_for_which_a_copy_is_gets_it_past_those_for_which_it_is_not)
{
    become("A");
    send_and_receive("q", "m");
    struct fixture_poll *first = fixture_poll(&f, "q", 1, 20, "");
    become("B");
    struct fixture_poll *second = fixture_poll(&f, "q", 1, 20, "");
    become("A");
    struct fixture_poll *third = fixture_poll(&f, "q", 1, 20, "");
    again("q", "m", QN_FOR_ONE, "B");
    cr_assert(second->is_answered);
    cr_expect_str_eq(second->bodies, "m");
    cr_expect_not(first->is_answered);
    cr_expect_not(third->is_answered);
    fixture_send(&f, "q", "n");
    cr_expect(first->is_answered, "the order of the others is as before");
    cr_expect_not(third->is_answered);
}

Test(copy, what_a_receive_would_bring_is_foreseen)
{
    become("A");
    send_and_receive("q", "m");
    fixture_send(&f, "q", "n");
    again("q", "m", QN_FOR_ONE, "B");
    f.looks = true;
    cr_expect_str_eq(receive("q", 10), "n");
    cr_expect_eq(f.facts.message_count, 1);
    become("B");
    cr_expect_str_eq(receive("q", 10), "m");
    cr_expect_eq(f.facts.message_count, 1);
    cr_expect_eq(f.facts.messages[0].receive_count, 2);
}

Test(copy, a_reserved_copy_goes_with_a_purge)
{
    become("A");
    send_and_receive("q", "m");
    again("q", "m", QN_FOR_ONE, "B");
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q'");
    become("B");
    cr_expect_str_eq(receive("q", 10), "");
}

Test(copy, on_a_fifo_queue_a_copy_opens_the_group)
{
    fixture_send(&f, "q.fifo", "a1 a2 a3");
    receive("q.fifo", 2);
    cr_expect_str_eq(receive("q.fifo", 10), "");
    again("q.fifo", "a2", QN_FOR_ANYBODY, NULL);
    cr_expect_str_eq(receive("q.fifo", 10), "a2");
    cr_expect_str_eq(receive("q.fifo", 10), "");
    fixture_delete_all(&f, "q.fifo", "a2");
    fixture_restart(&f);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 2 0");
}

static struct qn_verdict twice(uint64_t entry_mask)
{
    return (struct qn_verdict){.kind = QN_VERDICT_DUP_IN_BATCH, .entry_mask = entry_mask};
}

Test(copy, a_message_comes_twice_in_one_answer)
{
    struct qn_verdict verdict = twice(UINT64_MAX);

    fixture_send(&f, "q", "m");
    f.verdict = &verdict;
    cr_expect_str_eq(receive("q", 10), "m m");
    f.verdict = NULL;
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.ApproximateReceiveCount"), "1");
    cr_expect_str_eq(fixture_get(&f, "Messages.1.Attributes.ApproximateReceiveCount"), "2");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageId"),
                     fixture_get(&f, "Messages.1.MessageId"));
    const char *one = fixture_get(&f, "Messages.0.ReceiptHandle");
    const char *other = fixture_get(&f, "Messages.1.ReceiptHandle");
    fixture_restart(&f);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 2 0");
    cr_expect_eq(fixture_delete(&f, "q", one), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
    cr_expect_eq(fixture_delete(&f, "q", other), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(copy, an_answer_with_doubles_holds_no_more_than_was_asked_for)
{
    struct qn_verdict verdict = twice(UINT64_MAX);

    fixture_send(&f, "q", "m1 m2 m3");
    f.verdict = &verdict;
    cr_expect_str_eq(receive("q", 3), "m1 m1 m2");
    f.verdict = NULL;
    cr_expect_str_eq(receive("q", 10), "m3");
}

Test(copy, only_the_named_messages_of_an_answer_come_twice)
{
    struct qn_verdict verdict = twice(2);

    fixture_send(&f, "q", "m1 m2 m3");
    f.looks = true;
    f.verdict = &verdict;
    cr_expect_str_eq(receive("q", 10), "m1 m2 m2 m3");
    f.verdict = NULL;
}

Test(copy, doubles_of_no_visibility_are_visible_at_once)
{
    struct qn_verdict verdict = twice(UINT64_MAX);

    fixture_send(&f, "q", "m");
    f.verdict = &verdict;
    cr_expect_str_eq(fixture_receive_with(&f, "q", 10, "'VisibilityTimeout':0"), "m m");
    f.verdict = NULL;
    cr_expect_str_eq(fixture_counts(&f, "q"), "2 0 0");
}

Test(copy, on_a_fifo_queue_a_message_comes_twice_in_one_answer_too)
{
    struct qn_verdict verdict = twice(UINT64_MAX);

    fixture_send(&f, "q.fifo", "a1 a2 b1");
    f.verdict = &verdict;
    cr_expect_str_eq(receive("q.fifo", 10), "a1 a1 a2 a2 b1 b1");
    f.verdict = NULL;
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "0 6 0");
}
