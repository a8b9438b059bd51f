/* Going back in time: snapshots of the store while a rule may want to, and the return itself. */
#include "server/http/internal.h"

#include "server/base/log.h"

/* So many in the time that the soonest rule goes back; at most so many for the one that goes back
 * furthest; and never more often. */
enum { PER_LEAST = 4, PER_MOST = 8, INTERVAL_MIN_MS = 10 };

void qn_restore_refresh(struct qn_loop *loop)
{
    struct qn_restore *restore = &loop->restore;
    bool was_wanted = restore->is_wanted;
    int64_t least_ms;

    if (loop->parts.legacy == NULL || loop->parts.journal == NULL) {
        return;
    }
    restore->is_wanted = qn_plan_restores(loop->parts.plan, &least_ms, &restore->most_ms);
    if (restore->is_wanted) {
        restore->interval_ms = least_ms / PER_LEAST > restore->most_ms / PER_MOST
                                   ? least_ms / PER_LEAST
                                   : restore->most_ms / PER_MOST;
        if (restore->interval_ms < INTERVAL_MIN_MS) {
            restore->interval_ms = INTERVAL_MIN_MS;
        }
        if (!was_wanted) {
            restore->due_ms = loop->now_ms;
            qn_restore_run_due(loop); /* the oldest that there will be */
        }
    } else if (was_wanted || qn_journal_snapshot_count(loop->parts.journal) > 0) {
        qn_journal_drop_snapshots(loop->parts.journal);
    }
}

int64_t qn_restore_next_ms(const struct qn_loop *loop)
{
    return loop->restore.is_wanted && qn_journal_has_changed(loop->parts.journal)
               ? loop->restore.due_ms
               : INT64_MAX;
}

void qn_restore_run_due(struct qn_loop *loop)
{
    struct qn_restore *restore = &loop->restore;

    if (qn_restore_next_ms(loop) > loop->now_ms) {
        return;
    }
    /* Without a place for it the next one comes later, and the return goes back further. */
    (void)qn_journal_take_snapshot(loop->parts.journal, loop->now_ms - restore->most_ms);
    restore->due_ms = loop->now_ms + restore->interval_ms;
}

bool qn_restore_crash(struct qn_loop *loop, struct qn_str rule, int64_t age_ms, int64_t restart_ms)
{
    uint64_t lsn;

    if (loop->parts.legacy == NULL || loop->parts.journal == NULL ||
        !qn_journal_choose_snapshot(loop->parts.journal, loop->now_ms - age_ms, &lsn)) {
        return false;
    }
    qn_log(QN_LOG_INFO, "chaos", "going back to a snapshot rule=%.*s lsn=%llu lost=%llu",
           QN_STR_ARG(rule), (unsigned long long)lsn,
           (unsigned long long)(qn_journal_last_lsn(loop->parts.journal) - lsn));
    qn_fault_crash(loop, &(struct qn_crash){rule, QN_STR_NONE, QN_STR_NONE, restart_ms});
    return true;
}
