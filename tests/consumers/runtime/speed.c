/* How many messages a second the runtime takes from a queue, works on (which is nothing here) and
 * deletes: `speed QUEUE [MESSAGES] [WORKERS]`, with AWS_ENDPOINT_URL naming the server. The queue
 * is filled first. Prints one line of JSON. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/quern_consumer.h"
#include "server/base/clock.h"
#include "server/base/str.h"

enum { DEFAULT_MESSAGES = 50000, DEFAULT_WORKERS = 32 };

struct run {
    const char *queue_url;
    int64_t messages;
    struct quern_consumer *consumer;
    pthread_mutex_t lock;
    int64_t finished;
    int64_t begun_us;
    int64_t ended_us;
};

static struct quern_result do_nothing(void *state, struct quern_delivery *delivery)
{
    (void)state;
    (void)delivery;
    return quern_done();
}

static void count(void *state, const struct quern_delivery *delivery)
{
    struct run *run = state;

    (void)delivery;
    (void)pthread_mutex_lock(&run->lock);
    if (++run->finished == run->messages) {
        run->ended_us = qn_clock_monotonic_us();
        quern_consumer_stop(run->consumer);
    }
    (void)pthread_mutex_unlock(&run->lock);
}

static void note_begin(void *state, enum quern_state from, enum quern_state to)
{
    struct run *run = state;

    (void)from;
    if (to == QUERN_RUNNING) {
        run->begun_us = qn_clock_monotonic_us();
    }
}

static bool fill(const struct run *run, struct quern_error *err)
{
    const struct quern_options options = {0};
    struct quern_message batch[QUERN_BATCH_MAX];
    struct quern_client *client;

    if (!quern_client_new(&options, &client, err)) {
        return false;
    }
    bool ok = true;
    for (size_t i = 0; i < QUERN_BATCH_MAX; i++) {
        batch[i] = (struct quern_message){
            .body = "{\"order\":7}", .body_len = 11, .delay_s = QUERN_NOT_GIVEN};
    }
    for (int64_t sent = 0; ok && sent < run->messages; sent += QUERN_BATCH_MAX) {
        struct quern_batch *answer = NULL;
        ok = quern_send_message_batch(client, run->queue_url, batch, QUERN_BATCH_MAX, &answer, err);
        quern_answer_free(answer);
    }
    quern_client_free(client);
    return ok;
}

static int64_t number(int argc, char **argv, int at, int64_t otherwise)
{
    int64_t value;

    return argc > at && qn_str_to_int64(qn_str_from_cstr(argv[at]), 1, INT32_MAX, &value)
               ? value
               : otherwise;
}

int main(int argc, char **argv)
{
    struct run run = {.queue_url = argc > 1 ? argv[1] : NULL,
                      .messages = number(argc, argv, 2, DEFAULT_MESSAGES) / QUERN_BATCH_MAX *
                                  QUERN_BATCH_MAX};
    const struct quern_consumer_options options = {.queue_url = run.queue_url,
                                                   .handler = do_nothing,
                                                   .state = &run,
                                                   .workers =
                                                       number(argc, argv, 3, DEFAULT_WORKERS),
                                                   .on_finished = count,
                                                   .on_state = note_begin,
                                                   .is_quiet = true};
    struct quern_error err;

    (void)pthread_mutex_init(&run.lock, NULL);
    if (run.queue_url == NULL || !fill(&run, &err) ||
        !quern_consumer_new(&options, &run.consumer, &err) ||
        !quern_consumer_run(run.consumer, &err)) {
        (void)fprintf(stderr, "speed: %s\n",
                      run.queue_url == NULL ? "usage: speed QUEUE_URL [MESSAGES] [WORKERS]"
                                            : err.message);
        return 1;
    }
    struct quern_counters counters;
    quern_consumer_count(run.consumer, &counters);
    double seconds = (double)(run.ended_us - run.begun_us) / 1e6;
    (void)printf("{\"messages\":%lld,\"seconds\":%.3f,\"per_second\":%.0f,\"receives\":%lld}\n",
                 (long long)run.finished, seconds, (double)run.finished / seconds,
                 (long long)counters.receives);
    quern_consumer_free(run.consumer);
    return 0;
}
