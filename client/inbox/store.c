/* The database behind the inbox: opening, connections, statements. */
#include <poll.h>
#include <string.h>

#include "client/inbox/store.h"
#include "client/internal.h"
#include "server/base/clock.h"

enum { STALE_MS = 20000, BUSY_MS = 5000, BUSY_PAUSE_MS = 5 };

#define QN_INBOX_SQL(name, text) const char quern_sql_##name[] = text;
#include "client/inbox/sql.def"
#undef QN_INBOX_SQL

bool quern_store_fail(sqlite3 *db, struct quern_error *err)
{
    (void)quern_fail(err, "DatabaseError", 0, "%s", db != NULL ? sqlite3_errmsg(db) : "no memory");
    err->is_retryable = true;
    return false;
}

int64_t quern_store_now_ms(const struct quern_inbox *inbox)
{
    const struct qn_clock clock = qn_clock_system();

    return inbox->now_ms != NULL ? inbox->now_ms(inbox->state) : clock.now_ms(clock.state);
}

bool quern_store_run(sqlite3 *db, const char *sql, struct quern_error *err)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK || quern_store_fail(db, err);
}

sqlite3_stmt *quern_store_prepare(sqlite3 *db, const char *sql, const char *const *texts,
                                  size_t count, struct quern_error *err)
{
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
        (void)quern_store_fail(db, err);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (texts[i] != NULL) {
            (void)sqlite3_bind_text(statement, (int)i + 1, texts[i], -1, SQLITE_TRANSIENT);
        }
    }
    return statement;
}

bool quern_store_finish(sqlite3 *db, sqlite3_stmt *statement, struct quern_error *err)
{
    int code = statement != NULL ? sqlite3_step(statement) : SQLITE_ERROR;
    bool ok = code == SQLITE_DONE || code == SQLITE_ROW;

    if (statement != NULL && !ok) {
        (void)quern_store_fail(db, err);
    }
    (void)sqlite3_finalize(statement);
    return ok;
}

/* Several that open a fresh file at the same time are refused at once, whatever the busy time-out:
 * each would wait for the others. Source: sqlite.org, "Write-Ahead Logging", "Sometimes Queries
 * Return SQLITE_BUSY In WAL Mode". */
static bool configure(const struct quern_inbox *inbox, sqlite3 *db, struct quern_error *err)
{
    int64_t end_ms = qn_clock_monotonic_ms() + inbox->busy_ms;
    int code;

    while ((code = sqlite3_exec(db, quern_sql_configure, NULL, NULL, NULL)) == SQLITE_BUSY &&
           qn_clock_monotonic_ms() < end_ms) {
        (void)poll(NULL, 0, BUSY_PAUSE_MS);
    }
    return code == SQLITE_OK || quern_store_fail(db, err);
}

bool quern_store_take(struct quern_inbox *inbox, sqlite3 **ret_db, struct quern_error *err)
{
    sqlite3 *db = NULL;

    (void)pthread_mutex_lock(&inbox->lock);
    if (inbox->idle_count > 0) {
        db = inbox->idle[--inbox->idle_count];
    }
    (void)pthread_mutex_unlock(&inbox->lock);
    if (db == NULL) {
        const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
        if (sqlite3_open_v2(inbox->path, &db, flags, NULL) != SQLITE_OK ||
            sqlite3_busy_timeout(db, (int)inbox->busy_ms) != SQLITE_OK ||
            !configure(inbox, db, err)) {
            (void)quern_store_fail(db, err);
            (void)sqlite3_close(db);
            return false;
        }
    }
    *ret_db = db;
    return true;
}

void quern_store_give(struct quern_inbox *inbox, sqlite3 *db)
{
    struct quern_error ignored;

    if (sqlite3_get_autocommit(db) == 0) {
        (void)quern_store_run(db, quern_sql_rollback, &ignored);
    }
    (void)pthread_mutex_lock(&inbox->lock);
    if (inbox->idle_count < QUERN_IDLE_MAX) {
        inbox->idle[inbox->idle_count++] = db;
        db = NULL;
    }
    (void)pthread_mutex_unlock(&inbox->lock);
    (void)sqlite3_close(db); /* accepts NULL */
}

static bool is_current(sqlite3 *db, bool *ret_is_current, struct quern_error *err)
{
    sqlite3_stmt *row = quern_store_prepare(db, quern_sql_is_current, NULL, 0, err);

    if (row == NULL) {
        return false;
    }
    int code = sqlite3_step(row);
    bool ok = code == SQLITE_ROW || code == SQLITE_DONE || quern_store_fail(db, err);
    (void)sqlite3_finalize(row);
    *ret_is_current = code == SQLITE_ROW;
    return ok;
}

/* Makes the tables, or brings those of an older program up to date. Looked at before a transaction
 * is begun: a process that opens it later need not wait for those that write. */
static bool make_tables(sqlite3 *db, struct quern_error *err)
{
    bool is_made = false;

    if (!is_current(db, &is_made, err) || is_made) {
        return is_made;
    }
    return quern_store_run(db, quern_sql_begin, err) &&
           quern_store_run(db, quern_sql_create, err) && is_current(db, &is_made, err) &&
           (is_made || quern_store_run(db, quern_sql_extend, err)) &&
           quern_store_run(db, quern_sql_commit, err);
}

bool quern_inbox_open(const struct quern_inbox_options *options, struct quern_inbox **ret_inbox,
                      struct quern_error *err)
{
    struct quern_inbox *inbox = qn_memory_new(sizeof(*inbox));
    sqlite3 *db = NULL;

    inbox->path = qn_memory_copy_text(options->path, strlen(options->path));
    inbox->consumer = qn_memory_copy_text(options->consumer, strlen(options->consumer));
    inbox->stale_ms = options->stale_ms > 0 ? options->stale_ms : STALE_MS;
    inbox->busy_ms = options->busy_ms > 0 ? options->busy_ms : BUSY_MS;
    inbox->now_ms = options->now_ms;
    inbox->state = options->state;
    (void)pthread_mutex_init(&inbox->lock, NULL);
    quern_keeper_init(inbox);
    qn_random_init(&inbox->random, qn_random_fresh_seed(), 0, 0);
    bool ok = quern_store_take(inbox, &db, err);
    if (ok) {
        ok = make_tables(db, err);
        quern_store_give(inbox, db);
    }
    if (!ok) {
        quern_inbox_close(inbox);
        return false;
    }
    *ret_inbox = inbox;
    return true;
}

void quern_inbox_close(struct quern_inbox *inbox)
{
    if (inbox == NULL) {
        return;
    }
    quern_keeper_done(inbox);
    for (size_t i = 0; i < inbox->idle_count; i++) {
        (void)sqlite3_close(inbox->idle[i]);
    }
    (void)pthread_mutex_destroy(&inbox->lock);
    qn_memory_free(inbox->path);
    qn_memory_free(inbox->consumer);
    qn_memory_free(inbox);
}
