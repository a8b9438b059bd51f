/* The faults of a scenario: rules, and whether somebody carries them out here. */
#include "chaos/check/scenario_reader.h"
#include "chaos/check/terms.h"
#include "chaos/plan.h"
#include "chaos/pred.h"
#include "chaos/verbs.h"

enum { PLACE_ROOM = 32 };

/* One of the list while it is read. */
struct item {
    struct qn_scenario_reader *reader;
    struct qn_scenario_fault *fault;
    struct qn_str given; /* the text in the file */
    char place[PLACE_ROOM];
};

static bool refuse(const struct item *item, const struct qn_rule *rule, size_t i, const char *why)
{
    return qn_scenario_mistake(item->reader, item->place, item->given,
                               "\"%.*s\" is not carried out here: %s (%.*s)",
                               QN_STR_ARG(rule->actions[i].source), why, QN_STR_ARG(rule->text));
}

int64_t qn_scenario_spawn_count(const struct qn_scenario *scenario)
{
    int64_t count = 0;

    for (size_t i = 0; i < scenario->fault_count; i++) {
        const struct qn_rule *rule = scenario->faults[i].rule;
        for (size_t j = 0; rule != NULL && j < rule->action_count; j++) {
            if (rule->actions[j].verb == QN_DO_SPAWN) {
                count += rule->actions[j].count;
            }
        }
    }
    return count;
}

/* Of an action on processes: whether there can be one of this name. */
static bool check_instance(const struct item *item, const struct qn_rule *rule, size_t i)
{
    const struct qn_scenario *scenario = item->reader->scenario;
    int64_t most = scenario->instance_count + qn_scenario_spawn_count(scenario);
    struct qn_str name = rule->actions[i].instance;
    int64_t number;

    if (qn_str_starts_with(name, QN_STR("QUERN"))) {
        name = qn_str_from(name, 5);
    }
    return qn_str_is_none(name) || qn_str_to_int64(name, 1, most, &number) ||
           refuse(item, rule, i, "the scenario has no such instance");
}

static bool is_restarted(const struct qn_rule *rule, size_t i)
{
    return i + 1 < rule->action_count && rule->actions[i + 1].verb == QN_DO_RESTART;
}

/* Why an action cannot stand in a rule of the sink or of processes; NULL: it can. */
static const char *objection(const struct qn_rule *rule, size_t i)
{
    const struct qn_rule_action *action = &rule->actions[i];

    switch (action->verb) {
    case QN_DO_DELAY:
        return action->jitter_ms > 0 ? "here a delay has no jitter" : NULL;
    case QN_DO_GARBAGE:
    case QN_DO_HTML:
    case QN_DO_TRUNCATE:
    case QN_DO_BANDWIDTH:
    case QN_DO_SLOW_CLOSE:
        return "the sink answers in full or not at all: say status N, reset, close or hang";
    case QN_DO_RESET:
    case QN_DO_CLOSE:
        if (rule->target == QN_TARGET_LAMBDA) {
            return "the poller has no connection there that could end: say status N";
        }
        return action->fraction > 0 || action->bytes > 0
                   ? "the sink answers in full or not at all: say it without a part"
                   : NULL;
    case QN_DO_RESTORE:
        return "the server is not supervised here: say crash server";
    case QN_DO_CRASH:
        return is_restarted(rule, i) ? NULL : "say \"then restart server\" behind it";
    default:
        return NULL;
    }
}

/* What is done to the call comes first, as a call can only wait and then meet one thing. */
static const char *misplaced(const struct qn_rule *rule, size_t i)
{
    enum qn_rule_verb before = i > 0 ? rule->actions[i - 1].verb : QN_DO_DELAY;
    bool is_of_call = qn_verb_of(rule->actions[i].verb)->need == QN_NEEDS_REQUEST;

    if (!is_of_call) {
        return NULL;
    }
    if (rule->target == QN_TARGET_PROC) {
        return "there is no call here to which it could be done";
    }
    if (rule->actions[i].after_ms > 0) {
        return "the call would not wait for it: write \"delay D then\" in front of it";
    }
    bool is_first = i == 0 || (before == QN_DO_DELAY && rule->actions[i].verb != QN_DO_HOLD);
    return is_first ? NULL : "what is done to the call stands first, behind delay";
}

static bool is_known(enum qn_rule_target target, enum qn_pred_field field)
{
    switch (field) {
    case QN_FIELD_TIME:
    case QN_FIELD_INSTANCE:
        return true;
    case QN_FIELD_KEY:
    case QN_FIELD_MID:
    case QN_FIELD_RC:
    case QN_FIELD_ATTEMPT:
        return target == QN_TARGET_SINK;
    default:
        return false;
    }
}

