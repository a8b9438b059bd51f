/* Reads a JSON object straight into the struct of a shape. Members that the shape does not know are
 * checked and dropped, null is absent, the last of equal members wins. */
#include "server/base/json.h"

#include "server/wire/codec.h"

/* No action takes a map of more distinct keys than this. A larger one will be refused whatever is
 * in it, so its keys are not compared with each other: that would take time by the square. */
enum { DISTINCT_KEYS_MAX = 64 };

struct reader {
    struct qn_json json;
    struct qn_arena *arena;
    struct qn_error *err;
};

static bool read_struct(struct reader *reader, const struct qn_shape *shape, void *target);

static bool fail_text(struct reader *reader)
{
    if (reader->json.out_of_memory) {
        return qn_wire_fail_too_large(reader->err);
    }
    return qn_fail(reader->err, QN_ERR_SERIALIZATION,
                   "The request body is not valid JSON in UTF-8.");
}

static bool expect(struct reader *reader, enum qn_json_type type, const char *name,
                   const char *description)
{
    enum qn_json_type found = qn_json_peek(&reader->json);

    if (found == type) {
        return true;
    }
    if (found == QN_JSON_END) {
        return fail_text(reader);
    }
    return qn_fail(reader->err, QN_ERR_SERIALIZATION, "The value of %s must be %s.", name,
                   description);
}

/* Takes a null. A word that only begins like one is left to the next call, which fails. */
static bool take_null(struct reader *reader)
{
    return qn_json_peek(&reader->json) == QN_JSON_NULL && qn_json_null(&reader->json);
}

/* The texts of a message have an error of their own for what is no character (MSG-2, MA-6), and
 * half of a surrogate pair is none. */
static bool fail_string(struct reader *reader, const char *name)
{
    struct qn_str member = qn_str_from_cstr(name);

    if (reader->json.lone_surrogate && qn_str_equal(member, QN_STR("MessageBody"))) {
        return qn_fail(
            reader->err, QN_ERR_INVALID_MESSAGE_CONTENTS,
            "The message body contains half of a surrogate pair, which is no character.");
    }
    if (reader->json.lone_surrogate && qn_str_equal(member, QN_STR("StringValue"))) {
        return qn_fail(reader->err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "A StringValue contains half of a surrogate pair, which is no character.");
    }
    return fail_text(reader);
}

static bool read_string(struct reader *reader, const char *name, struct qn_str *ret_text)
{
    return expect(reader, QN_JSON_STRING, name, "a string") &&
           (qn_json_string(&reader->json, ret_text) || fail_string(reader, name));
}

static bool read_blob(struct reader *reader, const char *name, struct qn_str *ret_bytes)
{
    struct qn_str text;

    return read_string(reader, name, &text) &&
           qn_wire_read_blob(reader->arena, text, name, QN_ERR_SERIALIZATION, ret_bytes,
                             reader->err);
}

static bool read_integer(struct reader *reader, const char *name, struct qn_integer *ret_integer)
{
    int64_t value;

    if (!expect(reader, QN_JSON_NUMBER, name, "an integer")) {
        return false;
    }
    if (!qn_json_int64(&reader->json, &value)) {
        return qn_fail(reader->err, QN_ERR_SERIALIZATION,
                       "The value of %s must be an integer of at most 64 bits.", name);
    }
    *ret_integer = (struct qn_integer){.value = value, .present = true};
    return true;
}

static bool read_boolean(struct reader *reader, const char *name, struct qn_boolean *ret_boolean)
{
    bool value;

    if (!expect(reader, QN_JSON_BOOLEAN, name, "true or false")) {
        return false;
    }
    if (!qn_json_boolean(&reader->json, &value)) {
        return fail_text(reader);
    }
    *ret_boolean = (struct qn_boolean){.value = value, .present = true};
    return true;
}

/* One item of a list or one value of a map, into a zeroed item that has its key already. */
static bool read_item(struct reader *reader, const struct qn_field *field, void *item)
{
    switch (field->type) {
    case QN_STRING_LIST:
        return read_string(reader, field->name, item);
    case QN_STRING_MAP:
        return read_string(reader, field->name, &((struct qn_pair *)item)->value);
    default:
        return expect(reader, QN_JSON_OBJECT, field->name, "made of objects") &&
               read_struct(reader, field->element, item);
    }
}

static bool read_list(struct reader *reader, const struct qn_field *field, struct qn_list *ret_list)
{
    struct qn_wire_list list = {.arena = reader->arena, .item_size = qn_wire_item_size(field)};

    if (!expect(reader, QN_JSON_ARRAY, field->name, "an array")) {
        return false;
    }
    if (!qn_json_open_array(&reader->json)) {
        return fail_text(reader);
    }
    while (qn_json_next_element(&reader->json)) {
        void *item;
        if (take_null(reader)) {
            continue;
        }
        item = qn_wire_list_add(&list);
        if (item == NULL) {
            return qn_wire_fail_too_large(reader->err);
        }
        if (!read_item(reader, field, item)) {
            return false;
        }
    }
    if (reader->json.failed) {
        return fail_text(reader);
    }
    *ret_list = qn_wire_list_finish(&list);
    return true;
}

