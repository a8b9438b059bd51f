/* Writes the struct of a shape as compact JSON. What has no value is left out, and so are empty
 * lists and maps, but for those marked QN_ALWAYS_SENT. */
#include "server/base/digest.h"
#include "server/wire/codec.h"

static void write_members(struct qn_buf *buf, const struct qn_shape *shape, const void *value,
                          bool with_empty);

void qn_wire_append_json_name(struct qn_buf *buf, const char *name)
{
    struct qn_str text = qn_str_from_cstr(name);

    if (qn_buf_reserve(buf, text.len + 3)) {
        char *out = buf->ptr + buf->len;
        out[0] = '"';
        memcpy(out + 1, text.ptr, text.len);
        out[text.len + 1] = '"';
        out[text.len + 2] = ':';
        buf->len += text.len + 3;
    }
}

static void append_blob(struct qn_buf *buf, struct qn_str bytes)
{
    qn_buf_append_char(buf, '"');
    qn_digest_append_base64(buf, bytes);
    qn_buf_append_char(buf, '"');
}

void qn_wire_append_json_scalar(struct qn_buf *buf, const struct qn_field *field, const void *value)
{
    switch (field->type) {
    case QN_STRING:
        qn_buf_append_json_string(buf, *(const struct qn_str *)value);
        break;
    case QN_BLOB:
        append_blob(buf, *(const struct qn_str *)value);
        break;
    case QN_INTEGER:
        qn_buf_append_int64(buf, ((const struct qn_integer *)value)->value);
        break;
    default:
        qn_buf_append_str(buf, ((const struct qn_boolean *)value)->value ? QN_STR("true")
                                                                         : QN_STR("false"));
        break;
    }
}

static void append_map(struct qn_buf *buf, const struct qn_field *field, const struct qn_list *map,
                       bool with_empty)
{
    size_t item_size = qn_wire_item_size(field);
    const char *item = map->items;

    qn_buf_append_char(buf, '{');
    for (size_t i = 0; i < map->count; i++, item += item_size) {
        if (i > 0) {
            qn_buf_append_char(buf, ',');
        }
        qn_buf_append_json_string(buf, *(const struct qn_str *)(const void *)item);
        qn_buf_append_char(buf, ':');
        if (field->type == QN_STRING_MAP) {
            qn_buf_append_json_string(buf, ((const struct qn_pair *)(const void *)item)->value);
        } else {
            write_members(buf, field->element, item, with_empty);
        }
    }
    qn_buf_append_char(buf, '}');
}

static void append_list(struct qn_buf *buf, const struct qn_field *field,
                        const struct qn_list *list, bool with_empty)
{
    size_t item_size = qn_wire_item_size(field);
    const char *item = list->items;

    qn_buf_append_char(buf, '[');
    for (size_t i = 0; i < list->count; i++, item += item_size) {
        if (i > 0) {
            qn_buf_append_char(buf, ',');
        }
        if (field->type == QN_STRING_LIST) {
            qn_buf_append_json_string(buf, *(const struct qn_str *)(const void *)item);
        } else {
            write_members(buf, field->element, item, with_empty);
        }
    }
    qn_buf_append_char(buf, ']');
}

static bool was_sent_empty(const struct qn_field *field, const void *value)
{
    return field->type >= QN_STRING_LIST && ((const struct qn_list *)value)->present;
}

static void write_members(struct qn_buf *buf, const struct qn_shape *shape, const void *value,
                          bool with_empty)
{
    bool first = true;

    qn_buf_append_char(buf, '{');
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct qn_field *field = &shape->fields[i];
        const void *at = (const char *)value + field->offset;
        if (!qn_wire_is_sent(field, at) && !(with_empty && was_sent_empty(field, at))) {
            continue;
        }
        if (!first) {
            qn_buf_append_char(buf, ',');
        }
        first = false;
        qn_wire_append_json_name(buf, field->name);
        if (field->type == QN_STRING_LIST || field->type == QN_STRUCT_LIST) {
            append_list(buf, field, at, with_empty);
        } else if (field->type == QN_STRING_MAP || field->type == QN_STRUCT_MAP) {
            append_map(buf, field, at, with_empty);
        } else {
            qn_wire_append_json_scalar(buf, field, at);
        }
    }
    qn_buf_append_char(buf, '}');
}

void qn_wire_write_json(struct qn_buf *buf, const struct qn_shape *shape, const void *value)
{
    write_members(buf, shape, value, false);
}

void qn_wire_write_json_as_sent(struct qn_buf *buf, const struct qn_shape *shape, const void *value)
{
    write_members(buf, shape, value, true);
}
