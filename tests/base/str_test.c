#include "server/base/str.h"

#include <criterion/criterion.h>

static void expect_str(struct qn_str got, const char *want)
{
    cr_expect(qn_str_equal(got, qn_str_from_cstr(want)), "got '%.*s', want '%s'", QN_STR_ARG(got),
              want);
}

Test(str, no_value_differs_from_the_empty_text)
{
    cr_expect(qn_str_is_none(QN_STR_NONE));
    cr_expect(qn_str_is_none(qn_str_from_cstr(NULL)));
    cr_expect_not(qn_str_is_none(qn_str_from_cstr("")));
    cr_expect(qn_str_equal(QN_STR_NONE, QN_STR("")), "equal as bytes");
}

Test(str, letters_and_digits_are_those_of_ascii)
{
    for (int c = 0; c < 256; c++) {
        bool want = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        cr_assert_eq(qn_char_is_alphanumeric((char)c), want, "%d", c);
    }
}

Test(str, case_is_ignored_for_ascii_letters_only)
{
    cr_expect(qn_str_equal_nocase(QN_STR("Content-TYPE"), QN_STR("content-type")));
    cr_expect_not(qn_str_equal_nocase(QN_STR("a["), QN_STR("A{")));
    cr_expect_not(qn_str_equal_nocase(QN_STR("abc"), QN_STR("ab")));
    cr_expect(qn_str_starts_with_nocase(QN_STR("AWS4-HMAC"), QN_STR("aws4")));
}

Test(str, a_prefix_sorts_before_the_longer_text)
{
    cr_expect_lt(qn_str_compare(QN_STR("ab"), QN_STR("abc")), 0);
    cr_expect_gt(qn_str_compare(QN_STR("b"), QN_STR("abc")), 0);
    cr_expect_gt(qn_str_compare(QN_STR("\xC3"), QN_STR("z")), 0, "bytes are unsigned");
    cr_expect_eq(qn_str_compare(QN_STR(""), QN_STR_NONE), 0);
}

Test(str, prefixes_and_suffixes)
{
    cr_expect(qn_str_ends_with(QN_STR("orders.fifo"), QN_STR(".fifo")));
    cr_expect_not(qn_str_ends_with(QN_STR("fifo"), QN_STR(".fifo")));
    cr_expect(qn_str_starts_with(QN_STR("AWS.Trace"), QN_STR("AWS.")));
    cr_expect(qn_str_starts_with(QN_STR_NONE, QN_STR("")));
}

Test(str, what_is_not_found_is_at_the_end)
{
    cr_expect_eq(qn_str_find_char(QN_STR("a/b"), '/'), 1);
    cr_expect_eq(qn_str_find_char(QN_STR("ab"), '/'), 2);
    cr_expect_eq(qn_str_find(QN_STR("a--b-c"), QN_STR("-c")), 4);
    cr_expect_eq(qn_str_find(QN_STR("abc"), QN_STR("cd")), 3);
    cr_expect_eq(qn_str_find(QN_STR_NONE, QN_STR("x")), 0);
    cr_expect_eq(qn_str_find(QN_STR("abc"), QN_STR("")), 0);
}

Test(str, parts_are_clamped_to_the_text)
{
    expect_str(qn_str_from(QN_STR("abc"), 1), "bc");
    expect_str(qn_str_from(QN_STR("abc"), 9), "");
    expect_str(qn_str_first(QN_STR("abc"), 2), "ab");
    expect_str(qn_str_first(QN_STR("abc"), 9), "abc");
    expect_str(qn_str_trim(QN_STR(" \t a b\t ")), "a b");
    expect_str(qn_str_trim(QN_STR(" \t ")), "");
}

Test(str, cutting_tells_an_empty_rest_from_none)
{
    struct qn_str rest;

    expect_str(qn_str_cut(QN_STR("key=value=x"), '=', &rest), "key");
    expect_str(rest, "value=x");
    expect_str(qn_str_cut(QN_STR("key="), '=', &rest), "key");
    cr_expect_not(qn_str_is_none(rest));
    expect_str(qn_str_cut(QN_STR("key"), '=', &rest), "key");
    cr_expect(qn_str_is_none(rest));
}

Test(str, a_number_is_the_whole_text_within_its_limits)
{
    int64_t value = -1;

    cr_expect(qn_str_to_int64(QN_STR("43200"), 0, 43200, &value));
    cr_expect_eq(value, 43200);
    cr_expect(qn_str_to_int64(QN_STR("-9223372036854775808"), INT64_MIN, INT64_MAX, &value));
    cr_expect_eq(value, INT64_MIN);
    cr_expect(qn_str_to_int64(QN_STR("9223372036854775807"), INT64_MIN, INT64_MAX, &value));
    cr_expect_eq(value, INT64_MAX);
    cr_expect(qn_str_to_int64(QN_STR("007"), 0, 10, &value));
    cr_expect_eq(value, 7);
}

