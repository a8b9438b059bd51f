/* --faketime: everything in a clock that runs faster, by libfaketime: the harness, its server and
 * the consumer, so that no time has to be reckoned from one into another. */
#ifndef QN_CHECK_FAKETIME_H
#define QN_CHECK_FAKETIME_H

#include <sys/types.h>

#include "chaos/check/options.h"

/* Whether this process was started by qn_faketime_run. */
bool qn_faketime_is_inner(void);
/* In the inner process, before all else: its signals and its end follow the outer one. Fails when
 * the clock of this program cannot be run faster. */
QN_MUST_CHECK bool qn_faketime_enter(struct qn_error *err);
/* At the end of the inner process: nothing of libfaketime's is left behind either. */
void qn_faketime_leave(void);
/* Runs this program once more with the same words, and waits for it. *ret_code is its exit code;
 * fails when there is no libfaketime. */
QN_MUST_CHECK bool qn_faketime_run(int64_t rate, char **argv, int *ret_code, struct qn_error *err);
/* Whether all processes of the group have the faster clock; *ret_pid is one that has not. */
bool qn_faketime_reaches(pid_t leader, pid_t *ret_pid);

#endif
