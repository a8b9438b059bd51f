/* Child processes: started in a group of their own, ended with their group, reaped. */
#ifndef QN_CHECK_PROCESS_H
#define QN_CHECK_PROCESS_H

#include <sys/types.h>

#include "server/base/error.h"

struct qn_spawn {
    char *const *argv;              /* ends in NULL; argv[0] is looked up in PATH */
    const char *const *environment; /* "NAME=value", over what this process has; ends in NULL */
    const char *log_path;           /* stdout and stderr are appended to it */
    bool dies_with_parent;          /* SIGKILL when this process ends */
};

/* Fails when the program cannot be started, with the system's reason. The child is the leader of a
 * new process group. */
QN_MUST_CHECK bool qn_process_spawn(const struct qn_spawn *spawn, pid_t *ret_pid,
                                    struct qn_error *err);

/* Makes this process the parent of orphans below it, so that none is left behind. */
void qn_process_adopt_orphans(void);

/* Takes one ended child, whichever; false when there is none. */
bool qn_process_reap(pid_t *ret_pid, int *ret_status);
/* The same for one child. */
bool qn_process_has_ended(pid_t pid, int *ret_status);

/* SIGKILL to the whole group, and waits until all of it is gone and reaped (at most 5 s).
 * ret_status is the leader's; -1 when it had been reaped before. */
void qn_process_kill_group(pid_t leader, int *ret_status);

/* Whether the process is a shell; whether anybody is left in the group. */
bool qn_process_is_shell(pid_t pid);
bool qn_process_has_group(pid_t leader);

/* SIGKILL to every child of this process but these, and to those that become its children thereby,
 * until none is left (at most 5 s). */
void qn_process_kill_orphans(const pid_t *spared, size_t count);

#endif
