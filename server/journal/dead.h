/* Rows that no queue owns any more: of a dropped queue, or of a generation before a purge. A purge
 * is one small row here; the rows themselves go in slices between the writer's batches, also after
 * a restart. */
#ifndef QN_JOURNAL_DEAD_H
#define QN_JOURNAL_DEAD_H

#include "server/journal/removal.h"

/* How far the slices have got in the queue under way. */
struct qn_dead {
    int64_t number; /* of the queue, or -1 */
    int64_t below;
    int64_t next_key;
    struct qn_removal slice;
};

void qn_dead_init(struct qn_dead *dead);
void qn_dead_done(struct qn_dead *dead);

/* Within a transaction, SQLite's code: the queue is dropped; the queue is about to be written with
 * this generation. */
int qn_dead_note_drop(struct qn_store *store, uint32_t number);
int qn_dead_note_put(struct qn_store *store, uint32_t number, uint32_t generation);

/* Removes one slice in a transaction of its own. SQLite's code; SQLITE_OK sets *ret_is_all_gone. */
int qn_dead_remove_slice(struct qn_dead *dead, struct qn_store *store, bool *ret_is_all_gone);

#endif
