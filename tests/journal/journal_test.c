#include "server/journal/journal.h"

#include <criterion/criterion.h>
#include <unistd.h>

#include "tests/support/journal_fixture.h"

static struct journal_fixture f;
static struct qn_arena arena; /* of the content read last */

static void open_fixture(void)
{
    journal_fixture_init(&f);
    cr_assert(journal_fixture_open(&f), "%s", f.err.message);
}

static void close_fixture(void)
{
    qn_arena_done(&arena);
    journal_fixture_done(&f);
}

TestSuite(journal, .init = open_fixture, .fini = close_fixture, .timeout = 60);

static void reopen(void)
{
    journal_fixture_close(&f);
    cr_assert(journal_fixture_open(&f), "%s", f.err.message);
}

static void append(const struct qn_row *row)
{
    (void)journal_fixture_append_row(&f, row, 5000);
}

static struct qn_row loaded(size_t index)
{
    struct qn_row row;
    cr_assert(row_set_at(&f.loaded, index, &row), "only %zu rows came back", f.loaded.count);
    return row;
}

static struct qn_str content(int64_t id)
{
    struct qn_str text;
    struct qn_error err;
    qn_arena_done(&arena);
    qn_arena_init(&arena, SIZE_MAX);
    cr_assert(qn_journal_read_content(f.journal, id, &arena, &text, &err), "%s", err.message);
    return text;
}

Test(journal, a_queue_comes_back_with_all_its_fields)
{
    struct qn_row row = queue_row(7, 3);
    row.queue.name = QN_STR("orders.fifo");
    row.queue.settings = qn_str("\0\1\2", 3);
    row.queue.next_sequence = INT64_C(1) << 39;
    append(&row);
    reopen();
    struct qn_row back = loaded(0);
    cr_expect_eq(back.kind, QN_ROW_QUEUE_PUT);
    cr_expect_eq(back.queue.number, 7);
    cr_expect_eq(back.queue.generation, 3);
    cr_expect(qn_str_equal(back.queue.account, row.queue.account));
    cr_expect(qn_str_equal(back.queue.region, row.queue.region));
    cr_expect(qn_str_equal(back.queue.name, row.queue.name));
    cr_expect(qn_str_equal(back.queue.settings, row.queue.settings));
    cr_expect_eq(back.queue.next_sequence, row.queue.next_sequence);
    cr_expect_eq(f.loaded.count, 1);
}

Test(journal, a_message_comes_back_with_its_lease_counts_and_content)
{
    struct qn_row queue = queue_row(1, 0);
    struct qn_row row = message_row(1, 9, "body");
    struct qn_message_row *message = &row.message;
    append(&queue);
    append(&row);
    row.kind = QN_ROW_MESSAGE_PUT;
    message->state = 200;
    message->hidden_until_ms = 43200000;
    message->first_received_at_ms = 2000;
    message->received_at_ms = 2500;
    message->arrived_at_ms = 1500;
    message->receive_count = 2;
    message->total_count = 5;
    message->receive_number = UINT32_MAX;
    message->service_stamp = INT64_MAX;
    message->group_id = QN_STR("");
    message->source_arn = QN_STR("arn:aws:sqs:us-east-1:000000000000:orders");
    append(&row);
    reopen();
    struct qn_row back = loaded(1);
    cr_expect_eq(back.kind, QN_ROW_MESSAGE_PUT);
    cr_expect_not(qn_str_is_none(back.message.group_id), "empty is not the same as absent");
    struct qn_buf a;
    struct qn_buf b;
    qn_buf_init(&a, 4096);
    qn_buf_init(&b, 4096);
    qn_entry_append_message(&a, &row.message);
    qn_entry_append_message(&b, &back.message);
    cr_expect(qn_str_equal(qn_buf_str(&a), qn_buf_str(&b)), "every field");
    cr_expect(qn_str_equal(content(row.message.content_id), QN_STR("body")));
    qn_buf_done(&a);
    qn_buf_done(&b);
}

