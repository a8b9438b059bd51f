/* Rules that the harness carries out. */
#include "chaos/check/faults.h"

#include <signal.h>

#include "server/base/clock.h"

void qn_faults_init(struct qn_faults *faults, const struct qn_scenario *scenario,
                    struct qn_recorder *recorder, uint64_t seed)
{
    *faults = (struct qn_faults){.scenario = scenario, .recorder = recorder, .seed = seed};
    faults->states = qn_memory_new_array(scenario->fault_count, sizeof(*faults->states));
    for (size_t i = 0; i < scenario->fault_count; i++) {
        qn_rule_state_init(&faults->states[i], scenario->faults[i].name, NULL);
    }
}

void qn_faults_done(struct qn_faults *faults)
{
    for (size_t i = 0; faults->states != NULL && i < faults->scenario->fault_count; i++) {
        qn_rule_state_done(&faults->states[i]);
    }
    qn_memory_free(faults->states);
    *faults = (struct qn_faults){0};
}

bool qn_faults_is_ours(const struct qn_scenario_fault *fault)
{
    return fault->rule->target == QN_TARGET_SINK || fault->rule->target == QN_TARGET_PROC;
}

static int signal_number(struct qn_str name)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {
        {"TERM", SIGTERM}, {"INT", SIGINT},   {"KILL", SIGKILL},
        {"HUP", SIGHUP},   {"STOP", SIGSTOP}, {"CONT", SIGCONT},
        {"QUIT", SIGQUIT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
    };

    if (qn_str_starts_with(name, QN_STR("SIG"))) {
        name = qn_str_from(name, 3);
    }
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (qn_str_equal(name, qn_str_from_cstr(signals[i].name))) {
            return signals[i].number;
        }
    }
    return 0;
}

/* "2" and "QUERN0002" name the same instance. */
static struct qn_str instance_name(struct qn_faults *faults, struct qn_str named,
                                   struct qn_str of_event)
{
    struct qn_arena *arena = &faults->recorder->history->arena;
    int64_t number;

    if (qn_str_is_none(named)) {
        return qn_arena_copy(arena, of_event);
    }
    if (qn_str_to_int64(named, 1, 9999, &number)) {
        return qn_arena_format(arena, "QUERN%04lld", (long long)number);
    }
    return qn_arena_copy(arena, named);
}

static void add_order(struct qn_faults *faults, const struct qn_scenario_fault *fault,
                      const struct qn_rule_action *action, struct qn_str of_event,
                      bool holds_in_server)
{
    if (faults->order_count == QN_FAULTS_ORDER_MAX) {
        return;
    }
    faults->orders[faults->order_count++] = (struct qn_fault_order){
        .verb = action->verb,
        .instance = instance_name(faults, action->instance, of_event),
        .rule = fault->name,
        .signal = action->verb == QN_DO_KILL ? SIGKILL : signal_number(action->text),
        .holds_in_server = holds_in_server,
        .due_ms = qn_clock_monotonic_ms() + (action->after_ms > 0 ? action->after_ms : 0),
    };
}

/* Adds what the rule wants done to processes; says whether it holds the request meanwhile. */
static enum qn_effect_verdict carry_out(struct qn_faults *faults,
                                        const struct qn_scenario_fault *fault,
                                        struct qn_str of_event, bool in_server)
{
    enum qn_effect_verdict verdict = QN_EFFECT_GO_ON;

    for (size_t i = 0; i < fault->rule->action_count; i++) {
        const struct qn_rule_action *action = &fault->rule->actions[i];
        if (action->verb == QN_DO_HOLD) {
            verdict = QN_EFFECT_HELD;
        } else if (action->verb == QN_DO_KILL || action->verb == QN_DO_SIGNAL) {
            add_order(faults, fault, action, of_event, in_server && verdict == QN_EFFECT_HELD);
        }
    }
    return verdict;
}

