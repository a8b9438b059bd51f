/* The input of a request as the trace shows it: without contents of messages, nothing long. */
#include "server/wire/codec.h"

#include "server/actions/actions.h"

enum {
    TEXT_MAX = 256, /* bytes */
    ITEMS_MAX = 20  /* more than any legal batch; a trace need not hold what will be refused */
};

static void append_members(struct qn_buf *buf, const struct qn_shape *shape, const void *value);

static void append_text(struct qn_buf *buf, struct qn_str text)
{
    qn_buf_append_json_string(buf, qn_wire_excerpt(text, TEXT_MAX));
}

/* What a message says is nobody's business but its consumer's. */
static bool is_content(const struct qn_field *field)
{
    return field->type == QN_BLOB || strcmp(field->name, "MessageBody") == 0 ||
           strcmp(field->name, "MessageAttributes") == 0;
}

static void append_item(struct qn_buf *buf, const struct qn_field *field, const char *item)
{
    const struct qn_str *text = (const void *)item; /* the item itself or its key */
    bool is_map = field->type == QN_STRING_MAP || field->type == QN_STRUCT_MAP;

    if (field->type == QN_STRING_LIST || is_map) {
        append_text(buf, *text);
    }
    if (is_map) {
        qn_buf_append_char(buf, ':');
    }
    if (field->type == QN_STRING_MAP) {
        append_text(buf, ((const struct qn_pair *)(const void *)item)->value);
    } else if (field->type != QN_STRING_LIST) {
        append_members(buf, field->element, item);
    }
}

static void append_items(struct qn_buf *buf, const struct qn_field *field,
                         const struct qn_list *list)
{
    bool is_map = field->type == QN_STRING_MAP || field->type == QN_STRUCT_MAP;
    size_t item_size = qn_wire_item_size(field);
    const char *item = list->items;

    qn_buf_append_char(buf, is_map ? '{' : '[');
    for (size_t i = 0; i < list->count && i < ITEMS_MAX; i++, item += item_size) {
        if (i > 0) {
            qn_buf_append_char(buf, ',');
        }
        append_item(buf, field, item);
    }
    qn_buf_append_char(buf, is_map ? '}' : ']');
}

static void append_members(struct qn_buf *buf, const struct qn_shape *shape, const void *value)
{
    bool first = true;

    qn_buf_append_char(buf, '{');
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct qn_field *field = &shape->fields[i];
        const void *at = (const char *)value + field->offset;
        if (qn_wire_is_empty(field, at) || is_content(field)) {
            continue;
        }
        if (!first) {
            qn_buf_append_char(buf, ',');
        }
        first = false;
        qn_wire_append_json_name(buf, field->name);
        if (field->type >= QN_STRING_LIST) {
            append_items(buf, field, at);
        } else if (field->type == QN_STRING) {
            append_text(buf, *(const struct qn_str *)at);
        } else {
            qn_wire_append_json_scalar(buf, field, at);
        }
    }
    qn_buf_append_char(buf, '}');
}

void qn_wire_describe_input(const struct qn_request *request, struct qn_buf *buf)
{
    if (request->action == NULL || request->input == NULL) {
        qn_buf_append_literal(buf, "{}");
        return;
    }
    append_members(buf, request->action->input, request->input);
}
