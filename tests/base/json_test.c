#include "server/base/json.h"

#include <criterion/criterion.h>

static struct qn_arena arena;

static void open_arena(void)
{
    qn_arena_init(&arena, 1 << 20);
}

static void close_arena(void)
{
    qn_arena_done(&arena);
}

TestSuite(json, .init = open_arena, .fini = close_arena);

static struct qn_json reader_of(const char *text)
{
    struct qn_json json;

    qn_json_init(&json, qn_str_from_cstr(text), &arena);
    return json;
}

static bool is_valid(struct qn_str text)
{
    struct qn_json json;

    qn_json_init(&json, text, &arena);
    return qn_json_skip(&json) && qn_json_finish(&json);
}

static void expect_string(const char *text, struct qn_str want)
{
    struct qn_json json = reader_of(text);
    struct qn_str got = QN_STR_NONE;

    cr_expect(qn_json_string(&json, &got) && qn_json_finish(&json), "%s", text);
    cr_expect(qn_str_equal(got, want), "%s gave '%.*s'", text, QN_STR_ARG(got));
}

Test(json, a_request_is_pulled_piece_by_piece)
{
    struct qn_json json =
        reader_of(" { \"QueueUrl\" : \"q\" , \"Entries\":[ {\"N\":-7}, true,null ] } ");
    struct qn_str text;
    int64_t number;
    bool flag;

    cr_expect_eq(qn_json_peek(&json), QN_JSON_OBJECT);
    cr_assert(qn_json_open_object(&json));
    cr_assert(qn_json_next_member(&json, &text));
    cr_expect(qn_str_equal(text, QN_STR("QueueUrl")));
    cr_expect_eq(qn_json_peek(&json), QN_JSON_STRING);
    cr_assert(qn_json_string(&json, &text));
    cr_expect(qn_str_equal(text, QN_STR("q")));
    cr_assert(qn_json_next_member(&json, &text));
    cr_assert(qn_json_open_array(&json));
    cr_assert(qn_json_next_element(&json));
    cr_assert(qn_json_open_object(&json));
    cr_assert(qn_json_next_member(&json, &text));
    cr_expect_eq(qn_json_peek(&json), QN_JSON_NUMBER);
    cr_assert(qn_json_int64(&json, &number));
    cr_expect_eq(number, -7);
    cr_expect_not(qn_json_next_member(&json, &text));
    cr_assert(qn_json_next_element(&json));
    cr_expect_eq(qn_json_peek(&json), QN_JSON_BOOLEAN);
    cr_assert(qn_json_boolean(&json, &flag) && flag);
    cr_assert(qn_json_next_element(&json));
    cr_expect_eq(qn_json_peek(&json), QN_JSON_NULL);
    cr_assert(qn_json_null(&json));
    cr_expect_not(qn_json_next_element(&json));
    cr_expect_not(qn_json_next_member(&json, &text));
    cr_expect(qn_json_finish(&json));
    cr_expect_not(json.failed);
}

Test(json, empty_objects_and_arrays_have_nothing_to_pull)
{
    struct qn_json json = reader_of("[{ },[ ]]");
    struct qn_str name;

    cr_assert(qn_json_open_array(&json));
    cr_assert(qn_json_next_element(&json));
    cr_assert(qn_json_open_object(&json));
    cr_expect_not(qn_json_next_member(&json, &name));
    cr_assert(qn_json_next_element(&json));
    cr_assert(qn_json_open_array(&json));
    cr_expect_not(qn_json_next_element(&json));
    cr_expect_not(qn_json_next_element(&json));
    cr_expect(qn_json_finish(&json));
}

Test(json, a_string_without_escapes_is_a_view_into_the_text)
{
    const char *text = "\"a body that is long enough for a block of sixteen\"";
    struct qn_json json = reader_of(text);
    struct qn_str got;

    cr_assert(qn_json_string(&json, &got));
    cr_expect_eq(got.ptr, text + 1);
    cr_expect_eq(arena.used_bytes, 0);
}

