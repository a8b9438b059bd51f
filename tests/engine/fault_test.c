/* What faults may do to stored messages, and what a verdict does to a request. */
#include <criterion/criterion.h>

#include "tests/support/engine_check.h"
#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    f.options.keeps_deleted = true;
    fixture_restart(&f);
    fixture_create(&f, "q", "");
    fixture_create(&f, "q.fifo", "");
    f.events.wanted = true;
}

static void stop(void)
{
    cr_expect_null(engine_check(f.engine));
    fixture_close(&f);
}

TestSuite(fault, .init = start, .fini = stop);

static struct qn_tx *begin(struct fixture_change *change)
{
    return fixture_change_begin(&f, change);
}

static bool end(struct fixture_change *change, bool done)
{
    fixture_change_end(&f, change);
    return done;
}

static bool resurrect(const char *queue, const char *message_id)
{
    struct fixture_change change;
    struct qn_tx *tx = begin(&change);

    return end(&change,
               qn_engine_resurrect(tx, fixture_queue(&f, queue), qn_str_from_cstr(message_id)));
}

/* Leases are named by the id alone, or by their handle. */
static struct qn_leased by_id(const char *body)
{
    return (struct qn_leased){qn_str_from_cstr(fixture_id(&f, body)), QN_STR_NONE, -1};
}

static struct qn_leased by_handle(const char *body, int64_t receive_count)
{
    return (struct qn_leased){qn_str_from_cstr(fixture_id(&f, body)),
                              qn_str_from_cstr(fixture_handle(&f, body)), receive_count};
}

static bool expire(const char *queue, struct qn_leased leased)
{
    struct fixture_change change;
    struct qn_tx *tx = begin(&change);

    return end(&change, qn_engine_expire_lease(tx, fixture_queue(&f, queue), &leased));
}

static bool shorten(struct qn_leased leased, int64_t to_s)
{
    struct fixture_change change;
    struct qn_tx *tx = begin(&change);

    return end(&change, qn_engine_shorten_lease(tx, fixture_queue(&f, "q"), &leased,
                                                tx->now_ms + to_s * 1000));
}

static bool extend(struct qn_leased leased, int64_t by_s)
{
    struct fixture_change change;
    struct qn_tx *tx = begin(&change);

    return end(&change, qn_engine_extend_lease(tx, fixture_queue(&f, "q"), &leased, by_s * 1000));
}

Test(fault, a_deleted_message_comes_back_once_with_its_id_and_the_next_count)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    const char *id = fixture_id(&f, "m");
    fixture_delete_all(&f, "q", "m");
    cr_expect(resurrect("q", id));
    cr_expect_not(resurrect("q", id));
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_MSG_DUPCOPY), 1);
    cr_expect_str_eq(fixture_receive_with(&f, "q", 10, "'AttributeNames':['All']"), "m");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageId"), id);
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.ApproximateReceiveCount"), "2");
}

Test(fault, a_message_that_came_back_outlives_a_restart)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    fixture_delete_all(&f, "q", "m");
    resurrect("q", fixture_id(&f, "m"));
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m");
}

Test(fault, a_fifo_message_comes_back_at_the_end_of_its_group)
{
    fixture_send(&f, "q.fifo", "a1 a2");
    fixture_receive(&f, "q.fifo", 1);
    fixture_delete_all(&f, "q.fifo", "a1");
    cr_expect(resurrect("q.fifo", fixture_id(&f, "a1")));
    cr_expect_str_eq(fixture_receive(&f, "q.fifo", 10), "a2 a1");
}

Test(fault, what_was_never_deleted_or_was_purged_cannot_come_back)
{
    fixture_send(&f, "q", "m n");
    fixture_receive(&f, "q", 10);
    cr_expect_not(resurrect("q", fixture_id(&f, "m")));
    cr_expect_not(resurrect("q", "no uuid"));
    fixture_delete_all(&f, "q", "m");
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q'");
    cr_expect_not(resurrect("q", fixture_id(&f, "m")));
}

Test(fault, a_lease_ends_before_its_time)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    cr_expect(expire("q", by_id("m")));
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_LEASE_EXPIRE), 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    cr_expect_not(expire("q", by_id("m")));
    fixture_restart(&f);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
}

