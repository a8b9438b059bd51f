/* JSON on the wire: values to compact bytes, bytes to values, and what an error answer says. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/codec.h"
#include "client/internal.h"

static int append_piece(const char *bytes, size_t len, void *state)
{
    qn_buf_append(state, bytes, len);
    return 0;
}

void quern_json_write(const json_t *value, struct qn_buf *buf)
{
    if (value == NULL) {
        qn_buf_append_literal(buf, "{}");
        return;
    }
    (void)json_dump_callback(value, append_piece, buf, JSON_COMPACT | JSON_ENCODE_ANY);
}

void quern_json_write_sorted(const json_t *value, struct qn_buf *buf)
{
    (void)json_dump_callback(value, append_piece, buf,
                             JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
}

json_t *quern_json_read(struct qn_str text)
{
    if (text.len == 0) {
        return json_object();
    }
    return json_loadb(text.ptr, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

bool quern_fail(struct quern_error *err, const char *code, int http_status, const char *format, ...)
{
    va_list args;

    memset(err, 0, sizeof(*err));
    (void)snprintf(err->code, sizeof(err->code), "%s", code);
    err->http_status = http_status;
    va_start(args, format);
    (void)vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    return false;
}

/* "com.amazonaws.sqs#QueueDoesNotExist" and "QueueDoesNotExist:http://..." both mean
 * QueueDoesNotExist. */
static struct qn_str bare_code(const char *type)
{
    struct qn_str code = qn_str_from_cstr(type);
    size_t hash = qn_str_find_char(code, '#');

    if (hash < code.len) {
        code = qn_str_from(code, hash + 1);
    }
    return qn_str_first(code, qn_str_find_char(code, ':'));
}

void quern_json_read_error(struct qn_str body, long status, struct quern_error *err)
{
    json_t *answer = quern_json_read(body);
    const char *type = json_string_value(json_object_get(answer, "__type"));
    const char *message = json_string_value(json_object_get(answer, "message"));
    char code[QUERN_CODE_MAX];

    if (type == NULL) {
        type = json_string_value(json_object_get(answer, "code"));
    }
    if (message == NULL) {
        message = json_string_value(json_object_get(answer, "Message"));
    }
    if (message == NULL) { /* the control API's form */
        message = json_string_value(json_object_get(answer, "error"));
    }
    struct qn_str bare = bare_code(type != NULL ? type : "UnreadableAnswer");
    if (bare.len == 0) { /* "", or "com.amazonaws.sqs#" */
        bare = QN_STR("UnreadableAnswer");
    }
    (void)snprintf(code, sizeof(code), "%.*s", QN_STR_ARG(bare));
    (void)quern_fail(err, code, (int)status, "%s", message != NULL ? message : "");
    if (message == NULL) {
        (void)snprintf(err->message, sizeof(err->message), "HTTP status %ld", status);
    }
    json_decref(answer);
}

struct quern_pairs *quern_json_pairs(const json_t *object)
{
    struct quern_pairs *pairs = quern_answer_new(sizeof(*pairs));
    struct qn_arena *arena = quern_answer_arena(pairs);
    struct quern_pair *items =
        qn_arena_alloc(arena, (json_object_size(object) + 1) * sizeof(*items));
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (items != NULL && json_is_string(value)) {
            items[pairs->count++] = (struct quern_pair){
                .name = qn_arena_copy(arena, qn_str_from_cstr(key)).ptr,
                .value = qn_arena_copy(arena, qn_str_from_cstr(json_string_value(value))).ptr,
            };
        }
    }
    pairs->items = items;
    return pairs;
}
