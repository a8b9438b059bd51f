/* Rules that the harness carries out: which fires, and what follows when. */
#include "chaos/check/faults.h"

#include <signal.h>

#include "chaos/plan.h"
#include "server/base/clock.h"

static bool init_one(struct qn_faults *faults, struct qn_fault *fault,
                     const struct qn_scenario_fault *from, const struct qn_terms *terms,
                     struct qn_error *err)
{
    *fault = (struct qn_fault){.from = from, .rule = from->rule, .text = from->text};
    qn_rule_state_init(&fault->state, from->name, NULL);
    faults->count++;
    if (!from->has_blanks) {
        return true;
    }
    fault->text = qn_terms_fill(terms, from->text, "ms", &faults->arena, NULL);
    if (!qn_rule_parse(fault->text, 1, NULL, &fault->own, err)) {
        return false;
    }
    fault->rule = fault->own;
    return true;
}

bool qn_faults_init(struct qn_faults *faults, const struct qn_scenario *scenario,
                    const struct qn_terms *terms, struct qn_recorder *recorder, uint64_t seed,
                    struct qn_error *err)
{
    *faults = (struct qn_faults){.recorder = recorder, .seed = seed};
    qn_arena_init(&faults->arena, SIZE_MAX / 2);
    faults->items = qn_memory_new_array(scenario->fault_count, sizeof(*faults->items));
    for (size_t i = 0; i < scenario->fault_count; i++) {
        if (!init_one(faults, &faults->items[i], &scenario->faults[i], terms, err)) {
            return false;
        }
    }
    return true;
}

void qn_faults_done(struct qn_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++) {
        qn_rule_state_done(&faults->items[i].state);
        qn_rule_free(faults->items[i].own);
    }
    for (size_t i = 0; i < faults->outcome_count; i++) {
        qn_table_done(&faults->outcomes[i].begun_at);
    }
    qn_memory_free(faults->items);
    qn_arena_done(&faults->arena);
    *faults = (struct qn_faults){0};
}

bool qn_faults_is_ours(const struct qn_rule *rule)
{
    return rule->target == QN_TARGET_SINK || rule->target == QN_TARGET_PROC ||
           rule->target == QN_TARGET_LAMBDA;
}

