/* A consumer that tells others what it did. The row and the message about it are written in one
 * transaction; a relay sends the message afterwards, and again until it is sent. So there is never
 * a row that nobody hears of, nor a message about a row that is not there. A message may be sent
 * twice: whoever receives it needs an inbox as well, and finds the business key in it.
 *
 *     QUEUE_URL=... OUTPUT_QUEUE_URL=... ./outbox_relay orders.db
 *
 * One process of one database at a time keeps the order of what is sent; more are no harm. */
#include <quern_envelope.h>
#include <quern_inbox.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "example.h"

enum { RELAY_AT_ONCE = 100, RELAY_PAUSE_MS = 200 };

static const char tables[] = "CREATE TABLE IF NOT EXISTS orders (order_key TEXT, item TEXT)";

static const struct quern_envelope_kind kinds[] = {{"order.placed", 1, 1},
                                                   {"quern.work", 1, 1} /* of `quern check` */};

struct shop {
    struct quern_inbox *inbox;
    struct quern_client *client; /* of the relay */
    const char *output_queue_url;
    atomic_bool is_closing;
};

/* The text of the message about it; whoever had the order's key has the event's, too. */
static char *event_of(const struct quern_envelope *order, const char *item)
{
    json_t *event = json_pack("{s:s, s:i, s:s, s:s*, s:{s:s}}", "messageType", "order.written",
                              "schemaVersion", 1, "idempotencyKey", order->idempotency_key,
                              "correlationId", order->correlation_id, "payload", "id", item);
    char *text = json_dumps(event, JSON_COMPACT);

    json_decref(event);
    return text;
}

/* Both, or neither: whatever is returned but QUERN_DONE rolls both back. */
static struct quern_result write_order(void *state, struct quern_delivery *delivery,
                                       sqlite3 *transaction)
{
    const struct shop *shop = state;
    const struct quern_envelope *envelope = quern_delivery_envelope(delivery);
    const char *item = json_string_value(json_object_get(envelope->payload, "id"));
    const char *const row[] = {envelope->idempotency_key, item, NULL};
    struct quern_error err;

    if (item == NULL) {
        return quern_permanent("an order of nothing");
    }
    char *text = event_of(envelope, item);
    const struct quern_message message = {
        .body = text, .body_len = text != NULL ? strlen(text) : 0, .delay_s = QUERN_NOT_GIVEN};
    bool ok = text != NULL &&
              quern_example_sql(transaction, "INSERT INTO orders VALUES (?, ?)", row, NULL, NULL) &&
              quern_outbox_add(transaction, shop->output_queue_url, &message, &err);
    free(text);
    return ok ? quern_done() : quern_retry(-1);
}

/* Sends what is there; after the word to close once more. What cannot be sent now stays, also over
 * the end of the process. */
static void *relay(void *state)
{
    const struct timespec pause = {.tv_nsec = RELAY_PAUSE_MS * 1000000L};
    struct shop *shop = state;
    struct quern_error err;
    bool is_last;

    do {
        int64_t sent = 0;
        is_last = atomic_load(&shop->is_closing);
        if (!quern_outbox_relay(shop->inbox, shop->client, RELAY_AT_ONCE, &sent, &err)) {
            (void)fprintf(stderr, "outbox: %s: %s\n", err.code, err.message);
        }
        if (sent < RELAY_AT_ONCE && !is_last) {
            (void)nanosleep(&pause, NULL);
        }
    } while (!is_last);
    return NULL;
}

static int consume_and_relay(struct shop *shop)
{
    const struct quern_consumer_options options = {
        .queue_url = getenv("QUEUE_URL"),
        .state = shop,
        .kinds = kinds,
        .kind_count = sizeof(kinds) / sizeof(kinds[0]),
        .inbox = shop->inbox,
        .apply = write_order,
        .allows_short_leases = true, /* those of `quern check` are */
    };
    pthread_t thread;

    if (pthread_create(&thread, NULL, relay, shop) != 0) {
        return 1;
    }
    int status = quern_example_run(&options);
    atomic_store(&shop->is_closing, true);
    (void)pthread_join(thread, NULL);
    return status;
}

int main(int argc, char **argv)
{
    struct shop shop = {.output_queue_url = getenv("OUTPUT_QUEUE_URL")};
    struct quern_error err = {.message = ""};

    if (argc != 2 || shop.output_queue_url == NULL) {
        (void)fprintf(stderr, "usage: QUEUE_URL=URL OUTPUT_QUEUE_URL=URL outbox_relay DATABASE\n");
        return 2;
    }
    quern_example_begin();
    sqlite3 *database = quern_example_open(argv[1], tables);
    if (database == NULL) {
        return 1;
    }
    (void)sqlite3_close(database);
    const struct quern_inbox_options kept = {.path = argv[1], .consumer = "orders"};
    int status = 1;
    if (quern_inbox_open(&kept, &shop.inbox, &err) && quern_client_new(NULL, &shop.client, &err)) {
        status = consume_and_relay(&shop);
    } else {
        (void)fprintf(stderr, "%s\n", err.message);
    }
    quern_client_free(shop.client);
    quern_inbox_close(shop.inbox);
    return status;
}
