/* Durability: puts ring, writer, syncer and store together. */
#include "server/journal/journal.h"

#include "server/base/failpoint.h"
#include "server/base/log.h"
#include "server/journal/load.h"
#include "server/journal/passage.h"
#include "server/journal/ring.h"
#include "server/journal/ring_file.h"
#include "server/journal/schema.h"
#include "server/journal/snapshot.h"
#include "server/journal/store.h"
#include "server/journal/syncer.h"
#include "server/journal/writer.h"

enum { PAGE = 4096, WAL_FRAME = PAGE + 24 };

struct qn_journal {
    struct qn_store *store;
    struct qn_ring_file *file;
    struct qn_ring *ring;
    struct qn_writer *writer;
    struct qn_syncer *syncer; /* NULL with sync normal */
    struct qn_store_reader reader;
    struct qn_snapshots *snapshots; /* NULL: nobody would come back to them */
    uint64_t boot;
    struct qn_snapshot_change *change; /* in the snapshots' table */
    struct qn_snapshot_change own_change;
    bool has_snapshot;     /* one was wanted: */
    uint64_t snapshot_lsn; /* the last one */
};

static bool has_chosen(const struct qn_journal_options *options)
{
    return options->snapshots != NULL && options->snapshots->chosen > 0;
}

/* To the snapshot that was chosen: what the ring holds comes later than that, and goes. */
static bool go_back(struct qn_journal *journal, const struct qn_journal_options *options,
                    struct qn_error *err)
{
    bool is_restored = false;

    if (options->snapshots == NULL) {
        return true;
    }
    journal->snapshots = qn_snapshots_new(options->snapshots, options->path);
    return qn_snapshots_restore(journal->snapshots, &is_restored, err) &&
           (!is_restored || qn_ring_file_clear(journal->file, err));
}

/* Takes the lock, then opens the database, then maps the ring that belongs to it. Neither file is
 * changed before both are known to be ours; new ones go again unless all of the opening succeeds.
 */
static bool open_files(struct qn_journal *journal, const struct qn_journal_options *options,
                       struct qn_store_meta *ret_meta, struct qn_error *err)
{
    enum qn_schema_file file;
    uint64_t ring_bytes = (options->ring_bytes + PAGE - 1) / PAGE * PAGE;

    if (!qn_schema_look(options->path, &file, err) ||
        !qn_ring_file_open(options->path, &journal->file, err) ||
        !qn_schema_look(options->path, &file, err)) { /* before the lock it could still change */
        return false;
    }
    if (!go_back(journal, options, err)) {
        return false;
    }
    bool is_blank = qn_ring_file_is_blank(journal->file);
    if (file != QN_SCHEMA_FILE_OURS && !is_blank) {
        return qn_fail(err, QN_ERR_INTERNAL,
                       "%s holds changes for %s, which is gone: bring it back, or remove the ring",
                       journal->file->path, options->path);
    }
    if (!qn_store_open(options->path, options->seed, &journal->store, err) ||
        !qn_store_read_meta(journal->store, ret_meta, err)) {
        return false;
    }
    if (is_blank && ret_meta->boot > 0 && !has_chosen(options)) {
        qn_log(QN_LOG_WARN, "journal", "the ring was gone, a new one is made file=%s",
               journal->file->path);
    }
    return qn_ring_file_map(journal->file, ret_meta->database_id, ring_bytes, err);
}

/* The rest of the ring into SQLite, then the next start's number: whatever is firm of this start's
 * records, its number is too. */
