#include "server/journal/batch.h"

#include <criterion/criterion.h>

#include "server/journal/dead.h"
#include "tests/support/journal_fixture.h"

static struct journal_fixture f; /* for its folder and its reference */
static struct qn_store *store;
static struct qn_batch batch;
static struct qn_buf entries[64];
static size_t entry_count;

static void open_store(void)
{
    struct qn_error err;
    journal_fixture_init(&f);
    cr_assert(qn_store_open(f.path, 1, &store, &err), "%s", err.message);
    qn_store_keep(store);
    qn_batch_init(&batch);
    entry_count = 0;
}

static void close_store(void)
{
    for (size_t i = 0; i < entry_count; i++) {
        qn_buf_done(&entries[i]);
    }
    qn_batch_done(&batch);
    qn_store_close(store);
    journal_fixture_done(&f);
}

TestSuite(batch, .init = open_store, .fini = close_store, .timeout = 60);

static void add(const struct qn_row *row)
{
    struct qn_buf *entry = &entries[entry_count++];
    qn_buf_init(entry, SIZE_MAX);
    qn_entry_append(entry, row);
    cr_assert(qn_batch_add(&batch, qn_buf_str(entry)));
}

/* How many rows of SQLite the batch changes. */
static int apply(void)
{
    int before = sqlite3_total_changes(store->db);
    cr_assert_eq(qn_store_run(store, QN_SQL_begin), SQLITE_OK);
    cr_assert_eq(qn_batch_apply(&batch, store), SQLITE_OK);
    cr_assert_eq(qn_store_run(store, QN_SQL_commit), SQLITE_OK);
    qn_batch_clear(&batch);
    return sqlite3_total_changes(store->db) - before;
}

static int64_t count(const char *sql)
{
    return journal_fixture_sql(&f, sql);
}

static struct qn_row as_put(struct qn_row row)
{
    row.kind = QN_ROW_MESSAGE_PUT;
    return row;
}

static struct qn_row as_delete(struct qn_row row)
{
    row.kind = QN_ROW_MESSAGE_DELETE;
    row.key = row.message.key;
    row.content_id = row.message.content_id;
    return row;
}

static struct qn_row as_move(struct qn_row row, int64_t key)
{
    row.kind = QN_ROW_MESSAGE_MOVE;
    row.key = row.message.key;
    row.message.key = key;
    return row;
}

Test(batch, a_message_sent_and_deleted_within_it_needs_no_SQL)
{
    struct qn_row row = message_row(1, 1, "body");
    struct qn_row put = as_put(row);
    struct qn_row gone = as_delete(row);
    add(&row);
    add(&put);
    add(&gone);
    cr_expect_eq(apply(), 0);
}

Test(batch, several_changes_of_a_message_are_one)
{
    struct qn_row row = message_row(1, 1, "body");
    add(&row);
    cr_expect_eq(apply(), 2);
    struct qn_row put = as_put(row);
    for (uint32_t i = 1; i <= 5; i++) {
        put.message.receive_count = i;
        add(&put);
    }
    cr_expect_eq(apply(), 1);
    cr_expect_eq(count("SELECT receive_count FROM message"), 5);
}

Test(batch, a_chain_of_moves_leaves_one_row_at_its_end)
{
    struct qn_row row = message_row(1, 1, "body");
    struct qn_row first = as_move(row, QN_MESSAGE_KEY(2, 1));
    struct qn_row second = as_move(first, QN_MESSAGE_KEY(3, 1));
    add(&row);
    cr_expect_eq(apply(), 2);
    add(&first);
    add(&second);
    cr_expect_eq(apply(), 2, "the old row goes, the last one comes");
    cr_expect_eq(count("SELECT key FROM message"), QN_MESSAGE_KEY(3, 1));
    cr_expect_eq(count("SELECT count(*) FROM content"), 1);
}

Test(batch, a_message_sent_moved_and_deleted_within_it_needs_no_SQL)
{
    struct qn_row row = message_row(1, 1, "body");
    struct qn_row move = as_move(row, QN_MESSAGE_KEY(2, 1));
    struct qn_row gone = as_delete(move);
    add(&row);
    add(&move);
    add(&gone);
    cr_expect_eq(apply(), 0);
}

Test(batch, a_message_moved_there_and_back_is_one_row)
{
    struct qn_row row = message_row(1, 1, "body");
    struct qn_row there = as_move(row, QN_MESSAGE_KEY(2, 1));
    struct qn_row back = as_move(there, QN_MESSAGE_KEY(1, 1));
    add(&row);
    cr_expect_eq(apply(), 2);
    add(&there);
    add(&back);
    cr_expect_eq(apply(), 1);
    cr_expect_eq(count("SELECT key FROM message"), QN_MESSAGE_KEY(1, 1));
}

Test(batch, a_message_of_SQLite_that_is_moved_and_deleted_goes_with_its_content)
{
    struct qn_row row = message_row(1, 1, "body");
    struct qn_row move = as_move(row, QN_MESSAGE_KEY(2, 1));
    struct qn_row gone = as_delete(move);
    add(&row);
    (void)apply();
    add(&move);
    add(&gone);
    cr_expect_eq(apply(), 2);
    cr_expect_eq(count("SELECT count(*) FROM content"), 0);
    cr_expect_eq(count("SELECT count(*) FROM message"), 0);
}