/* A condition on what an event does not know is never true, and the fault would silently not be. */
static bool is_all_known(enum qn_rule_target target, const struct qn_rule_pred *pred)
{
    if (pred == NULL) {
        return true;
    }
    if (pred->kind == QN_PRED_COMPARE) {
        return is_known(target, pred->field);
    }
    return is_all_known(target, pred->left) && is_all_known(target, pred->right);
}

/* Rules on events of the sink, of processes and of `quern lambda`: the harness does everything. */
static bool check_own_fault(const struct item *item, const struct qn_rule *rule)
{
    static const char *const known[] = {
        [QN_TARGET_SINK] = "here where takes key, mid, rc, attempt, instance and t",
        [QN_TARGET_PROC] = "a process has no message: where takes instance and t",
        [QN_TARGET_LAMBDA] = "an invocation is of many messages: where takes t and instance",
    };

    if (!is_all_known(rule->target, rule->where)) {
        return qn_scenario_mistake(item->reader, item->place, item->given, "%s",
                                   known[rule->target]);
    }
    for (size_t i = 0; i < rule->action_count; i++) {
        const char *why = objection(rule, i);
        why = why != NULL ? why : misplaced(rule, i);
        if (why != NULL) {
            return refuse(item, rule, i, why);
        }
        if (!check_instance(item, rule, i)) {
            return false;
        }
    }
    return true;
}

/* Rules on the server's events: what the server leaves to the harness. */
static bool check_servers_fault(const struct item *item, const struct qn_rule *rule)
{
    /* What the harness starts its server with. */
    const struct qn_plan_options server = {.clock_is_virtual = true,
                                           .failpoints = {.has_journal = true}};
    struct qn_mistakes mistakes = {.count = 0};
    struct qn_error why;

    if (!qn_plan_carries(&server, rule, &mistakes)) {
        (void)qn_mistakes_fail(&mistakes, &why);
        qn_mistakes_done(&mistakes);
        return qn_scenario_mistake(item->reader, item->place, item->given, "%s", why.message);
    }
    for (size_t i = 0; i < rule->action_count; i++) {
        enum qn_rule_verb verb = rule->actions[i].verb;
        bool restarts = verb == QN_DO_RESTART && i > 0 && rule->actions[i - 1].verb == QN_DO_CRASH;
        if (verb == QN_DO_CRASH && !is_restarted(rule, i)) {
            return refuse(item, rule, i, "say \"then restart server\" behind it");
        }
        if (verb == QN_DO_RESTART && !restarts) {
            return refuse(item, rule, i, "only a crashed server is restarted");
        }
        if (!check_instance(item, rule, i)) {
            return false;
        }
    }
    return true;
}

/* A fault that silently did not happen would pass for a consumer that stood it. */
static bool check_fault(const struct item *item, const struct qn_rule *rule)
{
    switch (rule->target) {
    case QN_TARGET_SINK:
    case QN_TARGET_PROC:
        return check_own_fault(item, rule);
    case QN_TARGET_LAMBDA:
        return item->reader->scenario->for_lambda
                   ? check_own_fault(item, rule)
                   : qn_scenario_mistake(item->reader, item->place, item->given,
                                         "no function is run here: that takes profile lambda");
    case QN_TARGET_SQS:
    case QN_TARGET_CLOCK:
        break;
    }
    return check_servers_fault(item, rule);
}

/* Of how many messages a rule with `per message` is by its own words; at least 1. */
static int64_t named_messages(const struct qn_rule_pred *pred)
{
    if (pred == NULL) {
        return 1;
    }
    if (pred->kind == QN_PRED_AND) {
        int64_t left = named_messages(pred->left);
        int64_t right = named_messages(pred->right);
        return left > right ? left : right;
    }
    bool names = pred->kind == QN_PRED_COMPARE &&
                 (pred->field == QN_FIELD_KEY || pred->field == QN_FIELD_MID) &&
                 (pred->op == QN_OP_IN || pred->op == QN_OP_EQUAL);
    return names ? (int64_t)pred->value_count : 1;
}

/* How often the rule says that it fires; where it leaves that open, at least once. */
static int64_t planned_of(const struct qn_rule *rule)
{
    const struct qn_rule_when *when = &rule->when;
    int64_t each = when->first > 0       ? when->first
                   : when->nth_count > 0 ? (int64_t)when->nth_count
                                         : 1;

    return when->per == QN_PER_MESSAGE ? each * named_messages(rule->where) : each;
}

static struct qn_str without_optional(struct qn_str text, bool *ret_is_optional)
{
    struct qn_str rest;
    struct qn_str first = qn_str_cut(qn_str_trim(text), ' ', &rest);

    *ret_is_optional = qn_str_equal(first, QN_STR("optional"));
    return *ret_is_optional ? rest : text;
}