static void record_fault(struct qn_faults *faults, const struct qn_scenario_fault *fault,
                         const struct qn_check_event *cause, uint64_t match)
{
    struct qn_check_event event;

    qn_check_event_init(&event, QN_CHECK_FAULT);
    event.rule = fault->name;
    event.match = (int64_t)match;
    event.k = cause->k;
    event.instance = cause->instance;
    event.reason = fault->rule->actions[fault->rule->action_count - 1].source;
    qn_record(faults->recorder, &event);
}

static struct qn_str event_name(const struct qn_check_event *event)
{
    return event->kind == QN_CHECK_PROC ? event->what
                                        : qn_str_from_cstr(qn_check_kind_name(event->kind));
}

enum qn_effect_verdict qn_faults_at(struct qn_faults *faults, const struct qn_check_event *event)
{
    bool is_proc = event->kind == QN_CHECK_PROC && !qn_str_equal(event->what, QN_STR("ready"));
    struct qn_rule_subject subject;
    struct qn_arena arena;
    enum qn_effect_verdict verdict = QN_EFFECT_GO_ON;
    struct qn_rule_moment moment = {
        .seed = faults->seed,
        .now_ms = qn_recorder_now_ms(faults->recorder),
        .ready_ms = faults->ready_ms,
    };

    qn_arena_init(&arena, 1024 * 1024);
    qn_rule_subject_init(&subject, is_proc ? QN_TARGET_PROC : QN_TARGET_SINK, event_name(event),
                         &arena);
    subject.key = event->k;
    subject.instance = event->instance;
    subject.attempt = event->attempt;
    subject.since_ready_ms = moment.now_ms - moment.ready_ms;
    for (size_t i = 0; i < faults->scenario->fault_count && verdict == QN_EFFECT_GO_ON; i++) {
        const struct qn_scenario_fault *fault = &faults->scenario->faults[i];
        struct qn_rule_decision decision;
        if (!qn_faults_is_ours(fault)) {
            continue;
        }
        qn_rule_decide(fault->rule, &faults->states[i], &subject, &moment, &decision);
        if (decision.fired == 0) {
            continue;
        }
        qn_rule_commit(&faults->states[i], &decision, moment.now_ms);
        record_fault(faults, fault, event, decision.match);
        verdict = carry_out(faults, fault, event->instance, false);
    }
    qn_arena_done(&arena);
    return verdict;
}

void qn_faults_take_from_server(struct qn_faults *faults, const struct qn_check_event *event)
{
    struct qn_str target = event->target;
    struct qn_str instance = event->instance;

    if (qn_str_starts_with(event->reason, QN_STR("shadowed"))) {
        return;
    }
    if (qn_str_starts_with(target, QN_STR("instance="))) {
        instance = qn_str_from(target, 9);
    }
    for (size_t i = 0; i < faults->scenario->fault_count; i++) {
        const struct qn_scenario_fault *fault = &faults->scenario->faults[i];
        if (!qn_faults_is_ours(fault) && qn_str_equal(fault->name, event->rule)) {
            (void)carry_out(faults, fault, instance, true);
        }
    }
}

bool qn_faults_next(struct qn_faults *faults, int64_t now_ms, struct qn_fault_order *ret_order)
{
    for (size_t i = 0; i < faults->order_count; i++) {
        if (faults->orders[i].due_ms <= now_ms) {
            *ret_order = faults->orders[i];
            faults->order_count--;
            memmove(&faults->orders[i], &faults->orders[i + 1],
                    (faults->order_count - i) * sizeof(faults->orders[0]));
            return true;
        }
    }
    return false;
}

bool qn_faults_restart_delay(const struct qn_faults *faults, int64_t *ret_delay_ms)
{
    for (size_t i = 0; i < faults->scenario->fault_count; i++) {
        const struct qn_rule *rule = faults->scenario->faults[i].rule;
        for (size_t j = 1; j < rule->action_count; j++) {
            const struct qn_rule_action *action = &rule->actions[j];
            if (action->verb == QN_DO_RESTART) {
                int64_t after_ms = action->after_ms > 0 ? action->after_ms : 0;
                *ret_delay_ms = action->duration_ms > after_ms ? action->duration_ms : after_ms;
                return true;
            }
        }
    }
    return false;
}
