/* The execution of calls, alone or in pairs. */
#ifndef QN_HTTP_EXECUTE_H
#define QN_HTTP_EXECUTE_H

#include "server/http/internal.h"

/* ---- execute.c ---- */

/* In the transaction of its checks. Its answer, unless it has to wait (tx->park), is in
 * call->answer.
 */
QN_MUST_CHECK bool qn_execute(struct qn_call *call, struct qn_tx *tx,
                              const struct qn_verdict *verdict, struct qn_error *err);

/* ---- pair.c ---- */

/* The verdict that another receive gets the messages too: the call waits for it, a while. False: it
 * is there, or the call must go on alone. */
bool qn_pair_waits(struct qn_call *call, const struct qn_verdict *verdict);
/* The call that waits for this receive, now taken off its list; NULL: none does. */
struct qn_call *qn_pair_take(struct qn_call *call, const struct qn_verdict *verdict);
/* What the first has received is for the second's transaction as well. */
void qn_pair_share(const struct qn_call *first, struct qn_tx *tx);

#endif
