/* Deduplication on FIFO queues: what counts as the same, for how long, and what the answer holds.
 */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_create(&f, "q.fifo", "");
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(dedup, .init = start, .fini = stop);

/* The message's id. */
static const char *send_to(const char *queue, const char *body, const char *group, const char *id)
{
    return fixture_send_with(&f, queue, body,
                             fixture_format(&f, "'MessageGroupId':'%s'%s%s%s", group,
                                            id == NULL ? "" : ",'MessageDeduplicationId':'",
                                            id == NULL ? "" : id, id == NULL ? "" : "'"));
}

static const char *send_id(const char *id)
{
    return send_to("q.fifo", "m", "g", id);
}

Test(dedup, DED_1_the_window_is_five_minutes_from_the_first_send)
{
    const char *first = send_id("d");
    fixture_advance_ms(&f, 299999);
    cr_expect_str_eq(send_id("d"), first);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 0 0");
    fixture_advance_ms(&f, 1);
    cr_expect_str_neq(send_id("d"), first);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "2 0 0");
}

Test(dedup, DED_1_a_duplicate_does_not_extend_the_window)
{
    const char *first = send_id("d");
    fixture_advance_s(&f, 200);
    send_id("d");
    fixture_advance_s(&f, 100);
    cr_expect_str_neq(send_id("d"), first);
}

Test(dedup, DED_1_the_window_of_the_second_message_begins_with_it)
{
    send_id("d");
    fixture_advance_s(&f, 300);
    const char *second = send_id("d");
    fixture_advance_s(&f, 299);
    cr_expect_str_eq(send_id("d"), second);
    fixture_advance_s(&f, 1);
    cr_expect_str_neq(send_id("d"), second);
}

Test(dedup, DED_2_a_duplicate_succeeds_and_stores_nothing)
{
    f.events.wanted = true;
    send_id("d");
    send_id("d");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 0 0");
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_MSG_SEND), 1);
}

Test(dedup, DED_3_the_answer_has_the_original_s_ids_and_the_duplicate_s_digests)
{
    const char *first = send_to("q.fifo", "hello", "g", "d");
    const char *number = fixture_get(&f, "SequenceNumber");
    const char *second = fixture_send_with(
        &f, "q.fifo", "other",
        "'MessageGroupId':'g','MessageDeduplicationId':'d','MessageAttributes':{'timestamp':{"
        "'DataType':'Number','StringValue':'1493147359900'}}");
    cr_expect_str_eq(second, first);
    cr_expect_str_eq(fixture_get(&f, "SequenceNumber"), number);
    cr_expect_str_eq(fixture_get(&f, "MD5OfMessageBody"), "795f3202b17cb6bc3d4b771d8c6c9eaf");
    cr_expect_str_eq(fixture_get(&f, "MD5OfMessageAttributes"), "235c5c510d26fb653d073faed50ae77c");
}

Test(dedup, DED_4_the_id_is_known_after_the_original_was_deleted)
{
    const char *first = send_id("d");
    fixture_receive(&f, "q.fifo", 1);
    fixture_delete_all(&f, "q.fifo", "m");
    cr_expect_str_eq(send_id("d"), first);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "0 0 0");
}

Test(dedup, DED_4_the_id_is_known_after_the_original_expired)
{
    fixture_set(&f, "q.fifo", "'MessageRetentionPeriod':'60'");
    const char *first = send_id("d");
    fixture_advance_s(&f, 100);
    cr_expect_str_eq(send_id("d"), first);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "0 0 0");
}

Test(dedup, DED_4_a_purge_forgets_all_ids)
{
    const char *first = send_id("d");
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q.fifo'");
    cr_expect_str_neq(send_id("d"), first);
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 0 0");
}

Test(dedup, DED_5_after_the_window_the_same_id_makes_a_new_message)
{
    send_id("d");
    fixture_advance_s(&f, 300);
    send_id("d");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "2 0 0");
}

