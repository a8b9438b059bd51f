/* A server under measurement: started with the wanted options, asked over its own API, loaded. */
#ifndef QN_BENCH_SERVER_H
#define QN_BENCH_SERVER_H

#include "client/bench/child.h"
#include "client/bench/workload.h"
#include "client/quern.h"

struct qn_bench;

struct qn_bench_server {
    struct qn_bench_child child;
    bool is_started; /* by us, so it is ended by us */
    struct qn_bench_place place;
    struct quern_client *client; /* NULL: the echo */
    char database[320];          /* "": in memory, or not ours */
};

/* How a server is started. Zeroed: in memory, on the real clock. */
struct qn_bench_setup {
    const char *sync;     /* "normal" or "full": with a new database; NULL: in memory */
    const char *database; /* an existing one instead of a new one */
    bool has_virtual_clock;
    const char *callgrind; /* under callgrind, which writes this file at the end */
};

/* False: bench->error says why. ret_server is to be closed in either case. */
QN_MUST_CHECK bool qn_bench_open(struct qn_bench *bench, const struct qn_bench_setup *setup,
                                 struct qn_bench_server *ret_server);
/* The endpoint of the options when there is one, otherwise a server in memory. */
QN_MUST_CHECK bool qn_bench_open_plain(struct qn_bench *bench, struct qn_bench_server *ret_server);
/* Accepts a zeroed or half-open server. Removes its database. */
void qn_bench_close(struct qn_bench_server *server);
/* Ends it and leaves its database. */
void qn_bench_halt(struct qn_bench_server *server);

/* A queue with a name of its own. attributes_take may be NULL. Free with quern_text_free. */
QN_MUST_CHECK bool qn_bench_new_queue(struct qn_bench *bench, const struct qn_bench_server *server,
                                      bool is_fifo, json_t *attributes_take, char **ret_url);
/* Deletes it, and frees the URL. Accepts NULL. */
void qn_bench_drop_queue(const struct qn_bench_server *server, char *url_take);

/* What a load came to. CPU is of all threads, per unit, and includes what was done behind; -1 when
 * it could not be seen. */
struct qn_bench_figures_of_load {
    double units_per_s;
    double cpu_us;
    double p50_us;
    double p99_us;
    double max_us;
    int64_t units;
};

/* Runs a plan; seconds 0: until the plan is done. ret may be NULL. Any refused request is a
 * failure. */
QN_MUST_CHECK bool qn_bench_load_plan(struct qn_bench *bench, const struct qn_bench_server *server,
                                      const struct qn_bench_plan *plan, int connections,
                                      double seconds, struct qn_bench_figures_of_load *ret);
/* The same with a workload of the caller's; adds to the tally and to *cpu_us (which becomes -1 when
 * it cannot be seen). */
QN_MUST_CHECK bool qn_bench_load_on(struct qn_bench *bench, const struct qn_bench_server *server,
                                    struct qn_bench_workload *workload, int connections,
                                    double seconds, struct qn_bench_tally *tally, double *cpu_us);
/* Sends so many messages to one queue, fast. */
QN_MUST_CHECK bool qn_bench_fill(struct qn_bench *bench, const struct qn_bench_server *server,
                                 char *const *queue_url, int64_t count);

/* Waits until what was answered is in the database. True at once in memory. */
QN_MUST_CHECK bool qn_bench_settle(struct qn_bench *bench, const struct qn_bench_server *server);
/* A figure of GET /_quern/info: "journal", "ring_bytes_max_used". -1 when it is not there. */
int64_t qn_bench_info(const struct qn_bench_server *server, const char *part, const char *name);

#endif
