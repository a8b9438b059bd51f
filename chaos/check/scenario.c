/* Reading scenario files: the members of the file and its variants. */
#include "chaos/check/scenario.h"
#include "chaos/check/json_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "chaos/check/judge/judge.h"
#include "chaos/check/place.h"
#include "chaos/check/scenario_reader.h"

enum { MISTAKE_ROOM = 700, ID_MAX = 100 };

/* The line on which a text stands in the file, 0 when it is not found there. */
static int64_t line_of(const struct qn_scenario_reader *reader, struct qn_str value)
{
    struct qn_buf quoted;
    int64_t line = 1;
    bool found = false;

    if (qn_str_is_none(value) || reader->text.len == 0) {
        return 0;
    }
    qn_buf_init(&quoted, SIZE_MAX / 2);
    qn_buf_append_json_string(&quoted, value);
    struct qn_str wanted = qn_buf_str(&quoted);
    for (size_t i = 0; i < reader->text.len && !found; i++) {
        found = qn_str_starts_with(qn_str_from(reader->text, i), wanted);
        line += reader->text.ptr[i] == '\n';
    }
    qn_buf_done(&quoted);
    return found ? line : 0;
}

bool qn_scenario_mistake(struct qn_scenario_reader *reader, const char *place, struct qn_str value,
                         const char *format, ...)
{
    char message[MISTAKE_ROOM];
    int64_t line = line_of(reader, value);

    if (line == 0 && place != NULL && !reader->is_variant) {
        line = qn_place_line(reader->text, place);
    }
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    qn_buf_append_format(reader->mistakes, "scenario %s: ", reader->name);
    if (line > 0) {
        qn_buf_append_format(reader->mistakes, "line %lld: ", (long long)line);
    }
    qn_buf_append_format(reader->mistakes, "%s%s%s\n", place != NULL ? place : "",
                         place != NULL ? ": " : "", message);
    reader->mistake_count++;
    return false;
}

bool qn_scenario_check_expression(struct qn_scenario_reader *reader, const char *place,
                                  struct qn_str text)
{
    const struct qn_history nothing = {0};
    const struct qn_judge_input in = {.history = &nothing};
    struct qn_error why;
    int64_t value;

    return qn_judge_number(&in, text, &value, &why) ||
           qn_scenario_mistake(reader, place, text, "not a time: %s", why.message);
}

static struct qn_str text_of(struct qn_scenario_reader *reader, const json_t *object,
                             const char *name, const char *otherwise)
{
    const json_t *value = json_object_get(object, name);
    const char *text = json_is_string(value) ? json_string_value(value) : otherwise;
    return text == NULL ? QN_STR_NONE
                        : qn_arena_copy(&reader->scenario->arena, qn_str_from_cstr(text));
}

/* Milliseconds of a run. NULL: it may be left out. */
static struct qn_str time_of(struct qn_scenario_reader *reader, const json_t *object,
                             const char *name, const char *place, const char *otherwise)
{
    struct qn_str text = text_of(reader, object, name, otherwise);

    if (!qn_str_is_none(text)) {
        (void)qn_scenario_check_expression(reader, place, text);
    }
    return text;
}

static int64_t number_of(struct qn_scenario_reader *reader, const json_t *object, const char *name,
                         const char *place, int64_t otherwise, int64_t max)
{
    const json_t *value = json_object_get(object, name);

    if (value == NULL) {
        return otherwise;
    }
    if (!json_is_integer(value) || json_integer_value(value) < 1 ||
        json_integer_value(value) > max) {
        (void)qn_scenario_mistake(reader, place, QN_STR_NONE, "say a number from 1 to %lld",
                                  (long long)max);
        return otherwise;
    }
    return json_integer_value(value);
}

/* Texts with {expressions} in them. */
static void check_attributes(struct qn_scenario_reader *reader, const json_t *attributes)
{
    const char *name;
    const json_t *value;

    json_object_foreach((json_t *)(uintptr_t)attributes, name, value)
    {
        if (!json_is_string(value)) {
            (void)qn_scenario_mistake(reader, "queue.attributes", QN_STR_NONE,
                                      "%s: expected a text in quotes", name);
        }
    }
}

