/* The line of a place in a JSON text. */
#include <criterion/criterion.h>

#include "chaos/check/place.h"

static const char text[] = "{\n"
                           "  \"a\": 1, \"b\": {\"x\": [1,\n"
                           "    {\"y\": 2}],\n"
                           "    \"x.y\": 3},\n"
                           "  \"c\":\n"
                           "    [\"\\u0041\",\n"
                           "     \"two\"]\n"
                           "}";

Test(place, a_value_is_found_by_its_path)
{
    const struct {
        const char *path;
        int64_t line;
    } cases[] = {
        {"a", 2}, {"b", 2},        {"b.x", 2},  {"b.x[0]", 2}, {"b.x[1]", 3},     {"b.x[1].y", 3},
        {"c", 5}, {"c[0]", 6},     {"c[1]", 7}, {"c[2]", 0},   {"d", 0},          {"a.b", 0},
        {"", 0},  {"b.x[1].z", 0}, {"b[0]", 0}, {"c[x]", 0},   {"b.x[1].y.z", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_expect_eq(qn_place_line(qn_str_from_cstr(text), cases[i].path), cases[i].line,
                     "%s: %lld", cases[i].path,
                     (long long)qn_place_line(qn_str_from_cstr(text), cases[i].path));
    }
    cr_expect_eq(qn_place_line(QN_STR("{\"a\":"), "b"), 0);
}
