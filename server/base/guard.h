/* Ends the processes of a process that is killed. */
#ifndef QN_BASE_GUARD_H
#define QN_BASE_GUARD_H

#include <sys/types.h>

#include "server/base/error.h"

/* A small process beside this one: when this one ends, however that comes, it kills the process
 * groups that are under guard. PR_SET_PDEATHSIG reaches the child only, not what it has started. */
struct qn_guard {
    int fd; /* -1: none */
    pid_t pid;
};

/* Forks: to be called before there are other threads. */
QN_MUST_CHECK bool qn_guard_open(struct qn_guard *ret_guard, struct qn_error *err);
/* Kills what is still under guard. */
void qn_guard_close(struct qn_guard *guard);
/* From any thread. */
void qn_guard_add(const struct qn_guard *guard, pid_t leader);
/* To be called when the leader has ended: the number may soon be another's. */
void qn_guard_remove(const struct qn_guard *guard, pid_t leader);

#endif
