/* Writes the struct of a shape in the JSON rendering of the query protocol's XML: what a client
 * gets that sends a query request and accepts application/json. Recorded are a list `messages` in
 * ReceiveMessage and a list of Name and Value in GetQueueAttributes; the rest follows these two. */
#include "server/wire/codec.h"

/* A list goes by its name with a small first letter; everything else keeps the model's name. */
static void append_name(struct qn_buf *buf, const struct qn_field *field)
{
    bool is_list = field->type == QN_STRING_LIST || field->type == QN_STRUCT_LIST;
    char first = field->name[0];

    if (is_list && first >= 'A' && first <= 'Z') {
        qn_buf_append_char(buf, '"');
        qn_buf_append_char(buf, (char)(first + ('a' - 'A')));
        qn_buf_append(buf, field->name + 1, strlen(field->name + 1));
        qn_buf_append_literal(buf, "\":");
    } else {
        qn_wire_append_json_name(buf, field->name);
    }
}

static void append_item(struct qn_buf *buf, const struct qn_field *field, const char *item)
{
    const struct qn_str *text = (const void *)item; /* the item itself or its key */

    if (field->type == QN_STRING_LIST) {
        qn_buf_append_json_string(buf, *text);
        return;
    }
    if (field->type == QN_STRUCT_LIST) {
        qn_wire_write_query_json(buf, field->element, item);
        return;
    }
    qn_buf_append_char(buf, '{');
    qn_wire_append_json_name(buf, field->map_key);
    qn_buf_append_json_string(buf, *text);
    qn_buf_append_char(buf, ',');
    qn_wire_append_json_name(buf, field->map_value);
    if (field->type == QN_STRING_MAP) {
        qn_buf_append_json_string(buf, ((const struct qn_pair *)(const void *)item)->value);
    } else {
        qn_wire_write_query_json(buf, field->element, item);
    }
    qn_buf_append_char(buf, '}');
}

static void append_items(struct qn_buf *buf, const struct qn_field *field,
                         const struct qn_list *list)
{
    size_t item_size = qn_wire_item_size(field);
    const char *item = list->items;

    qn_buf_append_char(buf, '[');
    for (size_t i = 0; i < list->count; i++, item += item_size) {
        if (i > 0) {
            qn_buf_append_char(buf, ',');
        }
        append_item(buf, field, item);
    }
    qn_buf_append_char(buf, ']');
}

void qn_wire_write_query_json(struct qn_buf *buf, const struct qn_shape *shape, const void *value)
{
    bool first = true;

    qn_buf_append_char(buf, '{');
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct qn_field *field = &shape->fields[i];
        const void *at = (const char *)value + field->offset;
        if (!qn_wire_is_sent(field, at)) {
            continue;
        }
        if (!first) {
            qn_buf_append_char(buf, ',');
        }
        first = false;
        append_name(buf, field);
        if (field->type >= QN_STRING_LIST) {
            append_items(buf, field, at);
        } else {
            qn_wire_append_json_scalar(buf, field, at);
        }
    }
    qn_buf_append_char(buf, '}');
}
