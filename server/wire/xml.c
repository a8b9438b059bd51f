/* Writes the struct of a shape as the XML of the query protocol: lists and maps are flattened, each
 * item an element of its own. */
#include "server/base/digest.h"
#include "server/wire/codec.h"

/* U+FFFD, for what XML 1.0 has no way to write. */
static const char replacement[] = "\xEF\xBF\xBD";

/* What to write for the character at text[i], or NULL if it stands for itself; *ret_len is how many
 * bytes it takes. A carriage return must be a reference, else the reader turns it into a line feed
 * and the digest of a body no longer fits. */
static const char *spelling(struct qn_str text, size_t i, bool escape_quotes, bool is_utf8,
                            size_t *ret_len)
{
    unsigned char byte = (unsigned char)text.ptr[i];

    *ret_len = 1;
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return escape_quotes ? "&quot;" : NULL;
    case '\r':
        return "&#xD;";
    case '\t':
    case '\n':
        return NULL;
    default:
        break;
    }
    if (byte < 0x20 || (byte >= 0x80 && !is_utf8)) {
        return replacement;
    }
    /* U+FFFE and U+FFFF: the only ones above the controls that XML does not allow. */
    if (byte == 0xEF && text.ptr[i + 1] == '\xBF' && (unsigned char)text.ptr[i + 2] >= 0xBE) {
        *ret_len = 3;
        return replacement;
    }
    return NULL;
}

/* The bytes that may not stand for themselves, and the first byte of U+FFFE. */
static const bool special[256] = {
    true,         true,         true,         true,         true,
    true,         true,         true, /* 0x00 */
    true,         false,        false,        true,         true,
    true,         true,         true, /* 0x08: not tab and line feed */
    true,         true,         true,         true,         true,
    true,         true,         true, /* 0x10 */
    true,         true,         true,         true,         true,
    true,         true,         true, /* 0x18 */
    ['&'] = true, ['<'] = true, ['>'] = true, ['"'] = true, [0xEF] = true,
};

static size_t find_special(struct qn_str text, size_t i, bool is_utf8)
{
    for (; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (special[byte] || (byte >= 0x80 && !is_utf8)) {
            break;
        }
    }
    return i;
}

void qn_wire_append_xml_text(struct qn_buf *buf, struct qn_str text, bool escape_quotes)
{
    bool is_utf8 = qn_str_is_utf8(text);
    size_t written = 0;
    size_t i = 0;

    while ((i = find_special(text, i, is_utf8)) < text.len) {
        size_t len;
        const char *instead = spelling(text, i, escape_quotes, is_utf8, &len);
        if (instead != NULL) {
            qn_buf_append(buf, text.ptr + written, i - written);
            qn_buf_append(buf, instead, strlen(instead));
            written = i + len;
        }
        i += len;
    }
    qn_buf_append(buf, text.ptr + written, i - written);
}

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
    qn_wire_append_xml_text(buf, text, false);
    close_element(buf, name);
}

static void append_scalar(struct qn_buf *buf, const struct qn_field *field, const void *value)
{
    const char *name = qn_wire_query_name(field);

    open_element(buf, name);
    switch (field->type) {
    case QN_STRING:
        qn_wire_append_xml_text(buf, *(const struct qn_str *)value, false);
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
                qn_wire_append_xml_text(buf, ((const struct qn_pair *)(const void *)item)->value,
                                        false);
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