Test(batch, trims_reach_rows_that_were_put_before_them_in_the_same_batch)
{
    struct qn_row put;
    memset(&put, 0, sizeof(put));
    for (int64_t i = 1; i <= 5; i++) {
        struct qn_row trim = {.kind = QN_ROW_DEDUPLICATION_TRIM, .key = QN_MESSAGE_KEY(1, i - 2)};
        put.kind = QN_ROW_DEDUPLICATION_PUT;
        put.deduplication.key = QN_MESSAGE_KEY(1, i);
        add(&put);
        if (i > 2) {
            add(&trim);
        }
    }
    (void)apply();
    cr_expect_eq(count("SELECT count(*) FROM deduplication"), 2);
    cr_expect_eq(count("SELECT min(key) FROM deduplication"), QN_MESSAGE_KEY(1, 4));
}

Test(batch, it_can_be_applied_again_after_a_rollback)
{
    struct qn_row queue = queue_row(1, 0);
    struct qn_row row = message_row(1, 1, "body");
    add(&queue);
    add(&row);
    cr_assert_eq(qn_store_run(store, QN_SQL_begin), SQLITE_OK);
    cr_assert_eq(qn_batch_apply(&batch, store), SQLITE_OK);
    qn_store_rollback(store);
    cr_expect_eq(count("SELECT count(*) FROM message"), 0);
    cr_expect_eq(apply(), 3);
    cr_expect_eq(count("SELECT count(*) FROM message"), 1);
}

Test(batch, an_entry_that_cannot_be_read_is_refused)
{
    cr_expect_not(qn_batch_add(&batch, QN_STR("\377what is this")));
}

Test(batch, it_says_when_it_is_full)
{
    struct qn_row row = queue_row(1, 0);
    struct qn_buf entry;
    uint64_t added = 0;
    qn_buf_init(&entry, SIZE_MAX);
    qn_entry_append(&entry, &row);
    while (!qn_batch_is_full(&batch)) {
        cr_assert(qn_batch_add(&batch, qn_buf_str(&entry)));
        added++;
    }
    cr_expect_eq(added, 16384);
    cr_expect_eq(apply(), 1);
    qn_buf_done(&entry);
}

static void remove_dead(void)
{
    struct qn_dead dead;
    bool is_all_gone = false;
    qn_dead_init(&dead);
    while (!is_all_gone) {
        cr_assert_eq(qn_dead_remove_slice(&dead, store, &is_all_gone), SQLITE_OK);
    }
    qn_dead_done(&dead);
}

Test(batch, however_entries_fall_into_batches_the_outcome_is_the_same)
{
    static const char *const sums[] = {
        "SELECT count(*) * 1000003 + coalesce(sum(key % 65521 + receive_count), 0) FROM message",
        "SELECT coalesce(sum(content_id % 8191 + hidden_until_ms), 0) FROM message",
        "SELECT count(*) * 1000003 + coalesce(sum(id % 65521 * length(bytes)), 0) FROM content",
        "SELECT count(*) * 1000003 + coalesce(sum(key % 65521), 0) FROM deduplication",
        "SELECT count(*) * 1000003 + coalesce(sum(key % 65521), 0) FROM attempt",
        "SELECT count(*) * 1000003 + coalesce(sum(number * (generation + 1)), 0) FROM queue",
        "SELECT count(*) * 1000003 + coalesce(sum(started_at_ms), 0) FROM task",
        "SELECT count(*) * 1000003 + coalesce(sum(deleted_at_ms), 0) FROM name",
    };
    enum { SUMS = sizeof(sums) / sizeof(sums[0]), ENTRIES = 1500 };
    int64_t found[3][SUMS];
    const int sizes[3] = {1, 37, ENTRIES};
    for (int round = 0; round < 3; round++) {
        struct workload workload;
        struct qn_buf all;
        workload_init(&workload, 11);
        qn_buf_init(&all, 64 << 20);
        cr_assert(qn_buf_reserve(&all, 32 << 20)); /* stays where it is */
        close_store();
        open_store();
        for (int i = 1; i <= ENTRIES; i++) {
            struct qn_str entry = workload_next(&workload);
            size_t at = all.len;
            qn_buf_append_str(&all, entry);
            cr_assert(qn_batch_add(&batch, qn_str(all.ptr + at, entry.len)));
            if (i % sizes[round] == 0 || i == ENTRIES) {
                (void)apply();
            }
        }
        remove_dead();
        for (int i = 0; i < SUMS; i++) {
            found[round][i] = count(sums[i]);
            cr_expect_neq(found[round][i], -1, "%s", sums[i]);
            cr_expect_eq(found[round][i], found[0][i], "%d a batch: %s", sizes[round], sums[i]);
        }
        qn_buf_done(&all);
        workload_done(&workload);
    }
}
