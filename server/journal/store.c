/* The SQLite database behind the ring: connections, prepared statements, the rows about itself. */
#include "server/journal/store.h"

#include "server/base/buf.h"
#include "server/base/failpoint.h"
#include "server/journal/schema.h"

#include <errno.h>
#include <unistd.h>

/* Another program may look into the file; it gets this long to end what it does. */
enum { BUSY_TIMEOUT_MS = 2000 };

#define QN_SQL_STEP(text)
#define QN_SQL_SCRIPT(name, text)
#define QN_SQL(name, text) [QN_SQL_##name] = (text),
#define QN_SQL_READER(name, text)
#define QN_SQL_COPY(name, text)
static const char *const statement_texts[QN_SQL_COUNT] = {
#include "server/journal/sql.def"
};
#undef QN_SQL_SCRIPT
#undef QN_SQL
#define QN_SQL(name, text)
#define QN_SQL_SCRIPT(name, text) [QN_SCRIPT_##name] = (text),
static const char *const script_texts[QN_SCRIPT_COUNT] = {
#include "server/journal/sql.def"
};
#undef QN_SQL_SCRIPT
#undef QN_SQL_READER
#define QN_SQL_SCRIPT(name, text)
#define QN_SQL_READER(name, text) static const char reader_##name[] = text;
#include "server/journal/sql.def"
#undef QN_SQL_STEP
#undef QN_SQL_SCRIPT
#undef QN_SQL
#undef QN_SQL_READER
#undef QN_SQL_COPY

static bool fail_sqlite(sqlite3 *db, const char *path, struct qn_error *err)
{
    const char *what = db == NULL ? "no memory" : sqlite3_errmsg(db);
    int code = db == NULL ? SQLITE_NOMEM : sqlite3_errcode(db) & 0xff;
    int reason = code == SQLITE_IOERR || code == SQLITE_CANTOPEN ? sqlite3_system_errno(db) : 0;

    return reason == 0 ? qn_fail(err, QN_ERR_INTERNAL, "%s: %s", path, what)
                       : qn_fail(err, QN_ERR_INTERNAL, "%s: %s: %s", path, what, strerror(reason));
}

bool qn_store_fail(const struct qn_store *store, struct qn_error *err)
{
    return fail_sqlite(store->db, store->path, err);
}

int qn_store_run(struct qn_store *store, enum qn_sql sql)
{
    int rc = sqlite3_step(store->statements[sql]);
    int reset = sqlite3_reset(store->statements[sql]);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? reset : rc;
}

int qn_store_run_script(struct qn_store *store, enum qn_script script)
{
    return sqlite3_exec(store->db, script_texts[script], NULL, NULL, NULL);
}

void qn_store_rollback(struct qn_store *store)
{
    /* Some errors have rolled back by themselves. */
    if (!sqlite3_get_autocommit(store->db)) {
        (void)qn_store_run_script(store, QN_SCRIPT_rollback);
    }
}

static bool read_first(struct qn_store *store, enum qn_script script, int64_t *ret_value,
                       char *ret_word, size_t size, struct qn_error *err)
{
    sqlite3_stmt *statement = NULL;
    bool ok =
        sqlite3_prepare_v2(store->db, script_texts[script], -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW;
    if (ok && ret_value != NULL) {
        *ret_value = sqlite3_column_int64(statement, 0);
    }
    if (ok && ret_word != NULL) {
        struct qn_str word = qn_str_first(qn_store_column_text(statement, 0), size - 1);
        memcpy(ret_word, word.ptr, word.len);
        ret_word[word.len] = '\0';
    }
    ok = ok || qn_store_fail(store, err);
    (void)sqlite3_finalize(statement);
    return ok;
}

bool qn_store_read_number(struct qn_store *store, enum qn_script script, int64_t *ret_value,
                          struct qn_error *err)
{
    return read_first(store, script, ret_value, NULL, 0, err);
}

bool qn_store_read_word(struct qn_store *store, enum qn_script script, char *ret_word, size_t size,
                        struct qn_error *err)
{
    return read_first(store, script, NULL, ret_word, size, err);
}

bool qn_store_prepare(struct qn_store *store, struct qn_error *err)
{
    for (size_t i = 0; i < QN_SQL_COUNT; i++) {
        if (sqlite3_prepare_v3(store->db, statement_texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &store->statements[i], NULL) != SQLITE_OK) {
            return qn_store_fail(store, err);
        }
    }
    return true;
}

/* After each commit. A log that got shorter was begun anew, because all of it had been
 * checkpointed. */
static int note_wal_pages(void *state, sqlite3 *db, const char *schema, int pages)
{
    struct qn_store *store = state;
    (void)db;
    (void)schema;
    if (pages < store->wal_pages) {
        store->wal_checkpointed_pages = 0;
    }
    store->wal_pages = pages;
    return SQLITE_OK;
}

static char *file_name(const char *path)
{
    struct qn_buf buf;
    size_t len;
    qn_buf_init(&buf, SIZE_MAX);
    qn_buf_append_format(&buf, "%s%s", path[0] == '/' ? "" : "./", path);
    return qn_buf_take(&buf, &len);
}

/* The path of one of the database's files. */
static char *path_of(const struct qn_store *store, const char *ending)
{
    struct qn_buf buf;
    size_t len;
    qn_buf_init(&buf, SIZE_MAX);
    qn_buf_append_format(&buf, "%s%s", store->path, ending);
    return qn_buf_take(&buf, &len);
}

static bool is_there(const struct qn_store *store, const char *ending)
{
    char *path = path_of(store, ending);
    bool answer = access(path, F_OK) == 0;
    qn_memory_free(path);
    return answer;
}

static void remove_files(const struct qn_store *store)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char *path = path_of(store, endings[i]);
        if (i == 0 && store->origin == QN_STORE_WAS_EMPTY) {
            (void)!truncate(path, 0);
        } else {
            (void)unlink(path);
        }
        qn_memory_free(path);
    }
}

