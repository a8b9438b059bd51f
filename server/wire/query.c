/* Reads the parameters of the query protocol into the struct of a shape.
 *
 * The pairs are sorted by their keys, segment by segment, numbers as numbers. After that everything
 * that belongs to one field, or to one item of a list, lies side by side, whatever the order and
 * the gaps it was sent with; and an index is only ever compared, so a huge one costs nothing. */
#include <stdlib.h>

#include "server/wire/codec.h"

enum { ECHO_MAX = 64 }; /* bytes of a wrong value that an error repeats */

struct pair {
    struct qn_str key;
    struct qn_str value;
    size_t at;       /* where the segment begins that is looked at; behind the end: key.len + 1 */
    size_t position; /* in the request; of equal keys the last counts */
};

struct pairs {
    struct pair *items;
    size_t count;
};

struct reader {
    struct qn_arena *arena;
    struct qn_error *err;
};

static bool read_struct(struct reader *reader, struct pairs pairs, const struct qn_shape *shape,
                        void *target);

/* The segment at the pair's place, none behind the last. */
static struct qn_str segment(const struct pair *pair)
{
    struct qn_str rest;

    if (pair->at > pair->key.len) {
        return QN_STR_NONE;
    }
    rest = qn_str_from(pair->key, pair->at);
    return qn_str_first(rest, qn_str_find_char(rest, '.'));
}

static bool is_index(struct qn_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') {
            return false;
        }
    }
    return text.len > 0;
}

static struct qn_str without_zeros(struct qn_str digits)
{
    while (digits.len > 1 && digits.ptr[0] == '0') {
        digits = qn_str_from(digits, 1);
    }
    return digits;
}

/* The end of the key sorts first, then numbers by their value, then text. */
static int compare_segments(struct qn_str a, struct qn_str b)
{
    bool a_is_index = is_index(a);
    bool b_is_index = is_index(b);

    if (qn_str_is_none(a) || qn_str_is_none(b)) {
        return (int)qn_str_is_none(b) - (int)qn_str_is_none(a);
    }
    if (a_is_index != b_is_index) {
        return a_is_index ? -1 : 1;
    }
    if (a_is_index) {
        a = without_zeros(a);
        b = without_zeros(b);
        if (a.len != b.len) {
            return a.len < b.len ? -1 : 1;
        }
    }
    return qn_str_compare(a, b);
}

static void descend(struct pair *pair)
{
    pair->at += segment(pair).len + 1;
}

static int compare_pairs(const void *left, const void *right)
{
    struct pair a = *(const struct pair *)left;
    struct pair b = *(const struct pair *)right;

    while (a.at <= a.key.len || b.at <= b.key.len) {
        int order = compare_segments(segment(&a), segment(&b));
        if (order != 0) {
            return order;
        }
        descend(&a);
        descend(&b);
    }
    return a.position < b.position ? -1 : 1;
}

static const struct qn_field *find_field(const struct qn_shape *shape, struct qn_str name)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct qn_field *field = &shape->fields[i];
        bool by_name_too = (field->flags & QN_QUERY_BY_NAME_TOO) != 0;
        if (qn_wire_is_name(name, qn_wire_query_name(field)) ||
            (by_name_too && qn_wire_is_name(name, field->name))) {
            return field;
        }
    }
    return NULL;
}

/* Takes the pairs with the same segment as the first off the front. */
static struct pairs take_group(struct pairs *pairs)
{
    struct pairs group = {pairs->items, 0};
    struct qn_str first = segment(&pairs->items[0]);

    while (group.count < pairs->count &&
           compare_segments(first, segment(&pairs->items[group.count])) == 0) {
        group.count++;
    }
    pairs->items += group.count;
    pairs->count -= group.count;
    return group;
}

static void descend_all(struct pairs group)
{
    for (size_t i = 0; i < group.count; i++) {
        descend(&group.items[i]);
    }
}

/* The pair whose key ends here, the last one if there are several, or NULL. */
static const struct pair *ending_here(struct pairs group)
{
    const struct pair *found = NULL;

    for (size_t i = 0; i < group.count && qn_str_is_none(segment(&group.items[i])); i++) {
        found = &group.items[i];
    }
    return found;
}

