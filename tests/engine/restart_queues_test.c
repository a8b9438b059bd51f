/* A new engine from the rows of the old one: delays, retention, queues, dead letters, move tasks.
 */
#include "tests/engine/restart.h"

RESTART_TEST(delays_go_on)
{
    fixture_send_with(&f, "q", "m", "'DelaySeconds':10");
    fixture_advance_s(&f, 5);
    fixture_restart(&f);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 1");
    fixture_advance_s(&f, 5);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
    fixture_send_with(&f, "q", "n", "'DelaySeconds':10");
    f.now_ms += 20000;
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "n");
}

RESTART_TEST(SM_F2_fifo_delays_follow_the_attribute)
{
    fixture_set(&f, "q.fifo", "'DelaySeconds':'100'");
    fixture_send(&f, "q.fifo", "a1");
    fixture_advance_s(&f, 10);
    fixture_set(&f, "q.fifo", "'DelaySeconds':'20'");
    fixture_restart(&f);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "0 0 1");
    fixture_advance_s(&f, 10);
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 1), "a1");
}

RESTART_TEST(SM_F2_a_longer_delay_does_not_hide_what_was_visible)
{
    fixture_set(&f, "q.fifo", "'DelaySeconds':'10'");
    fixture_send(&f, "q.fifo", "a1");
    fixture_advance_s(&f, 10);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 0 0");
    fixture_set(&f, "q.fifo", "'DelaySeconds':'900'");
    fixture_restart(&f);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 0 0");
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 1), "a1");
}