Test(dedup, DED_6_ids_of_failed_sends_are_not_remembered)
{
    cr_expect_eq(fixture_code(&f, "SendMessage",
                              "'QueueUrl':'q.fifo','MessageBody':'m','MessageGroupId':'g',"
                              "'MessageDeduplicationId':'d','DelaySeconds':5"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    send_id("d");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 0 0");
}

Test(dedup, DED_7_a_dead_lettered_message_is_not_held_against_the_dead_letter_queue_s_window)
{
    fixture_create(&f, "dead.fifo", "");
    fixture_redrive(&f, "q.fifo", "dead.fifo", 1);
    send_to("dead.fifo", "x", "g", "d");
    send_id("d");
    fixture_receive_with(&f, "q.fifo", 1, "'VisibilityTimeout':0");
    fixture_receive(&f, "q.fifo", 1);
    cr_expect_str_eq(fixture_counts(&f, "dead.fifo"), "2 0 0");
}

Test(dedup, DED_8_a_duplicate_is_checked_like_any_send)
{
    send_id("d");
    cr_expect_eq(fixture_code(&f, "SendMessage",
                              "'QueueUrl':'q.fifo','MessageBody':'m','MessageGroupId':'g',"
                              "'MessageDeduplicationId':'d','MessageAttributes':{'A':{"
                              "'DataType':'Odd','StringValue':'x'}}"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
}

Test(dedup, DED_9_each_queue_remembers_for_itself)
{
    fixture_create(&f, "other.fifo", "");
    const char *first = send_id("d");
    cr_expect_str_neq(send_to("other.fifo", "m", "g", "d"), first);
}

Test(dedup, DED_9_a_queue_that_was_deleted_has_forgotten)
{
    const char *first = send_id("d");
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'q.fifo'");
    fixture_create(&f, "q.fifo", "");
    cr_expect_str_neq(send_id("d"), first);
}

/* ---- the id (12.2) ---- */

Test(dedup, the_id_made_from_the_content_is_the_sha_256_of_the_body)
{
    fixture_set(&f, "q.fifo", "'ContentBasedDeduplication':'true'");
    send_to("q.fifo", "hello", "g", NULL);
    send_to("q.fifo", "h\xc3\xa9llo", "g", NULL);
    fixture_must(&f, "ReceiveMessage",
                 "'QueueUrl':'q.fifo','MaxNumberOfMessages':10,'AttributeNames':['All']");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.MessageDeduplicationId"),
                     "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    cr_expect_str_eq(fixture_get(&f, "Messages.1.Attributes.MessageDeduplicationId"),
                     "3c48591d8d098a4538f5e013dfcf406e948eac4d3277b10bf614e295d6068179");
}

Test(dedup, the_content_s_id_leaves_attributes_out)
{
    fixture_set(&f, "q.fifo", "'ContentBasedDeduplication':'true'");
    const char *first = send_to("q.fifo", "hello", "g", NULL);
    const char *second = fixture_send_with(
        &f, "q.fifo", "hello",
        "'MessageGroupId':'g','MessageAttributes':{'A':{'DataType':'String','StringValue':'x'}}");
    cr_expect_str_eq(second, first);
}

Test(dedup, an_explicit_id_wins_over_the_content_s)
{
    fixture_set(&f, "q.fifo", "'ContentBasedDeduplication':'true'");
    const char *first = send_to("q.fifo", "hello", "g", NULL);
    cr_expect_str_neq(send_to("q.fifo", "hello", "g", "d"), first);
    cr_expect_str_eq(send_to("q.fifo", "else", "g",
                             "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"),
                     first);
}

Test(dedup, content_based_deduplication_switched_off_keeps_what_is_remembered)
{
    fixture_set(&f, "q.fifo", "'ContentBasedDeduplication':'true'");
    const char *first = send_to("q.fifo", "hello", "g", NULL);
    fixture_set(&f, "q.fifo", "'ContentBasedDeduplication':'false'");
    cr_expect_str_eq(send_to("q.fifo", "x", "g",
                             "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"),
                     first);
}

Test(dedup, scope_queue_knows_an_id_in_every_group)
{
    const char *first = send_to("q.fifo", "m", "g", "d");
    cr_expect_str_eq(send_to("q.fifo", "m", "h", "d"), first);
}

Test(dedup, scope_message_group_knows_an_id_in_its_group)
{
    fixture_create(&f, "s.fifo", "'DeduplicationScope':'messageGroup'");
    const char *first = send_to("s.fifo", "m", "g", "d");
    cr_expect_str_neq(send_to("s.fifo", "m", "h", "d"), first);
    cr_expect_str_eq(send_to("s.fifo", "m", "g", "d"), first);
}

Test(dedup, scope_message_group_does_not_mix_up_where_the_group_ends)
{
    fixture_create(&f, "s.fifo", "'DeduplicationScope':'messageGroup'");
    const char *first = send_to("s.fifo", "m", "ab", "c");
    cr_expect_str_neq(send_to("s.fifo", "m", "a", "bc"), first);
}

Test(dedup, a_scope_changed_later_shows_and_has_no_effect_in_either_direction)
{
    fixture_create(&f, "s.fifo", "'DeduplicationScope':'messageGroup'");
    fixture_set(&f, "s.fifo", "'DeduplicationScope':'queue'");
    cr_expect_str_eq(fixture_attribute(&f, "s.fifo", "DeduplicationScope"), "queue");
    const char *first = send_to("s.fifo", "m", "g", "d");
    cr_expect_str_neq(send_to("s.fifo", "m", "h", "d"), first);

    fixture_set(&f, "q.fifo", "'DeduplicationScope':'messageGroup'");
    first = send_to("q.fifo", "m", "g", "d");
    cr_expect_str_eq(send_to("q.fifo", "m", "h", "d"), first);
}

Test(dedup, twice_in_one_batch_is_one_message)
{
    fixture_must(&f, "SendMessageBatch",
                 "'QueueUrl':'q.fifo','Entries':["
                 "{'Id':'1','MessageBody':'m','MessageGroupId':'g','MessageDeduplicationId':'d'},"
                 "{'Id':'2','MessageBody':'m','MessageGroupId':'g','MessageDeduplicationId':'d'}]");
    cr_expect_eq(fixture_count(&f, "Successful"), 2);
    cr_expect_str_eq(fixture_get(&f, "Successful.0.MessageId"),
                     fixture_get(&f, "Successful.1.MessageId"));
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "1 0 0");
}

Test(dedup, many_ids_are_forgotten_one_after_the_other)
{
    for (int i = 0; i < 500; i++) {
        send_id(fixture_format(&f, "d%d", i));
        fixture_advance_ms(&f, 1000);
    }
    /* The first 201 windows are over. */
    size_t stored = 500;
    for (int i = 0; i < 500; i += 50) {
        send_id(fixture_format(&f, "d%d", i));
        stored += i <= 200 ? 1 : 0;
    }
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), fixture_format(&f, "%zu 0 0", stored));
}
