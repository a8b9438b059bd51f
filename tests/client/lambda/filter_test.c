/* Event patterns: each operator on both sides of its edge, and what is refused. */
#include <criterion/criterion.h>

#include "client/lambda/filter.h"

static json_t *read_json(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

    cr_assert_not_null(value, "%s", text);
    return value;
}

static json_t *criteria_of(const char *pattern)
{
    return json_pack("{s: [{s: s}]}", "Filters", "Pattern", pattern);
}

static bool matches(const char *pattern, const char *record_text)
{
    struct qn_lambda_filters filters;
    struct qn_error err = {0};
    json_t *criteria = criteria_of(pattern);
    json_t *record = read_json(record_text);

    cr_assert(qn_lambda_filters_read(&filters, criteria, &err), "%s: %s", pattern, err.message);
    bool is_too_deep;
    bool is = qn_lambda_filters_match(&filters, record, &is_too_deep);
    cr_expect_not(is_too_deep);
    qn_lambda_filters_done(&filters);
    json_decref(criteria);
    json_decref(record);
    return is;
}

static void expect_each(const char *pattern, const char *const *records, bool expected)
{
    for (size_t i = 0; records[i] != NULL; i++) {
        cr_expect_eq(matches(pattern, records[i]), expected, "%s on %s", pattern, records[i]);
    }
}

#define EACH(...) ((const char *const[]){__VA_ARGS__, NULL})
#define YES(pattern, ...) expect_each(pattern, EACH(__VA_ARGS__), true)
#define NO(pattern, ...) expect_each(pattern, EACH(__VA_ARGS__), false)

Test(filter, values_are_equal_by_kind_and_value)
{
    YES("{\"a\": [\"x\", 5, null, true]}", "{\"a\": \"x\"}", "{\"a\": 5}", "{\"a\": 5.0}",
        "{\"a\": null}", "{\"a\": true}");
    NO("{\"a\": [\"x\", 5, null, true]}", "{\"a\": \"X\"}", "{\"a\": \"5\"}", "{\"a\": false}",
       "{}", "{\"a\": {}}", "{\"b\": \"x\"}");
    YES("{\"a\": [\"\"]}", "{\"a\": \"\"}");
    NO("{\"a\": [\"\"]}", "{\"a\": null}");
}

Test(filter, all_fields_must_match_and_one_rule_of_each)
{
    YES("{\"a\": [1, 2], \"b\": {\"c\": [\"x\"]}}", "{\"a\": 2, \"b\": {\"c\": \"x\", \"d\": 1}}");
    NO("{\"a\": [1, 2], \"b\": {\"c\": [\"x\"]}}", "{\"a\": 2, \"b\": {\"c\": \"y\"}}",
       "{\"a\": 2}", "{\"a\": 2, \"b\": \"x\"}");
}

Test(filter, or_needs_one_of_its_patterns)
{
    const char *pattern = "{\"$or\": [{\"a\": [1]}, {\"b\": [2], \"c\": [3]}], \"d\": [4]}";

    YES(pattern, "{\"a\": 1, \"d\": 4}", "{\"b\": 2, \"c\": 3, \"d\": 4}");
    NO(pattern, "{\"a\": 1}", "{\"b\": 2, \"d\": 4}", "{\"d\": 4}");
    YES("{\"x\": {\"$or\": [{\"a\": [1]}, {\"b\": [2]}]}}", "{\"x\": {\"b\": 2}}");
    NO("{\"x\": {\"$or\": [{\"a\": [1]}, {\"b\": [2]}]}}", "{\"b\": 2}");
}

Test(filter, texts_by_their_edges)
{
    YES("{\"a\": [{\"prefix\": \"eu-\"}]}", "{\"a\": \"eu-west-1\"}", "{\"a\": \"eu-\"}");
    NO("{\"a\": [{\"prefix\": \"eu-\"}]}", "{\"a\": \"EU-west-1\"}", "{\"a\": \"eu\"}",
       "{\"a\": 5}", "{}");
    YES("{\"a\": [{\"suffix\": \".png\"}]}", "{\"a\": \"x.png\"}");
    NO("{\"a\": [{\"suffix\": \".png\"}]}", "{\"a\": \"x.png.\"}", "{\"a\": \"png\"}");
    YES("{\"a\": [{\"equals-ignore-case\": \"Paid\"}]}", "{\"a\": \"PAID\"}");
    NO("{\"a\": [{\"equals-ignore-case\": \"Paid\"}]}", "{\"a\": \"PAIDS\"}", "{\"a\": 1}");
    YES("{\"a\": [{\"prefix\": {\"equals-ignore-case\": \"eu-\"}}]}", "{\"a\": \"EU-x\"}");
    YES("{\"a\": [{\"suffix\": {\"equals-ignore-case\": \".PNG\"}}]}", "{\"a\": \"x.png\"}");
}

