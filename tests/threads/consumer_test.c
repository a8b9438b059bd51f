/* The threads of a consumer among each other: work, heartbeats, retries, deletions and the end,
 * with a real server. Run under TSan. */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "client/quern_consumer.h"
#include "tests/support/live_server.h"

enum { MESSAGES = 400, BEATS = 4, WORK_MS = 700 };

struct tally {
    pthread_mutex_t lock;
    struct quern_consumer *consumer;
    int finished;
};

/* One in a hundred takes longer than a lease, one in ten fails at first. */
static struct quern_result work(void *state, struct quern_delivery *delivery)
{
    int64_t number = -1;
    size_t len;
    const char *body = quern_delivery_body(delivery, &len);

    (void)state;
    if (!qn_str_to_int64(qn_str(body, len), 0, MESSAGES, &number)) {
        abort();
    }
    if (number % 100 == 0) {
        struct pollfd cancel = {.fd = quern_delivery_cancel_fd(delivery), .events = POLLIN};
        (void)poll(&cancel, 1, BEATS * WORK_MS);
    }
    if (number % 10 == 1 && quern_delivery_receive_count(delivery) == 1) {
        return quern_retry(0);
    }
    return quern_delivery_is_cancelled(delivery) ? quern_retry(-1) : quern_done();
}

static void count(void *state, const struct quern_delivery *delivery)
{
    struct tally *tally = state;

    (void)delivery;
    (void)pthread_mutex_lock(&tally->lock);
    if (++tally->finished == MESSAGES) {
        quern_consumer_stop(tally->consumer);
    }
    (void)pthread_mutex_unlock(&tally->lock);
}

static void *look_on(void *state)
{
    struct tally *tally = state;
    struct quern_counters counters;

    while (quern_consumer_state(tally->consumer) != QUERN_STOPPED) {
        quern_consumer_count(tally->consumer, &counters);
        (void)quern_consumer_is_ready(tally->consumer);
        (void)poll(NULL, 0, 1);
    }
    return NULL;
}

static void check(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "consumer: %s\n", what);
        abort();
    }
}

static void fill(struct live_server *server, const char *queue_url)
{
    struct quern_error err;
    char number[16];

    for (int i = 0; i < MESSAGES; i++) {
        int len = snprintf(number, sizeof(number), "%d", i);
        const struct quern_message message = {
            .body = number, .body_len = (size_t)len, .delay_s = QUERN_NOT_GIVEN};
        check(quern_send_message(server->client, queue_url, &message, NULL, &err), err.message);
    }
}

int main(void)
{
    struct live_server server;
    struct tally tally = {.finished = 0};
    struct quern_error err;
    pthread_t onlooker;
    char *queue_url = NULL;

    check(getenv("QUERN_PROGRAM") != NULL, "QUERN_PROGRAM must name the server");
    live_server_start(&server, NULL);
    check(quern_create_queue(server.client, "q", NULL, NULL, &queue_url, &err), err.message);
    fill(&server, queue_url);
    const struct quern_consumer_options options = {.queue_url = queue_url,
                                                   .client = server.options,
                                                   .handler = work,
                                                   .state = &tally,
                                                   .workers = 12,
                                                   .visibility_s = 2,
                                                   .allows_short_leases = true,
                                                   .heartbeat_interval_ms = 500,
                                                   .on_finished = count,
                                                   .metrics_interval_ms = 50,
                                                   .is_quiet = true,
                                                   .seed = 1};
    (void)pthread_mutex_init(&tally.lock, NULL);
    check(quern_consumer_new(&options, &tally.consumer, &err), err.message);
    check(pthread_create(&onlooker, NULL, look_on, &tally) == 0, "no thread");
    check(quern_consumer_run(tally.consumer, &err), err.message);
    (void)pthread_join(onlooker, NULL);
    check(tally.finished == MESSAGES, "not every message was finished once");
    quern_consumer_free(tally.consumer);
    quern_text_free(queue_url);
    live_server_stop(&server);
    return 0;
}
