/* Reading scenario files. */
#include "chaos/check/scenario.h"

#include "chaos/check/options.h"
#include "chaos/plan.h"
#include "chaos/verbs.h"

/* Of one file while it is read. */
struct reader {
    struct qn_scenario *scenario;
    const char *name;
    struct qn_buf *mistakes; /* a line each */
};

/* The reader goes on behind a mistake, so that a file is mended in one go. */
static bool fail(const struct reader *reader, const char *what, struct qn_str detail)
{
    qn_buf_append_format(reader->mistakes, "scenario %s: %s%s%.*s\n", reader->name, what,
                         detail.len > 0 ? ": " : "", QN_STR_ARG(detail));
    return false;
}

static struct qn_str text_of(const struct reader *reader, const json_t *object, const char *name,
                             const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, name));

    return qn_arena_copy(&reader->scenario->arena,
                         qn_str_from_cstr(text != NULL ? text : otherwise));
}

static bool has(const json_t *array, const char *text)
{
    size_t i;
    const json_t *item;

    json_array_foreach(array, i, item)
    {
        if (json_is_string(item) && strcmp(json_string_value(item), text) == 0) {
            return true;
        }
    }
    return false;
}

static int64_t number_of(const json_t *object, const char *name, int64_t otherwise)
{
    const json_t *value = json_object_get(object, name);

    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static bool duration_of(const struct reader *reader, const json_t *object, const char *name,
                        int64_t otherwise, int64_t *ret_ms)
{
    struct qn_str text = qn_str_from_cstr(json_string_value(json_object_get(object, name)));

    *ret_ms = otherwise;
    if (qn_str_is_none(text) || qn_options_duration(text, ret_ms)) {
        return true;
    }
    return fail(reader, "not a time", text);
}

/* "ok count=8 work=100ms groups=4" */
static bool read_load(const struct reader *reader, struct qn_str text,
                      struct qn_scenario_load *load)
{
    struct qn_str rest;

    load->outcome = qn_arena_copy(&reader->scenario->arena, qn_str_cut(text, ' ', &rest));
    load->count = 1;
    while (rest.len > 0) {
        struct qn_str word = qn_str_cut(rest, ' ', &rest);
        struct qn_str value;
        struct qn_str name = qn_str_cut(word, '=', &value);
        bool ok = true;
        if (qn_str_equal(name, QN_STR("count"))) {
            ok = qn_str_to_int64(value, 1, 999, &load->count);
        } else if (qn_str_equal(name, QN_STR("work"))) {
            ok = qn_options_duration(value, &load->work_ms);
        } else if (qn_str_equal(name, QN_STR("fails"))) {
            ok = qn_str_to_int64(value, 1, 100, &load->fails);
        } else if (qn_str_equal(name, QN_STR("groups"))) {
            ok = qn_str_to_int64(value, 1, 26, &load->groups);
        } else {
            ok = word.len == 0;
        }
        if (!ok) {
            return fail(reader, "load", word);
        }
    }
    if (!qn_str_equal(load->outcome, QN_STR("ok")) &&
        !qn_str_equal(load->outcome, QN_STR("flaky")) &&
        !qn_str_equal(load->outcome, QN_STR("perm"))) {
        return fail(reader, "load is ok, flaky or perm, not", load->outcome);
    }
    return true;
}

static bool read_loads(const struct reader *reader)
{
    struct qn_scenario *scenario = reader->scenario;
    const json_t *loads = json_object_get(scenario->json, "load");
    bool ok = true;
    size_t i;
    const json_t *item;

    scenario->loads =
        qn_arena_alloc(&scenario->arena, (json_array_size(loads) + 1) * sizeof(*scenario->loads));
    json_array_foreach(loads, i, item)
    {
        ok = read_load(reader, qn_str_from_cstr(json_string_value(item)),
                       &scenario->loads[scenario->load_count++]) &&
             ok;
    }
    return scenario->load_count > 0 ? ok : fail(reader, "no load", QN_STR(""));
}

static bool refuse(const struct reader *reader, const struct qn_rule *rule, size_t i,
                   const char *why)
{
    qn_buf_append_format(
        reader->mistakes, "scenario %s: fault: \"%.*s\" is not carried out here: %s (%.*s)\n",
        reader->name, QN_STR_ARG(rule->actions[i].source), why, QN_STR_ARG(rule->text));
    return false;
}

/* Of an action on processes: whether there will be one of this name. */
static bool check_instance(const struct reader *reader, const struct qn_rule *rule, size_t i)
{
    struct qn_str name = rule->actions[i].instance;
    int64_t number;

    if (qn_str_starts_with(name, QN_STR("QUERN"))) {
        name = qn_str_from(name, 5);
    }
    return qn_str_is_none(name) ||
           qn_str_to_int64(name, 1, reader->scenario->instance_count, &number) ||
           refuse(reader, rule, i, "the scenario has no such instance");
}

/* Rules on the sink's events and on those of processes: the harness does everything. */
static bool check_own_fault(const struct reader *reader, const struct qn_rule *rule)
{
    for (size_t i = 0; i < rule->action_count; i++) {
        enum qn_rule_verb verb = rule->actions[i].verb;
        if (verb != QN_DO_HOLD && verb != QN_DO_KILL && verb != QN_DO_SIGNAL) {
            return refuse(reader, rule, i,
                          "at the sink and at processes a fault can hold, kill and signal");
        }
        if (!check_instance(reader, rule, i)) {
            return false;
        }
    }
    return true;
}

static bool is_restarted(const struct qn_rule *rule, size_t i)
{
    return i + 1 < rule->action_count && rule->actions[i + 1].verb == QN_DO_RESTART;
}

/* Rules on the server's events: what the server leaves to the harness. */
static bool check_servers_fault(const struct reader *reader, const struct qn_rule *rule)
{
    /* What the harness starts its server with. */
    const struct qn_plan_options server = {.clock_is_virtual = true,
                                           .failpoints = {.has_journal = true}};
    struct qn_mistakes mistakes = {.count = 0};
    struct qn_error why;

    if (!qn_plan_carries(&server, rule, &mistakes)) {
        (void)qn_mistakes_fail(&mistakes, &why);
        return fail(reader, "fault", qn_str_from_cstr(why.message));
    }
    for (size_t i = 0; i < rule->action_count; i++) {
        enum qn_rule_verb verb = rule->actions[i].verb;
        bool is_ours = qn_verb_of(verb)->carrier == QN_CARRIED_BY_HARNESS;
        bool restarts = verb == QN_DO_RESTART && i > 0 && rule->actions[i - 1].verb == QN_DO_CRASH;
        if (verb == QN_DO_CRASH && !is_restarted(rule, i)) {
            return refuse(reader, rule, i, "say \"then restart server\" behind it");
        }
        if (is_ours && verb != QN_DO_KILL && verb != QN_DO_SIGNAL && !restarts) {
            return refuse(reader, rule, i,
                          "the harness can kill and signal, and restart a crashed server");
        }
        if (!check_instance(reader, rule, i)) {
            return false;
        }
    }
    return true;
}

/* A fault that silently did not happen would pass for a consumer that stood it. */
static bool check_fault(const struct reader *reader, const struct qn_rule *rule)
{
    switch (rule->target) {
    case QN_TARGET_SINK:
    case QN_TARGET_PROC:
        return check_own_fault(reader, rule);
    case QN_TARGET_LAMBDA:
        return fail(reader, "fault: no Lambda function is run here", rule->text);
    case QN_TARGET_SQS:
    case QN_TARGET_CLOCK:
        break;
    }
    return check_servers_fault(reader, rule);
}

/* A fault is a rule, or an object of a rule and how often it has to fire. */
static bool read_fault(const struct reader *reader, const json_t *item,
                       struct qn_scenario_fault *fault)
{
    struct qn_scenario *scenario = reader->scenario;
    const json_t *rule = json_is_object(item) ? json_object_get(item, "rule") : item;
    struct qn_str text = qn_str_from_cstr(json_string_value(rule));
    struct qn_error why;

    fault->planned = number_of(item, "planned", 1);
    if (!qn_rule_parse(text, 1, NULL, &fault->rule, &why)) {
        return fail(reader, "fault", qn_str_from_cstr(why.message));
    }
    if (!check_fault(reader, fault->rule)) {
        return false;
    }
    if (!qn_str_is_none(fault->rule->name)) {
        fault->name = qn_arena_copy(&scenario->arena, fault->rule->name);
        fault->text = qn_arena_copy(&scenario->arena, text);
        return true;
    }
    fault->name = qn_arena_format(&scenario->arena, "fault-%zu", scenario->fault_count);
    fault->text = qn_arena_format(&scenario->arena, "%.*s as %.*s", QN_STR_ARG(text),
                                  QN_STR_ARG(fault->name));
    return true;
}

static bool read_faults(const struct reader *reader)
{
    struct qn_scenario *scenario = reader->scenario;
    const json_t *faults = json_object_get(scenario->json, "faults");
    bool ok = true;
    size_t i;
    const json_t *item;

    scenario->faults =
        qn_arena_alloc(&scenario->arena, (json_array_size(faults) + 1) * sizeof(*scenario->faults));
    json_array_foreach(faults, i, item)
    {
        ok = read_fault(reader, item, &scenario->faults[scenario->fault_count++]) && ok;
    }
    return ok;
}

static bool read_all(const struct reader *reader)
{
    struct qn_scenario *scenario = reader->scenario;
    const json_t *json = scenario->json;
    const json_t *queue = json_object_get(json, "queue");
    const json_t *instances = json_object_get(json, "instances");
    const json_t *needs = json_object_get(json, "needs");
    const json_t *end = json_object_get(json, "end");

    scenario->id = text_of(reader, json, "id", "");
    scenario->title = text_of(reader, json, "title", "");
    scenario->severity = text_of(reader, json, "severity", "must");
    scenario->why = text_of(reader, json, "why", "");
    scenario->fix = text_of(reader, json, "fix", "");
    scenario->for_standard = has(json_object_get(json, "profiles"), "standard");
    scenario->for_fifo = has(json_object_get(json, "profiles"), "fifo");
    scenario->needs_sink = json_array_size(needs) > 0 && !has(needs, "none");
    scenario->has_dlq = json_is_string(json_object_get(queue, "dlq"));
    scenario->max_receive = number_of(queue, "max_receive", 5);
    scenario->visibility = text_of(reader, queue, "visibility", "V");
    scenario->instance_count = number_of(instances, "count", 1);
    scenario->restarts =
        !qn_str_equal(text_of(reader, instances, "restart", "always"), QN_STR("never"));
    scenario->drained_within = text_of(reader, end, "drained_within", "3*V+10s");
    bool ok = scenario->id.len > 0 || fail(reader, "no id", QN_STR(""));
    ok = duration_of(reader, instances, "delay", 200, &scenario->restart_delay_ms) && ok;
    ok = duration_of(reader, end, "settle", 500, &scenario->settle_ms) && ok;
    ok = read_loads(reader) && ok;
    return read_faults(reader) && ok;
}

bool qn_scenario_read_all(struct qn_str text, const char *name, struct qn_scenario **ret_scenario,
                          struct qn_buf *mistakes)
{
    struct qn_scenario *scenario = qn_memory_new(sizeof(*scenario));
    const struct reader reader = {scenario, name, mistakes};
    json_error_t where;

    qn_arena_init(&scenario->arena, SIZE_MAX / 2);
    scenario->json = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES, &where);
    if (scenario->json == NULL) {
        qn_buf_append_format(mistakes, "scenario %s: line %d, column %d: %s\n", name, where.line,
                             where.column, where.text);
    } else if (!json_is_object(scenario->json)) {
        (void)fail(&reader, "not a JSON object", QN_STR(""));
    } else {
        bool is_formed = qn_scenario_check_members(scenario->json, name, mistakes);
        if (read_all(&reader) && is_formed) {
            /* The judge reads it from the header of the trace. */
            (void)json_object_set_new(scenario->json, "severity",
                                      json_string(scenario->severity.ptr));
            *ret_scenario = scenario;
            return true;
        }
    }
    qn_scenario_free(scenario);
    return false;
}

