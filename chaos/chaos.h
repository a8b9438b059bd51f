/* Faults: rules say what goes wrong, a plan says which rule fires now. The server asks at four points; internal events of the
 * engine (lease.*, msg.*, tick) are fed in where the trace gets them. A plan decides and counts; it does nothing itself. */
#ifndef QN_CHAOS_CHAOS_H
#define QN_CHAOS_CHAOS_H

#include <jansson.h>

#include "server/base/buf.h"
#include "server/model/event.h"
#include "server/model/verdict.h"

struct qn_plan;

struct qn_plan_options {
    uint64_t seed;
    /* Counters that outlive the process (trace header), 256 slots of 4 (name hash, matches, fired, last fired ms), or NULL. */
    uint64_t (*counters)[4];
    int64_t start_ms; /* virtual instant from which `t`, `between` and `for` count until a `ready` mark moves it */
};

struct qn_plan *qn_plan_new(const struct qn_plan_options *options);
void qn_plan_free(struct qn_plan *plan);

/* Parses one rule and adds it at the end. The message of a failure names line, column, what was expected and the nearest legal
 * word. A rule that breaks a promise of AWS is refused unless it says `unsound`. An unnamed rule is called rule-N. */
QN_MUST_CHECK bool qn_plan_add(struct qn_plan *plan, struct qn_str text, struct qn_error *err);
/* A file's text: one rule a line, '#' comments, blank lines. All or nothing. */
QN_MUST_CHECK bool qn_plan_add_lines(struct qn_plan *plan, struct qn_str text, struct qn_error *err);
/* False: no rule of this name. An empty name removes all. */
bool qn_plan_remove(struct qn_plan *plan, struct qn_str name);
size_t qn_plan_rule_count(const struct qn_plan *plan);
/* [{"name","text","matched","fired","last_fired"}]; the caller owns the reference. */
json_t *qn_plan_list(const struct qn_plan *plan);

/* Whether any rule could fire at this point: lets the loop skip gathering facts. */
bool qn_plan_cares(const struct qn_plan *plan, enum qn_chaos_point point);
/* The verdict on one request at one point. Counters move here, in the order of the calls. Emits `fault` events into events. */
struct qn_verdict qn_chaos_at(struct qn_plan *plan, enum qn_chaos_point point,
                              const struct qn_facts *facts, struct qn_event_list *events);

/* An internal event was appended to the trace, or the clock reached now_ms (event NULL: ticks). May queue effects. */
void qn_plan_observe(struct qn_plan *plan, const struct qn_event *event, int64_t now_ms);
/* The earliest instant at which the plan wants to be asked again (ticks, effects with `after`), INT64_MAX for never. */
int64_t qn_plan_next_ms(const struct qn_plan *plan);
/* Takes the next effect that is due, in order; false when there is none. Its texts live until the next call. */
bool qn_plan_take_effect(struct qn_plan *plan, int64_t now_ms, struct qn_effect *ret_effect);

#endif
