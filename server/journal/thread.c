/* The threads behind the loop. */
#include "server/journal/thread.h"

#include <signal.h>

bool qn_thread_start(pthread_t *thread, void *(*run)(void *state), void *state,
                     struct qn_error *err)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* a new thread inherits the mask */
    int error = pthread_create(thread, NULL, run, state);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ||
           qn_fail(err, QN_ERR_INTERNAL, "cannot start a thread: %s", strerror(error));
}
