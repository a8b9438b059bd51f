/* A scenario with some of its fault rules only. */
#ifndef QN_CHECK_NARROW_H
#define QN_CHECK_NARROW_H

#include "chaos/check/scenario.h"

/* How the empty set is said. */
#define QN_NARROW_NONE "none"

/* names are those of rules, with commas between them, or QN_NARROW_NONE. Everything else is the
 * scenario's own; fails when it has no rule of such a name. */
QN_MUST_CHECK bool qn_narrow(const struct qn_scenario *scenario, struct qn_str names,
                             struct qn_scenario **ret_scenario, struct qn_error *err);

#endif
