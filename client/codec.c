/* The codec of the API: C structs to JSON and back, by tables of fields. */
#include "client/codec.h"

#include <limits.h>

#include "client/internal.h"
#include "server/base/digest.h"

/* A field of the struct, whatever its type. */
#define FIELD(type, base, offset) (*(type *)(void *)((char *)(base) + (offset)))
#define CONST_FIELD(type, base, offset)                                                            \
    (*(const type *)(const void *)((const char *)(base) + (offset)))

/* ---- writing ---- */

static bool refuse(const char *name, const char *problem, struct quern_error *err)
{
    return quern_fail(err, "InvalidText", 0, "%s %s", name, problem);
}

static json_t *write_text(const char *name, const char *text, size_t len, struct quern_error *err)
{
    json_t *value = text != NULL ? json_stringn(text, len) : NULL;

    if (value == NULL) {
        (void)refuse(name, text != NULL ? "is not UTF-8" : "is missing", err);
    }
    return value;
}

static json_t *write_blob(const void *bytes, size_t count)
{
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_digest_append_base64(&text, qn_str(bytes, count));
    json_t *value = json_stringn(qn_buf_str(&text).ptr, text.len);
    qn_buf_done(&text);
    return value;
}

static json_t *write_texts(const char *name, const char *const *texts, size_t count,
                           struct quern_error *err)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *value = write_text(name, texts[i], texts[i] != NULL ? strlen(texts[i]) : 0, err);
        if (value == NULL) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, value);
    }
    return list;
}

/* Puts a value into an object by a name that is the caller's. */
static bool put_named(json_t *object, const char *field, const char *name, json_t *value_take,
                      struct quern_error *err)
{
    if (value_take == NULL) {
        return false; /* err says why */
    }
    if (name == NULL || json_object_get(object, name) != NULL) {
        json_decref(value_take);
        return refuse(field, name != NULL ? "names the same twice" : "has an entry without a name",
                      err);
    }
    return json_object_set_new(object, name, value_take) == 0 ||
           refuse(field, "has a name that is not UTF-8", err);
}

static json_t *write_pairs(const char *name, const struct quern_pairs *pairs,
                           struct quern_error *err)
{
    json_t *object = json_object();

