/* Makes the file of a request, once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quern_envelope.h>

#include "example.h"
#include "exports/exports.h"

enum { URL_MAX = 2048 };

static const struct quern_envelope_kind kinds[] = {{"export.requested", 1, 1},
                                                   {"quern.work", 1, 1} /* of `quern check` */};

/* Best effort, for the status page alone: what is true stands in the inbox. */
static void show(const struct exports *exports, const char *id, const char *state,
                 const char *reason)
{
    sqlite3 *database = quern_example_open(sqlite3_db_filename(exports->database, "main"), "");

    if (database != NULL) {
        (void)quern_exports_note(database, id, state, NULL, reason);
        (void)sqlite3_close(database);
    }
}

/* The file lies under the key of the request, so a second call finds it made. A call without an
 * answer is repeated when the message is back: the ledger says that it was begun, and the service
 * is asked first. */
static struct quern_result make_file(void *state, struct quern_delivery *delivery)
{
    const struct exports *exports = state;
    const char *key = quern_delivery_envelope(delivery)->idempotency_key;
    enum quern_ledger_state found;
    struct quern_error err;
    char url[URL_MAX];
    char *answer = NULL;
    long status = 0;

    if (!quern_ledger_begin(exports->inbox, key, "file", &found, &answer, &err)) {
        return quern_retry(-1);
    }
    quern_text_free(answer);
    if (found == QUERN_LEDGER_DONE) {
        return quern_done();
    }
    show(exports, key, "RUNNING", NULL);
    if (found == QUERN_LEDGER_UNKNOWN) {
        (void)snprintf(url, sizeof(url), "%s/v1/effects/%s", exports->files_url, key);
        status = quern_example_http(url, key, NULL, CALL_TIMEOUT_MS);
    }
    if (status != 200) {
        (void)snprintf(url, sizeof(url), "%s/v1/effects", exports->files_url);
        status = quern_example_http(url, key, quern_delivery_body(delivery, NULL), CALL_TIMEOUT_MS);
    }
    if (status == 422) {
        show(exports, key, "FAILED", "the service refuses it");
        return quern_permanent("the service refuses it");
    }
    return status == 200 && quern_ledger_finish(exports->inbox, key, "file", "made", &err)
               ? quern_done()
               : quern_retry(-1);
}

static bool tell(const struct exports *exports, const char *key, sqlite3 *transaction)
{
    json_t *event = json_pack("{s:s, s:i, s:s, s:{s:s}}", "messageType", "export.finished",
                              "schemaVersion", 1, "idempotencyKey", key, "payload", "id", key);
    char *text = json_dumps(event, JSON_COMPACT);
    struct quern_error err;

    json_decref(event);
    const struct quern_message message = {
        .body = text, .body_len = text != NULL ? strlen(text) : 0, .delay_s = QUERN_NOT_GIVEN};
    bool ok =
        text != NULL && quern_outbox_add(transaction, exports->output_queue_url, &message, &err);
    free(text);
    return ok;
}

/* In the transaction of the inbox: the state, the word about it, the note that it is done. */
static struct quern_result finish(void *state, struct quern_delivery *delivery,
                                  sqlite3 *transaction)
{
    const struct exports *exports = state;
    const char *key = quern_delivery_envelope(delivery)->idempotency_key;
    char file[URL_MAX];

    (void)snprintf(file, sizeof(file), "%s/v1/effects/%s", exports->files_url, key);
    return quern_exports_note(transaction, key, "SUCCEEDED", file, NULL) &&
                   (exports->output_queue_url == NULL || tell(exports, key, transaction))
               ? quern_done()
               : quern_retry(-1);
}

/* A request that can never succeed is not tried again: it goes to the dead letters at once. Where
 * they are not known, and for what is no request at all, the redrive policy of the queue does it.
 */
static bool put_aside(void *state, const struct quern_delivery *delivery, const char *reason)
{
    const struct exports *exports = state;
    const struct quern_received *received = quern_delivery_received(delivery);
    const char *group = quern_delivery_group(delivery);
    const struct quern_attribute why = {.name = "reason", .data_type = "String", .text = reason};
    const struct quern_message letter = {
        .body = received->body,
        .body_len = received->body_len,
        .group_id = group,
        .deduplication_id = group != NULL ? received->message_id : NULL, /* of a FIFO queue */
        .delay_s = QUERN_NOT_GIVEN,
        .attributes = &why,
        .attribute_count = 1,
    };
    struct quern_error err;

    return exports->dlq_url != NULL && quern_delivery_envelope(delivery) != NULL &&
           quern_send_message(exports->client, exports->dlq_url, &letter, NULL, &err);
}

int quern_exports_work(struct exports *exports)
{
    const struct quern_consumer_options options = {
        .queue_url = exports->queue_url,
        .handler = make_file,
        .state = exports,
        .max_messages = 1, /* files take long: none waits here while another process is idle */
        .allows_short_leases = true, /* those of `quern check` are */
        .kinds = kinds,
        .kind_count = sizeof(kinds) / sizeof(kinds[0]),
        .inbox = exports->inbox,
        .apply = finish,
        .quarantine = put_aside,
    };

    return quern_example_run(&options);
}
