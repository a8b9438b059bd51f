/* Message bodies of the user's own: for consumers that know nothing of the effect sink. */
#ifndef QN_CHECK_BODIES_H
#define QN_CHECK_BODIES_H

#include "chaos/check/load.h"

/* The texts of the files that --body names, which belong to the options. Fails with the first that
 * is no body. */
QN_MUST_CHECK bool qn_bodies_load(struct qn_check_options *options, struct qn_error *err);

/* Whether one of them, "good=FILE", can be used. */
QN_MUST_CHECK bool qn_bodies_check(const char *pair, struct qn_error *err);

/* What all ids of a run begin with, different in each run, so that a consumer that remembers what
 * it has done does not take a message for one of another run. */
struct qn_str qn_bodies_tag(const char *run_id, struct qn_str scenario, int64_t now_ms,
                            struct qn_arena *arena);
/* The one that the message takes, with {{id}} and {{n}} filled in. */
struct qn_str qn_bodies_make(const struct qn_check_options *options,
                             const struct qn_load_message *message, struct qn_arena *arena);

/* The server cannot read keys out of such bodies: the rule with the message's id in the queue in
 * place of each key, for those that are sent already. */
struct qn_str qn_bodies_rule(const struct qn_load *load, struct qn_str rule,
                             struct qn_arena *arena);

#endif
