/* The thread behind the ring. */
#include "server/journal/writer.h"

#include "server/base/failpoint.h"
#include "server/base/log.h"
#include "server/journal/batch.h"
#include "server/journal/dead.h"
#include "server/journal/thread.h"
#include "server/journal/waker.h"

#include <stdlib.h>

enum {
    /* Work gathers this long: the older a batch, the more of it cancels out, and the less often
     * this thread comes between the loop and its clients on a machine of two cores. */
    GATHER_MS = 200,
    IDLE_MS = 1000, /* with nothing to do: then it is time for a checkpoint */
    BACK_OFF_MIN_MS = 20,
    BACK_OFF_MAX_MS = 2000,
    STOP_TRIES = 5,
    CHECKPOINT_PAGES = 8000
};

struct qn_writer {
    struct qn_ring *ring;
    struct qn_store *store;
    struct qn_snapshots *snapshots;
    struct qn_ring_cursor cursor; /* behind what SQLite holds */
    int64_t last_instant_ms;      /* of what SQLite holds */
    struct qn_batch batch;
    struct qn_dead dead;
    bool may_have_dead;
    int reported_code;   /* SQLite's error under way, or SQLITE_OK */
    int checkpoint_code; /* the same of checkpoints */
    int back_off_ms;
    struct qn_waker waker;
    pthread_t thread;
    bool is_started;
    _Atomic bool is_stopping;
    _Atomic bool is_gathering; /* and wants to hear of it when much has come */
    _Atomic uint64_t written_lsn;
    _Atomic uint64_t commits;
    _Atomic uint64_t checkpoints;
    _Atomic uint64_t errors;
    _Atomic uint64_t wal_pages;
};

struct qn_writer *qn_writer_new(struct qn_ring *ring, struct qn_store *store,
                                struct qn_ring_cursor cursor, int64_t last_instant_ms,
                                struct qn_snapshots *snapshots)
{
    struct qn_writer *writer = qn_memory_new(sizeof(*writer));
    writer->ring = ring;
    writer->store = store;
    writer->snapshots = snapshots;
    writer->cursor = cursor;
    writer->last_instant_ms = last_instant_ms;
    writer->may_have_dead = true;
    atomic_store(&writer->written_lsn, cursor.lsn);
    qn_batch_init(&writer->batch);
    qn_dead_init(&writer->dead);
    qn_waker_init(&writer->waker);
    return writer;
}

void qn_writer_free(struct qn_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    qn_waker_done(&writer->waker);
    qn_dead_done(&writer->dead);
    qn_batch_done(&writer->batch);
    qn_memory_free(writer);
}

/* Takes the next records into the batch, up to the end of a snapshot. False: one cannot be read. */
static bool gather(struct qn_writer *writer, struct qn_ring_cursor *cursor,
                   int64_t *last_instant_ms)
{
    struct qn_ring_record record;
    qn_batch_clear(&writer->batch);
    while (!qn_batch_is_full(&writer->batch)) {
        struct qn_ring_cursor before = *cursor;
        if (!qn_ring_take(writer->ring, cursor, &record)) {
            break;
        }
        /* Asked when the next record is there: a snapshot without it was wanted before that. */
        if (qn_snapshots_stop_at(writer->snapshots, before.lsn)) {
            *cursor = before;
            break;
        }
        if (!qn_batch_add(&writer->batch, record.payload)) {
            return false;
        }
        if (record.now_ms > *last_instant_ms) {
            *last_instant_ms = record.now_ms;
        }
    }
    return true;
}

static int write_transaction(struct qn_writer *writer, const struct qn_ring_cursor *cursor,
                             int64_t last_instant_ms, const char *failpoint)
{
    int rc = qn_store_run(writer->store, QN_SQL_begin);
    if (rc == SQLITE_OK) {
        rc = qn_batch_apply(&writer->batch, writer->store);
    }
    if (rc == SQLITE_OK) {
        rc = qn_store_write_position(writer->store, qn_ring_position(writer->ring, cursor),
                                     last_instant_ms);
    }
    if (rc == SQLITE_OK && qn_failpoint(failpoint)) {
        rc = SQLITE_IOERR;
    }
    return rc == SQLITE_OK ? qn_store_run(writer->store, QN_SQL_commit) : rc;
}

