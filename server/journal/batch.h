/* What one transaction brings to SQLite: the entries of many requests, each row at its last state.
 * What was inserted and deleted within the batch needs no SQL, several changes of a row are one. */
#ifndef QN_JOURNAL_BATCH_H
#define QN_JOURNAL_BATCH_H

#include "server/journal/removal.h"
#include "server/journal/ring.h"
#include "server/journal/store.h"

struct qn_batch_slot;

struct qn_batch {
    struct qn_batch_slot *slots; /* in the order in which they were first touched */
    uint32_t slot_count;
    uint32_t slot_cap;
    uint32_t *table;     /* slot number + 1 by hash, 0: free */
    uint32_t table_size; /* power of two */
    uint64_t entries;
    uint64_t bytes;
    struct qn_removal removal; /* of what is being applied */
    bool has_queues;           /* some queue changed: there may be more dead rows than before */
};

void qn_batch_init(struct qn_batch *batch);
void qn_batch_done(struct qn_batch *batch);
/* Empties; keeps the memory. */
void qn_batch_clear(struct qn_batch *batch);

/* Notes the rows of one entry. The payload must stay where it is until the batch is applied. False:
 * it cannot be read. */
QN_MUST_CHECK bool qn_batch_add(struct qn_batch *batch, struct qn_str payload);
/* No more should be added. */
bool qn_batch_is_full(const struct qn_batch *batch);

/* Within a transaction. Can be repeated after a rollback. SQLite's code. */
int qn_batch_apply(struct qn_batch *batch, struct qn_store *store);

#endif
