/* How one thread waits for work of another. Poking a thread that is awake costs one load. */
#ifndef QN_JOURNAL_WAKER_H
#define QN_JOURNAL_WAKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct qn_waker {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    _Atomic bool is_asleep; /* and wants to be poked */
};

void qn_waker_init(struct qn_waker *waker);
void qn_waker_done(struct qn_waker *waker);

/* Wakes a sleeper and a napper. What they wait for must be true before. */
void qn_waker_wake(struct qn_waker *waker);

/* For who publishes work with a sequentially consistent store: the sleeper looks for work after it
 * has said that it sleeps, so one of the two sees the other. */
static inline void qn_waker_poke(struct qn_waker *waker)
{
    if (__builtin_expect(atomic_load(&waker->is_asleep), 0)) {
        qn_waker_wake(waker);
    }
}

/* Sleeps until it is woken or poked, or is_ready says so, at most timeout_ms. */
void qn_waker_sleep(struct qn_waker *waker, bool (*is_ready)(void *state), void *state,
                    int timeout_ms);
/* The same, but pokes do not count. */
void qn_waker_nap(struct qn_waker *waker, bool (*is_ready)(void *state), void *state,
                  int timeout_ms);

#endif
