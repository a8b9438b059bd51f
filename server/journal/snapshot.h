/* Copies of the database as it was behind certain entries, taken while the server runs, for a later
 * start that goes back in time. The loop asks for them; the writer stops at the entry and pins that
 * state by a read transaction; a thread of their own copies it. Files: PATH-snapshot-N. */
#ifndef QN_JOURNAL_SNAPSHOT_H
#define QN_JOURNAL_SNAPSHOT_H

#include "server/base/error.h"
#include "server/journal/snapshot_table.h"
#include "server/journal/store.h"

struct qn_snapshots;

/* Takes over what an earlier process left in the table, and removes the files that it has no use
 * for any more; `path` is the database. The table must outlive it. */
struct qn_snapshots *qn_snapshots_new(struct qn_snapshot_table *table, const char *path);
/* Removes all of them. Accepts NULL. */
void qn_snapshots_free(struct qn_snapshots *snapshots);

/* Before the store is opened, under the lock of its ring: puts the chosen one in place of the
 * database. *ret_restored: one was chosen; the ring must then be emptied. */
QN_MUST_CHECK bool qn_snapshots_restore(struct qn_snapshots *snapshots, bool *ret_restored,
                                        struct qn_error *err);
/* The start has succeeded: it is not repeated. */
void qn_snapshots_settle(struct qn_snapshots *snapshots);

/* Loop thread. */

/* One of the state behind the entry `lsn`, whose last change was at at_ms. Those older than the
 * youngest of before keep_from_ms make room when there is none. False: none is free. */
bool qn_snapshots_want(struct qn_snapshots *snapshots, uint64_t lsn, int64_t at_ms,
                       int64_t keep_from_ms);
void qn_snapshots_drop_all(struct qn_snapshots *snapshots);
/* Of those that are whole. */
size_t qn_snapshots_count(struct qn_snapshots *snapshots);
/* The youngest without a change behind until_ms, else the oldest there is, is what the next start
 * goes back to; waits until it is copied. False: there is none. */
QN_MUST_CHECK bool qn_snapshots_choose(struct qn_snapshots *snapshots, int64_t until_ms,
                                       uint64_t next_boot, uint64_t *ret_lsn);

/* Writer thread. */

/* Whether one is wanted of the state behind this entry, so that the next must wait. */
bool qn_snapshots_stop_at(const struct qn_snapshots *snapshots, uint64_t lsn);
/* The store holds exactly what was appended up to this entry. */
void qn_snapshots_reach(struct qn_snapshots *snapshots, const struct qn_store *store, uint64_t lsn);

#endif