Test(json, escapes_are_resolved)
{
    expect_string("\"\"", QN_STR(""));
    expect_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", QN_STR("\"\\/\b\f\n\r\t"));
    expect_string("\"\\u0041\\u00e9\\u6CE8\"", QN_STR("A\xC3\xA9\xE6\xB3\xA8"));
    expect_string("\"x\\uD83D\\uDE00y\"", QN_STR("x\xF0\x9F\x98\x80y"));
    expect_string("\"plain \\n \xE6\xB3\xA8\xE6\x96\x87 plain\"",
                  QN_STR("plain \n \xE6\xB3\xA8\xE6\x96\x87 plain"));
}

Test(json, a_nul_in_a_string_is_accepted_by_the_reader)
{
    expect_string("\"a\\u0000b\"", QN_STR("a\0b"));
}

Test(json, resolved_strings_take_no_more_of_the_arena_than_they_need)
{
    static const char text[] =
        "\"\\u0041\\u0041\\u0041\\u0041\\u0041\\u0041\\u0041\\u0041\\u0041\\u0041\"";
    struct qn_json json = reader_of(text);
    struct qn_str got;

    cr_assert(qn_json_string(&json, &got));
    cr_expect_leq(arena.used_bytes, 16);
}

Test(json, a_string_that_the_arena_cannot_hold_says_so)
{
    struct qn_arena tiny;
    struct qn_json json;
    struct qn_str got;

    qn_arena_init(&tiny, 16);
    qn_json_init(&json, QN_STR("\"twenty letters and a \\n\""), &tiny);
    cr_expect_not(qn_json_string(&json, &got));
    cr_expect(json.failed && json.out_of_memory);
    qn_arena_done(&tiny);
}

Test(json, malformed_strings_are_refused)
{
    static const char *const wrong[] = {
        "\"",
        "\"abc",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12G4\"",
        "\"\\uD800\"",
        "\"\\uDC00\"",
        "\"\\uD800x\"",
        "\"\\uD800\\n\"",
        "\"\\uD800\\u0041\"",
        "\"\\uD800\\uD800\"",
        "\"\n\"",
        "\"\t\"",
        "\"\x01\"",
        "\"\xC0\x80\"",
        "\"\xED\xA0\x80\"",
        "\"\xFF\"",
        "\"\xE6\xB3\"",
        "'a'",
        "\"\\",
        "\"\\u",
        "\"\\uD800\\u",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_not(is_valid(qn_str_from_cstr(wrong[i])), "%s", wrong[i]);
    }
    cr_expect_not(is_valid(QN_STR("\"\0\"")), "a raw NUL");
}

/* A mistake in the search by blocks would depend on where in a block the byte stands. */
Test(json, a_bad_byte_is_found_wherever_it_stands)
{
    char text[80];

    for (size_t len = 1; len < 70; len++) {
        for (size_t at = 1; at <= len; at++) {
            memset(text, 'a', sizeof(text));
            text[0] = '"';
            text[len + 1] = '"';
            cr_assert(is_valid(qn_str(text, len + 2)));
            text[at] = '\x1F';
            cr_assert_not(is_valid(qn_str(text, len + 2)));
            text[at] = '\x80';
            cr_assert_not(is_valid(qn_str(text, len + 2)));
            text[at] = '"';
            cr_assert_eq(is_valid(qn_str(text, len + 2)), false);
            text[at] = '\x7F';
            cr_assert(is_valid(qn_str(text, len + 2)));
        }
    }
}

static bool int64_of(const char *text, int64_t *ret_value)
{
    struct qn_json json = reader_of(text);

    return qn_json_int64(&json, ret_value) && qn_json_finish(&json);
}

Test(json, integers_reach_to_the_ends_of_64_bits)
{
    int64_t value;

    cr_expect(int64_of("0", &value) && value == 0);
    cr_expect(int64_of("-0", &value) && value == 0);
    cr_expect(int64_of("9223372036854775807", &value) && value == INT64_MAX);
    cr_expect(int64_of("-9223372036854775808", &value) && value == INT64_MIN);
    cr_expect_not(int64_of("9223372036854775808", &value));
    cr_expect_not(int64_of("-9223372036854775809", &value));
    cr_expect_not(int64_of("1.0", &value));
    cr_expect_not(int64_of("1e2", &value));
    cr_expect_not(int64_of("\"1\"", &value));
    cr_expect(is_valid(QN_STR("9223372036854775808")), "as long as nobody asks for its value");
}

