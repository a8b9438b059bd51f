/* What readers and writers of both protocols ask about a field, and the lists they build. */
#include "server/base/digest.h"
#include "server/wire/codec.h"

/* As many as a batch may have entries and a message attributes: seldom does a list grow. */
enum { FIRST_CAP = 10 };

static bool grow(struct qn_wire_list *list)
{
    size_t cap = list->cap > 0 ? list->cap * 2 : FIRST_CAP;
    char *items;

    if (cap > SIZE_MAX / 2 / list->item_size) {
        return false;
    }
    items = qn_arena_alloc_raw(list->arena, cap * list->item_size);
    if (items == NULL) {
        return false;
    }
    if (list->count > 0) {
        memcpy(items, list->items, list->count * list->item_size);
    }
    list->items = items;
    list->cap = cap;
    return true;
}

void *qn_wire_list_add(struct qn_wire_list *list)
{
    char *item;

    if (list->count == list->cap && !grow(list)) {
        return NULL;
    }
    item = list->items + list->count * list->item_size;
    memset(item, 0, list->item_size);
    list->count++;
    return item;
}

struct qn_list qn_wire_list_finish(const struct qn_wire_list *list)
{
    return (struct qn_list){.items = list->items, .count = list->count, .present = true};
}

bool qn_wire_fail_too_large(struct qn_error *err)
{
    return qn_fail(err, QN_ERR_REQUEST_TOO_LARGE, "The request is larger than any legal request.");
}

size_t qn_wire_item_size(const struct qn_field *field)
{
    switch (field->type) {
    case QN_STRING_LIST:
        return sizeof(struct qn_str);
    case QN_STRING_MAP:
        return sizeof(struct qn_pair);
    default:
        return field->element->size;
    }
}

const char *qn_wire_query_name(const struct qn_field *field)
{
    return field->query_name != NULL ? field->query_name : field->name;
}

bool qn_wire_is_name(struct qn_str text, const char *name)
{
    return text.len > 0 && text.ptr[0] == name[0] && strlen(name) == text.len &&
           memcmp(text.ptr, name, text.len) == 0;
}

struct qn_str qn_wire_excerpt(struct qn_str text, size_t max)
{
    if (text.len <= max) {
        return text;
    }
    while (max > 0 && ((unsigned char)text.ptr[max] & 0xC0) == 0x80) {
        max--;
    }
    return qn_str_first(text, max);
}

bool qn_wire_is_empty(const struct qn_field *field, const void *value)
{
    switch (field->type) {
    case QN_STRING:
    case QN_BLOB:
        return qn_str_is_none(*(const struct qn_str *)value);
    case QN_INTEGER:
        return !((const struct qn_integer *)value)->present;
    case QN_BOOLEAN:
        return !((const struct qn_boolean *)value)->present;
    default:
        return ((const struct qn_list *)value)->count == 0;
    }
}

bool qn_wire_is_sent(const struct qn_field *field, const void *value)
{
    return !qn_wire_is_empty(field, value) ||
           ((field->flags & QN_ALWAYS_SENT) != 0 && field->type >= QN_STRING_LIST);
}

bool qn_wire_read_blob(struct qn_arena *arena, struct qn_str text, const char *name,
                       enum qn_error_code bad, struct qn_str *ret_bytes, struct qn_error *err)
{
    if (qn_digest_decode_base64(arena, text, ret_bytes)) {
        return true;
    }
    /* The decoder does not say which of its two reasons it had. */
    if (arena->max_bytes - arena->used_bytes < text.len) {
        return qn_wire_fail_too_large(err);
    }
    return qn_fail(err, bad, "The value of the parameter %s is not valid base64.", name);
}
