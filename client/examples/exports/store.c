/* The requests, in the database of the inbox. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "example.h"
#include "exports/exports.h"

const char quern_exports_tables[] =
    "CREATE TABLE IF NOT EXISTS requests (id TEXT PRIMARY KEY, request_key TEXT UNIQUE,"
    " parameters TEXT, state TEXT NOT NULL, file TEXT, reason TEXT, accepted_at INTEGER)";

static void copy(char *target, size_t size, sqlite3_stmt *row, int column)
{
    const unsigned char *text = sqlite3_column_text(row, column);

    (void)snprintf(target, size, "%s", text != NULL ? (const char *)text : "");
}

struct found {
    struct export_request *request;
    char *parameters; /* of the request that is there; NULL: not wanted */
    bool is_any;
};

static void take_request(void *state, sqlite3_stmt *row)
{
    struct found *found = state;

    found->is_any = true;
    copy(found->request->id, sizeof(found->request->id), row, 0);
    copy(found->request->state, sizeof(found->request->state), row, 1);
    copy(found->request->file, sizeof(found->request->file), row, 2);
    copy(found->request->reason, sizeof(found->request->reason), row, 3);
    if (sqlite3_column_count(row) > 4) {
        found->parameters = strdup((const char *)sqlite3_column_text(row, 4));
    }
}

/* The message has the id of the request as its business key: the worker makes one file for it,
 * however often the message comes. */
static bool add_message(const struct exports *exports, const char *id, const json_t *parameters)
{
    json_t *envelope = json_pack(
        "{s:s, s:i, s:s, s:s, s:{s:s, s:O}}", "messageType", "export.requested", "schemaVersion", 1,
        "idempotencyKey", id, "correlationId", id, "payload", "id", id, "parameters", parameters);
    char *text = json_dumps(envelope, JSON_COMPACT | JSON_SORT_KEYS);
    struct quern_error err;

    json_decref(envelope);
    const struct quern_message message = {
        .body = text, .body_len = text != NULL ? strlen(text) : 0, .delay_s = QUERN_NOT_GIVEN};
    bool ok =
        text != NULL && quern_outbox_add(exports->database, exports->queue_url, &message, &err);
    free(text);
    return ok;
}

static bool add_request(const struct exports *exports, const char *key, const char *parameters)
{
    const char *const texts[] = {key, parameters, NULL};

    return quern_example_sql(exports->database,
                             "INSERT OR IGNORE INTO requests VALUES (lower(hex(randomblob(16))),"
                             " ?1, ?2, 'ACCEPTED', NULL, NULL, unixepoch())",
                             texts, NULL, NULL);
}

enum export_accepted quern_exports_accept(const struct exports *exports, const char *key,
                                          const json_t *parameters,
                                          struct export_request *ret_request)
{
    char *text = json_dumps(parameters, JSON_COMPACT | JSON_SORT_KEYS);
    const char *const by_key[] = {key, NULL};
    struct found found = {.request = ret_request};
    sqlite3 *database = exports->database;

    bool ok = text != NULL && sqlite3_exec(database, "BEGIN IMMEDIATE", 0, 0, 0) == SQLITE_OK &&
              add_request(exports, key, text);
    bool is_new = ok && sqlite3_changes(database) == 1;
    ok = ok &&
         quern_example_sql(database,
                           "SELECT id, state, file, reason, parameters FROM requests"
                           " WHERE request_key = ?",
                           by_key, take_request, &found) &&
         found.is_any && (!is_new || add_message(exports, ret_request->id, parameters)) &&
         sqlite3_exec(database, "COMMIT", 0, 0, 0) == SQLITE_OK;
    if (sqlite3_get_autocommit(database) == 0) {
        (void)sqlite3_exec(database, "ROLLBACK", 0, 0, 0);
    }
    bool is_same = ok && found.parameters != NULL && strcmp(found.parameters, text) == 0;
    free(found.parameters);
    free(text);
    if (!ok) {
        return EXPORT_NO_STORE;
    }
    return is_same ? EXPORT_ACCEPTED : EXPORT_OTHER_PARAMETERS;
}

bool quern_exports_find(const struct exports *exports, const char *id,
                        struct export_request *ret_request)
{
    const char *const by_id[] = {id, NULL};
    struct found found = {.request = ret_request};

    return quern_example_sql(exports->database,
                             "SELECT id, state, file, reason FROM requests WHERE id = ?", by_id,
                             take_request, &found) &&
           found.is_any;
}

static void add_number(void *state, sqlite3_stmt *row)
{
    (void)json_object_set_new(state, (const char *)sqlite3_column_text(row, 0),
                              json_integer(sqlite3_column_int64(row, 1)));
}

json_t *quern_exports_summary(const struct exports *exports)
{
    json_t *summary = json_object();

    (void)quern_example_sql(exports->database,
                            "SELECT state, COUNT(*) FROM requests GROUP BY state", NULL, add_number,
                            summary);
    (void)quern_example_sql(exports->database,
                            "SELECT 'oldestWaitingSeconds', unixepoch() - MIN(accepted_at)"
                            " FROM requests WHERE state IN ('ACCEPTED', 'RUNNING')",
                            NULL, add_number, summary);
    return summary;
}

bool quern_exports_note(sqlite3 *database, const char *id, const char *state, const char *file,
                        const char *reason)
{
    const char *const texts[] = {id, state, file != NULL ? file : "", reason != NULL ? reason : "",
                                 NULL};

    /* A request that is not there came from another front end. */
    return quern_example_sql(database,
                             "INSERT INTO requests (id, state, file, reason, accepted_at)"
                             " VALUES (?1, ?2, ?3, ?4, unixepoch()) ON CONFLICT (id) DO UPDATE"
                             " SET state = ?2, file = ?3, reason = ?4 WHERE state <> 'SUCCEEDED'",
                             texts, NULL, NULL);
}