bool qn_scenario_read(struct qn_str text, const char *name, struct qn_scenario **ret_scenario,
                      struct qn_error *err)
{
    struct qn_buf mistakes;
    struct qn_str others;

    qn_buf_init(&mistakes, SIZE_MAX / 2);
    bool ok = qn_scenario_read_all(text, name, ret_scenario, &mistakes);
    if (!ok) {
        struct qn_str first = qn_str_cut(qn_buf_str(&mistakes), '\n', &others);
        (void)qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%.*s%s", QN_STR_ARG(first),
                      others.len > 0 ? " (and more)" : "");
    }
    qn_buf_done(&mistakes);
    return ok;
}

void qn_scenario_free(struct qn_scenario *scenario)
{
    if (scenario == NULL) {
        return;
    }
    for (size_t i = 0; i < scenario->fault_count; i++) {
        qn_rule_free(scenario->faults[i].rule);
    }
    json_decref(scenario->json);
    qn_arena_done(&scenario->arena);
    qn_memory_free(scenario);
}

int64_t qn_scenario_total_work_ms(const struct qn_scenario *scenario)
{
    int64_t total = 0;

    for (size_t i = 0; i < scenario->load_count; i++) {
        total += scenario->loads[i].count * scenario->loads[i].work_ms;
    }
    return total;
}

int64_t qn_scenario_longest_work_ms(const struct qn_scenario *scenario)
{
    int64_t longest = 0;

    for (size_t i = 0; i < scenario->load_count; i++) {
        int64_t work_ms = scenario->loads[i].work_ms;
        longest = work_ms > longest ? work_ms : longest;
    }
    return longest;
}

int64_t qn_scenario_message_count(const struct qn_scenario *scenario)
{
    int64_t count = 0;

    for (size_t i = 0; i < scenario->load_count; i++) {
        count += scenario->loads[i].count;
    }
    return count;
}
