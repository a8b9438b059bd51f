#include <criterion/criterion.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/base/failpoint.h"
#include "tests/support/failing_vfs.h"
#include "tests/support/journal_fixture.h"

static struct journal_fixture f;
static struct workload w;

static void init(void)
{
    failing_vfs_install();
    failing_vfs_fail(0, "", SQLITE_OK, 0);
    journal_fixture_init(&f);
    f.ring_bytes = 1 << 18;
    workload_init(&w, 3);
    cr_assert(journal_fixture_open(&f), "%s", f.err.message);
}

static void done(void)
{
    failing_vfs_fail(0, "", SQLITE_OK, 0);
    qn_failpoint_clear();
    journal_fixture_done(&f);
    workload_done(&w);
}

TestSuite(journal_errors, .init = init, .fini = done, .timeout = 60);

static void append_some(int count)
{
    for (int i = 0; i < count; i++) {
        (void)journal_fixture_append(&f, workload_next(&w), i);
    }
}

static uint64_t errors(void)
{
    struct qn_journal_figures figures;
    qn_journal_figures(f.journal, &figures);
    return figures.write_errors;
}

static void wait_for_errors(uint64_t count)
{
    while (errors() < count) {
        (void)sched_yield();
    }
}

static void expect_all_there(void)
{
    journal_fixture_close(&f);
    cr_assert(journal_fixture_open(&f), "%s", f.err.message);
    const char *difference = row_set_difference(&w.expected, &f.loaded);
    cr_expect_null(difference, "%s", difference);
    difference = journal_fixture_check_contents(&f, &w.expected);
    cr_expect_null(difference, "%s", difference);
}

/* Appends until the ring is three quarters full: SQLite takes nothing meanwhile. */
static void fill_ring(void)
{
    int i = 0;
    while (qn_journal_has_room(f.journal)) {
        (void)qn_journal_append(f.journal, workload_next(&w), i++);
    }
}

Test(journal_errors, a_full_disk_loses_nothing_and_ends_when_there_is_room_again)
{
    append_some(50);
    journal_fixture_wait_written(&f);
    uint64_t written = qn_journal_written_lsn(f.journal);
    failing_vfs_fail(FAILING_WRITE, "-wal", SQLITE_FULL, 0);
    fill_ring();
    wait_for_errors(2);
    cr_expect_not(qn_journal_has_room(f.journal), "what would change something is refused");
    cr_expect_eq(qn_journal_written_lsn(f.journal), written);
    failing_vfs_fail(0, "", SQLITE_OK, 0);
    journal_fixture_wait_written(&f);
    cr_expect(qn_journal_has_room(f.journal));
    append_some(50);
    expect_all_there();
}

Test(journal_errors, contents_can_be_read_while_nothing_can_be_written)
{
    struct qn_row queue = queue_row(9, 0);
    struct qn_row row = message_row(9, 1, "readable");
    struct qn_arena arena;
    struct qn_str content;
    struct qn_error err;
    (void)journal_fixture_append_row(&f, &queue, 1);
    (void)journal_fixture_append_row(&f, &row, 1);
    journal_fixture_wait_written(&f);
    failing_vfs_fail(FAILING_WRITE, "", SQLITE_FULL, 0);
    fill_ring();
    wait_for_errors(1);
    qn_arena_init(&arena, SIZE_MAX);
    cr_expect(qn_journal_read_content(f.journal, row.message.content_id, &arena, &content, &err));
    cr_expect(qn_str_equal(content, QN_STR("readable")));
    qn_arena_done(&arena);
}

Test(journal_errors, a_write_that_fails_somewhere_in_a_transaction_is_repeated_whole)
{
    for (int passages = 0; passages < 12; passages++) {
        uint64_t before = errors();
        failing_vfs_fail(FAILING_WRITE, "-wal", SQLITE_IOERR_WRITE, passages);
        append_some(100);
        while (errors() == before &&
               qn_journal_written_lsn(f.journal) != qn_journal_last_lsn(f.journal)) {
            (void)sched_yield();
        }
        failing_vfs_fail(0, "", SQLITE_OK, 0);
        journal_fixture_wait_written(&f);
    }
    expect_all_there();
}

