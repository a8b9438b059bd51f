/* The processes of functions, each the leader of a group of its own. */
#ifndef QN_LAMBDA_PROCESS_H
#define QN_LAMBDA_PROCESS_H

#include <sys/types.h>

#include "server/base/error.h"
#include "server/base/guard.h"

/* added: "NAME=value", over what this process has, and over `fallback`, which only fills what is
 * not there; both end in NULL. in and out: descriptors for stdin and stdout, or -1: nothing to
 * read, and stdout goes where stderr goes. ret_fd becomes readable when it has ended; the caller
 * closes it. It is under guard until its end. */
QN_MUST_CHECK bool qn_lambda_process_start(const struct qn_guard *guard, char *const *argv,
                                           const char *const *added, const char *const *fallback,
                                           int in, int out, pid_t *ret_pid, int *ret_fd,
                                           struct qn_error *err);

/* SIGKILL to the group; waits for its leader. The status, as waitpid gives it. */
int qn_lambda_process_end(const struct qn_guard *guard, pid_t pid);

/* "left with status 3", "was killed by signal 9": of a status. */
void qn_lambda_process_describe(int status, char *text, size_t size);

#endif
