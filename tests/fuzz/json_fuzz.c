/* Our JSON reader and writer against jansson: both must accept the same texts and find the same
 * values.
 *
 * Two differences are meant. We refuse what is nested deeper than QN_JSON_DEPTH_MAX, and we take
 * numbers that no machine type holds as long as nobody asks for their value. */
#include "server/base/buf.h"
#include "server/base/json.h"

#include <assert.h>
#include <jansson.h>

enum { ARENA_MAX = 64 * 1024 * 1024, NAMES_MAX = 4096 };

/* A member as it was met: its name, and a reader that stands before its value. */
struct member {
    struct qn_str name;
    struct qn_json value;
};

static void compare_value(struct qn_json *ours, const json_t *theirs);

/* For texts that jansson took as valid. */
static int nesting_depth(struct qn_str text)
{
    int depth = 0;
    int deepest = 0;
    bool in_string = false;

    for (size_t i = 0; i < text.len; i++) {
        char byte = text.ptr[i];
        if (in_string && byte == '\\') {
            i++;
        } else if (byte == '"') {
            in_string = !in_string;
        } else if (!in_string && (byte == '{' || byte == '[')) {
            depth++;
            deepest = depth > deepest ? depth : deepest;
        } else if (!in_string && (byte == '}' || byte == ']')) {
            depth--;
        }
    }
    return deepest;
}

static void compare_text(struct qn_str ours, const char *theirs, size_t their_len)
{
    assert(qn_str_equal(ours, qn_str(theirs, their_len)));
    assert(qn_str_is_utf8(ours));
}

/* What our writer prints must read back as the same text. */
static void check_written(struct qn_str text)
{
    struct qn_buf buf;
    json_t *again;

    qn_buf_init(&buf, ARENA_MAX);
    qn_buf_append_json_string(&buf, text);
    again = json_loadb(buf.ptr, buf.len, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    assert(again != NULL);
    compare_text(text, json_string_value(again), json_string_length(again));
    json_decref(again);
    qn_buf_done(&buf);
}

static void compare_string(struct qn_json *ours, const json_t *theirs)
{
    struct qn_str text;

    assert(qn_json_string(ours, &text));
    compare_text(text, json_string_value(theirs), json_string_length(theirs));
    check_written(text);
}

static void compare_integer(struct qn_json *ours, const json_t *theirs)
{
    int64_t value;

    assert(qn_json_int64(ours, &value));
    assert(value == json_integer_value(theirs));
}

static void compare_array(struct qn_json *ours, const json_t *theirs)
{
    size_t count = 0;

    assert(qn_json_open_array(ours));
    while (qn_json_next_element(ours)) {
        compare_value(ours, json_array_get(theirs, count));
        count++;
    }
    assert(!ours->failed && count == json_array_size(theirs));
}

static size_t find_last(const struct member *members, size_t count, struct qn_str name)
{
    while (count > 0 && !qn_str_equal(members[count - 1].name, name)) {
        count--;
    }
    return count;
}

/* The last of several members with one name is the one that counts. */
static void compare_object(struct qn_json *ours, json_t *theirs)
{
    struct member *members = qn_memory_new_array(NAMES_MAX, sizeof(*members));
    struct qn_str name;
    size_t count = 0;
    size_t different = 0;
    const char *key;
    json_t *value;

    assert(qn_json_open_object(ours));
    while (qn_json_next_member(ours, &name)) {
        assert(qn_json_peek(ours) != QN_JSON_END);
        if (count < NAMES_MAX) {
            different += find_last(members, count, name) == 0 ? 1 : 0;
            members[count++] = (struct member){.name = name, .value = *ours};
        }
        assert(qn_json_skip(ours));
    }
    assert(!ours->failed);
    if (count < NAMES_MAX) {
        assert(different == json_object_size(theirs));
        json_object_foreach(theirs, key, value)
        {
            size_t last = find_last(members, count, qn_str_from_cstr(key));
            assert(last > 0);
            compare_value(&members[last - 1].value, value);
        }
    }
    qn_memory_free(members);
}

static void compare_value(struct qn_json *ours, const json_t *theirs)
{
    bool flag;

    switch (json_typeof(theirs)) {
    case JSON_OBJECT:
        assert(qn_json_peek(ours) == QN_JSON_OBJECT);
        compare_object(ours, (json_t *)theirs);
        break;
    case JSON_ARRAY:
        assert(qn_json_peek(ours) == QN_JSON_ARRAY);
        compare_array(ours, theirs);
        break;
    case JSON_STRING:
        assert(qn_json_peek(ours) == QN_JSON_STRING);
        compare_string(ours, theirs);
        break;
    case JSON_INTEGER:
        assert(qn_json_peek(ours) == QN_JSON_NUMBER);
        compare_integer(ours, theirs);
        break;
    case JSON_REAL:
        assert(qn_json_peek(ours) == QN_JSON_NUMBER);
        assert(qn_json_skip(ours));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        assert(qn_json_peek(ours) == QN_JSON_BOOLEAN);
        assert(qn_json_boolean(ours, &flag) && flag == json_is_true(theirs));
        break;
    case JSON_NULL:
        assert(qn_json_peek(ours) == QN_JSON_NULL);
        assert(qn_json_null(ours));
        break;
    }
}

static bool is_valid(struct qn_str text, struct qn_arena *arena)
{
    struct qn_json json;

    qn_json_init(&json, text, arena);
    return qn_json_skip(&json) && qn_json_finish(&json);
}

static void compare_all(struct qn_str text, struct qn_arena *arena, const json_t *theirs)
{
    struct qn_json json;

    qn_json_init(&json, text, arena);
    compare_value(&json, theirs);
    assert(qn_json_finish(&json));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qn_str text = qn_str((const char *)data, size);
    struct qn_arena arena;
    json_error_t error;
    json_t *theirs =
        json_loadb(size > 0 ? text.ptr : "", size, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    bool accepted;

    qn_arena_init(&arena, ARENA_MAX);
    accepted = is_valid(text, &arena);
    if (theirs == NULL) {
        assert(!accepted || json_error_code(&error) == json_error_numeric_overflow);
    } else if (!accepted) {
        assert(qn_str_find_char(text, '\0') < text.len || nesting_depth(text) > QN_JSON_DEPTH_MAX);
    } else {
        compare_all(text, &arena, theirs);
    }
    json_decref(theirs);
    qn_arena_done(&arena);
    return 0;
}
