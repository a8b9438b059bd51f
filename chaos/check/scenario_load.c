/* The load of a scenario: one line per kind of message.
 *
 *   OUTCOME [count=N] [work=EXPR] [fails=N|always] [groups=N | group=NAME] [copies=N] [versions=N]
 *           [at=EXPR | back=EXPR | window=EXPR] [rate=N [for=EXPR]] [size=N] [key=NAME]
 *           [ref=stored|missing|changed] */
#include "chaos/check/scenario_reader.h"
#include "server/model/limits.h"

enum { COUNT_MAX = 2000, PLACE_ROOM = 32 };

static const char *const outcomes[QN_LOAD_OUTCOMES] = {
    [QN_LOAD_OK] = "ok",     [QN_LOAD_FLAKY] = "flaky",     [QN_LOAD_PERM] = "perm",
    [QN_LOAD_HANG] = "hang", [QN_LOAD_BADJSON] = "badjson", [QN_LOAD_SCHEMA99] = "schema99",
    [QN_LOAD_BOMB] = "bomb", [QN_LOAD_ODD] = "odd",
};

static const char *const objects[QN_OBJECTS] = {
    [QN_OBJECT_STORED] = "stored",
    [QN_OBJECT_MISSING] = "missing",
    [QN_OBJECT_CHANGED] = "changed",
};

const char *qn_load_outcome_name(enum qn_load_outcome outcome)
{
    return outcomes[outcome];
}

/* One line while it is read. */
struct line {
    struct qn_scenario_reader *reader;
    struct qn_scenario_load *load;
    struct qn_str text;
    char place[PLACE_ROOM];
};

/* NAME=NUMBER */
static const struct {
    const char *name;
    size_t offset;
    int64_t min;
    int64_t max;
} numbers[] = {
    {"count", offsetof(struct qn_scenario_load, count), 1, COUNT_MAX},
    {"fails", offsetof(struct qn_scenario_load, fails), 1, 100},
    {"groups", offsetof(struct qn_scenario_load, groups), 1, 26},
    {"copies", offsetof(struct qn_scenario_load, copies), 1, 10},
    {"versions", offsetof(struct qn_scenario_load, versions), 1, 100},
    {"chunks", offsetof(struct qn_scenario_load, chunks), 1, 100},
    {"rate", offsetof(struct qn_scenario_load, rate), 1, 1000},
    {"size", offsetof(struct qn_scenario_load, size_bytes), 1, QN_MESSAGE_SIZE_MAX},
};

/* NAME=TEXT */
static const struct {
    const char *name;
    size_t offset;
    bool is_expression;
} texts[] = {
    {"work", offsetof(struct qn_scenario_load, work), true},
    {"at", offsetof(struct qn_scenario_load, at), true},
    {"back", offsetof(struct qn_scenario_load, back), true},
    {"window", offsetof(struct qn_scenario_load, window), true},
    {"for", offsetof(struct qn_scenario_load, lasts), true},
    {"group", offsetof(struct qn_scenario_load, group), false},
    {"key", offsetof(struct qn_scenario_load, key), false},
};

static bool is_plain(struct qn_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!qn_char_is_alphanumeric(text.ptr[i]) && text.ptr[i] != '-' && text.ptr[i] != '_') {
            return false;
        }
    }
    return text.len > 0;
}

static bool set_number(struct line *line, size_t i, struct qn_str value)
{
    int64_t *number = (int64_t *)(void *)((char *)line->load + numbers[i].offset);

    if (numbers[i].offset == offsetof(struct qn_scenario_load, fails) &&
        qn_str_equal(value, QN_STR("always"))) {
        *number = QN_LOAD_FAILS_ALWAYS;
        return true;
    }
    return qn_str_to_int64(value, numbers[i].min, numbers[i].max, number) ||
           qn_scenario_mistake(line->reader, line->place, line->text,
                               "%s=%.*s: say a number from %lld to %lld", numbers[i].name,
                               QN_STR_ARG(value), (long long)numbers[i].min,
                               (long long)numbers[i].max);
}

static bool set_text(struct line *line, size_t i, struct qn_str value)
{
    struct qn_str *text = (struct qn_str *)(void *)((char *)line->load + texts[i].offset);

    *text = qn_arena_copy(&line->reader->scenario->arena, value);
    if (texts[i].is_expression) {
        return qn_scenario_check_expression(line->reader, line->place, *text);
    }
    return is_plain(value) || qn_scenario_mistake(line->reader, line->place, line->text,
                                                  "%s=%.*s: a name has letters, digits, - and _",
                                                  texts[i].name, QN_STR_ARG(value));
}

static bool set_object(struct line *line, struct qn_str value)
{
    for (size_t i = QN_OBJECT_STORED; i < QN_OBJECTS; i++) {
        if (qn_str_equal(value, qn_str_from_cstr(objects[i]))) {
            line->load->object = (enum qn_load_object)i;
            return true;
        }
    }
    return qn_scenario_mistake(line->reader, line->place, line->text,
                               "ref=%.*s: what a message points to is stored, missing or changed",
                               QN_STR_ARG(value));
}

