/* The search for the smallest failing set of rules: first without any, then without halves,
 * quarters, ... of what is left, at last without single ones. */
#include "chaos/check/shrink.h"

#include <stdio.h>

#include "chaos/check/narrow.h"
#include "server/base/clock.h"

enum {
    FAULTS_MAX = 256,
    NAME_ROOM = 256,
    SHORTER_MORE_MS = 6000, /* behind the break, for what lost its race the next time */
    STEP_MS = 6000          /* a tenth of a minute, as it is said in the command */
};

/* What the run under way would prove. */
enum step { BEGUN, SHORTER, WITHOUT_ANY, WITHOUT_SOME };

struct qn_shrink {
    const struct qn_scenario *scenario;
    struct qn_check_options options; /* of the run under way */
    struct qn_scenario *narrowed;    /* of the run under way, or NULL */
    struct qn_buf names;
    struct qn_run_result best;
    char broken[NAME_ROOM]; /* the invariant that the first run broke */
    bool keeps[FAULTS_MAX]; /* the smallest failing set so far */
    bool tries[FAULTS_MAX];
    size_t left; /* of keeps */
    size_t chunk;
    size_t at; /* of the rules that are left: where the chunk begins */
    enum step step;
    int64_t soak_ms; /* with which the smallest set fails */
    int64_t end_ms;
    size_t runs;
    bool is_complete;
};

static const struct qn_invariant *find_broken(const struct qn_judgement *judgement,
                                              const char *name)
{
    for (size_t i = 0; i < judgement->invariant_count; i++) {
        const struct qn_invariant *invariant = &judgement->invariants[i];
        if (invariant->severity == QN_MUST && invariant->finding.result == QN_RESULT_FAIL &&
            (name == NULL || strcmp(invariant->name, name) == 0)) {
            return invariant;
        }
    }
    return NULL;
}

bool qn_shrink_is_due(const struct qn_scenario *scenario, const struct qn_run_result *result,
                      const struct qn_check_options *options)
{
    return scenario->shrinks && options->shrink_ms > 0 && !options->fail_fast &&
           scenario->fault_count <= FAULTS_MAX && !result->is_interrupted &&
           result->judgement.outcome == QN_OUTCOME_FAIL &&
           find_broken(&result->judgement, NULL) != NULL;
}

/* From readiness to the last event that shows the break, in virtual time. */
static int64_t break_ms(const struct qn_run_result *result, const struct qn_invariant *broken)
{
    const struct qn_history *history = &result->history;
    uint64_t last = 0;
    int64_t ready_ms = -1;
    int64_t last_ms = -1;

    for (size_t i = 0; i < broken->finding.witness_count; i++) {
        last = broken->finding.witness[i] > last ? broken->finding.witness[i] : last;
    }
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (ready_ms < 0 && event->kind == QN_CHECK_PROC &&
            qn_str_equal(event->what, QN_STR("ready"))) {
            ready_ms = event->vt;
        }
        if (event->seq == last) {
            last_ms = event->vt;
        }
    }
    return ready_ms < 0 || last_ms < ready_ms ? INT64_MAX : last_ms - ready_ms;
}

/* A break that comes early needs no long run to show again. */
static int64_t shorter_ms(const struct qn_shrink *shrink, const struct qn_invariant *broken)
{
    int64_t at_ms = break_ms(&shrink->best, broken);

    if (at_ms >= shrink->soak_ms) {
        return shrink->soak_ms;
    }
    return (at_ms + SHORTER_MORE_MS + STEP_MS - 1) / STEP_MS * STEP_MS;
}

struct qn_shrink *qn_shrink_new(const struct qn_scenario *scenario,
                                const struct qn_check_options *options,
                                struct qn_run_result *result_take, int64_t end_ms)
{
    struct qn_shrink *shrink = qn_memory_new(sizeof(*shrink));
    const struct qn_invariant *broken = find_broken(&result_take->judgement, NULL);

    *shrink = (struct qn_shrink){
        .scenario = scenario,
        .options = *options,
        .best = *result_take,
        .left = scenario->fault_count,
        .soak_ms = options->soak_ms,
        .end_ms = end_ms,
    };
    *result_take = (struct qn_run_result){0};
    (void)snprintf(shrink->broken, sizeof(shrink->broken), "%s", broken->name);
    for (size_t i = 0; i < scenario->fault_count; i++) {
        shrink->keeps[i] = true;
    }
    qn_buf_init(&shrink->names, SIZE_MAX / 2);
    shrink->chunk = shrink->left;
    return shrink;
}

void qn_shrink_free(struct qn_shrink *shrink)
{
    if (shrink != NULL) {
        qn_run_result_done(&shrink->best);
        qn_scenario_free(shrink->narrowed);
        qn_buf_done(&shrink->names);
        qn_memory_free(shrink);
    }
}

/* The smallest set so far without `count` of its rules from the `from`th on. */
static void leave_out(struct qn_shrink *shrink, size_t from, size_t count)
{
    size_t nth = 0;

    for (size_t i = 0; i < shrink->scenario->fault_count; i++) {
        bool is_out = shrink->keeps[i] && nth >= from && nth - from < count;
        shrink->tries[i] = shrink->keeps[i] && !is_out;
        nth += shrink->keeps[i];
    }
}