Test(filter, anything_but_excludes)
{
    YES("{\"a\": [{\"anything-but\": \"x\"}]}", "{\"a\": \"y\"}", "{\"a\": 1}", "{\"a\": null}");
    NO("{\"a\": [{\"anything-but\": \"x\"}]}", "{\"a\": \"x\"}", "{}", "{\"a\": {}}");
    NO("{\"a\": [{\"anything-but\": [\"x\", 2]}]}", "{\"a\": \"x\"}", "{\"a\": 2}");
    YES("{\"a\": [{\"anything-but\": [\"x\", 2]}]}", "{\"a\": \"2\"}");
    NO("{\"a\": [{\"anything-but\": {\"prefix\": \"x\"}}]}", "{\"a\": \"xy\"}");
    NO("{\"a\": [{\"anything-but\": {\"suffix\": [\"x\", \"y\"]}}]}", "{\"a\": \"xy\"}",
       "{\"a\": \"yx\"}");
    NO("{\"a\": [{\"anything-but\": {\"equals-ignore-case\": [\"x\", \"y\"]}}]}", "{\"a\": \"Y\"}");
    YES("{\"a\": [{\"anything-but\": {\"equals-ignore-case\": [\"x\", \"y\"]}}]}",
        "{\"a\": \"z\"}");
}

Test(filter, numbers_in_ranges)
{
    YES("{\"a\": [{\"numeric\": [\"=\", 3.5]}]}", "{\"a\": 3.5}");
    NO("{\"a\": [{\"numeric\": [\"=\", 3.5]}]}", "{\"a\": \"3.5\"}", "{\"a\": 3}", "{}");
    YES("{\"a\": [{\"numeric\": [\">\", 0, \"<=\", 5]}]}", "{\"a\": 0.1}", "{\"a\": 5}");
    NO("{\"a\": [{\"numeric\": [\">\", 0, \"<=\", 5]}]}", "{\"a\": 0}", "{\"a\": 5.1}");
    YES("{\"a\": [{\"numeric\": [\">=\", -1, \"<\", 0]}]}", "{\"a\": -1}");
    NO("{\"a\": [{\"numeric\": [\">=\", -1, \"<\", 0]}]}", "{\"a\": 0}");
}

Test(filter, what_is_there_is_a_leaf)
{
    YES("{\"a\": [{\"exists\": true}]}", "{\"a\": null}", "{\"a\": \"\"}", "{\"a\": false}");
    NO("{\"a\": [{\"exists\": true}]}", "{}", "{\"a\": {\"b\": 1}}", "{\"a\": []}");
    YES("{\"a\": {\"b\": [{\"exists\": false}]}}", "{}", "{\"a\": {}}", "{\"a\": 5}",
        "{\"a\": {\"b\": {}}}");
    NO("{\"a\": {\"b\": [{\"exists\": false}]}}", "{\"a\": {\"b\": 1}}");
}

Test(filter, one_value_of_a_list_is_enough)
{
    YES("{\"a\": [\"x\"]}", "{\"a\": [\"y\", \"x\"]}", "{\"a\": [[\"x\"]]}");
    NO("{\"a\": [\"x\"]}", "{\"a\": [\"y\"]}", "{\"a\": []}");
    /* The fields of one pattern must be those of one element. */
    YES("{\"l\": {\"a\": [1], \"b\": [2]}}", "{\"l\": [{\"a\": 1, \"b\": 2}, {\"a\": 9}]}");
    NO("{\"l\": {\"a\": [1], \"b\": [2]}}", "{\"l\": [{\"a\": 1}, {\"b\": 2}]}");
}

