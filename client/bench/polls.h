/* Parked long polls: very many connections that wait, of which one is served now and then. */
#ifndef QN_BENCH_POLLS_H
#define QN_BENCH_POLLS_H

#include "client/bench/server.h"

struct qn_bench_polls {
    const struct qn_bench_server *server;
    char *queue_url; /* borrowed */
    int *fds;
    int64_t count;
    int64_t opened;
    int epoll;
    int sender; /* a connection for what wakes them */
    struct qn_buf receive;
    struct qn_buf send;
};

/* Opens count connections, each with a long poll of 20 s on the queue, and waits until the server
 * has parked all of them. Close it in either case. */
QN_MUST_CHECK bool qn_bench_polls_open(struct qn_bench *bench, const struct qn_bench_server *server,
                                       char *queue_url, int64_t count,
                                       struct qn_bench_polls *polls);
/* Accepts a zeroed one. Waits until the server has noticed. */
void qn_bench_polls_close(struct qn_bench_polls *polls);

/* Sends one message, times the answer to the poll that it wakes, polls again on that connection;
 * so many times. Adds to the tally. */
QN_MUST_CHECK bool qn_bench_polls_wake(struct qn_bench *bench, struct qn_bench_polls *polls,
                                       int64_t times, struct qn_bench_tally *tally);
/* Sends a message for each, counts the polls that got one within their time, and polls again. */
QN_MUST_CHECK bool qn_bench_polls_wake_all(struct qn_bench *bench, struct qn_bench_polls *polls,
                                           int64_t *ret_served, double *ret_ms);

#endif