Test(journal, a_deleted_message_does_not_come_back)
{
    struct qn_row queue = queue_row(1, 0);
    struct qn_row row = message_row(1, 1, "body");
    append(&queue);
    append(&row);
    journal_fixture_wait_written(&f); /* so that it is deleted from SQLite and not from a batch */
    row.kind = QN_ROW_MESSAGE_DELETE;
    row.key = row.message.key;
    row.content_id = row.message.content_id;
    append(&row);
    reopen();
    cr_expect_eq(row_set_count(&f.loaded, QN_ROW_MESSAGE_PUT), 0);
    journal_fixture_close(&f);
    cr_expect_eq(journal_fixture_sql(&f, "SELECT count(*) FROM content"), 0);
}

Test(journal, RDV_a_redriven_message_keeps_its_content_under_another_key)
{
    struct qn_row source = queue_row(1, 0);
    struct qn_row target = queue_row(2, 0);
    struct qn_row row = message_row(1, 4, "poison");
    append(&source);
    append(&target);
    append(&row);
    row.kind = QN_ROW_MESSAGE_MOVE;
    row.key = row.message.key;
    row.message.key = QN_MESSAGE_KEY(2, 1);
    append(&row);
    source.kind = QN_ROW_QUEUE_DROP;
    source.queue_number = 1;
    append(&source);
    reopen();
    cr_expect_eq(f.loaded.count, 2);
    cr_expect_eq(loaded(1).message.key, QN_MESSAGE_KEY(2, 1));
    cr_expect(qn_str_equal(content(QN_MESSAGE_KEY(1, 4)), QN_STR("poison")),
              "the source queue is gone, the content is not");
}

Test(journal, deduplication_and_attempts_come_back_and_are_trimmed_per_queue)
{
    for (uint32_t number = 1; number <= 2; number++) {
        struct qn_row queue = queue_row(number, 0);
        append(&queue);
        for (int64_t i = 1; i <= 5; i++) {
            struct qn_row row;
            memset(&row, 0, sizeof(row));
            row.kind = QN_ROW_DEDUPLICATION_PUT;
            row.deduplication.key = QN_MESSAGE_KEY(number, i);
            row.deduplication.accepted_at_ms = 1000 + i;
            row.deduplication.id = QN_STR("id");
            row.deduplication.message_id[15] = 9;
            row.deduplication.sequence = 77;
            append(&row);
            memset(&row, 0, sizeof(row));
            row.kind = QN_ROW_ATTEMPT_PUT;
            row.attempt.key = QN_MESSAGE_KEY(number, i);
            row.attempt.received_at_ms = 2000 + i;
            row.attempt.id = QN_STR("attempt");
            row.attempt.messages = qn_str("\0\1", 2);
            append(&row);
        }
    }
    struct qn_row trim = {.kind = QN_ROW_DEDUPLICATION_TRIM, .key = QN_MESSAGE_KEY(2, 3)};
    append(&trim);
    trim.kind = QN_ROW_ATTEMPT_TRIM;
    trim.key = QN_MESSAGE_KEY(2, 4);
    append(&trim);
    reopen();
    cr_expect(f.is_in_order);
    cr_expect_eq(row_set_count(&f.loaded, QN_ROW_DEDUPLICATION_PUT), 5 + 2);
    cr_expect_eq(row_set_count(&f.loaded, QN_ROW_ATTEMPT_PUT), 5 + 1);
    struct qn_row row = loaded(2 + 5);
    cr_expect_eq(row.deduplication.key, QN_MESSAGE_KEY(2, 4));
    cr_expect_eq(row.deduplication.accepted_at_ms, 1004);
    cr_expect_eq(row.deduplication.sequence, 77);
    cr_expect_eq(row.deduplication.message_id[15], 9);
    cr_expect(qn_str_equal(row.deduplication.id, QN_STR("id")));
    row = loaded(2 + 7 + 5);
    cr_expect_eq(row.attempt.key, QN_MESSAGE_KEY(2, 5));
    cr_expect(qn_str_equal(row.attempt.messages, qn_str("\0\1", 2)));
}

