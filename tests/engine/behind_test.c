/* What falls due for very many messages is done in slices, and requests come in between: nothing
 * that is due is handed out meanwhile. And what happens when a stored content cannot be read. */
#include <criterion/criterion.h>

#include "tests/support/engine_check.h"
#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    f.looks = true;
    fixture_create(&f, "q", "'MessageRetentionPeriod':'60'");
    fixture_create(&f, "q.fifo", "'MessageRetentionPeriod':'60'");
}

static void stop(void)
{
    cr_expect_null(engine_check(f.engine));
    fixture_close(&f);
}

TestSuite(behind, .init = start, .fini = stop);

static void fall_behind(int64_t by_ms)
{
    f.is_behind = true;
    f.now_ms += by_ms;
}

static void catch_up(void)
{
    f.is_behind = false;
    fixture_settle(&f);
}

Test(behind, SM_13_an_expired_message_is_not_delivered)
{
    fixture_send(&f, "q", "m1 m2");
    fixture_advance_s(&f, 30);
    fixture_send(&f, "q", "m3");
    fall_behind(30000);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m3");
    catch_up();
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
}

Test(behind, SM_13_an_expired_fifo_message_is_not_delivered_and_blocks_nothing)
{
    fixture_send(&f, "q.fifo", "a1 b1");
    fixture_advance_s(&f, 30);
    fixture_send(&f, "q.fifo", "a2");
    fall_behind(30000);
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "a2");
}

Test(behind, RRA_4_an_expired_message_is_not_given_again_by_attempt_id)
{
    const char *again = "'ReceiveRequestAttemptId':'r','VisibilityTimeout':1000";

    fixture_send(&f, "q.fifo", "a1");
    cr_expect_str_eq(fixture_receive_with(&f, "q.fifo", 1, again), "a1");
    fall_behind(60000);
    cr_expect_null(fixture_receive_with(&f, "q.fifo", 1, again));
    cr_expect_eq(f.err.code, QN_ERR_INVALID_PARAMETER_VALUE);
    catch_up();
}

Test(behind, a_message_whose_lease_ended_waits_until_that_was_done)
{
    fixture_send(&f, "q", "m1 m2");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':1");
    fall_behind(1000);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m2");
    catch_up();
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1");
}

Test(behind, the_handle_of_an_expired_message_is_one_of_a_deleted_message)
{
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':100");
    fall_behind(60000);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), 5),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
}

Test(behind, SM_F5_a_fifo_handle_ends_with_its_lease)
{
    fixture_send(&f, "q.fifo", "a1");
    fixture_receive_with(&f, "q.fifo", 1, "'VisibilityTimeout':1");
    fall_behind(1000);
    cr_expect_eq(fixture_delete(&f, "q.fifo", fixture_handle(&f, "a1")),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(fixture_change(&f, "q.fifo", fixture_handle(&f, "a1"), 5),
                 QN_ERR_INVALID_PARAMETER_VALUE);
}

Test(behind, SM_10_a_standard_handle_still_deletes_and_hides)
{
    fixture_send(&f, "q", "m1 m2");
    fixture_receive_with(&f, "q", 10, "'VisibilityTimeout':1");
    fall_behind(1000);
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m1")), QN_ERR_NONE);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m2"), 5), QN_ERR_NONE);
    catch_up();
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
}

Test(behind, DED_5_a_window_is_over_at_its_instant)
{
    const char *members = "'MessageGroupId':'g','MessageDeduplicationId':'d'";
    fixture_set(&f, "q.fifo", "'MessageRetentionPeriod':'1000'");
    const char *first = fixture_send_with(&f, "q.fifo", "m", members);
    fall_behind(300000);
    const char *second = fixture_send_with(&f, "q.fifo", "m", members);
    cr_expect_str_neq(second, first);
    cr_expect_str_eq(fixture_send_with(&f, "q.fifo", "m", members), second);
    catch_up();
    cr_expect_str_eq(fixture_send_with(&f, "q.fifo", "m", members), second);
    fixture_restart(&f);
    cr_expect_str_eq(fixture_send_with(&f, "q.fifo", "m", members), second);
    fixture_advance_s(&f, 300);
    cr_expect_str_neq(fixture_send_with(&f, "q.fifo", "m", members), second);
}

Test(behind, RRA_5_an_attempt_does_not_prolong_a_lease_that_ended)
{
    const char *members = "'ReceiveRequestAttemptId':'r','VisibilityTimeout':1";
    fixture_send(&f, "q.fifo", "a1");
    fixture_receive_with(&f, "q.fifo", 1, members);
    fall_behind(1000);
    cr_expect_str_eq(fixture_receive_with(&f, "q.fifo", 1, members), "");
    catch_up();
    cr_expect_str_eq(fixture_receive_with(&f, "q.fifo", 1,
                                          "'ReceiveRequestAttemptId':'r','AttributeNames':['All']"),
                     "a1");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.ApproximateReceiveCount"), "2");
}

