/* Every call that SQLite makes of the system fails, one after the other: once, or from then on.
 * What was appended is there when the disk is well again, and at the next start. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>

#include "tests/support/failing_vfs.h"
#include "tests/support/journal_fixture.h"

enum { ENTRIES = 10, CALLS_MAX = 2000 };

/* One way in which a disk can be bad. */
struct fault {
    const char *name;
    int calls;
    int code;
    bool is_passing; /* SQLite tries for ten seconds to get this one */
};

static const struct fault faults[] = {
    {"a write finds the disk full", FAILING_WRITE, SQLITE_FULL, false},
    {"a write fails", FAILING_WRITE, SQLITE_IOERR_WRITE, false},
    {"a write is short", FAILING_SHORT_WRITE, SQLITE_FULL, false},
    {"a sync fails", FAILING_SYNC, SQLITE_IOERR_FSYNC, false},
    {"a read fails", FAILING_READ, SQLITE_IOERR_READ, false},
    {"a truncation fails", FAILING_TRUNCATE, SQLITE_IOERR_TRUNCATE, false},
    {"a size cannot be had", FAILING_SIZE, SQLITE_IOERR_FSTAT, false},
    {"a file cannot be opened", FAILING_OPEN, SQLITE_CANTOPEN, false},
    {"a file cannot be deleted", FAILING_DELETE, SQLITE_IOERR_DELETE, false},
    {"a lock cannot be had", FAILING_LOCK, SQLITE_IOERR_LOCK, false},
    {"the index of the log cannot be mapped", FAILING_SHM_MAP, SQLITE_IOERR_SHMMAP, false},
    {"the index of the log cannot be locked", FAILING_SHM_LOCK, SQLITE_IOERR_SHMLOCK, true},
};
enum { FAULTS = sizeof(faults) / sizeof(faults[0]) };

static struct journal_fixture f;
static struct workload w;
static int64_t now_ms;

static void init(void)
{
    failing_vfs_install();
    failing_vfs_fail(0, "", SQLITE_OK, 0);
    journal_fixture_init(&f);
    f.ring_bytes = 1 << 18;
    workload_init(&w, 11);
    now_ms = 1;
}

static void done(void)
{
    failing_vfs_fail(0, "", SQLITE_OK, 0);
    journal_fixture_done(&f);
    workload_done(&w);
}

TestSuite(journal_faults, .init = init, .fini = done, .timeout = 120);

static void arm(const struct fault *fault, bool is_once, int passages)
{
    if (is_once) {
        failing_vfs_fail_once(fault->calls, "", fault->code, passages);
    } else {
        failing_vfs_fail(fault->calls, "", fault->code, passages);
    }
}

static void heal(void)
{
    failing_vfs_fail(0, "", SQLITE_OK, 0);
}

static void append_some(int count)
{
    for (int i = 0; i < count; i++) {
        (void)journal_fixture_append(&f, workload_next(&w), now_ms++);
    }
}

static bool all_is_written(void)
{
    return qn_journal_written_lsn(f.journal) == qn_journal_last_lsn(f.journal);
}

static void open_well(const struct fault *fault, bool is_once, int passages)
{
    cr_assert(journal_fixture_open(&f), "%s%s, call %d: %s", fault->name, is_once ? " once" : "",
              passages + 1, f.err.message);
}

/* The journal is open. */
static void expect_all(const struct fault *fault, bool is_once, int passages)
{
    const char *difference = row_set_difference(&w.expected, &f.loaded);
    cr_assert_null(difference, "%s%s, call %d: %s", fault->name, is_once ? " once" : "",
                   passages + 1, difference);
    difference = journal_fixture_check_contents(&f, &w.expected);
    cr_assert_null(difference, "%s%s, call %d: %s", fault->name, is_once ? " once" : "",
                   passages + 1, difference);
}

/* Goes through the calls until the workload needs fewer; true when the step met the fault. */
static void at_every_call(const struct fault *fault,
                          bool (*step)(const struct fault *fault, bool is_once, int passages))
{
    for (int is_once = fault->is_passing; is_once < 2; is_once++) {
        int passages = 0;
        while (step(fault, is_once != 0, passages)) {
            passages++;
            cr_assert_lt(passages, CALLS_MAX, "%s: no end", fault->name);
        }
    }
}

/* ---- while the writer works ---- */

static bool fail_while_writing(const struct fault *fault, bool is_once, int passages)
{
    append_some(ENTRIES);
    journal_fixture_wait_written(&f);
    arm(fault, is_once, passages);
    append_some(ENTRIES);
    while (failing_vfs_failures() == 0 && !all_is_written()) {
        (void)sched_yield();
    }
    bool is_met = failing_vfs_failures() > 0;
    heal();
    journal_fixture_wait_written(&f);
    journal_fixture_close(&f);
    open_well(fault, is_once, passages);
    expect_all(fault, is_once, passages);
    return is_met;
}

static void at_every_call_while_writing(enum qn_sync sync, size_t from, size_t to)
{
    f.sync = sync;
    cr_assert(journal_fixture_open(&f), "%s", f.err.message);
    for (size_t i = from; i < to; i++) {
        at_every_call(&faults[i], fail_while_writing);
    }
}

Test(journal_faults, of_a_full_disk_while_the_writer_works)
{
    at_every_call_while_writing(QN_SYNC_NORMAL, 0, 1);
}

Test(journal_faults, of_failing_writes_while_the_writer_works)
{
    at_every_call_while_writing(QN_SYNC_NORMAL, 1, 2);
}