bool qn_store_open(const char *path, uint64_t seed, struct qn_store **ret_store,
                   struct qn_error *err)
{
    struct qn_store *store = qn_memory_new(sizeof(*store));
    enum qn_schema_file file;
    bool ok = false;

    store->path = file_name(path);
    if (!qn_schema_look(store->path, &file, err)) {
        goto out;
    }
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS,
                         0); /* its counters cost a lock; nobody reads them */
    bool has_log = is_there(store, "-wal");
    store->origin = file == QN_SCHEMA_FILE_NONE    ? QN_STORE_CREATED
                    : file == QN_SCHEMA_FILE_EMPTY ? QN_STORE_WAS_EMPTY
                                                   : QN_STORE_KEPT;
    if (sqlite3_open_v2(store->path, &store->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK) {
        (void)qn_store_fail(store, err);
        goto out;
    }
    /* Until it is kept, closing must not move pages into a file that may turn out not to be for us.
     * Without any, closing tidies up behind itself. */
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_log ? 1 : 0, NULL);
    (void)sqlite3_busy_timeout(store->db, BUSY_TIMEOUT_MS);
    (void)sqlite3_wal_hook(store->db, note_wal_pages,
                           store); /* also turns its own checkpoints off */
    if (sqlite3_db_readonly(store->db, "main") == 1) {
        (void)qn_fail(err, QN_ERR_INTERNAL, "cannot write %s: it is read-only", path);
        goto out;
    }
    if (qn_store_run_script(store, QN_SCRIPT_configure) != SQLITE_OK) {
        (void)qn_store_fail(store, err);
        goto out;
    }
    if (!qn_schema_apply(store, seed, err)) {
        goto out;
    }
    *ret_store = store;
    store = NULL;
    ok = true;

out:
    qn_store_close(store);
    return ok;
}

void qn_store_keep(struct qn_store *store)
{
    store->origin = QN_STORE_KEPT;
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
}

bool qn_store_relax(struct qn_store *store, struct qn_error *err)
{
    return qn_store_run_script(store, QN_SCRIPT_synchronous_normal) == SQLITE_OK ||
           qn_store_fail(store, err);
}

void qn_store_close(struct qn_store *store)
{
    if (store == NULL) {
        return;
    }
    for (size_t i = 0; i < QN_SQL_COUNT; i++) {
        (void)sqlite3_finalize(store->statements[i]);
    }
    (void)sqlite3_close(store->db);
    if (store->origin != QN_STORE_KEPT) {
        remove_files(store);
    }
    qn_memory_free(store->path);
    qn_memory_free(store);
}

bool qn_store_read_meta(struct qn_store *store, struct qn_store_meta *ret_meta,
                        struct qn_error *err)
{
    sqlite3_stmt *statement = store->statements[QN_SQL_meta_read];
    struct qn_store_meta meta = {.boot = 0};
    bool ok = sqlite3_step(statement) == SQLITE_ROW;
    if (ok) {
        struct qn_str key = qn_store_column_blob(statement, 1);
        meta.database_id = (uint64_t)sqlite3_column_int64(statement, 0);
        meta.boot = (uint64_t)sqlite3_column_int64(statement, 2);
        meta.position.lsn = (uint64_t)sqlite3_column_int64(statement, 3);
        meta.position.offset = (uint64_t)sqlite3_column_int64(statement, 4);
        meta.last_instant_ms = sqlite3_column_int64(statement, 5);
        ok = key.len == sizeof(meta.handle_key);
        if (ok) {
            memcpy(meta.handle_key, key.ptr, sizeof(meta.handle_key));
        }
    }
    int rc = sqlite3_reset(statement);
    if (!ok) {
        return rc != SQLITE_OK ? qn_store_fail(store, err)
                               : qn_fail(err, QN_ERR_INTERNAL,
                                         "%s is damaged: it lacks its own data", store->path);
    }
    *ret_meta = meta;
    return true;
}

