/* What the files of the plan share. */
#ifndef QN_CHAOS_PLAN_H
#define QN_CHAOS_PLAN_H

#include "chaos/chaos.h"
#include "chaos/count.h"

enum {
    QN_PLAN_POINTS = QN_POINT_REPLY + 1,
    QN_PLAN_INDEXES = QN_PLAN_POINTS + 2 /* ... of the server and of the clock */
};

struct qn_plan_rule {
    struct qn_rule *rule;
    struct qn_rule_state state;
    struct qn_str name;
    uint64_t
        bits; /* to which API actions it can apply; inside the server, to which kind of event */
    bool spares_fifo;    /* it does not apply to FIFO queues */
    bool needs_messages; /* of the request, to match or for its effects */
    uint64_t queue_hash; /* of the only queue to which it can apply; 0: there may be several */
    /* qn_plan_text_bit of the only key to which it can apply; all bits when there may be several.
     */
    uint64_t key_bits;
    bool is_disabled;
    bool skips_ticks;     /* those that came while it was disabled */
    int64_t next_tick_ms; /* INT64_MIN: not yet known */
    char name_text[];
};

/* Set in the bits of every rule that asks for no certain text. */
#define QN_PLAN_ANY_TEXT (UINT64_C(1) << 63)

/* Enabled rules in their order. */
struct qn_plan_index {
    uint64_t bits; /* of all of them */
    bool asks_keys;
    struct qn_plan_rule **rules;
    size_t count;
    size_t cap;
};

struct qn_plan_effect {
    struct qn_plan_effect *next; /* by due_ms, then by age */
    const struct qn_plan_rule *from;
    struct qn_effect effect;
    char text[]; /* of its names */
};

struct qn_plan {
    struct qn_plan_options options;
    struct qn_rule_names names;
    struct qn_plan_rule **rules;
    size_t rule_count;
    size_t rule_cap;
    uint64_t names_given; /* to unnamed rules */
    /* The enabled rules: of each point, of the events inside the server, and of the clock. */
    struct qn_plan_index indexes[QN_PLAN_INDEXES];
    struct qn_plan_index *internal;
    struct qn_plan_index *clock;
    bool was_asked;
    bool has_new;    /* rules that have not seen the time yet */
    bool has_fired;  /* any rule, ever */
    bool resurrects; /* an enabled rule does */
    int64_t ready_ms;
    bool is_ready;        /* a request has begun, or a `ready` mark has come */
    uint64_t *ready_slot; /* where it is kept, or NULL */
    struct qn_plan_effect *effects;
    struct qn_plan_effect *waiting; /* for an answer to leave */
    struct qn_plan_effect *taken;   /* whose texts the caller still uses */
    struct qn_event_list events;    /* of what was observed */
    struct qn_arena arena;          /* for one event */
};

/* Who is hit: a request at a point, or an event (facts NULL). */
struct qn_plan_scene {
    const struct qn_facts *facts;
    const struct qn_event *event; /* NULL: a tick, if facts is NULL too */
    const struct qn_rule_subject *subject;
    struct qn_arena *arena;
    struct qn_event_list *events;
    int64_t now_ms;
};

/* NULL: there is none of this name. */
struct qn_plan_rule *qn_plan_find(const struct qn_plan *plan, struct qn_str name);
/* Puts a rule of a new name behind the others. */
void qn_plan_append(struct qn_plan *plan, struct qn_rule *rule_take, struct qn_str name);

/* sends.c: makes the messages that the rule's `send` actions put into queues, and reads their
 * files.
 */
QN_MUST_CHECK bool qn_sends_load(struct qn_rule *rule, struct qn_mistakes *mistakes);
/* What was read from files, for the next process: by then they may say something else. */
void qn_sends_save(const struct qn_rule *rule, struct qn_buf *ret_saved);
QN_MUST_CHECK bool qn_sends_restore(struct qn_rule *rule, struct qn_reader *saved,
                                    struct qn_mistakes *mistakes);

/* index.c: to be called when rules have come, gone, or been enabled or disabled. */
void qn_plan_reindex(struct qn_plan *plan);
void qn_plan_free_indexes(struct qn_plan *plan);
/* One of 63 bits; none for no text. */
uint64_t qn_plan_text_bit(struct qn_str text);
/* Another one for each text, as far as 63 bits go; 0 for no text. */
uint64_t qn_plan_text_hash(struct qn_str text);
/* All bits when the name is not known. */
uint64_t qn_plan_action_bit(const struct qn_plan *plan, struct qn_str action);

/* carry.c: whether a server with these options can do what the rule says. */
QN_MUST_CHECK bool qn_plan_carries(const struct qn_plan_options *options,
                                   const struct qn_rule *rule, struct qn_mistakes *mistakes);
/* The first action that is the harness's; action_count if there is none. */
size_t qn_plan_harness_part(const struct qn_rule *rule);

/* fire.c: the verdict, the effects and the fault event of a rule that fires. False: no entry is
 * left to fail, or no digest there to spoil, so it does not. */
bool qn_plan_fire(struct qn_plan *plan, const struct qn_plan_rule *from,
                  const struct qn_plan_scene *scene, const struct qn_rule_decision *decision,
                  struct qn_verdict *ret_verdict);
/* The fault event of a rule that came second. */
void qn_plan_tell_shadowed(const struct qn_plan_rule *from, const struct qn_plan_rule *first,
                           const struct qn_plan_scene *scene,
                           const struct qn_rule_decision *decision);
/* chain.c: effects. */
/* Whether the action is done by an effect, and not by a verdict alone. */
bool qn_chain_has_effect(enum qn_rule_verb verb);
/* Whether the action decides about the request itself. */
bool qn_chain_is_verdict(const struct qn_rule_action *action, const struct qn_plan_scene *scene);
/* A random number of the rule's own, for one of its matches. */
uint64_t qn_chain_draw(const struct qn_plan *plan, const struct qn_plan_rule *from, uint64_t match,
                       uint64_t index);
/* Real milliseconds until the server comes back after the rule's crash; -1: nothing is said. */
int64_t qn_chain_restart_ms(const struct qn_rule *rule);
/* Queues the effects of a rule that fires: each comes when the action before it is finished, behind
 * `after` and `delay` so much later. The first action that has one; QN_DO_COUNT: none has. */
enum qn_rule_verb qn_chain_queue(struct qn_plan *plan, const struct qn_plan_rule *from,
                                 const struct qn_plan_scene *scene,
                                 const struct qn_rule_decision *decision);
/* The rule goes, and what it queued stays. */
void qn_chain_forget(struct qn_plan *plan, const struct qn_plan_rule *from);
/* Forgets what is queued; with a rule, its effects only. */
void qn_chain_drop(struct qn_plan *plan, const struct qn_plan_rule *from);

/* The point of the server at which a rule's point is asked. */
enum qn_chaos_point qn_plan_point(enum qn_rule_point point);

#endif
