/* The members of a scenario file: which there are, of what kind, and whether what is judged can be
 * read. */
#include "chaos/check/judge/judge.h"
#include "chaos/check/place.h"
#include "chaos/check/scenario.h"
#include "chaos/lex.h"

enum kind { TEXT, NUMBER, COUNT, BOOLEAN, TEXTS, OBJECTS, FAULTS, OBJECT };

struct member {
    const char *name;
    enum kind kind;
    const struct member *members; /* of an OBJECT or of each of OBJECTS; NULL: any, all texts */
    const char *const *words;     /* the legal texts, or NULL */
};

enum { MEMBERS_MAX = 32 };

static const char *const profile_words[] = {"standard", "fifo", "lambda", NULL};
static const char *const severity_words[] = {"must", "should", "info", NULL};
static const char *const restart_words[] = {"always", "never", NULL};
static const char *const final_stop_words[] = {"judged", NULL};
static const char *const need_words[] = {"none",
                                         "sink",
                                         "cmd",
                                         "concurrency",
                                         "prefetch",
                                         "heartbeat",
                                         "reject",
                                         "state",
                                         "output_queue",
                                         "retry_queue",
                                         "batch_receive",
                                         "batch_delete",
                                         "two_instances",
                                         "mapping",
                                         "references",
                                         "steps",
                                         NULL};

static const struct member queue_members[] = {
    {"name", TEXT, NULL, NULL},         {"visibility", TEXT, NULL, NULL},
    {"dlq", TEXT, NULL, NULL},          {"max_receive", NUMBER, NULL, NULL},
    {"attributes", OBJECT, NULL, NULL}, {"created_after", TEXT, NULL, NULL},
    {"away_for", TEXT, NULL, NULL},     {"fifo", BOOLEAN, NULL, NULL},
    {NULL, TEXT, NULL, NULL},
};
static const struct member lambda_members[] = {
    {"batch_size", NUMBER, NULL, NULL},  {"window", NUMBER, NULL, NULL},
    {"concurrency", NUMBER, NULL, NULL}, {"reserved", NUMBER, NULL, NULL},
    {"filter", TEXT, NULL, NULL},        {NULL, TEXT, NULL, NULL},
};
static const struct member instance_members[] = {
    {"count", NUMBER, NULL, NULL}, {"restart", TEXT, NULL, restart_words},
    {"delay", TEXT, NULL, NULL},   {"grace", TEXT, NULL, NULL},
    {NULL, TEXT, NULL, NULL},
};
static const struct member end_members[] = {
    {"drained_within", TEXT, NULL, NULL},
    {"settle", TEXT, NULL, NULL},
    {"run_for", TEXT, NULL, NULL},
    {"final_stop", TEXT, NULL, final_stop_words},
    {NULL, TEXT, NULL, NULL},
};
static const struct member fault_members[] = {
    {"rule", TEXT, NULL, NULL},
    {"planned", COUNT, NULL, NULL},
    {"window", TEXT, NULL, NULL},
    {NULL, TEXT, NULL, NULL},
};

/* What is other where nobody calls the sink. */
static const struct member without_sink_members[] = {
    {"load", TEXTS, NULL, NULL},        {"faults", FAULTS, fault_members, NULL},
    {"must", TEXTS, NULL, NULL},        {"should", TEXTS, NULL, NULL},
    {"info", TEXTS, NULL, NULL},        {"end", OBJECT, end_members, NULL},
    {"needs", TEXTS, NULL, need_words}, {NULL, TEXT, NULL, NULL},
};

/* A variant replaces members of its scenario. */
#define RUN_MEMBERS                                                                                \
    {"queue", OBJECT, queue_members, NULL}, {"instances", OBJECT, instance_members, NULL},         \
        {"lambda", OBJECT, lambda_members, NULL}, {"needs", TEXTS, NULL, need_words},              \
        {"load", TEXTS, NULL, NULL}, {"faults", FAULTS, fault_members, NULL},                      \
        {"end", OBJECT, end_members, NULL}, {"must", TEXTS, NULL, NULL},                           \
        {"should", TEXTS, NULL, NULL}, {"info", TEXTS, NULL, NULL}, {"title", TEXT, NULL, NULL},   \
        {"why", TEXT, NULL, NULL}, {"fix", TEXT, NULL, NULL},                                      \
        {"without_sink", OBJECT, without_sink_members, NULL},                                      \
        {"profiles", TEXTS, NULL, profile_words}, {"shrinks", BOOLEAN, NULL, NULL},                \
    {                                                                                              \
        "severity", TEXT, NULL, severity_words                                                     \
    }

static const struct member variant_members[] = {
    {"name", TEXT, NULL, NULL},
    RUN_MEMBERS,
    {NULL, TEXT, NULL, NULL},
};
static const struct member scenario_members[] = {
    {"id", TEXT, NULL, NULL},
    {"tier", NUMBER, NULL, NULL},
    {"docs", TEXT, NULL, NULL},
    {"variants", OBJECTS, variant_members, NULL},
    RUN_MEMBERS,
    {NULL, TEXT, NULL, NULL},
};

/* Where we are: "load[2]", "queue.visibility". */
struct place {
    const char *name;
    struct qn_str text; /* the file */
    struct qn_buf *mistakes;
    char path[200];
    bool ok;
};