/* Brings the batch to SQLite and gives its room in the ring back. SQLite's code. */
static int commit_batch(struct qn_writer *writer, const struct qn_ring_cursor *cursor,
                        int64_t last_instant_ms, const char *failpoint)
{
    int rc = write_transaction(writer, cursor, last_instant_ms, failpoint);
    if (rc != SQLITE_OK) {
        return rc;
    }
    (void)qn_failpoint("writer.after_commit");
    writer->cursor = *cursor;
    writer->last_instant_ms = last_instant_ms;
    writer->may_have_dead = writer->may_have_dead || writer->batch.has_queues;
    qn_ring_release(writer->ring, cursor);
    atomic_store(&writer->written_lsn, cursor->lsn);
    atomic_fetch_add(&writer->commits, 1);
    atomic_store(&writer->wal_pages, (uint64_t)writer->store->wal_pages);
    return SQLITE_OK;
}

bool qn_writer_recover(struct qn_writer *writer, struct qn_error *err)
{
    for (;;) {
        struct qn_ring_cursor cursor = writer->cursor;
        int64_t last_instant_ms = writer->last_instant_ms;
        if (!gather(writer, &cursor, &last_instant_ms)) {
            return qn_fail(err, QN_ERR_INTERNAL,
                           "%s-ring holds a change (LSN %llu) that this quern cannot read: use the "
                           "one that wrote it",
                           writer->store->path, (unsigned long long)cursor.lsn);
        }
        if (writer->batch.entries == 0) {
            return true;
        }
        if (commit_batch(writer, &cursor, last_instant_ms, "boot.mid_recovery") != SQLITE_OK) {
            (void)qn_store_fail(writer->store, err);
            qn_store_rollback(writer->store);
            return false;
        }
    }
}

struct qn_ring_position qn_writer_position(const struct qn_writer *writer)
{
    return qn_ring_position(writer->ring, &writer->cursor);
}

int64_t qn_writer_last_instant_ms(const struct qn_writer *writer)
{
    return writer->last_instant_ms;
}

static bool is_stopping(void *state)
{
    struct qn_writer *writer = state;
    return atomic_load(&writer->is_stopping);
}

static bool has_work(void *state)
{
    struct qn_writer *writer = state;
    return qn_ring_last_lsn(writer->ring) != writer->cursor.lsn || is_stopping(writer) ||
           qn_snapshots_stop_at(writer->snapshots, writer->cursor.lsn);
}

/* Room in the ring is not for waiting, and a snapshot may be waited for. */
static bool has_much(void *state)
{
    struct qn_writer *writer = state;
    return qn_ring_used(writer->ring) >= qn_ring_size(writer->ring) / 4 || is_stopping(writer) ||
           qn_snapshots_stop_at(writer->snapshots, UINT64_MAX - 1);
}

/* What SQLite refused stays in the ring. Says so once for each kind of trouble, and waits before
 * the next try. */
static void back_off(struct qn_writer *writer, int rc)
{
    int code = rc & 0xff;
    if (code != writer->reported_code) {
        qn_log(QN_LOG_ERROR, "journal", "SQLite cannot write, trying again error=\"%s\" code=%d",
               sqlite3_errmsg(writer->store->db), rc);
    }
    qn_store_rollback(writer->store);
    writer->reported_code = code;
    atomic_fetch_add(&writer->errors, 1);
    writer->back_off_ms = writer->back_off_ms == 0 ? BACK_OFF_MIN_MS : writer->back_off_ms * 2;
    if (writer->back_off_ms > BACK_OFF_MAX_MS) {
        writer->back_off_ms = BACK_OFF_MAX_MS;
    }
    qn_waker_nap(&writer->waker, is_stopping, writer, writer->back_off_ms);
}

static void note_success(struct qn_writer *writer)
{
    if (writer->reported_code != SQLITE_OK) {
        qn_log(QN_LOG_INFO, "journal", "SQLite writes again");
        writer->reported_code = SQLITE_OK;
    }
    writer->back_off_ms = 0;
}

static int write_batch(struct qn_writer *writer)
{
    struct qn_ring_cursor cursor = writer->cursor;
    int64_t last_instant_ms = writer->last_instant_ms;
    if (!gather(writer, &cursor, &last_instant_ms)) {
        qn_log(QN_LOG_ERROR, "journal", "an entry of this process cannot be read lsn=%llu",
               (unsigned long long)cursor.lsn);
        abort();
    }
    if (writer->batch.entries == 0) {
        return SQLITE_OK;
    }
    return commit_batch(writer, &cursor, last_instant_ms, "writer.before_commit");
}

