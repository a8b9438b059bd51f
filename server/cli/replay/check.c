/* The form of each line of a recording. */
#include "server/cli/replay/check.h"

#include "server/http/record.h"

enum { ACTION_MAX = 64 };

enum type { TEXT, NUMBER, INSTANT, OBJECT, TEXTS, FLAG, ACTION, FORMAT };

struct member {
    const char *name;
    enum type type;
    bool is_optional;
};

static const struct member start_members[] = {
    {"format", FORMAT, false}, {"vt", INSTANT, false}, {"wt", INSTANT, false}, {NULL, TEXT, false}};
static const struct member queue_members[] = {{"name", TEXT, false},   {"account", TEXT, false},
                                              {"region", TEXT, false}, {"attributes", TEXTS, false},
                                              {"tags", TEXTS, true},   {NULL, TEXT, false}};
static const struct member request_members[] = {
    {"n", NUMBER, false},      {"at", INSTANT, false},       {"vt", INSTANT, false},
    {"conn", NUMBER, false},   {"action", ACTION, true},     {"instance", TEXT, true},
    {"region", TEXT, true},    {"trace_header", TEXT, true}, {"invocation", TEXT, true},
    {"attempt", NUMBER, true}, {"input", OBJECT, true},      {NULL, TEXT, false}};
static const struct member answer_members[] = {{"n", NUMBER, false},     {"at", INSTANT, false},
                                               {"vt", INSTANT, false},   {"status", NUMBER, true},
                                               {"code", TEXT, true},     {"rule", TEXT, true},
                                               {"output", OBJECT, true}, {"lost", FLAG, true},
                                               {"cut", FLAG, true},      {NULL, TEXT, false}};
static const struct member clock_members[] = {{"at", INSTANT, false},     {"vt", INSTANT, false},
                                              {"from", INSTANT, true},    {"to", INSTANT, true},
                                              {"keep_polls", FLAG, true}, {NULL, TEXT, false}};
static const struct member other_members[] = {
    {"at", INSTANT, false}, {"vt", INSTANT, false}, {NULL, TEXT, false}};

static const struct {
    const char *name;
    const struct member *members;
} kinds[] = {
    {"start", start_members},   {"queue", queue_members}, {"request", request_members},
    {"answer", answer_members}, {"clock", clock_members}, {"fault", other_members},
    {"rules", other_members},
};

static const struct member *members_of(const char *kind)
{
    for (size_t i = 0; kind != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kind, kinds[i].name) == 0) {
            return kinds[i].members;
        }
    }
    return NULL;
}

static bool is_text(const json_t *value)
{
    return json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value);
}

/* It becomes a part of a header. */
static bool is_action(const json_t *value)
{
    struct qn_str name = qn_str(json_string_value(value), json_string_length(value));

    for (size_t i = 0; i < name.len; i++) {
        if (!qn_char_is_alphanumeric(name.ptr[i])) {
            return false;
        }
    }
    return json_is_string(value) && name.len > 0 && name.len <= ACTION_MAX;
}

static bool are_texts(const json_t *value)
{
    const char *name;
    json_t *text;

    json_object_foreach((json_t *)(uintptr_t)value, name, text)
    {
        if (!is_text(text)) {
            return false;
        }
    }
    return json_is_object(value);
}

/* NULL: it is; otherwise what it should be. */
static const char *wanted(enum type type, const json_t *value)
{
    switch (type) {
    case TEXT:
        return is_text(value) ? NULL : "a text";
    case FORMAT:
        return is_text(value) && strcmp(json_string_value(value), QN_RECORD_FORMAT) == 0
                   ? NULL
                   : QN_RECORD_FORMAT ", which is what this program reads";
    case ACTION:
        return is_action(value) ? NULL : "the name of an action";
    case NUMBER:
        return json_is_integer(value) && json_integer_value(value) > 0 ? NULL
                                                                       : "a positive integer";
    case INSTANT:
        return json_is_integer(value) && json_integer_value(value) >= 0 &&
                       json_integer_value(value) <= INT64_MAX / 4
                   ? NULL
                   : "a number of milliseconds";
    case OBJECT:
        return json_is_object(value) ? NULL : "an object";
    case TEXTS:
        return are_texts(value) ? NULL : "an object of texts";
    case FLAG:
        return json_is_boolean(value) ? NULL : "true or false";
    }
    return NULL;
}

static bool check_members(const struct qn_lines *lines, const json_t *line,
                          const struct member *member, struct qn_error *err)
{
    for (; member->name != NULL; member++) {
        const json_t *value = json_object_get(line, member->name);
        if (value == NULL && member->is_optional) {
            continue;
        }
        const char *should_be = wanted(member->type, value);
        if (should_be != NULL) {
            return qn_lines_fail(lines, err,
                                 value == NULL ? "its %s is missing: %s" : "its %s should be %s",
                                 member->name, should_be);
        }
    }
    return true;
}

/* What one member alone does not show. */
static bool check_whole(const struct qn_lines *lines, const json_t *line, struct qn_error *err)
{
    const char *kind = json_string_value(json_object_get(line, "kind"));
    bool has_input = json_object_get(line, "input") != NULL;
    bool is_lost = json_is_true(json_object_get(line, "lost"));
    bool is_whole =
        json_object_get(line, "status") != NULL && json_object_get(line, "code") != NULL;

    if (strcmp(kind, "request") == 0 && has_input && json_object_get(line, "action") == NULL) {
        return qn_lines_fail(lines, err, "it has an input, but no action");
    }
    if (strcmp(kind, "answer") == 0 && is_lost == is_whole) {
        return qn_lines_fail(lines, err, "an answer has a status and a code, or was lost");
    }
    return true;
}

bool qn_check_line(const struct qn_lines *lines, struct qn_str text, json_t **ret_line,
                   struct qn_error *err)
{
    json_error_t reason;
    json_t *line = json_loadb(text.ptr, text.len, JSON_ALLOW_NUL, &reason);
    const char *kind = json_string_value(json_object_get(line, "kind"));
    const struct member *members = members_of(kind);
    bool ok = false;

    if (lines->number == 1 && (kind == NULL || strcmp(kind, "start") != 0)) {
        qn_lines_fail(lines, err, "this is not a recording of quern serve --record");
    } else if (line == NULL) {
        qn_lines_fail(lines, err, "not JSON, at byte %d of the line", reason.position);
    } else if (members == NULL) {
        qn_lines_fail(lines, err, "a line of no known kind");
    } else {
        ok = check_members(lines, line, members, err) && check_whole(lines, line, err);
    }
    if (ok) {
        *ret_line = line;
    } else {
        json_decref(line);
    }
    return ok;
}
