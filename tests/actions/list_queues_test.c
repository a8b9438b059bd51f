/* ListQueues and ListDeadLetterSourceQueues: order, prefixes, pages. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(list_queues, .init = start, .fini = stop);

/* The names of the answer's URLs, divided by blanks. */
static const char *names_in(const char *member)
{
    struct qn_buf names;
    size_t count = fixture_count(&f, member);

    qn_buf_init(&names, SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        const char *url = fixture_get(&f, fixture_format(&f, "%s.%zu", member, i));
        qn_buf_append_format(&names, "%s%s", i > 0 ? " " : "", strrchr(url, '/') + 1);
    }
    const char *text = fixture_format(&f, "%.*s", QN_STR_ARG(qn_buf_str(&names)));
    qn_buf_done(&names);
    return text;
}

static const char *list(const char *members)
{
    fixture_must(&f, "ListQueues", "%s", members);
    return names_in("QueueUrls");
}

static const char *next_token(void)
{
    return fixture_get(&f, "NextToken");
}

static void create_all(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fixture_create(&f, names[i], "");
    }
}

Test(list_queues, LQ_1_without_a_maximum_a_thousand_and_no_token)
{
    for (int i = 0; i < 1001; i++) {
        fixture_create(&f, fixture_format(&f, "q%04d", i), "");
    }
    fixture_must(&f, "ListQueues", "%s", "");
    cr_expect_eq(fixture_count(&f, "QueueUrls"), 1000);
    cr_expect_null(next_token());
    fixture_must(&f, "ListQueues", "'MaxResults':1000");
    cr_expect_eq(fixture_count(&f, "QueueUrls"), 1000);
    const char *token = next_token();
    cr_assert_not_null(token);
    cr_expect_str_eq(list(fixture_format(&f, "'MaxResults':1000,'NextToken':'%s'", token)),
                     "q1000");
    cr_expect_null(next_token());
}

Test(list_queues, LQ_2_a_token_only_if_more_remain)
{
    static const char *const names[] = {"a", "b", "c", "d"};

    create_all(names, 4);
    cr_expect_str_eq(list("'MaxResults':2"), "a b");
    const char *token = next_token();
    cr_expect_str_eq(list(fixture_format(&f, "'MaxResults':2,'NextToken':'%s'", token)), "c d");
    cr_expect_null(next_token());
    cr_expect_str_eq(list("'MaxResults':4"), "a b c d");
    cr_expect_null(next_token());
}

Test(list_queues, LQ_3_in_byte_order_of_the_names)
{
    static const char *const names[] = {"b", "B", "a-1", "a_1", "a1", "a", "A.fifo"};

    create_all(names, 7);
    cr_expect_str_eq(list(""), "A.fifo B a a-1 a1 a_1 b");
}

Test(list_queues, LQ_3_queues_that_come_and_go_neither_repeat_nor_hide_others)
{
    static const char *const names[] = {"a", "c", "e", "g"};

    create_all(names, 4);
    cr_expect_str_eq(list("'MaxResults':2"), "a c");
    const char *token = next_token();
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'c'");
    fixture_create(&f, "b", "");
    fixture_create(&f, "d", "");
    cr_expect_str_eq(list(fixture_format(&f, "'MaxResults':9,'NextToken':'%s'", token)), "d e g");
}

Test(list_queues, LQ_4_each_page_has_its_own_maximum)
{
    static const char *const names[] = {"a", "b", "c", "d"};

    create_all(names, 4);
    cr_expect_str_eq(list("'MaxResults':1"), "a");
    cr_expect_str_eq(list(fixture_format(&f, "'MaxResults':3,'NextToken':'%s'", next_token())),
                     "b c d");
}

Test(list_queues, LQ_4_a_token_with_another_prefix_goes_by_the_new_prefix)
{
    static const char *const names[] = {"a1", "a2", "b", "b1", "b2"};

    create_all(names, 5);
    cr_expect_str_eq(list("'QueueNamePrefix':'a','MaxResults':1"), "a1");
    const char *token = next_token();
    cr_expect_str_eq(
        list(fixture_format(&f, "'QueueNamePrefix':'b','MaxResults':9,'NextToken':'%s'", token)),
        "b b1 b2");
    cr_expect_str_eq(list("'QueueNamePrefix':'b','MaxResults':1"), "b");
    token = next_token();
    cr_expect_str_eq(
        list(fixture_format(&f, "'QueueNamePrefix':'a','MaxResults':9,'NextToken':'%s'", token)),
        "");
}

