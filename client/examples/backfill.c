/* A large job in chunks: a range of rows is cut into pieces, each piece is a message with a key of
 * its own, and a worker that has it does the piece in one transaction. So the job survives whatever
 * dies, goes on where it was, and can be planned again: what is planned or done is not done twice.
 *
 *     QUEUE_URL=... ./backfill plan shop.db RUN FROM TO CHUNK     e.g. 2026-03 1 1000000 500
 *     QUEUE_URL=... ./backfill work shop.db                       as many as the database bears
 *     ./backfill status shop.db RUN
 *
 * The job here: for each order the sum with tax, from the table `orders` into `totals`. */
#include <quern_envelope.h>
#include <quern_inbox.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"

/* A chunk should take seconds: short enough for a lease, long enough that a message is little
 * beside it. One worker thread, since the database has one writer. */
enum { KEY_MAX = 128, CHUNK_MAX = 100000, RELAY_AT_ONCE = 100 };

static const char tables[] =
    "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, net INTEGER);"
    "CREATE TABLE IF NOT EXISTS totals (order_id INTEGER, gross INTEGER, chunk_key TEXT);"
    "CREATE TABLE IF NOT EXISTS chunks (chunk_key TEXT PRIMARY KEY, run TEXT,"
    " is_done INTEGER NOT NULL DEFAULT 0)";

static const struct quern_envelope_kind kinds[] = {{"backfill.chunk", 1, 1}};

/* ---- the planner ---- */

struct plan {
    sqlite3 *database;
    const char *queue_url;
    const char *run;
    int64_t chunk;
};

/* The chunk and its message, or neither. A chunk that is planned already is left alone. */
static bool plan_chunk(const struct plan *plan, int64_t from, int64_t to)
{
    char key[KEY_MAX];
    sqlite3 *database = plan->database;
    struct quern_error err;

    (void)snprintf(key, sizeof(key), "%s/%" PRId64 "-%" PRId64, plan->run, from, to);
    const char *const row[] = {key, plan->run, NULL};
    json_t *envelope =
        json_pack("{s:s, s:i, s:s, s:s, s:{s:I, s:I}}", "messageType", "backfill.chunk",
                  "schemaVersion", 1, "idempotencyKey", key, "correlationId", plan->run, "payload",
                  "from", (json_int_t)from, "to", (json_int_t)to);
    char *text = json_dumps(envelope, JSON_COMPACT);
    json_decref(envelope);
    const struct quern_message message = {
        .body = text, .body_len = text != NULL ? strlen(text) : 0, .delay_s = QUERN_NOT_GIVEN};
    bool ok =
        text != NULL && sqlite3_exec(database, "BEGIN IMMEDIATE", 0, 0, 0) == SQLITE_OK &&
        quern_example_sql(database, "INSERT OR IGNORE INTO chunks (chunk_key, run) VALUES (?, ?)",
                          row, NULL, NULL) &&
        (sqlite3_changes(database) == 0 ||
         quern_outbox_add(database, plan->queue_url, &message, &err)) &&
        sqlite3_exec(database, "COMMIT", 0, 0, 0) == SQLITE_OK;
    if (sqlite3_get_autocommit(database) == 0) {
        (void)sqlite3_exec(database, "ROLLBACK", 0, 0, 0);
    }
    free(text);
    return ok;
}

static bool plan_all(const struct plan *plan, struct quern_inbox *inbox, int64_t from, int64_t to)
{
    struct quern_client *client;
    struct quern_error err;
    int64_t sent = RELAY_AT_ONCE;
    bool ok = true;

    for (int64_t at = from; ok && at <= to; at += plan->chunk) {
        int64_t last = to - at < plan->chunk ? to : at + plan->chunk - 1;
        ok = plan_chunk(plan, at, last);
    }
    if (!ok || !quern_client_new(NULL, &client, &err)) {
        (void)fprintf(stderr, "%s\n", ok ? err.message : sqlite3_errmsg(plan->database));
        return false;
    }
    /* What a planner that died had not sent goes out here as well. */
    while (ok && sent == RELAY_AT_ONCE) {
        ok = quern_outbox_relay(inbox, client, RELAY_AT_ONCE, &sent, &err);
    }
    if (!ok) {
        (void)fprintf(stderr, "%s: plan it again to send the rest\n", err.message);
    }
    quern_client_free(client);
    return ok;
}

/* ---- the worker ---- */