static bool recover(struct qn_journal *journal, struct qn_store_meta *meta,
                    const struct qn_journal_options *options, struct qn_error *err)
{
    bool is_full = options->sync == QN_SYNC_FULL;

    struct qn_ring_cursor cursor;

    if (qn_failpoint("boot.before_recovery")) {
        return qn_fail(err, QN_ERR_INTERNAL, "%s: disk I/O error", journal->store->path);
    }
    journal->ring =
        qn_ring_new(qn_ring_file_data(journal->file), journal->file->size, meta->database_id);
    qn_ring_recover(journal->ring, meta->boot, meta->position, &cursor);
    if (qn_ring_is_ahead(journal->ring, meta->boot)) {
        return qn_fail(err, QN_ERR_INTERNAL,
                       "%s is older than its ring: bring back its -wal file, or remove the ring to "
                       "go on without later changes",
                       journal->store->path);
    }
    if (qn_ring_is_broken(journal->ring)) {
        qn_log(QN_LOG_WARN, "journal",
               "the ring has a bad record: replay stops before it, later changes are lost "
               "lsn=%llu file=%s",
               (unsigned long long)qn_ring_last_lsn(journal->ring) + 1, journal->file->path);
    }
    journal->writer = qn_writer_new(journal->ring, journal->store, cursor, meta->last_instant_ms,
                                    journal->snapshots);
    if (!qn_writer_recover(journal->writer, err)) {
        return false;
    }
    meta->boot++;
    /* The start that was gone back behind has drawn ids, too. */
    if (has_chosen(options) && meta->boot < options->snapshots->least_boot) {
        meta->boot = options->snapshots->least_boot;
    }
    meta->position = qn_writer_position(journal->writer);
    meta->last_instant_ms = qn_writer_last_instant_ms(journal->writer);
    if (!qn_store_begin_boot(journal->store, meta->boot, meta->position, meta->last_instant_ms,
                             err)) {
        return false;
    }
    qn_ring_set_boot(journal->ring, meta->boot);
    return is_full || qn_store_relax(journal->store, err);
}

static bool load_all(struct qn_journal *journal, const struct qn_store_meta *meta,
                     const struct qn_journal_load *load, struct qn_error *err)
{
    struct qn_journal_identity identity = {
        .boot = meta->boot,
        .lsn = meta->position.lsn,
        .last_instant_ms = meta->last_instant_ms,
    };
    memcpy(identity.handle_key, meta->handle_key, sizeof(identity.handle_key));
    load->identity(load->state, &identity);
    return qn_load_rows(journal->store, load, err);
}

/* When the store that this start came to was changed for the last time: the store itself knows only
 * the last instant of its clock. */
static void note_change(struct qn_journal *journal, const struct qn_journal_options *options,
                        const struct qn_store_meta *meta)
{
    struct qn_snapshot_table *table = options->snapshots;

    journal->change = table == NULL ? &journal->own_change : &table->change;
    if (has_chosen(options)) {
        const struct qn_snapshot_record *record = &table->records[table->chosen - 1];
        *journal->change = (struct qn_snapshot_change){record->lsn, record->at_ms};
    } else if (journal->change->lsn == 0 || journal->change->lsn > meta->position.lsn) {
        *journal->change = (struct qn_snapshot_change){meta->position.lsn, meta->last_instant_ms};
    }
    if (journal->snapshots != NULL) {
        qn_snapshots_settle(journal->snapshots);
    }
}

bool qn_journal_open(const struct qn_journal_options *options, const struct qn_journal_load *load,
                     struct qn_journal **ret_journal, struct qn_error *err)
{
    struct qn_journal *journal = qn_memory_new(sizeof(*journal));
    bool is_full = options->sync == QN_SYNC_FULL;
    struct qn_store_meta meta = {.boot = 0};
    bool ok = false;

    if (!open_files(journal, options, &meta, err) || !recover(journal, &meta, options, err) ||
        !load_all(journal, &meta, load, err)) {
        goto out;
    }
    if (!qn_store_reader_open(&journal->reader, journal->store, err)) {
        goto out;
    }
    /* From here on the store is the writer's. */
    qn_store_keep(journal->store);
    qn_ring_file_keep(journal->file);
    if (!qn_writer_start(journal->writer, err) ||
        (is_full && !qn_syncer_start(journal->file, journal->ring, &journal->syncer, err))) {
        goto out;
    }
    journal->boot = meta.boot;
    note_change(journal, options, &meta);
    *ret_journal = journal;
    journal = NULL;
    ok = true;

out:
    qn_journal_close(journal);
    return ok;
}

