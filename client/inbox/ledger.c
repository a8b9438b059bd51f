/* External calls that were begun, and messages to be sent. */
#include <string.h>

#include "client/inbox/store.h"
#include "client/internal.h"

/* ---- ledger ---- */

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

/* ---- outbox ---- */

bool quern_outbox_add(struct sqlite3 *transaction, const char *queue_url,
                      const struct quern_message *message, struct quern_error *err)
{
    const char *const texts[] = {queue_url, NULL, message->group_id, message->deduplication_id};
    sqlite3_stmt *row = quern_store_prepare(transaction, quern_sql_outbox_add, texts, 4, err);

    if (row == NULL) {
        return false;
    }
    (void)sqlite3_bind_blob64(row, 2, message->body, message->body_len, SQLITE_TRANSIENT);
    return quern_store_finish(transaction, row, err);
}

static bool send_row(struct quern_client *client, sqlite3_stmt *row, struct quern_error *err)
{
    const char *queue_url = (const char *)sqlite3_column_text(row, 1);
    bool is_fifo = qn_str_ends_with(qn_str_from_cstr(queue_url), QN_STR(".fifo"));
    char own_id[40];
    struct quern_message message = {
        .body = sqlite3_column_blob(row, 2),
        .body_len = (size_t)sqlite3_column_bytes(row, 2),
        .group_id = (const char *)sqlite3_column_text(row, 3),
        .deduplication_id = (const char *)sqlite3_column_text(row, 4),
        .delay_s = QUERN_NOT_GIVEN,
    };

    (void)snprintf(own_id, sizeof(own_id), "outbox-%lld", (long long)sqlite3_column_int64(row, 0));
    if (is_fifo && message.deduplication_id == NULL) {
        message.deduplication_id = own_id;
    }
    return quern_send_message(client, queue_url, &message, NULL, err);
}

/* *ret_any: whether there was one. */
static bool relay_first(sqlite3 *db, struct quern_client *client, bool *ret_any,
                        struct quern_error *err)
{
    sqlite3_stmt *row = quern_store_prepare(db, quern_sql_outbox_first, NULL, 0, err);

    if (row == NULL) {
        return false;
    }
    int code = sqlite3_step(row);
    *ret_any = code == SQLITE_ROW;
    bool ok = code == SQLITE_DONE || code == SQLITE_ROW || quern_store_fail(db, err);
    int64_t id = code == SQLITE_ROW ? sqlite3_column_int64(row, 0) : 0;
    ok = ok && (code == SQLITE_DONE || send_row(client, row, err));
    (void)sqlite3_finalize(row);
    if (!ok || code == SQLITE_DONE) {
        return ok;
    }
    sqlite3_stmt *sent = quern_store_prepare(db, quern_sql_outbox_drop, NULL, 0, err);
    if (sent == NULL) {
        return false;
    }
    (void)sqlite3_bind_int64(sent, 1, id);
    return quern_store_finish(db, sent, err);
}

bool quern_outbox_relay(struct quern_inbox *inbox, struct quern_client *client, int64_t most,
                        int64_t *ret_sent, struct quern_error *err)
{
    bool any = true;
    bool ok = true;
    sqlite3 *db;

    *ret_sent = 0;
    if (!quern_store_take(inbox, &db, err)) {
        return false;
    }
    while (ok && any && *ret_sent < most) {
        ok = relay_first(db, client, &any, err);
        *ret_sent += ok && any;
    }
    quern_store_give(inbox, db);
    return ok;
}
