/* The verdict on one scenario: each of its invariants, whether its faults fired, and what follows
 * from both. */
#include "chaos/check/json_text.h"
#include "chaos/check/judge/book.h"

#include <stdio.h>

/* What every scenario keeps without saying so. */
static const struct {
    const char *name;
    enum qn_severity severity;
} implied[] = {
    {"NO-PHANTOM", QN_MUST},
    /* A supervisor starts it again: a nuisance, unless the scenario says that it must not end. */
    {"SURVIVES", QN_SHOULD},
};

static const char *const outcome_names[QN_OUTCOME_COUNT] = {
    [QN_OUTCOME_PASS] = "PASS",   [QN_OUTCOME_WARN] = "WARN",
    [QN_OUTCOME_INFO] = "INFO",   [QN_OUTCOME_FAIL] = "FAIL",
    [QN_OUTCOME_SKIP] = "SKIP",   [QN_OUTCOME_INCONCLUSIVE] = "INCONCLUSIVE",
    [QN_OUTCOME_ERROR] = "ERROR",
};

const char *qn_outcome_name(enum qn_outcome outcome)
{
    return outcome_names[outcome];
}

static struct qn_str text_of(const json_t *object, const char *name)
{
    return qn_str_from_cstr(json_string_value(json_object_get(object, name)));
}

static int64_t number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static bool is_text(const json_t *object, const char *name, const char *text)
{
    const char *found = json_string_value(json_object_get(object, name));

    return found != NULL && strcmp(found, text) == 0;
}

static enum qn_poison poison_of(const json_t *declared)
{
    return is_text(declared, "poison", "dlq")          ? QN_POISON_DLQ
           : is_text(declared, "poison", "quarantine") ? QN_POISON_QUARANTINE
           : is_text(declared, "poison", "discard")    ? QN_POISON_DISCARD
                                                       : QN_POISON_EITHER;
}

/* What the user said of the consumer. */
static void read_declared(struct qn_judge_input *in, const json_t *declared)
{
    in->retry_queue = text_of(declared, "retry_queue");
    in->output_queue = text_of(declared, "output_queue");
    in->is_concurrency_declared = number_of(declared, "concurrency") > 0;
    if (in->is_concurrency_declared) {
        in->concurrency = number_of(declared, "concurrency");
    }
    in->is_prefetch_declared = json_is_integer(json_object_get(declared, "prefetch"));
    if (in->is_prefetch_declared) {
        in->prefetch = number_of(declared, "prefetch");
    }
    in->poison = poison_of(declared);
    in->skips_in_group = is_text(declared, "fifo_on_failure", "skip");
    in->is_at_most_once = json_is_true(json_object_get(declared, "at_most_once"));
    if (in->is_at_most_once && in->poison == QN_POISON_EITHER) {
        in->poison = QN_POISON_DISCARD; /* what is deleted first ends nowhere when it fails */
    }
    in->idempotency = is_text(declared, "idempotency", "none")         ? QN_IDEMPOTENCY_NONE
                      : is_text(declared, "idempotency", "message-id") ? QN_IDEMPOTENCY_MESSAGE_ID
                                                                       : QN_IDEMPOTENCY_KEY;
}

static enum qn_level level_of(const struct qn_history *history, const json_t *run)
{
    enum qn_level level = (enum qn_level)number_of(run, "level");
    bool was_refused = false;

    for (size_t i = 0; i < history->count && level < QN_LEVEL_SINK; i++) {
        enum qn_check_kind kind = history->events[i].kind;
        if (kind >= QN_CHECK_WORK_BEGIN && kind <= QN_CHECK_RECONCILE) {
            level = QN_LEVEL_SINK; /* the consumer called the sink at least once */
        } else if (kind == QN_CHECK_EFFECT_COUNT) {
            level = QN_LEVEL_COMMAND;
        }
        was_refused = was_refused || kind == QN_CHECK_REFUSED;
    }
    /* Calls that the sink could not take were for it all the same: its effects are none. */
    return level == QN_LEVEL_PROTOCOL && was_refused ? QN_LEVEL_SINK : level;
}

