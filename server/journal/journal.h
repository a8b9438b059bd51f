/* Durability: a mapped redo ring in front of SQLite. The loop appends entries; the writer thread
 * brings them to SQLite in large transactions; with sync full a third thread syncs the ring.
 * Opening recovers: the rest of the ring goes into SQLite, then SQLite is loaded through the
 * callbacks below.
 *
 * A record in the ring survives kill -9 from the moment qn_journal_append has returned; once
 * qn_journal_synced_lsn has reached its LSN it survives a power cut. */
#ifndef QN_JOURNAL_JOURNAL_H
#define QN_JOURNAL_JOURNAL_H

#include "server/base/arena.h"
#include "server/base/error.h"
#include "server/journal/snapshot_table.h"
#include "server/model/entry.h"

enum qn_sync { QN_SYNC_NORMAL, QN_SYNC_FULL };

struct qn_journal_options {
    const char *path; /* the database; the ring lies beside it as PATH-ring */
    enum qn_sync sync;
    size_t ring_bytes; /* 64 MiB; smaller in tests */
    uint64_t seed;     /* stored at creation together with a fresh handle key drawn from it */
    /* In memory that outlives the process, so that a later one can go back (snapshot.h), or NULL.
     */
    struct qn_snapshot_table *snapshots;
};

/* What a restart must not change and does not hang on a queue. */
struct qn_journal_identity {
    uint64_t boot;           /* counts the starts on this file, 1 for the first */
    uint64_t lsn;            /* the store came back to this one */
    uint8_t handle_key[16];  /* seals receipt handles */
    int64_t last_instant_ms; /* the clock never runs before this one */
};

/* Called while opening: first identity, then names, queues, messages in key order, deduplication
 * and attempt rows in key order, tasks by start. Rows of dead generations or dropped queues are
 * left out. Views live only during the call. */
struct qn_journal_load {
    void *state;
    void (*identity)(void *state, const struct qn_journal_identity *identity);
    void (*row)(void *state,
                const struct qn_row *row); /* kinds NAME_PUT, QUEUE_PUT, MESSAGE_PUT,
                                              DEDUPLICATION_PUT, ATTEMPT_PUT, TASK_PUT */
};

struct qn_journal;

/* Creates the file when it does not exist. Fails with one line that says what is wrong: not a Quern
 * database, newer schema, held by another process, unreadable, folder not writable; nothing on disk
 * has changed then. */
QN_MUST_CHECK bool qn_journal_open(const struct qn_journal_options *options,
                                   const struct qn_journal_load *load,
                                   struct qn_journal **ret_journal, struct qn_error *err);
/* Drains the ring into SQLite, checkpoints, closes. Accepts NULL. */
void qn_journal_close(struct qn_journal *journal);

/* Loop thread only. now_ms is kept as the last instant. There must be room (below), and an entry
 * has at most an eighth of the ring: what does not fit ends the process. Returns the entry's LSN
 * (1, 2, ...). */
uint64_t qn_journal_append(struct qn_journal *journal, struct qn_str entry, int64_t now_ms);
/* Whether changes are still taken: the ring is less than three quarters full. Every legal entry
 * then fits. */
bool qn_journal_has_room(const struct qn_journal *journal);
uint64_t qn_journal_last_lsn(const struct qn_journal *journal);
/* With sync normal: the last LSN. With full: up to here the ring is on disk. */
uint64_t qn_journal_synced_lsn(const struct qn_journal *journal);
/* SQLite holds everything up to here (committed; contents can be read from it). */
uint64_t qn_journal_written_lsn(const struct qn_journal *journal);
/* An eventfd that becomes readable when the synced LSN has moved; -1 with sync normal. The loop
 * reads it. */
int qn_journal_sync_fd(const struct qn_journal *journal);

/* The content (encoded) that was inserted under content_id, copied into the arena. Loop thread
 * only. The row must be written (qn_journal_written_lsn). Fails with INTERNAL. */
QN_MUST_CHECK bool qn_journal_read_content(struct qn_journal *journal, int64_t content_id,
                                           struct qn_arena *arena, struct qn_str *ret_content,
                                           struct qn_error *err);

/* Snapshots, for the loop thread of a journal that was opened with a table for them. */

/* Whether one taken now would differ from the last one. */
bool qn_journal_has_changed(const struct qn_journal *journal);
/* Takes one of the present behind the scenes. Those that a return to keep_from_ms or later does not
 * need make room. False: all places are taken. */
bool qn_journal_take_snapshot(struct qn_journal *journal, int64_t keep_from_ms);
void qn_journal_drop_snapshots(struct qn_journal *journal);
size_t qn_journal_snapshot_count(const struct qn_journal *journal);
/* The next start goes back to the last one without a change behind until_ms, or to the oldest there
 * is. Waits until it is whole. False: there is none. */
QN_MUST_CHECK bool qn_journal_choose_snapshot(struct qn_journal *journal, int64_t until_ms,
                                              uint64_t *ret_lsn);

/* Figures for the control API and the bench. */
struct qn_journal_figures {
    uint64_t last_lsn, synced_lsn, written_lsn;
    uint64_t ring_bytes_used, ring_bytes_max_used;
    uint64_t commits, checkpoints, write_errors;
    uint64_t wal_bytes;
};
void qn_journal_figures(const struct qn_journal *journal, struct qn_journal_figures *ret_figures);

#endif
