/* With sync full: the thread that syncs the ring up to its tail, over and over. One sync serves all
 * that wait for it. */
#ifndef QN_JOURNAL_SYNCER_H
#define QN_JOURNAL_SYNCER_H

#include "server/base/error.h"
#include "server/journal/ring.h"
#include "server/journal/ring_file.h"

struct qn_syncer;

/* Starts the thread. If a sync fails later the process ends: what the kernel holds after that is
 * unknown, and the next start recovers what is on disk. */
QN_MUST_CHECK bool qn_syncer_start(const struct qn_ring_file *file, const struct qn_ring *ring,
                                   struct qn_syncer **ret_syncer, struct qn_error *err);
/* Syncs what is left and ends the thread. Accepts NULL. */
void qn_syncer_stop(struct qn_syncer *syncer);

/* For the producer, after each append. */
void qn_syncer_poke(struct qn_syncer *syncer);

/* Any thread. */
uint64_t qn_syncer_synced_lsn(const struct qn_syncer *syncer);
/* Readable when the synced LSN has moved. */
int qn_syncer_fd(const struct qn_syncer *syncer);

#endif
