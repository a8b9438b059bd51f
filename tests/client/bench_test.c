/* The load generator against its own yardstick. */
#include <criterion/criterion.h>
#include <unistd.h>

#include "client/bench/child.h"
#include "client/bench/workload.h"

static struct qn_bench_child echo;

static void start_echo(void)
{
    cr_assert(qn_bench_start_echo(&echo));
}

static void stop_echo(void)
{
    qn_bench_stop(&echo);
}

TestSuite(bench, .init = start_echo, .fini = stop_echo);

static struct qn_bench_times load(enum qn_bench_kind kind, int connections, int64_t limit_us,
                                  int64_t count)
{
    struct qn_bench_workload *workload = qn_bench_workload_new(kind, "x", "http://x/q", count);
    const struct qn_bench_work work = qn_bench_workload_work(workload);
    const struct qn_bench_run run = {
        .port = echo.port, .connections = connections, .limit_us = limit_us, .work = &work};
    struct qn_bench_times times;
    char error[256];

    cr_assert(qn_bench_load(&run, &times, error), "%s", error);
    cr_expect_eq(qn_bench_workload_failures(workload), 0);
    qn_bench_workload_free(workload);
    return times;
}

Test(bench, each_answer_of_a_timed_run_is_counted_once)
{
    struct qn_bench_times times = load(QN_BENCH_SEND, 8, 100000, 0);

    cr_expect_gt(times.requests, 8);
    cr_expect_eq(times.units, times.requests);
    cr_expect(times.seconds > 0);
    cr_expect_leq(times.p50_us, times.p99_us);
}

Test(bench, fill_ends_with_its_count)
{
    struct qn_bench_times times = load(QN_BENCH_FILL, 4, 0, 1000);

    cr_expect_eq(times.requests, 100);
    cr_expect_eq(times.units, 1000);
}

Test(bench, drain_ends_when_nothing_is_received)
{
    cr_expect_eq(load(QN_BENCH_DRAIN, 3, 0, 0).requests, 3);
}

Test(bench, cpu_time_of_a_process_grows_with_its_work)
{
    int64_t before_us = qn_bench_cpu_us(echo.pid);

    (void)load(QN_BENCH_SEND, 8, 200000, 0);
    cr_expect_geq(before_us, 0);
    cr_expect_gt(qn_bench_cpu_us(echo.pid), before_us);
    cr_expect_eq(qn_bench_cpu_us(0), -1);
}

Test(bench, port_where_nobody_listens_is_an_error)
{
    struct qn_bench_workload *workload = qn_bench_workload_new(QN_BENCH_SEND, "x", "http://x/q", 0);
    const struct qn_bench_work work = qn_bench_workload_work(workload);
    const struct qn_bench_run run = {.port = 1, .connections = 1, .work = &work};
    struct qn_bench_times times;
    char error[256];

    cr_expect_not(qn_bench_load(&run, &times, error));
    cr_expect_not_null(strstr(error, "connect"));
    qn_bench_workload_free(workload);
}

/* A receive, then one delete of what it brought, then the next receive. */
Test(bench, handles_go_back_as_they_came)
{
    struct qn_bench_workload *workload =
        qn_bench_workload_new(QN_BENCH_DRAIN, "x", "http://x/q", 0);
    struct qn_bench_work work = qn_bench_workload_work(workload);
    struct qn_buf request;

    qn_buf_init(&request, 65536);
    cr_assert(work.next(work.state, 0, &request));
    cr_expect_neq(qn_str_find(qn_buf_str(&request), QN_STR("AmazonSQS.ReceiveMessage")),
                  request.len);
    cr_expect_eq(work.answered(work.state, 0, 200,
                               QN_STR("{\"Messages\":[{\"ReceiptHandle\":\"AQ+/=1\"},"
                                      "{\"ReceiptHandle\":\"AQ2\",\"Body\":\"b\"}]}")),
                 0);
    qn_buf_clear(&request);
    cr_assert(work.next(work.state, 0, &request));
    cr_expect_neq(qn_str_find(qn_buf_str(&request),
                              QN_STR("\"Entries\":[{\"Id\":\"0\",\"ReceiptHandle\":\"AQ+/=1\"},"
                                     "{\"Id\":\"1\",\"ReceiptHandle\":\"AQ2\"}]}")),
                  request.len);
    cr_expect_eq(work.answered(work.state, 0, 200, QN_STR("{}")), 2);
    qn_buf_clear(&request);
    cr_assert(work.next(work.state, 0, &request));
    cr_expect_eq(work.answered(work.state, 0, 200, QN_STR("{}")), 0);
    cr_expect_not(work.next(work.state, 0, &request));
    qn_buf_done(&request);
    qn_bench_workload_free(workload);
}
