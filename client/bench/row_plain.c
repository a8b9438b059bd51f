/* Sends and drains beside the echo: what can be measured at any endpoint. */
#include "client/bench/rows.h"

static const int connections_of[] = {1, 8, 64};
enum { WIDTHS = sizeof(connections_of) / sizeof(connections_of[0]) };

static const enum qn_bench_figure send_cpu[] = {QN_BENCH_SEND_CPU_1, QN_BENCH_SEND_CPU_8,
                                                QN_BENCH_SEND_CPU_64};
static const enum qn_bench_figure send_us[] = {QN_BENCH_SEND_US_1, QN_BENCH_SEND_US_8,
                                               QN_BENCH_SEND_US_64};
static const enum qn_bench_figure drain_cpu[] = {QN_BENCH_DRAIN_CPU_1, QN_BENCH_DRAIN_CPU_8,
                                                 QN_BENCH_DRAIN_CPU_64};

/* The echo answers a send of the same size, whatever is measured beside it. */
static bool load_echo(struct qn_bench *bench, char *const *url, int connections,
                      struct qn_bench_figures_of_load *ret)
{
    const struct qn_bench_plan plan = {.kind = QN_BENCH_SEND, .queue_urls = url, .queue_count = 1};

    return qn_bench_load_plan(bench, &bench->echo, &plan, connections, bench->options->seconds,
                              ret);
}

static bool send_round(struct qn_bench *bench, const struct qn_bench_server *server, size_t width)
{
    struct qn_bench_figures_of_load own;
    struct qn_bench_figures_of_load echo;
    char *url = NULL;

    if (!qn_bench_new_queue(bench, server, false, NULL, &url)) {
        return false;
    }
    const struct qn_bench_plan plan = {.kind = QN_BENCH_SEND, .queue_urls = &url, .queue_count = 1};
    bool ok = load_echo(bench, &url, connections_of[width], &echo) &&
              qn_bench_load_plan(bench, server, &plan, connections_of[width],
                                 bench->options->seconds, &own);
    qn_bench_drop_queue(server, url);
    if (!ok) {
        return false;
    }
    qn_bench_note_ratio(bench, send_cpu[width], own.cpu_us, echo.cpu_us);
    qn_bench_note(bench, send_us[width], own.cpu_us);
    if (width == 0) {
        qn_bench_note(bench, QN_BENCH_SEND_P50_1, own.p50_us);
    }
    if (width == WIDTHS - 1) {
        qn_bench_note_ratio(bench, QN_BENCH_SEND_RATE_64, own.units_per_s, echo.units_per_s);
        qn_bench_note(bench, QN_BENCH_SEND_PER_S_64, own.units_per_s);
        qn_bench_note(bench, QN_BENCH_SEND_ECHO_US_64, echo.cpu_us);
        qn_bench_note(bench, QN_BENCH_SEND_ECHO_PER_S_64, echo.units_per_s);
    }
    return true;
}

static bool drain_round(struct qn_bench *bench, const struct qn_bench_server *server, size_t width)
{
    /* More than can be drained in the time; what is left goes with the queue. */
    const int64_t fill_per_second = 200000;
    struct qn_bench_figures_of_load own;
    struct qn_bench_figures_of_load echo;
    int64_t count = (int64_t)(bench->options->seconds * (double)fill_per_second);
    char *url = NULL;

    if (!qn_bench_new_queue(bench, server, false, NULL, &url)) {
        return false;
    }
    const struct qn_bench_plan plan = {
        .kind = QN_BENCH_DRAIN, .queue_urls = &url, .queue_count = 1};
    bool ok = load_echo(bench, &url, connections_of[width], &echo) &&
              qn_bench_fill(bench, server, &url, count) &&
              qn_bench_load_plan(bench, server, &plan, connections_of[width],
                                 bench->options->seconds, &own);
    qn_bench_drop_queue(server, url);
    if (!ok) {
        return false;
    }
    qn_bench_note_ratio(bench, drain_cpu[width], own.cpu_us, echo.cpu_us);
    if (width == WIDTHS - 1) {
        qn_bench_note(bench, QN_BENCH_DRAIN_US_64, own.cpu_us);
        qn_bench_note(bench, QN_BENCH_DRAIN_PER_S_64, own.units_per_s);
    }
    return true;
}

static bool measure(struct qn_bench *bench, const char *name,
                    bool (*round_of)(struct qn_bench *, const struct qn_bench_server *, size_t))
{
    struct qn_bench_server server;
    bool ok = qn_bench_open_plain(bench, &server);

    for (int64_t round = 0; ok && round < bench->options->rounds; round++) {
        qn_bench_progress(bench, name, round);
        for (size_t width = 0; ok && width < WIDTHS; width++) {
            ok = round_of(bench, &server, width);
        }
    }
    qn_bench_close(&server);
    return ok;
}

bool qn_bench_measure_send(struct qn_bench *bench)
{
    return measure(bench, "send", send_round);
}

bool qn_bench_measure_drain(struct qn_bench *bench)
{
    return measure(bench, "drain", drain_round);
}
