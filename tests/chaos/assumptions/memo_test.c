/* The table that forgets. */
#include <criterion/criterion.h>

#include "chaos/assumptions/memo.h"

static struct qn_memo memo;
static int dropped;

static void note_drop(void *value)
{
    dropped += *(int *)value;
}

static void start(void)
{
    dropped = 0;
    qn_memo_init(&memo, sizeof(int), 3, note_drop);
}

static void stop(void)
{
    qn_memo_done(&memo);
}

TestSuite(memo, .init = start, .fini = stop);

static int *at(const char *key)
{
    return qn_memo_at(&memo, qn_str_from_cstr(key));
}

static const int *find(const char *key)
{
    return qn_memo_find(&memo, qn_str_from_cstr(key));
}

Test(memo, a_new_value_is_zero_and_is_kept)
{
    cr_expect_eq(*at("a"), 0);
    *at("a") = 5;
    cr_expect_eq(*at("a"), 5);
    cr_expect_eq(*find("a"), 5);
    cr_expect_null(find("b"));
}

Test(memo, the_one_touched_longest_ago_makes_room)
{
    *at("a") = 1;
    *at("b") = 2;
    *at("c") = 4;
    (void)at("a");
    *at("d") = 8;
    cr_expect_null(find("b"));
    cr_expect_not_null(find("a"));
    cr_expect_eq(dropped, 2);
    cr_expect_eq(memo.forgotten, 1);
}

Test(memo, an_empty_key_is_a_key)
{
    *at("") = 3;
    cr_expect_eq(*find(""), 3);
}

Test(memo, what_is_removed_or_cleared_is_dropped_but_not_counted_as_forgotten)
{
    *at("a") = 1;
    *at("b") = 2;
    qn_memo_remove(&memo, QN_STR("a"));
    qn_memo_remove(&memo, QN_STR("x"));
    cr_expect_eq(dropped, 1);
    qn_memo_clear(&memo);
    cr_expect_eq(dropped, 3);
    cr_expect_null(memo.oldest);
    cr_expect_eq(memo.forgotten, 0);
    *at("c") = 4;
    cr_expect_eq(*find("c"), 4);
}