Test(fault, a_lease_that_ends_before_its_time_wakes_a_poll)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    struct fixture_poll *poll = fixture_poll(&f, "q", 1, 20, "");
    expire("q", by_id("m"));
    fixture_settle(&f);
    cr_assert(poll->is_answered);
    cr_expect_str_eq(poll->bodies, "m");
}

/* What a lease is, is what becomes of the message at its end. */
static void expect_end_in_s(int64_t seconds)
{
    fixture_advance_ms(&f, seconds * 1000 - 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
    fixture_advance_ms(&f, 1);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
}

Test(fault, a_lease_is_shortened_but_never_made_longer)
{
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':30");
    cr_expect(shorten(by_handle("m", 1), 60));
    cr_expect(shorten(by_handle("m", 1), 10));
    cr_expect(shorten(by_handle("m", 1), 20));
    expect_end_in_s(10);
    cr_expect_not(shorten(by_handle("m", 1), 10), "the lease is over");
}

Test(fault, a_lease_that_ends_now_lapses)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    cr_expect(shorten(by_handle("m", 1), 0));
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_LEASE_EXPIRE), 1);
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m");
}

Test(fault, a_shortened_lease_ends_early_after_a_restart_too)
{
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':30");
    cr_expect(shorten(by_handle("m", 1), 10));
    fixture_restart(&f);
    expect_end_in_s(10);
}

Test(fault, a_lease_is_extended_from_its_end_on)
{
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':30");
    fixture_advance_s(&f, 10);
    cr_expect(extend(by_handle("m", 1), 5));
    cr_expect_eq(fixture_event_count(&f, QN_EVENT_LEASE_EXTEND), 1);
    fixture_restart(&f);
    expect_end_in_s(25);
}

Test(fault, a_lease_is_extended_within_twelve_hours_of_its_receive)
{
    fixture_send(&f, "q", "m");
    fixture_receive_with(&f, "q", 1, "'VisibilityTimeout':30");
    fixture_advance_s(&f, 10);
    cr_expect(extend(by_id("m"), INT64_C(13) * 3600));
    cr_expect(extend(by_id("m"), 1));
    expect_end_in_s(12 * 3600 - 10);
}

Test(fault, a_fault_is_for_the_lease_of_its_event_and_no_later_one)
{
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    struct qn_leased first = by_handle("m", 1);
    fixture_change(&f, "q", fixture_handle(&f, "m"), 0);
    cr_expect_not(expire("q", first), "nobody has it");
    fixture_receive(&f, "q", 1);
    cr_expect_not(expire("q", first), "another lease");
    cr_expect_not(expire("q", by_handle("m", 1)), "this is the second");
    cr_expect(expire("q", by_handle("m", 2)));
}

Test(fault, a_lease_is_found_by_its_handle_without_a_search)
{
    struct qn_engine_figures before;
    struct qn_engine_figures after;

    for (int i = 0; i < 300; i++) {
        fixture_send(&f, "q", "m");
    }
    for (int i = 0; i < 30; i++) {
        fixture_receive(&f, "q", 10);
    }
    qn_engine_total_figures(f.engine, &before);
    cr_expect(expire("q", by_handle("m", 1)));
    qn_engine_total_figures(f.engine, &after);
    cr_expect_lt(after.looked_at - before.looked_at, 10);
}

static struct qn_verdict verdict(enum qn_verdict_kind kind, uint64_t entry_mask)
{
    return (struct qn_verdict){
        .kind = kind, .rule = QN_STR("r"), .entry_mask = entry_mask, .error = QN_ERR_INTERNAL};
}

Test(fault, a_faked_send_is_answered_and_stores_nothing)
{
    struct qn_verdict fake = verdict(QN_VERDICT_FAKE_SUCCESS, UINT64_MAX);
    f.verdict = &fake;
    cr_expect_not_null(fixture_send_with(&f, "q", "m", ""));
    fixture_send(&f, "q.fifo", "a1");
    cr_expect_not_null(fixture_get(&f, "SequenceNumber"));
    f.verdict = NULL;
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
    cr_expect_str_eq(fixture_counts(&f, "q.fifo"), "0 0 0");
}