Test(list_queues, a_prefix_is_case_sensitive_and_may_be_a_whole_name)
{
    static const char *const names[] = {"app", "apple", "App", "ap", "b"};

    create_all(names, 5);
    cr_expect_str_eq(list("'QueueNamePrefix':'app'"), "app apple");
    cr_expect_str_eq(list("'QueueNamePrefix':''"), "App ap app apple b");
    cr_expect_str_eq(list("'QueueNamePrefix':'c'"), "");
    cr_expect_eq(json_object_size(f.answer), 0);
    cr_expect_str_eq(list("'QueueNamePrefix':'app','MaxResults':1"), "app");
    cr_expect_str_eq(
        list(fixture_format(&f, "'QueueNamePrefix':'app','MaxResults':1,'NextToken':'%s'",
                            next_token())),
        "apple");
    cr_expect_null(next_token());
}

Test(list_queues, deleted_queues_do_not_appear)
{
    static const char *const names[] = {"a", "b"};

    create_all(names, 2);
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'a'");
    cr_expect_str_eq(list(""), "b");
}

Test(list_queues, the_maximum_is_one_to_a_thousand)
{
    static const int bad[] = {0, -1, 1001};

    for (size_t i = 0; i < 3; i++) {
        cr_expect_eq(fixture_code(&f, "ListQueues", "'MaxResults':%d", bad[i]),
                     QN_ERR_INVALID_PARAMETER_VALUE);
    }
    cr_expect_eq(fixture_code(&f, "ListQueues", "'MaxResults':1"), QN_ERR_NONE);
}

Test(list_queues, a_token_that_is_none_is_refused)
{
    cr_expect_eq(fixture_code(&f, "ListQueues", "'NextToken':'odd'"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(fixture_code(&f, "ListQueues", "'NextToken':'b2Rk'"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
}

/* ---- ListDeadLetterSourceQueues ---- */

Test(list_queues, sources_are_the_queues_whose_policy_names_this_one)
{
    static const char *const names[] = {"a", "b", "c", "dead", "other"};

    create_all(names, 5);
    fixture_redrive(&f, "c", "dead", 1);
    fixture_redrive(&f, "a", "dead", 9);
    fixture_redrive(&f, "b", "other", 1);
    fixture_must(&f, "ListDeadLetterSourceQueues", "'QueueUrl':'dead'");
    cr_expect_str_eq(names_in("queueUrls"), "a c");
    fixture_set(&f, "a", "'RedrivePolicy':''");
    fixture_must(&f, "ListDeadLetterSourceQueues", "'QueueUrl':'dead'");
    cr_expect_str_eq(names_in("queueUrls"), "c");
}

Test(list_queues, without_sources_the_list_is_there_and_empty)
{
    fixture_create(&f, "dead", "");
    fixture_must(&f, "ListDeadLetterSourceQueues", "'QueueUrl':'dead'");
    cr_expect(json_is_array(json_object_get(f.answer, "queueUrls")));
    cr_expect_eq(fixture_count(&f, "queueUrls"), 0);
}

Test(list_queues, sources_come_in_pages)
{
    fixture_create(&f, "dead", "");
    for (int i = 0; i < 5; i++) {
        fixture_create(&f, fixture_format(&f, "s%d", i), "");
        fixture_redrive(&f, fixture_format(&f, "s%d", i), "dead", 1);
        fixture_create(&f, fixture_format(&f, "s%d-not", i), "");
    }
    fixture_must(&f, "ListDeadLetterSourceQueues", "'QueueUrl':'dead','MaxResults':3");
    cr_expect_str_eq(names_in("queueUrls"), "s0 s1 s2");
    fixture_must(&f, "ListDeadLetterSourceQueues",
                 "'QueueUrl':'dead','MaxResults':3,'NextToken':'%s'", next_token());
    cr_expect_str_eq(names_in("queueUrls"), "s3 s4");
    cr_expect_null(next_token());
    cr_expect_eq(fixture_code(&f, "ListDeadLetterSourceQueues", "'QueueUrl':'dead','MaxResults':0"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
}