Test(str, what_is_no_number_leaves_the_result_alone)
{
    static const char *const wrong[] = {"",
                                        "-",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "1a",
                                        "0x1",
                                        "1.0",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "101",
                                        "-1"};
    int64_t value = 55;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        int64_t min = i < 10 ? INT64_MIN : 0;
        int64_t max = i < 10 ? INT64_MAX : 100;
        cr_expect_not(qn_str_to_int64(qn_str_from_cstr(wrong[i]), min, max, &value), "%s",
                      wrong[i]);
    }
    cr_expect_not(qn_str_to_int64(QN_STR_NONE, 0, 100, &value));
    cr_expect_eq(value, 55);
}

Test(str, utf8_is_accepted_up_to_its_edges)
{
    static const char *const good[] = {
        "",
        "plain text that is longer than a word",
        "\xC2\x80",
        "\xDF\xBF",
        "\xE0\xA0\x80",
        "\xED\x9F\xBF",
        "\xEE\x80\x80",
        "\xEF\xBF\xBF",
        "\xF0\x90\x80\x80",
        "\xF4\x8F\xBF\xBF",
        "eight by\xC3\xA9tes",
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_expect(qn_str_is_utf8(qn_str_from_cstr(good[i])), "%s", good[i]);
    }
    cr_expect(qn_str_is_utf8(QN_STR("nul \0 inside")));
    cr_expect(qn_str_is_utf8(QN_STR_NONE));
}

Test(str, broken_utf8_is_refused)
{
    static const char *const bad[] = {
        "\x80",         "\xC0\x80",         "\xC1\xBF",         "\xC3",         "\xC3(",
        "\xE0\x9F\xBF", "\xE2\x82",         "\xED\xA0\x80",     "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF",
        "\xF0\x9F\x98", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF",         "eight ok\xE2\x82(",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_not(qn_str_is_utf8(qn_str_from_cstr(bad[i])), "row %zu", i);
    }
}

Test(str, every_code_point_survives_encoding)
{
    char bytes[4];

    for (uint32_t code_point = 0; code_point <= 0x10FFFF; code_point++) {
        size_t len = qn_str_encode_code_point(code_point, bytes);
        size_t at = 0;
        cr_assert_eq(qn_str_next_code_point(qn_str(bytes, len), &at), code_point);
        cr_assert_eq(at, len);
        cr_assert_eq(qn_str_is_utf8(qn_str(bytes, len)),
                     code_point < 0xD800 || code_point > 0xDFFF);
    }
}

Test(str, hash_depends_on_bytes_and_length)
{
    char zeros[64] = {0};

    for (size_t a = 0; a < sizeof(zeros); a++) {
        for (size_t b = 0; b < a; b++) {
            cr_assert_neq(qn_str_hash(qn_str(zeros, a)), qn_str_hash(qn_str(zeros, b)));
        }
    }
    cr_expect_eq(qn_str_hash(QN_STR("orders")), qn_str_hash(qn_str("orders!", 6)));
    cr_expect_neq(qn_str_hash(QN_STR("orders")), qn_str_hash(QN_STR("ordert")));
}

/* Wherever it stands, also in the rest behind the last whole block. */
static void expect_xml_text(const char *sequence, bool is_allowed)
{
    char text[70];
    size_t len = strlen(sequence);

    for (size_t size = len; size <= sizeof(text); size++) {
        for (size_t at = 0; at + len <= size; at++) {
            memset(text, 'x', size);
            memcpy(text + at, sequence, len);
            cr_assert_eq(qn_str_is_xml_text(qn_str(text, size)), is_allowed, "%zu of %zu", at,
                         size);
        }
    }
}

Test(str, xml_text_has_no_control_character_and_no_noncharacter)
{
    for (char byte = 1; byte < 0x20; byte++) {
        expect_xml_text((char[]){byte, '\0'}, byte == '\t' || byte == '\n' || byte == '\r');
    }
    expect_xml_text("\x7f", true);
    expect_xml_text("\xef\xbb\xbf", true);     /* U+FEFF */
    expect_xml_text("\xef\xbf\xbd", true);     /* U+FFFD */
    expect_xml_text("\xef\xbf\xbe", false);    /* U+FFFE */
    expect_xml_text("\xef\xbf\xbf", false);    /* U+FFFF */
    expect_xml_text("\xf4\x8f\xbf\xbf", true); /* U+10FFFF */
    cr_expect(qn_str_is_xml_text(QN_STR("")) && qn_str_is_xml_text(QN_STR_NONE));
    cr_expect_not(qn_str_is_xml_text(qn_str("", 1)), "NUL");
}

Test(str, the_first_occurrence_of_a_part_is_found)
{
    cr_expect_eq(qn_str_find(QN_STR("AWS4-HMAC Credential=A, Credential=B"), QN_STR("Credential=")),
                 10);
    cr_expect_eq(qn_str_find(QN_STR("aaaab"), QN_STR("aab")), 2);
    cr_expect_eq(qn_str_find(QN_STR("aaaa"), QN_STR("aab")), 4);
    cr_expect_eq(qn_str_find(QN_STR("a"), QN_STR("ab")), 1);
    cr_expect_eq(qn_str_find(QN_STR("ab"), QN_STR("")), 0);
    cr_expect_eq(qn_str_find(QN_STR_NONE, QN_STR("ab")), 0);
}