RESTART_TEST(retention_goes_on)
{
    fixture_set(&f, "q", "'MessageRetentionPeriod':'100'");
    fixture_send(&f, "q", "m");
    fixture_advance_s(&f, 60);
    fixture_restart(&f);
    fixture_advance_s(&f, 39);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    fixture_advance_s(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

RESTART_TEST(a_message_deleted_or_expired_does_not_come_back)
{
    fixture_send(&f, "q", "m1 m2");
    fixture_receive(&f, "q", 1);
    fixture_delete_all(&f, "q", "m1");
    fixture_restart(&f);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    fixture_advance_s(&f, QN_RETENTION_DEFAULT_S);
    fixture_restart(&f);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

RESTART_TEST(a_purge_is_remembered)
{
    fixture_send(&f, "q", "m1 m2");
    fixture_send_with(&f, "q.fifo", "a", "'MessageGroupId':'g','MessageDeduplicationId':'d'");
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q'");
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q.fifo'");
    fixture_send(&f, "q", "m3");
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m3");
    fixture_send_with(&f, "q.fifo", "b", "'MessageGroupId':'g','MessageDeduplicationId':'d'");
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q.fifo'");
    fixture_restart(&f);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "0 0 0");
}

RESTART_TEST(handles_and_attempts_of_before_a_purge_stay_dead)
{
    fixture_send(&f, "q.fifo", "a1");
    fixture_receive_with(&f, "q.fifo", 1, "'ReceiveRequestAttemptId':'r'");
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q.fifo'");
    fixture_send(&f, "q.fifo", "a2");
    fixture_restart(&f);
    cr_expect_eq(fixture_delete(&f, "q.fifo", fixture_handle(&f, "a1")), QN_ERR_NONE);
    cr_expect_str_eq(fixture_receive_with(&f, "q.fifo", 1, "'ReceiveRequestAttemptId':'r'"), "a2");
}

RESTART_TEST(the_wait_after_a_purge_goes_on)
{
    f.options.aws_waits = true;
    fixture_restart(&f);
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q'");
    fixture_advance_ms(&f, 59999);
    fixture_restart(&f);
    cr_expect_eq(fixture_code(&f, "PurgeQueue", "'QueueUrl':'q'"), QN_ERR_PURGE_QUEUE_IN_PROGRESS);
    fixture_advance_ms(&f, 1);
    cr_expect_eq(fixture_code(&f, "PurgeQueue", "'QueueUrl':'q'"), QN_ERR_NONE);
}

RESTART_TEST(the_wait_after_deleting_a_name_goes_on)
{
    f.options.aws_waits = true;
    fixture_restart(&f);
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'q'");
    fixture_advance_ms(&f, 59999);
    fixture_restart(&f);
    cr_expect_eq(fixture_code(&f, "CreateQueue", "'QueueName':'q'"), QN_ERR_QUEUE_DELETED_RECENTLY);
    fixture_advance_ms(&f, 1);
    cr_expect_eq(fixture_code(&f, "CreateQueue", "'QueueName':'q'"), QN_ERR_NONE);
}

RESTART_TEST(queues_keep_their_attributes_tags_and_times)
{
    static const char *const names[] = {
        "VisibilityTimeout",    "RedriveAllowPolicy",   "Policy",
        "KmsMasterKeyId",       "SqsManagedSseEnabled", "CreatedTimestamp",
        "LastModifiedTimestamp"};
    const char *values[7];

    fixture_advance_s(&f, 3);
    fixture_set(&f, "q",
                "'VisibilityTimeout':'7','RedriveAllowPolicy':'{\\'redrivePermission\\':"
                "\\'byQueue\\',\\'sourceQueueArns\\':[\\'arn:aws:sqs:us-east-1:1:x\\']}',"
                "'KmsMasterKeyId':'alias/k'");
    fixture_must(&f, "AddPermission",
                 "'QueueUrl':'q','Label':'l','AWSAccountIds':['123456789012'],'Actions':['*']");
    fixture_must(&f, "TagQueue", "'QueueUrl':'q','Tags':{'b':'2','a':''}");
    for (int i = 0; i < 7; i++) {
        values[i] = fixture_attribute(&f, "q", names[i]);
        cr_assert_not_null(values[i]);
    }
    fixture_advance_s(&f, 3);
    fixture_restart(&f);
    for (int i = 0; i < 7; i++) {
        cr_expect_str_eq(fixture_attribute(&f, "q", names[i]), values[i]);
    }
    fixture_must(&f, "ListQueueTags", "'QueueUrl':'q'");
    cr_expect_str_eq(fixture_get(&f, "Tags.a"), "");
    cr_expect_str_eq(fixture_get(&f, "Tags.b"), "2");
    fixture_create(&f, "s", "");
    cr_expect_eq(fixture_code(&f, "SetQueueAttributes",
                              "'QueueUrl':'s','Attributes':{'RedrivePolicy':'{\\'"
                              "deadLetterTargetArn\\':\\'%s\\',\\'maxReceiveCount\\':1}'}",
                              fixture_arn(&f, "q")),
                 QN_ERR_INVALID_PARAMETER_VALUE);
}

RESTART_TEST(a_deleted_queue_stays_deleted_and_its_number_is_not_used_again)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    const char *handle = fixture_handle(&f, "m");
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'q'");
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'q.fifo'");
    fixture_restart(&f);
    fixture_create(&f, "q", "");
    fixture_send(&f, "q", "n");
    fixture_receive(&f, "q", 1);
    cr_expect_eq(fixture_delete(&f, "q", handle), QN_ERR_RECEIPT_HANDLE_IS_INVALID);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
}

RESTART_TEST(dead_letters_stay_what_they_are)
{
    fixture_create(&f, "dead", "'MessageRetentionPeriod':'100'");
    fixture_redrive(&f, "q", "dead", 1);
    fixture_send(&f, "q", "m");
    fixture_advance_s(&f, 10);
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0");
    fixture_advance_s(&f, 10);
    fixture_receive(&f, "q", 1);
    fixture_send(&f, "dead", "n");
    fixture_restart(&f);
    cr_expect_str_eq(
        fixture_receive_with(&f, "dead", 10, "'AttributeNames':['All'],'VisibilityTimeout':0"),
        "m n");
    cr_expect_str_eq(attribute_of_first("DeadLetterQueueSourceArn"), fixture_arn(&f, "q"));
    cr_expect_str_eq(attribute_of_first("ApproximateReceiveCount"), "2");
    fixture_advance_s(&f, 80);
    cr_expect_str_eq(fixture_receive(&f, "dead", 10), "n");
}

RESTART_TEST(the_count_toward_dead_lettering_goes_on)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 2);
    fixture_send(&f, "q", "m");
    for (int i = 0; i < 2; i++) {
        cr_expect_str_eq(fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':0"), "m");
        fixture_restart(&f);
    }
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
}

RESTART_TEST(FIFO_dead_letters_keep_their_id_for_deduplication)
{
    fixture_create(&f, "dead.fifo", "");
    fixture_redrive(&f, "q.fifo", "dead.fifo", 1);
    fixture_send(&f, "q.fifo", "a1");
    fixture_receive_with(&f, "q.fifo", 1, "'VisibilityTimeout':0");
    fixture_receive(&f, "q.fifo", 1);
    fixture_restart(&f);
    fixture_receive_with(&f, "dead.fifo", 1, "'AttributeNames':['All']");
    cr_expect_str_eq(attribute_of_first("MessageDeduplicationId"), fixture_id(&f, "a1"));
}

