/* Payloads that are too large for a message: the object lies elsewhere, under the SHA-256 of its
 * bytes, and the message has its place, its size and that checksum.
 *
 *     STORE_URL=... QUEUE_URL=... ./payload_reference send KEY FILE
 *     QUEUE_URL=... ./payload_reference work documents.db
 *
 * The store takes PUT and GET of STORE_URL/SHA256. An object is never changed: other bytes have
 * another name. It must outlive its message: retention of the queue, plus that of the dead-letter
 * queue, plus the time in which somebody may still replay. */
#include <quern_envelope.h>
#include <quern_inbox.h>

#include <curl/curl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"

enum {
    OBJECT_MAX = 64 * 1024 * 1024,
    FETCH_TIMEOUT_MS = 50000,
    URL_MAX = 2048,
    HEX_CHARS = 2 * SHA256_DIGEST_SIZE + 1
};

static const struct quern_envelope_kind kinds[] = {{"document.stored", 1, 1},
                                                   {"quern.work", 1, 1} /* of `quern check` */};

struct object {
    char *bytes;
    size_t len;
    size_t max;
};

static void write_checksum(const struct object *object, char ret_hex[HEX_CHARS])
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    struct sha256_ctx hash;

    sha256_init(&hash);
    sha256_update(&hash, object->len, (const uint8_t *)object->bytes);
    sha256_digest(&hash, sizeof(digest), digest);
    for (size_t i = 0; i < sizeof(digest); i++) {
        (void)snprintf(ret_hex + 2 * i, 3, "%02x", digest[i]);
    }
}

static size_t keep(char *bytes, size_t size, size_t count, void *state)
{
    struct object *object = state;
    size_t len = size * count;

    if (len > object->max - object->len) {
        return 0; /* more than the message says: ends the transfer */
    }
    memcpy(object->bytes + object->len, bytes, len);
    object->len += len;
    return len;
}

/* The HTTP status of GET into `got`, or of PUT of `given`; 0: no answer, or too long. */
static long transfer(const char *url, struct object *got, const struct object *given)
{
    struct object answer = {.max = 0};
    CURL *handle = curl_easy_init();
    long status = 0;

    (void)curl_easy_setopt(handle, CURLOPT_URL, url);
    (void)curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)FETCH_TIMEOUT_MS);
    (void)curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, keep);
    (void)curl_easy_setopt(handle, CURLOPT_WRITEDATA, got != NULL ? got : &answer);
    if (given != NULL) {
        (void)curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, "PUT");
        (void)curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)given->len);
        (void)curl_easy_setopt(handle, CURLOPT_POSTFIELDS, given->bytes);
    }
    if (curl_easy_perform(handle) == CURLE_OK) {
        (void)curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    }
    curl_easy_cleanup(handle);
    return status;
}

/* ---- the sender ---- */

static bool read_file(const char *path, struct object *ret_object)
{
    FILE *file = fopen(path, "rb");

    if (file == NULL) {
        return false;
    }
    ret_object->bytes = malloc(OBJECT_MAX);
    ret_object->len = ret_object->bytes != NULL ? fread(ret_object->bytes, 1, OBJECT_MAX, file) : 0;
    bool ok = ret_object->bytes != NULL && ferror(file) == 0 && fgetc(file) == EOF;
    (void)fclose(file);
    return ok;
}

/* The object first: a message must never speak of what is not there. An object without a message is
 * rubbish for the store's life-cycle rule, no more. */
static bool send_reference(const char *key, const struct object *object)
{
    char checksum[HEX_CHARS];
    char url[URL_MAX];
    struct quern_client *client = NULL;
    struct quern_error err = {.message = "the store does not take it"};

    write_checksum(object, checksum);
    (void)snprintf(url, sizeof(url), "%s/%s", getenv("STORE_URL"), checksum);
    json_t *envelope =
        json_pack("{s:s, s:i, s:s, s:{s:s, s:s, s:I}}", "messageType", "document.stored",
                  "schemaVersion", 1, "idempotencyKey", key, "payload", "url", url, "sha256",
                  checksum, "bytes", (json_int_t)object->len);
    char *text = json_dumps(envelope, JSON_COMPACT);
    json_decref(envelope);
    const struct quern_message message = {
        .body = text, .body_len = text != NULL ? strlen(text) : 0, .delay_s = QUERN_NOT_GIVEN};
    bool ok = text != NULL && transfer(url, NULL, object) / 100 == 2 &&
              quern_client_new(NULL, &client, &err) &&
              quern_send_message(client, getenv("QUEUE_URL"), &message, NULL, &err);
    if (!ok) {
        (void)fprintf(stderr, "%s\n", err.message);
    }
    quern_client_free(client);
    free(text);
    return ok;
}

