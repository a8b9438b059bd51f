/* The load generator: raw HTTP over a fixed number of connections, each with one request under way.
 */
#ifndef QN_BENCH_LOAD_H
#define QN_BENCH_LOAD_H

#include <sys/socket.h>

#include "server/base/buf.h"

/* Where to connect to, and what the Host header says. */
struct qn_bench_place {
    struct sockaddr_storage address;
    socklen_t address_len;
    char host[256];
};

/* The loopback, or any host. False: there is no such host. */
void qn_bench_place_local(struct qn_bench_place *place, int port);
QN_MUST_CHECK bool qn_bench_place_find(struct qn_bench_place *place, const char *host,
                                       const char *port);

struct qn_bench_answer {
    int connection;
    int status;
    struct qn_str body;
    int64_t took_ns;
    bool is_timed; /* true; the work may say false: neither request nor time is counted */
};

/* What a connection asks for and what it makes of the answers. state is the caller's, one for all
 * connections. */
struct qn_bench_work {
    void *state;
    /* Writes the next whole request of a connection into buf (empty). False: this connection is
     * done. */
    bool (*next)(void *state, int connection, struct qn_buf *buf);
    /* An answer came. Returns how many units (requests, messages) it completes. */
    int64_t (*answered)(void *state, struct qn_bench_answer *answer);
    /* Called about five times a second; may be NULL. */
    void (*tick)(void *state);
};

struct qn_bench_run {
    const struct qn_bench_place *place;
    int connections;
    int64_t limit_us; /* no new request after that; 0: until all connections are done */
    const struct qn_bench_work *work;
};

/* What was counted; one tally may gather several runs. Begins zeroed. */
struct qn_bench_tally {
    double seconds;
    int64_t requests;
    int64_t units;
    int64_t *samples_ns; /* of requests */
    size_t sample_count;
    size_t sample_cap;
};

/* Of the requests, in microseconds: 500 gives the median, 999 the worst but one in a thousand, 1000
 * the worst. Sorts the samples. 0 without any. */
double qn_bench_tally_us(struct qn_bench_tally *tally, int per_mille);
/* Accepts a zeroed tally. */
void qn_bench_tally_done(struct qn_bench_tally *tally);

enum { QN_BENCH_CONNECTIONS_MAX = 1024 };

/* Adds to the tally. False with one line in ret_error. */
QN_MUST_CHECK bool qn_bench_load(const struct qn_bench_run *run, struct qn_bench_tally *tally,
                                 char ret_error[256]);

/* The monotonic clock in nanoseconds. */
int64_t qn_bench_now_ns(void);

#endif
