/* Writes the struct of a shape as the XML of the query protocol: lists and maps are flattened, each
 * item an element of its own. */
#include "server/base/xml.h"
#include "server/base/digest.h"
#include "server/wire/codec.h"

static void open_element(struct qn_buf *buf, const char *name)
{
    qn_buf_append_char(buf, '<');
    qn_buf_append(buf, name, strlen(name));
    qn_buf_append_char(buf, '>');
}

static void close_element(struct qn_buf *buf, const char *name)
{
    qn_buf_append_literal(buf, "</");
    qn_buf_append(buf, name, strlen(name));
    qn_buf_append_char(buf, '>');
}

static void append_text_element(struct qn_buf *buf, const char *name, struct qn_str text)
{
    open_element(buf, name);
    qn_xml_append_text(buf, text, false);
    close_element(buf, name);
}

static void append_scalar(struct qn_buf *buf, const struct qn_field *field, const void *value)
{
    const char *name = qn_wire_query_name(field);

    open_element(buf, name);
    switch (field->type) {
    case QN_STRING:
        qn_xml_append_text(buf, *(const struct qn_str *)value, false);
        break;
    case QN_BLOB:
        qn_digest_append_base64(buf, *(const struct qn_str *)value);
        break;
    default: /* numbers and truth values look as in JSON */
        qn_wire_append_json_scalar(buf, field, value);
        break;
    }
    close_element(buf, name);
}

static void append_items(struct qn_buf *buf, const struct qn_field *field,
                         const struct qn_list *list)
{
    const char *name = qn_wire_query_name(field);
    size_t item_size = qn_wire_item_size(field);
    const char *item = list->items;

    for (size_t i = 0; i < list->count; i++, item += item_size) {
        const struct qn_str *text = (const void *)item; /* the item itself or its key */
        if (field->type == QN_STRING_LIST) {
            append_text_element(buf, name, *text);
            continue;
        }
        open_element(buf, name);
        if (field->type == QN_STRUCT_LIST) {
            qn_wire_write_xml(buf, field->element, item);
        } else {
            append_text_element(buf, field->map_key, *text);
            open_element(buf, field->map_value);
            if (field->type == QN_STRING_MAP) {
                qn_xml_append_text(buf, ((const struct qn_pair *)(const void *)item)->value, false);
            } else {
                qn_wire_write_xml(buf, field->element, item);
            }
            close_element(buf, field->map_value);
        }
        close_element(buf, name);
    }
}

void qn_wire_write_xml(struct qn_buf *buf, const struct qn_shape *shape, const void *value)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct qn_field *field = &shape->fields[i];
        const void *at = (const char *)value + field->offset;
        if (field->type >= QN_STRING_LIST) {
            append_items(buf, field, at);
        } else if (!qn_wire_is_empty(field, at)) {
            append_scalar(buf, field, at);
        }
    }
}
