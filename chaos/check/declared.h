/* What the user says of the consumer: for the judge, and against scenarios that are not for it. */
#ifndef QN_CHECK_DECLARED_H
#define QN_CHECK_DECLARED_H

#include <jansson.h>

#include "chaos/check/options.h"
#include "chaos/check/profile.h"
#include "chaos/check/scenario.h"

/* As it stands in the header of a history, under run.declared: concurrency, prefetch, work_max_ms,
 * retry_queue and output_queue only when they are said; grace_ms, heartbeat, idempotency, poison,
 * fifo_on_failure, restart, expect_exit and at_most_once always. The caller owns the reference. */
json_t *qn_declared_json(const struct qn_check_options *options);

/* Whether the codes of a proper end are those that hold without a word. */
bool qn_declared_exits_are_usual(const struct qn_check_options *options);

/* Whether a consumer ends properly with this exit code. */
bool qn_declared_exit(const struct qn_check_options *options, int64_t exit_code);

/* Whether the scenario's `needs` are met, as far as declarations and what was learned tell; false:
 * the reason says in words what is missing. */
bool qn_needs_are_met(const struct qn_scenario *scenario, const struct qn_check_options *options,
                      const struct qn_profile *learned, struct qn_buf *reason);

/* The scenario itself, or how it is run where nobody calls the sink, as far as that is known. While
 * nothing was learned, who gives an effects command is taken to need no sink. */
const struct qn_scenario *qn_needs_form(const struct qn_scenario *scenario,
                                        const struct qn_check_options *options,
                                        const struct qn_profile *learned);

/* The reason why the user does not want it judged; NULL: it is not waived. */
const char *qn_waiver_of(const struct qn_check_options *options,
                         const struct qn_scenario *scenario);

#endif
