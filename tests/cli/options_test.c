/* Options from argv and the environment by one table. */
#include "server/cli/options.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const struct qn_option table[] = {
    {"port", "PORT", "9324", NULL, "where", 0},
    {"bind", "ADDR", NULL, NULL, "where too", QN_OPTION_REPEATS},
    {"auto-create", NULL, NULL, NULL, "whether", 0},
};
enum { PORT, BIND, AUTO_CREATE, COUNT };

static struct qn_options options;
static struct qn_error err;

static bool parse(const char *prefix, int argc, const char *const *argv)
{
    return qn_options_parse(&options, table, COUNT, argc, (char **)(uintptr_t)argv, prefix, &err);
}

#define PARSE(prefix, ...)                                                                         \
    parse(prefix, (int)(sizeof((const char *[]){"serve", __VA_ARGS__}) / sizeof(char *)),          \
          (const char *[]){"serve", __VA_ARGS__})

static void end(void)
{
    qn_options_done(&options);
}
TestSuite(options, .fini = end);

Test(options, value_stands_behind_the_option_or_behind_its_equals_sign)
{
    cr_assert(PARSE(NULL, "--port", "1"));
    cr_expect_str_eq(qn_options_text(&options, PORT), "1");
    qn_options_done(&options);
    cr_assert(PARSE(NULL, "--port=2"));
    cr_expect_str_eq(qn_options_text(&options, PORT), "2");
    qn_options_done(&options);
    cr_assert(PARSE(NULL, "--bind=a=b"));
    cr_expect_str_eq(qn_options_text(&options, BIND), "a=b");
}

Test(options, what_was_not_given_is_absent)
{
    int64_t port;

    cr_assert(PARSE(NULL, "word"));
    cr_expect_null(qn_options_text(&options, PORT));
    cr_expect_not(qn_options_is_on(&options, AUTO_CREATE));
    cr_expect_eq(options.word_count, 1);
    cr_expect_str_eq(options.words[0], "word");
    cr_assert(qn_options_integer(&options, PORT, 0, 65535, &port, &err));
    cr_expect_eq(port, 9324);
}

Test(options, repeated_ones_keep_their_order)
{
    cr_assert(PARSE(NULL, "--bind", "a", "--bind=b", "--bind", "c"));
    cr_expect_eq(options.given[BIND].count, 3);
    cr_expect_str_eq(options.given[BIND].texts[0], "a");
    cr_expect_str_eq(options.given[BIND].texts[2], "c");
}

Test(options, words_behind_two_dashes_are_no_options)
{
    cr_assert(PARSE(NULL, "--", "--port", "-"));
    cr_expect_eq(options.word_count, 2);
    qn_options_done(&options);
    cr_assert(PARSE(NULL, "-"));
    cr_expect_str_eq(options.words[0], "-");
}

Test(options, mistakes_name_the_option)
{
    cr_expect_not(PARSE(NULL, "--port", "1", "--port", "2"));
    cr_expect_str_eq(err.message, "--port is given twice");
    cr_expect_not(PARSE(NULL, "--port"));
    cr_expect_str_eq(err.message, "--port needs a value: PORT");
    cr_expect_not(PARSE(NULL, "--port="));
    cr_expect_str_eq(err.message, "--port needs a value: PORT");
    cr_expect_not(PARSE(NULL, "--port", ""));
    cr_expect_str_eq(err.message, "--port needs a value: PORT");
    cr_expect_not(PARSE(NULL, "--auto-create=1"));
    cr_expect_str_eq(err.message, "--auto-create takes no value");
    cr_expect_not(PARSE(NULL, "--ports=1"));
    cr_expect_str_eq(
        err.message,
        "unknown option --ports; did you mean --port? (quern serve --help lists them)");
    cr_expect_not(PARSE(NULL, "--colour=1"));
    cr_expect_str_eq(err.message, "unknown option --colour (quern serve --help lists them)");
    cr_expect_not(PARSE(NULL, "-p"));
}

Test(options, integers_are_bounded)
{
    int64_t port = -7;

    cr_assert(PARSE(NULL, "--port", "70000"));
    cr_expect_not(qn_options_integer(&options, PORT, 0, 65535, &port, &err));
    cr_expect_eq(port, -7);
    cr_expect_str_eq(err.message, "--port must be an integer from 0 to 65535, not 70000");
}

Test(options, variables_fill_in_what_was_not_given)
{
    int64_t port;

    setenv("QUERN_PORT", "1234", 1);
    setenv("QUERN_BIND", " a ;b;; c", 1);
    setenv("QUERN_AUTO_CREATE", "Yes", 1);
    cr_assert(PARSE("QUERN_", "word"));
    cr_assert(qn_options_integer(&options, PORT, 0, 65535, &port, &err));
    cr_expect_eq(port, 1234);
    cr_expect_eq(options.given[BIND].count, 3);
    cr_expect_str_eq(options.given[BIND].texts[0], "a");
    cr_expect_str_eq(options.given[BIND].texts[2], "c");
    cr_expect(qn_options_is_on(&options, AUTO_CREATE));
    qn_options_done(&options);
    cr_assert(PARSE("QUERN_", "--port", "5", "--bind", "d"));
    cr_expect_str_eq(qn_options_text(&options, PORT), "5");
    cr_expect_eq(options.given[BIND].count, 1);
}

Test(options, switches_are_turned_off_by_a_variable)
{
    setenv("QUERN_AUTO_CREATE", "0", 1);
    cr_assert(PARSE("QUERN_", "word"));
    cr_expect_not(qn_options_is_on(&options, AUTO_CREATE));
    setenv("QUERN_AUTO_CREATE", "perhaps", 1);
    qn_options_done(&options);
    cr_expect_not(PARSE("QUERN_", "word"));
    cr_expect_str_eq(err.message, "QUERN_AUTO_CREATE must be true or false");
}

Test(options, empty_variables_count_as_none)
{
    setenv("QUERN_PORT", "", 1);
    setenv("QUERN_AUTO_CREATE", "", 1);
    cr_assert(PARSE("QUERN_", "word"));
    cr_expect_null(qn_options_text(&options, PORT));
    cr_expect_not(qn_options_is_on(&options, AUTO_CREATE));
}

Test(options, a_variable_that_is_nearly_an_option_is_a_slip)
{
    setenv("QUERN_PROT", "1234", 1);
    cr_expect_not(PARSE("QUERN_", "word"));
    cr_expect_str_eq(err.message, "QUERN_PROT is no option; did you mean QUERN_PORT?");
    unsetenv("QUERN_PROT");
    setenv("QUERN_AUTOCREATE", "1", 1);
    cr_expect_not(PARSE("QUERN_", "word"));
    cr_expect_str_eq(err.message, "QUERN_AUTOCREATE is no option; did you mean QUERN_AUTO_CREATE?");
    unsetenv("QUERN_AUTOCREATE");
}

Test(options, variables_of_others_are_left_alone)
{
    setenv("QUERN_SINK_URL", "http://127.0.0.1:1", 1);
    setenv("QUERN_PROT", "", 1);
    setenv("QUERNPORT", "1", 1);
    cr_expect(PARSE("QUERN_", "word"), "%s", err.message);
    qn_options_done(&options);
    cr_expect(PARSE(NULL, "word"));
}

Test(options, help_is_asked_for_anywhere)
{
    cr_assert(PARSE(NULL, "--port", "1", "--help", "--markdown"));
    cr_expect(options.wants_help);
    cr_expect(options.wants_markdown);
}
