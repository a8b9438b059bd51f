/* Message move tasks: what they move, where to, how fast, and how they end. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_create(&f, "q", "");
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(move_task, .init = start, .fini = stop);

/* Sends bodies to the queue and has them dead-lettered. */
static void kill_all(const char *queue, const char *bodies)
{
    fixture_send(&f, queue, bodies);
    cr_assert_str_eq(fixture_receive_with(&f, queue, 10, "'VisibilityTimeout':0"), bodies);
    cr_assert_str_eq(fixture_receive(&f, queue, 10), "");
}

static const char *start_with(const char *source, const char *members)
{
    fixture_must(&f, "StartMessageMoveTask", "'SourceArn':'%s'%s%s", fixture_arn(&f, source),
                 members[0] != '\0' ? "," : "", members);
    return fixture_get(&f, "TaskHandle");
}

/* A member of the newest task of the source. */
static const char *task(const char *source, const char *member)
{
    fixture_must(&f, "ListMessageMoveTasks", "'SourceArn':'%s'", fixture_arn(&f, source));
    return fixture_get(&f, fixture_format(&f, "Results.0.%s", member));
}

Test(move_task, MV_1_it_is_running_at_once_and_nothing_has_moved)
{
    struct qn_task_view view;

    kill_all("q", "m1");
    start_with("dead", "");
    cr_assert(qn_engine_task_at(f.engine, fixture_queue(&f, "dead"), 0, &view));
    cr_expect_eq(view.status, QN_TASK_RUNNING);
    cr_expect_eq(view.moved, 0);
    cr_expect_str_eq(task("dead", "Status"), "COMPLETED");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1");
}

Test(move_task, MV_2_how_many_are_to_be_moved_is_fixed_at_the_start)
{
    kill_all("q", "m1 m2 m3");
    fixture_receive(&f, "dead", 1);
    start_with("dead", "'MaxNumberOfMessagesPerSecond':1");
    fixture_settle(&f);
    cr_expect_str_eq(task("dead", "ApproximateNumberOfMessagesToMove"), "2");
    cr_expect_str_eq(task("dead", "ApproximateNumberOfMessagesMoved"), "1");
    fixture_advance_s(&f, 10);
    cr_expect_str_eq(task("dead", "ApproximateNumberOfMessagesToMove"), "2");
    cr_expect_str_eq(task("dead", "ApproximateNumberOfMessagesMoved"), "2");
}

Test(move_task, MV_3_oldest_first_at_most_so_many_a_second_and_the_first_at_once)
{
    kill_all("q", "m1 m2 m3 m4");
    start_with("dead", "'MaxNumberOfMessagesPerSecond':1");
    fixture_settle(&f);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1");
    for (int i = 2; i <= 4; i++) {
        fixture_advance_ms(&f, 999);
        cr_expect_str_eq(fixture_receive(&f, "q", 10), "");
        fixture_advance_ms(&f, 1);
        cr_expect_str_eq(fixture_receive(&f, "q", 10), fixture_format(&f, "m%d", i));
    }
    cr_expect_str_eq(task("dead", "Status"), "COMPLETED");
}

Test(move_task, MV_3_five_hundred_a_second)
{
    for (int i = 0; i < 100; i++) {
        kill_all("q", "m m m m m m m m m m");
    }
    start_with("dead", "'MaxNumberOfMessagesPerSecond':500");
    fixture_advance_ms(&f, 998);
    cr_expect_str_eq(task("dead", "ApproximateNumberOfMessagesMoved"), "500");
    fixture_advance_ms(&f, 1000);
    cr_expect_str_eq(task("dead", "Status"), "COMPLETED");
}

Test(move_task, MV_3_without_a_rate_all_at_once_in_slices)
{
    f.slice = 60;
    for (int i = 0; i < 30; i++) {
        kill_all("q", "m m m m m m m m m m");
    }
    start_with("dead", "");
    fixture_settle(&f);
    cr_expect_str_eq(fixture_counts(&f, "q"), "300 0 0");
    cr_expect_str_eq(task("dead", "ApproximateNumberOfMessagesMoved"), "300");
}