/* With the chunk that they come from, so that one done twice would be found. */
static bool write_totals(sqlite3 *transaction, const char *key, int64_t from, int64_t to)
{
    sqlite3_stmt *rows;

    if (sqlite3_prepare_v2(transaction,
                           "INSERT INTO totals SELECT id, net * 119 / 100, ? FROM orders"
                           " WHERE id BETWEEN ? AND ?",
                           -1, &rows, NULL) != SQLITE_OK) {
        return false;
    }
    (void)sqlite3_bind_text(rows, 1, key, -1, SQLITE_TRANSIENT);
    (void)sqlite3_bind_int64(rows, 2, from);
    (void)sqlite3_bind_int64(rows, 3, to);
    int code = sqlite3_step(rows);
    (void)sqlite3_finalize(rows);
    return code == SQLITE_DONE;
}

/* The rows, the mark on the chunk and the note of the inbox: one transaction. */
static struct quern_result do_chunk(void *state, struct quern_delivery *delivery,
                                    sqlite3 *transaction)
{
    const struct quern_envelope *envelope = quern_delivery_envelope(delivery);
    const char *const key[] = {envelope->idempotency_key, NULL};
    json_int_t from;
    json_int_t to;

    (void)state;
    if (json_unpack((json_t *)envelope->payload, "{s:I, s:I}", "from", &from, "to", &to) != 0) {
        return quern_permanent("no chunk");
    }
    return write_totals(transaction, key[0], from, to) &&
                   quern_example_sql(transaction,
                                     "UPDATE chunks SET is_done = 1 WHERE chunk_key = ?", key, NULL,
                                     NULL)
               ? quern_done()
               : quern_retry(-1);
}

/* ---- the command line ---- */

static void print_status(void *state, sqlite3_stmt *row)
{
    (void)state;
    (void)printf("%d of %d chunks done\n", sqlite3_column_int(row, 0), sqlite3_column_int(row, 1));
}

static bool to_number(const char *text, int64_t *ret_number)
{
    char *end;

    errno = 0;
    *ret_number = strtoll(text, &end, 10);
    return errno == 0 && *text != '\0' && *end == '\0' && *ret_number >= 0;
}

static int run(int argc, char **argv, sqlite3 *database, struct quern_inbox *inbox)
{
    struct plan plan = {.database = database, .queue_url = getenv("QUEUE_URL")};
    int64_t from;
    int64_t to;

    if (argc == 7 && strcmp(argv[1], "plan") == 0 && to_number(argv[4], &from) &&
        to_number(argv[5], &to) && to <= INT64_MAX - CHUNK_MAX && to_number(argv[6], &plan.chunk) &&
        plan.chunk >= 1 && plan.chunk <= CHUNK_MAX && plan.queue_url != NULL) {
        plan.run = argv[3];
        return plan_all(&plan, inbox, from, to) ? 0 : 1;
    }
    if (argc == 4 && strcmp(argv[1], "status") == 0) {
        const char *const texts[] = {argv[3], NULL};
        return quern_example_sql(database,
                                 "SELECT TOTAL(is_done), COUNT(*) FROM chunks WHERE run = ?", texts,
                                 print_status, NULL)
                   ? 0
                   : 1;
    }
    if (argc == 3 && strcmp(argv[1], "work") == 0) {
        const struct quern_consumer_options options = {
            .queue_url = plan.queue_url,
            .workers = 1,
            .kinds = kinds,
            .kind_count = sizeof(kinds) / sizeof(kinds[0]),
            .inbox = inbox,
            .apply = do_chunk,
            .allows_short_leases = true, /* those of `quern check` are */
        };
        return quern_example_run(&options);
    }
    (void)fprintf(stderr, "usage: QUEUE_URL=URL backfill plan DATABASE RUN FROM TO CHUNK\n"
                          "       QUEUE_URL=URL backfill work DATABASE\n"
                          "       backfill status DATABASE RUN\n");
    return 2;
}

int main(int argc, char **argv)
{
    const char *path = argc > 2 ? argv[2] : ":memory:";
    const struct quern_inbox_options kept = {.path = path, .consumer = "backfill"};
    struct quern_inbox *inbox;
    struct quern_error err;

    quern_example_begin();
    sqlite3 *database = quern_example_open(path, tables);
    if (database == NULL) {
        return 1;
    }
    if (!quern_inbox_open(&kept, &inbox, &err)) {
        (void)fprintf(stderr, "%s\n", err.message);
        (void)sqlite3_close(database);
        return 1;
    }
    int status = run(argc, argv, database, inbox);
    quern_inbox_close(inbox);
    (void)sqlite3_close(database);
    return status;
}