static void make_dead_letters(const char *bodies, int count)
{
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    fixture_send(&f, "q", bodies);
    fixture_receive_with(&f, "q", 10, "'VisibilityTimeout':0");
    fixture_receive(&f, "q", 10);
    cr_assert_str_eq(fixture_counts(&f, "dead"), fixture_format(&f, "%d 0 0", count));
}

RESTART_TEST(MV_3_a_move_task_goes_on_at_its_rate)
{
    make_dead_letters("m1 m2 m3 m4", 4);
    fixture_must(&f, "StartMessageMoveTask", "'SourceArn':'%s','MaxNumberOfMessagesPerSecond':1",
                 fixture_arn(&f, "dead"));
    fixture_advance_ms(&f, 1500);
    cr_expect_str_eq(fixture_counts(&f, "dead"), "2 0 0");
    fixture_restart(&f);
    fixture_advance_ms(&f, 499);
    cr_expect_str_eq(fixture_counts(&f, "dead"), "2 0 0");
    fixture_advance_ms(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "dead"), "1 0 0");
    fixture_advance_ms(&f, 1000);
    fixture_must(&f, "ListMessageMoveTasks", "'SourceArn':'%s'", fixture_arn(&f, "dead"));
    cr_expect_str_eq(fixture_get(&f, "Results.0.Status"), "COMPLETED");
    cr_expect_str_eq(fixture_get(&f, "Results.0.ApproximateNumberOfMessagesMoved"), "4");
    cr_expect_str_eq(fixture_get(&f, "Results.0.ApproximateNumberOfMessagesToMove"), "4");
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1 m2 m3 m4");
}

RESTART_TEST(move_tasks_that_ended_are_listed)
{
    make_dead_letters("m1", 1);
    fixture_must(&f, "StartMessageMoveTask", "'SourceArn':'%s','DestinationArn':'%s'",
                 fixture_arn(&f, "dead"), fixture_arn(&f, "q"));
    fixture_settle(&f);
    fixture_advance_s(&f, 5);
    fixture_send(&f, "dead", "stranger");
    fixture_must(&f, "StartMessageMoveTask", "'SourceArn':'%s'", fixture_arn(&f, "dead"));
    fixture_settle(&f);
    fixture_restart(&f);
    fixture_must(&f, "ListMessageMoveTasks", "'SourceArn':'%s','MaxResults':10",
                 fixture_arn(&f, "dead"));
    cr_assert_eq(fixture_count(&f, "Results"), 2);
    cr_expect_str_eq(fixture_get(&f, "Results.0.Status"), "FAILED");
    cr_expect_str_eq(fixture_get(&f, "Results.0.FailureReason"), "CouldNotDetermineMessageSource");
    cr_expect_null(fixture_get(&f, "Results.0.DestinationArn"));
    cr_expect_str_eq(fixture_get(&f, "Results.1.Status"), "COMPLETED");
    cr_expect_str_eq(fixture_get(&f, "Results.1.DestinationArn"), fixture_arn(&f, "q"));
    cr_expect_str_eq(fixture_get(&f, "Results.1.StartedTimestamp"), "1700000000000");
}

RESTART_TEST(move_tasks_of_one_instant_are_listed_newest_first)
{
    make_dead_letters("m1", 1);
    for (int rate = 1; rate <= 10; rate++) {
        fixture_must(&f, "StartMessageMoveTask",
                     "'SourceArn':'%s','MaxNumberOfMessagesPerSecond':%d", fixture_arn(&f, "dead"),
                     rate);
        fixture_settle(&f);
        if (rate == 5) {
            fixture_restart(&f);
        }
    }
    fixture_restart(&f);
    fixture_must(&f, "ListMessageMoveTasks", "'SourceArn':'%s','MaxResults':10",
                 fixture_arn(&f, "dead"));
    cr_assert_eq(fixture_count(&f, "Results"), 10);
    for (int i = 0; i < 10; i++) {
        const char *path = fixture_format(&f, "Results.%d.MaxNumberOfMessagesPerSecond", i);
        cr_expect_eq(fixture_get_integer(&f, path), 10 - i);
    }
}

