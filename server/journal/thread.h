/* The threads behind the loop. */
#ifndef QN_JOURNAL_THREAD_H
#define QN_JOURNAL_THREAD_H

#include <pthread.h>

#include "server/base/error.h"

/* Starts a thread to which no signal is delivered: those are for the loop. */
QN_MUST_CHECK bool qn_thread_start(pthread_t *thread, void *(*run)(void *state), void *state,
                                   struct qn_error *err);

#endif
