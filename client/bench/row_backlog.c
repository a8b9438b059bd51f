/* Receives must not care how much lies behind them: a backlog, leases, blocked groups. */
#include "client/bench/rows.h"

enum { LEASE_S = 12 * 3600, STEP = 1000, STEPS = 20 };

/* One queue of a comparison. */
struct side {
    char *url;
    double cpu_us;
    struct qn_bench_tally tally;
};

/* Receives STEP messages from one connection, which are then deleted unmeasured, STEPS times. Where
 * the backlog is to be only that, it is filled anew each time. */
static bool receive_steps(struct qn_bench *bench, const struct qn_bench_server *server,
                          struct side *side, bool is_filled_anew)
{
    const struct qn_bench_plan receive = {.kind = QN_BENCH_RECEIVE,
                                          .queue_urls = &side->url,
                                          .queue_count = 1,
                                          .count = STEP,
                                          .visibility_s = LEASE_S};
    const struct qn_bench_plan delete = {
        .kind = QN_BENCH_DELETE, .queue_urls = &side->url, .queue_count = 1};
    struct qn_bench_workload *workload = qn_bench_workload_new(&receive, server->place.host);
    int64_t steps = qn_bench_size(bench, STEPS, 2);
    bool ok = true;

    side->cpu_us = 0;
    for (int64_t i = 0; ok && i < steps; i++) {
        struct qn_bench_tally ignored = {0};
        double ignored_us = 0;
        qn_bench_workload_turn_to(workload, &receive);
        ok = (!is_filled_anew || qn_bench_fill(bench, server, &side->url, STEP)) &&
             qn_bench_load_on(bench, server, workload, 1, 0, &side->tally, &side->cpu_us);
        qn_bench_workload_turn_to(workload, &delete);
        ok = ok && qn_bench_load_on(bench, server, workload, 1, 0, &ignored, &ignored_us);
        qn_bench_tally_done(&ignored);
    }
    qn_bench_workload_free(workload);
    int64_t expected = steps * STEP;
    if (ok && side->tally.units != expected) {
        return qn_bench_fail(bench, "%lld of %lld messages were received",
                             (long long)side->tally.units, (long long)expected);
    }
    return ok;
}

static void note(struct qn_bench *bench, enum qn_bench_figure first, struct side *more,
                 struct side *less)
{
    double more_us = more->cpu_us / (double)more->tally.units;

    qn_bench_note_ratio(bench, first, more_us, less->cpu_us / (double)less->tally.units);
    qn_bench_note_ratio(bench, first + 1, qn_bench_tally_us(&more->tally, 500),
                        qn_bench_tally_us(&less->tally, 500));
    qn_bench_note(bench, first + 2, more_us);
}

static bool compare(struct qn_bench *bench, const struct qn_bench_server *server, char *more_url,
                    char *less_url, bool refills_more, enum qn_bench_figure first)
{
    bool ok = true;

    for (int64_t round = 0; ok && round < bench->options->rounds; round++) {
        struct side more = {.url = more_url};
        struct side less = {.url = less_url};
        qn_bench_progress(bench, qn_bench_rows[qn_bench_figures[first].row].name, round);
        ok = receive_steps(bench, server, &less, true) &&
             receive_steps(bench, server, &more, refills_more);
        if (ok) {
            note(bench, first, &more, &less);
        }
        qn_bench_tally_done(&more.tally);
        qn_bench_tally_done(&less.tally);
    }
    return ok;
}

bool qn_bench_measure_backlog(struct qn_bench *bench)
{
    int64_t taken = qn_bench_size(bench, STEPS, 2) * STEP * bench->options->rounds;
    struct qn_bench_server server;
    char *urls[2] = {NULL, NULL};
    bool ok = qn_bench_open(bench, &(struct qn_bench_setup){0}, &server) &&
              qn_bench_new_queue(bench, &server, false, NULL, &urls[0]) &&
              qn_bench_new_queue(bench, &server, false, NULL, &urls[1]);

    qn_bench_progress(bench, "backlog: filling", 0);
    ok = ok &&
         qn_bench_fill(bench, &server, &urls[0], qn_bench_size(bench, 1000000, 20000) + taken) &&
         compare(bench, &server, urls[0], urls[1], false, QN_BENCH_BACKLOG_CPU);
    quern_text_free(urls[0]);
    quern_text_free(urls[1]);
    qn_bench_close(&server);
    return ok;
}

