/* Rounds of measurements and what comes out of them. */
#ifndef QN_BENCH_MEASURE_H
#define QN_BENCH_MEASURE_H

#include <jansson.h>
#include <stdio.h>

#include "client/bench/child.h"
#include "client/bench/workload.h"
#include "client/quern.h"

enum { QN_BENCH_CASES = 6, QN_BENCH_ROUNDS_MAX = 101 };

/* One line of the table. */
struct qn_bench_case {
    const char *name;
    enum qn_bench_kind kind;
    int connections;
};
extern const struct qn_bench_case qn_bench_cases[QN_BENCH_CASES];

/* Of one side in one round. A negative CPU time could not be seen. */
struct qn_bench_figures {
    double units_per_s;
    double p50_us;
    double p99_us;
    double cpu_us; /* per unit */
};

struct qn_bench_side {
    struct qn_bench_child child;
    struct qn_bench_figures figures[QN_BENCH_CASES][QN_BENCH_ROUNDS_MAX];
};

struct qn_bench {
    int64_t rounds;
    double seconds;
    const char *store; /* memory, normal, full; of a server that runs elsewhere: endpoint */
    char host[64];
    char *queue_url;
    struct quern_client *client;
    struct qn_bench_side server;
    struct qn_bench_side echo;
};

/* All rounds, server and echo in turn. False with one line in ret_error. progress may be NULL. */
QN_MUST_CHECK bool qn_bench_measure(struct qn_bench *bench, FILE *progress, char ret_error[256]);

/* table.c */
void qn_bench_print(const struct qn_bench *bench, FILE *file);
/* A new reference. */
json_t *qn_bench_json(const struct qn_bench *bench);

#endif
