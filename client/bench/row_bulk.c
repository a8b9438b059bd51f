/* Very many messages go at once, and others send meanwhile. */
#include "client/bench/rows.h"

enum { SENDERS = 8 };

static const int64_t give_up_ns = 60 * INT64_C(1000000000);

/* A load of sends beside which one more connection makes one request. */
struct beside {
    struct qn_bench_work sends;
    struct qn_str request;
    bool is_asked;
    bool is_answered;
    int status;
    int64_t took_ns;
    int64_t begin_ns;
    int64_t least_ns; /* the sends go on for so long, and until the answer is there */
};

static bool beside_next(void *state, int connection, struct qn_buf *buf)
{
    struct beside *beside = state;
    int64_t passed_ns = qn_bench_now_ns() - beside->begin_ns;

    if (connection < SENDERS) {
        bool is_over = beside->is_answered && passed_ns > beside->least_ns;
        return !is_over && passed_ns < give_up_ns &&
               beside->sends.next(beside->sends.state, connection, buf);
    }
    if (beside->is_asked) {
        return false;
    }
    beside->is_asked = true;
    qn_buf_append_str(buf, beside->request);
    return true;
}

static int64_t beside_answered(void *state, struct qn_bench_answer *answer)
{
    struct beside *beside = state;

    if (answer->connection < SENDERS) {
        return beside->sends.answered(beside->sends.state, answer);
    }
    answer->is_timed = false;
    beside->is_answered = true;
    beside->status = answer->status;
    beside->took_ns = answer->took_ns;
    return 0;
}

/* What came of it. */
struct meanwhile {
    double took_ms; /* the one request */
    double p99_us;  /* the sends */
    double max_us;
};

static bool send_beside(struct qn_bench *bench, const struct qn_bench_server *server,
                        char *const *url, struct qn_str request, double seconds,
                        struct meanwhile *ret)
{
    const struct qn_bench_plan plan = {.kind = QN_BENCH_SEND, .queue_urls = url, .queue_count = 1};
    struct qn_bench_workload *workload = qn_bench_workload_new(&plan, server->place.host);
    struct qn_bench_tally tally = {0};
    struct beside beside = {.sends = qn_bench_workload_work(workload),
                            .request = request,
                            .begin_ns = qn_bench_now_ns(),
                            .least_ns = (int64_t)(seconds * 1e9)};
    const struct qn_bench_work work = {&beside, beside_next, beside_answered, NULL};
    const struct qn_bench_run run = {
        .place = &server->place, .connections = SENDERS + 1, .work = &work};
    bool ok = qn_bench_load(&run, &tally, bench->error);

    if (ok && (beside.status != 200 || qn_bench_workload_failures(workload) > 0)) {
        ok = qn_bench_fail(bench, "status %d, and %lld sends were refused meanwhile", beside.status,
                           (long long)qn_bench_workload_failures(workload));
    }
    if (ok) {
        *ret = (struct meanwhile){(double)beside.took_ns / 1e6, qn_bench_tally_us(&tally, 990),
                                  qn_bench_tally_us(&tally, 1000)};
    }
    qn_bench_tally_done(&tally);
    qn_bench_workload_free(workload);
    return ok;
}

/* ---- PurgeQueue and DeleteQueue ---- */

static bool drop(struct qn_bench *bench, const struct qn_bench_server *server, char *const *url,
                 const char *action, struct meanwhile *ret_before, struct meanwhile *ret_during)
{
    double seconds = bench->options->is_quick ? 0.1 : 1;
    const struct qn_bench_plan sends = {.kind = QN_BENCH_SEND, .queue_urls = url, .queue_count = 1};
    struct qn_bench_figures_of_load before;
    struct qn_buf request;
    struct qn_buf body;
    char *crowded = NULL;

    qn_buf_init(&request, SIZE_MAX / 2);
    qn_buf_init(&body, SIZE_MAX / 2);
    bool ok = qn_bench_new_queue(bench, server, false, NULL, &crowded) &&
              qn_bench_fill(bench, server, &crowded, qn_bench_size(bench, 1000000, 20000)) &&
              qn_bench_load_plan(bench, server, &sends, SENDERS, seconds, &before);
    if (ok) {
        qn_buf_append_format(&body, "{\"QueueUrl\":\"%s\"}", crowded);
        qn_bench_write_request(&request, server->place.host, action, qn_buf_str(&body));
        ret_before->p99_us = before.p99_us;
        ok = send_beside(bench, server, url, qn_buf_str(&request), seconds, ret_during) &&
             qn_bench_settle(bench, server);
    }
    quern_text_free(crowded);
    qn_buf_done(&request);
    qn_buf_done(&body);
    return ok;
}

