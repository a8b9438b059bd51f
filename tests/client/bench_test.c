/* The load generator against its own yardstick. */
#include <criterion/criterion.h>
#include <unistd.h>

#include "client/bench/child.h"
#include "client/bench/workload.h"

static struct qn_bench_child echo;
static struct qn_bench_place place;
static char *const urls[] = {(char *)(uintptr_t) "http://x/q", (char *)(uintptr_t) "http://x/r"};

static void start_echo(void)
{
    cr_assert(qn_bench_start_echo(&echo));
    qn_bench_place_local(&place, echo.port);
}

static void stop_echo(void)
{
    qn_bench_stop(&echo);
}

TestSuite(bench, .init = start_echo, .fini = stop_echo);

static void load(enum qn_bench_kind kind, int connections, int64_t limit_us, int64_t count,
                 struct qn_bench_tally *tally)
{
    const struct qn_bench_plan plan = {
        .kind = kind, .queue_urls = urls, .queue_count = 1, .count = count};
    struct qn_bench_workload *workload = qn_bench_workload_new(&plan, "x");
    const struct qn_bench_work work = qn_bench_workload_work(workload);
    const struct qn_bench_run run = {
        .place = &place, .connections = connections, .limit_us = limit_us, .work = &work};
    char error[256];

    cr_assert(qn_bench_load(&run, tally, error), "%s", error);
    cr_expect_eq(qn_bench_workload_failures(workload), 0);
    qn_bench_workload_free(workload);
}

Test(bench, each_answer_of_a_timed_run_is_counted_once)
{
    struct qn_bench_tally tally = {0};

    load(QN_BENCH_SEND, 8, 100000, 0, &tally);
    cr_expect_gt(tally.requests, 8);
    cr_expect_eq(tally.units, tally.requests);
    cr_expect_eq((int64_t)tally.sample_count, tally.requests);
    cr_expect(tally.seconds > 0);
    cr_expect(qn_bench_tally_us(&tally, 500) > 0);
    cr_expect(qn_bench_tally_us(&tally, 500) <= qn_bench_tally_us(&tally, 990));
    cr_expect(qn_bench_tally_us(&tally, 990) <= qn_bench_tally_us(&tally, 1000));
    qn_bench_tally_done(&tally);
}

Test(bench, tally_gathers_runs)
{
    struct qn_bench_tally tally = {0};

    load(QN_BENCH_SEND, 1, 0, 10, &tally);
    load(QN_BENCH_SEND, 4, 0, 30, &tally);
    cr_expect_eq(tally.requests, 40);
    qn_bench_tally_done(&tally);
}

Test(bench, percentiles_are_of_the_sorted_samples)
{
    int64_t samples_ns[] = {9000, 1000, 8000, 2000, 7000, 3000, 6000, 4000, 5000, 10000};
    struct qn_bench_tally tally = {.samples_ns = samples_ns, .sample_count = 10};

    cr_expect(qn_bench_tally_us(&tally, 500) == 5);
    cr_expect(qn_bench_tally_us(&tally, 1000) == 10);
    cr_expect(qn_bench_tally_us(&(struct qn_bench_tally){0}, 500) == 0);
}

Test(bench, fill_ends_with_its_count)
{
    struct qn_bench_tally tally = {0};

    load(QN_BENCH_FILL, 4, 0, 1003, &tally);
    cr_expect_eq(tally.requests, 101);
    cr_expect_eq(tally.units, 1003);
    qn_bench_tally_done(&tally);
}

Test(bench, drain_ends_when_nothing_is_received)
{
    struct qn_bench_tally tally = {0};

    load(QN_BENCH_DRAIN, 3, 0, 0, &tally);
    cr_expect_eq(tally.requests, 3);
    qn_bench_tally_done(&tally);
}

Test(bench, cpu_and_memory_of_a_process_are_seen)
{
    double before_us = qn_bench_cpu_us(echo.pid);
    struct qn_bench_tally tally = {0};

    load(QN_BENCH_SEND, 8, 200000, 0, &tally);
    cr_expect(before_us >= 0);
    cr_expect(qn_bench_cpu_us(echo.pid) > before_us);
    cr_expect(qn_bench_cpu_us(0) < 0);
    cr_expect_gt(qn_bench_rss_bytes(echo.pid), 0);
    cr_expect_lt(qn_bench_rss_bytes(0), 0);
    qn_bench_tally_done(&tally);
}

Test(bench, port_where_nobody_listens_is_an_error)
{
    const struct qn_bench_plan plan = {.kind = QN_BENCH_SEND, .queue_urls = urls, .queue_count = 1};
    struct qn_bench_workload *workload = qn_bench_workload_new(&plan, "x");
    const struct qn_bench_work work = qn_bench_workload_work(workload);
    struct qn_bench_place nowhere;
    const struct qn_bench_run run = {.place = &nowhere, .connections = 1, .work = &work};
    struct qn_bench_tally tally = {0};
    char error[256];

    qn_bench_place_local(&nowhere, 1);
    cr_expect_not(qn_bench_load(&run, &tally, error));
    cr_expect_not_null(strstr(error, "connect"));
    qn_bench_workload_free(workload);
}

Test(bench, host_by_name_or_address)
{
    struct qn_bench_place found;

    cr_assert(qn_bench_place_find(&found, "127.0.0.1", "9324"));
    cr_expect_str_eq(found.host, "127.0.0.1:9324");
    cr_assert(qn_bench_place_find(&found, "::1", "80"));
    cr_expect_str_eq(found.host, "[::1]:80");
    cr_expect_not(qn_bench_place_find(&found, "256.256.256.256.invalid", "80"));
}