/* ---- the worker ---- */

struct document {
    struct quern_envelope envelope;
    struct object object;
};

/* Fetches and compares, outside of any transaction. What is not there may only be late; what is
 * there with other bytes will never be right. */
static struct quern_result fetch(void *state, struct quern_delivery *delivery)
{
    struct document *document = state;
    const char *url;
    const char *wanted;
    json_int_t bytes;
    char checksum[HEX_CHARS];

    (void)delivery;
    if (json_unpack((json_t *)document->envelope.payload, "{s:s, s:s, s:I}", "url", &url, "sha256",
                    &wanted, "bytes", &bytes) != 0 ||
        bytes < 0 || bytes > OBJECT_MAX) {
        return quern_permanent("no reference to a payload");
    }
    document->object.max = (size_t)bytes;
    document->object.bytes = malloc((size_t)bytes + 1);
    if (document->object.bytes == NULL || transfer(url, &document->object, NULL) != 200) {
        return quern_retry(-1);
    }
    write_checksum(&document->object, checksum);
    return document->object.len == (size_t)bytes && strcmp(checksum, wanted) == 0
               ? quern_done()
               : quern_permanent("the payload is not the one that was sent");
}

static struct quern_result write_document(void *state, struct quern_delivery *delivery,
                                          sqlite3 *transaction)
{
    const struct document *document = state;
    sqlite3_stmt *row;

    (void)delivery;
    if (sqlite3_prepare_v2(transaction, "INSERT INTO documents VALUES (?, ?)", -1, &row, NULL) !=
        SQLITE_OK) {
        return quern_retry(-1);
    }
    (void)sqlite3_bind_text(row, 1, document->envelope.idempotency_key, -1, SQLITE_TRANSIENT);
    (void)sqlite3_bind_blob64(row, 2, document->object.bytes, document->object.len,
                              SQLITE_TRANSIENT);
    bool ok = sqlite3_step(row) == SQLITE_DONE;
    (void)sqlite3_finalize(row);
    return ok ? quern_done() : quern_retry(-1);
}

static struct quern_result handle(void *inbox, struct quern_delivery *delivery)
{
    struct document document = {.envelope = {.document = NULL}};
    char reason[QUERN_REASON_MAX];
    size_t len;
    const char *body = quern_delivery_body(delivery, &len);

    if (!quern_envelope_read(body, len, kinds, 2, &document.envelope, reason)) {
        return quern_permanent(reason);
    }
    char *payload =
        json_dumps(document.envelope.payload, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    const struct quern_inbox_work work = {.key = document.envelope.idempotency_key,
                                          .payload = payload,
                                          .payload_len = payload != NULL ? strlen(payload) : 0,
                                          .prepare = fetch,
                                          .apply = write_document,
                                          .state = &document};
    struct quern_result result =
        payload != NULL ? quern_inbox_do(inbox, delivery, &work, NULL) : quern_retry(-1);
    free(payload);
    free(document.object.bytes);
    quern_envelope_done(&document.envelope);
    return result;
}

static int consume(const char *path)
{
    const struct quern_inbox_options kept = {.path = path, .consumer = "documents"};
    sqlite3 *database = quern_example_open(
        path, "CREATE TABLE IF NOT EXISTS documents (document_key TEXT, bytes BLOB)");
    struct quern_inbox *inbox;
    struct quern_error err;

    if (database == NULL || !quern_inbox_open(&kept, &inbox, &err)) {
        (void)sqlite3_close(database);
        return 1;
    }
    (void)sqlite3_close(database);
    const struct quern_consumer_options options = {
        .queue_url = getenv("QUEUE_URL"),
        .handler = handle,
        .state = inbox,
        .allows_short_leases = true, /* those of `quern check` are */
    };
    int status = quern_example_run(&options);
    quern_inbox_close(inbox);
    return status;
}

int main(int argc, char **argv)
{
    struct object object = {.len = 0};
    int status = 2;

    quern_example_begin();
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    if (argc == 4 && strcmp(argv[1], "send") == 0 && getenv("STORE_URL") != NULL &&
        getenv("QUEUE_URL") != NULL) {
        status = read_file(argv[3], &object) && send_reference(argv[2], &object) ? 0 : 1;
    } else if (argc == 3 && strcmp(argv[1], "work") == 0) {
        status = consume(argv[2]);
    } else {
        (void)fprintf(stderr, "usage: STORE_URL=URL QUEUE_URL=URL payload_reference send KEY FILE\n"
                              "       QUEUE_URL=URL payload_reference work DATABASE\n");
    }
    free(object.bytes);
    curl_global_cleanup();
    return status;
}