int qn_faults_signal(struct qn_str name)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {
        {"TERM", SIGTERM}, {"INT", SIGINT},   {"KILL", SIGKILL}, {"HUP", SIGHUP},
        {"STOP", SIGSTOP}, {"CONT", SIGCONT}, {"QUIT", SIGQUIT}, {"USR1", SIGUSR1},
        {"USR2", SIGUSR2}, {"ABRT", SIGABRT}, {"SEGV", SIGSEGV}, {"PIPE", SIGPIPE},
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

static int64_t pause_before(const struct qn_rule_action *action)
{
    int64_t own_ms = action->verb == QN_DO_AFTER ? action->duration_ms : 0;

    return own_ms + (action->after_ms > 0 ? action->after_ms : 0);
}

/* The actions from `next` on are to be done one after the other. */
static void add_chain(struct qn_faults *faults, const struct qn_fault *fault, size_t next,
                      bool holds, bool in_server, const struct qn_fault_cause *cause)
{
    struct qn_arena *arena = &faults->arena;

    if (faults->chain_count == QN_FAULTS_CHAIN_MAX || next >= fault->rule->action_count) {
        return;
    }
    faults->chains[faults->chain_count++] = (struct qn_fault_chain){
        .fault = fault,
        .next = next,
        .due_ms = qn_clock_monotonic_ms() + pause_before(&fault->rule->actions[next]),
        .holds = holds,
        .in_server = in_server,
        .cause = {qn_arena_copy(arena, cause->instance), qn_arena_copy(arena, cause->k),
                  qn_arena_copy(arena, cause->mid), cause->run},
    };
}

/* What the action does to the call itself; false: it is done apart from it. */
static bool decides(const struct qn_rule_action *action, struct qn_effect_verdict *verdict)
{
    switch (action->verb) {
    case QN_DO_HOLD:
        verdict->fate = QN_EFFECT_HELD;
        return true;
    case QN_DO_DELAY:
        verdict->delay_ms += action->duration_ms;
        return true;
    case QN_DO_HANG:
        verdict->fate = QN_EFFECT_HUNG;
        return true;
    case QN_DO_COMMIT_THEN_STATUS:
        verdict->commits = true;
        verdict->fate = QN_EFFECT_STATUS;
        verdict->status = (int)action->count;
        return true;
    case QN_DO_STATUS:
        verdict->fate = QN_EFFECT_STATUS;
        verdict->status = (int)action->count;
        return true;
    case QN_DO_COMMIT_THEN_RESET:
        verdict->commits = true;
        verdict->fate = QN_EFFECT_BREAK;
        verdict->end = QN_EFFECT_RESET;
        return true;
    case QN_DO_RESET:
    case QN_DO_CLOSE:
        verdict->fate = QN_EFFECT_BREAK;
        verdict->end = action->verb == QN_DO_RESET ? QN_EFFECT_RESET : QN_EFFECT_CLOSED;
        return true;
    default:
        return false;
    }
}

/* The verdict is what stands in front; the rest follows in its time. */
static struct qn_effect_verdict carry_out(struct qn_faults *faults, const struct qn_fault *fault,
                                          const struct qn_fault_cause *cause)
{
    struct qn_effect_verdict verdict = {.fate = QN_EFFECT_GO_ON};
    size_t next = 0;

    while (next < fault->rule->action_count && decides(&fault->rule->actions[next], &verdict)) {
        next++;
    }
    add_chain(faults, fault, next, verdict.fate == QN_EFFECT_HELD, false, cause);
    return verdict;
}

static void record_fault(struct qn_faults *faults, const struct qn_fault *fault,
                         const struct qn_check_event *cause, uint64_t match)
{
    struct qn_check_event event;
    struct qn_check_detail detail;

    qn_check_event_init(&event, &detail, QN_CHECK_FAULT);
    detail.rule = fault->from->name;
    detail.match = (int64_t)match;
    event.k = cause->k;
    event.instance = cause->instance;
    detail.reason = fault->rule->actions[fault->rule->action_count - 1].source;
    qn_record(faults->recorder, &event);
}

static bool is_of_processes(const struct qn_check_event *event)
{
    return event->kind == QN_CHECK_PROC && !qn_str_equal(event->what, QN_STR("ready"));
}

/* What an event is to rules: of whom, and its name there. */
static enum qn_rule_target target_of(const struct qn_check_event *event, struct qn_str *ret_name)
{
    switch (event->kind) {
    case QN_CHECK_PROC:
        *ret_name = event->what;
        return is_of_processes(event) ? QN_TARGET_PROC : QN_TARGET_SINK;
    case QN_CHECK_LAMBDA_INIT:
        *ret_name = QN_STR("init");
        return QN_TARGET_LAMBDA;
    case QN_CHECK_LAMBDA_INVOKE:
        *ret_name = QN_STR("invoke");
        return QN_TARGET_LAMBDA;
    case QN_CHECK_LAMBDA_RETURN:
    case QN_CHECK_LAMBDA_WRONG:
    case QN_CHECK_LAMBDA_WRONG_ID:
    case QN_CHECK_LAMBDA_ERROR:
        *ret_name = QN_STR("response");
        return QN_TARGET_LAMBDA;
    default:
        *ret_name = qn_str_from_cstr(qn_check_kind_name(event->kind));
        return QN_TARGET_SINK;
    }
}

static struct qn_rule_subject subject_of(const struct qn_faults *faults,
                                         const struct qn_check_event *event, int64_t now_ms,
                                         struct qn_fact_message *message, struct qn_arena *arena)
{
    struct qn_rule_subject subject;
    struct qn_str name;
    enum qn_rule_target target = target_of(event, &name);

    qn_rule_subject_init(&subject, target, name, arena);
    subject.key = event->k;
    subject.instance = event->instance;
    subject.attempt = event->attempt;
    subject.since_ready_ms = now_ms - faults->ready_ms;
    if (!qn_str_is_none(event->k)) {
        *message = (struct qn_fact_message){
            .message_id = qn_str_is_none(event->mid) ? event->k : event->mid,
            .receive_count = event->n != QN_EVENT_NO_INT ? event->n : -1,
        };
        subject.messages = message;
        subject.message_count = 1;
    }
    return subject;
}

struct qn_effect_verdict qn_faults_at(struct qn_faults *faults, const struct qn_check_event *event)
{
    const struct qn_rule_moment moment = {
        .seed = faults->seed,
        .now_ms = qn_recorder_now_ms(faults->recorder),
        .ready_ms = faults->ready_ms,
    };
    const struct qn_fault_cause cause = {event->instance, event->k, event->mid, event->run};
    struct qn_effect_verdict verdict = {.fate = QN_EFFECT_GO_ON};
    struct qn_fact_message message;
    struct qn_arena arena;
    bool has_fired = false;

    qn_arena_init(&arena, 1024 * 1024);
    struct qn_rule_subject subject = subject_of(faults, event, moment.now_ms, &message, &arena);
    for (size_t i = 0; i < faults->count; i++) {
        struct qn_fault *fault = &faults->items[i];
        struct qn_rule_decision decision;
        if (!qn_faults_is_ours(fault->rule)) {
            continue;
        }
        qn_rule_decide(fault->rule, &fault->state, &subject, &moment, &decision);
        if (decision.fired == 0) {
            continue;
        }
        if (has_fired) { /* the first one decides, and the others are not used up */
            qn_rule_cancel(&decision);
            continue;
        }
        has_fired = true;
        qn_rule_commit(&fault->state, &decision, moment.now_ms);
        record_fault(faults, fault, event, decision.match);
        verdict = carry_out(faults, fault, &cause);
    }
    qn_arena_done(&arena);
    return verdict;
}

void qn_faults_take_from_server(struct qn_faults *faults, const struct qn_check_event *event)
{
    struct qn_fault_cause cause = {event->instance, event->k, event->mid, QN_EVENT_NO_INT};

    if (qn_str_starts_with(event->detail->reason, QN_STR("shadowed"))) {
        return;
    }
    if (qn_str_starts_with(event->detail->target, QN_STR("instance="))) {
        cause.instance = qn_str_from(event->detail->target, 9);
    }
    for (size_t i = 0; i < faults->count; i++) {
        const struct qn_fault *fault = &faults->items[i];
        if (qn_faults_is_ours(fault->rule) ||
            !qn_str_equal(fault->from->name, event->detail->rule)) {
            continue;
        }
        size_t part = qn_plan_harness_part(fault->rule);
        bool holds = part > 0 && fault->rule->actions[part - 1].verb == QN_DO_HOLD;
        if (part < fault->rule->action_count && fault->rule->actions[part].verb != QN_DO_RESTART) {
            add_chain(faults, fault, part, holds, true, &cause);
        }
    }
}

static void remove_chain(struct qn_faults *faults, size_t i)
{
    faults->chain_count--;
    memmove(&faults->chains[i], &faults->chains[i + 1],
            (faults->chain_count - i) * sizeof(faults->chains[0]));
}

static void take_step(struct qn_faults *faults, size_t i, int64_t now_ms,
                      struct qn_fault_step *ret_step)
{
    struct qn_fault_chain *chain = &faults->chains[i];
    const struct qn_rule *rule = chain->fault->rule;

    *ret_step = (struct qn_fault_step){
        .action = &rule->actions[chain->next],
        .rule = chain->fault->from->name,
        .cause = chain->cause,
        .releases_server = chain->holds && chain->in_server,
        .releases_run = chain->holds && !chain->in_server,
    };
    chain->holds = false;
    if (++chain->next == rule->action_count) {
        remove_chain(faults, i);
    } else {
        chain->due_ms = now_ms + pause_before(&rule->actions[chain->next]);
    }
}

bool qn_faults_next(struct qn_faults *faults, int64_t now_ms, struct qn_fault_step *ret_step)
{
    for (size_t i = 0; i < faults->chain_count; i++) {
        if (faults->chains[i].due_ms <= now_ms) {
            take_step(faults, i, now_ms, ret_step);
            return true;
        }
    }
    return false;
}

static bool is_of_sink(const struct qn_rule_action *action)
{
    return action->verb == QN_DO_GATE || action->verb == QN_DO_CAPACITY ||
           action->verb == QN_DO_FINISH || action->verb == QN_DO_OUTCOME;
}

bool qn_faults_next_of_sink(struct qn_faults *faults, struct qn_fault_step *ret_step)
{
    int64_t now_ms = qn_clock_monotonic_ms();

    for (size_t i = 0; i < faults->chain_count; i++) {
        const struct qn_fault_chain *chain = &faults->chains[i];
        if (chain->due_ms <= now_ms && !chain->holds &&
            is_of_sink(&chain->fault->rule->actions[chain->next])) {
            take_step(faults, i, now_ms, ret_step);
            return true;
        }
    }
    return false;
}

bool qn_faults_are_pending(const struct qn_faults *faults)
{
    return faults->chain_count > 0;
}

bool qn_faults_restart_delay(const struct qn_faults *faults, struct qn_str rule,
                             int64_t *ret_delay_ms)
{
    for (size_t i = 0; i < faults->count; i++) {
        int64_t delay_ms = qn_str_equal(faults->items[i].from->name, rule)
                               ? qn_chain_restart_ms(faults->items[i].rule)
                               : -1;
        if (delay_ms >= 0) {
            *ret_delay_ms = delay_ms;
            return true;
        }
    }
    return false;
}

void qn_faults_set_outcome(struct qn_faults *faults, const struct qn_rule_action *action)
{
    if (faults->outcome_count == QN_FAULTS_OUTCOME_MAX) {
        qn_table_done(&faults->outcomes[0].begun_at);
        memmove(&faults->outcomes[0], &faults->outcomes[1],
                (QN_FAULTS_OUTCOME_MAX - 1) * sizeof(faults->outcomes[0]));
        faults->outcome_count--;
    }
    struct qn_fault_outcome *outcome = &faults->outcomes[faults->outcome_count++];
    *outcome = (struct qn_fault_outcome){.action = action};
    qn_table_init(&outcome->begun_at, sizeof(int64_t));
}

struct qn_str qn_faults_outcome(struct qn_faults *faults, struct qn_str k, int64_t attempt)
{
    const struct qn_check_event event = {.kind = QN_CHECK_WORK_BEGIN, .k = k, .attempt = attempt};
    struct qn_str found = QN_STR_NONE;
    struct qn_fact_message message;
    struct qn_arena arena;

    qn_arena_init(&arena, 1024 * 1024);
    struct qn_rule_subject subject =
        subject_of(faults, &event, qn_recorder_now_ms(faults->recorder), &message, &arena);
    /* The newest that names the message. */
    for (size_t i = faults->outcome_count; i > 0 && qn_str_is_none(found); i--) {
        struct qn_fault_outcome *outcome = &faults->outcomes[i - 1];
        const struct qn_rule_action *action = outcome->action;
        if (qn_rule_pred_match(action->entries, &subject) != 0) {
            int64_t *begun_at = qn_table_at(&outcome->begun_at, k);
            *begun_at = *begun_at == 0 ? attempt : *begun_at;
            size_t nth = (size_t)(attempt - *begun_at);
            found = action->list[nth < action->list_count ? nth : action->list_count - 1];
        }
    }
    qn_arena_done(&arena);
    return found;
}
