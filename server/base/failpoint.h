/* Places at which a crash test may stop the process. Always compiled in; one predictable branch
 * while none is armed. */
#ifndef QN_BASE_FAILPOINT_H
#define QN_BASE_FAILPOINT_H

#include "server/base/error.h"

enum qn_failpoint_mode {
    QN_FAILPOINT_KILL,
    QN_FAILPOINT_ABORT,
    QN_FAILPOINT_ERROR,
    QN_FAILPOINT_DELAY
};

extern bool qn_failpoint_any_armed;

/* "NAME=kill", "NAME=kill:3" (the third passage), "NAME=error", "NAME=delay 50" (ms). */
QN_MUST_CHECK bool qn_failpoint_arm(struct qn_str spec, struct qn_error *err);
void qn_failpoint_clear(void);
/* Does what is armed under this name; true in mode error: the caller then fails as the disk would.
 * Thread-safe. */
bool qn_failpoint_hit(const char *name);

#define qn_failpoint_is_any_armed()                                                                \
    __builtin_expect(__atomic_load_n(&qn_failpoint_any_armed, __ATOMIC_RELAXED), 0)
#define qn_failpoint(name) (qn_failpoint_is_any_armed() && qn_failpoint_hit(name))

#endif