/* Why, from the mark that says so. */
static struct qn_str cut_of(const struct qn_history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (event->kind == QN_CHECK_MARK &&
            qn_str_starts_with(event->detail->reason, QN_STR(QN_JUDGE_CUT))) {
            return qn_str_from(event->detail->reason, strlen(QN_JUDGE_CUT));
        }
    }
    return QN_STR_NONE;
}

static struct qn_judge_input read_input(const struct qn_history *history, const json_t *header,
                                        struct qn_arena *arena)
{
    const json_t *run = json_object_get(header, "run");
    const json_t *scenario = json_object_get(header, "scenario");
    const json_t *dead = json_object_get(run, "dead");
    struct qn_judge_input in = {
        .history = history,
        .level = level_of(history, run),
        .cut = cut_of(history),
        .queue = text_of(run, "queue"),
        .dlq = text_of(run, "dlq"),
        .self = text_of(run, "self"),
        .visibility_ms = number_of(run, "visibility_ms"),
        .heartbeat_visibility_ms = number_of(run, "heartbeat_visibility_ms"),
        .grace_ms = number_of(run, "grace_ms"),
        .slack_ms = number_of(run, "slack_ms"),
        .wait_ms = number_of(run, "wait_ms"),
        .restart_ms = number_of(run, "restart_ms"),
        .concurrency = number_of(run, "concurrency"),
        .prefetch = number_of(run, "prefetch"),
        .max_receive = number_of(run, "max_receive"),
        .soak_ms = number_of(run, "soak_ms"),
        .judges_final_stop = is_text(json_object_get(scenario, "end"), "final_stop", "judged"),
    };
    size_t i;
    const json_t *item;

    in.work_max_ms = number_of(run, "work_max_ms");
    if (in.work_max_ms == 0) { /* an older history, made by a run that had no such bound */
        in.work_max_ms = QN_WORK_MAX_LEASES * in.visibility_ms;
    }
    in.declared = json_object_get(run, "declared");
    read_declared(&in, in.declared);
    dead = dead != NULL ? dead : json_object_get(scenario, "dead");
    in.expected_dead = qn_arena_alloc(arena, (json_array_size(dead) + 1) * sizeof(struct qn_str));
    json_array_foreach(dead, i, item)
    {
        if (json_is_string(item)) {
            in.expected_dead[in.expected_dead_count++] = qn_str_from_cstr(json_string_value(item));
        }
    }
    return in;
}

static enum qn_severity demoted(enum qn_severity severity, struct qn_str scenario_severity)
{
    if (qn_str_equal(scenario_severity, QN_STR("info"))) {
        return QN_INFO;
    }
    if (qn_str_equal(scenario_severity, QN_STR("should")) && severity == QN_MUST) {
        return QN_SHOULD;
    }
    return severity;
}

/* What a consumer that deletes first, as declared, cannot keep. */
static bool is_given_up(const struct qn_judge_input *in, const struct qn_judge_rule *rule)
{
    return in->is_at_most_once &&
           (rule->checker == qn_judge_ack_after_effect ||
            rule->checker == qn_judge_no_ack_on_fail || rule->checker == qn_judge_no_loss);
}

/* What would have been broken by the end of a scenario that was cut off is not known. */
static bool could_have_changed(const struct qn_judge_input *in, const struct qn_judge_rule *rule)
{
    return !qn_str_is_none(in->cut) &&
           (rule->checker == NULL || rule->checker == qn_judge_drained ||
            rule->checker == qn_judge_dlq_exact || rule->checker == qn_judge_no_loss);
}

static bool judge_one(struct qn_judgement *judgement, const struct qn_judge_input *in,
                      struct qn_str text, enum qn_severity severity, struct qn_error *err)
{
    struct qn_invariant *invariant = &judgement->invariants[judgement->invariant_count];
    struct qn_judge_rule rule;
    bool has_weight;