Test(journal, tasks_come_back_by_start_and_names_with_the_instant_of_deletion)
{
    struct qn_row row;
    memset(&row, 0, sizeof(row));
    for (uint8_t i = 0; i < 3; i++) {
        row.kind = QN_ROW_TASK_PUT;
        row.task.id[0] = i;
        row.task.started_at_ms = 3000 - i;
        row.task.task = QN_STR("running");
        append(&row);
    }
    row.kind = QN_ROW_TASK_DROP;
    row.task.id[0] = 1;
    append(&row);
    memset(&row, 0, sizeof(row));
    row.kind = QN_ROW_NAME_PUT;
    row.name.name = qn_str("us-east-1\0a", 11);
    row.name.deleted_at_ms = 4000;
    append(&row);
    row.name.name = QN_STR("b");
    append(&row);
    row.kind = QN_ROW_NAME_DROP;
    append(&row);
    reopen();
    cr_assert_eq(f.loaded.count, 3);
    cr_expect(f.is_in_order);
    cr_expect(qn_str_equal(loaded(0).name.name, qn_str("us-east-1\0a", 11)));
    cr_expect_eq(loaded(0).name.deleted_at_ms, 4000);
    cr_expect_eq(loaded(1).task.id[0], 2);
    cr_expect_eq(loaded(2).task.id[0], 0);
}

Test(journal, PRG_purged_and_dropped_rows_are_not_loaded)
{
    for (uint32_t number = 1; number <= 3; number++) {
        struct qn_row queue = queue_row(number, 0);
        struct qn_row row = message_row(number, 1, "old");
        append(&queue);
        append(&row);
    }
    struct qn_row queue = queue_row(2, 1);
    struct qn_row row = message_row(2, 2, "new");
    struct qn_row drop = {.kind = QN_ROW_QUEUE_DROP, .queue_number = 3};
    row.message.generation = 1;
    append(&queue);
    append(&row);
    append(&drop);
    reopen();
    cr_expect_eq(row_set_count(&f.loaded, QN_ROW_QUEUE_PUT), 2);
    cr_expect_eq(row_set_count(&f.loaded, QN_ROW_MESSAGE_PUT), 2);
    cr_expect_eq(loaded(2).message.key, QN_MESSAGE_KEY(1, 1));
    cr_expect_eq(loaded(3).message.key, QN_MESSAGE_KEY(2, 2));
}

Test(journal, the_identity_survives_and_counts_the_starts)
{
    struct qn_journal_identity first = f.identity;
    struct qn_row row = queue_row(1, 0);
    cr_expect_eq(first.boot, 1);
    cr_expect_eq(first.lsn, 0);
    cr_expect_eq(journal_fixture_append_row(&f, &row, 900), 1);
    cr_expect_eq(journal_fixture_append_row(&f, &row, 9000), 2);
    cr_expect_eq(journal_fixture_append_row(&f, &row, 8000), 3);
    f.seed = 12345; /* counts for a new file only */
    reopen();
    cr_expect_eq(f.identity.boot, 2);
    cr_expect_eq(f.identity.lsn, 3);
    cr_expect_eq(f.identity.last_instant_ms, 9000, "the clock never runs before any entry");
    cr_expect_arr_eq(f.identity.handle_key, first.handle_key, 16);
    cr_expect_eq(journal_fixture_append_row(&f, &row, 9500), 4);
    reopen();
    reopen();
    cr_expect_eq(f.identity.boot, 4);
    cr_expect_eq(f.identity.last_instant_ms, 9500);
}

Test(journal, the_handle_key_hangs_on_the_seed)
{
    struct journal_fixture other;
    struct journal_fixture same;
    journal_fixture_init(&other);
    journal_fixture_init(&same);
    other.seed = f.seed + 1;
    same.seed = f.seed;
    cr_assert(journal_fixture_open(&other));
    cr_assert(journal_fixture_open(&same));
    cr_expect_arr_eq(same.identity.handle_key, f.identity.handle_key, 16);
    cr_expect_arr_neq(other.identity.handle_key, f.identity.handle_key, 16);
    journal_fixture_done(&other);
    journal_fixture_done(&same);
}

Test(journal, figures_follow_the_ring_and_the_writer)
{
    struct qn_journal_figures figures;
    struct qn_row row = queue_row(1, 0);
    append(&row);
    journal_fixture_wait_written(&f);
    qn_journal_figures(f.journal, &figures);
    cr_expect_eq(figures.last_lsn, 1);
    cr_expect_eq(figures.synced_lsn, 1);
    cr_expect_eq(figures.written_lsn, 1);
    cr_expect_eq(figures.ring_bytes_used, 0);
    cr_expect_gt(figures.ring_bytes_max_used, 0);
    cr_expect_geq(figures.commits, 1);
    cr_expect_eq(figures.write_errors, 0);
    cr_expect_gt(figures.wal_bytes, 0);
    cr_expect_eq(qn_journal_sync_fd(f.journal), -1);
}

