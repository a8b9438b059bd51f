/* The files of the AWS tools. */
#include <criterion/criterion.h>

#include "client/ini.h"

static struct quern_ini ini;
static struct quern_error err;

static void open_ini(void)
{
    quern_ini_init(&ini);
}

static void close_ini(void)
{
    quern_ini_done(&ini);
}

TestSuite(ini, .init = open_ini, .fini = close_ini);

static bool read_text(const char *text)
{
    return quern_ini_read(&ini, "file", qn_str_from_cstr(text), &err);
}

static const char *get(const char *section, const char *key)
{
    return quern_ini_get(&ini, qn_str_from_cstr(section), key);
}

Test(ini, values_are_found_by_section_and_key)
{
    cr_assert(read_text("[default]\nregion=eu-west-1\r\n"
                        "[ profile \t \"x\" ]\n  \nRegion = eu-central-1 # ours\nkey=a#b;c=d\n"));
    cr_expect_str_eq(get("default", "region"), "eu-west-1");
    cr_expect_str_eq(get("profile x", "region"), "eu-central-1");
    cr_expect_str_eq(get("profile x", "key"), "a#b;c=d");
    cr_expect_null(get("default", "key"));
    cr_expect(quern_ini_has_section(&ini, QN_STR("profile x")));
    cr_expect_not(quern_ini_has_section(&ini, QN_STR("x")));
}

Test(ini, comments_and_empty_lines_say_nothing)
{
    cr_assert(read_text("# a\n; b\n\n[s]\n#k=v\nk=v ; c"));
    cr_expect_str_eq(get("s", "k"), "v");
}

Test(ini, nested_settings_belong_to_the_key_above)
{
    cr_assert(read_text("[services local]\nsqs =\n  endpoint_url = http://localhost:9324\n"
                        "s3 =\n  endpoint_url = http://localhost:9000\n[profile y]\nregion = r\n"));
    cr_expect_str_eq(get("services local", "sqs.endpoint_url"), "http://localhost:9324");
    cr_expect_str_eq(get("services local", "s3.endpoint_url"), "http://localhost:9000");
    cr_expect_null(get("services local", "endpoint_url"));
    cr_expect_null(get("services local", "sqs"));
}

Test(ini, last_of_equal_keys_counts)
{
    cr_assert(read_text("[s]\nk=1\nk=2\n[s]\nk=3"));
    cr_expect_str_eq(get("s", "k"), "3");
}

Test(ini, line_that_is_none_is_told_with_its_number)
{
    cr_expect_not(read_text("[s]\n\nnonsense\n"));
    cr_expect_str_eq(err.code, "InvalidConfiguration");
    cr_expect_str_eq(err.message, "file, line 3: write [section] or key = value");
    cr_expect_not(read_text("[s\n"));
    cr_expect_not(read_text("[s]\n=v\n"));
}

Test(ini, key_before_the_first_section_is_no_part_of_the_format)
{
    cr_expect_not(read_text("k=v\n"));
    cr_expect_not(read_text(" k=v\n"));
}

Test(ini, empty_file_says_nothing)
{
    cr_expect(read_text(""));
    cr_expect_null(get("default", "region"));
}