static bool set(struct line *line, struct qn_str word)
{
    struct qn_str value;
    struct qn_str name = qn_str_cut(word, '=', &value);

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (qn_str_equal(name, qn_str_from_cstr(numbers[i].name))) {
            return set_number(line, i, value);
        }
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (qn_str_equal(name, qn_str_from_cstr(texts[i].name))) {
            return set_text(line, i, value);
        }
    }
    if (qn_str_equal(name, QN_STR("ref"))) {
        return set_object(line, value);
    }
    return qn_scenario_mistake(
        line->reader, line->place, line->text,
        "%.*s: expected count, work, fails, groups, group, copies, "
        "versions, chunks, at, back, window, rate, for, size, key or ref, each with = and "
        "no blanks",
        QN_STR_ARG(word));
}

static bool read_outcome(struct line *line, struct qn_str word)
{
    for (size_t i = 0; i < QN_LOAD_OUTCOMES; i++) {
        if (qn_str_equal(word, qn_str_from_cstr(outcomes[i]))) {
            line->load->outcome = (enum qn_load_outcome)i;
            return true;
        }
    }
    return qn_scenario_mistake(
        line->reader, line->place, line->text,
        "%.*s: a load is ok, flaky, perm, hang, badjson, schema99, bomb or odd", QN_STR_ARG(word));
}

static void check_time(const struct line *line)
{
    const struct qn_scenario_load *load = line->load;
    const struct qn_scenario *scenario = line->reader->scenario;

    if (!qn_str_is_none(load->at) + !qn_str_is_none(load->back) + !qn_str_is_none(load->window) >
        1) {
        (void)qn_scenario_mistake(line->reader, line->place, line->text,
                                  "at, back and window exclude each other");
    }
    if (!qn_str_is_none(load->back) && qn_str_is_none(scenario->away_for)) {
        (void)qn_scenario_mistake(line->reader, line->place, line->text,
                                  "back counts from the return of the queue: say queue.away_for");
    }
}

static void read_line(struct line *line)
{
    struct qn_str rest;
    struct qn_scenario_load *load = line->load;

    load->count = 1;
    load->copies = 1;
    load->versions = 1;
    load->chunks = 1;
    (void)read_outcome(line, qn_str_cut(qn_str_trim(line->text), ' ', &rest));
    load->fails = load->outcome == QN_LOAD_HANG ? QN_LOAD_FAILS_ALWAYS : 1;
    while (rest.len > 0) {
        struct qn_str word = qn_str_cut(rest, ' ', &rest);
        if (word.len > 0) {
            (void)set(line, word);
        }
    }
    if (load->groups > 0 && !qn_str_is_none(load->group)) {
        (void)qn_scenario_mistake(line->reader, line->place, line->text,
                                  "groups and group exclude each other");
    }
    if (load->versions > 1 && load->chunks > 1) {
        (void)qn_scenario_mistake(line->reader, line->place, line->text,
                                  "versions and chunks exclude each other");
    }
    if (!qn_str_is_none(load->lasts) && load->rate == 0) {
        (void)qn_scenario_mistake(line->reader, line->place, line->text,
                                  "for says how long a rate lasts: say rate=N too");
    }
    check_time(line);
}

/* A queue that went away for nobody would show nothing of who waits for it. */
static void check_return(struct qn_scenario_reader *reader)
{
    const struct qn_scenario *scenario = reader->scenario;
    bool has_load = qn_str_is_none(scenario->away_for);

    for (size_t i = 0; i < scenario->load_count; i++) {
        has_load = has_load || !qn_str_is_none(scenario->loads[i].back);
    }
    if (!has_load) {
        (void)qn_scenario_mistake(reader, "queue.away_for", scenario->away_for,
                                  "no load comes when the queue is back: say back=TIME in a line");
    }
}

void qn_scenario_read_loads(struct qn_scenario_reader *reader)
{
    struct qn_scenario *scenario = reader->scenario;
    const json_t *loads = json_object_get(scenario->json, "load");
    size_t i;
    const json_t *item;

    if (json_array_size(loads) == 0) {
        (void)qn_scenario_mistake(reader, NULL, QN_STR_NONE,
                                  "no load: say a list such as [\"ok count=10 work=20ms\"]");
        return;
    }
    scenario->loads =
        qn_arena_alloc(&scenario->arena, (json_array_size(loads) + 1) * sizeof(*scenario->loads));
    json_array_foreach(loads, i, item)
    {
        struct line line = {
            .reader = reader,
            .load = &scenario->loads[scenario->load_count++],
            .text = qn_str_from_cstr(json_string_value(item)),
        };
        (void)snprintf(line.place, sizeof(line.place), "load[%zu]", i);
        if (json_is_string(item)) { /* else it was told that a load is a text */
            read_line(&line);
        }
    }
    check_return(reader);
}
