/* Text for XML: it comes back byte for byte, as far as XML can hold it. */
#include "server/base/xml.h"

#include <criterion/criterion.h>

static struct qn_buf buf;

static void open_buf(void)
{
    qn_buf_init(&buf, 1 << 20);
}

static void close_buf(void)
{
    qn_buf_done(&buf);
}

TestSuite(xml, .init = open_buf, .fini = close_buf);

static struct qn_str text(struct qn_str plain, bool escape_quotes)
{
    qn_buf_clear(&buf);
    qn_xml_append_text(&buf, plain, escape_quotes);
    return qn_buf_str(&buf);
}

static void expect_text(struct qn_str seen, const char *expected)
{
    cr_expect(qn_str_equal(seen, qn_str_from_cstr(expected)), "%.*s, not %s", QN_STR_ARG(seen),
              expected);
}

Test(xml, MSG_6_text_comes_back_byte_for_byte)
{
    expect_text(text(QN_STR(""), false), "");
    expect_text(text(QN_STR("a\r\n\tb"), false), "a&#xD;\n\tb");
    expect_text(text(QN_STR("<a href=\"x\">&amp;</a>]]>"), false),
                "&lt;a href=\"x\"&gt;&amp;amp;&lt;/a&gt;]]&gt;");
    expect_text(text(QN_STR("\xC3\xA9\xEF\xBF\xBD\xEF\xBC\x81\xF0\x9F\x98\x80\x7F"), false),
                "\xC3\xA9\xEF\xBF\xBD\xEF\xBC\x81\xF0\x9F\x98\x80\x7F");
}

Test(xml, quotes_are_escaped_where_it_is_asked_for)
{
    expect_text(text(QN_STR("say \"x\""), true), "say &quot;x&quot;");
    expect_text(text(QN_STR("say \"x\""), false), "say \"x\"");
}

Test(xml, what_xml_cannot_hold_is_replaced)
{
    expect_text(text(QN_STR("a\0b\x1B"
                            "c\xEF\xBF\xBE"
                            "d\xEF\xBF\xBF"),
                     true),
                "a\xEF\xBF\xBD"
                "b\xEF\xBF\xBD"
                "c\xEF\xBF\xBD"
                "d\xEF\xBF\xBD");
    expect_text(text(QN_STR("a\xFF"
                            "b\xEF\xBF"),
                     true),
                "a\xEF\xBF\xBD"
                "b\xEF\xBF\xBD\xEF\xBF\xBD");
}
