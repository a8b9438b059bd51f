/* What PRE_COMMIT is told of a receive is what the receive then delivers, and asking changes
 * nothing. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;
static struct fixture twin; /* the same requests, but nobody looks */

static void start(void)
{
    fixture_open(&f);
    fixture_open(&twin);
    f.looks = true;
}

static void stop(void)
{
    fixture_close(&f);
    fixture_close(&twin);
}

TestSuite(look, .init = start, .fini = stop);

static void both_create(const char *queue)
{
    fixture_create(&f, queue, "");
    fixture_create(&twin, queue, "");
}

static void both_send(const char *queue, const char *body, const char *members)
{
    fixture_send_with(&f, queue, body, members);
    fixture_send_with(&twin, queue, body, members);
}

/* Receives in both: the same comes, and the facts said so. */
static void both_receive(const char *queue, int max, const char *members, const char *bodies)
{
    struct qn_buf told;

    cr_expect_str_eq(fixture_receive_with(&f, queue, max, members), bodies);
    qn_buf_init(&told, SIZE_MAX);
    for (size_t i = 0; i < f.facts.message_count; i++) {
        qn_buf_append_format(&told, "%s%.*s", i > 0 ? " " : "",
                             QN_STR_ARG(f.facts.messages[i].body));
        cr_expect_eq(f.facts.messages[i].entry_index, (int64_t)i);
        cr_expect_not(qn_str_is_none(f.facts.messages[i].message_id));
    }
    cr_expect_str_eq(fixture_format(&f, "%.*s", QN_STR_ARG(qn_buf_str(&told))), bodies);
    cr_expect_eq(f.facts.max, max);
    qn_buf_done(&told);
    cr_expect_str_eq(fixture_receive_with(&twin, queue, max, members), bodies);
}

Test(look, standard_queue_shows_the_oldest_and_keeps_the_order)
{
    both_create("q");
    for (int i = 1; i <= 6; i++) {
        both_send("q", fixture_format(&f, "m%d", i), "");
    }
    both_receive("q", 3, "'VisibilityTimeout':0", "m1 m2 m3");
    both_receive("q", 4, "", "m1 m2 m3 m4");
    both_receive("q", 10, "", "m5 m6");
    both_receive("q", 10, "", "");
}

Test(look, receive_count_is_the_one_after_the_receive)
{
    both_create("q");
    both_send("q", "m", "");
    both_receive("q", 1, "'VisibilityTimeout':0", "m");
    cr_expect_eq(f.facts.messages[0].receive_count, 1);
    both_receive("q", 1, "", "m");
    cr_expect_eq(f.facts.messages[0].receive_count, 2);
}

Test(look, tenants_come_in_their_order)
{
    both_create("q");
    for (int i = 0; i < 40; i++) {
        both_send("q", "a", "'MessageGroupId':'A'");
    }
    for (int i = 0; i < 4; i++) {
        both_receive("q", 10, "", "a a a a a a a a a a");
    }
    both_send("q", "a1", "'MessageGroupId':'A'");
    both_send("q", "b1", "'MessageGroupId':'B'");
    both_send("q", "n1", "");
    both_receive("q", 1, "", "b1");
    both_receive("q", 10, "", "n1 a1");
}

Test(look, groups_come_in_their_order)
{
    both_create("q.fifo");
    const char *sent[] = {"a1", "b1", "a2", "c1", "b2"};
    for (int i = 0; i < 5; i++) {
        both_send("q.fifo", sent[i],
                  fixture_format(&f, "'MessageGroupId':'%c','MessageDeduplicationId':'%s'",
                                 sent[i][0], sent[i]));
    }
    both_receive("q.fifo", 3, "'VisibilityTimeout':0", "a1 a2 b1");
    both_receive("q.fifo", 10, "", "c1 a1 a2 b1 b2");
}

Test(look, an_attempt_that_is_repeated_shows_the_same_messages_and_their_count)
{
    both_create("q.fifo");
    both_send("q.fifo", "a1", "'MessageGroupId':'a','MessageDeduplicationId':'1'");
    both_receive("q.fifo", 10, "'ReceiveRequestAttemptId':'r'", "a1");
    both_receive("q.fifo", 10, "'ReceiveRequestAttemptId':'r'", "a1");
    cr_expect_eq(f.facts.messages[0].receive_count, 1);
}