static void QN_PRINTF(2, 3) complain(struct place *place, const char *format, ...)
{
    char what[400];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    int64_t line = qn_place_line(place->text, place->path);
    qn_buf_append_format(place->mistakes, "scenario %s: ", place->name);
    if (line > 0) {
        qn_buf_append_format(place->mistakes, "line %lld: ", (long long)line);
    }
    qn_buf_append_format(place->mistakes, "%s: %s\n", place->path, what);
    place->ok = false;
}

static void check_word(struct place *place, const json_t *value, const char *const *words)
{
    const char *text = json_string_value(value);
    size_t count = 0;

    if (text == NULL) {
        complain(place, "is a text in quotes");
        return;
    }
    for (; words != NULL && words[count] != NULL; count++) {
        if (strcmp(words[count], text) == 0) {
            return;
        }
    }
    if (words != NULL) {
        const char *nearest = qn_nearest_word(qn_str_from_cstr(text), words, count);
        complain(place, "is never \"%.60s\"; did you mean %s?", text,
                 nearest != NULL ? nearest : words[0]);
    }
}

static void check_object(struct place *place, const json_t *object, const struct member *members);

static void check_items(struct place *place, const json_t *list, const struct member *member)
{
    size_t len = strlen(place->path);
    size_t i;
    const json_t *item;

    if (!json_is_array(list)) {
        complain(place, "is a list in [brackets]");
        return;
    }
    json_array_foreach(list, i, item)
    {
        (void)snprintf(place->path + len, sizeof(place->path) - len, "[%zu]", i);
        if (member->kind == TEXTS || (member->kind == FAULTS && !json_is_object(item))) {
            check_word(place, item, member->words);
        } else {
            check_object(place, item, member->members);
        }
    }
    place->path[len] = '\0';
}

static void check_value(struct place *place, const json_t *value, const struct member *member)
{
    switch (member->kind) {
    case TEXT:
        check_word(place, value, member->words);
        break;
    case NUMBER:
    case COUNT:
        if (!json_is_integer(value) || json_integer_value(value) < (member->kind == NUMBER)) {
            complain(place, "is a whole number from %d on", member->kind == NUMBER);
        }
        break;
    case BOOLEAN:
        if (!json_is_boolean(value)) {
            complain(place, "is true or false");
        }
        break;
    case TEXTS:
    case OBJECTS:
    case FAULTS:
        check_items(place, value, member);
        break;
    case OBJECT:
        check_object(place, value, member->members);
        break;
    }
}

static const struct member *find_member(struct place *place, const struct member *members,
                                        const char *name)
{
    static const struct member any = {NULL, TEXT, NULL, NULL};
    const char *names[MEMBERS_MAX];
    size_t count = 0;

    if (members == NULL) {
        return &any;
    }
    for (; members[count].name != NULL; count++) {
        if (strcmp(members[count].name, name) == 0) {
            return &members[count];
        }
        names[count] = members[count].name;
    }
    const char *nearest = qn_nearest_word(qn_str_from_cstr(name), names, count);
    complain(place, "there is no such member%s%s%s", nearest != NULL ? "; did you mean " : "",
             nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
    return NULL;
}

static void check_object(struct place *place, const json_t *object, const struct member *members)
{
    size_t len = strlen(place->path);
    const char *name;
    json_t *value;

    if (!json_is_object(object)) {
        complain(place, "is an object in {braces}");
        return;
    }
    /* Reading it changes nothing; the library has no iteration for constant objects. */
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        (void)snprintf(place->path + len, sizeof(place->path) - len, "%s%.60s", len > 0 ? "." : "",
                       name);
        const struct member *member = find_member(place, members, name);
        if (member != NULL) {
            check_value(place, value, member);
        }
    }
    place->path[len] = '\0';
}

/* A name or an expression with a slip in it would else only show when the run is over. */
static void check_lists(struct place *place, const json_t *object)
{
    size_t len = strlen(place->path);
    static const char *const lists[] = {"must", "should", "info"};
    size_t i;
    const json_t *item;

    for (size_t list = 0; list < sizeof(lists) / sizeof(lists[0]); list++) {
        json_array_foreach(json_object_get(object, lists[list]), i, item)
        {
            struct qn_str text = qn_str_from_cstr(json_string_value(item));
            struct qn_judge_rule rule;
            struct qn_error err;
            (void)snprintf(place->path + len, sizeof(place->path) - len, "%s%s[%zu]",
                           len > 0 ? "." : "", lists[list], i);
            if (json_is_string(item) && !qn_judge_rule_read(text, &rule, &err)) {
                complain(place, "%s", err.message);
            }
        }
    }
    place->path[len] = '\0';
}

static void check_judged(struct place *place, const json_t *object)
{
    size_t len = strlen(place->path);
    const json_t *other = json_object_get(object, "without_sink");

    check_lists(place, object);
    if (other != NULL) {
        (void)snprintf(place->path + len, sizeof(place->path) - len, "%swithout_sink",
                       len > 0 ? "." : "");
        check_lists(place, other);
        place->path[len] = '\0';
    }
}

bool qn_scenario_check_members(const json_t *json, struct qn_str text, const char *name,
                               struct qn_buf *mistakes)
{
    struct place place = {.name = name, .text = text, .mistakes = mistakes, .ok = true};
    size_t i;
    const json_t *variant;

    check_object(&place, json, scenario_members);
    check_judged(&place, json);
    json_array_foreach(json_object_get(json, "variants"), i, variant)
    {
        (void)snprintf(place.path, sizeof(place.path), "variants[%zu]", i);
        check_judged(&place, variant);
    }
    return place.ok;
}
