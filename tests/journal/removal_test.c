#include "server/journal/removal.h"

#include <criterion/criterion.h>

#include "server/journal/rows.h"
#include "tests/support/journal_fixture.h"

static struct journal_fixture f; /* for its folder */
static struct qn_store *store;
static struct qn_removal removal;

static void open_store(void)
{
    struct qn_error err;
    journal_fixture_init(&f);
    cr_assert(qn_store_open(f.path, 1, &store, &err), "%s", err.message);
    qn_store_keep(store);
    qn_removal_init(&removal);
}

static void close_store(void)
{
    qn_removal_done(&removal);
    qn_store_close(store);
    journal_fixture_done(&f);
}

TestSuite(removal, .init = open_store, .fini = close_store, .timeout = 60);

static void put_contents(int64_t from, int64_t to)
{
    for (int64_t id = from; id < to; id++) {
        cr_assert_eq(qn_rows_put_content(store, id, QN_STR("bytes")), SQLITE_OK);
    }
}

static int changes_of_apply(void)
{
    int before = sqlite3_total_changes(store->db);
    cr_assert_eq(qn_removal_apply(&removal, store), SQLITE_OK);
    return sqlite3_total_changes(store->db) - before;
}

Test(removal, takes_runs_in_any_order_and_nothing_between_them)
{
    static const int64_t gone[] = {7, 3, 4, 9, 5, 0};

    put_contents(0, 12);
    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
        qn_removal_add_content(&removal, gone[i]);
    }
    cr_expect_eq(changes_of_apply(), 6);
    cr_expect_eq(journal_fixture_sql(&f, "SELECT count(*) FROM content"), 6);
    cr_expect_eq(journal_fixture_sql(&f, "SELECT sum(id) FROM content"), 1 + 2 + 6 + 8 + 10 + 11);
}

Test(removal, a_message_and_a_content_of_one_number_are_two_things)
{
    put_contents(5, 6);
    qn_removal_add_message(&removal, 5);
    cr_expect_eq(changes_of_apply(), 0);
    cr_expect_eq(journal_fixture_sql(&f, "SELECT count(*) FROM content"), 1);
}

Test(removal, what_is_not_there_is_no_error)
{
    qn_removal_add_content(&removal, 1);
    qn_removal_add_content(&removal, INT64_MAX);
    qn_removal_add_content(&removal, INT64_MIN);
    cr_expect_eq(changes_of_apply(), 0);
}

Test(removal, takes_more_than_its_first_room)
{
    put_contents(0, 1000);
    for (int64_t id = 999; id > 0; id--) {
        qn_removal_add_content(&removal, id);
    }
    cr_expect_eq(changes_of_apply(), 999);
    qn_removal_clear(&removal);
    cr_expect_eq(changes_of_apply(), 0);
    cr_expect_eq(journal_fixture_sql(&f, "SELECT id FROM content"), 0);
}
