/* After a failure of a scenario with many rules: the smallest set of them with which it still
 * fails. Rules are dropped, and it is run again with the same seed, as long as the same invariant
 * breaks. This chooses what to run next; who runs it is told by jobs.c. */
#ifndef QN_CHECK_SHRINK_H
#define QN_CHECK_SHRINK_H

#include "chaos/check/run.h"

struct qn_shrink;

/* Whether a result calls for it. */
bool qn_shrink_is_due(const struct qn_scenario *scenario, const struct qn_run_result *result,
                      const struct qn_check_options *options);
/* The failed result is taken. scenario and options must outlive it; it ends by itself at end_ms
 * (monotonic). */
struct qn_shrink *qn_shrink_new(const struct qn_scenario *scenario,
                                const struct qn_check_options *options,
                                struct qn_run_result *result_take, int64_t end_ms);
/* Accepts NULL. */
void qn_shrink_free(struct qn_shrink *shrink);
/* What to run next, both alive until the call after it; false: the search is over. */
bool qn_shrink_next(struct qn_shrink *shrink, const struct qn_scenario **ret_scenario,
                    const struct qn_check_options **ret_options);
/* What came of it; the result is taken. True: it failed like the first, and is the smallest so far.
 */
bool qn_shrink_take(struct qn_shrink *shrink, struct qn_run_result *result_take);
/* The time is over; what was found so far is the answer. */
bool qn_shrink_is_late(const struct qn_shrink *shrink);
/* How far it has come: runs so far, and rules of the smallest set so far. */
size_t qn_shrink_runs(const struct qn_shrink *shrink);
size_t qn_shrink_left(const struct qn_shrink *shrink);
/* The smallest run's result, which is the caller's from here on, and what is to be told of it:
 * {"rules": [TEXT], "of": N, "runs": N, "complete": BOOL}, a new reference. */
json_t *qn_shrink_conclude(struct qn_shrink *shrink, struct qn_run_result *ret_result);

#endif