static bool parse(const struct item *item, struct qn_str text)
{
    /* What is to be filled in, as it may be in a run: enough to read the rule by. */
    struct qn_terms terms = {.in = {.visibility_ms = 4000,
                                    .heartbeat_visibility_ms = 10000,
                                    .grace_ms = 10000,
                                    .wait_ms = 20000,
                                    .restart_ms = 200,
                                    .concurrency = 1,
                                    .prefetch = 10,
                                    .max_receive = 5,
                                    .soak_ms = 60000,
                                    .work_max_ms = 40000}};
    struct qn_arena *arena = &item->reader->scenario->arena;
    struct qn_error why;

    (void)snprintf(terms.dlq, sizeof(terms.dlq), "q-dlq");
    terms.in.history = &terms.nothing;
    struct qn_str filled = qn_terms_fill(&terms, text, "ms", arena, &item->fault->has_blanks);
    return qn_rule_parse(filled, 1, NULL, &item->fault->rule, &why) ||
           qn_scenario_mistake(item->reader, item->place, item->given, "%s", why.message);
}

/* It is looked for under the name that stands in the file. */
static bool check_name(const struct item *item, struct qn_str text)
{
    struct qn_str name = item->fault->rule->name;

    return qn_str_is_none(name) || qn_str_find(text, name) < text.len ||
           qn_scenario_mistake(item->reader, item->place, item->given,
                               "the name of a rule is not filled in: no {} behind as");
}

/* A window opens and ends with the rule's own calls, which only the server tells of. */
static bool read_window(const struct item *item, const json_t *window)
{
    struct qn_scenario_fault *fault = item->fault;

    fault->window = QN_STR_NONE;
    if (!json_is_string(window)) {
        return true;
    }
    if (fault->rule->target != QN_TARGET_SQS || fault->rule->is_internal) {
        return qn_scenario_mistake(item->reader, item->place, item->given,
                                   "a window is of calls to the server: say on ReceiveMessage");
    }
    const struct qn_rule_when *when = &fault->rule->when;
    if (when->first > 0 || when->nth_count > 0 || when->times > 0) {
        return qn_scenario_mistake(item->reader, item->place, item->given,
                                   "a window lasts until the consumer has noticed: leave out "
                                   "once, times, first and nth");
    }
    fault->window =
        qn_arena_copy(&item->reader->scenario->arena, qn_str_from_cstr(json_string_value(window)));
    return qn_scenario_check_expression(item->reader, item->place, fault->window);
}

static void read_fault(const struct item *item, const json_t *object, size_t index)
{
    struct qn_arena *arena = &item->reader->scenario->arena;
    struct qn_scenario_fault *fault = item->fault;
    const json_t *planned = json_object_get(object, "planned");
    bool is_optional;
    struct qn_str text = without_optional(item->given, &is_optional);

    if (!parse(item, text) || !check_name(item, text) || !check_fault(item, fault->rule) ||
        !read_window(item, json_object_get(object, "window"))) {
        return;
    }
    fault->planned = is_optional                ? 0
                     : json_is_integer(planned) ? json_integer_value(planned)
                                                : planned_of(fault->rule);
    if (!qn_str_is_none(fault->rule->name)) {
        fault->name = qn_arena_copy(arena, fault->rule->name);
        fault->text = qn_arena_copy(arena, text);
        return;
    }
    fault->name = qn_arena_format(arena, "fault-%zu", index + 1);
    fault->text = qn_arena_format(arena, "%.*s as %.*s", QN_STR_ARG(text), QN_STR_ARG(fault->name));
}

/* A fault is a rule, or an object of a rule, how often it has to fire, and how long it lasts. */
void qn_scenario_read_faults(struct qn_scenario_reader *reader)
{
    struct qn_scenario *scenario = reader->scenario;
    const json_t *faults = json_object_get(scenario->json, "faults");
    size_t i;
    const json_t *json;

    scenario->faults =
        qn_arena_alloc(&scenario->arena, (json_array_size(faults) + 1) * sizeof(*scenario->faults));
    json_array_foreach(faults, i, json)
    {
        const json_t *rule = json_is_object(json) ? json_object_get(json, "rule") : json;
        struct item item = {
            .reader = reader,
            .fault = &scenario->faults[scenario->fault_count++],
            .given = qn_str_from_cstr(json_string_value(rule)),
        };
        (void)snprintf(item.place, sizeof(item.place), "faults[%zu]", i);
        if (json_is_string(rule)) {
            read_fault(&item, json, i);
        } else if (rule == NULL) { /* else it was told what a fault is */
            (void)qn_scenario_mistake(reader, item.place, QN_STR_NONE, "say its rule");
        }
    }
}
