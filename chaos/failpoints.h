/* Failpoints as users name them: which there are, which can be met in this server, and those of an
 * action, which are rules at its points. */
#ifndef QN_CHAOS_FAILPOINTS_H
#define QN_CHAOS_FAILPOINTS_H

#include "server/base/buf.h"
#include "server/base/failpoint.h"

struct qn_plan;

/* What this server has of that which a failpoint needs to be met. */
struct qn_failpoint_reach {
    bool has_journal;
    bool is_synced;  /* --sync full */
    bool has_starts; /* a start is still to come: this one, or a supervisor's next */
};

/* Fails when no place in the server has this name (the nearest is told), or when it is never passed
 * here. */
QN_MUST_CHECK bool qn_failpoints_can_meet(struct qn_str name,
                                          const struct qn_failpoint_reach *reach,
                                          struct qn_error *err);

/* A list of specs (server/base/failpoint.h). Those of an action stand at a point of its requests:
 *   begin:ACTION at arrive          before_commit:ACTION at pre-commit
 *   after_commit:ACTION and before_write:ACTION at post-commit
 *   mid_write:ACTION at mid-response
 * and become rules, with `nth N` for their :N. ACTION may have wildcards.
 *
 * Check says whether the list as a whole can be armed, but for the rules in it. Each of the other
 * two takes its part of the list, all of it or nothing. */
QN_MUST_CHECK bool qn_failpoints_check(const struct qn_str *specs, size_t count,
                                       const struct qn_failpoint_reach *reach,
                                       struct qn_error *err);
QN_MUST_CHECK bool qn_failpoints_add_rules(struct qn_plan *plan, const struct qn_str *specs,
                                           size_t count, struct qn_error *err);
/* False: there is none of this name. */
bool qn_failpoints_remove_rule(struct qn_plan *plan, struct qn_str name);
QN_MUST_CHECK bool qn_failpoints_arm(const struct qn_str *specs, size_t count,
                                     struct qn_error *err);
/* Whether the name is that of a point of an action. */
bool qn_failpoints_is_point(struct qn_str name);
/* Whether a rule is called like one for them: "failpoint.begin.SendMessage". */
bool qn_failpoints_owns_rule(struct qn_str rule);

#endif