Test(journal_faults, of_short_writes_while_the_writer_works)
{
    at_every_call_while_writing(QN_SYNC_NORMAL, 2, 3);
}

Test(journal_faults, of_the_others_while_the_writer_works)
{
    at_every_call_while_writing(QN_SYNC_NORMAL, 3, FAULTS);
}

Test(journal_faults, of_syncs_and_the_others_while_the_writer_works_with_sync_full)
{
    at_every_call_while_writing(QN_SYNC_FULL, 3, FAULTS);
}

/* ---- while the journal is closed: the rest is written, checkpointed, the log removed ---- */

static bool fail_while_closing(const struct fault *fault, bool is_once, int passages)
{
    append_some(ENTRIES);
    journal_fixture_wait_written(&f);
    append_some(ENTRIES);
    arm(fault, is_once, passages);
    journal_fixture_close(&f);
    bool is_met = failing_vfs_failures() > 0;
    heal();
    open_well(fault, is_once, passages);
    expect_all(fault, is_once, passages);
    return is_met;
}

static void at_every_call_while_closing(size_t from, size_t to)
{
    cr_assert(journal_fixture_open(&f), "%s", f.err.message);
    for (size_t i = from; i < to; i++) {
        at_every_call(&faults[i], fail_while_closing);
    }
}

Test(journal_faults, of_writes_while_it_is_closed)
{
    at_every_call_while_closing(0, 1);
}

Test(journal_faults, of_short_writes_while_it_is_closed)
{
    at_every_call_while_closing(2, 3);
}

Test(journal_faults, of_the_others_while_it_is_closed)
{
    at_every_call_while_closing(3, FAULTS);
}

/* ---- while it is opened, with changes in the ring ---- */

/* A failed open says why in one line. True when the step met the fault. */
static bool try_to_open(const struct fault *fault, bool is_once, int passages, bool *ret_is_open)
{
    arm(fault, is_once, passages);
    bool is_open = journal_fixture_open(&f);
    bool is_met = failing_vfs_failures() > 0;
    heal();
    *ret_is_open = is_open;
    if (is_open) {
        expect_all(fault, is_once, passages);
        journal_fixture_close(&f);
    } else {
        cr_expect(is_met, "%s, call %d: refused without a reason: %s", fault->name, passages + 1,
                  f.err.message);
        cr_expect_eq(f.err.code, QN_ERR_INTERNAL);
        cr_expect_gt(strlen(f.err.message), 0);
        cr_expect_null(strchr(f.err.message, '\n'), "one line");
    }
    return is_met;
}

/* Makes the file no larger: an open that reads more each time would never be gone through. */
static void append_changes(void)
{
    struct qn_buf entry;
    qn_buf_init(&entry, SIZE_MAX);
    for (uint32_t number = 90; number < 93; number++) {
        struct qn_row row = queue_row(number, 0);
        row.queue.next_sequence = now_ms;
        qn_buf_clear(&entry);
        qn_entry_append(&entry, &row);
        row_set_apply(&w.expected, qn_buf_str(&entry));
        (void)journal_fixture_append(&f, qn_buf_str(&entry), now_ms++);
    }
    qn_buf_done(&entry);
}

static bool fail_while_opening(const struct fault *fault, bool is_once, int passages)
{
    journal_fixture_close(&f); /* begins the log anew: it would be read from its start */
    open_well(fault, is_once, passages);
    append_changes();
    journal_fixture_wait_written(&f);
    failing_vfs_fail(FAILING_WRITE, "", SQLITE_FULL, 0);
    append_changes();
    journal_fixture_close(&f); /* they stay in the ring, and pages in the log */
    heal();
    bool is_open;
    bool is_met = try_to_open(fault, is_once, passages, &is_open);
    open_well(fault, is_once, passages);
    expect_all(fault, is_once, passages);
    return is_met;
}

static void at_every_call_while_opening(size_t from, size_t to)
{
    cr_assert(journal_fixture_open(&f), "%s", f.err.message);
    append_some(10 * ENTRIES);
    for (size_t i = from; i < to; i++) {
        at_every_call(&faults[i], fail_while_opening);
    }
}

Test(journal_faults, of_writes_while_it_is_opened)
{
    at_every_call_while_opening(0, 1);
}

Test(journal_faults, of_short_writes_while_it_is_opened)
{
    at_every_call_while_opening(2, 3);
}

Test(journal_faults, of_the_others_while_it_is_opened)
{
    at_every_call_while_opening(3, FAULTS);
}

/* ---- while a new one is made ---- */

static int files_in_folder(void)
{
    int count = 0;
    DIR *dir = opendir(f.folder);
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    (void)closedir(dir);
    return count;
}

static bool fail_while_making(const struct fault *fault, bool is_once, int passages)
{
    struct journal_fixture before = f;
    journal_fixture_init(&f); /* a folder of its own */
    f.ring_bytes = before.ring_bytes;
    bool is_open;
    bool is_met = try_to_open(fault, is_once, passages, &is_open);
    cr_expect(is_open || files_in_folder() == 0,
              "%s, call %d: something is left of a file not made", fault->name, passages + 1);
    open_well(fault, is_once, passages);
    append_some(1);
    journal_fixture_close(&f);
    open_well(fault, is_once, passages);
    expect_all(fault, is_once, passages);
    journal_fixture_done(&f);
    workload_done(&w);
    workload_init(&w, 11);
    f = before;
    return is_met;
}

Test(journal_faults, of_anything_while_a_new_one_is_made)
{
    for (size_t i = 0; i < FAULTS; i++) {
        at_every_call(&faults[i], fail_while_making);
    }
}