static bool drop_rounds(struct qn_bench *bench, const char *sync, const char *action,
                        enum qn_bench_figure first)
{
    /* A million messages are sent in each, so there are no more rounds than a median needs. */
    int64_t rounds = bench->options->rounds < 3 ? bench->options->rounds : 3;
    struct qn_bench_server server;
    char *url = NULL;
    bool ok = qn_bench_open(bench, &(struct qn_bench_setup){.sync = sync}, &server) &&
              qn_bench_new_queue(bench, &server, false, NULL, &url);

    for (int64_t round = 0; ok && round < rounds; round++) {
        struct meanwhile before;
        struct meanwhile during;
        qn_bench_progress(bench, action, round);
        ok = drop(bench, &server, &url, action, &before, &during);
        if (ok) {
            qn_bench_note(bench, first, during.took_ms);
            qn_bench_note_ratio(bench, first + 1, during.p99_us, before.p99_us);
        }
    }
    quern_text_free(url);
    qn_bench_close(&server);
    return ok;
}

bool qn_bench_measure_purge(struct qn_bench *bench)
{
    return drop_rounds(bench, NULL, "PurgeQueue", QN_BENCH_PURGE_MEMORY_MS) &&
           drop_rounds(bench, "normal", "PurgeQueue", QN_BENCH_PURGE_NORMAL_MS) &&
           drop_rounds(bench, NULL, "DeleteQueue", QN_BENCH_DELETE_MEMORY_MS) &&
           drop_rounds(bench, "normal", "DeleteQueue", QN_BENCH_DELETE_NORMAL_MS);
}

/* ---- what falls due ---- */

static bool advance_beside(struct qn_bench *bench, const struct qn_bench_server *server,
                           char *const *url, int64_t by_ms, enum qn_bench_figure figure)
{
    struct meanwhile during;
    struct qn_buf request;
    char body[64];

    int len = snprintf(body, sizeof(body), "{\"advance_ms\":%lld}", (long long)by_ms);
    qn_buf_init(&request, SIZE_MAX / 2);
    qn_buf_append_format(&request,
                         "POST /_quern/clock HTTP/1.1\r\nHost: %s\r\n"
                         "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                         server->place.host, len, body);
    bool ok =
        send_beside(bench, server, url, qn_buf_str(&request), bench->options->seconds, &during);
    qn_buf_done(&request);
    if (ok) {
        qn_bench_note(bench, figure, during.max_us / 1e3);
    }
    return ok;
}

static bool retention_round(struct qn_bench *bench, const struct qn_bench_server *server,
                            char *const *url)
{
    json_t *attributes = json_object();
    char *crowded = NULL;

    json_object_set_new(attributes, "MessageRetentionPeriod", json_string("60"));
    bool ok = qn_bench_new_queue(bench, server, false, attributes, &crowded) &&
              qn_bench_fill(bench, server, &crowded, qn_bench_size(bench, 1000000, 20000)) &&
              advance_beside(bench, server, url, 61000, QN_BENCH_EXPIRY_RETENTION);
    qn_bench_drop_queue(server, crowded);
    return ok;
}

static bool lapse_round(struct qn_bench *bench, const struct qn_bench_server *server,
                        char *const *url)
{
    int64_t count = qn_bench_size(bench, 120000, 5000);
    char *leased = NULL;
    bool ok = qn_bench_new_queue(bench, server, false, NULL, &leased);
    const struct qn_bench_plan lease = {.kind = QN_BENCH_RECEIVE,
                                        .queue_urls = &leased,
                                        .queue_count = 1,
                                        .count = count,
                                        .visibility_s = 30};

    ok = ok && qn_bench_fill(bench, server, &leased, count) &&
         qn_bench_load_plan(bench, server, &lease, SENDERS, 0, NULL) &&
         advance_beside(bench, server, url, 31000, QN_BENCH_EXPIRY_LAPSE);
    qn_bench_drop_queue(server, leased);
    return ok;
}

bool qn_bench_measure_expiry(struct qn_bench *bench)
{
    int64_t rounds = bench->options->rounds < 3 ? bench->options->rounds : 3;
    struct qn_bench_server server;
    char *url = NULL;
    bool ok = qn_bench_open(bench, &(struct qn_bench_setup){.has_virtual_clock = true}, &server) &&
              qn_bench_new_queue(bench, &server, false, NULL, &url);

    for (int64_t round = 0; ok && round < rounds; round++) {
        qn_bench_progress(bench, "expiry", round);
        ok = retention_round(bench, &server, &url) && lapse_round(bench, &server, &url);
    }
    quern_text_free(url);
    qn_bench_close(&server);
    return ok;
}
