/* How the figures move with the number of messages, queues and connections and with the size of
 * bodies. */
#ifndef QN_BENCH_CURVES_H
#define QN_BENCH_CURVES_H

#include "client/bench/rows.h"

enum { QN_BENCH_POINTS_MAX = 8, QN_BENCH_CURVE_ROUNDS = 3 };

enum qn_bench_axis {
    QN_BENCH_MESSAGES,
    QN_BENCH_QUEUES,
    QN_BENCH_WIDTH,
    QN_BENCH_BODY,
    QN_BENCH_AXES
};

/* Of sends, or of messages received and deleted; medians. CPU in microseconds per message. */
struct qn_bench_point {
    double cpu_us;
    double units_per_s;
    double p50_us;
};

struct qn_bench_curve {
    const char *name; /* in JSON */
    const char *title;
    double x[QN_BENCH_POINTS_MAX];
    size_t count;
    struct qn_bench_point send[QN_BENCH_POINTS_MAX];
    struct qn_bench_point drain[QN_BENCH_POINTS_MAX];
};

struct qn_bench_curves {
    struct qn_bench_curve axes[QN_BENCH_AXES];
};

struct qn_bench_curves *qn_bench_curves_new(void);
void qn_bench_curves_free(struct qn_bench_curves *curves);
QN_MUST_CHECK bool qn_bench_measure_curves(struct qn_bench *bench, struct qn_bench_curves *curves);

void qn_bench_curves_print(const struct qn_bench_curves *curves, FILE *file);
json_t *qn_bench_curves_json(const struct qn_bench_curves *curves);

/* svg.c: four panels with logarithmic axes. */
void qn_bench_curves_draw(const struct qn_bench_curves *curves, struct qn_buf *svg);
QN_MUST_CHECK bool qn_bench_curves_write(const struct qn_bench_curves *curves, const char *path);

#endif
