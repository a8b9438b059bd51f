/* What a scenario needs of a consumer, one word each in its `needs`. */
#include "chaos/check/declared.h"
#include "chaos/check/json_text.h"
#include "chaos/check/terms.h"

/* Of the consumer, as far as it is known. */
struct known {
    const struct qn_check_options *options;
    const struct qn_profile *learned;
    const struct qn_scenario *scenario;
};

/* Effects are seen, if at all, at the end alone. */
static bool is_without_sink(const struct known *known)
{
    return known->options->bodies.count > 0 ||
           (known->learned->is_known && known->learned->level < QN_LEVEL_SINK);
}

static bool has_concurrency(const struct known *known)
{
    int64_t said = known->options->concurrency;

    return said > 1 ||
           (said == 0 && (!known->learned->is_known || known->learned->concurrency > 1));
}

/* Work that nobody sees is counted by nobody. */
static bool shows_concurrency(const struct known *known)
{
    return known->options->concurrency > 0 || !is_without_sink(known);
}

static bool has_prefetch(const struct known *known)
{
    const struct qn_profile *learned = known->learned;

    return known->options->prefetch > 0 || !learned->is_known || learned->batch > 1;
}

static bool has_heartbeat(const struct known *known)
{
    return strcmp(known->options->heartbeat, "no") != 0;
}

/* A lease that no work outlives needs no extension. */
static bool has_long_work(const struct known *known)
{
    struct qn_terms terms;

    qn_terms_init(&terms, known->scenario, known->options, known->learned);
    return terms.work_max_ms == 0 ||
           terms.work_max_ms > qn_terms_ms(&terms, known->scenario->visibility);
}

static bool has_quarantine(const struct known *known)
{
    return strcmp(known->options->poison, "dlq") != 0 &&
           strcmp(known->options->poison, "discard") != 0;
}

static bool has_mapping(const struct known *known)
{
    return known->options->esm != NULL;
}

static bool has_output_queue(const struct known *known)
{
    return known->options->output_queue != NULL;
}

static bool has_retry_queue(const struct known *known)
{
    return known->options->retry_queue != NULL;
}

static bool has_references(const struct known *known)
{
    return known->options->references;
}

static bool receives_batches(const struct known *known)
{
    return !known->learned->is_known || known->learned->batch > 1;
}

static bool deletes_batches(const struct known *known)
{
    return !known->learned->is_known || known->learned->deletes_batch;
}

static const struct need {
    const char *name;
    bool (*is_met)(const struct known *known);
    const char *reason;
} all_needs[] = {
    {"concurrency", shows_concurrency,
     "needs a consumer that works on several messages at once, and without the effect sink that "
     "is not seen (--concurrency N says it)"},
    {"concurrency", has_concurrency,
     "needs a consumer that works on several messages at once, and one at a time was seen "
     "(--concurrency N says otherwise)"},
    {"prefetch", has_prefetch,
     "needs a consumer that takes more messages than it works on (--prefetch N)"},
    {"heartbeat", has_heartbeat,
     "needs a consumer that extends the visibility of its messages, and --heartbeat no is "
     "declared"},
    {"heartbeat", has_long_work,
     "needs work that outlasts the visibility timeout, and --work-max declares that there is none"},
    {"reject", has_quarantine,
     "needs a consumer that records what it will not work on, and --poison declares another way"},
    {"output_queue", has_output_queue,
     "needs the name of the queue that the consumer publishes to (--output-queue NAME)"},
    {"retry_queue", has_retry_queue,
     "needs the name of the queue that the consumer sends failed messages to (--retry-queue NAME)"},
    {"references", has_references,
     "needs a consumer that fetches what its messages point to (--references)"},
    {"batch_receive", receives_batches,
     "needs a consumer that asks for several messages at once, and this one asks for one"},
    {"mapping", has_mapping,
     "needs the event source mapping of the function (--esm FILE, or \"esm\" in quern.json)"},
    {"batch_delete", deletes_batches,
     "needs a consumer that uses DeleteMessageBatch, and this one was not seen to"},
};

/* The sink and the effects command are two ways to see effects: either will do. */
static bool sees_effects(const json_t *needs, const struct known *known)
{
    bool wants_sink = qn_json_text_is_in(needs, "sink");
    bool wants_command = qn_json_text_is_in(needs, "cmd");

    if (wants_command && known->options->effects_command != NULL) {
        return true;
    }
    /* Bodies of the user's own say nothing to the sink. */
    return (!wants_sink && !wants_command) ||
           (known->options->bodies.count == 0 &&
            (!known->learned->is_known || known->learned->level >= QN_LEVEL_SINK));
}

