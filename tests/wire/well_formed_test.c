/* The check that the fuzzers hold answers against can fail. */
#include <criterion/criterion.h>

#include "tests/support/well_formed.h"

static const char *problem_of(const char *text)
{
    const char *problem = well_formed_xml(qn_str_from_cstr(text));

    return problem == NULL ? "" : problem;
}

#define DECLARED "<?xml version=\"1.0\"?>"

Test(well_formed, an_answer_passes)
{
    cr_expect_str_eq(problem_of(DECLARED "<A/>"), "");
    cr_expect_str_eq(problem_of(DECLARED "<A xmlns=\"http://q/\"><B>1</B><B/>&lt;&#xD;</A>"), "");
    cr_expect_str_eq(problem_of(DECLARED "<A>\xE6\x97\xA5 \" ' ></A>"), "");
}

Test(well_formed, what_is_broken_does_not)
{
    const char *broken[][2] = {
        {"<A/>", "no declaration"},
        {DECLARED, "text outside an element"},
        {DECLARED "<A>", "an element without an end"},
        {DECLARED "<A></B>", "an end tag that ends nothing"},
        {DECLARED "<A><B></A></B>", "an end tag that ends nothing"},
        {DECLARED "</A>", "an end tag that ends nothing"},
        {DECLARED "<A/><A/>", "something behind the end"},
        {DECLARED "<A></A>x", "something behind the end"},
        {DECLARED "<A", "a broken start tag"},
        {DECLARED "<1/>", "an element without a name"},
        {DECLARED "<A></A", "a broken end tag"},
        {DECLARED "<A b></A>", "a broken attribute"},
        {DECLARED "<A b=\"></A>", "markup in a text"},
        {DECLARED "<A b=\"", "an attribute without an end"},
        {DECLARED "<A>a & b</A>", "an ampersand that begins no entity"},
        {DECLARED "<A>&nbsp;</A>", "an ampersand that begins no entity"},
        {DECLARED "<A>&#0;</A>", "a reference to no character"},
        {DECLARED "<A>&#xD800;</A>", "a reference to no character"},
        {DECLARED "<A>&#;</A>", "a reference to no character"},
        {DECLARED "<A>&#x110000;</A>", "a reference beyond Unicode"},
        {DECLARED "<A>]]></A>", "markup in a text"},
        {DECLARED "<A>\x01</A>", "a character that XML does not have"},
        {DECLARED "<A>\xEF\xBF\xBF</A>", "a character that XML does not have"},
        {DECLARED "<A>\xFF</A>", "not UTF-8"},
        {DECLARED "<A>\xED\xA0\x80</A>", "not UTF-8"},
    };

    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        cr_expect_str_eq(problem_of(broken[i][0]), broken[i][1], "%s", broken[i][0]);
    }
    cr_expect_str_eq(well_formed_xml(QN_STR(DECLARED "<A>\0</A>")),
                     "a character that XML does not have");
}

Test(well_formed, json_is_an_object)
{
    cr_expect_null(well_formed_json(QN_STR("{\"a\":[1,\"\\u0000\"]}")));
    cr_expect_not_null(well_formed_json(QN_STR("[]")));
    cr_expect_not_null(well_formed_json(QN_STR("{}}")));
    cr_expect_not_null(well_formed_json(QN_STR("{\"a\":\"\xFF\"}")));
    cr_expect_not_null(well_formed_json(QN_STR("")));
}
