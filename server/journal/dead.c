/* Rows that no queue owns any more, and how they go. */
#include "server/journal/dead.h"

#include "server/base/failpoint.h"
#include "server/journal/rows.h"

/* Rows looked at per transaction: some ten milliseconds of the writer's time. */
enum { SLICE = 5000 };

/* Above every generation: nothing of the queue is left to live. */
#define BELOW_ALL (INT64_C(1) << 32)

void qn_dead_init(struct qn_dead *dead)
{
    *dead = (struct qn_dead){.number = -1};
    qn_removal_init(&dead->slice);
}

void qn_dead_done(struct qn_dead *dead)
{
    qn_removal_done(&dead->slice);
    qn_dead_init(dead);
}

static int64_t first_key(int64_t number)
{
    return QN_MESSAGE_KEY(number, 0);
}

static int64_t last_key(int64_t number)
{
    return QN_MESSAGE_KEY(number, (UINT64_C(1) << QN_SEQUENCE_BITS) - 1);
}

static int note(struct qn_store *store, enum qn_sql sql, int64_t number, int64_t below)
{
    sqlite3_bind_int64(store->statements[sql], 1, number);
    sqlite3_bind_int64(store->statements[sql], 2, below);
    return qn_store_run(store, sql);
}

int qn_dead_note_drop(struct qn_store *store, uint32_t number)
{
    return note(store, QN_SQL_dead_note_drop, number, BELOW_ALL);
}

/* Reads one row of two numbers at most. *ret_found: whether there is one. */
static int find(struct qn_store *store, enum qn_sql sql, int64_t ret_columns[2], bool *ret_found)
{
    sqlite3_stmt *statement = store->statements[sql];
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) {
        ret_columns[0] = sqlite3_column_int64(statement, 0);
        ret_columns[1] = sqlite3_column_int64(statement, 1);
    }
    *ret_found = rc == SQLITE_ROW;
    int reset = sqlite3_reset(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : reset;
}

/* Looks at the next rows of the range and removes the dead among them. *ret_is_end: none are left
 * behind. */
static int remove_messages(struct qn_dead *dead, struct qn_store *store, bool *ret_is_end)
{
    sqlite3_stmt *select = store->statements[QN_SQL_dead_messages];
    int looked_at = 0;
    int rc;

    qn_removal_clear(&dead->slice);
    sqlite3_bind_int64(select, 1, dead->next_key);
    sqlite3_bind_int64(select, 2, last_key(dead->number));
    sqlite3_bind_int64(select, 3, SLICE);
    while ((rc = sqlite3_step(select)) == SQLITE_ROW) {
        int64_t key = sqlite3_column_int64(select, 0);
        if (sqlite3_column_int64(select, 2) < dead->below) {
            qn_removal_add_message(&dead->slice, key);
            qn_removal_add_content(&dead->slice, sqlite3_column_int64(select, 1));
        }
        dead->next_key = key + 1;
        looked_at++;
    }
    int reset = sqlite3_reset(select);
    rc = rc == SQLITE_DONE ? qn_removal_apply(&dead->slice, store) : reset;
    *ret_is_end = looked_at < SLICE;
    return rc;
}

static int remove_others(struct qn_dead *dead, struct qn_store *store, enum qn_sql sql,
                         bool *ret_is_end)
{
    sqlite3_stmt *statement = store->statements[sql];
    sqlite3_bind_int64(statement, 1, first_key(dead->number));
    sqlite3_bind_int64(statement, 2, last_key(dead->number));
    sqlite3_bind_int64(statement, 3, dead->below);
    sqlite3_bind_int64(statement, 4, SLICE);
    int rc = qn_store_run(store, sql);
    *ret_is_end = sqlite3_changes(store->db) < SLICE;
    return rc;
}

/* One slice of the queue under way, within a transaction; the last one forgets the queue. */
static int remove_slice(struct qn_dead *dead, struct qn_store *store, bool *ret_is_end)
{
    bool is_end = false;
    int rc = remove_messages(dead, store, &is_end);
    if (rc == SQLITE_OK && is_end) {
        rc = remove_others(dead, store, QN_SQL_dead_deduplication, &is_end);
    }
    if (rc == SQLITE_OK && is_end) {
        rc = remove_others(dead, store, QN_SQL_dead_attempts, &is_end);
    }
    if (rc == SQLITE_OK && is_end) {
        rc = qn_rows_run_number(store, QN_SQL_dead_forget, dead->number);
    }
    *ret_is_end = is_end;
    return rc;
}

int qn_dead_note_put(struct qn_store *store, uint32_t number, uint32_t generation)
{
    int64_t columns[2];
    bool found;
    sqlite3_bind_int64(store->statements[QN_SQL_dead_find], 1, number);
    int rc = find(store, QN_SQL_dead_find, columns, &found);
    if (rc == SQLITE_OK && found && columns[1] == BELOW_ALL) {
        /* A new queue takes the number of a dropped one: from now on its rows could not be told
         * from those still waiting to go. Numbers are seldom used again, so this may take its time.
         */
        struct qn_dead all;
        bool is_end = false;
        qn_dead_init(&all);
        all.number = number;
        all.below = BELOW_ALL;
        all.next_key = first_key(number);
        while (rc == SQLITE_OK && !is_end) {
            rc = remove_slice(&all, store, &is_end);
        }
        qn_dead_done(&all);
    }
    /* A queue that SQLite does not know may have been purged as well: within one batch. */
    return rc == SQLITE_OK ? note(store, QN_SQL_dead_note_purge, number, generation) : rc;
}

int qn_dead_remove_slice(struct qn_dead *dead, struct qn_store *store, bool *ret_is_all_gone)
{
    int64_t columns[2];
    bool found;
    bool is_end;
    int rc = find(store, QN_SQL_dead_first, columns, &found);
    if (rc != SQLITE_OK || !found) {
        *ret_is_all_gone = rc == SQLITE_OK;
        return rc;
    }
    if (dead->number != columns[0] || dead->below != columns[1]) {
        dead->number = columns[0];
        dead->below = columns[1];
        dead->next_key = first_key(dead->number);
    }
    int64_t next_key = dead->next_key;
    rc = qn_store_run(store, QN_SQL_begin);
    if (rc == SQLITE_OK) {
        rc = remove_slice(dead, store, &is_end);
    }
    if (rc == SQLITE_OK && qn_failpoint("purge.mid")) {
        rc = SQLITE_IOERR;
    }
    if (rc == SQLITE_OK) {
        rc = qn_store_run(store, QN_SQL_commit);
    }
    if (rc != SQLITE_OK) {
        qn_store_rollback(store);
        dead->next_key = next_key;
        return rc;
    }
    if (is_end) {
        dead->number = -1;
    }
    *ret_is_all_gone = false;
    return SQLITE_OK;
}