/* A queue may have 120,000 messages in flight: what is received in a step comes on top. */
bool qn_bench_measure_in_flight(struct qn_bench *bench)
{
    int64_t leased = qn_bench_size(bench, 120000 - STEP, 5000);
    struct qn_bench_server server;
    char *urls[2] = {NULL, NULL};
    bool ok = qn_bench_open(bench, &(struct qn_bench_setup){0}, &server) &&
              qn_bench_new_queue(bench, &server, false, NULL, &urls[0]) &&
              qn_bench_new_queue(bench, &server, false, NULL, &urls[1]);
    const struct qn_bench_plan lease = {.kind = QN_BENCH_RECEIVE,
                                        .queue_urls = &urls[0],
                                        .queue_count = 1,
                                        .count = leased,
                                        .visibility_s = LEASE_S};

    qn_bench_progress(bench, "in-flight: filling", 0);
    ok = ok && qn_bench_fill(bench, &server, &urls[0], leased) &&
         qn_bench_load_plan(bench, &server, &lease, 8, 0, NULL) &&
         compare(bench, &server, urls[0], urls[1], true, QN_BENCH_IN_FLIGHT_CPU);
    quern_text_free(urls[0]);
    quern_text_free(urls[1]);
    qn_bench_close(&server);
    return ok;
}

/* ---- FIFO ---- */

static bool send_groups(struct qn_bench *bench, const struct qn_bench_server *server,
                        char *const *url, int64_t groups, int64_t first, int64_t count)
{
    const struct qn_bench_plan plan = {.kind = QN_BENCH_FILL,
                                       .queue_urls = url,
                                       .queue_count = 1,
                                       .count = count,
                                       .groups = groups,
                                       .first_group = first,
                                       .first_id = bench->serial};

    bench->serial += count; /* a deduplication id counts for five minutes */
    return qn_bench_load_plan(bench, server, &plan, 1, 0, NULL);
}

/* Each of so many groups has one message in flight and one behind it that it blocks. */
static bool block_groups(struct qn_bench *bench, const struct qn_bench_server *server,
                         char *const *url, int64_t groups)
{
    const struct qn_bench_plan lease = {.kind = QN_BENCH_RECEIVE,
                                        .queue_urls = url,
                                        .queue_count = 1,
                                        .count = groups,
                                        .visibility_s = LEASE_S};
    struct qn_bench_figures_of_load figures = {0};

    if (!send_groups(bench, server, url, groups, 0, groups) ||
        !qn_bench_load_plan(bench, server, &lease, 1, 0, &figures)) {
        return false;
    }
    if (figures.units != groups) {
        return qn_bench_fail(bench, "%lld of %lld groups are blocked", (long long)figures.units,
                             (long long)groups);
    }
    return send_groups(bench, server, url, groups, 0, groups);
}

/* Ten of one group and their deletes, in turn: a group is blocked while they are in flight. */
static bool drain_group(struct qn_bench *bench, const struct qn_bench_server *server,
                        char *const *url, int64_t group, struct qn_bench_figures_of_load *ret)
{
    int64_t count = qn_bench_size(bench, STEP * STEPS, STEP);
    const struct qn_bench_plan plan = {.kind = QN_BENCH_DRAIN,
                                       .queue_urls = url,
                                       .queue_count = 1,
                                       .count = count,
                                       .times_receives = true};

    if (!send_groups(bench, server, url, 1, group, count) ||
        !qn_bench_load_plan(bench, server, &plan, 1, 0, ret)) {
        return false;
    }
    return ret->units == count ||
           qn_bench_fail(bench, "%lld of %lld messages of a group were received",
                         (long long)ret->units, (long long)count);
}

bool qn_bench_measure_fifo(struct qn_bench *bench)
{
    int64_t blocked = qn_bench_size(bench, 99999, 999);
    struct qn_bench_server server;
    char *urls[2] = {NULL, NULL};
    bool ok = qn_bench_open(bench, &(struct qn_bench_setup){0}, &server) &&
              qn_bench_new_queue(bench, &server, true, NULL, &urls[0]) &&
              qn_bench_new_queue(bench, &server, true, NULL, &urls[1]);

    qn_bench_progress(bench, "fifo: filling", 0);
    ok = ok && block_groups(bench, &server, &urls[0], blocked);
    for (int64_t round = 0; ok && round < bench->options->rounds; round++) {
        struct qn_bench_figures_of_load many;
        struct qn_bench_figures_of_load one;
        qn_bench_progress(bench, "fifo", round);
        ok = drain_group(bench, &server, &urls[1], blocked, &one) &&
             drain_group(bench, &server, &urls[0], blocked, &many);
        if (ok) {
            qn_bench_note_ratio(bench, QN_BENCH_FIFO_CPU, many.cpu_us, one.cpu_us);
            qn_bench_note_ratio(bench, QN_BENCH_FIFO_P50, many.p50_us, one.p50_us);
            qn_bench_note(bench, QN_BENCH_FIFO_US, many.cpu_us);
        }
    }
    quern_text_free(urls[0]);
    quern_text_free(urls[1]);
    qn_bench_close(&server);
    return ok;
}