    for (size_t i = 0; i < pairs->count; i++) {
        const struct quern_pair *pair = &pairs->items[i];
        json_t *value =
            write_text(name, pair->value, pair->value != NULL ? strlen(pair->value) : 0, err);
        if (!put_named(object, name, pair->name, value, err)) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *write_items(const struct quern_field *field, const char *items, size_t count,
                           struct quern_error *err)
{
    bool is_named = field->kind == QUERN_NAMED_ITEMS;
    json_t *value = is_named ? json_object() : json_array();

    for (size_t i = 0; i < count; i++) {
        const char *at = items + i * field->item->size;
        json_t *item = quern_codec_write(field->item, at, err);
        bool ok = is_named
                      ? put_named(value, field->name, CONST_FIELD(char *const, at, 0), item, err)
                      : item != NULL && json_array_append_new(value, item) == 0;
        if (!ok) {
            json_decref(value);
            return NULL;
        }
    }
    return value;
}

static bool is_absent(const struct quern_field *field, const void *input)
{
    switch (field->kind) {
    case QUERN_TEXT:
    case QUERN_SIZED_TEXT:
    case QUERN_BLOB:
        return !field->is_required && CONST_FIELD(char *const, input, field->offset) == NULL;
    case QUERN_NUMBER:
        return CONST_FIELD(int64_t, input, field->offset) < 0;
    case QUERN_PAIRS:
        return !field->is_required &&
               CONST_FIELD(struct quern_pairs, input, field->offset).count == 0;
    case QUERN_TEXTS:
    case QUERN_ITEMS:
    case QUERN_NAMED_ITEMS:
        return !field->is_required && CONST_FIELD(size_t, input, field->count) == 0;
    case QUERN_BOOLEAN:
        break;
    }
    return false;
}

static json_t *write_field(const struct quern_field *field, const void *input,
                           struct quern_error *err)
{
    const char *text;

    switch (field->kind) {
    case QUERN_TEXT:
        text = CONST_FIELD(char *const, input, field->offset);
        return write_text(field->name, text, text != NULL ? strlen(text) : 0, err);
    case QUERN_SIZED_TEXT:
        return write_text(field->name, CONST_FIELD(char *const, input, field->offset),
                          CONST_FIELD(size_t, input, field->count), err);
    case QUERN_BLOB:
        return write_blob(CONST_FIELD(void *const, input, field->offset),
                          CONST_FIELD(size_t, input, field->count));
    case QUERN_NUMBER:
        return json_integer(CONST_FIELD(int64_t, input, field->offset));
    case QUERN_BOOLEAN:
        return json_boolean(CONST_FIELD(bool, input, field->offset));
    case QUERN_TEXTS:
        return write_texts(field->name, CONST_FIELD(char *const *const, input, field->offset),
                           CONST_FIELD(size_t, input, field->count), err);
    case QUERN_PAIRS:
        return write_pairs(field->name, &CONST_FIELD(struct quern_pairs, input, field->offset),
                           err);
    case QUERN_ITEMS:
    case QUERN_NAMED_ITEMS:
        return write_items(field, CONST_FIELD(char *const, input, field->offset),
                           CONST_FIELD(size_t, input, field->count), err);
    }
    return NULL;
}

json_t *quern_codec_write(const struct quern_shape *shape, const void *input,
                          struct quern_error *err)
{
    json_t *object = json_object();

    for (size_t i = 0; i < shape->field_count; i++) {
        const struct quern_field *field = &shape->fields[i];
        if (is_absent(field, input)) {
            continue;
        }
        json_t *value = write_field(field, input, err);
        if (value == NULL) {
            json_decref(object);
            return NULL;
        }
        json_object_set_new(object, field->name, value);
    }
    return object;
}

/* ---- reading ---- */

static bool unreadable(const char *name, const char *problem, struct quern_error *err)
{
    return quern_fail(err, "UnreadableAnswer", 200, "%s of the answer %s", name, problem);
}

/* A copy that ends in NUL. Only a text that has its length beside it may hold a NUL. */
static bool read_text(const char *name, const json_t *value, bool may_hold_nul,
                      struct qn_arena *arena, struct qn_str *ret_text, struct quern_error *err)
{
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);

    if (text == NULL) {
        return unreadable(name, "is not a text", err);
    }
    if (!may_hold_nul && strlen(text) != len) {
        return unreadable(name, "holds a NUL", err);
    }
    *ret_text = qn_arena_copy(arena, qn_str(text, len));
    return !qn_str_is_none(*ret_text) || unreadable(name, "is too long", err);
}

static bool read_blob(const struct quern_field *field, const json_t *value, void *output,
                      struct qn_arena *arena, struct quern_error *err)
{
    struct qn_str text = qn_str(json_string_value(value), json_string_length(value));
    struct qn_str bytes;

    if (qn_str_is_none(text) || !qn_digest_decode_base64(arena, text, &bytes)) {
        return unreadable(field->name, "is not base64", err);
    }
    FIELD(const void *, output, field->offset) = bytes.ptr;
    FIELD(size_t, output, field->count) = bytes.len;
    return true;
}

static void *new_items(struct qn_arena *arena, size_t count, size_t size)
{
    return count <= SIZE_MAX / 4 / size ? qn_arena_alloc(arena, count * size) : NULL;
}

static bool read_texts(const struct quern_field *field, const json_t *value, void *output,
                       struct qn_arena *arena, struct quern_error *err)
{
    size_t count = json_array_size(value);
    const char **texts = new_items(arena, count, sizeof(*texts));
    struct qn_str text;

    if (!json_is_array(value) || texts == NULL) {
        return unreadable(field->name, "is not a list", err);
    }
    for (size_t i = 0; i < count; i++) {
        if (!read_text(field->name, json_array_get(value, i), false, arena, &text, err)) {
            return false;
        }
        texts[i] = text.ptr;
    }
    FIELD(const char *const *, output, field->offset) = texts;
    FIELD(size_t, output, field->count) = count;
    return true;
}

static bool read_pairs(const struct quern_field *field, const json_t *value, void *output,
                       struct qn_arena *arena, struct quern_error *err)
{
    struct quern_pair *pairs = new_items(arena, json_object_size(value), sizeof(*pairs));
    size_t count = 0;
    const char *key;
    json_t *member;

