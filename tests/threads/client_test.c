/* Threads that share a client: messages go through, none twice at a time, and ending the receives
 * from outside ends them all. Run under TSan. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/live_client.h"

enum { SENDERS = 3, RECEIVERS = 3, EACH = 40 };

static struct live_client live;

struct counts {
    pthread_mutex_t lock;
    int received;
};

static void check(bool is_right, const char *what, const struct quern_error *err)
{
    if (!is_right) {
        (void)fprintf(stderr, "client_test: %s: %s\n", what, err->message);
        abort();
    }
}

static void *send_all(void *state)
{
    const struct quern_message message = {
        .body = "body", .body_len = 4, .delay_s = QUERN_NOT_GIVEN};
    struct quern_error err;

    (void)state;
    for (int i = 0; i < EACH; i++) {
        bool ok = quern_send_message(live.client, live.queue_url, &message, NULL, &err);
        check(ok, "send", &err);
    }
    return NULL;
}

static void count(struct counts *counts, size_t received)
{
    (void)pthread_mutex_lock(&counts->lock);
    counts->received += (int)received;
    bool is_all = counts->received == SENDERS * EACH;
    (void)pthread_mutex_unlock(&counts->lock);
    if (is_all) {
        quern_client_cancel_receives(live.client);
    }
}

static void delete_all(const struct quern_messages *messages)
{
    const char *handles[QUERN_BATCH_MAX];
    struct quern_batch *batch;
    struct quern_error err;

    for (size_t i = 0; i < messages->count; i++) {
        handles[i] = messages->items[i].receipt_handle;
    }
    bool ok = quern_delete_message_batch(live.client, live.queue_url, handles, messages->count,
                                         &batch, &err);
    check(ok && batch->failed_count == 0, "delete", &err);
    quern_answer_free(batch);
}

static void *receive_all(void *state)
{
    const struct quern_receive_options options = {.wait_s = 20, .visibility_s = 300};
    struct quern_messages *messages;
    struct quern_error err;

    while (quern_receive_message(live.client, live.queue_url, &options, &messages, &err)) {
        if (messages->count > 0) {
            delete_all(messages);
            count(state, messages->count);
        }
        quern_answer_free(messages);
    }
    check(strcmp(err.code, "Cancelled") == 0, "receive", &err);
    return NULL;
}

int main(void)
{
    struct counts counts = {.lock = PTHREAD_MUTEX_INITIALIZER, .received = 0};
    pthread_t threads[SENDERS + RECEIVERS];

    live_client_start(&live, getenv("QUERN_PROGRAM"));
    for (int i = 0; i < SENDERS + RECEIVERS; i++) {
        if (pthread_create(&threads[i], NULL, i < SENDERS ? send_all : receive_all, &counts) != 0) {
            abort();
        }
    }
    for (int i = 0; i < SENDERS + RECEIVERS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    check(counts.received == SENDERS * EACH, "as many come as were sent", &live.err);
    check(live_client_count(&live) == 0, "nothing is left", &live.err);
    live_client_stop(&live);
    return 0;
}