RESTART_TEST(a_move_task_that_was_being_cancelled_is_cancelled)
{
    make_dead_letters("m1 m2 m3", 3);
    fixture_must(&f, "StartMessageMoveTask", "'SourceArn':'%s','MaxNumberOfMessagesPerSecond':1",
                 fixture_arn(&f, "dead"));
    const char *handle = fixture_get(&f, "TaskHandle");
    fixture_settle(&f);
    fixture_must(&f, "CancelMessageMoveTask", "'TaskHandle':'%s'", handle);
    fixture_restart(&f);
    fixture_must(&f, "ListMessageMoveTasks", "'SourceArn':'%s'", fixture_arn(&f, "dead"));
    cr_expect_str_eq(fixture_get(&f, "Results.0.Status"), "CANCELLED");
    cr_expect_str_eq(fixture_counts(&f, "dead"), "2 0 0");
}

RESTART_TEST(moved_fifo_messages_keep_their_new_deduplication_id)
{
    fixture_create(&f, "dead.fifo", "");
    fixture_redrive(&f, "q.fifo", "dead.fifo", 1);
    fixture_send(&f, "q.fifo", "a1 a2");
    fixture_receive_with(&f, "q.fifo", 10, "'VisibilityTimeout':0");
    fixture_receive(&f, "q.fifo", 1);
    const char *id = fixture_id(&f, "a1");
    fixture_must(&f, "StartMessageMoveTask", "'SourceArn':'%s'", fixture_arn(&f, "dead.fifo"));
    fixture_settle(&f);
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive_with(&f, "q.fifo", 10, "'AttributeNames':['All']"), "a1 a2");
    cr_expect_str_eq(attribute_of_first("MessageDeduplicationId"), id);
}

RESTART_TEST(contents_that_left_memory_are_read)
{
    f.evicts = true;
    fixture_restart(&f);
    fixture_send(&f, "q", "m1 m2");
    fixture_create(&f, "dead", "");
    fixture_redrive(&f, "q", "dead", 1);
    fixture_send(&f, "q", "m3");
    cr_expect_str_eq(fixture_receive_with(&f, "q", 10, "'VisibilityTimeout':0"), "m1 m2 m3");
    fixture_receive(&f, "q", 10);
    fixture_must(&f, "StartMessageMoveTask", "'SourceArn':'%s'", fixture_arn(&f, "dead"));
    fixture_settle(&f);
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1 m2 m3");
}

RESTART_TEST(numbers_of_many_deleted_queues_are_not_used_again)
{
    for (int i = 0; i < 150; i++) {
        fixture_create(&f, "x", "");
        fixture_send(&f, "x", "m");
        fixture_receive(&f, "x", 1);
        fixture_must(&f, "DeleteQueue", "'QueueUrl':'x'");
    }
    fixture_restart(&f);
    for (int i = 0; i < 20; i++) {
        fixture_create(&f, "x", "");
        fixture_send(&f, "x", "n");
        fixture_receive(&f, "x", 1);
        cr_expect_eq(fixture_delete(&f, "x", fixture_handle(&f, "m")),
                     QN_ERR_RECEIPT_HANDLE_IS_INVALID);
        fixture_must(&f, "DeleteQueue", "'QueueUrl':'x'");
    }
}

RESTART_TEST(no_sequence_number_is_drawn_twice_beyond_what_was_reserved)
{
    const char *last = "";

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 450; i++) {
            const char *entries = "";
            for (int j = 0; j < 10; j++) {
                entries = fixture_format(&f,
                                         "%s%s{'Id':'%d','MessageBody':'m','MessageGroupId':'g',"
                                         "'MessageDeduplicationId':'%d-%d-%d'}",
                                         entries, j > 0 ? "," : "", j, round, i, j);
            }
            fixture_must(&f, "SendMessageBatch", "'QueueUrl':'q.fifo','Entries':[%s]", entries);
            cr_assert_gt(strcmp(fixture_get(&f, "Successful.0.SequenceNumber"), last), 0);
            last = fixture_get(&f, "Successful.9.SequenceNumber");
            if (i % 50 == 0) {
                fixture_must(&f, "PurgeQueue", "'QueueUrl':'q.fifo'");
            }
        }
        fixture_must(&f, "PurgeQueue", "'QueueUrl':'q.fifo'");
        fixture_restart(&f);
    }
}
