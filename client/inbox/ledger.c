/* External calls that were begun, and what they answered. */
#include <string.h>

#include "client/inbox/store.h"

static bool note(struct quern_inbox *inbox, sqlite3 *db, const char *key, const char *step,
                 const char *answer, struct quern_error *err)
{
    const char *const texts[] = {inbox->consumer, key, step, answer};
    sqlite3_stmt *row = quern_store_prepare(db, quern_sql_ledger_put, texts, 4, err);

    if (row == NULL) {
        return false;
    }
    (void)sqlite3_bind_int64(row, 5, quern_store_now_ms(inbox));
    return quern_store_finish(db, row, err);
}

static bool look(struct quern_inbox *inbox, sqlite3 *db, const char *key, const char *step,
                 enum quern_ledger_state *ret_state, char **ret_answer, struct quern_error *err)
{
    const char *const texts[] = {inbox->consumer, key, step};
    sqlite3_stmt *row = quern_store_prepare(db, quern_sql_ledger_find, texts, 3, err);

    if (row == NULL) {
        return false;
    }
    int code = sqlite3_step(row);
    if (code == SQLITE_DONE) {
        *ret_state = QUERN_LEDGER_NEW;
    } else if (code == SQLITE_ROW && sqlite3_column_type(row, 0) == SQLITE_NULL) {
        *ret_state = QUERN_LEDGER_UNKNOWN;
    } else if (code == SQLITE_ROW) {
        const char *answer = (const char *)sqlite3_column_text(row, 0);
        *ret_state = QUERN_LEDGER_DONE;
        *ret_answer = qn_memory_copy_text(answer, strlen(answer));
    } else {
        (void)quern_store_fail(db, err);
    }
    (void)sqlite3_finalize(row);
    return code == SQLITE_DONE || code == SQLITE_ROW;
}

bool quern_ledger_begin(struct quern_inbox *inbox, const char *key, const char *step,
                        enum quern_ledger_state *ret_state, char **ret_answer,
                        struct quern_error *err)
{
    enum quern_ledger_state state = QUERN_LEDGER_NEW;
    sqlite3 *db;

    if (!quern_store_take(inbox, &db, err)) {
        return false;
    }
    bool ok = quern_store_run(db, quern_sql_begin, err) &&
              look(inbox, db, key, step, &state, ret_answer, err) &&
              (state != QUERN_LEDGER_NEW || note(inbox, db, key, step, NULL, err)) &&
              quern_store_run(db, quern_sql_commit, err);
    quern_store_give(inbox, db);
    if (ok) {
        *ret_state = state;
    }
    return ok;
}

bool quern_ledger_finish(struct quern_inbox *inbox, const char *key, const char *step,
                         const char *answer, struct quern_error *err)
{
    sqlite3 *db;

    if (!quern_store_take(inbox, &db, err)) {
        return false;
    }
    bool ok = note(inbox, db, key, step, answer, err);
    quern_store_give(inbox, db);
    return ok;
}