/* Sets what is tried next; false: nothing is left to try. */
static bool choose(struct qn_shrink *shrink)
{
    const struct qn_invariant *broken = find_broken(&shrink->best.judgement, shrink->broken);

    if (shrink->step == BEGUN) {
        shrink->step = SHORTER;
        shrink->options.soak_ms = shorter_ms(shrink, broken);
        if (shrink->options.soak_ms < shrink->soak_ms) {
            leave_out(shrink, 0, 0);
            return true;
        }
    }
    shrink->options.soak_ms = shrink->soak_ms;
    if (shrink->step == SHORTER) {
        shrink->step = WITHOUT_ANY;
        leave_out(shrink, 0, shrink->left);
        return shrink->left > 0;
    }
    shrink->step = WITHOUT_SOME;
    if (shrink->at >= shrink->left) {
        if (shrink->chunk <= 1) {
            return false;
        }
        shrink->at = 0;
        shrink->chunk = (shrink->chunk + 1) / 2;
    }
    /* Without all of them it was run already. */
    while (shrink->chunk >= shrink->left && shrink->chunk > 1) {
        shrink->chunk = (shrink->chunk + 1) / 2;
    }
    leave_out(shrink, shrink->at, shrink->chunk);
    return shrink->left > 1;
}

static bool narrow(struct qn_shrink *shrink)
{
    const struct qn_scenario *scenario = shrink->scenario;
    struct qn_error ignored; /* the names are the scenario's own */

    qn_buf_clear(&shrink->names);
    for (size_t i = 0; i < scenario->fault_count; i++) {
        if (shrink->tries[i]) {
            qn_buf_append_format(&shrink->names, "%s%s", shrink->names.len > 0 ? "," : "",
                                 scenario->faults[i].name.ptr);
        }
    }
    if (shrink->names.len == 0) {
        qn_buf_append_literal(&shrink->names, QN_NARROW_NONE);
    }
    struct qn_str names = qn_buf_str(&shrink->names);
    qn_scenario_free(shrink->narrowed);
    shrink->narrowed = NULL;
    bool ok = qn_narrow(scenario, names, &shrink->narrowed, &ignored);
    qn_buf_append_char(&shrink->names, '\0');
    shrink->options.fault_names = shrink->names.ptr;
    return ok;
}

bool qn_shrink_is_late(const struct qn_shrink *shrink)
{
    return qn_clock_monotonic_ms() >= shrink->end_ms;
}

bool qn_shrink_next(struct qn_shrink *shrink, const struct qn_scenario **ret_scenario,
                    const struct qn_check_options **ret_options)
{
    if (qn_shrink_is_late(shrink)) {
        return false;
    }
    shrink->is_complete = !choose(shrink);
    if (shrink->is_complete || !narrow(shrink)) {
        return false;
    }
    *ret_scenario = shrink->narrowed;
    *ret_options = &shrink->options;
    return true;
}

bool qn_shrink_take(struct qn_shrink *shrink, struct qn_run_result *result_take)
{
    const struct qn_judgement *judgement = &result_take->judgement;
    bool fails = !result_take->is_interrupted && judgement->outcome == QN_OUTCOME_FAIL &&
                 find_broken(judgement, shrink->broken) != NULL;
    int64_t wall_ms = shrink->best.wall_ms + result_take->wall_ms;

    shrink->runs++;
    if (!fails) {
        qn_run_result_done(result_take);
        shrink->best.wall_ms = wall_ms;
        shrink->at += shrink->step == WITHOUT_SOME ? shrink->chunk : 0;
        return false;
    }
    qn_run_result_done(&shrink->best);
    shrink->best = *result_take;
    shrink->best.wall_ms = wall_ms;
    *result_take = (struct qn_run_result){0};
    shrink->soak_ms = shrink->options.soak_ms;
    shrink->left = 0;
    for (size_t i = 0; i < shrink->scenario->fault_count; i++) {
        shrink->keeps[i] = shrink->tries[i];
        shrink->left += shrink->keeps[i];
    }
    return true;
}

size_t qn_shrink_runs(const struct qn_shrink *shrink)
{
    return shrink->runs;
}

size_t qn_shrink_left(const struct qn_shrink *shrink)
{
    return shrink->left;
}

json_t *qn_shrink_conclude(struct qn_shrink *shrink, struct qn_run_result *ret_result)
{
    json_t *rules = json_array();

    for (size_t i = 0; i < shrink->scenario->fault_count; i++) {
        if (shrink->keeps[i]) {
            json_array_append_new(rules, json_string(shrink->scenario->faults[i].text.ptr));
        }
    }
    *ret_result = shrink->best;
    shrink->best = (struct qn_run_result){0};
    return json_pack("{s:o, s:I, s:I, s:b}", "rules", rules, "of",
                     (json_int_t)shrink->scenario->fault_count, "runs", (json_int_t)shrink->runs,
                     "complete", shrink->is_complete);
}
