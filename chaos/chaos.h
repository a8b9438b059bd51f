/* Faults: rules say what goes wrong, a plan says which rule fires now. The server asks at four
 * points; internal events of the engine (lease.*, msg.*, tick) are fed in where the trace gets
 * them. A plan decides and counts; it does nothing itself. */
#ifndef QN_CHAOS_CHAOS_H
#define QN_CHAOS_CHAOS_H

#include <jansson.h>

#include "chaos/failpoints.h"
#include "chaos/mistake.h"
#include "server/base/buf.h"
#include "server/model/effect.h"
#include "server/model/event.h"
#include "server/model/verdict.h"

struct qn_plan;

struct qn_plan_options {
    uint64_t seed;
    /* Counters that outlive the process (trace header), 256 slots of 4 (name hash, matches, fired,
     * last fired ms), or NULL. */
    uint64_t (*counters)[4];
    /* Virtual instant from which `t`, `between` and `for` count until the first request, or a
     * `ready` mark, moves it. That instant is kept with the counters: a plan that finds it goes on
     * from there. */
    int64_t start_ms;
    /* Wire names of the API actions, so that a rule with a misspelt one is refused; NULL accepts
     * any. Must outlive the plan. */
    const char *const *actions;
    size_t action_count;
    bool clock_is_virtual;                /* so it can jump */
    struct qn_failpoint_reach failpoints; /* those that `crash server at` may name */
    bool can_restore; /* there is a store, and somebody who starts the server again */
};

struct qn_plan *qn_plan_new(const struct qn_plan_options *options);
void qn_plan_free(struct qn_plan *plan);

/* Adds rules (chaos/rule.h has the grammar) at the end: all of a text or of a list, or none. What
 * is wrong is put behind what stands in `mistakes`, all of it: line, column, what was expected and
 * the nearest legal word. Refused as well: a rule that breaks a promise of AWS unless it says
 * `unsound`, one for events that only the harness sees, one with an action that this server does
 * not carry out, and a second rule of the same name. An unnamed rule is called rule-N. */

/* A file's text: one rule a line, '#' comments, blank lines. */
QN_MUST_CHECK bool qn_plan_add_lines(struct qn_plan *plan, struct qn_str text,
                                     struct qn_mistakes *mistakes);
/* Each text is one rule. */
QN_MUST_CHECK bool qn_plan_add_all(struct qn_plan *plan, const struct qn_str *texts, size_t count,
                                   struct qn_mistakes *mistakes);
/* One rule, and one message for all that is wrong with it. */
QN_MUST_CHECK bool qn_plan_add(struct qn_plan *plan, struct qn_str text, struct qn_error *err);
/* All rules with their names, and from when they count, as bytes; and a new plan with the same. */
void qn_plan_save(const struct qn_plan *plan, int64_t now_ms, struct qn_buf *ret_saved);
QN_MUST_CHECK bool qn_plan_restore(struct qn_plan *plan, struct qn_str saved, struct qn_error *err);
/* False: no rule of this name. An empty name removes all. */
bool qn_plan_remove(struct qn_plan *plan, struct qn_str name);
/* A disabled rule is not asked, counts nothing, and keeps its counts; what has fired before goes
 * on. False: no rule of this name. */
bool qn_plan_enable(struct qn_plan *plan, struct qn_str name, bool enabled);
bool qn_plan_has(const struct qn_plan *plan, struct qn_str name);
size_t qn_plan_rule_count(const struct qn_plan *plan);
/* [{"name","text","point" (null: there is none),"enabled","state" ("on", "off", or "done": it will
 * not fire again),"unsound","matched","fired","last_fired" (null: never),"queues","told"}]: queues
 * as the rule calls them, wildcards and all; told are the actions that need quern check, and are
 * only told without it. The caller owns the reference. */
json_t *qn_plan_list(const struct qn_plan *plan);
/* Appends the text from which qn_plan_add_lines makes the same rules, with their names and disabled
 * where they are. */
void qn_plan_write(const struct qn_plan *plan, struct qn_buf *buf);

/* Whether a rule that can still fire goes back in time (`restore D`), and what the least and most
 * D of these is. */
