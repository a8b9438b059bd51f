/* What is measured: the requests, as an SDK would send them. */
#ifndef QN_BENCH_WORKLOAD_H
#define QN_BENCH_WORKLOAD_H

#include "client/bench/load.h"

struct qn_bench_workload;

enum qn_bench_kind {
    QN_BENCH_SEND,  /* SendMessage of 300 bytes; a unit is a request */
    QN_BENCH_FILL,  /* SendMessageBatch of ten, to have something to receive; a unit is a message */
    QN_BENCH_DRAIN, /* ReceiveMessage of ten, then DeleteMessageBatch; a unit is a message */
};

/* host is for the Host header; count limits the messages of a fill. */
struct qn_bench_workload *qn_bench_workload_new(enum qn_bench_kind kind, const char *host,
                                                const char *queue_url, int64_t count);
void qn_bench_workload_free(struct qn_bench_workload *workload);
struct qn_bench_work qn_bench_workload_work(struct qn_bench_workload *workload);
/* Answers that were no success. */
int64_t qn_bench_workload_failures(const struct qn_bench_workload *workload);

#endif
