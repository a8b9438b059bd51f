/* The forms in which a queue is named. */
#include "tests/wire/sample.h"

static void expect_split(struct qn_str url, struct qn_str account, struct qn_str name)
{
    struct qn_str got_account;
    struct qn_str got_name;

    cr_assert(qn_wire_split_queue_url(url, true, &got_account, &got_name), "%.*s", QN_STR_ARG(url));
    cr_expect(qn_str_equal(got_account, account), "%.*s: account %.*s", QN_STR_ARG(url),
              QN_STR_ARG(got_account));
    cr_expect_eq(qn_str_is_none(got_account), qn_str_is_none(account));
    cr_expect(qn_str_equal(got_name, name), "%.*s: name %.*s", QN_STR_ARG(url),
              QN_STR_ARG(got_name));
}

static void expect_none(struct qn_str url, bool bare_names)
{
    struct qn_str account;
    struct qn_str name;

    cr_expect(!qn_wire_split_queue_url(url, bare_names, &account, &name), "accepted: %.*s",
              QN_STR_ARG(url));
}

Test(queue_url, ID_5_the_last_two_segments_count_and_the_host_does_not)
{
    const struct qn_str account = QN_STR("123456789012");
    const struct qn_str name = QN_STR("orders");
    const struct qn_str urls[] = {
        QN_STR("https://sqs.eu-west-1.amazonaws.com/123456789012/orders"),
        QN_STR("https://queue.amazonaws.com/123456789012/orders"),
        QN_STR("https://eu-west-1.queue.amazonaws.com/123456789012/orders"),
        QN_STR("http://localhost:9324/123456789012/orders"),
        QN_STR("http://[::1]:9324/123456789012/orders"),
        QN_STR("HTTP://user@some-host/123456789012/orders/"),
        QN_STR("http://localhost//123456789012/orders?a=/b#c/d"),
        QN_STR("http://proxy/path/123456789012/orders"),
        QN_STR("/123456789012/orders"),
        QN_STR("123456789012/orders"),
        QN_STR("localhost:9324/123456789012/orders")};

    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        expect_split(urls[i], account, name);
    }
    expect_split(QN_STR("http://h/queue-owner/a.fifo"), QN_STR("queue-owner"), QN_STR("a.fifo"));
}

Test(queue_url, forms_of_localstack_and_elasticmq_are_accepted)
{
    expect_split(QN_STR("http://localhost:4566/queue/us-east-1/000000000000/orders"),
                 QN_STR("000000000000"), QN_STR("orders"));
    expect_split(QN_STR("http://sqs.us-east-1.localhost.localstack.cloud:4566/000000000000/orders"),
                 QN_STR("000000000000"), QN_STR("orders"));
    expect_split(QN_STR("http://localhost:9324/queue/orders"), QN_STR_NONE, QN_STR("orders"));
    expect_split(QN_STR("/queue/orders"), QN_STR_NONE, QN_STR("orders"));
}

Test(queue_url, ID_5_a_bare_name_is_accepted_where_the_protocol_allows_it)
{
    expect_split(QN_STR("orders-1_x.fifo"), QN_STR_NONE, QN_STR("orders-1_x.fifo"));
    expect_none(QN_STR("orders"), false);
}

Test(queue_url, ID_5_anything_else_is_no_queue_url)
{
    const struct qn_str bad[] = {QN_STR(""),          QN_STR("http://localhost"),
                                 QN_STR("http://"),   QN_STR("http://localhost/orders"),
                                 QN_STR("/orders"),   QN_STR("not a url"),
                                 QN_STR("some/text"), QN_STR("://a/b"),
                                 QN_STR("#/1/2"),     QN_STR("?123456789012/orders")};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_none(bad[i], true);
    }
    expect_none(QN_STR_NONE, true);
}

Test(queue_url, a_path_is_root_or_a_queue_or_something_else)
{
    cr_expect_eq(qn_wire_path_kind(QN_STR("")), QN_PATH_ROOT);
    cr_expect_eq(qn_wire_path_kind(QN_STR_NONE), QN_PATH_ROOT);
    cr_expect_eq(qn_wire_path_kind(QN_STR("/")), QN_PATH_ROOT);
    cr_expect_eq(qn_wire_path_kind(QN_STR("//")), QN_PATH_ROOT);
    cr_expect_eq(qn_wire_path_kind(QN_STR("/000000000000/orders")), QN_PATH_QUEUE);
    cr_expect_eq(qn_wire_path_kind(QN_STR("/queue/orders")), QN_PATH_QUEUE);
    cr_expect_eq(qn_wire_path_kind(QN_STR("/queue/us-east-1/000000000000/orders")), QN_PATH_QUEUE);
    cr_expect_eq(qn_wire_path_kind(QN_STR("/orders")), QN_PATH_OTHER);
    cr_expect_eq(qn_wire_path_kind(QN_STR("/a/b/c")), QN_PATH_OTHER);
    cr_expect_eq(qn_wire_path_kind(QN_STR("/a/b/c/d")), QN_PATH_OTHER);
}