static bool read_integer(struct reader *reader, const struct pair *pair,
                         struct qn_integer *ret_integer)
{
    int64_t value;

    if (!qn_str_to_int64(pair->value, INT64_MIN, INT64_MAX, &value)) {
        return qn_fail(reader->err, QN_ERR_MALFORMED_INPUT,
                       "The value '%.*s' of the parameter %.*s is not an integer of 64 bits.",
                       QN_STR_ARG(qn_wire_excerpt(pair->value, ECHO_MAX)), QN_STR_ARG(pair->key));
    }
    *ret_integer = (struct qn_integer){.value = value, .present = true};
    return true;
}

static bool read_boolean(struct reader *reader, const struct pair *pair,
                         struct qn_boolean *ret_boolean)
{
    bool value = qn_str_equal(pair->value, QN_STR("true"));

    if (!value && !qn_str_equal(pair->value, QN_STR("false"))) {
        return qn_fail(reader->err, QN_ERR_MALFORMED_INPUT,
                       "The parameter %.*s must be true or false.", QN_STR_ARG(pair->key));
    }
    *ret_boolean = (struct qn_boolean){.value = value, .present = true};
    return true;
}

static bool read_scalar(struct reader *reader, struct pairs group, const struct qn_field *field,
                        void *target)
{
    const struct pair *pair = ending_here(group);

    if (pair == NULL) {
        return true;
    }
    switch (field->type) {
    case QN_STRING:
        *(struct qn_str *)target = pair->value;
        return true;
    case QN_BLOB:
        return qn_wire_read_blob(reader->arena, pair->value, field->name,
                                 QN_ERR_INVALID_PARAMETER_VALUE, target, reader->err);
    case QN_INTEGER:
        return read_integer(reader, pair, target);
    default:
        return read_boolean(reader, pair, target);
    }
}

static bool fail_missing_part(struct reader *reader, const struct pair *pair, const char *part)
{
    struct qn_str prefix = qn_str_first(pair->key, pair->at > 0 ? pair->at - 1 : 0);

    return qn_fail(reader->err, QN_ERR_MISSING_PARAMETER,
                   "The request must contain the parameter %.*s.%s.", QN_STR_ARG(prefix), part);
}

/* The key and the value of one item of a map. */
static bool read_entry(struct reader *reader, struct pairs pairs, const struct qn_field *field,
                       void *item)
{
    struct pair first = pairs.items[0];
    struct qn_str *key = item;
    struct qn_str *value = &((struct qn_pair *)item)->value; /* of a string map */
    bool is_string_map = field->type == QN_STRING_MAP;

    while (pairs.count > 0) {
        struct qn_str name = segment(&pairs.items[0]);
        struct pairs group = take_group(&pairs);
        const struct pair *pair;
        if (qn_str_is_none(name)) {
            continue;
        }
        descend_all(group);
        pair = ending_here(group);
        if (qn_wire_is_name(name, field->map_key) && pair != NULL) {
            *key = pair->value;
        } else if (qn_wire_is_name(name, field->map_value) && is_string_map && pair != NULL) {
            *value = pair->value;
        } else if (qn_wire_is_name(name, field->map_value) && !is_string_map &&
                   !read_struct(reader, group, field->element, item)) {
            return false;
        }
    }
    if (qn_str_is_none(*key)) {
        return fail_missing_part(reader, &first, field->map_key);
    }
    if (is_string_map && qn_str_is_none(*value)) {
        return fail_missing_part(reader, &first, field->map_value);
    }
    return true;
}

static bool read_item(struct reader *reader, struct pairs group, const struct qn_field *field,
                      struct qn_wire_list *list)
{
    void *item;

    if (field->type == QN_STRING_LIST && ending_here(group) == NULL) {
        return true;
    }
    item = qn_wire_list_add(list);
    if (item == NULL) {
        return qn_wire_fail_too_large(reader->err);
    }
    switch (field->type) {
    case QN_STRING_LIST:
        *(struct qn_str *)item = ending_here(group)->value;
        return true;
    case QN_STRUCT_LIST:
        return read_struct(reader, group, field->element, item);
    default:
        return read_entry(reader, group, field, item);
    }
}

