/* What chaos is told of a call. */
#ifndef QN_HTTP_FACTS_H
#define QN_HTTP_FACTS_H

#include "server/model/verdict.h"

struct qn_call;
struct qn_loop;
struct qn_tx;

void qn_members_init(struct qn_loop *loop);
/* Fills call->account and call->queue from the decoded input. */
void qn_facts_name_queue(struct qn_call *call);
/* Whether a rule for the call's action is asked at this point. */
bool qn_facts_matter(const struct qn_call *call, enum qn_chaos_point point);
/* Whether a rule may apply to the call at one of these points, at the first of which it is; if so,
 * fills the facts as far as the rules look at them. */
QN_MUST_CHECK bool qn_facts_gather(struct qn_call *call, struct qn_tx *tx, enum qn_chaos_point from,
                                   enum qn_chaos_point to, struct qn_facts *facts);
/* Keeps them for the points behind the execution, which ends what they point to. */
void qn_facts_remember(struct qn_call *call, const struct qn_facts *facts);
/* After a successful execution, in its transaction: the facts get the ids of what was sent, and
 * tell of what was received and not of what would have been. */
void qn_facts_learn(struct qn_call *call, struct qn_tx *tx);
/* With the code of the answer. */
const struct qn_facts *qn_facts_after(struct qn_call *call);

#endif
