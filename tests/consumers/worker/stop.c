/* SIGTERM: receive no more, finish what is begun, hand back the rest, end in time. */
#include "server/base/clock.h"
#include "tests/consumers/worker/worker.h"

enum { STOP_TIMEOUT_MS = 1000, TICK_MS = 10, RESERVE_MS = 2000 };

void stop_on_term(struct worker *w)
{
    int64_t reserve_ms =
        w->settings.grace_ms > 2 * RESERVE_MS ? RESERVE_MS : w->settings.grace_ms / 2;

    (void)pthread_mutex_lock(&w->lock);
    w->deadline_ms = qn_clock_monotonic_ms() + w->settings.grace_ms - reserve_ms;
    w->is_stopping = true;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    if (!w->settings.waits_for_poll) {
        quern_client_cancel(w->poller);
    }
}

/* Under the lock: one that nobody works on, taken out of everybody's reach. */
static struct job *take_one(struct worker *w, enum stage stage)
{
    for (struct job *job = w->jobs; job != NULL; job = job->next) {
        if (job->stage == stage && !job->is_given_up) {
            job->is_given_up = true;
            job->stage = STAGE_RUNNING;
            jobs_stop_beat(w, job);
            return job;
        }
    }
    return NULL;
}

/* When SQS is down, each of these calls would only cost time: they come back by their leases. */
static bool hand_back(struct hand *hand, struct job *job, bool is_reachable)
{
    return is_reachable && settle_make_visible(hand, job, 0);
}

void stop_drain(struct worker *w)
{
    struct hand hand = {0};
    bool is_reachable = true;
    struct job *job;

    (void)hand_open(w, &hand, STOP_TIMEOUT_MS);
    (void)pthread_mutex_lock(&w->lock);
    while ((w->jobs != NULL || w->is_polling) && qn_clock_monotonic_ms() < w->deadline_ms) {
        job = take_one(w, STAGE_WAITING);
        (void)pthread_mutex_unlock(&w->lock);
        if (job != NULL) {
            is_reachable = hand_back(&hand, job, is_reachable);
        } else {
            worker_nap(TICK_MS);
        }
        (void)pthread_mutex_lock(&w->lock);
        if (job != NULL) {
            jobs_remove(w, job);
        }
    }
    while ((job = take_one(w, STAGE_RUNNING)) != NULL) { /* its work goes on until the end */
        (void)pthread_mutex_unlock(&w->lock);
        is_reachable = hand_back(&hand, job, is_reachable);
        (void)pthread_mutex_lock(&w->lock);
    }
    (void)pthread_mutex_unlock(&w->lock);
    hand_close(&hand);
}