/* Whether these are the parts of a map's only item, sent without an index. */
static bool has_key_of_map(struct pairs pairs, const struct qn_field *field)
{
    for (size_t i = 0; i < pairs.count; i++) {
        if (qn_wire_is_name(segment(&pairs.items[i]), field->map_key)) {
            return true;
        }
    }
    return false;
}

/* Old clients leave the index out where there is one item: AttributeName=All, Attribute.Name=...
 * and Attribute.Value=..., as the first version of the documentation shows them. */
static bool read_list(struct reader *reader, struct pairs pairs, const struct qn_field *field,
                      struct qn_list *ret_list)
{
    struct qn_wire_list list = {.arena = reader->arena, .item_size = qn_wire_item_size(field)};
    bool is_map = field->type == QN_STRING_MAP || field->type == QN_STRUCT_MAP;

    while (pairs.count > 0) {
        struct qn_str name = segment(&pairs.items[0]);
        struct pairs group;
        if (is_map && !qn_str_is_none(name) && !is_index(name)) {
            if (has_key_of_map(pairs, field) && !read_item(reader, pairs, field, &list)) {
                return false;
            }
            break;
        }
        group = take_group(&pairs);
        if (is_index(name)) {
            descend_all(group);
        } else if (field->type != QN_STRING_LIST || !qn_str_is_none(name)) {
            continue;
        }
        if (!read_item(reader, group, field, &list)) {
            return false;
        }
    }
    if (list.count > 0) {
        *ret_list = qn_wire_list_finish(&list);
    }
    return true;
}

static bool read_struct(struct reader *reader, struct pairs pairs, const struct qn_shape *shape,
                        void *target)
{
    while (pairs.count > 0) {
        const struct qn_field *field = find_field(shape, segment(&pairs.items[0]));
        struct pairs group = take_group(&pairs);
        void *at;
        if (field == NULL) {
            continue;
        }
        descend_all(group);
        at = (char *)target + field->offset;
        if (field->type >= QN_STRING_LIST ? !read_list(reader, group, field, at)
                                          : !read_scalar(reader, group, field, at)) {
            return false;
        }
    }
    return true;
}

/* Decodes the pairs of one place and keeps those that the shape knows. */
static bool collect(struct reader *reader, struct qn_str rest, enum qn_error_code broken,
                    const struct qn_shape *shape, struct qn_wire_list *list)
{
    struct qn_str raw_key;
    struct qn_str raw_value;

    while (qn_wire_form_next(&rest, &raw_key, &raw_value)) {
        struct pair pair = {.position = list->count};
        struct pair *kept;
        if (!qn_wire_form_decode(reader->arena, raw_key, broken, &pair.key, reader->err) ||
            !qn_wire_form_decode(reader->arena, raw_value, broken, &pair.value, reader->err)) {
            return false;
        }
        if (find_field(shape, segment(&pair)) == NULL) {
            continue;
        }
        kept = qn_wire_list_add(list);
        if (kept == NULL) {
            return qn_wire_fail_too_large(reader->err);
        }
        *kept = pair;
    }
    return true;
}

bool qn_wire_read_query(struct qn_arena *arena, const struct qn_wire_form *form,
                        const struct qn_shape *shape, void *value, struct qn_error *err)
{
    struct reader reader = {arena, err};
    struct qn_wire_list list = {.arena = arena, .item_size = sizeof(struct pair)};
    struct pairs pairs;

    /* The body comes last, so that it wins. */
    if (!collect(&reader, form->query, QN_ERR_MALFORMED_QUERY_STRING, shape, &list) ||
        !collect(&reader, form->body, QN_ERR_MALFORMED_INPUT, shape, &list)) {
        return false;
    }
    pairs = (struct pairs){(void *)list.items, list.count};
    if (pairs.count > 1) {
        qsort(pairs.items, pairs.count, sizeof(pairs.items[0]), compare_pairs);
    }
    return read_struct(&reader, pairs, shape, value);
}