Test(filter, whether_a_body_is_json_is_said_by_the_grammar)
{
    YES("{\"body\": {\"kind\": [\"order\"]}}",
        "{\"body\": \"{\\\"kind\\\": \\\"order\\\", \\\"n\\\": 12345678901234567890}\"}",
        "{\"body\": \"{\\\"kind\\\": \\\"order\\\", \\\"n\\\": 1e400}\"}",
        "{\"body\": \"{\\\"kind\\\": \\\"order\\\", \\\"n\\\": \\\"\\\\u0000\\\"}\"}",
        "{\"body\": \"{\\\"kind\\\": \\\"order\\\", \\\"\\\\u0000\\\": \\\"\\\\ud800\\\"}\"}");
    YES("{\"body\": {\"n\": [{\"numeric\": [\">\", 100]}]}}",
        "{\"body\": \"{\\\"n\\\": 12345678901234567890}\"}", "{\"body\": \"{\\\"n\\\": 1e400}\"}");
    NO("{\"body\": [{\"prefix\": \"{\"}]}", "{\"body\": \"{\\\"n\\\": 12345678901234567890}\"}");
}

Test(filter, a_body_is_looked_into_when_it_is_json)
{
    YES("{\"body\": {\"kind\": [\"order\"]}}", "{\"body\": \"{\\\"kind\\\": \\\"order\\\"}\"}");
    NO("{\"body\": {\"kind\": [\"order\"]}}", "{\"body\": \"kind: order\"}", "{\"body\": \"[1]\"}",
       "{\"body\": \"\\\"order\\\"\"}", "{\"body\": \"{\\\"kind\\\": \\\"other\\\"}\"}");
    YES("{\"body\": [\"order\"]}", "{\"body\": \"order\"}");
    NO("{\"body\": [\"order\"]}", "{\"body\": \"other\"}");
    NO("{\"body\": [{\"prefix\": \"{\"}]}", "{\"body\": \"{}\"}");
    YES("{\"body\": [{\"prefix\": \"{\"}]}", "{\"body\": \"{ no JSON\"}");
    YES("{\"messageAttributes\": {\"kind\": {\"stringValue\": [\"order\"]}}}",
        "{\"body\": \"no JSON\", \"messageAttributes\": {\"kind\": {\"stringValue\": \"order\"}}}",
        "{\"body\": \"{}\", \"messageAttributes\": {\"kind\": {\"stringValue\": \"order\"}}}");
}

Test(filter, an_or_above_the_body_looks_into_it)
{
    const char *kinds =
        "{\"$or\": [{\"body\": {\"kind\": [\"a\"]}}, {\"body\": {\"kind\": [\"b\"]}}]}";
    const char *places = "{\"$or\": [{\"body\": {\"kind\": [\"a\"]}}, {\"body\": [\"a\"]}, "
                         "{\"messageAttributes\": {\"kind\": {\"stringValue\": [\"a\"]}}}]}";
    const char *nested =
        "{\"$or\": [{\"$or\": [{\"body\": {\"n\": [1]}}, {\"body\": {\"n\": [2]}}], "
        "\"eventSource\": [\"aws:sqs\"]}, {\"body\": {\"n\": [3]}}]}";

    YES(kinds, "{\"body\": \"{\\\"kind\\\": \\\"a\\\"}\"}",
        "{\"body\": \"{\\\"kind\\\": \\\"b\\\"}\"}");
    NO(kinds, "{\"body\": \"{\\\"kind\\\": \\\"c\\\"}\"}", "{\"body\": \"a\"}");
    YES(places, "{\"body\": \"{\\\"kind\\\": \\\"a\\\"}\"}", "{\"body\": \"a\"}",
        "{\"body\": \"x\", \"messageAttributes\": {\"kind\": {\"stringValue\": \"a\"}}}");
    NO(places, "{\"body\": \"x\"}", "{\"body\": \"[\\\"a\\\"]\"}");
    YES(nested, "{\"body\": \"{\\\"n\\\": 2}\", \"eventSource\": \"aws:sqs\"}",
        "{\"body\": \"{\\\"n\\\": 3}\"}");
    NO(nested, "{\"body\": \"{\\\"n\\\": 2}\"}",
       "{\"body\": \"{\\\"n\\\": 4}\", \"eventSource\": \"aws:sqs\"}");
}