Test(move_task, MV_3_both_what_was_dead_lettered_and_what_was_sent_oldest_first)
{
    fixture_create(&f, "to", "");
    fixture_send(&f, "dead", "m1");
    kill_all("q", "m2");
    fixture_send(&f, "dead", "m3");
    kill_all("q", "m4");
    start_with("dead", fixture_format(&f, "'DestinationArn':'%s'", fixture_arn(&f, "to")));
    cr_expect_str_eq(fixture_receive(&f, "to", 10), "m1 m2 m3 m4");
}

Test(move_task, MV_3_a_message_whose_lease_ends_meanwhile_goes_before_younger_ones)
{
    kill_all("q", "m1 m2 m3 m4 m5");
    cr_assert_str_eq(fixture_receive_with(&f, "dead", 1, "'VisibilityTimeout':2"), "m1");
    start_with("dead", "'MaxNumberOfMessagesPerSecond':1");
    fixture_settle(&f);
    fixture_advance_s(&f, 2);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m2 m3 m1");
    fixture_advance_s(&f, 2);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m4 m5");
}

Test(move_task, MV_3_fifo_queues_keep_their_order)
{
    fixture_create(&f, "q.fifo", "");
    fixture_create(&f, "dead.fifo", "");
    fixture_redrive(&f, "q.fifo", "dead.fifo", 1);
    kill_all("q.fifo", "a1 a2 b1 b2");
    start_with("dead.fifo", "");
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "a1 a2 b1 b2");
}

Test(move_task, MV_4_a_moved_message_is_a_new_one_with_the_old_content)
{
    fixture_send_with(&f, "q", "m",
                      "'MessageGroupId':'t','MessageAttributes':{'A':{'DataType':'String',"
                      "'StringValue':'x'}}");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_receive(&f, "q", 1);
    const char *old_id = fixture_id(&f, "m");
    fixture_advance_s(&f, 10);
    start_with("dead", "");
    fixture_receive_with(&f, "q", 1, "'AttributeNames':['All'],'MessageAttributeNames':['All']");
    cr_expect_str_neq(fixture_get(&f, "Messages.0.MessageId"), old_id);
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.SentTimestamp"), "1700000010000");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.ApproximateReceiveCount"), "1");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.MessageGroupId"), "t");
    cr_expect_null(fixture_get(&f, "Messages.0.Attributes.DeadLetterQueueSourceArn"));
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageAttributes.A.StringValue"), "x");
}

Test(move_task, MV_4_it_is_kept_for_the_destination_s_whole_retention)
{
    fixture_set(&f, "q", "'MessageRetentionPeriod':'100'");
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_advance_s(&f, 60);
    fixture_receive(&f, "q", 1);
    start_with("dead", "");
    fixture_advance_s(&f, 99);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(move_task, MV_5_without_a_destination_each_goes_back_to_where_it_came_from)
{
    fixture_create(&f, "r", "");
    fixture_redrive(&f, "r", "dead", 1);
    kill_all("q", "m1");
    kill_all("r", "n1");
    kill_all("q", "m2");
    start_with("dead", "");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1 m2");
    cr_expect_str_eq(fixture_receive(&f, "r", 10), "n1");
}

Test(move_task, MV_5_it_fails_on_a_message_that_came_from_nowhere)
{
    kill_all("q", "m1");
    fixture_send(&f, "dead", "stranger");
    kill_all("q", "m2");
    start_with("dead", "");
    cr_expect_str_eq(task("dead", "Status"), "FAILED");
    cr_expect_str_eq(task("dead", "FailureReason"), "CouldNotDetermineMessageSource");
    cr_expect_str_eq(task("dead", "ApproximateNumberOfMessagesMoved"), "1");
    cr_expect_null(task("dead", "TaskHandle"));
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "2 0 0");
}

Test(move_task, MV_6_the_deduplication_id_is_the_one_of_the_dead_letter_queue)
{
    fixture_create(&f, "q.fifo", "");
    fixture_create(&f, "dead.fifo", "");
    fixture_redrive(&f, "q.fifo", "dead.fifo", 1);
    fixture_send_with(&f, "q.fifo", "a", "'MessageGroupId':'g','MessageDeduplicationId':'d'");
    fixture_receive_with(&f, "q.fifo", 1, "'VisibilityTimeout':0");
    fixture_receive(&f, "q.fifo", 1);
    const char *id = fixture_id(&f, "a");
    start_with("dead.fifo", "");
    cr_assert_str_eq(fixture_receive_with(&f, "q.fifo", 1, "'AttributeNames':['All']"), "a");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.MessageDeduplicationId"), id);
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.MessageGroupId"), "g");
}

