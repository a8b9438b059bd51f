/* Texts that are kept once, and tables that go by their numbers. */
#include "chaos/check/texts.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "chaos/check/table.h"

static struct qn_texts texts;

static void open_texts(void)
{
    qn_texts_init(&texts);
}

static void close_texts(void)
{
    qn_texts_done(&texts);
}

TestSuite(texts, .init = open_texts, .fini = close_texts);

static struct qn_str take(const char *text)
{
    return qn_texts_take(&texts, qn_str_from_cstr(text));
}

Test(texts, equal_ones_are_one_and_numbered_in_their_order)
{
    char other[] = "k-001";

    struct qn_str one = take("k-001");
    struct qn_str two = take("k-002");
    cr_expect_eq(take(other).ptr, one.ptr);
    cr_expect_neq(two.ptr, one.ptr);
    cr_expect_str_eq(one.ptr, "k-001");
    cr_expect_eq(qn_text_number(one), 1);
    cr_expect_eq(qn_text_number(two), 2);
    cr_expect_eq(texts.count, 2);
}

Test(texts, nothing_is_no_text_and_the_empty_one_is)
{
    cr_expect(qn_str_is_none(qn_texts_take(&texts, QN_STR_NONE)));
    cr_expect_eq(qn_text_number(QN_STR_NONE), 0);
    cr_expect_eq(texts.count, 0);
    struct qn_str empty = take("");
    cr_expect_not(qn_str_is_none(empty));
    cr_expect_eq(empty.len, 0);
    cr_expect_eq(qn_text_number(empty), 1);
}

Test(texts, only_what_was_taken_is_found)
{
    cr_expect(qn_str_is_none(qn_texts_find(&texts, QN_STR("k-001"))));
    struct qn_str kept = take("k-001");
    cr_expect_eq(qn_texts_find(&texts, QN_STR("k-001")).ptr, kept.ptr);
    cr_expect(qn_str_is_none(qn_texts_find(&texts, QN_STR("k-00"))));
    cr_expect(qn_str_is_none(qn_texts_find(&texts, QN_STR_NONE)));
}

Test(texts, many_stay_where_they_are)
{
    const char *places[5000];
    char name[24];

    for (int i = 0; i < 5000; i++) {
        (void)snprintf(name, sizeof(name), "text-%d", i);
        places[i] = take(name).ptr;
    }
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(name, sizeof(name), "text-%d", i);
        cr_assert_eq(take(name).ptr, places[i]);
        cr_assert_eq(qn_text_number(take(name)), (uint32_t)i + 1);
    }
    cr_expect_eq(texts.count, 5000);
}

Test(texts, table_goes_by_their_numbers_and_keeps_the_order_of_arrival)
{
    struct qn_table table;
    char name[24];

    qn_table_init_for(&table, sizeof(int64_t), &texts);
    (void)take("not a key");
    for (int i = 0; i < 2000; i++) {
        (void)snprintf(name, sizeof(name), "k-%d", i);
        int64_t *value = qn_table_at_kept(&table, take(name));
        cr_assert_eq(*value, 0);
        *value = i;
    }
    cr_expect_eq(table.count, 2000);
    int64_t next = 0;
    for (const struct qn_table_item *item = table.first; item != NULL; item = item->next) {
        cr_assert_eq(*(const int64_t *)item->value, next);
        next++;
    }
    cr_expect_eq(next, 2000);
    cr_expect_eq(*(int64_t *)qn_table_find(&table, QN_STR("k-1234")), 1234);
    cr_expect_eq(*(int64_t *)qn_table_at_kept(&table, take("k-1999")), 1999);
    cr_expect_eq(*(int64_t *)qn_table_at(&table, QN_STR("k-77")), 77);
    cr_expect_null(qn_table_find(&table, QN_STR("not a key")));
    cr_expect_null(qn_table_find(&table, QN_STR("never heard of")));
    cr_expect_null(qn_table_find_kept(&table, take("too late")));
    qn_table_done(&table);
}

Test(texts, none_is_a_key_of_a_table_too)
{
    struct qn_table table;

    qn_table_init_for(&table, sizeof(int64_t), &texts);
    cr_expect_null(qn_table_find(&table, QN_STR_NONE));
    *(int64_t *)qn_table_at_kept(&table, QN_STR_NONE) = 7;
    cr_expect_eq(*(int64_t *)qn_table_find(&table, QN_STR_NONE), 7);
    cr_expect_eq(table.first->key.len, 0);
    qn_table_done(&table);
}