static void read_queue(struct qn_scenario_reader *reader)
{
    struct qn_scenario *scenario = reader->scenario;
    const json_t *queue = json_object_get(scenario->json, "queue");

    scenario->has_dlq = json_is_string(json_object_get(queue, "dlq"));
    scenario->max_receive = number_of(reader, queue, "max_receive", "queue.max_receive", 5, 1000);
    scenario->visibility = time_of(reader, queue, "visibility", "queue.visibility", "V");
    scenario->created_after = time_of(reader, queue, "created_after", "queue.created_after", NULL);
    scenario->away_for = time_of(reader, queue, "away_for", "queue.away_for", NULL);
    scenario->is_fifo = json_is_true(json_object_get(queue, "fifo"));
    check_attributes(reader, json_object_get(queue, "attributes"));
}

static void read_lambda(struct qn_scenario_reader *reader)
{
    struct qn_scenario *scenario = reader->scenario;
    const json_t *lambda = json_object_get(scenario->json, "lambda");

    scenario->lambda_batch_size =
        number_of(reader, lambda, "batch_size", "lambda.batch_size", 0, 10000);
    scenario->lambda_window_s = number_of(reader, lambda, "window", "lambda.window", 0, 300);
    scenario->lambda_concurrency =
        number_of(reader, lambda, "concurrency", "lambda.concurrency", 0, 1000);
    scenario->lambda_reserved = number_of(reader, lambda, "reserved", "lambda.reserved", 0, 1000);
    scenario->lambda_filter = text_of(reader, lambda, "filter", "");
}

static void read_course(struct qn_scenario_reader *reader)
{
    struct qn_scenario *scenario = reader->scenario;
    const json_t *instances = json_object_get(scenario->json, "instances");
    const json_t *end = json_object_get(scenario->json, "end");
    struct qn_str stop = text_of(reader, end, "final_stop", "");

    scenario->instance_count = number_of(reader, instances, "count", "instances.count", 1, 16);
    scenario->restarts =
        !qn_str_equal(text_of(reader, instances, "restart", "always"), QN_STR("never"));
    scenario->restart_delay = time_of(reader, instances, "delay", "instances.delay", "200ms");
    scenario->grace = time_of(reader, instances, "grace", "instances.grace", NULL);
    scenario->drained_within =
        time_of(reader, end, "drained_within", "end.drained_within", "3*V+10s");
    scenario->settle = time_of(reader, end, "settle", "end.settle", "500ms");
    scenario->run_for = time_of(reader, end, "run_for", "end.run_for", NULL);
    scenario->judges_final_stop = qn_str_equal(stop, QN_STR("judged"));
}

/* It becomes the name of a file, a pattern of --only and a word of a shell. */
static void check_id(struct qn_scenario_reader *reader, struct qn_str id)
{
    bool is_fit = id.len > 0 && id.len <= ID_MAX && isalnum((unsigned char)id.ptr[0]);

    for (size_t i = 0; i < id.len && is_fit; i++) {
        is_fit = isalnum((unsigned char)id.ptr[i]) || strchr(".-_+", id.ptr[i]) != NULL;
    }
    if (id.len == 0) {
        (void)qn_scenario_mistake(reader, NULL, QN_STR_NONE, "no id");
    } else if (!is_fit) {
        (void)qn_scenario_mistake(
            reader, "id", id, "is FAMILY.NAME, of at most %d letters, digits and . - _ +", ID_MAX);
    }
}