Test(json, malformed_numbers_are_refused)
{
    static const char *const wrong[] = {"-",  "+1",   "01",    "-01",      "00",  ".5",
                                        "1.", "1.e1", "1e",    "1e+",      "1E-", "0x10",
                                        "1a", "--1",  "1.2.3", "Infinity", "NaN", "-Infinity"};
    static const char *const good[] = {"0.5", "-0.0", "1e5", "1E+5", "1.25e-3", "0e0"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_not(is_valid(qn_str_from_cstr(wrong[i])), "%s", wrong[i]);
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_expect(is_valid(qn_str_from_cstr(good[i])), "%s", good[i]);
    }
}

Test(json, malformed_structures_are_refused)
{
    static const char *const wrong[] = {
        "",
        " ",
        "{",
        "[",
        "}",
        "]",
        "{]",
        "[}",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\" 1}",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{1:1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1",
        "[]]",
        "{}{}",
        "1 2",
        "tru",
        "truex",
        "True",
        "nul",
        "[1]x",
        "/* */1",
        "\xEF\xBB\xBF{}",
        "{\"a\\u0000\":1}",
        "[:]",
        "{\"a\":1:2}",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_not(is_valid(qn_str_from_cstr(wrong[i])), "%s", wrong[i]);
    }
    cr_expect_not(is_valid(QN_STR_NONE));
    cr_expect_not(is_valid(QN_STR("1\0")));
    cr_expect(is_valid(QN_STR("\r\n\t [ ] \n")));
}

static bool nested_is_valid(size_t depth)
{
    char text[200];

    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    return is_valid(qn_str(text, 2 * depth));
}

Test(json, nesting_ends_at_the_maximum)
{
    cr_expect(nested_is_valid(QN_JSON_DEPTH_MAX));
    cr_expect_not(nested_is_valid(QN_JSON_DEPTH_MAX + 1));
}

Test(json, siblings_do_not_count_as_depth)
{
    char text[1000];
    size_t len = 0;

    text[len++] = '[';
    for (int i = 0; i < 200; i++) {
        memcpy(text + len, i == 0 ? "[]" : ",{}", i == 0 ? 2 : 3);
        len += i == 0 ? 2 : 3;
    }
    text[len++] = ']';
    cr_expect(is_valid(qn_str(text, len)));
}

Test(json, a_failure_stays)
{
    struct qn_json json = reader_of("[\"text\",1,true]");
    struct qn_str text;
    int64_t number;

    cr_assert(qn_json_open_array(&json));
    cr_assert(qn_json_next_element(&json));
    cr_expect_not(qn_json_int64(&json, &number), "of another type");
    cr_expect(json.failed);
    cr_expect_not(json.out_of_memory);
    cr_expect_eq(qn_json_peek(&json), QN_JSON_END);
    cr_expect_not(qn_json_string(&json, &text));
    cr_expect_not(qn_json_next_element(&json));
    cr_expect_not(qn_json_skip(&json));
    cr_expect_not(qn_json_finish(&json));
}

Test(json, what_is_unknown_can_be_skipped)
{
    struct qn_json json = reader_of("{\"Unknown\":{\"a\":[1,{\"b\":\"\\n\"}]},\"Known\":5}");
    struct qn_str name;
    int64_t number;

    cr_assert(qn_json_open_object(&json));
    cr_assert(qn_json_next_member(&json, &name));
    cr_assert(qn_json_skip(&json));
    cr_assert(qn_json_next_member(&json, &name));
    cr_assert(qn_json_int64(&json, &number) && number == 5);
    cr_expect_not(qn_json_next_member(&json, &name));
    cr_expect(qn_json_finish(&json));
}

Test(json, wrong_types_fail)
{
    struct qn_json json = reader_of("[]");
    bool flag;

    cr_expect_not(qn_json_open_object(&json));
    json = reader_of("{}");
    cr_expect_not(qn_json_open_array(&json));
    json = reader_of("1");
    cr_expect_not(qn_json_boolean(&json, &flag));
    json = reader_of("1");
    cr_expect_not(qn_json_null(&json));
}
