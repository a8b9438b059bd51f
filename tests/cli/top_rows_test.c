/* Rows of quern top: rates from two looks, dead letters, order, and numbers that fit. */
#include "server/cli/top.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>

static json_t *parse(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);

    cr_assert_not_null(value, "%s", text);
    return value;
}

static struct qn_top_rows rows_of(json_t *queues, json_t *before, enum qn_top_sort sort)
{
    struct qn_top_rows rows;

    qn_top_rows_init(&rows, queues, before, 2000, sort);
    return rows;
}

Test(top_rows, rates_are_differences_over_time)
{
    json_t *before = parse("[{\"name\":\"a\",\"arn\":\"x:a\",\"metrics\":"
                           "{\"NumberOfMessagesSent\":10,\"NumberOfMessagesReceived\":50}}]");
    json_t *now = parse("[{\"name\":\"a\",\"arn\":\"x:a\",\"metrics\":{\"NumberOfMessagesSent\":15,"
                        "\"NumberOfMessagesReceived\":4,\"NumberOfMessagesDeleted\":3}},"
                        "{\"name\":\"new\",\"arn\":\"x:new\",\"metrics\":"
                        "{\"NumberOfMessagesSent\":4}}]");
    struct qn_top_rows rows = rows_of(now, before, QN_TOP_BY_NAME);

    cr_assert_eq(rows.count, 2);
    cr_expect_eq((int)(rows.items[0].sent * 10), 25);
    cr_expect_eq((int)rows.items[0].received, QN_TOP_UNKNOWN, "the server was started anew");
    cr_expect_eq((int)rows.items[0].deleted, QN_TOP_UNKNOWN, "it was not counted before");
    cr_expect_eq((int)rows.items[1].sent, QN_TOP_UNKNOWN, "the queue is new");
    qn_top_rows_done(&rows);
    json_decref(now);
    json_decref(before);
}

Test(top_rows, dead_letters_are_those_of_the_target)
{
    json_t *now = parse("[{\"name\":\"a\",\"arn\":\"x:a\",\"dead_letter_arn\":\"x:dead\"},"
                        "{\"name\":\"b\",\"arn\":\"x:b\",\"dead_letter_arn\":\"x:elsewhere\"},"
                        "{\"name\":\"dead\",\"arn\":\"x:dead\",\"visible\":2,\"in_flight\":1,"
                        "\"delayed\":4,\"oldest_age_s\":9}]");
    struct qn_top_rows rows = rows_of(now, NULL, QN_TOP_BY_DEAD);

    cr_assert_eq(rows.count, 3);
    cr_expect_str_eq(rows.items[0].name, "a");
    cr_expect_eq(rows.items[0].dead, 7);
    cr_expect_eq(rows.items[1].dead, QN_TOP_UNKNOWN, "a queue of another account is not seen");
    cr_expect(rows.items[2].is_dead_letter_queue && !rows.items[0].is_dead_letter_queue);
    qn_top_rows_done(&rows);

    rows = rows_of(now, NULL, QN_TOP_BY_OLDEST);
    cr_expect_str_eq(rows.items[0].name, "dead");
    cr_expect_eq(rows.items[1].oldest_s, QN_TOP_UNKNOWN);
    qn_top_rows_done(&rows);
    json_decref(now);
}

Test(top_rows, answers_that_are_none_are_no_rows_or_unknown_ones)
{
    json_t *now = parse("[{}, 3, null, {\"name\":7,\"visible\":\"x\",\"arn\":[]}]");
    struct qn_top_rows rows = rows_of(now, now, QN_TOP_BY_VISIBLE);
    json_t *list = qn_top_rows_json(&rows);

    cr_expect_eq(rows.count, 4);
    cr_expect_eq(rows.items[0].visible, QN_TOP_UNKNOWN);
    cr_expect_eq(json_array_size(list), 4);
    json_decref(list);
    qn_top_rows_done(&rows);
    json_decref(now);
}

Test(top_rows, numbers_fit_their_columns, .init = cr_redirect_stdout)
{
    json_t *now = parse("[{\"name\":\"a\\u001b[2J\",\"visible\":99999,\"in_flight\":100000,"
                        "\"delayed\":123456789,\"oldest_age_s\":119},"
                        "{\"name\":\"b\",\"visible\":1,\"in_flight\":0,\"delayed\":0,"
                        "\"oldest_age_s\":1209600},"
                        "{\"name\":\"c\",\"visible\":1,\"in_flight\":0,\"delayed\":0,"
                        "\"oldest_age_s\":7199}]");
    struct qn_top_rows rows = rows_of(now, NULL, QN_TOP_BY_NAME);

    qn_top_rows_print(&rows, &(struct qn_top_page){.columns = 41, .end_of_line = "\n"});
    qn_top_rows_print(&rows, &(struct qn_top_page){.columns = 20, .lines = 3, .end_of_line = "|"});
    (void)fflush(stdout);
    cr_expect_stdout_eq_str("QUEUE      VISIBLE FLIGHT DELAYED OLDEST\n"
                            "a [2J        99999   100k    123M   119s\n"
                            "b                1      0       0    14d\n"
                            "c                1      0       0   119m\n"
                            "QUEUE      VISIBLE|a [2J        99999|and 2 more|");
    qn_top_rows_done(&rows);
    json_decref(now);
}
