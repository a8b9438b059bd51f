/* Lines for people. */
#include "server/base/wrap.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static char printed[1000];

static const char *wrapped(const char *text, size_t column)
{
    FILE *out = fmemopen(printed, sizeof(printed), "w");

    qn_wrap_print(qn_str_from_cstr(text), column, out);
    (void)fclose(out);
    return printed;
}

Test(wrap, a_line_that_fits_stays_as_it_is)
{
    (void)setenv("COLUMNS", "60", 1);
    cr_expect_str_eq(wrapped("a few words", 20), "a few words\n");
    cr_expect_str_eq(wrapped("", 20), "\n");
}

Test(wrap, a_long_one_is_broken_at_a_blank_and_goes_on_at_its_column)
{
    (void)setenv("COLUMNS", "60", 1);
    cr_expect_str_eq(wrapped("one two three four", 50),
                     "one two\n                                                  three four\n");
}

Test(wrap, a_word_that_is_longer_than_a_line_is_cut)
{
    (void)setenv("COLUMNS", "60", 1);
    cr_expect_str_eq(wrapped("abcdefghijklmnop", 50),
                     "abcdefghij\n                                                  klmnop\n");
}

Test(wrap, lines_are_as_wide_as_columns_says_if_that_is_wide_enough)
{
    (void)setenv("COLUMNS", "70", 1);
    cr_expect_str_eq(wrapped("one two three four", 50), "one two three four\n");
    (void)setenv("COLUMNS", "59", 1); /* then 80 */
    cr_expect_str_eq(wrapped("one two three four", 60), "one two three four\n");
}
