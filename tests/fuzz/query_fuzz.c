/* Any bytes as a query request: the first line is path and query string, the rest the body. Once as
 * a whole request, once for the shape of every action. */
#include <assert.h>

#include "server/actions/actions.h"
#include "server/wire/codec.h"

/* Small enough to be hit now and then. */
enum { ARENA_MAX = 256 * 1024, BUF_MAX = 16 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct qn_error *err)
{
    assert(err->code != QN_ERR_NONE && err->message[0] != '\0');
    assert(qn_str_is_utf8(qn_str_from_cstr(err->message)));
}

/* What was understood must be text that every writer can hold. */
static void check_value(const struct qn_shape *shape, const void *value)
{
    struct qn_buf buf;

    qn_buf_init(&buf, BUF_MAX);
    qn_wire_write_json(&buf, shape, value);
    assert(qn_str_is_utf8(qn_buf_str(&buf)));
    qn_buf_clear(&buf);
    qn_wire_write_xml(&buf, shape, value);
    assert(qn_str_is_utf8(qn_buf_str(&buf)));
    assert(memchr(qn_buf_str(&buf).ptr, '\0', buf.len) == NULL);
    qn_buf_done(&buf);
}

static void check_shape(const struct qn_wire_form *form, const struct qn_shape *shape)
{
    struct qn_arena arena;
    struct qn_error err;
    void *value;

    qn_arena_init(&arena, ARENA_MAX);
    value = qn_arena_alloc(&arena, shape->size);
    assert(value != NULL);
    if (qn_wire_read_query(&arena, form, shape, value, &err)) {
        check_value(shape, value);
    } else {
        check_error(&err);
    }
    qn_arena_done(&arena);
}

static void check_request(struct qn_str path, const struct qn_wire_form *form)
{
    const struct qn_wire_defaults defaults = {QN_STR("000000000000"), QN_STR("us-east-1")};
    struct qn_request request = {.http = {.method = QN_STR("POST"),
                                          .path = path,
                                          .query = form->query,
                                          .authorization = form->query,
                                          .body = form->body}};
    struct qn_error err;
    struct qn_buf buf;

    qn_arena_init(&request.arena, ARENA_MAX);
    qn_buf_init(&buf, BUF_MAX);
    if (qn_wire_decode(&request, &defaults, &err)) {
        check_value(request.action->input, request.input);
        qn_wire_describe_input(&request, &buf);
    } else {
        check_error(&err);
        qn_wire_encode_error(&request, &err, &buf);
    }
    assert(qn_str_is_utf8(qn_buf_str(&buf)) && !buf.overflow);
    qn_buf_done(&buf);
    qn_arena_done(&request.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qn_wire_form form;
    struct qn_str rest = qn_str((const char *)data, size);
    struct qn_str line = qn_str_cut(rest, '\n', &form.body);
    struct qn_str path = qn_str_cut(line, '?', &form.query);

    check_request(path, &form);
    for (size_t i = 0; i < QN_ACTION_COUNT; i++) {
        check_shape(&form, qn_action_at(i)->input);
    }
    return 0;
}
