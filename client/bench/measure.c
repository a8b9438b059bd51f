/* One measurement after the other: the noise of the machine falls on both sides alike. */
#include "client/bench/measure.h"

const struct qn_bench_case qn_bench_cases[QN_BENCH_CASES] = {
    {"send", QN_BENCH_SEND, 1},
    {"send", QN_BENCH_SEND, 8},
    {"send", QN_BENCH_SEND, 64},
    {"receive+delete", QN_BENCH_DRAIN, 1},
    {"receive+delete", QN_BENCH_DRAIN, 8},
    {"receive+delete", QN_BENCH_DRAIN, 64},
};

enum { FILL_CONNECTIONS = 16, FILL_PER_SECOND = 120000 };

static bool run(const struct qn_bench *bench, const struct qn_bench_child *child,
                enum qn_bench_kind kind, int connections, int64_t count,
                struct qn_bench_figures *ret_figures, char ret_error[256])
{
    struct qn_bench_workload *workload =
        qn_bench_workload_new(kind, bench->host, bench->queue_url, count);
    const struct qn_bench_work work = qn_bench_workload_work(workload);
    const struct qn_bench_run load = {
        .port = child->port,
        .connections = connections,
        .limit_us = kind == QN_BENCH_FILL ? 0 : (int64_t)(bench->seconds * 1e6),
        .work = &work,
    };
    struct qn_bench_times times;
    int64_t before_us = qn_bench_cpu_us(child->pid);
    bool ok = qn_bench_load(&load, &times, ret_error);
    int64_t after_us = qn_bench_cpu_us(child->pid);

    if (ok && (times.units == 0 || qn_bench_workload_failures(workload) > 0)) {
        (void)snprintf(ret_error, 256, "%lld of %lld requests were refused",
                       (long long)qn_bench_workload_failures(workload), (long long)times.requests);
        ok = false;
    }
    if (ok && ret_figures != NULL) {
        *ret_figures = (struct qn_bench_figures){
            .units_per_s = (double)times.units / times.seconds,
            .p50_us = (double)times.p50_us,
            .p99_us = (double)times.p99_us,
            .cpu_us = before_us >= 0 && after_us >= 0
                          ? (double)(after_us - before_us) / (double)times.units
                          : -1,
        };
    }
    qn_bench_workload_free(workload);
    return ok;
}

static bool purge(struct qn_bench *bench, char ret_error[256])
{
    struct quern_error err;

    if (quern_purge_queue(bench->client, bench->queue_url, &err)) {
        return true;
    }
    (void)snprintf(ret_error, 256, "purge: %.100s: %.100s", err.code, err.message);
    return false;
}

static bool measure_case(struct qn_bench *bench, size_t c, size_t round, char ret_error[256])
{
    const struct qn_bench_case *one = &qn_bench_cases[c];
    int64_t count = (int64_t)(bench->seconds * FILL_PER_SECOND);

    /* The echo answers a send of the same size, whatever the case. */
    if (!run(bench, &bench->echo.child, QN_BENCH_SEND, one->connections, 0,
             &bench->echo.figures[c][round], ret_error)) {
        return false;
    }
    if (one->kind == QN_BENCH_DRAIN && !run(bench, &bench->server.child, QN_BENCH_FILL,
                                            FILL_CONNECTIONS, count, NULL, ret_error)) {
        return false;
    }
    return run(bench, &bench->server.child, one->kind, one->connections, 0,
               &bench->server.figures[c][round], ret_error) &&
           purge(bench, ret_error);
}

bool qn_bench_measure(struct qn_bench *bench, FILE *progress, char ret_error[256])
{
    for (size_t round = 0; round < (size_t)bench->rounds; round++) {
        for (size_t c = 0; c < QN_BENCH_CASES; c++) {
            if (progress != NULL) {
                (void)fprintf(progress, "\rround %zu of %lld, %s with %d connections    ",
                              round + 1, (long long)bench->rounds, qn_bench_cases[c].name,
                              qn_bench_cases[c].connections);
                (void)fflush(progress);
            }
            if (!measure_case(bench, c, round, ret_error)) {
                return false;
            }
        }
    }
    if (progress != NULL) {
        (void)fputs("\r                                                            \r", progress);
    }
    return true;
}