/* ---- requests, without a server ---- */

static struct qn_bench_workload *workload;
static struct qn_bench_work work;
static struct qn_buf request;

static void begin(const struct qn_bench_plan *plan)
{
    workload = qn_bench_workload_new(plan, "x");
    work = qn_bench_workload_work(workload);
    qn_buf_init(&request, 65536);
}

static void end(void)
{
    qn_buf_done(&request);
    qn_bench_workload_free(workload);
}

/* Whether a request is made and holds the text. */
static bool asks(int connection, const char *part)
{
    qn_buf_clear(&request);
    return work.next(work.state, connection, &request) &&
           qn_str_find(qn_buf_str(&request), qn_str_from_cstr(part)) < request.len;
}

static int64_t answer(int connection, const char *body)
{
    struct qn_bench_answer given = {
        .connection = connection, .status = 200, .body = qn_str_from_cstr(body), .is_timed = true};

    return work.answered(work.state, &given);
}

/* A receive, then one delete of what it brought, then the next receive. */
Test(bench, handles_go_back_as_they_came)
{
    begin(&(struct qn_bench_plan){.kind = QN_BENCH_DRAIN, .queue_urls = urls, .queue_count = 1});
    cr_expect(asks(0, "AmazonSQS.ReceiveMessage"));
    cr_expect_eq(answer(0, "{\"Messages\":[{\"ReceiptHandle\":\"AQ+/=1\"},"
                           "{\"ReceiptHandle\":\"AQ2\",\"Body\":\"b\"}]}"),
                 0);
    cr_expect(asks(0, "\"Entries\":[{\"Id\":\"0\",\"ReceiptHandle\":\"AQ+/=1\"},"
                      "{\"Id\":\"1\",\"ReceiptHandle\":\"AQ2\"}]}"));
    cr_expect_eq(answer(0, "{}"), 2);
    cr_expect(asks(0, "AmazonSQS.ReceiveMessage"));
    cr_expect_eq(answer(0, "{}"), 0);
    cr_expect_not(asks(0, ""));
    end();
}

Test(bench, kept_handles_are_deleted_ten_at_a_time)
{
    const struct qn_bench_plan delete = {
        .kind = QN_BENCH_DELETE, .queue_urls = urls, .queue_count = 1};

    begin(&(struct qn_bench_plan){
        .kind = QN_BENCH_RECEIVE, .queue_urls = urls, .queue_count = 1, .count = 12});
    cr_expect(asks(0, "\"MaxNumberOfMessages\":10,"));
    cr_expect(asks(1, "\"MaxNumberOfMessages\":2,"));
    cr_expect_eq(answer(0, "[{\"ReceiptHandle\": \"a\"}, {\"ReceiptHandle\" :\"b\"}]"), 2);
    for (int i = 0; i < 9; i++) {
        cr_expect_eq(answer(1, "[{\"ReceiptHandle\":\"c\"}]"), 1);
    }
    qn_bench_workload_turn_to(workload, &delete);
    cr_expect(asks(0, "{\"Id\":\"0\",\"ReceiptHandle\":\"b\"}"));
    cr_expect(asks(1, "\"Entries\":[{\"Id\":\"0\",\"ReceiptHandle\":\"a\"}]"));
    cr_expect_eq(answer(0, "{}"), 10);
    cr_expect_eq(answer(1, "{}"), 1);
    cr_expect_not(asks(0, ""));
    end();
}

Test(bench, entry_that_failed_is_a_failure)
{
    begin(&(struct qn_bench_plan){
        .kind = QN_BENCH_FILL, .queue_urls = urls, .queue_count = 1, .count = 2});
    cr_expect(asks(0, "SendMessageBatch"));
    cr_expect_eq(answer(0, "{\"Failed\":[{\"Id\":\"0\"}]}"), 0);
    cr_expect_eq(qn_bench_workload_failures(workload), 1);
    end();
}

Test(bench, queues_and_groups_are_taken_in_turn)
{
    begin(&(struct qn_bench_plan){.kind = QN_BENCH_SEND,
                                  .queue_urls = urls,
                                  .queue_count = 2,
                                  .groups = 3,
                                  .first_group = 7,
                                  .first_id = 40});
    cr_expect(asks(0, "\"http://x/q\""));
    cr_expect(asks(0, "\"http://x/r\""));
    cr_expect(asks(0, "\"MessageGroupId\":\"g9\",\"MessageDeduplicationId\":\"d42\""));
    cr_expect(asks(0, "\"MessageGroupId\":\"g7\",\"MessageDeduplicationId\":\"d43\""));
    end();
}

Test(bench, large_bodies_make_small_batches)
{
    begin(&(struct qn_bench_plan){.kind = QN_BENCH_FILL,
                                  .queue_urls = urls,
                                  .queue_count = 1,
                                  .count = 10,
                                  .body_bytes = 400000});
    qn_buf_done(&request);
    qn_buf_init(&request, SIZE_MAX / 2);
    cr_expect(asks(0, "\"Id\":\"1\""));
    cr_expect_eq(qn_str_find(qn_buf_str(&request), QN_STR("\"Id\":\"2\"")), request.len);
    cr_expect_eq(answer(0, "{}"), 2);
    end();
}
