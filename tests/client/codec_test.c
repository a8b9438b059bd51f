/* Structs to JSON and back, by tables of fields. */
#include "client/codec.h"

#include <criterion/criterion.h>

#include "client/internal.h"

/* One field of each kind. */
struct item {
    const char *name; /* of those that have one */
    const char *text;
};

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

static struct quern_error err;
static struct qn_arena arena;
static struct all read;

static void open_arena(void)
{
    qn_arena_init(&arena, 1 << 20);
}

static void close_arena(void)
{
    qn_arena_done(&arena);
}

TestSuite(codec, .init = open_arena, .fini = close_arena);

static bool read_text(const char *text)
{
    json_t *value = quern_json_read(qn_str_from_cstr(text));
    bool ok = quern_codec_read(&shape, value, &read, &arena, &err);

    json_decref(value);
    return ok;
}

static void expect_unreadable(const char *text, const char *part)
{
    cr_expect_not(read_text(text), "%s", text);
    cr_expect_str_eq(err.code, "UnreadableAnswer");
    cr_expect_not_null(strstr(err.message, part), "%s: %s", text, err.message);
}

static void expect_refused(const struct all *input, const char *message)
{
    cr_expect_null(quern_codec_write(&shape, input, &err));
    cr_expect_str_eq(err.code, "InvalidText");
    cr_expect_str_eq(err.message, message);
}

static void expect_written(const struct all *input, const char *expected)
{
    json_t *value = quern_codec_write(&shape, input, &err);
    struct qn_buf text;

    cr_assert_not_null(value, "%s", err.message);
    qn_buf_init(&text, 4096);
    quern_json_write(value, &text);
    qn_buf_append_char(&text, '\0');
    cr_expect_str_eq(text.ptr, expected);
    qn_buf_done(&text);
    json_decref(value);
}

/* ---- writing ---- */

Test(codec, members_that_are_not_given_are_left_out)
{
    expect_written(&(struct all){.number = QUERN_NOT_GIVEN}, "{\"True\":false}");
}

Test(codec, each_kind_has_its_form)
{
    static const char *const texts[] = {"a", ""};
    const struct item items[] = {{"n", "1"}, {"m", "2"}};
    const struct quern_pair pair = {"k", ""};
    const struct all input = {
        .text = "\xe2\x82\xac",
        .body = "b\0c",
        .body_len = 3,
        .blob = "\xff",
        .blob_len = 1,
        .number = 0,
        .is_true = true,
        .texts = texts,
        .text_count = 2,
        .items = items,
        .item_count = 2,
        .pairs = {&pair, 1},
        .named = items,
        .named_count = 2,
    };

    expect_written(&input, "{\"Text\":\"\xe2\x82\xac\",\"Body\":\"b\\u0000c\",\"Blob\":\"/w==\","
                           "\"Number\":0,\"True\":true,\"Texts\":[\"a\",\"\"],"
                           "\"Items\":[{\"T\":\"1\"},{\"T\":\"2\"}],\"Pairs\":{\"k\":\"\"},"
                           "\"Named\":{\"n\":{\"T\":\"1\"},\"m\":{\"T\":\"2\"}}}");
}

Test(codec, text_that_is_not_utf8_is_refused_wherever_it_is)
{
    static const char *const texts[] = {"a", "\xff"};
    const struct item item = {"n", "\xc0\x80"};
    const struct item no_name = {"\xed\xa0\x80", "t"};
    const struct quern_pair value = {"k", "\x80"};
    const struct quern_pair name = {"\x80", "v"};

    expect_refused(&(struct all){.text = "\xf8"}, "Text is not UTF-8");
    expect_refused(&(struct all){.body = "a\xff", .body_len = 2}, "Body is not UTF-8");
    expect_refused(&(struct all){.texts = texts, .text_count = 2}, "Texts is not UTF-8");
    expect_refused(&(struct all){.items = &item, .item_count = 1}, "T is not UTF-8");
    expect_refused(&(struct all){.pairs = {&value, 1}}, "Pairs is not UTF-8");
    expect_refused(&(struct all){.pairs = {&name, 1}}, "Pairs has a name that is not UTF-8");
    expect_refused(&(struct all){.named = &no_name, .named_count = 1},
                   "Named has a name that is not UTF-8");
}

