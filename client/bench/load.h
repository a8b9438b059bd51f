/* The load generator: raw HTTP over a fixed number of connections, each with one request under way.
 */
#ifndef QN_BENCH_LOAD_H
#define QN_BENCH_LOAD_H

#include "server/base/buf.h"

/* What a connection asks for and what it makes of the answers. state is the caller's, one for all
 * connections. */
struct qn_bench_work {
    void *state;
    /* Writes the next whole request of a connection into buf (empty). False: this connection is
     * done. */
    bool (*next)(void *state, int connection, struct qn_buf *buf);
    /* An answer came. Returns how many units (requests, messages) it completes. */
    int64_t (*answered)(void *state, int connection, int status, struct qn_str body);
};

struct qn_bench_run {
    int port; /* on the loopback */
    int connections;
    int64_t limit_us; /* no new request after that; 0: until all connections are done */
    const struct qn_bench_work *work;
};

struct qn_bench_times {
    double seconds;
    int64_t requests;
    int64_t units;
    int64_t p50_us; /* of requests */
    int64_t p99_us;
};

enum { QN_BENCH_CONNECTIONS_MAX = 1024 };

/* False with one line in ret_error. */
QN_MUST_CHECK bool qn_bench_load(const struct qn_bench_run *run, struct qn_bench_times *ret_times,
                                 char ret_error[256]);

#endif
