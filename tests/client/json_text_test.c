/* What is JSON although jansson alone refuses it, and what stays none. */
#include "client/json_text.h"

#include <criterion/criterion.h>
#include <string.h>

#include "server/base/buf.h"

/* The text as it is read, and written again. */
static const char *read_again(const char *text)
{
    static char again[400];
    json_t *value = quern_json_text_read(qn_str_from_cstr(text), JSON_DECODE_ANY, NULL);

    if (value == NULL) {
        return "no JSON";
    }
    size_t len = json_dumpb(value, again, sizeof(again) - 1, JSON_COMPACT | JSON_ENCODE_ANY);
    again[len < sizeof(again) ? len : 0] = '\0';
    json_decref(value);
    return again;
}

#define READS(text, again)                                                                         \
    cr_expect_str_eq(read_again(text), again, "%s: %s", text, read_again(text))
#define IS_NONE(text) READS(text, "no JSON")

Test(json_text, whole_numbers_beyond_64_bits_are_real_ones)
{
    READS("[9223372036854775807,9223372036854775808]",
          "[9223372036854775807,9.2233720368547758e18]");
    READS("{\"n\" : -12345678901234567890 }", "{\"n\":-1.2345678901234567e19}");
    READS("12345678901234567890", "1.2345678901234567e19");
}

Test(json_text, numbers_beyond_real_ones_are_the_greatest)
{
    char many[400] = "[-";

    READS("[1e400,-1.5E+999,1e-400]", "[1.7976931348623157e308,-1.7976931348623157e308,0.0]");
    memset(many + 2, '9', 350);
    many[352] = ']';
    READS(many, "[-1.7976931348623157e308]");
}

Test(json_text, halves_of_surrogate_pairs_are_replaced_and_whole_pairs_are_not)
{
    READS("[\"\\ud800\",\"a\\uDC00b\",\"\\ud83d\\ude00\",\"\\ud83dx\"]",
          "[\"\xef\xbf\xbd\",\"a\xef\xbf\xbd"
          "b\",\"\xf0\x9f\x98\x80\",\"\xef\xbf\xbdx\"]");
    READS("\"\\ud800\\ud83d\\ude00\"", "\"\xef\xbf\xbd\xf0\x9f\x98\x80\"");
    READS("[\"\\\\ud800\",1e400]", "[\"\\\\ud800\",1.7976931348623157e308]"); /* a backslash */
}

Test(json_text, a_nul_stays_in_a_text_and_is_replaced_in_a_name)
{
    READS("[\"a\\u0000\"]", "[\"a\\u0000\"]");
    READS("{\"a\\u0000\" : \"b\\u0000\"}", "{\"a\xef\xbf\xbd\":\"b\\u0000\"}");
}

Test(json_text, what_stands_in_a_text_is_no_number)
{
    READS("[\"12345678901234567890 \\\" 1e400\",1e400]",
          "[\"12345678901234567890 \\\" 1e400\",1.7976931348623157e308]");
}

Test(json_text, what_the_grammar_refuses_is_none)
{
    IS_NONE("");
    IS_NONE("no JSON");
    IS_NONE("[01e400]");
    IS_NONE("[1e400");
    IS_NONE("[1.e400]");
    IS_NONE("[+1e400]");
    IS_NONE("[1e400e1]");
    IS_NONE("[-12345678901234567890-]");
    IS_NONE("[00000000000000000000001]");
    IS_NONE("[\"\\ud80\"]");
    IS_NONE("[\"\\u000g\"]");
    IS_NONE("[\"\\ud800]");
    IS_NONE("[\"\\");
    IS_NONE("[1e400] x");
    IS_NONE("[\"\t\",1e400]");
    IS_NONE("[NaN]");
}

Test(json_text, a_name_that_is_there_twice_is_told)
{
    json_error_t mistake;

    cr_expect_null(
        quern_json_text_read(QN_STR("{\"a\":1e400,\"a\":2}"), JSON_REJECT_DUPLICATES, &mistake));
    cr_expect_eq(json_error_code(&mistake), json_error_duplicate_key);
}

Test(json_text, many_short_numbers_that_grow_are_read)
{
    struct qn_buf text;

    qn_buf_init(&text, 1000000);
    qn_buf_append_char(&text, '[');
    for (int i = 0; i < 10000; i++) {
        qn_buf_append_literal(&text, "1e999,");
    }
    qn_buf_append_literal(&text, "0]");
    json_t *value = quern_json_text_read(qn_buf_str(&text), 0, NULL);
    cr_expect_eq(json_array_size(value), 10001);
    json_decref(value);
    qn_buf_done(&text);
}