/* The index of the item with this key, or list->count. Items begin with their key. */
static size_t find_key(const struct qn_wire_list *list, struct qn_str key)
{
    size_t i = 0;

    if (list->count > DISTINCT_KEYS_MAX) {
        return list->count;
    }
    while (i < list->count) {
        const struct qn_str *known = (const void *)(list->items + i * list->item_size);
        if (qn_str_equal(*known, key)) {
            break;
        }
        i++;
    }
    return i;
}

static void remove_item(struct qn_wire_list *list, size_t i)
{
    char *item = list->items + i * list->item_size;

    list->count--;
    memmove(item, item + list->item_size, (list->count - i) * list->item_size);
}

static bool read_entry(struct reader *reader, const struct qn_field *field,
                       struct qn_wire_list *list, struct qn_str key)
{
    size_t known = find_key(list, key);
    void *item;

    if (take_null(reader)) {
        if (known < list->count) {
            remove_item(list, known);
        }
        return true;
    }
    if (known < list->count) {
        item = list->items + known * list->item_size;
        memset(item, 0, list->item_size);
    } else {
        item = qn_wire_list_add(list);
        if (item == NULL) {
            return qn_wire_fail_too_large(reader->err);
        }
    }
    *(struct qn_str *)item = key;
    return read_item(reader, field, item);
}

static bool read_map(struct reader *reader, const struct qn_field *field, struct qn_list *ret_list)
{
    struct qn_wire_list list = {.arena = reader->arena, .item_size = qn_wire_item_size(field)};
    struct qn_str key;

    if (!expect(reader, QN_JSON_OBJECT, field->name, "an object")) {
        return false;
    }
    if (!qn_json_open_object(&reader->json)) {
        return fail_text(reader);
    }
    while (qn_json_next_member(&reader->json, &key)) {
        if (!read_entry(reader, field, &list, key)) {
            return false;
        }
    }
    if (reader->json.failed) {
        return fail_text(reader);
    }
    *ret_list = qn_wire_list_finish(&list);
    return true;
}

static void make_absent(const struct qn_field *field, void *target)
{
    switch (field->type) {
    case QN_STRING:
    case QN_BLOB:
        *(struct qn_str *)target = QN_STR_NONE;
        break;
    case QN_INTEGER:
        *(struct qn_integer *)target = (struct qn_integer){0};
        break;
    case QN_BOOLEAN:
        *(struct qn_boolean *)target = (struct qn_boolean){0};
        break;
    default:
        *(struct qn_list *)target = (struct qn_list){0};
        break;
    }
}

static bool read_member(struct reader *reader, const struct qn_field *field, void *target)
{
    if (take_null(reader)) {
        make_absent(field, target);
        return true;
    }
    switch (field->type) {
    case QN_STRING:
        return read_string(reader, field->name, target);
    case QN_BLOB:
        return read_blob(reader, field->name, target);
    case QN_INTEGER:
        return read_integer(reader, field->name, target);
    case QN_BOOLEAN:
        return read_boolean(reader, field->name, target);
    case QN_STRING_LIST:
    case QN_STRUCT_LIST:
        return read_list(reader, field, target);
    default:
        return read_map(reader, field, target);
    }
}

static const struct qn_field *find_field(const struct qn_shape *shape, struct qn_str name)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        if (qn_wire_is_name(name, shape->fields[i].name)) {
            return &shape->fields[i];
        }
    }
    return NULL;
}

static bool read_struct(struct reader *reader, const struct qn_shape *shape, void *target)
{
    struct qn_str name;

    if (!qn_json_open_object(&reader->json)) {
        return fail_text(reader);
    }
    while (qn_json_next_member(&reader->json, &name)) {
        const struct qn_field *field = find_field(shape, name);
        if (field == NULL) {
            qn_json_skip(&reader->json); /* a failure ends the loop */
        } else if (!read_member(reader, field, (char *)target + field->offset)) {
            return false;
        }
    }
    return !reader->json.failed || fail_text(reader);
}

bool qn_wire_read_json(struct qn_arena *arena, struct qn_str body, const struct qn_shape *shape,
                       void *value, struct qn_error *err)
{
    struct reader reader = {.arena = arena, .err = err};

    if (body.len == 0) {
        return true; /* as good as an object without members */
    }
    qn_json_init(&reader.json, body, arena);
    return expect(&reader, QN_JSON_OBJECT, "the request body", "a JSON object") &&
           read_struct(&reader, shape, value) &&
           (qn_json_finish(&reader.json) || fail_text(&reader));
}
