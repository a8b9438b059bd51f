/* What V, VH, G, W, R, C and P stand for in a run, and texts with expressions of them. */
#ifndef QN_CHECK_TERMS_H
#define QN_CHECK_TERMS_H

#include "chaos/check/judge/judge.h"
#include "chaos/check/options.h"
#include "chaos/check/profile.h"
#include "chaos/check/scenario.h"

/* Of one run: by the tempo, the options, and what the consumer has shown so far. */
struct qn_terms {
    struct qn_judge_input in; /* the constants, on an empty history */
    struct qn_history nothing;
    int64_t work_max_ms; /* declared; 0: no limit */
    char dlq[100];       /* what the dead-letter queue is called, if there is one */
};

/* Bounds in real time are wider on a busy machine, by some times what the server took to start. */
void qn_terms_set_slack(struct qn_terms *terms, int64_t start_ms);
/* terms must stay where it is. */
void qn_terms_init(struct qn_terms *terms, const struct qn_scenario *scenario,
                   const struct qn_check_options *options, const struct qn_profile *learned);
/* Milliseconds of an expression that was checked when the scenario was read; 0 for none. */
int64_t qn_terms_ms(const struct qn_terms *terms, struct qn_str text);
/* How long the work on a message of this line takes: never longer than the consumer's may. */
int64_t qn_terms_work_ms(const struct qn_terms *terms, const struct qn_scenario_load *load);
/* Messages of the line with a number of their own: copies have that of what they are copies of. */
int64_t qn_terms_load_count(const struct qn_terms *terms, const struct qn_scenario_load *load);
/* A copy of the text in which a number followed by `unit` stands for each {expression}: of
 * milliseconds, or of seconds, rounded up, when the unit is empty; and for {dlq} a name. Braces
 * around anything else stay. ret_any (may be NULL) says whether there was one. */
struct qn_str qn_terms_fill(const struct qn_terms *terms, struct qn_str text, const char *unit,
                            struct qn_arena *arena, bool *ret_any);

#endif