static void read_members(struct qn_scenario_reader *reader)
{
    struct qn_scenario *scenario = reader->scenario;
    const json_t *json = scenario->json;
    const json_t *profiles = json_object_get(json, "profiles");

    scenario->id = text_of(reader, json, "id", "");
    scenario->title = text_of(reader, json, "title", "");
    scenario->severity = text_of(reader, json, "severity", "must");
    scenario->shrinks = json_is_true(json_object_get(json, "shrinks"));
    scenario->why = text_of(reader, json, "why", "");
    scenario->fix = text_of(reader, json, "fix", "");
    scenario->for_standard = qn_json_text_is_in(profiles, "standard");
    scenario->for_fifo = qn_json_text_is_in(profiles, "fifo");
    scenario->for_lambda = qn_json_text_is_in(profiles, "lambda");
    check_id(reader, scenario->id);
    read_queue(reader);
    read_lambda(reader);
    read_course(reader);
    qn_scenario_read_loads(reader);
    qn_scenario_read_faults(reader);
}

/* The base is the file's own object; the reference is taken. NULL when something is wrong. */
static struct qn_scenario *read_form(struct qn_scenario_reader *reader, json_t *json_take)
{
    struct qn_scenario *scenario = qn_memory_new(sizeof(*scenario));

    qn_arena_init(&scenario->arena, SIZE_MAX / 2);
    scenario->json = json_take;
    reader->scenario = scenario;
    read_members(reader);
    /* The judge reads it from the header of the trace. */
    (void)json_object_set_new(json_take, "severity", json_string(scenario->severity.ptr));
    return scenario;
}

/* A copy of the base with what the changes replace; those are taken. */
static json_t *changed(const json_t *base, json_t *changes_take)
{
    json_t *json = json_deep_copy(base);

    json_object_del(json, "variants");
    (void)json_object_update_recursive(json, changes_take);
    json_decref(changes_take);
    return json;
}

/* The other form of the scenario is read as a variant of it is. */
static struct qn_scenario *read_without_sink(struct qn_scenario_reader *reader, const json_t *base,
                                             const json_t *without_sink)
{
    struct qn_scenario_reader other = *reader;
    json_t *json = changed(base, json_deep_copy(without_sink));

    json_object_del(json, "without_sink");
    other.is_variant = true;
    struct qn_scenario *scenario = read_form(&other, json);
    reader->mistake_count = other.mistake_count;
    return scenario;
}

static struct qn_scenario *read_one(struct qn_scenario_reader *reader, json_t *json_take)
{
    size_t before = reader->mistake_count;
    struct qn_scenario *scenario = read_form(reader, json_take);
    const json_t *without_sink = json_object_get(json_take, "without_sink");

    /* What is wrong with both would be told twice. */
    if (json_is_object(without_sink) && reader->mistake_count == before) {
        scenario->without_sink = read_without_sink(reader, json_take, without_sink);
    }
    if (reader->mistake_count > before) {
        qn_scenario_free(scenario);
        return NULL;
    }
    return scenario;
}

static json_t *load_json(struct qn_scenario_reader *reader)
{
    json_error_t where;
    json_t *json = json_loadb(reader->text.ptr != NULL ? reader->text.ptr : "", reader->text.len,
                              JSON_REJECT_DUPLICATES, &where);

    if (json_is_object(json)) {
        reader->mistake_count +=
            !qn_scenario_check_members(json, reader->text, reader->name, reader->mistakes);
        return json;
    }
    reader->mistake_count++;
    if (json == NULL) {
        qn_buf_append_format(reader->mistakes, "scenario %s: line %d, column %d: %s\n",
                             reader->name, where.line, where.column, where.text);
    } else {
        qn_buf_append_format(reader->mistakes, "scenario %s: not a JSON object\n", reader->name);
    }
    json_decref(json);
    return NULL;
}

/* What the variant says replaces what the scenario says; within queue, instances and end member by
 * member. */
