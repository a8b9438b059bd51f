/* What is needed to ask the same again: the input of a request, and what its answer gave to those
 * that follow. */
#include "server/base/json.h"
#include "server/wire/codec.h"

#include "server/actions/actions.h"

/* Line breaks stand between the tokens of JSON only. */
static void append_on_one_line(struct qn_buf *buf, struct qn_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        qn_buf_append_char(buf, c == '\n' || c == '\r' ? ' ' : c);
    }
}

static bool is_object(struct qn_str text)
{
    struct qn_arena arena;
    struct qn_json json;
    bool ok;

    qn_arena_init(&arena, text.len + 4096);
    qn_json_init(&json, text, &arena);
    ok = qn_json_peek(&json) == QN_JSON_OBJECT && qn_json_skip(&json) && qn_json_finish(&json);
    qn_arena_done(&arena);
    return ok;
}

bool qn_wire_write_input(const struct qn_request *request, bool is_decoded, struct qn_buf *buf)
{
    if (request->action == NULL) {
        return false;
    }
    if (is_decoded) {
        qn_wire_write_json_as_sent(buf, request->action->input, request->input);
        return true;
    }
    if (request->protocol == QN_PROTOCOL_JSON && is_object(request->http.body)) {
        append_on_one_line(buf, request->http.body);
        return true;
    }
    return false;
}

static bool is_reference(const struct qn_field *field)
{
    static const char *const names[] = {"QueueUrl",  "MessageId", "ReceiptHandle", "TaskHandle",
                                        "NextToken", "Id",        "Code"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (field->type == QN_STRING && strcmp(field->name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void append_references(struct qn_buf *buf, const struct qn_shape *shape, const void *value)
{
    bool first = true;

    qn_buf_append_char(buf, '{');
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct qn_field *field = &shape->fields[i];
        const void *at = (const char *)value + field->offset;
        const struct qn_list *list = at;
        if (qn_wire_is_empty(field, at) ||
            (field->type != QN_STRUCT_LIST && !is_reference(field))) {
            continue;
        }
        if (!first) {
            qn_buf_append_char(buf, ',');
        }
        first = false;
        qn_wire_append_json_name(buf, field->name);
        if (field->type != QN_STRUCT_LIST) {
            qn_wire_append_json_scalar(buf, field, at);
            continue;
        }
        for (size_t j = 0; j < list->count; j++) {
            qn_buf_append_char(buf, j == 0 ? '[' : ',');
            append_references(buf, field->element,
                              (const char *)list->items + j * field->element->size);
        }
        qn_buf_append_char(buf, ']');
    }
    qn_buf_append_char(buf, '}');
}

void qn_wire_write_references(const struct qn_request *request, struct qn_buf *buf)
{
    append_references(buf, request->action->output, request->output);
}
