/* Leases: extended while a message waits or is worked on. */
#include <string.h>

#include "server/base/clock.h"
#include "tests/consumers/worker/worker.h"

enum { TICK_MS = 50, AFTER_FAILURE_MS = 500 };

bool beat_may(const struct worker *w, const struct job *job)
{
    (void)w;
    return job->beats && !job->is_lost && job->stage != STAGE_DELETING;
}

/* Half of the lease leaves room for a second try. */
int64_t beat_every_ms(const struct worker *w)
{
    return w->visibility_ms / 2;
}

void beat_on_error(struct worker *w, struct job *job, const struct quern_error *err)
{
    worker_log("extension failed: %s %s", err->code, err->message);
    (void)pthread_mutex_lock(&w->lock);
    job->is_lost = settle_is_final(err);
    job->next_beat_ms = qn_clock_monotonic_ms() + AFTER_FAILURE_MS;
    (void)pthread_mutex_unlock(&w->lock);
}

/* Under the lock. The newest handle is the one that counts. */
void beat_again(struct worker *w, struct job *job, json_t *message)
{
    const char *handle = message_text(message, "ReceiptHandle");

    qn_memory_free(job->handle);
    job->handle = qn_memory_copy_text(handle, strlen(handle));
    job->receive_count++;
    job->is_lost = false;
    job->lease_end_ms = qn_clock_monotonic_ms() + w->visibility_ms;
    job->next_beat_ms = qn_clock_monotonic_ms() + w->rules.beat_every_ms(w);
}

void beat_over(struct worker *w, struct job *job)
{
    (void)w;
    job_free(job);
}

static struct job *due(const struct worker *w)
{
    int64_t now_ms = qn_clock_monotonic_ms();
    struct job *first = NULL;

    for (struct job *job = w->jobs; job != NULL; job = job->next) {
        if (job->next_beat_ms <= now_ms && w->rules.may_beat(w, job) &&
            (first == NULL || job->next_beat_ms < first->next_beat_ms)) {
            first = job;
        }
    }
    return first;
}

/* Under the lock, which is free while the call is under way. */
static void extend(struct hand *hand, struct job *job)
{
    struct worker *w = hand->worker;
    struct quern_error err;
    char *handle = qn_memory_copy_text(job->handle, strlen(job->handle));

    job->is_beating = true;
    (void)pthread_mutex_unlock(&w->lock);
    int64_t asked_ms = qn_clock_monotonic_ms();
    bool ok = quern_change_visibility(hand->sqs, w->settings.queue_url, handle,
                                      w->visibility_ms / 1000, &err);
    if (!ok) {
        w->rules.on_beat_error(w, job, &err);
    }
    (void)pthread_mutex_lock(&w->lock);
    if (ok && strcmp(handle, job->handle) == 0) {
        job->lease_end_ms = asked_ms + w->visibility_ms;
        job->next_beat_ms = asked_ms + w->rules.beat_every_ms(w);
    }
    job->is_beating = false;
    (void)pthread_cond_broadcast(&w->changed);
    qn_memory_free(handle);
}

void *beat_loop(void *state)
{
    struct hand *hand = state;
    struct worker *w = hand->worker;

    (void)pthread_mutex_lock(&w->lock);
    while (!w->is_over) {
        struct job *job = due(w);
        if (job != NULL) {
            extend(hand, job);
            continue;
        }
        (void)pthread_mutex_unlock(&w->lock);
        worker_nap(TICK_MS);
        (void)pthread_mutex_lock(&w->lock);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}