Test(move_task, MV_6_the_destination_s_window_does_not_swallow_it)
{
    fixture_create(&f, "q.fifo", "");
    fixture_create(&f, "to.fifo", "");
    fixture_create(&f, "dead.fifo", "");
    fixture_redrive(&f, "q.fifo", "dead.fifo", 1);
    fixture_send_with(&f, "to.fifo", "x", "'MessageGroupId':'g','MessageDeduplicationId':'d'");
    fixture_send_with(&f, "dead.fifo", "y", "'MessageGroupId':'g','MessageDeduplicationId':'d'");
    start_with("dead.fifo",
               fixture_format(&f, "'DestinationArn':'%s'", fixture_arn(&f, "to.fifo")));
    cr_expect_str_eq(fixture_receive_with(&f, "to.fifo", 10, "'AttributeNames':['All']"), "x y");
    cr_expect_str_eq(fixture_get(&f, "Messages.1.Attributes.MessageDeduplicationId"), "d");
}

Test(move_task, MV_7_the_destination_s_delay_applies)
{
    fixture_set(&f, "q", "'DelaySeconds':'5'");
    fixture_send_with(&f, "q", "m", "'DelaySeconds':0");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_receive(&f, "q", 1);
    start_with("dead", "");
    fixture_settle(&f);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 1");
    fixture_advance_s(&f, 5);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
}

Test(move_task, MV_7_the_destination_s_delay_applies_to_fifo_queues)
{
    fixture_create(&f, "to.fifo", "'DelaySeconds':'5'");
    fixture_create(&f, "q.fifo", "");
    fixture_create(&f, "dead.fifo", "");
    fixture_redrive(&f, "q.fifo", "dead.fifo", 1);
    kill_all("q.fifo", "a1");
    start_with("dead.fifo",
               fixture_format(&f, "'DestinationArn':'%s'", fixture_arn(&f, "to.fifo")));
    fixture_settle(&f);
    cr_expect_str_eq(fixture_counts(&f, "to.fifo"), "0 0 1");
    fixture_advance_s(&f, 5);
    cr_expect_str_eq(fixture_receive(&f, "to.fifo", 1), "a1");
}

Test(move_task, MV_8_messages_in_flight_are_not_taken)
{
    kill_all("q", "m1 m2");
    fixture_receive(&f, "dead", 1);
    start_with("dead", "");
    cr_expect_str_eq(task("dead", "Status"), "COMPLETED");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "0 1 0");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m2");
}

Test(move_task, MV_8_one_that_comes_back_behind_the_walk_is_taken)
{
    kill_all("q", "m1 m2 m3 m4");
    fixture_receive_with(&f, "dead", 1, "'VisibilityTimeout':1");
    start_with("dead", "'MaxNumberOfMessagesPerSecond':1");
    fixture_advance_s(&f, 10);
    cr_expect_str_eq(fixture_counts(&f, "dead"), "0 0 0");
    cr_expect_str_eq(task("dead", "Status"), "COMPLETED");
}

Test(move_task, MV_8_an_empty_source_completes_it)
{
    start_with("dead", "");
    cr_expect_str_eq(task("dead", "Status"), "COMPLETED");
    cr_expect_str_eq(task("dead", "ApproximateNumberOfMessagesToMove"), "0");
}

Test(move_task, MV_9_what_arrives_meanwhile_is_moved_and_not_counted_in_advance)
{
    kill_all("q", "m1 m2 m3");
    start_with("dead", fixture_format(&f, "'DestinationArn':'%s','MaxNumberOfMessagesPerSecond':1",
                                      fixture_arn(&f, "q")));
    fixture_settle(&f);
    fixture_send(&f, "dead", "m4");
    fixture_advance_s(&f, 10);
    cr_expect_str_eq(task("dead", "ApproximateNumberOfMessagesToMove"), "3");
    cr_expect_str_eq(task("dead", "ApproximateNumberOfMessagesMoved"), "4");
}

