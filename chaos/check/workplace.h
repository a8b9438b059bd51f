/* The folder that a check works in, and those that killed ones have left. */
#ifndef QN_CHECK_WORKPLACE_H
#define QN_CHECK_WORKPLACE_H

#include "server/base/error.h"

struct qn_workplace {
    char path[4096]; /* empty: there is none */
    int owner;       /* a locked file in it: as long as somebody has it open, it is in use */
};

/* Makes one in $TMPDIR, and removes those whose owner is gone: a check that was killed with SIGKILL
 * cleans nothing up. */
QN_MUST_CHECK bool qn_workplace_open(struct qn_workplace *workplace, struct qn_error *err);
/* Removes it with all in it. Accepts a zeroed one. */
void qn_workplace_close(struct qn_workplace *workplace);

#endif