/* What only the sink can make happen: NULL when there is nothing of it. */
static const char *lacks_sink(const struct qn_scenario *scenario, const struct known *known)
{
    bool has_bodies = known->options->bodies.count > 0;
    bool has_poison = !qn_str_is_none(known->options->body_texts[QN_BODY_POISON]);

    for (size_t i = 0; i < scenario->fault_count; i++) {
        const struct qn_rule *rule = scenario->faults[i].rule;
        bool is_of_objects = qn_str_equal(rule->event, QN_STR("fetch")); /* no effects are sent */
        bool is_optional = scenario->faults[i].planned == 0;
        if (rule->target == QN_TARGET_SINK && !is_of_objects && !is_optional) {
            return "needs the effect sink, where one of its faults happens";
        }
    }
    for (size_t i = 0; i < scenario->load_count; i++) {
        enum qn_load_outcome outcome = scenario->loads[i].outcome;
        bool is_invalid = outcome == QN_LOAD_BADJSON || outcome == QN_LOAD_SCHEMA99;
        if (outcome == QN_LOAD_FLAKY || outcome == QN_LOAD_HANG) {
            return "needs the effect sink, which fails on some attempts";
        }
        if (has_bodies && !has_poison && (is_invalid || outcome == QN_LOAD_PERM)) {
            return "needs a body on which the handler always fails (--body poison=FILE)";
        }
        if (!has_bodies && outcome == QN_LOAD_PERM) {
            return "needs the effect sink, which refuses some messages for good, or --body "
                   "good=FILE and --body poison=FILE";
        }
    }
    return NULL;
}

/* Who deletes first never sees again what failed: there is nothing to judge. */
static bool is_about_failures(const struct qn_scenario *scenario)
{
    for (size_t i = 0; i < scenario->load_count; i++) {
        const struct qn_scenario_load *load = &scenario->loads[i];
        if ((load->outcome != QN_LOAD_OK && load->outcome != QN_LOAD_ODD) ||
            load->object != QN_OBJECT_NONE) {
            return true;
        }
    }
    return false;
}

/* One that is declared holds, also where the scenario is about a longer one. */
static bool has_grace(const struct qn_scenario *scenario, const struct known *known,
                      struct qn_buf *reason)
{
    struct qn_terms terms;

    if (qn_str_is_none(scenario->grace) || !known->options->is_grace_said) {
        return true;
    }
    qn_terms_init(&terms, scenario, known->options, known->learned);
    int64_t needed_ms = qn_terms_ms(&terms, scenario->grace);
    if (known->options->grace_ms >= needed_ms) {
        return true;
    }
    qn_buf_append_format(reason,
                         "needs a grace period of %lld s, and --grace declares a shorter one",
                         (long long)(needed_ms / 1000));
    return false;
}

/* A consumer with a long lease of its own can need more time than there is. */
static bool has_time(const struct qn_scenario *scenario, const struct known *known,
                     struct qn_buf *reason)
{
    int64_t limit_ms = known->options->scenario_timeout_ms;
    int64_t own_ms = known->learned->visibility_ms;
    struct qn_terms terms;

    if (limit_ms == 0 || !known->learned->overrides_visibility) {
        return true;
    }
    qn_terms_init(&terms, scenario, known->options, known->learned);
    terms.in.visibility_ms = own_ms > terms.in.visibility_ms ? own_ms : terms.in.visibility_ms;
    int64_t needed_ms = qn_terms_ms(&terms, scenario->drained_within);
    if (needed_ms <= limit_ms) {
        return true;
    }
    qn_buf_append_format(reason,
                         "needs up to %lld s with the visibility timeout of %lld s that the "
                         "consumer asks for, and --scenario-timeout is %lld s",
                         (long long)(needed_ms / 1000), (long long)(own_ms / 1000),
                         (long long)(limit_ms / 1000));
    return false;
}

const struct qn_scenario *qn_needs_form(const struct qn_scenario *scenario,
                                        const struct qn_check_options *options,
                                        const struct qn_profile *learned)
{
    const struct known known = {options, learned, scenario};
    bool is_likely = !learned->is_known && options->effects_command != NULL;

    return scenario->without_sink != NULL && (is_likely || is_without_sink(&known))
               ? scenario->without_sink
               : scenario;
}

bool qn_needs_are_met(const struct qn_scenario *scenario, const struct qn_check_options *options,
                      const struct qn_profile *learned, struct qn_buf *reason)
{
    const json_t *needs = json_object_get(scenario->json, "needs");
    const struct known known = {options, learned, scenario};

    if (!sees_effects(needs, &known)) {
        qn_judge_say_unseen(options->effects_command != NULL ? QN_LEVEL_COMMAND : QN_LEVEL_PROTOCOL,
                            qn_json_text_is_in(needs, "cmd"), reason);
        return false;
    }
    if (options->at_most_once && is_about_failures(scenario)) {
        qn_buf_append_str(reason, QN_STR("is about messages that come again after a failure, and "
                                         "--at-most-once is declared"));
        return false;
    }
    const char *lacking = is_without_sink(&known) ? lacks_sink(scenario, &known) : NULL;
    if (lacking != NULL) {
        qn_buf_append_str(reason, qn_str_from_cstr(lacking));
        return false;
    }
    for (size_t i = 0; i < sizeof(all_needs) / sizeof(all_needs[0]); i++) {
        if (qn_json_text_is_in(needs, all_needs[i].name) && !all_needs[i].is_met(&known)) {
            qn_buf_append_str(reason, qn_str_from_cstr(all_needs[i].reason));
            return false;
        }
    }
    return has_grace(scenario, &known, reason) && has_time(scenario, &known, reason);
}
