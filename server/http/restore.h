/* Going back in time: snapshots of the store while a rule may want to, and the return itself. */
#ifndef QN_HTTP_RESTORE_H
#define QN_HTTP_RESTORE_H

#include "server/base/str.h"

struct qn_loop;

/* Instants are virtual. */
struct qn_restore {
    bool is_wanted;
    int64_t most_ms;
    int64_t interval_ms;
    int64_t due_ms; /* of the next, if something has changed by then */
};

/* To be called when rules have changed. */
void qn_restore_refresh(struct qn_loop *loop);
/* When the next snapshot is to be taken; INT64_MAX: not as things stand. */
int64_t qn_restore_next_ms(const struct qn_loop *loop);
void qn_restore_run_due(struct qn_loop *loop);
/* Ends the process; the next one begins with the store of so long ago. False: there is no such
 * store. */
bool qn_restore_crash(struct qn_loop *loop, struct qn_str rule, int64_t age_ms, int64_t restart_ms);

#endif
