/* What the client library reads of others: answers of a server, and the files of the AWS tools. The
 * first byte says which: 'i' a file, anything else an answer. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "client/codec.h"
#include "client/ini.h"
#include "client/internal.h"

/* Small enough to be hit now and then. */
enum { ARENA_MAX = 64 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct item {
    const char *name; /* of those that have one */
    const char *text;
    int64_t number;
};

/* One field of each kind. */
struct all {
    const char *text;
    const char *body;
    size_t body_len;
    const void *blob;
    size_t blob_len;
    int64_t number;
    bool is_true;
    const char *const *texts;
    size_t text_count;
    const struct item *items;
    size_t item_count;
    struct quern_pairs pairs;
    const struct item *named;
    size_t named_count;
};

static const struct quern_field item_fields[] = {
    {.name = "T", .is_required = true, .offset = offsetof(struct item, text)},
    {.name = "N", .kind = QUERN_NUMBER, .offset = offsetof(struct item, number)},
};
static const struct quern_shape item_shape = QUERN_SHAPE(struct item, item_fields);

#define AT(member) offsetof(struct all, member)

static const struct quern_field fields[] = {
    {.name = "Text", .offset = AT(text)},
    {.name = "Body", .kind = QUERN_SIZED_TEXT, .offset = AT(body), .count = AT(body_len)},
    {.name = "Blob", .kind = QUERN_BLOB, .offset = AT(blob), .count = AT(blob_len)},
    {.name = "Number", .kind = QUERN_NUMBER, .offset = AT(number)},
    {.name = "True", .kind = QUERN_BOOLEAN, .offset = AT(is_true)},
    {.name = "Texts", .kind = QUERN_TEXTS, .offset = AT(texts), .count = AT(text_count)},
    {.name = "Items",
     .kind = QUERN_ITEMS,
     .offset = AT(items),
     .count = AT(item_count),
     .item = &item_shape},
    {.name = "Pairs", .kind = QUERN_PAIRS, .offset = AT(pairs)},
    {.name = "Named",
     .kind = QUERN_NAMED_ITEMS,
     .offset = AT(named),
     .count = AT(named_count),
     .item = &item_shape},
};
static const struct quern_shape shape = QUERN_SHAPE(struct all, fields);

static void check_error(const struct quern_error *err)
{
    assert(err->code[0] != '\0' && err->message[0] != '\0');
    assert(memchr(err->message, '\0', sizeof(err->message)) != NULL);
}

/* What was understood can be said again, and means the same then. Returns what was said, or NULL.
 */
static json_t *read_and_write(const json_t *value)
{
    struct quern_error err = {.code = ""};
    struct qn_arena arena;
    struct all all;
    json_t *said = NULL;

    qn_arena_init(&arena, ARENA_MAX);
    if (quern_codec_read(&shape, value, &all, &arena, &err)) {
        said = quern_codec_write(&shape, &all, &err);
        assert(said != NULL);
    } else {
        check_error(&err);
    }
    qn_arena_done(&arena);
    return said;
}

static void check_answer(struct qn_str body)
{
    struct quern_error err = {.code = ""};
    json_t *value = quern_json_read(body);

    if (value != NULL) {
        json_t *once = read_and_write(value);
        json_t *twice = once != NULL ? read_and_write(once) : NULL;
        assert(once == NULL || json_equal(once, twice));
        json_decref(once);
        json_decref(twice);
    }
    json_decref(value);
    quern_json_read_error(body, 400, &err);
    assert(err.code[0] != '\0' && err.http_status == 400);
}

/* The last value of a key counts; a key without one only has others nested below it. */
static void check_file(struct qn_str text)
{
    struct quern_error err = {.code = ""};
    struct quern_ini ini;

    quern_ini_init(&ini);
    if (!quern_ini_read(&ini, "config", text, &err)) {
        check_error(&err);
    }
    for (size_t i = 0; i < ini.count; i++) {
        const struct quern_ini_entry *entry = &ini.entries[i];
        char key[64];
        assert(quern_ini_has_section(&ini, entry->section));
        if (entry->value.len > 0 && entry->key.len < sizeof(key) &&
            memchr(entry->key.ptr, '\0', entry->key.len) == NULL) {
            memcpy(key, entry->key.ptr, entry->key.len);
            key[entry->key.len] = '\0';
            const char *found = quern_ini_get(&ini, entry->section, key);
            assert(found != NULL);
        }
    }
    quern_ini_done(&ini);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qn_str text = qn_str((const char *)data, size);

    if (size > 0 && data[0] == 'i') {
        check_file(qn_str(text.ptr + 1, text.len - 1));
    } else {
        check_answer(text);
    }
    return 0;
}