Test(look, what_is_dead_lettered_is_not_shown)
{
    both_create("q");
    both_create("dead");
    fixture_redrive(&f, "q", "dead", 1);
    fixture_redrive(&twin, "q", "dead", 1);
    for (int i = 0; i < 30; i++) {
        both_send("q", "poison", "");
    }
    for (int i = 0; i < 3; i++) {
        both_receive("q", 10, "'VisibilityTimeout':1",
                     "poison poison poison poison poison poison poison poison poison poison");
    }
    fixture_advance_s(&f, 1);
    fixture_advance_s(&twin, 1);
    both_send("q", "good1", "");
    both_send("q", "good2", "");
    both_receive("q", 1, "", "good1");
    both_receive("q", 10, "", "good2");
}

Test(look, the_quota_of_messages_in_flight_counts)
{
    f.options.limits.in_flight = twin.options.limits.in_flight = 2;
    fixture_restart(&f);
    fixture_restart(&twin);
    both_create("q");
    both_send("q", "m1", "");
    both_send("q", "m2", "");
    both_send("q", "m3", "");
    both_receive("q", 10, "", "m1 m2");
    cr_expect_null(fixture_receive(&f, "q", 10));
    cr_expect_eq(f.facts.message_count, 0);
}

Test(look, the_message_of_a_handle)
{
    both_create("q");
    both_send("q", "m", "'MessageGroupId':'t'");
    both_receive("q", 1, "", "m");
    const char *handle = fixture_handle(&f, "m");
    fixture_change(&f, "q", handle, 40);
    cr_assert_eq(f.facts.message_count, 1);
    cr_expect(qn_str_equal(f.facts.messages[0].group, QN_STR("t")));
    cr_expect(qn_str_equal(f.facts.messages[0].body, QN_STR("m")));
    cr_expect(qn_str_equal(f.facts.messages[0].handle, qn_str_from_cstr(handle)));
    fixture_delete(&f, "q", handle);
    cr_expect_eq(f.facts.message_count, 1);
    cr_expect_eq(f.facts.messages[0].receive_count, 1);
}

Test(look, each_entry_of_a_batch)
{
    both_create("q");
    fixture_must(&f, "SendMessageBatch",
                 "'QueueUrl':'q','Entries':[{'Id':'x','MessageBody':'m1'},{'Id':'y',"
                 "'MessageBody':'m2'}]");
    cr_assert_eq(f.facts.message_count, 2);
    cr_expect(qn_str_equal(f.facts.messages[1].entry_id, QN_STR("y")));
    cr_expect_eq(f.facts.messages[1].entry_index, 1);
    cr_expect(qn_str_equal(f.facts.messages[1].body, QN_STR("m2")));
}

Test(look, each_handle_of_a_batch)
{
    both_create("q");
    both_send("q", "m1", "");
    both_send("q", "m2", "");
    both_receive("q", 10, "", "m1 m2");
    fixture_must(&f, "ChangeMessageVisibilityBatch",
                 "'QueueUrl':'q','Entries':[{'Id':'x','ReceiptHandle':'%s','VisibilityTimeout':9},"
                 "{'Id':'y','ReceiptHandle':'garbage','VisibilityTimeout':9}]",
                 fixture_handle(&f, "m1"));
    cr_assert_eq(f.facts.message_count, 2);
    cr_expect(qn_str_equal(f.facts.messages[0].body, QN_STR("m1")));
    cr_expect(qn_str_is_none(f.facts.messages[1].message_id));
    fixture_must(&f, "DeleteMessageBatch",
                 "'QueueUrl':'q','Entries':[{'Id':'x','ReceiptHandle':'%s'},{'Id':'y',"
                 "'ReceiptHandle':'%s'}]",
                 fixture_handle(&f, "m1"), fixture_handle(&f, "m2"));
    cr_assert_eq(f.facts.message_count, 2);
    cr_expect(qn_str_equal(f.facts.messages[1].entry_id, QN_STR("y")));
    cr_expect(qn_str_equal(f.facts.messages[1].body, QN_STR("m2")));
}
