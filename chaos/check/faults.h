/* The part of a scenario's rules that the harness carries out: rules on events of the sink and of
 * processes, and what rules of the server leave to it. This decides and counts; what is to be done
 * apart from an answer of the sink comes out as steps, in their time. */
#ifndef QN_CHECK_FAULTS_H
#define QN_CHECK_FAULTS_H

#include "chaos/check/effects.h"
#include "chaos/check/scenario.h"
#include "chaos/check/terms.h"
#include "chaos/count.h"

/* What a fault fired for. */
struct qn_fault_cause {
    struct qn_str instance; /* access key, or none */
    struct qn_str k;
    struct qn_str mid;
    int64_t run; /* of the sink; QN_EVENT_NO_INT */
};

/* One action whose time has come. */
struct qn_fault_step {
    const struct qn_rule_action *action;
    struct qn_str rule;
    struct qn_fault_cause cause;
    bool releases_server; /* behind it: the server holds a request for the rule */
    bool releases_run;    /* the sink holds a run */
};

/* A rule of the run. */
struct qn_fault {
    const struct qn_scenario_fault *from;
    struct qn_rule *own; /* with the expressions of the run filled in; NULL: as it was read */
    const struct qn_rule *rule; /* either */
    struct qn_str text;
    struct qn_rule_state state;
};

/* The rest of a rule's actions, under way. */
struct qn_fault_chain {
    const struct qn_fault *fault;
    size_t next;    /* action */
    int64_t due_ms; /* monotonic */
    bool holds;     /* the action before the next one was `hold` */
    bool in_server; /* ... of a request there, not of a run of the sink */
    struct qn_fault_cause cause;
};

/* Outcomes that a rule has set for messages. */
struct qn_fault_outcome {
    const struct qn_rule_action *action;
    struct qn_table begun_at; /* int64_t by key: the first attempt that it was asked for */
};

enum { QN_FAULTS_CHAIN_MAX = 128, QN_FAULTS_OUTCOME_MAX = 32 };

struct qn_faults {
    struct qn_recorder *recorder;
    struct qn_fault *items;
    size_t count;
    struct qn_arena arena;
    uint64_t seed;
    int64_t ready_ms; /* virtual */
    struct qn_fault_chain chains[QN_FAULTS_CHAIN_MAX];
    size_t chain_count;
    struct qn_fault_outcome outcomes[QN_FAULTS_OUTCOME_MAX];
    size_t outcome_count;
};

/* Rules that were read with the scenario can be read again: a failure is the harness's own. */
QN_MUST_CHECK bool qn_faults_init(struct qn_faults *faults, const struct qn_scenario *scenario,
                                  const struct qn_terms *terms, struct qn_recorder *recorder,
                                  uint64_t seed, struct qn_error *err);
/* Accepts zeroed faults. */
void qn_faults_done(struct qn_faults *faults);
/* An event of the sink or of a process happened: what rules make of the call, if there is one. */
struct qn_effect_verdict qn_faults_at(struct qn_faults *faults, const struct qn_check_event *event);
/* The server says in its trace that it leaves something to the harness. */
void qn_faults_take_from_server(struct qn_faults *faults, const struct qn_check_event *event);
/* Takes a step that is due; false when there is none. */
bool qn_faults_next(struct qn_faults *faults, int64_t now_ms, struct qn_fault_step *ret_step);
/* The same for what changes the sink itself: it is to be done before the call that made the rule
 * fire goes on. */
bool qn_faults_next_of_sink(struct qn_faults *faults, struct qn_fault_step *ret_step);
/* Something is still to be done. */
bool qn_faults_are_pending(const struct qn_faults *faults);
/* How long until the server that this rule kills is to be started again; false when there is no
 * such rule, or it kills none. */
bool qn_faults_restart_delay(const struct qn_faults *faults, struct qn_str rule,
                             int64_t *ret_delay_ms);
/* From now on the action's outcomes are those of the messages that it names. */
void qn_faults_set_outcome(struct qn_faults *faults, const struct qn_rule_action *action);
/* The outcome that was set for an attempt at a key; none: the scenario's own. */
struct qn_str qn_faults_outcome(struct qn_faults *faults, struct qn_str k, int64_t attempt);
/* Whether some rule is about this target: then the harness carries it out. */
bool qn_faults_is_ours(const struct qn_rule *rule);
/* 0: no such signal. */
int qn_faults_signal(struct qn_str name);

#endif