    if (!qn_judge_rule_read(text, &rule, err) ||
        !qn_judge_rule_has_weight(in, &rule, &has_weight, err) ||
        !qn_judge_rule_apply(in, &rule, &invariant->finding, err)) {
        return false;
    }
    if (invariant->finding.result == QN_RESULT_FAIL && could_have_changed(in, &rule)) {
        invariant->finding = (struct qn_finding){0};
        qn_finding_set(&invariant->finding, QN_RESULT_NOT_OBSERVABLE, "it was cut off");
    }
    judgement->invariant_count++;
    invariant->name = qn_arena_copy(&judgement->arena, rule.name).ptr;
    invariant->is_weightless = !has_weight;
    invariant->may_follow_an_exit = rule.checker == NULL || rule.checker == qn_judge_dlq_exact ||
                                    rule.checker == qn_judge_drained ||
                                    rule.checker == qn_judge_progress ||
                                    rule.checker == qn_judge_recovery;
    invariant->severity = is_given_up(in, &rule) || !has_weight ? QN_INFO : severity;
    if (invariant->finding.result == QN_RESULT_FAIL &&
        invariant->finding.severity > invariant->severity) {
        invariant->severity = invariant->finding.severity;
    }
    return true;
}

static bool is_listed(const struct qn_judgement *judgement, const char *name)
{
    for (size_t i = 0; i < judgement->invariant_count; i++) {
        if (strcmp(judgement->invariants[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool judge_invariants(struct qn_judgement *judgement, const struct qn_judge_input *in,
                             const json_t *scenario, struct qn_error *err)
{
    static const char *const lists[] = {"must", "should", "info"};
    struct qn_str severity = text_of(scenario, "severity");
    size_t room = sizeof(implied) / sizeof(implied[0]);
    size_t i;
    const json_t *item;

    for (size_t list = 0; list < 3; list++) {
        room += json_array_size(json_object_get(scenario, lists[list]));
    }
    judgement->invariants = qn_arena_alloc(&judgement->arena, room * sizeof(struct qn_invariant));
    for (size_t list = 0; list < 3; list++) {
        json_array_foreach(json_object_get(scenario, lists[list]), i, item)
        {
            if (!judge_one(judgement, in, qn_str_from_cstr(json_string_value(item)),
                           demoted((enum qn_severity)list, severity), err)) {
                return false;
            }
        }
    }
    for (i = 0; i < sizeof(implied) / sizeof(implied[0]); i++) {
        if (!is_listed(judgement, implied[i].name) &&
            !judge_one(judgement, in, qn_str_from_cstr(implied[i].name),
                       demoted(implied[i].severity, severity), err)) {
            return false;
        }
    }
    return true;
}

static void conclude(struct qn_judgement *judgement, enum qn_outcome outcome, const char *format,
                     ...) QN_PRINTF(3, 4);

static void conclude(struct qn_judgement *judgement, enum qn_outcome outcome, const char *format,
                     ...)
{
    va_list args;

    judgement->outcome = outcome;
    va_start(args, format);
    (void)vsnprintf(judgement->text, sizeof(judgement->text), format, args);
    va_end(args);
}

static void conclude_unfired(struct qn_judgement *judgement, const struct qn_planned_fault *fault)
{
    if (fault->vain > 0) {
        conclude(judgement, QN_OUTCOME_INCONCLUSIVE,
                 "fault %s came too late to have an effect (%s): the consumer was not put to the "
                 "test",
                 fault->rule, fault->why);
    } else if (fault->fired == 0) {
        conclude(judgement, QN_OUTCOME_INCONCLUSIVE, "fault %s never fired", fault->rule);
    } else {
        conclude(judgement, QN_OUTCOME_INCONCLUSIVE, "fault %s fired %lld of %lld times",
                 fault->rule, (long long)fault->fired, (long long)fault->planned);
    }
}

/* True when there is no verdict of pass or fail to be had. */
static bool is_undecided(struct qn_judgement *judgement, const struct qn_judge_input *in,
                         const json_t *scenario)
{
    const json_t *needs = json_object_get(scenario, "needs");
    bool takes_counts = qn_json_text_is_in(needs, "cmd");
    bool needs_effects = qn_json_text_is_in(needs, "sink") || takes_counts;

    if (needs_effects && !qn_json_text_is_in(needs, "none") &&
        in->level < (takes_counts ? QN_LEVEL_COMMAND : QN_LEVEL_SINK)) {
        struct qn_buf reason;
        qn_buf_init(&reason, SIZE_MAX / 2);
        qn_judge_say_unseen(in->level, takes_counts, &reason);
        conclude(judgement, QN_OUTCOME_SKIP, "%.*s", QN_STR_ARG(qn_buf_str(&reason)));
        qn_buf_done(&reason);
        return true;
    }
    const char *lacking = qn_judge_lacks(in, needs);
    if (lacking != NULL) {
        conclude(judgement, QN_OUTCOME_SKIP, "%s", lacking);
        return true;
    }
    for (size_t i = 0; i < judgement->fault_count; i++) {
        const struct qn_planned_fault *fault = &judgement->faults[i];
        if (fault->fired < fault->planned && qn_judge_never_extends(in, needs)) {
            conclude(judgement, QN_OUTCOME_SKIP,
                     "needs a consumer that extends the visibility of its messages, and this one "
                     "never did (--heartbeat yes says otherwise)");
            return true;
        }
        if (fault->fired < fault->planned && qn_judge_was_done_before_kill(in)) {
            conclude(judgement, QN_OUTCOME_SKIP,
                     "needs the effect sink, where the work on a message that kills never ends, "
                     "and this consumer was done with it after %lld of %lld kills",
                     (long long)fault->fired, (long long)fault->planned);
            return true;
        }
        if (fault->fired < fault->planned) {
            conclude_unfired(judgement, fault);
            return true;
        }
    }
    for (size_t i = 0; i < judgement->invariant_count; i++) {
        const struct qn_invariant *invariant = &judgement->invariants[i];
        if (invariant->severity == QN_MUST && invariant->finding.is_unexercised) {
            conclude(judgement, QN_OUTCOME_INCONCLUSIVE, "%s was not put to the test: %s",
                     invariant->name, invariant->finding.text);
            return true;
        }
    }
    return false;
}

/* Without a full drain there is no pass. */
static bool is_undrained(struct qn_judgement *judgement, const struct qn_judge_input *in)
{
    struct qn_finding drained = {0};

    qn_judge_drained(in, &drained);
    if (drained.result != QN_RESULT_PASS) {
        conclude(judgement, QN_OUTCOME_INCONCLUSIVE, "no full drain: %s", drained.text);
        return true;
    }
    return false;
}

/* A scenario about extensions passes who makes some, or said that he does. Of any other it is an
 * observation. True: it is one. */
static bool is_without_norm(struct qn_judgement *judgement, const struct qn_judge_input *in,
                            const json_t *needs)
{
    if (!qn_json_text_is_in(needs, "heartbeat")) {
        return false;
    }
    for (size_t i = 0; i < judgement->invariant_count; i++) {
        const struct qn_invariant *invariant = &judgement->invariants[i];
        if (invariant->is_weightless && invariant->finding.result == QN_RESULT_FAIL) {
            conclude(judgement, QN_OUTCOME_INFO, "%s: %.200s (a must with --heartbeat yes)",
                     invariant->name, invariant->finding.text);
            return true;
        }
    }
    if (qn_judge_never_extends(in, needs)) {
        conclude(
            judgement, QN_OUTCOME_INFO,
            "no lease was extended, so this says nothing of extensions (--heartbeat yes says that "
            "there are some)");
        return true;
    }
    return false;
}

static void conclude_broken(struct qn_judgement *judgement, enum qn_outcome outcome)
{
    const struct qn_invariant *lead = qn_judgement_lead(judgement);

    conclude(judgement, outcome, "%s: %s", lead->name, lead->finding.text);
}

/* What was noticed; else what was looked at and held, those of the scenario first. */
static void conclude_info(struct qn_judgement *judgement)
{
    const struct qn_invariant *broken = qn_judgement_first_broken(judgement, QN_INFO);
    size_t len = 0;

    conclude(judgement, QN_OUTCOME_INFO, "%s",
             broken != NULL ? broken->finding.text : "nothing of it could be seen");
    for (size_t i = 0; i < judgement->invariant_count && broken == NULL; i++) {
        const struct qn_invariant *one = &judgement->invariants[i];
        size_t room = sizeof(judgement->text) - len;
        if (one->finding.result == QN_RESULT_PASS && strlen(one->name) + 8 < room) {
            len += (size_t)snprintf(judgement->text + len, room, "%s%s", len == 0 ? "held: " : ", ",
                                    one->name);
        }
    }
}

static void conclude_all(struct qn_judgement *judgement, const struct qn_judge_input *in,
                         const json_t *scenario)
{
    const struct qn_invariant *broken = qn_judgement_first_broken(judgement, QN_MUST);

    /* Its poller may not even have received: the function's own words say more than that. */
    bool never_started = qn_judge_never_started(in, judgement->text, sizeof(judgement->text));

    judgement->never_got_going = never_started || !qn_judge_is_ready(in->history);
    if (in->history->missed > 0) {
        conclude(judgement, QN_OUTCOME_INCONCLUSIVE, "%llu events of the trace are missing",
                 (unsigned long long)in->history->missed);
    } else if (never_started) {
        judgement->outcome = QN_OUTCOME_INCONCLUSIVE;
    } else if (!qn_judge_is_ready(in->history)) {
        conclude(judgement, QN_OUTCOME_INCONCLUSIVE, "the consumer never became ready");
    } else if (broken != NULL) {
        conclude_broken(judgement, QN_OUTCOME_FAIL);
    } else if (!qn_str_is_none(in->cut)) {
        conclude(judgement, QN_OUTCOME_INCONCLUSIVE, "%.*s", QN_STR_ARG(in->cut));
    } else if (is_undecided(judgement, in, scenario)) {
        return;
    } else if (qn_judgement_first_broken(judgement, QN_SHOULD) != NULL) {
        conclude_broken(judgement, QN_OUTCOME_WARN);
    } else if (is_undrained(judgement, in)) {
        return;
    } else if (strcmp(text_of(scenario, "severity").ptr, "info") == 0) {
        conclude_info(judgement);
    } else if (!is_without_norm(judgement, in, json_object_get(scenario, "needs"))) {
        judgement->outcome = QN_OUTCOME_PASS;
        qn_judge_facts(in, judgement);
    }
}

bool qn_judge(const struct qn_history *history, struct qn_judgement *ret_judgement,
              struct qn_error *err)
{
    struct qn_judgement judgement = {0};
    json_t *header =
        qn_str_is_none(history->header)
            ? NULL
            : json_loadb(history->header.ptr, history->header.len, JSON_ALLOW_NUL, NULL);
    const json_t *scenario = json_object_get(header, "scenario");
    const json_t *run = json_object_get(header, "run");
    bool ok = false;

    qn_arena_init(&judgement.arena, SIZE_MAX / 2);
    if (!json_is_string(json_object_get(scenario, "severity")) || !json_is_object(run)) {
        (void)qn_fail(err, QN_ERR_MALFORMED_INPUT,
                      "the trace has no header that names its scenario and its run");
        goto out;
    }
    struct qn_judge_input in = read_input(history, header, &judgement.arena);
    qn_judge_refused(&in, &judgement);
    struct qn_tally tally;
    struct qn_book book;
    qn_tally_init(&tally, &in);
    qn_book_init(&book, &in);
    if (in.level < QN_LEVEL_SINK && !in.is_concurrency_declared) {
        in.concurrency = qn_book_most_polls(&book); /* nothing else shows it */
    }
    in.tally = &tally;
    in.book = &book;
    bool is_judged = judge_invariants(&judgement, &in, scenario, err);
    qn_accounting_init(&judgement.accounting, &in);
    qn_book_done(&book);
    qn_tally_done(&tally);
    in.tally = NULL;
    in.book = NULL;
    if (!is_judged) {
        goto out;
    }
    judgement.level = in.level;
    qn_judge_count_faults(&judgement, history, run);
    conclude_all(&judgement, &in, scenario);
    *ret_judgement = judgement;
    judgement = (struct qn_judgement){0};
    ok = true;

out:
    qn_judgement_done(&judgement);
    json_decref(header);
    return ok;
}

void qn_judgement_done(struct qn_judgement *judgement)
{
    qn_accounting_done(&judgement->accounting);
    qn_arena_done(&judgement->arena);
    *judgement = (struct qn_judgement){0};
}