bool qn_plan_restores(const struct qn_plan *plan, int64_t *ret_least_ms, int64_t *ret_most_ms);
/* Whether any enabled rule could fire at this point, and whether one could for this API action
 * (its index in the options): lets the loop skip gathering facts. */
bool qn_plan_cares(const struct qn_plan *plan, enum qn_chaos_point point);
bool qn_plan_cares_about(const struct qn_plan *plan, enum qn_chaos_point point, size_t action);
/* Whether an enabled rule may apply, of a request whose messages and code are not known yet, and
 * whether its messages have to be known for that. is_now: the request is at the point; otherwise
 * it is still on its way there. Counts nothing. */
enum { QN_PLAN_APPLIES = 1, QN_PLAN_NEEDS_MESSAGES = 2 };
unsigned qn_plan_may_apply(struct qn_plan *plan, enum qn_chaos_point point,
                           const struct qn_facts *facts, bool is_now);
/* Whether what happens inside the server has to be told: there are rules for it, or a rule has
 * fired, and who looks into the trace wants to see around it. */
bool qn_plan_wants_events(const struct qn_plan *plan);
/* Whether there are rules, or effects that wait. */
bool qn_plan_has_work(const struct qn_plan *plan);
/* Whether deleted messages may be wanted back. */
bool qn_plan_resurrects(const struct qn_plan *plan);
/* The verdict on one request at one point. Counters move here, in the order of the calls: each
 * matching rule counts, the first that fires decides. `events` gets a `fault` event for it:
 *   rule, match  its name, and which of its matches this was
 *   action       the API action, or the event inside the server
 *   code         the verb that the server carries out itself ("hold", "error", "resurrect" ...)
 *   target       what was hit: message ids with commas between, or "request"; of a chain that the
 *                harness carries out "instance=QUERN0001", "server" or "harness"
 *   reason       the chain of actions; of one that the harness carries out its part of it, such
 *                as "kill instance"
 * One for every other rule that would have fired, and to which nothing happened, has no rule, but
 * the target "rule=NAME" and the reason "shadowed by NAME". From the first one on events are
 * wanted. Facts that are absent: texts none, numbers below 0. By message, the first 64 are looked
 * at. */
struct qn_verdict qn_chaos_at(struct qn_plan *plan, enum qn_chaos_point point,
                              const struct qn_facts *facts, struct qn_event_list *events);

/* An internal event was appended to the trace, or the clock reached now_ms (event NULL: ticks). May
 * queue effects and events for qn_plan_take_events. Never calls back. */
void qn_plan_observe(struct qn_plan *plan, const struct qn_event *event, int64_t now_ms);
/* Queues the effects of actions ("expire-lease", "after 2s purge of q") as if a rule called `name`
 * had fired for the event, of which queue, message_id, handle, receive_count and instance count. No
 * rule stays. False: mistakes says what is wrong. */
QN_MUST_CHECK bool qn_plan_act(struct qn_plan *plan, struct qn_str text, struct qn_str name,
                               const struct qn_event *event, int64_t now_ms,
                               struct qn_mistakes *mistakes);
/* The earliest instant at which the plan wants to be asked again (ticks, effects with `after`),
 * INT64_MAX for never. */
int64_t qn_plan_next_ms(const struct qn_plan *plan);
/* Takes the next effect that is due, in order; false when there is none. Its texts live until the
 * next call. */
bool qn_plan_take_effect(struct qn_plan *plan, int64_t now_ms, struct qn_effect *ret_effect);
/* What rules at mid-response and post-response want done waits until so much of the request's
 * answer has left, or it ended in another way. */
void qn_plan_answer_left(struct qn_plan *plan, struct qn_str request_id);
/* Another request begins: all of that comes first, whether or not the answers have left in full;
 * but for what only the time of clients can tell (refuse, freeze). */
void qn_plan_request_begins(struct qn_plan *plan);
/* It is one of SQS. */
void qn_plan_sqs_begins(struct qn_plan *plan, int64_t now_ms);
/* Moves the `fault` and `mark` events of what was observed to the end of a list. To be asked after
 * each qn_plan_observe, outside of the append that called it. */
void qn_plan_take_events(struct qn_plan *plan, struct qn_event_list *events);

#endif