static int remove_dead(struct qn_writer *writer)
{
    bool is_all_gone = true;
    int rc = writer->may_have_dead
                 ? qn_dead_remove_slice(&writer->dead, writer->store, &is_all_gone)
                 : SQLITE_OK;
    if (rc == SQLITE_OK) {
        writer->may_have_dead = !is_all_gone;
    }
    return rc;
}

/* Pages that cannot be moved now stay in the log and are moved later: not an error of any entry. */
static void checkpoint(struct qn_writer *writer)
{
    int rc = qn_store_checkpoint(writer->store);
    if (rc == SQLITE_OK) {
        atomic_fetch_add(&writer->checkpoints, 1);
        writer->checkpoint_code = SQLITE_OK;
    } else if ((rc & 0xff) != writer->checkpoint_code) {
        writer->checkpoint_code = rc & 0xff;
        atomic_fetch_add(&writer->errors, 1);
        qn_log(QN_LOG_ERROR, "journal", "SQLite cannot checkpoint, going on error=\"%s\" code=%d",
               sqlite3_errstr(rc), rc);
    }
}

/* Until there is something to do, and for a moment longer. */
static void rest(struct qn_writer *writer)
{
    if (writer->may_have_dead || is_stopping(writer)) {
        return;
    }
    if (!has_work(writer)) {
        if (qn_store_has_pages(writer->store)) {
            qn_waker_sleep(&writer->waker, has_work, writer, IDLE_MS);
            if (!has_work(writer)) {
                checkpoint(writer);
            }
        }
        while (!has_work(writer)) {
            qn_waker_sleep(&writer->waker, has_work, writer, 60 * IDLE_MS);
        }
    }
    atomic_store(&writer->is_gathering, true);
    qn_waker_nap(&writer->waker, has_much, writer, GATHER_MS);
    atomic_store(&writer->is_gathering, false);
}

static void *run(void *state)
{
    struct qn_writer *writer = state;
    int tries_left = STOP_TRIES;

    while (tries_left > 0) {
        rest(writer);
        int rc = write_batch(writer);
        if (rc == SQLITE_OK && writer->snapshots != NULL) {
            qn_snapshots_reach(writer->snapshots, writer->store, writer->cursor.lsn);
        }
        if (rc == SQLITE_OK && !is_stopping(writer)) {
            rc = remove_dead(writer); /* else they wait for the next start */
        }
        if (rc != SQLITE_OK) {
            tries_left -= is_stopping(writer) ? 1 : 0;
            back_off(writer, rc);
            continue;
        }
        note_success(writer);
        if (writer->store->wal_pages - writer->store->wal_checkpointed_pages >= CHECKPOINT_PAGES) {
            checkpoint(writer);
        }
        if (is_stopping(writer) && qn_ring_last_lsn(writer->ring) == writer->cursor.lsn) {
            break;
        }
    }
    if (tries_left == 0) {
        qn_log(QN_LOG_WARN, "journal", "changes stay in the ring for the next start count=%llu",
               (unsigned long long)(qn_ring_last_lsn(writer->ring) - writer->cursor.lsn));
    } else if (qn_store_has_pages(writer->store)) {
        checkpoint(writer);
    }
    return NULL;
}

bool qn_writer_start(struct qn_writer *writer, struct qn_error *err)
{
    writer->is_started = qn_thread_start(&writer->thread, run, writer, err);
    return writer->is_started;
}

void qn_writer_stop(struct qn_writer *writer)
{
    if (writer == NULL || !writer->is_started) {
        return;
    }
    atomic_store(&writer->is_stopping, true);
    qn_waker_wake(&writer->waker);
    (void)pthread_join(writer->thread, NULL);
    writer->is_started = false;
}

void qn_writer_poke(struct qn_writer *writer)
{
    qn_waker_poke(&writer->waker);
    /* The napper looks at the ring after it has said that it gathers: one of the two sees the
     * other. */
    if (atomic_load(&writer->is_gathering) && has_much(writer)) {
        atomic_store(&writer->is_gathering, false);
        qn_waker_wake(&writer->waker);
    }
}

uint64_t qn_writer_written_lsn(const struct qn_writer *writer)
{
    return atomic_load(&writer->written_lsn);
}

void qn_writer_figures(const struct qn_writer *writer, struct qn_writer_figures *ret_figures)
{
    *ret_figures = (struct qn_writer_figures){
        .written_lsn = atomic_load(&writer->written_lsn),
        .commits = atomic_load(&writer->commits),
        .checkpoints = atomic_load(&writer->checkpoints),
        .errors = atomic_load(&writer->errors),
        .wal_pages = atomic_load(&writer->wal_pages),
    };
}
