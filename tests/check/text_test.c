/* Texts of others, made fit to be shown. */
#include <criterion/criterion.h>

#include "chaos/check/report/report.h"

static void expect_bytes(void append(struct qn_buf *buf, struct qn_str s), struct qn_str text,
                         const char *expected)
{
    struct qn_buf buf;

    qn_buf_init(&buf, 4096);
    append(&buf, text);
    cr_expect(qn_str_equal(qn_buf_str(&buf), qn_str_from_cstr(expected)), "%.*s",
              QN_STR_ARG(qn_buf_str(&buf)));
    qn_buf_done(&buf);
}

Test(text, plain_text_of_any_script_stays)
{
    expect_bytes(qn_report_clean, QN_STR("a\tb\nc \xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x92\xa9"),
                 "a\tb\nc \xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x92\xa9");
    expect_bytes(qn_report_clean, QN_STR(""), "");
}

Test(text, what_xml_cannot_carry_is_replaced)
{
    expect_bytes(qn_report_clean, qn_str("\0\x01\x7f", 3), "\xEF\xBF\xBD\xEF\xBF\xBD\x7f");
    expect_bytes(qn_report_clean, QN_STR("\xff\xc3"), "\xEF\xBF\xBD\xEF\xBF\xBD");
    expect_bytes(qn_report_clean, QN_STR("\xed\xa0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    expect_bytes(qn_report_clean, QN_STR("\xef\xbf\xbe\xef\xbf\xbf"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

Test(text, control_sequences_of_terminals_are_left_out)
{
    expect_bytes(qn_report_clean, QN_STR("\x1b[31;1mred\x1b[0m\r\n\x1b[2K"), "red\n");
    expect_bytes(qn_report_clean, QN_STR("\x1b[31"), "\xEF\xBF\xBD[31");
    expect_bytes(qn_report_clean, QN_STR("\x1b"), "\xEF\xBF\xBD");
}

Test(text, canary_is_masked)
{
    expect_bytes(qn_report_clean, QN_STR("{\"canary\":\"CANARY-9f3a\"}"),
                 "{\"canary\":\"CANARY-****\"}");
}

Test(text, markup_is_escaped)
{
    expect_bytes(qn_report_escape, QN_STR("<a href=\"x\">&amp;</a>\x01"),
                 "&lt;a href=&quot;x&quot;&gt;&amp;amp;&lt;/a&gt;\xEF\xBF\xBD");
}