    if (!json_is_object(value) || pairs == NULL) {
        return unreadable(field->name, "is not an object", err);
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        struct qn_str name = qn_arena_copy(arena, qn_str_from_cstr(key));
        struct qn_str text;
        if (!read_text(field->name, member, false, arena, &text, err)) {
            return false;
        }
        pairs[count++] = (struct quern_pair){.name = name.ptr, .value = text.ptr};
    }
    FIELD(struct quern_pairs, output, field->offset) =
        (struct quern_pairs){.items = pairs, .count = count};
    return true;
}

static bool read_list(const struct quern_field *field, const json_t *value, void *output,
                      struct qn_arena *arena, struct quern_error *err)
{
    size_t count = json_array_size(value);
    char *items = new_items(arena, count, field->item->size);

    if (!json_is_array(value) || items == NULL) {
        return unreadable(field->name, "is not a list", err);
    }
    for (size_t i = 0; i < count; i++) {
        if (!quern_codec_read(field->item, json_array_get(value, i), items + i * field->item->size,
                              arena, err)) {
            return false;
        }
    }
    FIELD(const void *, output, field->offset) = items;
    FIELD(size_t, output, field->count) = count;
    return true;
}

static bool read_named(const struct quern_field *field, const json_t *value, void *output,
                       struct qn_arena *arena, struct quern_error *err)
{
    char *items = new_items(arena, json_object_size(value), field->item->size);
    size_t count = 0;
    const char *key;
    json_t *member;

    if (!json_is_object(value) || items == NULL) {
        return unreadable(field->name, "is not an object", err);
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        char *at = items + count++ * field->item->size;
        if (!quern_codec_read(field->item, member, at, arena, err)) {
            return false;
        }
        FIELD(const char *, at, 0) = qn_arena_copy(arena, qn_str_from_cstr(key)).ptr;
    }
    FIELD(const void *, output, field->offset) = items;
    FIELD(size_t, output, field->count) = count;
    return true;
}

static bool read_field(const struct quern_field *field, const json_t *value, void *output,
                       struct qn_arena *arena, struct quern_error *err)
{
    struct qn_str text;

    switch (field->kind) {
    case QUERN_TEXT:
    case QUERN_SIZED_TEXT:
        if (!read_text(field->name, value, field->kind == QUERN_SIZED_TEXT, arena, &text, err)) {
            return false;
        }
        FIELD(const char *, output, field->offset) = text.ptr;
        if (field->kind == QUERN_SIZED_TEXT) {
            FIELD(size_t, output, field->count) = text.len;
        }
        return true;
    case QUERN_BLOB:
        return read_blob(field, value, output, arena, err);
    case QUERN_NUMBER:
        FIELD(int64_t, output, field->offset) = json_integer_value(value);
        return json_is_integer(value) || unreadable(field->name, "is not a whole number", err);
    case QUERN_BOOLEAN:
        FIELD(bool, output, field->offset) = json_is_true(value);
        return json_is_boolean(value) || unreadable(field->name, "is not true or false", err);
    case QUERN_TEXTS:
        return read_texts(field, value, output, arena, err);
    case QUERN_PAIRS:
        return read_pairs(field, value, output, arena, err);
    case QUERN_ITEMS:
        return read_list(field, value, output, arena, err);
    case QUERN_NAMED_ITEMS:
        return read_named(field, value, output, arena, err);
    }
    return false;
}

bool quern_codec_read(const struct quern_shape *shape, const json_t *value, void *ret_output,
                      struct qn_arena *arena, struct quern_error *err)
{
    if (!json_is_object(value)) {
        return quern_fail(err, "UnreadableAnswer", 200, "the answer is not an object");
    }
    memset(ret_output, 0, shape->size);
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct quern_field *field = &shape->fields[i];
        const json_t *member = json_object_get(value, field->name);
        if (member == NULL || json_is_null(member)) {
            if (field->is_required) {
                return unreadable(field->name, "is missing", err);
            }
            if (field->kind == QUERN_NUMBER) {
                FIELD(int64_t, ret_output, field->offset) = QUERN_NOT_GIVEN;
            }
            continue;
        }
        if (!read_field(field, member, ret_output, arena, err)) {
            return false;
        }
    }
    return true;
}
