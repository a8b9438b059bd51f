/* The loop's side, the writer and the syncer at full speed, for ThreadSanitizer: a plain program
 * that ends with 0. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/journal_fixture.h"

enum { ENTRIES = 4000, LOOKS = 50 };

static void check(bool is_right, const char *what, const char *detail)
{
    if (!is_right) {
        (void)fprintf(stderr, "journal_test: %s: %s\n", what, detail == NULL ? "" : detail);
        abort();
    }
}

/* All that the loop asks of a journal between two appends. */
static void look(struct journal_fixture *fixture, const struct workload *workload)
{
    struct qn_journal_figures figures;
    qn_journal_figures(fixture->journal, &figures);
    check(figures.written_lsn <= figures.last_lsn, "more written than appended", NULL);
    check(figures.synced_lsn <= figures.last_lsn, "more synced than appended", NULL);
    if (fixture->sync == QN_SYNC_FULL) {
        uint64_t count;
        (void)!read(qn_journal_sync_fd(fixture->journal), &count, sizeof(count));
    }
    if (qn_journal_written_lsn(fixture->journal) == qn_journal_last_lsn(fixture->journal)) {
        const char *problem = journal_fixture_check_contents(fixture, &workload->expected);
        check(problem == NULL, "contents", problem);
    }
}

static void run(enum qn_sync sync)
{
    struct journal_fixture fixture;
    struct workload workload;
    journal_fixture_init(&fixture);
    workload_init(&workload, 5);
    fixture.sync = sync;
    fixture.ring_bytes = 1 << 18;
    for (int start = 0; start < 2; start++) {
        check(journal_fixture_open(&fixture), "open", fixture.err.message);
        const char *difference = row_set_difference(&workload.expected, &fixture.loaded);
        check(difference == NULL, "loaded", difference);
        for (int i = 0; i < ENTRIES; i++) {
            (void)journal_fixture_append(&fixture, workload_next(&workload), i);
            if (i % (ENTRIES / LOOKS) == 0) {
                look(&fixture, &workload);
            }
        }
        while (qn_journal_synced_lsn(fixture.journal) < qn_journal_last_lsn(fixture.journal)) {
            (void)sched_yield();
        }
        journal_fixture_wait_written(&fixture);
        look(&fixture, &workload);
        journal_fixture_close(&fixture);
    }
    journal_fixture_done(&fixture);
    workload_done(&workload);
}

int main(void)
{
    run(QN_SYNC_NORMAL);
    run(QN_SYNC_FULL);
    return 0;
}
