/* The thread behind the ring: takes entries from it and brings them to SQLite in large
 * transactions, removes dead rows and checkpoints in between. No reply waits for it. */
#ifndef QN_JOURNAL_WRITER_H
#define QN_JOURNAL_WRITER_H

#include "server/journal/ring.h"
#include "server/journal/snapshot.h"
#include "server/journal/store.h"

struct qn_writer;

/* The thread is not started yet. What it gets must outlive it; snapshots may be NULL. */
struct qn_writer *qn_writer_new(struct qn_ring *ring, struct qn_store *store,
                                struct qn_ring_cursor cursor, int64_t last_instant_ms,
                                struct qn_snapshots *snapshots);
/* Accepts NULL. Not while the thread runs. */
void qn_writer_free(struct qn_writer *writer);

/* Before the thread is started: brings all that is in the ring to SQLite. */
QN_MUST_CHECK bool qn_writer_recover(struct qn_writer *writer, struct qn_error *err);
struct qn_ring_position qn_writer_position(const struct qn_writer *writer);
int64_t qn_writer_last_instant_ms(const struct qn_writer *writer);

QN_MUST_CHECK bool qn_writer_start(struct qn_writer *writer, struct qn_error *err);
/* Brings what is left to SQLite, checkpoints, ends the thread. If SQLite does not take it the ring
 * keeps it. */
void qn_writer_stop(struct qn_writer *writer);

/* For the producer, after each append. */
void qn_writer_poke(struct qn_writer *writer);

/* Any thread. */
struct qn_writer_figures {
    uint64_t written_lsn;
    uint64_t commits;
    uint64_t checkpoints;
    uint64_t errors;
    uint64_t wal_pages;
};
uint64_t qn_writer_written_lsn(const struct qn_writer *writer);
void qn_writer_figures(const struct qn_writer *writer, struct qn_writer_figures *ret_figures);

#endif
