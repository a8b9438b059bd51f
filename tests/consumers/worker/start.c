/* From settings to threads, and back. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "tests/consumers/worker/worker.h"

enum {
    CALL_TIMEOUT_MS = 5000,
    POLL_TIMEOUT_MS = 10000, /* beyond the wait of the poll */
    BEAT_TIMEOUT_MS = 2000,
    WORK_LEASES = 8, /* so many leases long may the work of a message be */
    WORK_LEAST_MS = 10000
};

void worker_log(const char *format, ...)
{
    char line[2048];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    size_t used = len < (int)sizeof(line) - 1 ? (size_t)len : sizeof(line) - 2;
    line[used] = '\n';
    (void)!write(STDERR_FILENO, line, used + 1); /* one call: lines of two threads do not mix */
}

void worker_nap(int64_t ms)
{
    (void)poll(NULL, 0, (int)ms);
}

void worker_sleep(struct worker *w, int64_t ms)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_mutex_lock(&w->lock);
    int code = 0;
    while (!w->is_stopping && code != ETIMEDOUT) {
        code = pthread_cond_timedwait(&w->changed, &w->lock, &until);
    }
    (void)pthread_mutex_unlock(&w->lock);
}

bool worker_is_stopping(struct worker *w)
{
    (void)pthread_mutex_lock(&w->lock);
    bool is_stopping = w->is_stopping;
    (void)pthread_mutex_unlock(&w->lock);
    return is_stopping;
}

bool worker_is_polling(struct worker *w)
{
    (void)pthread_mutex_lock(&w->lock);
    bool is_polling = w->is_polling;
    (void)pthread_mutex_unlock(&w->lock);
    return is_polling;
}

int64_t worker_pause_ms(struct worker *w, int nth)
{
    int64_t longest = (int64_t)FIRST_PAUSE_MS << (nth < 5 ? nth - 1 : 4);

    longest = longest < LAST_PAUSE_MS ? longest : LAST_PAUSE_MS;
    (void)pthread_mutex_lock(&w->lock);
    int64_t jitter = (int64_t)qn_random_below(&w->random, (uint64_t)longest / 4 + 1);
    (void)pthread_mutex_unlock(&w->lock);
    return longest - jitter;
}

static bool open_client(int64_t timeout_ms, struct quern_client **ret_client)
{
    const struct quern_options options = {.timeout_ms = timeout_ms, .max_attempts = 1};
    struct quern_error err;

    if (quern_client_new(&options, ret_client, &err)) {
        return true;
    }
    worker_log("worker: %s", err.message);
    return false;
}

bool hand_open(struct worker *w, struct hand *hand, int64_t timeout_ms)
{
    int64_t work_ms = WORK_LEASES * w->visibility_ms;

    work_ms = work_ms > WORK_LEAST_MS ? work_ms : WORK_LEAST_MS;
    work_ms = w->settings.work_ms >= 0 ? w->settings.work_ms : work_ms;
    timeout_ms = w->settings.call_ms >= 0 ? w->settings.call_ms : timeout_ms;
    hand->worker = w;
    hand->world = world_open(w->settings.sink_url, work_ms);
    return open_client(timeout_ms, &hand->sqs);
}

void hand_close(struct hand *hand)
{
    world_close(hand->world);
    quern_client_free(hand->sqs);
}

/* How long a lease is. Asked until it is answered: the queue may come later than its consumer. */
static void learn_visibility(struct worker *w)
{
    struct quern_error err;

    for (int nth = 1; w->visibility_ms == 0 && !worker_is_stopping(w); nth++) {
        struct quern_pairs *attributes = NULL;
        int64_t seconds;
        if (!quern_get_queue_attributes(w->poller, w->settings.queue_url, NULL, 0, &attributes,
                                        &err)) {
            worker_log("the queue does not answer: %s %s", err.code, err.message);
            worker_sleep(w, worker_pause_ms(w, nth));
        } else if (qn_str_to_int64(
                       qn_str_from_cstr(quern_pairs_get(attributes, "VisibilityTimeout")), 1,
                       INT32_MAX, &seconds)) {
            w->visibility_ms = seconds * 1000;
        } else {
            w->visibility_ms = 30000;
        }
        quern_answer_free(attributes);
    }
}

struct crew {
    struct worker *worker;
    pthread_t receiver;
    struct hand *workers;
    struct hand beat;
    struct hand batch;
    bool is_begun;
};

/* The thread of the signals waits for one; this one starts all the others. */
static void *begin(void *state)
{
    struct crew *crew = state;
    struct worker *w = crew->worker;
    int64_t count = w->settings.workers;

    learn_visibility(w);
    crew->workers = qn_memory_new_array((size_t)count, sizeof(*crew->workers));
    if (worker_is_stopping(w) || !hand_open(w, &crew->beat, BEAT_TIMEOUT_MS) ||
        !hand_open(w, &crew->batch, CALL_TIMEOUT_MS)) {
        return NULL;
    }
    (void)pthread_create(&crew->beat.thread, NULL, beat_loop, &crew->beat);
    (void)pthread_create(&crew->batch.thread, NULL, batch_loop, &crew->batch);
    for (int64_t i = 0; i < count; i++) {
        if (!hand_open(w, &crew->workers[i], CALL_TIMEOUT_MS)) {
            exit(1);
        }
        (void)pthread_create(&crew->workers[i].thread, NULL, work_loop, &crew->workers[i]);
    }
    crew->is_begun = true;
    w->rules.on_start(w, &crew->workers[0]);
    (void)receive_loop(w);
    return NULL;
}

static void end(struct worker *w, struct crew *crew)
{
    (void)pthread_mutex_lock(&w->lock);
    bool is_clean = w->jobs == NULL && !w->is_polling;
    w->is_over = true;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    if (!is_clean) { /* somebody is still at it, and would not be waited for */
        _exit((int)w->settings.exit_code);
    }
    (void)pthread_join(crew->receiver, NULL);
    if (crew->is_begun) {
        (void)pthread_join(crew->beat.thread, NULL);
        (void)pthread_join(crew->batch.thread, NULL);
        for (int64_t i = 0; i < w->settings.workers; i++) {
            (void)pthread_join(crew->workers[i].thread, NULL);
            hand_close(&crew->workers[i]);
        }
    }
    hand_close(&crew->beat);
    hand_close(&crew->batch);
    qn_memory_free(crew->workers);
}

int worker_run(struct worker *w)
{
    struct crew crew = {.worker = w};
    sigset_t stops;
    int number;

    (void)sigemptyset(&stops);
    (void)sigaddset(&stops, SIGTERM);
    (void)sigaddset(&stops, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &stops, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    qn_random_init(&w->random, qn_random_fresh_seed(), 0, 0);
    if (!open_client(w->settings.call_ms >= 0 ? w->settings.call_ms : POLL_TIMEOUT_MS,
                     &w->poller)) {
        return 1;
    }
    w->is_polling = true;
    if (pthread_create(&crew.receiver, NULL, begin, &crew) != 0) {
        return 1;
    }
    do {
        (void)sigwait(&stops, &number);
        w->rules.on_term(w);
    } while (!worker_is_stopping(w));
    w->rules.drain(w);
    end(w, &crew);
    quern_client_free(w->poller);
    json_decref(w->memory);
    return (int)w->settings.exit_code;
}
