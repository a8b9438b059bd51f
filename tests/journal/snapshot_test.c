/* Snapshots: the state behind an entry, for a start that goes back to it. */
#include "server/journal/snapshot.h"

#include <criterion/criterion.h>

#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/journal_fixture.h"

enum { ENTRIES = 3000 };

static struct journal_fixture f;
static struct qn_snapshot_table *table; /* outlives the children */

static void start(void)
{
    journal_fixture_init(&f);
    table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(table, MAP_FAILED);
    f.snapshots = table;
}

static void stop(void)
{
    journal_fixture_done(&f);
    munmap(table, sizeof(*table));
}

TestSuite(snapshot, .init = start, .fini = stop, .timeout = 60);

/* A process that appends entries 1, 2 ... at the instants 1, 2 ..., takes snapshots behind some,
 * and ends without closing anything. */
struct life {
    int entries;
    int every;             /* a snapshot behind each of these */
    int64_t keep_ms;       /* those before so long ago make room */
    int64_t chooses_until; /* INT64_MIN: chooses none */
};

/* Those that make room are removed behind the scenes, which may take longer than the entries do;
 * when none does, the test's time runs out. */
static void take_snapshot(int64_t keep_from_ms)
{
    while (!qn_journal_take_snapshot(f.journal, keep_from_ms)) {
        (void)sched_yield();
    }
}

static void append_all(const struct life *life)
{
    struct workload workload;

    workload_init(&workload, 7);
    for (int i = 1; i <= life->entries; i++) {
        (void)journal_fixture_append(&f, workload_next(&workload), i);
        if (i % life->every == 0) {
            take_snapshot(i - life->keep_ms);
        }
    }
    workload_done(&workload);
}

static int live(const struct life *life)
{
    uint64_t lsn;

    if (!journal_fixture_open(&f)) {
        return 1;
    }
    append_all(life);
    if (life->chooses_until == INT64_MIN) {
        return 0;
    }
    return qn_journal_choose_snapshot(f.journal, life->chooses_until, &lsn) ? 0 : 2;
}

static int run_life(const struct life *life)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        _exit(live(life));
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The next start holds what the first so many entries say, and nothing else. */
static void expect_entries(int entries)
{
    struct workload workload;

    workload_init(&workload, 7);
    for (int i = 1; i <= entries; i++) {
        (void)workload_next(&workload);
    }
    cr_assert(journal_fixture_open(&f), "%s", f.err.message);
    const char *difference = row_set_difference(&workload.expected, &f.loaded);
    cr_expect_null(difference, "behind entry %d: %s", entries, difference);
    difference = journal_fixture_check_contents(&f, &workload.expected);
    cr_expect_null(difference, "behind entry %d: %s", entries, difference);
    workload_done(&workload);
}

static bool is_there(int number)
{
    char path[160];

    (void)snprintf(path, sizeof(path), "%s-snapshot-%d", f.path, number);
    return access(path, F_OK) == 0;
}

static int count_files(void)
{
    int count = 0;

    for (int i = 1; i <= QN_SNAPSHOTS_MAX; i++) {
        count += is_there(i);
    }
    return count;
}

Test(snapshot, a_start_goes_back_to_exactly_that_entry)
{
    for (int64_t until = 500; until <= 2500; until += 500) {
        const struct life life = {ENTRIES, 500, 10000, until};
        cr_assert_eq(run_life(&life), 0);
        expect_entries((int)until);
        cr_expect_eq(f.identity.lsn, (uint64_t)until);
        journal_fixture_done(&f);
        journal_fixture_init(&f);
        *table = (struct qn_snapshot_table){.chosen = 0};
        f.snapshots = table;
    }
}

Test(snapshot, the_youngest_without_a_later_change_is_chosen)
{
    const struct life life = {ENTRIES, 700, 10000, 1399};

    cr_assert_eq(run_life(&life), 0);
    expect_entries(700);
}

Test(snapshot, the_oldest_is_chosen_when_none_is_old_enough)
{
    const struct life life = {ENTRIES, 700, 10000, 5};

    cr_assert_eq(run_life(&life), 0);
    expect_entries(700);
}

Test(snapshot, without_one_there_is_nothing_to_choose)
{
    const struct life life = {10, 700, 10000, 5};

    cr_expect_eq(run_life(&life), 2);
    cr_expect_eq(table->chosen, 0);
}

Test(snapshot, without_a_choice_nothing_is_lost)
{
    const struct life life = {ENTRIES, 700, 10000, INT64_MIN};

    cr_assert_eq(run_life(&life), 0);
    expect_entries(ENTRIES);
}

Test(snapshot, those_that_nobody_would_go_back_to_make_room)
{
    const struct life life = {ENTRIES, 100, 350, 2650};

    cr_assert_eq(run_life(&life), 0);
    expect_entries(2600);
    journal_fixture_close(&f);
}

Test(snapshot, a_start_that_went_back_draws_under_a_number_of_its_own)
{
    const struct life life = {200, 100, 10000, 100};

    cr_assert_eq(run_life(&life), 0);
    expect_entries(100);
    cr_expect_eq(f.identity.boot, 2);
    journal_fixture_close(&f);
    f.snapshots = NULL;
    cr_assert(journal_fixture_open(&f), "%s", f.err.message);
    cr_expect_eq(f.identity.boot, 3);
}

Test(snapshot, what_lies_behind_the_chosen_one_is_dropped)
{
    const struct life life = {ENTRIES, 500, 10000, 1000};

    cr_assert_eq(run_life(&life), 0);
    expect_entries(1000);
    cr_expect_leq(qn_journal_snapshot_count(f.journal), 2, "those of 500 and 1000");
    cr_expect(qn_journal_snapshot_count(f.journal) >= 1);
    uint64_t lsn;
    cr_expect(qn_journal_choose_snapshot(f.journal, INT64_MAX, &lsn));
    cr_expect_eq(lsn, 1000);
}

Test(snapshot, a_clean_end_leaves_no_files)
{
    const struct life life = {ENTRIES, 500, 10000, 1000};

    cr_assert_eq(run_life(&life), 0);
    cr_expect_geq(count_files(), 1);
    expect_entries(1000);
    journal_fixture_close(&f);
    cr_expect_eq(count_files(), 0);
}

Test(snapshot, dropped_ones_are_gone_also_amid_a_copy)
{
    cr_assert(journal_fixture_open(&f));
    for (int round = 0; round < 20; round++) {
        struct qn_row row = message_row(1, round, "content");
        (void)journal_fixture_append_row(&f, &row, round + 1);
        cr_assert(qn_journal_take_snapshot(f.journal, 0));
        qn_journal_drop_snapshots(f.journal);
        cr_expect_eq(qn_journal_snapshot_count(f.journal), 0);
    }
    uint64_t lsn;
    cr_expect_not(qn_journal_choose_snapshot(f.journal, INT64_MAX, &lsn));
    journal_fixture_close(&f);
    cr_expect_eq(count_files(), 0);
}

Test(snapshot, one_is_enough_until_something_changes)
{
    struct qn_row row = message_row(1, 1, "content");

    cr_assert(journal_fixture_open(&f));
    cr_expect(qn_journal_has_changed(f.journal), "there is none");
    cr_assert(qn_journal_take_snapshot(f.journal, 0));
    cr_expect_not(qn_journal_has_changed(f.journal));
    (void)journal_fixture_append(&f, QN_STR(""), 5);
    cr_expect_not(qn_journal_has_changed(f.journal), "an instant is no change");
    (void)journal_fixture_append_row(&f, &row, 6);
    cr_expect(qn_journal_has_changed(f.journal));
}