Test(behind, MV_3_a_move_task_does_not_move_what_has_expired)
{
    fixture_create(&f, "dead", "'MessageRetentionPeriod':'60'");
    fixture_redrive(&f, "q", "dead", 1);
    fixture_send(&f, "dead", "m1 m2 m3");
    fixture_advance_s(&f, 59);
    fixture_must(&f, "StartMessageMoveTask",
                 "'SourceArn':'%s','DestinationArn':'%s','MaxNumberOfMessagesPerSecond':2",
                 fixture_arn(&f, "dead"), fixture_arn(&f, "q"));
    fixture_settle(&f);
    fixture_leap_ms(&f, 10000); /* over the second step and the expiry */
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "0 0 0");
}

/* ---- long polls between two requests ---- */

static void with_tx(void (*run)(struct qn_tx *tx), struct qn_arena *arena)
{
    struct qn_random random;

    qn_random_init(&random, 1, 2, 3);
    struct qn_tx tx = {.engine = f.engine,
                       .now_ms = f.now_ms,
                       .random = &random,
                       .arena = arena,
                       .caller = &f.caller,
                       .events = &f.events};
    run(&tx);
}

static void send_and_delete(struct qn_tx *tx)
{
    const struct qn_content content = {.body = QN_STR("m"), .attributes = QN_STR("")};
    const struct qn_send send = {.content = &content};
    struct qn_queue *other = fixture_queue(&f, "other");
    struct qn_queue *queue = fixture_queue(&f, "q");
    struct qn_sent sent;

    qn_engine_send(tx, other, &send, &sent);
    qn_engine_send(tx, queue, &send, &sent);
    qn_engine_delete_queue(tx, queue);
}

Test(behind, polls_of_a_queue_that_has_news_and_is_deleted_end_and_others_are_served)
{
    struct qn_arena arena;

    fixture_create(&f, "other", "");
    struct fixture_poll *gone[3];
    for (int i = 0; i < 3; i++) {
        gone[i] = fixture_poll(&f, "q", 1, 20, "");
    }
    struct fixture_poll *served = fixture_poll(&f, "other", 1, 20, "");
    qn_arena_init(&arena, SIZE_MAX);
    f.has_store = false;
    with_tx(send_and_delete, &arena);
    qn_arena_done(&arena);
    fixture_poll_cancel(&f, gone[1]);
    cr_expect_eq(qn_engine_any_waiter(f.engine), &gone[0]->waiter);
    fixture_settle(&f);
    cr_expect_eq(gone[0]->code, QN_ERR_QUEUE_DOES_NOT_EXIST);
    cr_expect_not(gone[1]->is_answered);
    cr_expect_eq(gone[2]->code, QN_ERR_QUEUE_DOES_NOT_EXIST);
    cr_assert(served->is_answered);
    cr_expect_str_eq(served->bodies, "m");
}

/* ---- contents that cannot be read ---- */

static void lose_contents(void)
{
    f.evicts = true;
    fixture_restart(&f);
    f.is_unreadable = true;
}

Test(behind, a_content_that_cannot_be_read_fails_the_receive_and_leaves_the_message)
{
    fixture_send(&f, "q", "m");
    lose_contents();
    cr_expect_eq(fixture_code(&f, "ReceiveMessage", "'QueueUrl':'q'"), QN_ERR_INTERNAL);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    f.is_unreadable = false;
    cr_expect_str_eq(fixture_receive_with(&f, "q", 1, "'AttributeNames':['All']"), "m");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.ApproximateReceiveCount"), "1");
}

Test(behind, a_content_that_cannot_be_read_fails_a_fifo_receive)
{
    fixture_send(&f, "q.fifo", "a1 b1");
    lose_contents();
    cr_expect_eq(fixture_code(&f, "ReceiveMessage", "'QueueUrl':'q.fifo'"), QN_ERR_INTERNAL);
    f.is_unreadable = false;
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "a1 b1");
}

Test(behind, a_move_task_waits_for_a_content_that_it_must_rewrite)
{
    fixture_create(&f, "dead.fifo", "");
    fixture_redrive(&f, "q.fifo", "dead.fifo", 1);
    fixture_send(&f, "dead.fifo", "a1");
    lose_contents();
    fixture_must(&f, "StartMessageMoveTask", "'SourceArn':'%s','DestinationArn':'%s'",
                 fixture_arn(&f, "dead.fifo"), fixture_arn(&f, "q.fifo"));
    fixture_advance_s(&f, 3);
    cr_expect_str_eq(fixture_counts(&f, "dead.fifo"), "1 0 0");
    f.is_unreadable = false;
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "a1");
}

Test(behind, a_name_deleted_twice_within_a_minute_rests_from_the_second_time)
{
    f.options.aws_waits = f.options.auto_create = true;
    fixture_restart(&f);
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'q'");
    fixture_advance_s(&f, 30);
    fixture_must(&f, "ReceiveMessage", "'QueueUrl':'q'"); /* comes into being */
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'q'");
    fixture_advance_s(&f, 59);
    cr_expect_eq(fixture_code(&f, "CreateQueue", "'QueueName':'q'"), QN_ERR_QUEUE_DELETED_RECENTLY);
    fixture_restart(&f);
    fixture_advance_s(&f, 1);
    cr_expect_eq(fixture_code(&f, "CreateQueue", "'QueueName':'q'"), QN_ERR_NONE);
}
