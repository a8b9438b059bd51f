/* Puts it together: `exports DATABASE` is a worker, `exports DATABASE PORT` is the front end with a
 * worker beside it. Both relay what the outbox holds. */
#include <curl/curl.h>
#include <microhttpd.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "example.h"
#include "exports/exports.h"

enum { RELAY_AT_ONCE = 100, RELAY_PAUSE_MS = 100, PORT_MAX = 65535 };

struct relay {
    const struct exports *exports;
    atomic_bool is_closing;
};

static void *run_relay(void *state)
{
    const struct timespec pause = {.tv_nsec = RELAY_PAUSE_MS * 1000000L};
    struct relay *relay = state;
    struct quern_error err;
    bool is_last;

    do {
        int64_t sent = 0;
        is_last = atomic_load(&relay->is_closing);
        if (!quern_outbox_relay(relay->exports->inbox, relay->exports->client, RELAY_AT_ONCE, &sent,
                                &err)) {
            (void)fprintf(stderr, "outbox: %s: %s\n", err.code, err.message);
        }
        if (sent < RELAY_AT_ONCE && !is_last) {
            (void)nanosleep(&pause, NULL);
        }
    } while (!is_last);
    return NULL;
}

static int run(struct exports *exports, uint16_t port)
{
    struct relay relay = {.exports = exports};
    struct MHD_Daemon *front = port > 0 ? quern_exports_serve(exports, port) : NULL;
    pthread_t thread;

    if ((port > 0 && front == NULL) || pthread_create(&thread, NULL, run_relay, &relay) != 0) {
        (void)fprintf(stderr, "exports: cannot listen on port %u\n", port);
        return 1;
    }
    int status = quern_exports_work(exports);
    if (front != NULL) {
        MHD_stop_daemon(front);
    }
    atomic_store(&relay.is_closing, true);
    (void)pthread_join(thread, NULL);
    return status;
}

int main(int argc, char **argv)
{
    const char *sink_url = getenv("QUERN_SINK_URL"); /* of `quern check` */
    struct exports exports = {.queue_url = getenv("QUEUE_URL"),
                              .dlq_url = getenv("DLQ_URL"),
                              .output_queue_url = getenv("OUTPUT_QUEUE_URL"),
                              .files_url = sink_url != NULL ? sink_url : getenv("FILES_URL")};
    long port = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    struct quern_error err = {.message = ""};
    int status = 1;

    if ((argc != 2 && argc != 3) || exports.queue_url == NULL || exports.files_url == NULL ||
        port < 0 || port > PORT_MAX || (argc == 3 && port == 0)) {
        (void)fprintf(stderr, "usage: QUEUE_URL=URL FILES_URL=URL [DLQ_URL=URL] "
                              "[OUTPUT_QUEUE_URL=URL] exports DATABASE [PORT]\n");
        return 2;
    }
    quern_example_begin();
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    const struct quern_inbox_options kept = {
        .path = argv[1], .consumer = "exports", .stale_ms = STALE_MS};
    if (quern_inbox_open(&kept, &exports.inbox, &err) &&
        quern_client_new(NULL, &exports.client, &err)) {
        exports.database = quern_example_open(argv[1], quern_exports_tables);
    }
    if (exports.database != NULL) {
        status = run(&exports, (uint16_t)port);
    } else {
        (void)fprintf(stderr, "exports: %s\n", err.message);
    }
    (void)sqlite3_close(exports.database);
    quern_client_free(exports.client);
    quern_inbox_close(exports.inbox);
    curl_global_cleanup();
    return status;
}