Test(move_task, MV_10_it_fails_when_the_destination_is_deleted)
{
    fixture_create(&f, "to", "");
    kill_all("q", "m1 m2");
    start_with("dead", fixture_format(&f, "'DestinationArn':'%s','MaxNumberOfMessagesPerSecond':1",
                                      fixture_arn(&f, "to")));
    fixture_settle(&f);
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'to'");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(task("dead", "Status"), "FAILED");
    cr_expect_str_eq(task("dead", "FailureReason"), "AWS.SimpleQueueService.NonExistentQueue");
}

Test(move_task, MV_10_it_goes_with_its_source)
{
    kill_all("q", "m1 m2");
    const char *handle = start_with("dead", "'MaxNumberOfMessagesPerSecond':1");
    fixture_settle(&f);
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'dead'");
    fixture_advance_s(&f, 5);
    cr_expect_eq(fixture_code(&f, "CancelMessageMoveTask", "'TaskHandle':'%s'", handle),
                 QN_ERR_RESOURCE_NOT_FOUND);
    fixture_create(&f, "dead", "");
    fixture_must(&f, "ListMessageMoveTasks", "'SourceArn':'%s'", fixture_arn(&f, "dead"));
    cr_expect_eq(fixture_count(&f, "Results"), 0);
}

Test(move_task, MV_10_a_purge_of_the_source_completes_it)
{
    kill_all("q", "m1 m2 m3");
    start_with("dead", "'MaxNumberOfMessagesPerSecond':1");
    fixture_settle(&f);
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'dead'");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(task("dead", "Status"), "COMPLETED");
    cr_expect_str_eq(task("dead", "ApproximateNumberOfMessagesMoved"), "1");
}

Test(move_task, MV_11_it_fails_after_thirty_six_hours)
{
    fixture_set(&f, "dead", "'MessageRetentionPeriod':'1209600'");
    kill_all("q", "m1");
    start_with("dead", "'MaxNumberOfMessagesPerSecond':1");
    /* Every second one is sent, so the task never ends by itself; the last hours go by in one leap.
     */
    f.now_ms += 36 * 3600 * INT64_C(1000);
    fixture_settle(&f);
    cr_expect_str_eq(task("dead", "Status"), "FAILED");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
}

