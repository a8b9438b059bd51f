/* Going to a place of a JSON text by its path. */
#include "chaos/check/place.h"

#include "server/base/json.h"

static bool go_to_member(struct qn_json *json, struct qn_str wanted)
{
    struct qn_str name;

    if (!qn_json_open_object(json)) {
        return false;
    }
    while (qn_json_next_member(json, &name)) {
        if (qn_str_equal(name, wanted)) {
            return true;
        }
        if (!qn_json_skip(json)) {
            return false;
        }
    }
    return false;
}

static bool go_to_element(struct qn_json *json, int64_t index)
{
    if (!qn_json_open_array(json)) {
        return false;
    }
    for (int64_t i = 0; qn_json_next_element(json); i++) {
        if (i == index) {
            while (json->at < json->end && strchr(" \t\r\n", *json->at) != NULL) {
                json->at++; /* its line, not that of the comma in front of it */
            }
            return true;
        }
        if (!qn_json_skip(json)) {
            return false;
        }
    }
    return false;
}

/* One step of the path: "name" or "[2]". */
static bool go_on(struct qn_json *json, struct qn_str *path)
{
    int64_t index;

    if (path->ptr[0] == '[') {
        size_t end = qn_str_find_char(*path, ']');
        struct qn_str number = qn_str_from(qn_str_first(*path, end), 1);
        *path = qn_str_from(*path, end + 1);
        return qn_str_to_int64(number, 0, INT32_MAX, &index) && go_to_element(json, index);
    }
    size_t dot = path->ptr[0] == '.' ? 1 : 0;
    *path = qn_str_from(*path, dot);
    size_t end = qn_str_find_char(*path, '.');
    size_t bracket = qn_str_find_char(*path, '[');
    end = bracket < end ? bracket : end;
    struct qn_str name = qn_str_first(*path, end);
    *path = qn_str_from(*path, end);
    return go_to_member(json, name);
}

int64_t qn_place_line(struct qn_str text, const char *path)
{
    struct qn_str rest = qn_str_from_cstr(path);
    struct qn_arena arena;
    struct qn_json json;
    int64_t line = 1;
    bool ok = rest.len > 0;

    qn_arena_init(&arena, SIZE_MAX / 2);
    qn_json_init(&json, text, &arena);
    while (ok && rest.len > 0) {
        ok = go_on(&json, &rest);
    }
    for (const char *at = text.ptr; ok && at < json.at; at++) {
        line += *at == '\n';
    }
    qn_arena_done(&arena);
    return ok ? line : 0;
}
