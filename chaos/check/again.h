/* A warning about time may be the machine's fault, so it is looked at twice before it is given, and
 * so is an error of the harness itself. A broken must, and a should that is not about time, never
 * are; but whatever is wrong with a process that was kept from another scenario (--reuse) is looked
 * at in one of its own, and this one's verdict counts. Of a consumer of which nothing was known,
 * the first run may have counted on an effect sink that it does not call: it is forgotten. */
#ifndef QN_CHECK_AGAIN_H
#define QN_CHECK_AGAIN_H

#include "chaos/check/run.h"

/* From the seed of the first run to that of the second. */
enum { QN_AGAIN_SEED_STEP = 1 };

/* Whether all that is broken is should-level and about time, or the harness failed. */
bool qn_again_is_due(const struct qn_scenario *scenario, const struct qn_judgement *judgement);
/* Whether it was a process that was kept, and all is not well. */
bool qn_again_is_due_alone(const struct qn_run_result *result);
/* Whether it was run (`form` of the scenario) as for a consumer that calls the sink, and there is
 * another form for this one, which does not. */
bool qn_again_is_due_without_sink(const struct qn_scenario *scenario,
                                  const struct qn_scenario *form,
                                  const struct qn_run_result *result);
/* Adds to the line of the second run what came of the first. */
void qn_again_conclude(const struct qn_run_result *first, struct qn_run_result *second);

#endif