static json_t *vary(struct qn_scenario_reader *reader, const json_t *base, const json_t *variant)
{
    const char *id = json_string_value(json_object_get(base, "id"));
    const char *name = json_string_value(json_object_get(variant, "name"));
    struct qn_buf full;

    if (name == NULL) {
        (void)qn_scenario_mistake(reader, "variants", QN_STR_NONE,
                                  "a variant is an object with a name");
        return NULL;
    }
    json_t *changes = json_deep_copy(variant);
    json_object_del(changes, "name");
    json_t *json = changed(base, changes);
    qn_buf_init(&full, SIZE_MAX / 2);
    qn_buf_append_format(&full, "%s+%s", id != NULL ? id : "", name);
    json_object_set_new(json, "id", json_stringn(full.ptr, full.len));
    qn_buf_done(&full);
    return json;
}

static void add(struct qn_scenarios *scenarios, struct qn_scenario *scenario_take)
{
    if (scenario_take == NULL) {
        return;
    }
    if (scenarios->count == scenarios->cap) {
        scenarios->cap = scenarios->cap > 0 ? scenarios->cap * 2 : 64;
        scenarios->items =
            qn_memory_resize(scenarios->items, scenarios->cap, sizeof(struct qn_scenario *));
    }
    scenarios->items[scenarios->count++] = scenario_take;
}

bool qn_scenarios_read(struct qn_scenarios *scenarios, struct qn_str text, const char *name,
                       struct qn_buf *ret_mistakes)
{
    struct qn_scenario_reader reader = {.text = text, .name = name, .mistakes = ret_mistakes};
    size_t before = scenarios->count;
    json_t *json = load_json(&reader);
    const json_t *variants = json_object_get(json, "variants");
    size_t i;
    const json_t *variant;

    if (json == NULL) {
        return false;
    }
    add(scenarios, read_one(&reader, json_incref(json)));
    json_array_foreach(variants, i, variant)
    {
        reader.is_variant = true;
        json_t *varied = vary(&reader, json, variant);
        if (varied != NULL) {
            add(scenarios, read_one(&reader, varied));
        }
    }
    json_decref(json);
    while (reader.mistake_count > 0 && scenarios->count > before) {
        qn_scenario_free(scenarios->items[--scenarios->count]);
    }
    return reader.mistake_count == 0;
}

void qn_scenarios_done(struct qn_scenarios *scenarios)
{
    for (size_t i = 0; i < scenarios->count; i++) {
        qn_scenario_free(scenarios->items[i]);
    }
    qn_memory_free(scenarios->items);
    *scenarios = (struct qn_scenarios){0};
}

bool qn_scenario_read(struct qn_str text, const char *name, struct qn_scenario **ret_scenario,
                      struct qn_error *err)
{
    struct qn_buf mistakes;
    struct qn_scenario_reader reader = {.text = text, .name = name, .mistakes = &mistakes};
    struct qn_str rest;

    qn_buf_init(&mistakes, SIZE_MAX / 2);
    json_t *json = load_json(&reader);
    struct qn_scenario *scenario = json != NULL ? read_one(&reader, json) : NULL;
    if (scenario != NULL && reader.mistake_count == 0) {
        *ret_scenario = scenario;
        qn_buf_done(&mistakes);
        return true;
    }
    struct qn_str first = qn_str_cut(qn_buf_str(&mistakes), '\n', &rest);
    (void)qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%.*s%s", QN_STR_ARG(first),
                  rest.len > 0 ? " (and more)" : "");
    qn_scenario_free(scenario);
    qn_buf_done(&mistakes);
    return false;
}

bool qn_scenario_is_for(const struct qn_scenario *scenario, const char *profile)
{
    if (strcmp(profile, "lambda") == 0) {
        return scenario->for_lambda;
    }
    return strcmp(profile, "fifo") == 0 ? scenario->for_fifo : scenario->for_standard;
}

void qn_scenario_free(struct qn_scenario *scenario)
{
    if (scenario == NULL) {
        return;
    }
    for (size_t i = 0; i < scenario->fault_count; i++) {
        qn_rule_free(scenario->faults[i].rule);
    }
    qn_scenario_free(scenario->without_sink);
    json_decref(scenario->json);
    qn_arena_done(&scenario->arena);
    qn_memory_free(scenario);
}
