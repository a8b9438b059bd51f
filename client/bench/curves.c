/* The curves: along each axis the others stand still, at a short queue of 300-byte messages and 8
 * connections. */
#include "client/bench/curves.h"

#include <stdlib.h>

enum { CONNECTIONS = 8, STEP = 500, STEPS = 10, BODY_TOTAL = 64 * 1024 * 1024 };

static const struct qn_bench_curve axes[QN_BENCH_AXES] = {
    [QN_BENCH_MESSAGES] = {.name = "messages",
                           .title = "messages in the queue",
                           .x = {1e3, 1e4, 1e5, 1e6},
                           .count = 4},
    [QN_BENCH_QUEUES] = {.name = "queues",
                         .title = "queues",
                         .x = {1, 10, 100, 1000, 10000},
                         .count = 5},
    [QN_BENCH_WIDTH] = {.name = "connections",
                        .title = "connections",
                        .x = {1, 2, 4, 8, 16, 32, 64},
                        .count = 7},
    [QN_BENCH_BODY] = {.name = "body_bytes",
                       .title = "bytes in a body",
                       .x = {1, 16, 256, 4096, 65536, 1048576},
                       .count = 6},
};

struct qn_bench_curves *qn_bench_curves_new(void)
{
    struct qn_bench_curves *curves = qn_memory_new(sizeof(*curves));

    memcpy(curves->axes, axes, sizeof(axes));
    return curves;
}

void qn_bench_curves_free(struct qn_bench_curves *curves)
{
    qn_memory_free(curves);
}

/* One round at one place of an axis. */
struct round {
    struct qn_bench_point send;
    struct qn_bench_point drain;
};

static struct qn_bench_point point_of(struct qn_bench_tally *tally, double cpu_us)
{
    return (struct qn_bench_point){
        .cpu_us = cpu_us >= 0 && tally->units > 0 ? cpu_us / (double)tally->units : -1,
        .units_per_s = tally->seconds > 0 ? (double)tally->units / tally->seconds : 0,
        .p50_us = qn_bench_tally_us(tally, 500),
    };
}

