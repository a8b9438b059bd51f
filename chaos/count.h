/* How often a rule has matched and fired, and whether it fires now. */
#ifndef QN_CHAOS_COUNT_H
#define QN_CHAOS_COUNT_H

#include "chaos/rule.h"
#include "server/base/map.h"

enum { QN_COUNT_SLOTS = 256, QN_COUNT_UNITS = 128 };

/* Slots that outlive the process, each: hash of a name (0: free), matches, fired, instant of the
 * last firing (ms). A rule's own counts and those under `per` have one each, found by open
 * addressing; another one has the instant from which it counts. */
typedef uint64_t qn_count_slot[4];

struct qn_count;

struct qn_rule_state {
    uint64_t hash;        /* of the rule's name */
    qn_count_slot *slots; /* QN_COUNT_SLOTS, or NULL */
    uint64_t *total;      /* a slot, or own */
    qn_count_slot own;
    struct qn_map counts; /* under `per`, and of what resurrect brought back */
    int64_t since_ms;     /* from which `for` counts; INT64_MIN: not asked yet */
    uint64_t *begun;      /* a slot that keeps since_ms, or NULL */
};

/* Finds the counters of this name again. The state must not move. */
void qn_rule_state_init(struct qn_rule_state *state, struct qn_str name, qn_count_slot *slots);
void qn_rule_state_done(struct qn_rule_state *state);
/* It counts from now on, or from when it did in an earlier process. */
void qn_rule_state_begin(struct qn_rule_state *state, int64_t now_ms);
/* Sets the counters to 0, also those that outlive the process: the rule was removed. */
void qn_rule_state_forget(struct qn_rule_state *state);

struct qn_rule_moment {
    uint64_t seed;
    int64_t now_ms;
    int64_t ready_ms; /* virtual instant at which `between` and `for` begin */
};

struct qn_rule_decision {
    uint64_t fired; /* as qn_rule_match: which messages; 0: it does not fire */
    uint64_t match; /* index of the first match that fires, from 1 */
    struct qn_count *counts[QN_COUNT_UNITS];
    size_t unit_count;
    size_t fired_count;
};

/* Counts what matches now and decides. One of the two calls below must follow, at once. */
void qn_rule_decide(const struct qn_rule *rule, struct qn_rule_state *state,
                    const struct qn_rule_subject *subject, const struct qn_rule_moment *moment,
                    struct qn_rule_decision *ret_decision);
/* It fires: counts that. */
void qn_rule_commit(struct qn_rule_state *state, struct qn_rule_decision *decision, int64_t now_ms);
/* Another rule was first: once and times are not used up. */
void qn_rule_cancel(struct qn_rule_decision *decision);

#endif
