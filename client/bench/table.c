/* Medians over the rounds: as a table, and as JSON. */
#include <stdlib.h>

#include "client/bench/measure.h"

/* What is shown of a case. The ratios are taken round by round, before the median. */
struct line {
    struct qn_bench_figures server;
    struct qn_bench_figures echo;
    double rate_ratio; /* units per second of the server, to requests per second of the echo */
    double cpu_ratio;  /* CPU per unit, to CPU per request of the echo; negative: not seen */
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(double), ascending);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double median_at(const struct qn_bench_figures *figures, size_t count, size_t offset)
{
    double values[QN_BENCH_ROUNDS_MAX];

    for (size_t i = 0; i < count; i++) {
        values[i] = *(const double *)(const void *)((const char *)&figures[i] + offset);
    }
    return median(values, count);
}

static double median_ratio(const struct qn_bench_figures *over,
                           const struct qn_bench_figures *under, size_t count, size_t offset)
{
    double values[QN_BENCH_ROUNDS_MAX];

    for (size_t i = 0; i < count; i++) {
        double a = *(const double *)(const void *)((const char *)&over[i] + offset);
        double b = *(const double *)(const void *)((const char *)&under[i] + offset);
        values[i] = a >= 0 && b > 0 ? a / b : -1;
    }
    return median(values, count);
}

static struct qn_bench_figures medians(const struct qn_bench_figures *figures, size_t count)
{
    return (struct qn_bench_figures){
        .units_per_s = median_at(figures, count, offsetof(struct qn_bench_figures, units_per_s)),
        .p50_us = median_at(figures, count, offsetof(struct qn_bench_figures, p50_us)),
        .p99_us = median_at(figures, count, offsetof(struct qn_bench_figures, p99_us)),
        .cpu_us = median_at(figures, count, offsetof(struct qn_bench_figures, cpu_us)),
    };
}

static struct line line_of(const struct qn_bench *bench, size_t c)
{
    size_t count = (size_t)bench->rounds;
    const struct qn_bench_figures *server = bench->server.figures[c];
    const struct qn_bench_figures *echo = bench->echo.figures[c];

    return (struct line){
        .server = medians(server, count),
        .echo = medians(echo, count),
        .rate_ratio =
            median_ratio(server, echo, count, offsetof(struct qn_bench_figures, units_per_s)),
        .cpu_ratio = median_ratio(server, echo, count, offsetof(struct qn_bench_figures, cpu_us)),
    };
}

static void print_seen(FILE *file, double value, int digits)
{
    if (value >= 0) {
        (void)fprintf(file, " %8.*f", digits, value);
    } else {
        (void)fputs("        -", file);
    }
}

void qn_bench_print(const struct qn_bench *bench, FILE *file)
{
    (void)fprintf(
        file,
        "store %s, %lld rounds of %.1f s, medians; a unit is a request of send, a message of "
        "receive+delete\n\n",
        bench->store, (long long)bench->rounds, bench->seconds);
    (void)fputs(
        "workload        conns   units/s  p50 us  p99 us   CPU us |    echo/s  p50 us   CPU us |"
        "  rate x   CPU x\n",
        file);
    for (size_t c = 0; c < QN_BENCH_CASES; c++) {
        const struct line line = line_of(bench, c);
        (void)fprintf(file, "%-14s %6d %9.0f %7.0f %7.0f", qn_bench_cases[c].name,
                      qn_bench_cases[c].connections, line.server.units_per_s, line.server.p50_us,
                      line.server.p99_us);
        print_seen(file, line.server.cpu_us, 1);
        (void)fprintf(file, " | %9.0f %7.0f", line.echo.units_per_s, line.echo.p50_us);
        print_seen(file, line.echo.cpu_us, 1);
        (void)fprintf(file, " | %7.2f", line.rate_ratio);
        print_seen(file, line.cpu_ratio, 2);
        (void)fputc('\n', file);
    }
}

static json_t *side(const struct qn_bench_figures *figures)
{
    json_t *object = json_pack("{s:f, s:f, s:f}", "units_per_s", figures->units_per_s, "p50_us",
                               figures->p50_us, "p99_us", figures->p99_us);

    if (figures->cpu_us >= 0) {
        json_object_set_new(object, "cpu_us", json_real(figures->cpu_us));
    }
    return object;
}

json_t *qn_bench_json(const struct qn_bench *bench)
{
    json_t *list = json_array();

    for (size_t c = 0; c < QN_BENCH_CASES; c++) {
        const struct line line = line_of(bench, c);
        json_t *object =
            json_pack("{s:s, s:i, s:o, s:o, s:f}", "workload", qn_bench_cases[c].name,
                      "connections", qn_bench_cases[c].connections, "server", side(&line.server),
                      "echo", side(&line.echo), "rate_ratio", line.rate_ratio);
        if (line.cpu_ratio >= 0) {
            json_object_set_new(object, "cpu_ratio", json_real(line.cpu_ratio));
        }
        json_array_append_new(list, object);
    }
    return json_pack("{s:i, s:s, s:s, s:I, s:f, s:o}", "schema", 1, "tool", QN_VERSION, "store",
                     bench->store, "rounds", (json_int_t)bench->rounds, "seconds", bench->seconds,
                     "cases", list);
}