Test(move_task, MV_12_one_active_task_for_a_source)
{
    kill_all("q", "m1 m2");
    const char *handle = start_with("dead", "'MaxNumberOfMessagesPerSecond':1");
    cr_expect_eq(
        fixture_code(&f, "StartMessageMoveTask", "'SourceArn':'%s'", fixture_arn(&f, "dead")),
        QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_str_eq(f.err.message,
                     "There is already a task running. Only one active task is allowed for a "
                     "source queue arn at a given time.");
    fixture_must(&f, "CancelMessageMoveTask", "'TaskHandle':'%s'", handle);
    fixture_settle(&f);
    start_with("dead", "");
    cr_expect_str_eq(task("dead", "Status"), "COMPLETED");
}

Test(move_task, MV_12_a_hundred_active_tasks_for_an_account)
{
    for (int i = 0; i <= 100; i++) {
        fixture_create(&f, fixture_format(&f, "s%d", i), "");
        fixture_create(&f, fixture_format(&f, "d%d", i), "");
        fixture_redrive(&f, fixture_format(&f, "s%d", i), fixture_format(&f, "d%d", i), 1);
        fixture_send(&f, fixture_format(&f, "d%d", i), "m1 m2 m3");
    }
    for (int i = 0; i < 100; i++) {
        start_with(fixture_format(&f, "d%d", i),
                   fixture_format(&f, "'DestinationArn':'%s','MaxNumberOfMessagesPerSecond':1",
                                  fixture_arn(&f, "q")));
    }
    cr_expect_eq(
        fixture_code(&f, "StartMessageMoveTask", "'SourceArn':'%s'", fixture_arn(&f, "d100")),
        QN_ERR_OVER_LIMIT);
    fixture_advance_s(&f, 5);
    cr_expect_str_eq(fixture_counts(&f, "q"), "300 0 0");
}

/* ---- cancelling and listing ---- */

Test(move_task, cancelling_leaves_what_was_moved_and_what_was_not)
{
    kill_all("q", "m1 m2 m3");
    const char *handle = start_with("dead", "'MaxNumberOfMessagesPerSecond':1");
    fixture_advance_s(&f, 1);
    fixture_must(&f, "CancelMessageMoveTask", "'TaskHandle':'%s'", handle);
    cr_expect_str_eq(fixture_get(&f, "ApproximateNumberOfMessagesMoved"), "2");
    cr_expect_str_eq(task("dead", "Status"), "CANCELLED");
    cr_expect_null(task("dead", "TaskHandle"));
    fixture_advance_s(&f, 10);
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
    cr_expect_str_eq(fixture_counts(&f, "q"), "2 0 0");
}

Test(move_task, only_a_running_task_can_be_cancelled)
{
    kill_all("q", "m1");
    const char *handle = start_with("dead", "");
    fixture_settle(&f);
    cr_expect_eq(fixture_code(&f, "CancelMessageMoveTask", "'TaskHandle':'%s'", handle),
                 QN_ERR_RESOURCE_NOT_FOUND);
    cr_expect_str_eq(f.err.message, "Task does not exist.");
}

Test(move_task, a_cancelled_task_passes_through_cancelling)
{
    struct qn_task_view view;

    kill_all("q", "m1 m2");
    const char *handle = start_with("dead", "'MaxNumberOfMessagesPerSecond':1");
    fixture_must(&f, "CancelMessageMoveTask", "'TaskHandle':'%s'", handle);
    cr_assert(qn_engine_task_at(f.engine, fixture_queue(&f, "dead"), 0, &view));
    cr_expect_eq(view.status, QN_TASK_CANCELLING);
    cr_expect(qn_engine_task_is_active(f.engine, fixture_queue(&f, "dead")));
    fixture_settle(&f);
    cr_expect_not(qn_engine_task_is_active(f.engine, fixture_queue(&f, "dead")));
}

Test(move_task, the_last_ten_are_listed_newest_first)
{
    for (int i = 0; i < 13; i++) {
        kill_all("q", "m1");
        start_with("dead", fixture_format(&f, "'MaxNumberOfMessagesPerSecond':%d", i + 1));
        fixture_advance_s(&f, 1);
        fixture_receive(&f, "q", 10);
        fixture_delete_all(&f, "q", "m1");
    }
    fixture_must(&f, "ListMessageMoveTasks", "'SourceArn':'%s','MaxResults':10",
                 fixture_arn(&f, "dead"));
    cr_assert_eq(fixture_count(&f, "Results"), 10);
    for (int i = 0; i < 10; i++) {
        cr_expect_eq(fixture_get_integer(
                         &f, fixture_format(&f, "Results.%d.MaxNumberOfMessagesPerSecond", i)),
                     13 - i);
    }
    fixture_must(&f, "ListMessageMoveTasks", "'SourceArn':'%s'", fixture_arn(&f, "dead"));
    cr_expect_eq(fixture_count(&f, "Results"), 1);
}

Test(move_task, an_entry_shows_what_was_asked_for)
{
    kill_all("q", "m1 m2");
    start_with("dead", "'MaxNumberOfMessagesPerSecond':1");
    fixture_settle(&f);
    cr_expect_str_eq(task("dead", "Status"), "RUNNING");
    cr_expect_str_eq(task("dead", "SourceArn"), fixture_arn(&f, "dead"));
    cr_expect_str_eq(task("dead", "StartedTimestamp"), "1700000000000");
    cr_expect_not_null(task("dead", "TaskHandle"));
    cr_expect_null(task("dead", "DestinationArn"));
    cr_expect_null(task("dead", "FailureReason"));
    fixture_advance_s(&f, 2);
    start_with("dead", fixture_format(&f, "'DestinationArn':'%s'", fixture_arn(&f, "q")));
    fixture_settle(&f);
    cr_expect_str_eq(task("dead", "DestinationArn"), fixture_arn(&f, "q"));
    cr_expect_null(task("dead", "MaxNumberOfMessagesPerSecond"));
}

Test(move_task, a_moved_message_is_told_as_an_event)
{
    kill_all("q", "m1 m2");
    f.events.wanted = true;
    start_with("dead", "");
    fixture_settle(&f);
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_MSG_MOVE), 2);
}
