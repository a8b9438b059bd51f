/* What is measured: the requests, as an SDK would send them. */
#ifndef QN_BENCH_WORKLOAD_H
#define QN_BENCH_WORKLOAD_H

#include "client/bench/load.h"

struct qn_bench_workload;

enum qn_bench_kind {
    QN_BENCH_SEND,    /* SendMessage; a unit is a request */
    QN_BENCH_FILL,    /* SendMessageBatch of ten, to have something to receive */
    QN_BENCH_RECEIVE, /* ReceiveMessage of ten; the handles are kept */
    QN_BENCH_DELETE,  /* DeleteMessageBatch of the handles that were kept */
    QN_BENCH_DRAIN,   /* ReceiveMessage of ten, then DeleteMessageBatch of them */
    QN_BENCH_MIXED,   /* the first connections send, the others drain */
};

/* A unit is a message: sent, received (RECEIVE only) or deleted. */
struct qn_bench_plan {
    enum qn_bench_kind kind;
    char *const *queue_urls; /* taken in turn; borrowed */
    size_t queue_count;
    size_t body_bytes;    /* 0: 300 */
    int64_t count;        /* of messages; 0: without end (a drain: until all is empty) */
    int64_t groups;       /* of a FIFO queue, in turn; 0: a standard queue */
    int64_t first_group;  /* the number in the name of the first group */
    int64_t first_id;     /* the number in the first deduplication id */
    int64_t visibility_s; /* of a receive; 0: the queue's own */
    int senders;          /* MIXED */
    bool times_receives;  /* of a drain: times of receives only */
};

/* host is for the Host header; both are borrowed. */
struct qn_bench_workload *qn_bench_workload_new(const struct qn_bench_plan *plan, const char *host);
void qn_bench_workload_free(struct qn_bench_workload *workload);
struct qn_bench_work qn_bench_workload_work(struct qn_bench_workload *workload);
/* Goes on with another plan for the same host: the handles that were kept stay. */
void qn_bench_workload_turn_to(struct qn_bench_workload *workload,
                               const struct qn_bench_plan *plan);
/* Answers that were no success. */
int64_t qn_bench_workload_failures(const struct qn_bench_workload *workload);
/* Messages that were sent (MIXED and the like) and deleted. */
int64_t qn_bench_workload_sent(const struct qn_bench_workload *workload);
int64_t qn_bench_workload_deleted(const struct qn_bench_workload *workload);

/* A whole request of an SDK's usual length; action is the word behind "AmazonSQS.". */
void qn_bench_write_request(struct qn_buf *buf, const char *host, const char *action,
                            struct qn_str body);

#endif