int qn_store_write_position(struct qn_store *store, struct qn_ring_position position,
                            int64_t last_instant_ms)
{
    sqlite3_stmt *statement = store->statements[QN_SQL_position_write];
    sqlite3_bind_int64(statement, 1, (int64_t)position.lsn);
    sqlite3_bind_int64(statement, 2, (int64_t)position.offset);
    sqlite3_bind_int64(statement, 3, last_instant_ms);
    return qn_store_run(store, QN_SQL_position_write);
}

bool qn_store_begin_boot(struct qn_store *store, uint64_t boot, struct qn_ring_position position,
                         int64_t last_instant_ms, struct qn_error *err)
{
    sqlite3_bind_int64(store->statements[QN_SQL_boot_write], 1, (int64_t)boot);
    if (qn_store_run(store, QN_SQL_begin) == SQLITE_OK &&
        qn_store_run(store, QN_SQL_boot_write) == SQLITE_OK &&
        qn_store_write_position(store, position, last_instant_ms) == SQLITE_OK &&
        qn_store_run(store, QN_SQL_commit) == SQLITE_OK) {
        return true;
    }
    (void)qn_store_fail(store, err);
    qn_store_rollback(store);
    return false;
}

int qn_store_checkpoint(struct qn_store *store)
{
    int pages = 0;
    int moved = 0;
    if (qn_failpoint("wal.checkpoint")) {
        return SQLITE_IOERR;
    }
    int rc = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &moved);
    if (rc == SQLITE_OK && moved >= 0) {
        store->wal_checkpointed_pages = moved;
    }
    return rc;
}

bool qn_store_has_pages(const struct qn_store *store)
{
    return store->wal_pages > store->wal_checkpointed_pages;
}

int qn_store_bind_text(sqlite3_stmt *statement, int index, struct qn_str text)
{
    return sqlite3_bind_text64(statement, index, text.ptr, text.len, SQLITE_STATIC, SQLITE_UTF8);
}

int qn_store_bind_blob(sqlite3_stmt *statement, int index, struct qn_str bytes)
{
    return sqlite3_bind_blob64(statement, index, bytes.ptr, bytes.len, SQLITE_STATIC);
}

struct qn_str qn_store_column_text(sqlite3_stmt *statement, int index)
{
    const char *text = (const char *)sqlite3_column_text(statement, index);
    return text == NULL ? QN_STR_NONE
                        : qn_str(text, (size_t)sqlite3_column_bytes(statement, index));
}

struct qn_str qn_store_column_blob(sqlite3_stmt *statement, int index)
{
    if (sqlite3_column_type(statement, index) == SQLITE_NULL) {
        return QN_STR_NONE;
    }
    const char *bytes = sqlite3_column_blob(statement, index); /* NULL when it is empty */
    return bytes == NULL ? QN_STR("")
                         : qn_str(bytes, (size_t)sqlite3_column_bytes(statement, index));
}

bool qn_store_reader_open(struct qn_store_reader *reader, const struct qn_store *store,
                          struct qn_error *err)
{
    if (sqlite3_open_v2(store->path, &reader->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        sqlite3_busy_timeout(reader->db, BUSY_TIMEOUT_MS) != SQLITE_OK ||
        sqlite3_prepare_v3(reader->db, reader_content_read, -1, SQLITE_PREPARE_PERSISTENT,
                           &reader->content_read, NULL) != SQLITE_OK) {
        return fail_sqlite(reader->db, store->path, err);
    }
    return true;
}

bool qn_store_reader_content(struct qn_store_reader *reader, int64_t content_id,
                             struct qn_arena *arena, struct qn_str *ret_content,
                             struct qn_error *err)
{
    sqlite3_stmt *read = reader->content_read;
    bool ok = false;

    sqlite3_bind_int64(read, 1, content_id);
    int rc = sqlite3_step(read);
    if (rc == SQLITE_ROW) {
        struct qn_str content = qn_arena_copy(arena, qn_store_column_blob(read, 0));
        ok = !qn_str_is_none(content) ||
             qn_fail(err, QN_ERR_INTERNAL, "no room for the content of a message");
        if (ok) {
            *ret_content = content;
        }
    } else if (rc == SQLITE_DONE) {
        ok = qn_fail(err, QN_ERR_INTERNAL, "the content %lld of a message is missing",
                     (long long)content_id);
    } else {
        ok = qn_fail(err, QN_ERR_INTERNAL, "cannot read the content of a message: %s",
                     sqlite3_errmsg(reader->db));
    }
    (void)sqlite3_reset(read);
    return ok;
}

void qn_store_reader_close(struct qn_store_reader *reader)
{
    (void)sqlite3_finalize(reader->content_read);
    (void)sqlite3_close(reader->db);
    *reader = (struct qn_store_reader){.db = NULL};
}
