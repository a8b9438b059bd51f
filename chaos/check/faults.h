/* The part of a scenario's rules that the harness carries out: rules on events of the sink and of
 * processes, and what rules of the server leave to it (kill, signal, restart). */
#ifndef QN_CHECK_FAULTS_H
#define QN_CHECK_FAULTS_H

#include "chaos/check/effects.h"
#include "chaos/check/scenario.h"
#include "chaos/count.h"

/* Something to be done to a process, once its time has come. */
struct qn_fault_order {
    enum qn_rule_verb verb; /* QN_DO_KILL, QN_DO_SIGNAL */
    struct qn_str instance; /* access key */
    struct qn_str rule;
    int signal;
    bool holds_in_server; /* the server holds a request until the rule is released */
    int64_t due_ms;       /* monotonic */
};

enum { QN_FAULTS_ORDER_MAX = 32 };

struct qn_faults {
    const struct qn_scenario *scenario;
    struct qn_recorder *recorder;
    struct qn_rule_state *states; /* one per fault of the scenario */
    uint64_t seed;
    int64_t ready_ms; /* virtual */
    struct qn_fault_order orders[QN_FAULTS_ORDER_MAX];
    size_t order_count;
};

void qn_faults_init(struct qn_faults *faults, const struct qn_scenario *scenario,
                    struct qn_recorder *recorder, uint64_t seed);
void qn_faults_done(struct qn_faults *faults);
/* An event of the sink or of a process happened: what rules make of it. Orders are added. */
enum qn_effect_verdict qn_faults_at(struct qn_faults *faults, const struct qn_check_event *event);
/* The server says in its trace that it leaves something to the harness. */
void qn_faults_take_from_server(struct qn_faults *faults, const struct qn_check_event *event);
/* Takes an order that is due; false when there is none. */
bool qn_faults_next(struct qn_faults *faults, int64_t now_ms, struct qn_fault_order *ret_order);
/* After the server was killed by a rule: how long until it is to be started again; false when no
 * rule says so. */
bool qn_faults_restart_delay(const struct qn_faults *faults, int64_t *ret_delay_ms);
/* Whether some rule is about this target: then the harness carries it out. */
bool qn_faults_is_ours(const struct qn_scenario_fault *fault);

#endif
