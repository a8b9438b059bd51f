/* Any bytes as the body of every action in AWS JSON. What the reader takes, the writer must spell
 * so that the reader finds the same again; and no writer may break its document. */
#include <assert.h>

#include "server/actions/actions.h"
#include "server/base/json.h"
#include "server/wire/codec.h"

/* Small enough to be hit now and then. */
enum { ARENA_MAX = 256 * 1024, BUF_MAX = 16 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_is_json(struct qn_arena *arena, const struct qn_buf *buf)
{
    struct qn_json json;

    qn_json_init(&json, qn_buf_str(buf), arena);
    assert((qn_json_skip(&json) && qn_json_finish(&json)) || json.out_of_memory);
}

static void check_other_writers(struct qn_arena *arena, const struct qn_shape *shape,
                                const void *value)
{
    struct qn_buf buf;

    qn_buf_init(&buf, BUF_MAX);
    qn_wire_write_query_json(&buf, shape, value);
    check_is_json(arena, &buf);
    qn_buf_clear(&buf);
    qn_wire_write_xml(&buf, shape, value);
    assert(qn_str_is_utf8(qn_buf_str(&buf)));
    assert(buf.len == 0 || memchr(buf.ptr, '\r', buf.len) == NULL);
    qn_buf_done(&buf);
}

/* Half a surrogate pair in a message has an error of its own (MSG-2, MA-6). */
static bool is_half_a_pair(struct qn_str body, enum qn_error_code code)
{
    return (code == QN_ERR_INVALID_MESSAGE_CONTENTS || code == QN_ERR_INVALID_PARAMETER_VALUE) &&
           (qn_str_find(body, QN_STR("\\ud")) < body.len ||
            qn_str_find(body, QN_STR("\\uD")) < body.len);
}

static void check_shape(struct qn_str body, const struct qn_shape *shape)
{
    struct qn_arena arena;
    struct qn_arena again_arena;
    struct qn_error err;
    struct qn_buf first;
    struct qn_buf second;
    void *value;

    qn_arena_init(&arena, ARENA_MAX);
    qn_arena_init(&again_arena, ARENA_MAX * 8);
    qn_buf_init(&first, BUF_MAX);
    qn_buf_init(&second, BUF_MAX);
    value = qn_arena_alloc(&arena, shape->size);
    assert(value != NULL);
    if (qn_wire_read_json(&arena, body, shape, value, &err)) {
        void *again = qn_arena_alloc(&again_arena, shape->size);
        bool was_read;
        assert(again != NULL);
        qn_wire_write_json(&first, shape, value);
        was_read = qn_wire_read_json(&again_arena, qn_buf_str(&first), shape, again, &err);
        assert(was_read);
        qn_wire_write_json(&second, shape, again);
        assert(qn_str_equal(qn_buf_str(&first), qn_buf_str(&second)));
        check_other_writers(&again_arena, shape, value);
    } else {
        assert(err.code == QN_ERR_SERIALIZATION || err.code == QN_ERR_REQUEST_TOO_LARGE ||
               is_half_a_pair(body, err.code));
        assert(err.message[0] != '\0' && qn_str_is_utf8(qn_str_from_cstr(err.message)));
    }
    qn_buf_done(&first);
    qn_buf_done(&second);
    qn_arena_done(&arena);
    qn_arena_done(&again_arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qn_str body = qn_str((const char *)data, size);

    for (size_t i = 0; i < QN_ACTION_COUNT; i++) {
        check_shape(body, qn_action_at(i)->input);
        check_shape(body, qn_action_at(i)->output);
    }
    return 0;
}
