/* Lines that were parsed before anybody has a history. */
#include <criterion/criterion.h>

#include "chaos/check/lines.h"

static const char trace[] = "{\"seq\":1,\"kind\":\"fetch\",\"k\":\"a\",\"status\":200}\n"
                            "\n"
                            "{\"seq\":2,\"kind\":\"fault\",\"reason\":\"a \\\"b\\\"\",\"conn\":3}\n"
                            "{\"kind\":\"gap\",\"count\":5}\r\n"
                            "{\"kind\":\"header\",\"schema\":1}\n"
                            "{\"seq\":3,\"kind\":\"fault\",\"reason\":\"c\"}";

Test(lines, each_is_an_event_that_borrows_from_its_text)
{
    struct qn_check_lines lines;
    struct qn_error err;

    qn_check_lines_init(&lines);
    cr_assert(qn_check_lines_parse(&lines, qn_str_from_cstr(trace), &err), "%s", err.message);
    cr_assert_eq(lines.count, 5);
    cr_assert_eq(lines.items[0].event.k.ptr, strchr(trace, 'a'));
    cr_assert(qn_check_detail_is_none(lines.items[0].event.detail));
    cr_assert(qn_str_equal(lines.items[1].event.detail->reason, QN_STR("a \"b\"")));
    cr_assert_eq(lines.items[2].missed, 5);
    cr_assert(lines.items[3].is_header);
    cr_assert(qn_str_equal(lines.items[3].text, QN_STR("{\"kind\":\"header\",\"schema\":1}")));
    /* A detail of its own, not the one before it. */
    cr_assert(qn_str_equal(lines.items[4].event.detail->reason, QN_STR("c")));
    qn_check_lines_done(&lines);
}

Test(lines, are_forgotten_by_the_next_text)
{
    struct qn_check_lines lines;
    struct qn_error err;

    qn_check_lines_init(&lines);
    cr_assert(qn_check_lines_parse(&lines, qn_str_from_cstr(trace), &err));
    cr_assert(qn_check_lines_parse(&lines, QN_STR("{\"seq\":9,\"kind\":\"boot\"}\n"), &err));
    cr_assert_eq(lines.count, 1);
    cr_assert_eq(lines.items[0].event.kind, QN_CHECK_BOOT);
    cr_assert(qn_check_lines_parse(&lines, QN_STR(""), &err));
    cr_assert_eq(lines.count, 0);
    qn_check_lines_done(&lines);
}

Test(lines, those_before_one_that_is_none_are_there)
{
    struct qn_check_lines lines;
    struct qn_error err;

    qn_check_lines_init(&lines);
    cr_assert(!qn_check_lines_parse(
        &lines, QN_STR("{\"seq\":1,\"kind\":\"boot\"}\n[]\n{\"kind\":\"boot\"}\n"), &err));
    cr_assert_str_eq(err.message, "not an event: []");
    cr_assert_eq(lines.count, 1);
    qn_check_lines_done(&lines);
}

/* The name of a kind is not read beyond its end. */
Test(lines, a_kind_with_a_zero_in_it_is_none_that_is_known)
{
    struct qn_check_lines lines;
    struct qn_error err;

    qn_check_lines_init(&lines);
    cr_assert(qn_check_lines_parse(
        &lines,
        QN_STR(
            "{\"seq\":1,\"kind\":\"boot\\u0000 and much more than any name has, far behind it\"}"),
        &err));
    cr_assert_eq(lines.items[0].event.kind, QN_CHECK_OTHER);
    qn_check_lines_done(&lines);
}
