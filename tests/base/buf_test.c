#include "server/base/buf.h"

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

TestSuite(buf, .init = open_buf, .fini = close_buf);

static void expect_text(const char *want)
{
    struct qn_str got = qn_buf_str(&buf);

    cr_expect(qn_str_equal(got, qn_str_from_cstr(want)), "got '%.*s', want '%s'", QN_STR_ARG(got),
              want);
}

Test(buf, texts_numbers_and_formats_follow_each_other)
{
    qn_buf_append_literal(&buf, "a=");
    qn_buf_append_int64(&buf, INT64_MIN);
    qn_buf_append_char(&buf, ' ');
    qn_buf_append_uint64(&buf, UINT64_MAX);
    qn_buf_append_str(&buf, QN_STR_NONE);
    qn_buf_append_format(&buf, " %s=%d", "n", 42);
    qn_buf_append_int64(&buf, 0);
    expect_text("a=-9223372036854775808 18446744073709551615 n=420");
}

Test(buf, a_long_format_is_whole)
{
    qn_buf_append_format(&buf, "%0*d|", 5000, 7);
    cr_assert_eq(buf.len, 5001);
    cr_expect_eq(buf.ptr[0], '0');
    cr_expect_eq(buf.ptr[4999], '7');
    cr_expect_eq(buf.ptr[5000], '|');
}

Test(buf, the_ceiling_itself_fits_and_one_more_does_not)
{
    struct qn_buf small;

    qn_buf_init(&small, 4);
    qn_buf_append_literal(&small, "abcd");
    cr_expect_not(small.overflow);
    qn_buf_append_char(&small, 'e');
    cr_expect(small.overflow);
    qn_buf_clear(&small);
    cr_expect_not(small.overflow);
    qn_buf_append_literal(&small, "abcde");
    cr_expect(small.overflow);
    qn_buf_append_char(&small, 'x');
    cr_expect_eq(small.len, 0, "after an overflow all is dropped, also what would fit");
    qn_buf_done(&small);
}

Test(buf, a_format_that_ends_at_the_ceiling_fits)
{
    struct qn_buf small;

    qn_buf_init(&small, 300);
    qn_buf_append_format(&small, "%0300d", 1);
    cr_expect_not(small.overflow);
    cr_expect_eq(small.len, 300);
    qn_buf_done(&small);
}

Test(buf, reserved_room_can_be_filled_by_the_owner)
{
    cr_assert(qn_buf_reserve(&buf, 1000));
    cr_assert_geq(buf.cap - buf.len, 1000);
    cr_expect_eq(buf.len, 0);
    cr_expect_not(qn_buf_reserve(&buf, SIZE_MAX));
    cr_expect(buf.overflow);
}

Test(buf, taking_gives_ended_text_and_an_empty_buffer)
{
    size_t len;
    char *text;

    qn_buf_append_literal(&buf, "body");
    text = qn_buf_take(&buf, &len);
    cr_expect_str_eq(text, "body");
    cr_expect_eq(len, 4);
    cr_expect_eq(buf.len, 0);
    qn_memory_free(text);
    text = qn_buf_take(&buf, &len);
    cr_expect_str_eq(text, "");
    cr_expect_eq(len, 0);
    qn_memory_free(text);
}

Test(buf, json_strings_escape_what_json_demands_and_nothing_else)
{
    qn_buf_append_json_string(&buf,
                              QN_STR("a\"b\\c/\b\f\n\r\t\x01\x1F\x7F \xC3\xA9 \xF0\x9F\x98\x80"));
    expect_text("\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0001\\u001f\x7F \xC3\xA9 \xF0\x9F\x98\x80\"");
    qn_buf_clear(&buf);
    qn_buf_append_json_string(&buf, QN_STR("long enough for a whole block \0 and behind it"));
    expect_text("\"long enough for a whole block \\u0000 and behind it\"");
    qn_buf_clear(&buf);
    qn_buf_append_json_string(&buf, QN_STR_NONE);
    expect_text("\"\"");
}

Test(buf, a_json_string_escapes_at_every_place)
{
    for (size_t size = 1; size <= 70; size++) {
        for (size_t at = 0; at < size; at++) {
            char text[70];
            memset(text, 'x', size);
            text[at] = '\n';
            qn_buf_clear(&buf);
            qn_buf_append_json_string(&buf, qn_str(text, size));
            cr_assert_eq(buf.len, size + 3);
            cr_assert_eq(memcmp(buf.ptr + 1, text, at), 0);
            cr_assert_eq(memcmp(buf.ptr + 1 + at, "\\n", 2), 0);
            cr_assert_eq(memcmp(buf.ptr + 3 + at, text + at + 1, size - at - 1), 0);
        }
    }
}

Test(buf, a_reader_gives_back_what_was_written)
{
    struct qn_reader reader;

    qn_buf_append_u8(&buf, 200);
    qn_buf_append_u32(&buf, 0xDEADBEEF);
    qn_buf_append_u64(&buf, UINT64_C(0x0123456789ABCDEF));
    qn_buf_append_bytes(&buf, QN_STR("bytes"));
    qn_buf_append_bytes(&buf, QN_STR(""));
    cr_expect_eq((unsigned char)buf.ptr[1], 0xEF, "little-endian");
    qn_reader_init(&reader, qn_buf_str(&buf));
    cr_expect_eq(qn_reader_u8(&reader), 200);
    cr_expect_eq(qn_reader_u32(&reader), 0xDEADBEEF);
    cr_expect_eq(qn_reader_u64(&reader), UINT64_C(0x0123456789ABCDEF));
    cr_expect(qn_str_equal(qn_reader_bytes(&reader), QN_STR("bytes")));
    cr_expect_eq(qn_reader_bytes(&reader).len, 0);
    cr_expect_not(reader.failed);
    cr_expect_eq(reader.at, reader.end);
}

Test(buf, a_short_read_fails_for_good)
{
    struct qn_reader reader;

    qn_buf_append_u32(&buf, 100); /* a length with too little behind it */
    qn_buf_append_u32(&buf, 1);
    qn_reader_init(&reader, qn_buf_str(&buf));
    cr_expect_eq(qn_reader_bytes(&reader).len, 0);
    cr_expect(reader.failed);
    cr_expect_eq(qn_reader_u32(&reader), 0, "also what would still be there");
    qn_reader_init(&reader, QN_STR_NONE);
    cr_expect_eq(qn_reader_u8(&reader), 0);
    cr_expect(reader.failed);
}
