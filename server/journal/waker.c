/* How one thread waits for work of another. */
#include "server/journal/waker.h"

#include <errno.h>
#include <time.h>

void qn_waker_init(struct qn_waker *waker)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&waker->mutex, NULL);
    pthread_cond_init(&waker->cond, &attributes);
    pthread_condattr_destroy(&attributes);
    atomic_init(&waker->is_asleep, false);
}

void qn_waker_done(struct qn_waker *waker)
{
    pthread_cond_destroy(&waker->cond);
    pthread_mutex_destroy(&waker->mutex);
}

void qn_waker_wake(struct qn_waker *waker)
{
    pthread_mutex_lock(&waker->mutex);
    atomic_store(&waker->is_asleep, false);
    pthread_cond_signal(&waker->cond);
    pthread_mutex_unlock(&waker->mutex);
}

static struct timespec deadline_in(int timeout_ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += timeout_ms / 1000;
    at.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

void qn_waker_sleep(struct qn_waker *waker, bool (*is_ready)(void *state), void *state,
                    int timeout_ms)
{
    struct timespec deadline = deadline_in(timeout_ms);
    pthread_mutex_lock(&waker->mutex);
    atomic_store(&waker->is_asleep, true);
    while (atomic_load(&waker->is_asleep) && !is_ready(state)) {
        if (pthread_cond_timedwait(&waker->cond, &waker->mutex, &deadline) == ETIMEDOUT) {
            break;
        }
    }
    atomic_store(&waker->is_asleep, false);
    pthread_mutex_unlock(&waker->mutex);
}

void qn_waker_nap(struct qn_waker *waker, bool (*is_ready)(void *state), void *state,
                  int timeout_ms)
{
    struct timespec deadline = deadline_in(timeout_ms);
    pthread_mutex_lock(&waker->mutex);
    while (!is_ready(state)) {
        if (pthread_cond_timedwait(&waker->cond, &waker->mutex, &deadline) == ETIMEDOUT) {
            break;
        }
    }
    pthread_mutex_unlock(&waker->mutex);
}