Test(codec, text_that_is_missing_where_it_is_needed_is_refused)
{
    static const char *const texts[] = {NULL};
    const struct item item = {"n", NULL};
    const struct quern_pair pair = {NULL, "v"};

    expect_refused(&(struct all){.items = &item, .item_count = 1}, "T is missing");
    expect_refused(&(struct all){.texts = texts, .text_count = 1}, "Texts is missing");
    expect_refused(&(struct all){.pairs = {&pair, 1}}, "Pairs has an entry without a name");
}

Test(codec, same_name_twice_is_refused)
{
    const struct quern_pair pairs[] = {{"k", "1"}, {"k", "2"}};

    expect_refused(&(struct all){.pairs = {pairs, 2}}, "Pairs names the same twice");
}

/* ---- reading ---- */

Test(codec, what_was_written_is_read)
{
    cr_assert(
        read_text("{\"Text\":\"\\u20ac\",\"Body\":\"b\\u0000c\",\"Blob\":\"/w==\",\"Number\":-5,"
                  "\"True\":true,\"Texts\":[\"a\",\"\"],\"Items\":[{\"T\":\"1\"},{\"T\":\"2\"}],"
                  "\"Pairs\":{\"k\":\"\"},\"Named\":{\"n\":{\"T\":\"1\"}},\"More\":{\"x\":[1]}}"),
        "%s", err.message);
    cr_expect_str_eq(read.text, "\xe2\x82\xac");
    cr_expect_eq(read.body_len, 3);
    cr_expect_arr_eq(read.body, "b\0c", 4);
    cr_expect_eq(read.blob_len, 1);
    cr_expect_arr_eq(read.blob, "\xff", 1);
    cr_expect_eq(read.number, -5);
    cr_expect(read.is_true);
    cr_expect_eq(read.text_count, 2);
    cr_expect_str_eq(read.texts[1], "");
    cr_expect_eq(read.item_count, 2);
    cr_expect_str_eq(read.items[1].text, "2");
    cr_expect_str_eq(quern_pairs_get(&read.pairs, "k"), "");
    cr_expect_eq(read.named_count, 1);
    cr_expect_str_eq(read.named[0].name, "n");
    cr_expect_str_eq(read.named[0].text, "1");
}

Test(codec, what_is_absent_or_null_is_as_if_not_given)
{
    cr_assert(read_text("{\"Text\":null,\"Items\":null,\"Number\":null}"));
    cr_expect_null(read.text);
    cr_expect_eq(read.number, QUERN_NOT_GIVEN);
    cr_expect_eq(read.item_count, 0);
    cr_expect_not(read.is_true);
    cr_assert(read_text(""));
    cr_expect_eq(read.pairs.count, 0);
}

Test(codec, member_of_another_kind_is_unreadable)
{
    expect_unreadable("[]", "not an object");
    expect_unreadable("{\"Text\":1}", "Text of the answer is not a text");
    expect_unreadable("{\"Text\":\"a\\u0000b\"}", "Text of the answer holds a NUL");
    expect_unreadable("{\"Body\":[]}", "not a text");
    expect_unreadable("{\"Blob\":\"?\"}", "not base64");
    expect_unreadable("{\"Blob\":{}}", "not base64");
    expect_unreadable("{\"Number\":\"1\"}", "not a whole number");
    expect_unreadable("{\"Number\":1.5}", "not a whole number");
    expect_unreadable("{\"True\":\"true\"}", "not true or false");
    expect_unreadable("{\"Texts\":{}}", "not a list");
    expect_unreadable("{\"Texts\":[1]}", "not a text");
    expect_unreadable("{\"Items\":\"x\"}", "not a list");
    expect_unreadable("{\"Items\":[1]}", "not an object");
    expect_unreadable("{\"Items\":[{}]}", "T of the answer is missing");
    expect_unreadable("{\"Pairs\":[]}", "not an object");
    expect_unreadable("{\"Pairs\":{\"k\":1}}", "not a text");
    expect_unreadable("{\"Named\":[]}", "not an object");
    expect_unreadable("{\"Named\":{\"n\":1}}", "not an object");
}

Test(codec, answer_beyond_its_ceiling_is_unreadable)
{
    qn_arena_done(&arena);
    qn_arena_init(&arena, 16);
    expect_unreadable("{\"Text\":\"0123456789012345678901234567890123456789\"}", "too long");
}