void qn_journal_close(struct qn_journal *journal)
{
    if (journal == NULL) {
        return;
    }
    qn_syncer_stop(journal->syncer);
    qn_store_reader_close(&journal->reader);
    qn_writer_stop(journal->writer);
    qn_writer_free(journal->writer);
    qn_snapshots_free(journal->snapshots);
    qn_store_close(journal->store);
    qn_ring_free(journal->ring);
    qn_ring_file_close(journal->file); /* last: the lock goes with it */
    qn_memory_free(journal);
}

uint64_t qn_journal_append(struct qn_journal *journal, struct qn_str entry, int64_t now_ms)
{
    bool is_watched = qn_failpoint_is_any_armed();
    if (is_watched) {
        qn_passage_before(entry);
    }
    uint64_t lsn = qn_ring_append(journal->ring, entry, now_ms);
    if (entry.len > 0) {
        *journal->change = (struct qn_snapshot_change){lsn, now_ms};
    }
    if (is_watched) {
        qn_passage_after(entry);
    }
    qn_writer_poke(journal->writer);
    if (journal->syncer != NULL) {
        qn_syncer_poke(journal->syncer);
    }
    return lsn;
}

bool qn_journal_has_room(const struct qn_journal *journal)
{
    return qn_ring_has_room(journal->ring);
}

uint64_t qn_journal_last_lsn(const struct qn_journal *journal)
{
    return qn_ring_last_lsn(journal->ring);
}

uint64_t qn_journal_synced_lsn(const struct qn_journal *journal)
{
    return journal->syncer != NULL ? qn_syncer_synced_lsn(journal->syncer)
                                   : qn_ring_last_lsn(journal->ring);
}

uint64_t qn_journal_written_lsn(const struct qn_journal *journal)
{
    return qn_writer_written_lsn(journal->writer);
}

int qn_journal_sync_fd(const struct qn_journal *journal)
{
    return journal->syncer != NULL ? qn_syncer_fd(journal->syncer) : -1;
}

bool qn_journal_read_content(struct qn_journal *journal, int64_t content_id, struct qn_arena *arena,
                             struct qn_str *ret_content, struct qn_error *err)
{
    return qn_store_reader_content(&journal->reader, content_id, arena, ret_content, err);
}

bool qn_journal_has_changed(const struct qn_journal *journal)
{
    return !journal->has_snapshot || journal->change->lsn > journal->snapshot_lsn;
}

bool qn_journal_take_snapshot(struct qn_journal *journal, int64_t keep_from_ms)
{
    uint64_t lsn = qn_journal_last_lsn(journal);

    if (!qn_snapshots_want(journal->snapshots, lsn, journal->change->at_ms, keep_from_ms)) {
        return false;
    }
    journal->has_snapshot = true;
    journal->snapshot_lsn = lsn;
    qn_writer_poke(journal->writer);
    return true;
}

void qn_journal_drop_snapshots(struct qn_journal *journal)
{
    qn_snapshots_drop_all(journal->snapshots);
    journal->has_snapshot = false;
}

size_t qn_journal_snapshot_count(const struct qn_journal *journal)
{
    return journal->snapshots == NULL ? 0 : qn_snapshots_count(journal->snapshots);
}

bool qn_journal_choose_snapshot(struct qn_journal *journal, int64_t until_ms, uint64_t *ret_lsn)
{
    return journal->snapshots != NULL &&
           qn_snapshots_choose(journal->snapshots, until_ms, journal->boot + 1, ret_lsn);
}

void qn_journal_figures(const struct qn_journal *journal, struct qn_journal_figures *ret_figures)
{
    struct qn_writer_figures writer;
    qn_writer_figures(journal->writer, &writer);
    *ret_figures = (struct qn_journal_figures){
        .last_lsn = qn_journal_last_lsn(journal),
        .synced_lsn = qn_journal_synced_lsn(journal),
        .written_lsn = writer.written_lsn,
        .ring_bytes_used = qn_ring_used(journal->ring),
        .ring_bytes_max_used = qn_ring_max_used(journal->ring),
        .commits = writer.commits,
        .checkpoints = writer.checkpoints,
        .write_errors = writer.errors,
        .wal_bytes = writer.wal_pages * WAL_FRAME,
    };
}