Test(journal, a_missing_content_is_an_error_of_the_server)
{
    struct qn_str text;
    struct qn_error err;
    qn_arena_init(&arena, SIZE_MAX);
    cr_expect_not(qn_journal_read_content(f.journal, 99, &arena, &text, &err));
    cr_expect_eq(err.code, QN_ERR_INTERNAL);
}

Test(journal, reading_contents_does_not_keep_the_log_from_being_reused)
{
    struct qn_row queue = queue_row(1, 0);
    append(&queue);
    for (int64_t i = 1; i < 400; i++) {
        static char body[100 * 1024];
        memset(body, 'b', sizeof(body) - 1);
        struct qn_row row = message_row(1, i, body);
        append(&row);
        if (i % 50 == 0) {
            journal_fixture_wait_written(&f);
            (void)content(QN_MESSAGE_KEY(1, i));
        }
    }
    journal_fixture_wait_written(&f);
    struct qn_journal_figures figures;
    qn_journal_figures(f.journal, &figures);
    /* 40 MB went through it. One that could not begin anew would still hold them all. */
    cr_expect_geq(figures.checkpoints, 1);
    cr_expect_lt(figures.wal_bytes, 39 << 20);
}

Test(journal, a_busy_day_comes_back_row_by_row)
{
    struct workload workload;
    workload_init(&workload, 42);
    for (int i = 1; i <= 4000; i++) {
        (void)journal_fixture_append(&f, workload_next(&workload), i);
        if (i % 500 == 0) {
            reopen();
            const char *difference = row_set_difference(&workload.expected, &f.loaded);
            cr_assert_null(difference, "after %d: %s", i, difference);
            cr_assert(f.is_in_order);
            difference = journal_fixture_check_contents(&f, &workload.expected);
            cr_assert_null(difference, "after %d: %s", i, difference);
        }
    }
    workload_done(&workload);
}

Test(journal, nothing_is_left_of_what_was_deleted_purged_and_dropped)
{
    struct workload workload;
    workload_init(&workload, 43);
    for (int i = 1; i <= 3000; i++) {
        (void)journal_fixture_append(&f, workload_next(&workload), i);
    }
    journal_fixture_wait_written(&f);
    while (journal_fixture_sql(&f, "SELECT count(*) FROM dead") != 0) {
        /* the slices run between batches */
    }
    journal_fixture_close(&f);
    cr_expect_eq(journal_fixture_sql(&f, "SELECT count(*) FROM content"),
                 (int64_t)row_set_count(&workload.expected, QN_ROW_MESSAGE_INSERT));
    cr_expect_eq(journal_fixture_sql(&f, "SELECT count(*) FROM message"),
                 (int64_t)row_set_count(&workload.expected, QN_ROW_MESSAGE_PUT));
    cr_expect_eq(journal_fixture_sql(&f, "SELECT count(*) FROM deduplication"),
                 (int64_t)row_set_count(&workload.expected, QN_ROW_DEDUPLICATION_PUT));
    cr_expect_eq(journal_fixture_sql(&f, "SELECT count(*) FROM attempt"),
                 (int64_t)row_set_count(&workload.expected, QN_ROW_ATTEMPT_PUT));
    workload_done(&workload);
}

Test(journal, with_sync_full_an_entry_is_known_to_be_synced)
{
    struct qn_row row = queue_row(1, 0);
    uint64_t count;
    journal_fixture_close(&f);
    f.sync = QN_SYNC_FULL;
    cr_assert(journal_fixture_open(&f), "%s", f.err.message);
    cr_expect_eq(qn_journal_synced_lsn(f.journal), 0);
    for (uint64_t lsn = 1; lsn <= 20; lsn++) {
        append(&row);
        while (qn_journal_synced_lsn(f.journal) < lsn) {
            /* the other thread publishes */
        }
    }
    cr_expect_geq(qn_journal_sync_fd(f.journal), 0);
    cr_expect_eq(read(qn_journal_sync_fd(f.journal), &count, sizeof(count)), sizeof(count));
    cr_expect_geq(count, 1);
    reopen();
    cr_expect_eq(f.identity.lsn, 20);
    cr_expect_eq(qn_journal_synced_lsn(f.journal), 20);
}