Test(filter, one_filter_of_several_is_enough_and_none_lets_all_pass)
{
    struct qn_lambda_filters filters;
    struct qn_error err;
    json_t *criteria = json_pack("{s: [{s: s}, {s: s}]}", "Filters", "Pattern", "{\"a\": [1]}",
                                 "Pattern", "{\"a\": [2]}");
    json_t *one = read_json("{\"a\": 2}");
    json_t *other = read_json("{\"a\": 3}");
    bool is_too_deep;

    cr_assert(qn_lambda_filters_read(&filters, criteria, &err));
    cr_expect(qn_lambda_filters_match(&filters, one, &is_too_deep));
    cr_expect_not(qn_lambda_filters_match(&filters, other, &is_too_deep));
    qn_lambda_filters_done(&filters);
    cr_assert(qn_lambda_filters_read(&filters, NULL, &err));
    cr_expect(qn_lambda_filters_match(&filters, other, &is_too_deep));
    json_decref(criteria);
    json_decref(one);
    json_decref(other);
}

Test(filter, mistakes_are_refused_with_their_place)
{
    static const struct {
        const char *pattern, *part;
    } wrong[] = {
        {"{", "filter 1: no JSON"},
        {"{}", "filter 1: a pattern is an object with at least one field"},
        {"[1]", "a pattern is an object"},
        {"{\"a\": \"x\"}", "filter 1.a: stands alone"},
        {"{\"a\": {\"b\": []}}", "filter 1.a.b: a list of rules must not be empty"},
        {"{\"a\": [[1]]}", "filter 1.a: a rule is a value or an object with one operator"},
        {"{\"a\": [{\"prefix\": \"x\", \"suffix\": \"y\"}]}", "one operator"},
        {"{\"a\": [{\"prefix\": \"\"}]}", "filter 1.a: the text must not be empty"},
        {"{\"a\": [{\"prefix\": 5}]}", "takes a text"},
        {"{\"a\": [{\"like\": \"x\"}]}", "no operator is called \"like\""},
        {"{\"a\": [{\"exists\": 1}]}", "\"exists\" takes true or false"},
        {"{\"a\": [{\"numeric\": [\"!=\", 1]}]}", "\"numeric\" takes"},
        {"{\"a\": [{\"numeric\": [\">\", 1, \">\", 2]}]}", "\"numeric\" takes"},
        {"{\"a\": [{\"numeric\": [\"=\", 1, \"<\", 2]}]}", "\"numeric\" takes"},
        {"{\"a\": [{\"numeric\": [\">\", \"1\"]}]}", "numbers are compared from"},
        {"{\"a\": [6000000000]}", "numbers are compared from"},
        {"{\"a\": [{\"anything-but\": []}]}", "the list must not be empty"},
        {"{\"a\": [{\"anything-but\": [null]}]}", "texts and numbers"},
        {"{\"a\": [{\"anything-but\": {\"numeric\": [\"=\", 1]}}]}", "knows prefix, suffix"},
        {"{\"a\": [{\"anything-but\": {\"prefix\": [1]}}]}", "texts only"},
        {"{\"$or\": [{\"a\": [1]}]}", "filter 1.$or: \"$or\" takes a list of two"},
        {"{\"$or\": [{\"a\": [1]}, {\"b\": 2}]}", "filter 1.$or.b: stands alone"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct qn_lambda_filters filters;
        struct qn_error err = {0};
        json_t *criteria = criteria_of(wrong[i].pattern);
        cr_expect_not(qn_lambda_filters_read(&filters, criteria, &err), "%s", wrong[i].pattern);
        cr_expect_not_null(strstr(err.message, wrong[i].part), "%s: %s", wrong[i].pattern,
                           err.message);
        json_decref(criteria);
    }
}

Test(filter, criteria_have_a_form)
{
    static const char *const wrong[] = {
        "[]",
        "{\"Filters\": {}}",
        "{\"Filters\": [1]}",
        "{\"Filters\": [{\"Pattern\": {\"a\": [1]}}]}",
    };
    struct qn_lambda_filters filters;
    struct qn_error err;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        json_t *criteria = read_json(wrong[i]);
        cr_expect_not(qn_lambda_filters_read(&filters, criteria, &err), "%s", wrong[i]);
        json_decref(criteria);
    }
    json_t *many = json_array();
    for (int i = 0; i <= QN_LAMBDA_FILTERS_MAX; i++) {
        (void)json_array_append_new(many, json_pack("{s: s}", "Pattern", "{\"a\": [1]}"));
    }
    json_t *criteria = json_pack("{s: o}", "Filters", many);
    cr_expect_not(qn_lambda_filters_read(&filters, criteria, &err));
    json_decref(criteria);
}
