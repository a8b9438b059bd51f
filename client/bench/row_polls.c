/* What parked long polls cost others, and how fast one is woken. */
#include "client/bench/polls.h"
#include "client/bench/rows.h"

enum { WAKES = 300 };

static bool send_to(struct qn_bench *bench, const struct qn_bench_server *server, char *const *url,
                    int connections, struct qn_bench_figures_of_load *ret)
{
    const struct qn_bench_plan plan = {.kind = QN_BENCH_SEND, .queue_urls = url, .queue_count = 1};

    return qn_bench_load_plan(bench, server, &plan, connections, bench->options->seconds, ret);
}

static bool polls_round(struct qn_bench *bench, const struct qn_bench_server *server,
                        char *const *other, char *polled)
{
    struct qn_bench_figures_of_load without;
    struct qn_bench_figures_of_load with;
    struct qn_bench_figures_of_load plain;
    struct qn_bench_polls polls = {0};
    struct qn_bench_tally wakes = {0};

    bool ok = send_to(bench, server, other, 1, &plain) &&
              send_to(bench, server, other, 8, &without) &&
              qn_bench_polls_open(bench, server, polled, qn_bench_size(bench, 1000, 50), &polls) &&
              send_to(bench, server, other, 8, &with) &&
              qn_bench_polls_wake(bench, &polls, WAKES, &wakes);
    double wake_us = qn_bench_tally_us(&wakes, 500);
    qn_bench_polls_close(&polls);
    qn_bench_tally_done(&wakes);
    if (ok) {
        qn_bench_note_ratio(bench, QN_BENCH_POLLS_SEND_CPU, with.cpu_us, without.cpu_us);
        qn_bench_note_ratio(bench, QN_BENCH_POLLS_WAKE, wake_us, plain.p50_us);
        qn_bench_note(bench, QN_BENCH_POLLS_WAKE_US, wake_us);
        qn_bench_note(bench, QN_BENCH_POLLS_PLAIN_US, plain.p50_us);
    }
    return ok;
}

bool qn_bench_measure_polls(struct qn_bench *bench)
{
    struct qn_bench_server server;
    char *urls[2] = {NULL, NULL};
    bool ok = qn_bench_open(bench, &(struct qn_bench_setup){0}, &server) &&
              qn_bench_new_queue(bench, &server, false, NULL, &urls[0]) &&
              qn_bench_new_queue(bench, &server, false, NULL, &urls[1]);

    for (int64_t round = 0; ok && round < bench->options->rounds; round++) {
        qn_bench_progress(bench, "polls", round);
        ok = polls_round(bench, &server, &urls[0], urls[1]);
    }
    quern_text_free(urls[0]);
    quern_text_free(urls[1]);
    qn_bench_close(&server);
    return ok;
}

/* Everybody is served once before memory is looked at: a connection that was used holds more. */
static bool many_polls_round(struct qn_bench *bench, const struct qn_bench_server *server,
                             char *url)
{
    int64_t count = qn_bench_size(bench, 10000, 200);
    struct qn_bench_polls polls = {0};
    struct qn_bench_tally wakes = {0};
    int64_t served = 0;
    double all_ms = 0;
    double rss = 0;

    bool ok = qn_bench_polls_open(bench, server, url, count, &polls) &&
              qn_bench_polls_wake_all(bench, &polls, &served, &all_ms);
    rss = (double)qn_bench_rss_bytes(server->child.pid);
    ok = ok && qn_bench_polls_wake(bench, &polls, WAKES, &wakes);
    if (ok) {
        qn_bench_note(bench, QN_BENCH_POLLS_10000_SERVED, (double)served * 100 / (double)count);
        qn_bench_note(bench, QN_BENCH_POLLS_10000_RSS, rss / 1e6);
        qn_bench_note(bench, QN_BENCH_POLLS_10000_WAKE, qn_bench_tally_us(&wakes, 500) / 1e3);
        qn_bench_note(bench, QN_BENCH_POLLS_10000_ALL, all_ms);
    }
    qn_bench_polls_close(&polls);
    qn_bench_tally_done(&wakes);
    return ok;
}

bool qn_bench_measure_polls_10000(struct qn_bench *bench)
{
    struct qn_bench_server server;
    char *url = NULL;
    bool ok = qn_bench_open(bench, &(struct qn_bench_setup){0}, &server) &&
              qn_bench_new_queue(bench, &server, false, NULL, &url);

    for (int64_t round = 0; ok && round < bench->options->rounds; round++) {
        qn_bench_progress(bench, "polls-10000", round);
        ok = many_polls_round(bench, &server, url);
    }
    quern_text_free(url);
    qn_bench_close(&server);
    return ok;
}
