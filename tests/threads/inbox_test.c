/* The threads of a consumer with an inbox among each other: workers that claim keys, apply their
 * effects in one database and meet copies, the thread that renews the claims, a relay beside them,
 * and the end in the midst of it, with a real server. Run under TSan. */
#include <poll.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/quern_inbox.h"
#include "tests/support/live_server.h"

enum { KEYS = 60, COPIES = 2, WORKERS = 8, STALE_MS = 300, SLOW_MS = 400, FIRST_RUN = KEYS / 2 };

struct shop {
    struct quern_inbox *inbox;
    struct live_server server;
    char *queue_url;
    char *output_queue_url;
    struct quern_consumer *consumer;
    int until;            /* so many are finished: then it is told to stop */
    pthread_mutex_t lock; /* of the next */
    int finished;
    atomic_bool is_closing;
};

static void check(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "inbox: %s\n", what);
        abort();
    }
}

static bool identify(void *state, const struct quern_delivery *delivery,
                     struct quern_identity *ret_identity)
{
    (void)state;
    (void)snprintf(ret_identity->key, sizeof(ret_identity->key), "%s",
                   quern_delivery_body(delivery, NULL));
    return true;
}

/* One in ten takes longer than a claim lasts that nobody renews. */
static struct quern_result work(void *state, struct quern_delivery *delivery)
{
    (void)state;
    if (quern_delivery_body(delivery, NULL)[0] == '1') {
        (void)poll(NULL, 0, SLOW_MS);
    }
    return quern_done();
}

/* One in ten fails at first. */
static struct quern_result apply(void *state, struct quern_delivery *delivery,
                                 struct sqlite3 *transaction)
{
    const struct shop *shop = state;
    struct quern_message told = {.delay_s = QUERN_NOT_GIVEN};
    struct quern_error err;
    sqlite3_stmt *row;

    told.body = quern_delivery_body(delivery, &told.body_len);
    check(sqlite3_prepare_v2(transaction, "INSERT INTO shipment VALUES (?1)", -1, &row, NULL) ==
              SQLITE_OK,
          "no statement");
    (void)sqlite3_bind_text(row, 1, told.body, -1, SQLITE_TRANSIENT);
    check(sqlite3_step(row) == SQLITE_DONE, sqlite3_errmsg(transaction));
    (void)sqlite3_finalize(row);
    check(quern_outbox_add(transaction, shop->output_queue_url, &told, &err), err.message);
    bool fails = told.body[0] == '2' && quern_delivery_receive_count(delivery) == 1;
    return fails ? quern_retry(0) : quern_done();
}

static void count(void *state, const struct quern_delivery *delivery)
{
    struct shop *shop = state;

    (void)delivery;
    (void)pthread_mutex_lock(&shop->lock);
    if (++shop->finished == shop->until) {
        quern_consumer_stop(shop->consumer);
    }
    (void)pthread_mutex_unlock(&shop->lock);
}

static void *relay(void *state)
{
    struct shop *shop = state;
    struct quern_error err;
    bool is_last;
    int64_t sent;

    do {
        is_last = atomic_load(&shop->is_closing);
        check(quern_outbox_relay(shop->inbox, shop->server.client, INT64_MAX, &sent, &err),
              err.message);
        (void)poll(NULL, 0, 20);
    } while (!is_last);
    return NULL;
}

static void consume_until(struct shop *shop, int finished)
{
    const struct quern_consumer_options options = {.queue_url = shop->queue_url,
                                                   .client = shop->server.options,
                                                   .handler = work,
                                                   .state = shop,
                                                   .workers = WORKERS,
                                                   .inbox = shop->inbox,
                                                   .identify = identify,
                                                   .apply = apply,
                                                   .on_finished = count,
                                                   .metrics_interval_ms = 50,
                                                   .is_quiet = true,
                                                   .seed = 1};
    struct quern_error err;

    shop->until = finished;
    check(quern_consumer_new(&options, &shop->consumer, &err), err.message);
    check(quern_consumer_run(shop->consumer, &err), err.message);
    check(quern_consumer_unfinished(shop->consumer) == 0, "not everything ended in the grace");
    quern_consumer_free(shop->consumer);
}

static void fill(const struct shop *shop)
{
    struct quern_error err;
    char key[16];

    for (int i = 0; i < KEYS * COPIES; i++) {
        int len = snprintf(key, sizeof(key), "%d-%d", i / COPIES % 10, i / COPIES);
        const struct quern_message message = {
            .body = key, .body_len = (size_t)len, .delay_s = QUERN_NOT_GIVEN};
        check(quern_send_message(shop->server.client, shop->queue_url, &message, NULL, &err),
              err.message);
    }
}

static int64_t number_of(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *row;

    check(sqlite3_open(path, &db) == SQLITE_OK, "no database");
    check(sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK, sqlite3_errmsg(db));
    int code = sqlite3_step(row);
    int64_t number = code == SQLITE_ROW ? sqlite3_column_int64(row, 0) : 0;
    (void)sqlite3_finalize(row);
    (void)sqlite3_close(db);
    return number;
}

static void remove_store(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[64];

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        (void)unlink(name);
    }
}

int main(void)
{
    struct shop shop = {.finished = 0};
    char path[] = "/tmp/quern-threads-XXXXXX";
    const struct quern_inbox_options kept = {
        .path = path, .consumer = "shipping", .stale_ms = STALE_MS, .busy_ms = 30000};
    struct quern_error err;
    pthread_t thread;
    int fd = mkstemp(path);

    check(getenv("QUERN_PROGRAM") != NULL, "QUERN_PROGRAM must name the server");
    check(fd >= 0 && close(fd) == 0, "no file");
    (void)number_of(path, "CREATE TABLE shipment (key TEXT)");
    live_server_start(&shop.server, NULL);
    check(quern_create_queue(shop.server.client, "q", NULL, NULL, &shop.queue_url, &err) &&
              quern_create_queue(shop.server.client, "out", NULL, NULL, &shop.output_queue_url,
                                 &err) &&
              quern_inbox_open(&kept, &shop.inbox, &err),
          err.message);
    fill(&shop);
    (void)pthread_mutex_init(&shop.lock, NULL);
    check(pthread_create(&thread, NULL, relay, &shop) == 0, "no thread");
    consume_until(&shop, FIRST_RUN); /* it is told to stop while others are at work */
    consume_until(&shop, KEYS * COPIES);
    atomic_store(&shop.is_closing, true);
    (void)pthread_join(thread, NULL);
    quern_inbox_close(shop.inbox);
    check(number_of(path, "SELECT count(*) FROM shipment") == KEYS, "an effect is not there once");
    check(number_of(path, "SELECT count(*) FROM quern_outbox") == 0, "not all was relayed");
    remove_store(path);
    quern_text_free(shop.queue_url);
    quern_text_free(shop.output_queue_url);
    live_server_stop(&shop.server);
    return 0;
}
