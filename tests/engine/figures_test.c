/* The metrics of SQS for one queue, peeking at messages, and what a whole engine holds. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_create(&f, "q", "");
    fixture_create(&f, "q.fifo", "");
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(figures, .init = start, .fini = stop);

static struct qn_queue_figures of(const char *queue)
{
    struct qn_queue_figures ret;

    qn_engine_figures(f.engine, fixture_queue(&f, queue), f.now_ms, &ret);
    return ret;
}

Test(figures, sends_receives_and_deletes_are_counted)
{
    fixture_send(&f, "q", "m1 m2 m3");
    fixture_receive(&f, "q", 2);
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_delete_all(&f, "q", "m1");
    cr_expect_eq(of("q").sent, 3);
    cr_expect_eq(of("q").sent_bytes, 6);
    cr_expect_eq(of("q").received, 3);
    cr_expect_eq(of("q").deleted, 1);
    cr_expect_eq(of("q").empty_receives, 0);
}

Test(figures, a_repeated_delete_counts_as_a_delete)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    for (int i = 0; i < 3; i++) {
        fixture_delete_all(&f, "q", "m");
    }
    cr_expect_eq(of("q").deleted, 3);
}

Test(figures, receives_that_gave_nothing_are_counted_when_they_end)
{
    fixture_receive(&f, "q", 1);
    cr_expect_eq(of("q").empty_receives, 1);
    struct fixture_poll *poll = fixture_poll(&f, "q", 1, 5, "");
    cr_expect_eq(of("q").waiters, 1);
    cr_expect_eq(of("q").empty_receives, 1);
    fixture_advance_s(&f, 5);
    cr_assert(poll->is_answered);
    cr_expect_eq(of("q").empty_receives, 2);
    cr_expect_eq(of("q").waiters, 0);
}

Test(figures, deduplicated_sends_are_counted)
{
    for (int i = 0; i < 3; i++) {
        fixture_send_with(&f, "q.fifo", "a", "'MessageGroupId':'g','MessageDeduplicationId':'d'");
    }
    cr_expect_eq(of("q.fifo").sent, 1);
    cr_expect_eq(of("q.fifo").deduplicated, 2);
}

Test(figures, groups_with_messages_in_flight_are_counted)
{
    fixture_send(&f, "q.fifo", "a1 a2 b1 c1");
    fixture_receive(&f, "q.fifo", 3);
    cr_expect_eq(of("q.fifo").groups, 3);
    cr_expect_eq(of("q.fifo").groups_in_flight, 2);
    fixture_delete_all(&f, "q.fifo", "a1");
    cr_expect_eq(of("q.fifo").groups_in_flight, 2);
    fixture_delete_all(&f, "q.fifo", "a2 b1");
    cr_expect_eq(of("q.fifo").groups, 1);
    cr_expect_eq(of("q.fifo").groups_in_flight, 0);
}

Test(figures, age_is_that_of_the_oldest_stored_message)
{
    cr_expect_eq(of("q").oldest_age_s, 0);
    fixture_send(&f, "q", "m1");
    fixture_advance_s(&f, 10);
    fixture_send(&f, "q", "m2");
    fixture_advance_s(&f, 5);
    cr_expect_eq(of("q").oldest_age_s, 15);
    fixture_receive(&f, "q", 1);
    cr_expect_eq(of("q").oldest_age_s, 15);
    fixture_delete_all(&f, "q", "m1");
    cr_expect_eq(of("q").oldest_age_s, 5);
}

Test(figures, age_passes_over_what_was_received_three_times)
{
    fixture_send(&f, "q", "poison");
    fixture_advance_s(&f, 10);
    fixture_send(&f, "q", "m");
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(of("q").oldest_age_s, 10);
        fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    }
    cr_expect_eq(of("q").oldest_age_s, 0);
}

Test(figures, age_in_a_dead_letter_queue_counts_from_the_move)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_advance_s(&f, 100);
    fixture_receive(&f, "q", 1);
    fixture_advance_s(&f, 7);
    cr_expect_eq(of("dead").oldest_age_s, 7);
}

static void with_peek(void (*check)(struct qn_tx *tx, struct qn_queue *queue), const char *queue)
{
    struct qn_arena arena;

    qn_arena_init(&arena, SIZE_MAX);
    struct qn_tx tx = {
        .engine = f.engine, .now_ms = f.now_ms, .arena = &arena, .events = &f.events};
    check(&tx, fixture_queue(&f, queue));
    qn_arena_done(&arena);
}

static void check_peeked(struct qn_tx *tx, struct qn_queue *queue)
{
    static const char *const states[] = {"in-flight", "visible", "delayed"};
    struct qn_peeked message = {.sequence = 0};

    for (int i = 0; i < 3; i++) {
        cr_assert(qn_engine_peek(tx, queue, message.sequence, &message));
        cr_expect_str_eq(message.state, states[i]);
        cr_expect_eq(message.receive_count, i == 0 ? 1 : 0);
        cr_expect(
            qn_str_equal(message.content.body, qn_str_from_cstr(fixture_format(&f, "m%d", i + 1))));
    }
    cr_expect_eq(message.hidden_until_ms, FIXTURE_START_MS + 9000);
    cr_expect_not(qn_engine_peek(tx, queue, message.sequence, &message));
}

Test(figures, peeking_shows_every_message_in_order_and_takes_nothing)
{
    fixture_send(&f, "q", "m1 m2");
    fixture_receive(&f, "q", 1);
    fixture_send_with(&f, "q", "m3", "'DelaySeconds':9");
    for (int i = 0; i < 2; i++) {
        with_peek(check_peeked, "q");
    }
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 1 1");
}

static void check_dead(struct qn_tx *tx, struct qn_queue *queue)
{
    struct qn_peeked message = {.sequence = 0};
    static const char *const bodies[] = {"n1", "m", "n2"};

    for (int i = 0; i < 3; i++) {
        cr_assert(qn_engine_peek(tx, queue, message.sequence, &message));
        cr_expect(qn_str_equal(message.content.body, qn_str_from_cstr(bodies[i])));
        cr_expect_eq(qn_str_is_none(message.source_arn), i != 1);
    }
}

Test(figures, peeking_shows_dead_letters_in_their_place)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    fixture_send(&f, "dead", "n1");
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_receive(&f, "q", 1);
    fixture_send(&f, "dead", "n2");
    with_peek(check_dead, "dead");
}

Test(figures, the_whole_engine)
{
    struct qn_engine_figures before;
    struct qn_engine_figures after;

    qn_engine_total_figures(f.engine, &before);
    cr_expect_eq(before.queues, 2);
    cr_expect_eq(before.messages, 0);
    fixture_send(&f, "q", "m1 m2");
    fixture_poll(&f, "q.fifo", 1, 20, "");
    qn_engine_total_figures(f.engine, &after);
    cr_expect_eq(after.messages, 2);
    cr_expect_eq(after.parked, 1);
    cr_expect_gt(after.content_bytes, before.content_bytes);
    fixture_receive(&f, "q", 10);
    fixture_delete_all(&f, "q", "m1 m2");
    qn_engine_total_figures(f.engine, &after);
    cr_expect_eq(after.content_bytes, 0);
}

Test(figures, a_send_beyond_the_memory_ceiling_is_refused_and_the_rest_goes_on)
{
    f.options.memory_max = 4000;
    fixture_restart(&f);
    int sent = 0;
    while (fixture_call(&f, "SendMessage", "'QueueUrl':'q','MessageBody':'%0100d'", sent)) {
        cr_assert_lt(++sent, 100);
    }
    cr_expect_eq(f.err.code, QN_ERR_SERVICE_UNAVAILABLE);
    cr_expect_gt(sent, 3);
    fixture_must(&f, "SendMessageBatch",
                 "'QueueUrl':'q','Entries':[{'Id':'x','MessageBody':'%01000d'}]", 1);
    cr_expect_str_eq(fixture_get(&f, "Failed.0.Code"), "ServiceUnavailable");
    cr_expect_str_eq(fixture_get(&f, "Failed.0.SenderFault"), "false");
    fixture_must(&f, "ReceiveMessage", "'QueueUrl':'q','MaxNumberOfMessages':1");
    cr_expect_eq(fixture_delete(&f, "q", fixture_get(&f, "Messages.0.ReceiptHandle")), QN_ERR_NONE);
    cr_expect(fixture_call(&f, "SendMessage", "'QueueUrl':'q','MessageBody':'%0100d'", sent));
}