Test(fault, a_faked_delete_is_answered_and_deletes_nothing)
{
    struct qn_verdict fake = verdict(QN_VERDICT_FAKE_SUCCESS, UINT64_MAX);
    fixture_send(&f, "q", "m");
    fixture_receive(&f, "q", 1);
    f.verdict = &fake;
    cr_expect_eq(fixture_delete(&f, "q", fixture_handle(&f, "m")), QN_ERR_NONE);
    cr_expect_eq(fixture_change(&f, "q", fixture_handle(&f, "m"), 0), QN_ERR_NONE);
    f.verdict = NULL;
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
}

Test(fault, single_entries_of_a_batch_can_be_faked_or_failed)
{
    struct qn_verdict fake = verdict(QN_VERDICT_FAKE_SUCCESS, 1);
    struct qn_verdict fail = verdict(QN_VERDICT_FAIL_ENTRIES, 2);
    const char *entries = "'QueueUrl':'q','Entries':[{'Id':'x','MessageBody':'m1'},{'Id':'y',"
                          "'MessageBody':'m2'}]";
    f.verdict = &fake;
    fixture_must(&f, "SendMessageBatch", "%s", entries);
    cr_expect_eq(fixture_count(&f, "Successful"), 2);
    f.verdict = &fail;
    fixture_must(&f, "SendMessageBatch", "%s", entries);
    cr_expect_eq(fixture_count(&f, "Successful"), 1);
    cr_expect_str_eq(fixture_get(&f, "Failed.0.Id"), "y");
    cr_expect_str_eq(fixture_get(&f, "Failed.0.Code"), "InternalFailure");
    f.verdict = NULL;
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m2 m1");
}

Test(fault, single_entries_of_a_delete_batch_can_be_faked)
{
    struct qn_verdict fake = verdict(QN_VERDICT_FAKE_SUCCESS, 2);
    fixture_send(&f, "q", "m1 m2");
    fixture_receive(&f, "q", 10);
    f.verdict = &fake;
    fixture_must(&f, "DeleteMessageBatch",
                 "'QueueUrl':'q','Entries':[{'Id':'x','ReceiptHandle':'%s'},{'Id':'y',"
                 "'ReceiptHandle':'%s'}]",
                 fixture_handle(&f, "m1"), fixture_handle(&f, "m2"));
    cr_expect_eq(fixture_count(&f, "Successful"), 2);
    fixture_must(&f, "ChangeMessageVisibilityBatch",
                 "'QueueUrl':'q','Entries':[{'Id':'x','ReceiptHandle':'%s','VisibilityTimeout':0},"
                 "{'Id':'y','ReceiptHandle':'%s','VisibilityTimeout':0}]",
                 fixture_handle(&f, "m1"), fixture_handle(&f, "m2"));
    cr_expect_eq(fixture_count(&f, "Successful"), 1);
    f.verdict = NULL;
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 1 0");
}

Test(fault, a_receive_can_come_away_empty_or_short)
{
    struct qn_verdict empty = verdict(QN_VERDICT_FALSE_EMPTY, UINT64_MAX);
    struct qn_verdict brief = verdict(QN_VERDICT_SHORT, UINT64_MAX);
    fixture_send(&f, "q", "m1 m2 m3");
    brief.count = 2;
    f.verdict = &empty;
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "");
    f.verdict = &brief;
    cr_expect_str_eq(fixture_receive(&f, "q", 10), "m1 m2");
    cr_expect_str_eq(fixture_receive(&f, "q", 1), "m3");
}

Test(fault, events_carry_the_keys_of_a_json_body)
{
    struct qn_reader reader;
    int found = 0;

    fixture_must(&f, "SendMessage",
                 "'QueueUrl':'q','MessageBody':'{\\'idempotencyKey\\':\\'k-1\\',\\'payload\\':{"
                 "\\'id\\':\\'p-1\\'}}'");
    fixture_must(&f, "ReceiveMessage", "'QueueUrl':'q'");
    fixture_delete(&f, "q", fixture_get(&f, "Messages.0.ReceiptHandle"));
    qn_reader_init(&reader, qn_buf_str(&f.events.encoded));
    while (reader.at != reader.end) {
        struct qn_reader one;
        struct qn_event event;
        qn_reader_init(&one, qn_reader_bytes(&reader));
        cr_assert(qn_event_decode(&one, &event));
        cr_expect(qn_str_equal(event.key, QN_STR("k-1")));
        cr_expect(qn_str_equal(event.payload_id, QN_STR("p-1")));
        found++;
    }
    cr_expect_eq(found, 3);
}