Test(journal_errors, a_close_while_SQLite_fails_leaves_the_rest_to_the_next_start)
{
    append_some(50);
    journal_fixture_wait_written(&f);
    failing_vfs_fail(FAILING_WRITE, "", SQLITE_FULL, 0);
    append_some(50);
    journal_fixture_close(&f);
    cr_expect_gt(failing_vfs_failures(), 0);
    failing_vfs_fail(0, "", SQLITE_OK, 0);
    expect_all_there();
}

Test(journal_errors, a_recovery_that_cannot_write_says_so_and_can_be_repeated)
{
    append_some(50);
    journal_fixture_wait_written(&f);
    failing_vfs_fail(FAILING_WRITE, "-wal", SQLITE_FULL, 0);
    append_some(50);
    journal_fixture_close(&f);
    cr_assert_not(journal_fixture_open(&f));
    cr_expect_not_null(strstr(f.err.message, "full"), "%s", f.err.message);
    failing_vfs_fail(0, "", SQLITE_OK, 0);
    expect_all_there();
}

Test(journal_errors, with_sync_full_a_commit_that_cannot_be_synced_gives_no_room_back)
{
    journal_fixture_close(&f);
    f.sync = QN_SYNC_FULL;
    cr_assert(journal_fixture_open(&f), "%s", f.err.message);
    failing_vfs_fail(FAILING_SYNC, "", SQLITE_IOERR_FSYNC, 0);
    append_some(100);
    wait_for_errors(2);
    cr_expect_eq(qn_journal_written_lsn(f.journal), 0);
    failing_vfs_fail(0, "", SQLITE_OK, 0);
    journal_fixture_wait_written(&f);
    expect_all_there();
}

Test(journal_errors, a_checkpoint_that_fails_is_tried_again)
{
    struct qn_error err;
    struct qn_journal_figures figures;
    cr_assert(qn_failpoint_arm(QN_STR("wal.checkpoint=error:1"), &err));
    append_some(10);
    wait_for_errors(1); /* the one after a second without work */
    append_some(10);
    do {
        qn_journal_figures(f.journal, &figures);
    } while (figures.checkpoints == 0);
    expect_all_there();
}

Test(journal_errors, a_purge_goes_on_after_an_error)
{
    struct qn_error err;
    struct qn_row row = queue_row(9, 0);
    struct qn_row message = message_row(9, 1, "dead soon");
    cr_assert(qn_failpoint_arm(QN_STR("purge.mid=error:1"), &err));
    (void)journal_fixture_append_row(&f, &row, 1);
    (void)journal_fixture_append_row(&f, &message, 1);
    row.queue.generation = 1;
    (void)journal_fixture_append_row(&f, &row, 1);
    wait_for_errors(1);
    while (journal_fixture_sql(&f, "SELECT count(*) FROM dead") != 0) {
        (void)sched_yield();
    }
    cr_expect_eq(journal_fixture_sql(&f, "SELECT count(*) FROM content"), 0);
}

Test(journal_errors, a_ring_that_cannot_be_synced_ends_the_process)
{
    journal_fixture_close(&f);
    f.sync = QN_SYNC_FULL;
    pid_t child = fork();
    if (child == 0) {
        struct qn_error err;
        if (!qn_failpoint_arm(QN_STR("ring.before_sync=error:3"), &err) ||
            !journal_fixture_open(&f)) {
            _exit(9);
        }
        for (int i = 0; i < 1000; i++) {
            uint64_t lsn = journal_fixture_append(&f, workload_next(&w), i);
            while (qn_journal_synced_lsn(f.journal) < lsn) {
                (void)sched_yield();
            }
        }
        _exit(8);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    for (int i = 0; i < 3; i++) {
        (void)workload_next(&w);
    }
    expect_all_there();
}
