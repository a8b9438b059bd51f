/* What the files that carry out effects share. */
#ifndef QN_HTTP_EFFECT_H
#define QN_HTTP_EFFECT_H

#include "server/http/internal.h"

/* One effect under way. */
struct qn_work {
    struct qn_loop *loop;
    const struct qn_effect *effect;
    struct qn_queue *queue; /* NULL: there is none of its name */
    struct qn_tx tx;
    const char *why; /* it was not done */
    struct qn_error err;
};

/* What the effect was to be done to is not there. Returns false. */
bool qn_work_fail(struct qn_work *work, const char *why);
bool qn_work_fail_queue(struct qn_work *work);
/* The lease that the effect is for. */
struct qn_leased qn_work_leased(const struct qn_work *work);

/* ---- inject.c: what anybody could do over the API, through the same code; each false as above
 * ----
 */

bool qn_inject_send(struct qn_work *work);
bool qn_inject_dup_send(struct qn_work *work);
bool qn_inject_poison_body(struct qn_work *work);
bool qn_inject_redrive(struct qn_work *work);
bool qn_inject_purge(struct qn_work *work);
bool qn_inject_delete_queue(struct qn_work *work);
bool qn_inject_create_queue(struct qn_work *work);
bool qn_inject_set_attr(struct qn_work *work);

#endif
