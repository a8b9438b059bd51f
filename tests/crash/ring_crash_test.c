/* A child appends entries and is killed; what was acknowledged must be there at the next start, and
 * nothing else but the one entry that was under way. The same file goes on from crash to crash. */
#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/base/failpoint.h"
#include "tests/support/journal_fixture.h"

enum { NO_LIMIT = 1 << 30, EXIT_NOT_OPENED = 9 };

/* What the child tells while it lives. */
struct shared {
    _Atomic uint64_t acknowledged; /* LSN */
};

static struct journal_fixture f;
static struct workload w; /* as far as the file had got at the last check */
static uint64_t w_lsn;
static struct shared *shared;

static void init(void)
{
    journal_fixture_init(&f);
    f.ring_bytes = 1 << 18; /* many laps */
    workload_init(&w, 21);
    w_lsn = 0;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(shared, MAP_FAILED);
}

static void done(void)
{
    journal_fixture_done(&f);
    workload_done(&w);
    (void)munmap(shared, sizeof(*shared));
}

TestSuite(crash, .init = init, .fini = done, .timeout = 120);

/* Goes on with the workload where the file stands; each entry is one LSN. Never returns. */
static void child_run(const char *failpoint, int entries)
{
    struct qn_error err;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if ((failpoint != NULL && !qn_failpoint_arm(qn_str_from_cstr(failpoint), &err)) ||
        !journal_fixture_open(&f)) {
        _exit(EXIT_NOT_OPENED);
    }
    while (w_lsn < f.identity.lsn) {
        (void)workload_next(&w);
        w_lsn++;
    }
    for (int i = 0; i < entries; i++) {
        w_lsn = journal_fixture_append(&f, workload_next(&w), (int64_t)w_lsn);
        while (qn_journal_synced_lsn(f.journal) < w_lsn) {
            (void)sched_yield();
        }
        atomic_store(&shared->acknowledged, w_lsn);
    }
    journal_fixture_close(&f);
    _exit(0);
}

static pid_t start_child(const char *failpoint, int entries)
{
    pid_t child = fork();
    if (child == 0) {
        child_run(failpoint, entries);
    }
    cr_assert_gt(child, 0);
    return child;
}

static void expect_killed(pid_t child)
{
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %d", status);
}

static void check_file(const char *when)
{
    uint64_t acknowledged = atomic_load(&shared->acknowledged);
    cr_assert(journal_fixture_open(&f), "%s: %s", when, f.err.message);
    cr_expect_geq(f.identity.lsn, acknowledged, "%s: an acknowledged entry is lost", when);
    cr_expect_leq(f.identity.lsn, acknowledged + 1, "%s", when);
    while (w_lsn < f.identity.lsn) {
        (void)workload_next(&w);
        w_lsn++;
    }
    const char *difference = row_set_difference(&w.expected, &f.loaded);
    cr_assert_null(difference, "%s, LSN %llu: %s", when, (unsigned long long)w_lsn, difference);
    cr_expect(f.is_in_order);
    difference = journal_fixture_check_contents(&f, &w.expected);
    cr_assert_null(difference, "%s: %s", when, difference);
    journal_fixture_close(&f);
    atomic_store(&shared->acknowledged, w_lsn);
}

static void crash_at(const char *failpoint, int entries)
{
    expect_killed(start_child(failpoint, entries));
    check_file(failpoint);
}

Test(crash, in_the_middle_of_an_append_the_half_record_is_ignored)
{
    crash_at("ring.mid_append=kill:1", NO_LIMIT);
    crash_at("ring.mid_append=kill:2", NO_LIMIT);
    crash_at("ring.mid_append=kill:777", NO_LIMIT);
    crash_at("ring.mid_append=kill:3000", NO_LIMIT);
}

Test(crash, around_a_commit_nothing_is_missed_and_nothing_comes_twice)
{
    crash_at("writer.before_commit=kill:1", NO_LIMIT);
    crash_at("writer.after_commit=kill:1", NO_LIMIT);
    crash_at("writer.before_commit=kill:5", NO_LIMIT);
    crash_at("writer.after_commit=kill:5", NO_LIMIT);
}

Test(crash, before_and_in_the_middle_of_a_recovery)
{
    crash_at("ring.mid_append=kill:500", NO_LIMIT);
    for (int round = 0; round < 3; round++) {
        /* Dies with entries in the ring, then twice more while they are recovered. */
        expect_killed(start_child("writer.before_commit=kill:2", NO_LIMIT));
        expect_killed(start_child("boot.before_recovery=kill:1", 10));
        expect_killed(start_child("boot.mid_recovery=kill:1", 10));
        check_file("after two broken recoveries");
    }
}

Test(crash, during_a_checkpoint)
{
    crash_at("wal.checkpoint=kill:1", 1000); /* the one of a close */
    crash_at("wal.checkpoint=kill:1", 3000);
}

Test(crash, PRG_in_the_middle_of_removing_what_was_purged)
{
    crash_at("purge.mid=kill:1", NO_LIMIT);
    crash_at("purge.mid=kill:2", NO_LIMIT);
    crash_at("purge.mid=kill:5", NO_LIMIT);
}

Test(crash, with_sync_full_before_the_ring_is_synced)
{
    f.sync = QN_SYNC_FULL;
    crash_at("ring.before_sync=kill:1", NO_LIMIT);
    crash_at("ring.before_sync=kill:300", NO_LIMIT);
    crash_at("writer.before_commit=kill:2", NO_LIMIT);
    crash_at("writer.after_commit=kill:2", NO_LIMIT);
}

/* From outside, at no particular instruction. */
static void crash_at_random(int rounds, uint64_t entries_max)
{
    struct qn_random random;
    qn_random_init(&random, 99, 0, 0);
    for (int round = 0; round < rounds; round++) {
        uint64_t until = atomic_load(&shared->acknowledged) + qn_random_below(&random, entries_max);
        pid_t child = start_child(NULL, NO_LIMIT);
        while (atomic_load(&shared->acknowledged) < until) {
            (void)sched_yield();
        }
        cr_assert_eq(kill(child, SIGKILL), 0);
        expect_killed(child);
        check_file("killed at random");
    }
}

Test(crash, at_any_instant_under_load)
{
    crash_at_random(12, 2000);
}

Test(crash, at_any_instant_under_load_with_sync_full)
{
    f.sync = QN_SYNC_FULL;
    crash_at_random(8, 300);
}

Test(crash, each_start_has_its_own_number_whatever_ended_the_one_before)
{
    uint64_t boot = 0;
    for (int round = 0; round < 5; round++) {
        expect_killed(start_child("ring.mid_append=kill:20", NO_LIMIT));
        cr_assert(journal_fixture_open(&f), "%s", f.err.message);
        cr_expect_eq(f.identity.boot, boot + 2);
        boot = f.identity.boot;
        journal_fixture_close(&f);
    }
}

Test(crash, the_lock_goes_with_the_process)
{
    pid_t child = start_child(NULL, NO_LIMIT);
    while (atomic_load(&shared->acknowledged) < 10) {
        (void)sched_yield();
    }
    cr_assert_not(journal_fixture_open(&f));
    cr_expect_not_null(strstr(f.err.message, "in use by another quern"), "%s", f.err.message);
    cr_assert_eq(kill(child, SIGKILL), 0);
    expect_killed(child);
    check_file("after the refusal");
}
