/* For bugs that settle an answer as a whole. */
#ifndef WORKER_VOTE_H
#define WORKER_VOTE_H

#include "tests/consumers/worker/worker.h"

/* Nothing of the answer is deleted unless all of it succeeded; with `stops`, nothing more of it is
 * begun after the first failure. */
void vote_settle(struct hand *hand, struct job *job, enum outcome outcome, bool stops);

#endif
