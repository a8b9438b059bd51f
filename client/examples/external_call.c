/* A consumer whose effect is somewhere else: it calls a service, which no transaction can hold. A
 * ledger says which calls were begun and what they answered, so a message that comes again, or a
 * process that died in the middle of a call, knows where it stands:
 *
 *     nothing noted          note it, make the call
 *     begun, no answer       nobody knows: ask the service, and repeat with the same key if need be
 *     answered               nothing to do
 *
 * A call without an answer is neither done nor failed. The message comes back and the service is
 * asked; when it has told nothing after ASKED_AT_MOST receives, the payment is written down for
 * somebody to look at, and the message is deleted.
 *
 *     QUEUE_URL=... SERVICE_URL=... ./external_call calls.db
 *
 * The service takes POST /v1/effects with an Idempotency-Key, and GET /v1/effects/KEY tells whether
 * it has it: `quern check -- ./external_call {run}.db` has one like that. */
#include <quern_envelope.h>
#include <quern_inbox.h>

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"

/* A claim that was not renewed for STALE_MS is that of a dead process. The redrive policy of the
 * queue must allow more receives than ASKED_AT_MOST. */
enum { CALL_TIMEOUT_MS = 30000, STALE_MS = 6000, ASKED_AT_MOST = 4, URL_MAX = 2048 };

static const char tables[] =
    "CREATE TABLE IF NOT EXISTS payments (payment_key TEXT);"
    "CREATE TABLE IF NOT EXISTS unknown_payments (payment_key TEXT PRIMARY KEY, message TEXT)";

static const struct quern_envelope_kind kinds[] = {{"payment.wanted", 1, 1},
                                                   {"quern.work", 1, 1} /* of `quern check` */};

struct desk {
    struct quern_inbox *inbox;
    const char *path; /* of the database */
    const char *service_url;
};

static long ask_whether_paid(const struct desk *desk, const char *key)
{
    char url[URL_MAX];

    (void)snprintf(url, sizeof(url), "%s/v1/effects/%s", desk->service_url, key);
    return quern_example_http(url, key, NULL, CALL_TIMEOUT_MS);
}

static long pay(const struct desk *desk, const char *key, const char *body)
{
    char url[URL_MAX];

    (void)snprintf(url, sizeof(url), "%s/v1/effects", desk->service_url);
    return quern_example_http(url, key, body, CALL_TIMEOUT_MS);
}

/* Outside of any transaction. */
static struct quern_result pay_once(void *state, struct quern_delivery *delivery)
{
    const struct desk *desk = state;
    const char *key = quern_delivery_envelope(delivery)->idempotency_key;
    enum quern_ledger_state found;
    struct quern_error err;
    char *answer = NULL;

    if (!quern_ledger_begin(desk->inbox, key, "pay", &found, &answer, &err)) {
        return quern_retry(-1);
    }
    quern_text_free(answer);
    if (found == QUERN_LEDGER_DONE) {
        return quern_done();
    }
    /* What was begun may have been done: a look is cheaper than a second call, and for a service
     * that knows no keys it is all there is. */
    bool is_paid = found == QUERN_LEDGER_UNKNOWN && ask_whether_paid(desk, key) == 200;
    long status = is_paid ? 200 : pay(desk, key, quern_delivery_body(delivery, NULL));
    if (status == 422) {
        return quern_permanent("the service refuses it");
    }
    /* No answer, or one of a service in trouble, is no decision: the ledger says "begun" until the
     * message is back. */
    if (status == 0 || status >= 500) {
        return quern_ambiguous(key);
    }
    return status == 200 && quern_ledger_finish(desk->inbox, key, "pay", "paid", &err)
               ? quern_done()
               : quern_retry(-1);
}

/* Durable when it returns true: only then is the message deleted. */
static bool write_down_unknown(void *state, const struct quern_delivery *delivery, const char *key)
{
    const struct desk *desk = state;
    const char *const row[] = {key, quern_delivery_body(delivery, NULL), NULL};

    if (quern_delivery_receive_count(delivery) < ASKED_AT_MOST) {
        return false; /* it comes back, and the service may know by then */
    }
    sqlite3 *database = quern_example_open(desk->path, tables);
    bool ok = database != NULL &&
              quern_example_sql(database, "INSERT OR REPLACE INTO unknown_payments VALUES (?, ?)",
                                row, NULL, NULL);
    (void)sqlite3_close(database);
    return ok;
}

/* The program's own record of it goes here, in one transaction with the note that it is done. */
static struct quern_result write_down(void *state, struct quern_delivery *delivery,
                                      sqlite3 *transaction)
{
    const char *const row[] = {quern_delivery_envelope(delivery)->idempotency_key, NULL};

    (void)state;
    return quern_example_sql(transaction, "INSERT INTO payments VALUES (?)", row, NULL, NULL)
               ? quern_done()
               : quern_retry(-1);
}

int main(int argc, char **argv)
{
    const char *sink_url = getenv("QUERN_SINK_URL"); /* of `quern check` */
    struct desk desk = {.service_url = sink_url != NULL ? sink_url : getenv("SERVICE_URL")};
    struct quern_error err;

    if (argc != 2 || desk.service_url == NULL) {
        (void)fprintf(stderr, "usage: QUEUE_URL=URL SERVICE_URL=URL external_call DATABASE\n");
        return 2;
    }
    quern_example_begin();
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    desk.path = argv[1];
    sqlite3 *database = quern_example_open(argv[1], tables);
    if (database == NULL) {
        return 1;
    }
    (void)sqlite3_close(database);
    const struct quern_inbox_options kept = {
        .path = argv[1], .consumer = "payments", .stale_ms = STALE_MS};
    if (!quern_inbox_open(&kept, &desk.inbox, &err)) {
        (void)fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    const struct quern_consumer_options options = {
        .queue_url = getenv("QUEUE_URL"),
        .handler = pay_once,
        .state = &desk,
        .kinds = kinds,
        .kind_count = sizeof(kinds) / sizeof(kinds[0]),
        .inbox = desk.inbox,
        .apply = write_down,
        .reconcile = write_down_unknown,
        .allows_short_leases = true, /* those of `quern check` are */
    };
    int status = quern_example_run(&options);
    quern_inbox_close(desk.inbox);
    curl_global_cleanup();
    return status;
}