/* Sends (so many, or for so long) and drains as much, `steps` times. */
static bool send_and_drain(struct qn_bench *bench, const struct qn_bench_server *server,
                           struct qn_bench_plan plan, int connections, double seconds,
                           int64_t steps, struct round *ret)
{
    struct qn_bench_workload *workload = qn_bench_workload_new(&plan, server->place.host);
    struct qn_bench_tally sends = {0};
    struct qn_bench_tally drains = {0};
    double send_us = 0;
    double drain_us = 0;
    bool ok = true;

    for (int64_t i = 0; ok && i < steps; i++) {
        plan.kind = QN_BENCH_SEND;
        qn_bench_workload_turn_to(workload, &plan);
        ok = qn_bench_load_on(bench, server, workload, connections, seconds, &sends, &send_us);
        plan.kind = QN_BENCH_DRAIN;
        qn_bench_workload_turn_to(workload, &plan);
        ok = ok && qn_bench_load_on(bench, server, workload, connections, 0, &drains, &drain_us);
    }
    *ret = (struct round){point_of(&sends, send_us), point_of(&drains, drain_us)};
    qn_bench_tally_done(&sends);
    qn_bench_tally_done(&drains);
    qn_bench_workload_free(workload);
    return ok && (ret->drain.cpu_us >= 0 || qn_bench_fail(bench, "nothing was received"));
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(double a, double b, double c)
{
    double values[] = {a, b, c};

    qsort(values, 3, sizeof(double), ascending);
    return values[1];
}

static struct qn_bench_point middle(const struct qn_bench_point *a, const struct qn_bench_point *b,
                                    const struct qn_bench_point *c)
{
    return (struct qn_bench_point){
        .cpu_us = median(a->cpu_us, b->cpu_us, c->cpu_us),
        .units_per_s = median(a->units_per_s, b->units_per_s, c->units_per_s),
        .p50_us = median(a->p50_us, b->p50_us, c->p50_us),
    };
}

static bool rounds_at(struct qn_bench *bench, const struct qn_bench_server *server,
                      const struct qn_bench_plan *plan, int connections, double seconds,
                      int64_t steps, struct qn_bench_curve *curve, size_t at)
{
    struct round rounds[QN_BENCH_CURVE_ROUNDS];

    for (int64_t i = 0; i < QN_BENCH_CURVE_ROUNDS; i++) {
        qn_bench_progress(bench, curve->title, i);
        if (!send_and_drain(bench, server, *plan, connections, seconds, steps, &rounds[i])) {
            return false;
        }
    }
    curve->send[at] = middle(&rounds[0].send, &rounds[1].send, &rounds[2].send);
    curve->drain[at] = middle(&rounds[0].drain, &rounds[1].drain, &rounds[2].drain);
    return true;
}

/* The queue is filled up to each length, then a little is sent and taken on top. */
static bool along_messages(struct qn_bench *bench, const struct qn_bench_server *server,
                           struct qn_bench_curve *curve)
{
    char *url = NULL;
    bool ok = qn_bench_new_queue(bench, server, false, NULL, &url);
    const struct qn_bench_plan plan = {.queue_urls = &url, .queue_count = 1, .count = STEP};
    int64_t filled = 0;

    for (size_t i = 0; ok && i < curve->count; i++) {
        ok = qn_bench_fill(bench, server, &url, (int64_t)curve->x[i] - filled) &&
             rounds_at(bench, server, &plan, CONNECTIONS, 0, STEPS, curve, i);
        filled = (int64_t)curve->x[i];
    }
    qn_bench_drop_queue(server, url);
    return ok;
}

static bool along_queues(struct qn_bench *bench, const struct qn_bench_server *server,
                         struct qn_bench_curve *curve)
{
    size_t most = (size_t)curve->x[curve->count - 1];
    char **urls = qn_memory_new_array(most, sizeof(char *));
    size_t made = 0;
    bool ok = true;

    for (size_t i = 0; ok && i < curve->count; i++) {
        while (ok && made < (size_t)curve->x[i]) {
            ok = qn_bench_new_queue(bench, server, false, NULL, &urls[made++]);
        }
        /* Twenty for each queue, so that a receive of ten finds ten. */
        int64_t count = (int64_t)made * 20;
        const struct qn_bench_plan plan = {
            .queue_urls = urls,
            .queue_count = made,
            .count = count < STEP * STEPS ? STEP * STEPS : count,
        };
        ok = ok && rounds_at(bench, server, &plan, CONNECTIONS, 0, 1, curve, i);
    }
    for (size_t i = 0; i < made; i++) {
        quern_text_free(urls[i]);
    }
    qn_memory_free(urls);
    return ok;
}

static bool along_connections(struct qn_bench *bench, const struct qn_bench_server *server,
                              struct qn_bench_curve *curve)
{
    char *url = NULL;
    bool ok = qn_bench_new_queue(bench, server, false, NULL, &url);
    const struct qn_bench_plan plan = {.queue_urls = &url, .queue_count = 1};

    for (size_t i = 0; ok && i < curve->count; i++) {
        ok = rounds_at(bench, server, &plan, (int)curve->x[i], bench->options->seconds / 2, 1,
                       curve, i);
    }
    qn_bench_drop_queue(server, url);
    return ok;
}

static bool along_bodies(struct qn_bench *bench, const struct qn_bench_server *server,
                         struct qn_bench_curve *curve)
{
    char *url = NULL;
    bool ok = qn_bench_new_queue(bench, server, false, NULL, &url);

    for (size_t i = 0; ok && i < curve->count; i++) {
        int64_t count = BODY_TOTAL / (int64_t)curve->x[i];
        int64_t most = qn_bench_size(bench, STEP * STEPS, STEP);
        const struct qn_bench_plan plan = {
            .queue_urls = &url,
            .queue_count = 1,
            .body_bytes = (size_t)curve->x[i],
            .count = count < most ? count : most,
        };
        ok = rounds_at(bench, server, &plan, CONNECTIONS, 0, 1, curve, i);
    }
    qn_bench_drop_queue(server, url);
    return ok;
}

/* With --quick the long ends are left out. */
static void shorten(struct qn_bench_curve *curve, double most)
{
    while (curve->x[curve->count - 1] > most) {
        curve->count--;
    }
}

bool qn_bench_measure_curves(struct qn_bench *bench, struct qn_bench_curves *curves)
{
    static bool (*const along[QN_BENCH_AXES])(struct qn_bench *, const struct qn_bench_server *,
                                              struct qn_bench_curve *) = {
        [QN_BENCH_MESSAGES] = along_messages,
        [QN_BENCH_QUEUES] = along_queues,
        [QN_BENCH_WIDTH] = along_connections,
        [QN_BENCH_BODY] = along_bodies,
    };
    bool ok = true;

    if (bench->options->is_quick) {
        shorten(&curves->axes[QN_BENCH_MESSAGES], 1e4);
        shorten(&curves->axes[QN_BENCH_QUEUES], 100);
        shorten(&curves->axes[QN_BENCH_BODY], 65536);
    }
    /* A server for each axis: what one left behind does not weigh on the next. */
    for (size_t i = 0; ok && i < QN_BENCH_AXES; i++) {
        struct qn_bench_server server;
        ok = qn_bench_open(bench, &(struct qn_bench_setup){0}, &server) &&
             along[i](bench, &server, &curves->axes[i]);
        qn_bench_close(&server);
    }
    return ok;
}

static void print_points(const struct qn_bench_curve *curve, FILE *file)
{
    for (size_t i = 0; i < curve->count; i++) {
        (void)fprintf(file, "  %9.0f | %7.1f %9.0f %8.0f | %7.1f %9.0f %8.0f\n", curve->x[i],
                      curve->send[i].cpu_us, curve->send[i].units_per_s, curve->send[i].p50_us,
                      curve->drain[i].cpu_us, curve->drain[i].units_per_s, curve->drain[i].p50_us);
    }
}

void qn_bench_curves_print(const struct qn_bench_curves *curves, FILE *file)
{
    for (size_t i = 0; i < QN_BENCH_AXES; i++) {
        (void)fprintf(file,
                      "\ncurves: by %s, in memory\n"
                      "            | send               requests | receive+delete     requests\n"
                      "            |  CPU us messages/s   p50 us |  CPU us messages/s   p50 us\n",
                      curves->axes[i].title);
        print_points(&curves->axes[i], file);
    }
}

static json_t *points_json(const struct qn_bench_point *points, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, json_pack("{s:f, s:f, s:f}", "cpu_us", points[i].cpu_us,
                                              "units_per_s", points[i].units_per_s, "p50_us",
                                              points[i].p50_us));
    }
    return list;
}

json_t *qn_bench_curves_json(const struct qn_bench_curves *curves)
{
    json_t *list = json_array();

    for (size_t i = 0; i < QN_BENCH_AXES; i++) {
        const struct qn_bench_curve *curve = &curves->axes[i];
        json_t *x = json_array();
        for (size_t p = 0; p < curve->count; p++) {
            json_array_append_new(x, json_real(curve->x[p]));
        }
        json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o}", "name", curve->name, "x", x,
                                              "send", points_json(curve->send, curve->count),
                                              "drain", points_json(curve->drain, curve->count)));
    }
    return list;
}
