#include "server/journal/dead.h"

#include <criterion/criterion.h>

#include "server/journal/rows.h"
#include "tests/support/journal_fixture.h"

static struct journal_fixture f;
static struct qn_store *store;
static struct qn_dead dead;

static void open_store(void)
{
    struct qn_error err;
    journal_fixture_init(&f);
    cr_assert(qn_store_open(f.path, 1, &store, &err), "%s", err.message);
    qn_store_keep(store);
    qn_dead_init(&dead);
}

static void close_store(void)
{
    qn_dead_done(&dead);
    qn_store_close(store);
    journal_fixture_done(&f);
}

TestSuite(dead, .init = open_store, .fini = close_store, .timeout = 60);

static int64_t count(const char *sql)
{
    return journal_fixture_sql(&f, sql);
}

/* Messages of one queue and generation, with contents, a deduplication row and an attempt for every
 * second one. */
static void fill(uint32_t number, uint32_t generation, int64_t from, int64_t to)
{
    cr_assert_eq(qn_store_run(store, QN_SQL_begin), SQLITE_OK);
    for (int64_t i = from; i < to; i++) {
        struct qn_row row = message_row(number, i, "body");
        row.message.generation = generation;
        cr_assert_eq(qn_rows_put_message(store, &row.message), SQLITE_OK);
        cr_assert_eq(qn_rows_put_content(store, row.message.content_id, row.content), SQLITE_OK);
        if (i % 2 == 0) {
            struct qn_deduplication_row once = {.key = row.message.key, .generation = generation};
            struct qn_attempt_row attempt = {.key = row.message.key, .generation = generation};
            cr_assert_eq(qn_rows_put_deduplication(store, &once), SQLITE_OK);
            cr_assert_eq(qn_rows_put_attempt(store, &attempt), SQLITE_OK);
        }
    }
    cr_assert_eq(qn_store_run(store, QN_SQL_commit), SQLITE_OK);
}

/* In one transaction, as the writer does it. */
static void put_queue(uint32_t number, uint32_t generation)
{
    struct qn_row row = queue_row(number, generation);
    cr_assert_eq(qn_store_run(store, QN_SQL_begin), SQLITE_OK);
    cr_assert_eq(qn_dead_note_put(store, number, generation), SQLITE_OK);
    cr_assert_eq(qn_rows_put_queue(store, &row.queue), SQLITE_OK);
    cr_assert_eq(qn_store_run(store, QN_SQL_commit), SQLITE_OK);
}

static int remove_all(void)
{
    int slices = 0;
    bool is_all_gone = false;
    while (!is_all_gone) {
        cr_assert_eq(qn_dead_remove_slice(&dead, store, &is_all_gone), SQLITE_OK);
        slices++;
        cr_assert_lt(slices, 100);
    }
    return slices;
}

Test(dead, PRG_a_purge_removes_the_older_generation_in_slices)
{
    put_queue(1, 0);
    fill(1, 0, 0, 12000);
    put_queue(1, 1);
    fill(1, 1, 12000, 12100);
    put_queue(2, 0);
    fill(2, 0, 0, 100);
    cr_expect_eq(count("SELECT below FROM dead WHERE number = 1"), 1);
    cr_expect_geq(remove_all(), 4);
    cr_expect_eq(count("SELECT count(*) FROM message"), 200);
    cr_expect_eq(count("SELECT min(key) FROM message"), QN_MESSAGE_KEY(1, 12000));
    cr_expect_eq(count("SELECT count(*) FROM content"), 200);
    cr_expect_eq(count("SELECT count(*) FROM deduplication"), 100);
    cr_expect_eq(count("SELECT count(*) FROM attempt"), 100);
    cr_expect_eq(count("SELECT count(*) FROM dead"), 0);
}

Test(dead, one_slice_is_a_bounded_transaction)
{
    bool is_all_gone;
    put_queue(1, 0);
    fill(1, 0, 0, 12000);
    put_queue(1, 1);
    cr_assert_eq(qn_dead_remove_slice(&dead, store, &is_all_gone), SQLITE_OK);
    cr_expect_not(is_all_gone);
    cr_expect_eq(count("SELECT count(*) FROM message"), 7000);
    cr_expect_eq(count("SELECT count(*) FROM content"), 7000);
}

Test(dead, a_dropped_queue_takes_all_generations_along_also_after_a_restart)
{
    struct qn_error err;
    bool is_all_gone;
    put_queue(1, 0);
    fill(1, 0, 0, 6000);
    fill(1, 5, 6000, 9000);
    cr_assert_eq(qn_dead_note_drop(store, 1), SQLITE_OK);
    cr_assert_eq(qn_rows_run_number(store, QN_SQL_queue_drop, 1), SQLITE_OK);
    cr_assert_eq(qn_dead_remove_slice(&dead, store, &is_all_gone), SQLITE_OK);
    qn_dead_done(&dead);
    qn_store_close(store);
    cr_assert(qn_store_open(f.path, 1, &store, &err), "%s", err.message);
    qn_store_keep(store);
    qn_dead_init(&dead);
    (void)remove_all();
    cr_expect_eq(count("SELECT count(*) FROM message"), 0);
    cr_expect_eq(count("SELECT count(*) FROM content"), 0);
    cr_expect_eq(count("SELECT count(*) FROM deduplication"), 0);
    cr_expect_eq(count("SELECT count(*) FROM attempt"), 0);
}

Test(dead, a_second_purge_during_the_first_starts_over)
{
    bool is_all_gone;
    put_queue(1, 0);
    fill(1, 0, 0, 6000);
    put_queue(1, 1);
    fill(1, 1, 6000, 6010);
    cr_assert_eq(qn_dead_remove_slice(&dead, store, &is_all_gone), SQLITE_OK);
    put_queue(1, 2);
    (void)remove_all();
    cr_expect_eq(count("SELECT count(*) FROM message"), 0);
}

Test(dead, the_content_of_a_message_that_moved_away_stays)
{
    put_queue(1, 0);
    put_queue(2, 0);
    fill(1, 0, 0, 10);
    struct qn_row row = message_row(1, 3, "body");
    qn_removal_clear(&dead.slice);
    qn_removal_add_message(&dead.slice, row.message.key);
    cr_assert_eq(qn_removal_apply(&dead.slice, store), SQLITE_OK);
    row.message.key = QN_MESSAGE_KEY(2, 1);
    cr_assert_eq(qn_rows_put_message(store, &row.message), SQLITE_OK);
    cr_assert_eq(qn_dead_note_drop(store, 1), SQLITE_OK);
    (void)remove_all();
    cr_expect_eq(count("SELECT count(*) FROM content"), 1);
    cr_expect_eq(count("SELECT id FROM content"), QN_MESSAGE_KEY(1, 3));
}

Test(dead, a_new_queue_that_takes_the_number_of_a_dropped_one_starts_empty)
{
    put_queue(1, 4);
    (void)remove_all();
    fill(1, 4, 0, 12000);
    cr_assert_eq(qn_dead_note_drop(store, 1), SQLITE_OK);
    put_queue(1, 0);
    cr_expect_eq(count("SELECT count(*) FROM message"), 0);
    fill(1, 0, 0, 10);
    (void)remove_all();
    cr_expect_eq(count("SELECT count(*) FROM message"), 10);
}
