/* `quern bench`: how fast the server is, and what it needs. Each row of the table is a measurement
 * that starts what it needs: servers, a bare libmicrohttpd that answers the same bytes (the echo),
 * probes. Rounds are interleaved; medians are shown. */
#ifndef QN_BENCH_BENCH_H
#define QN_BENCH_BENCH_H

#include <stdio.h>

#include "server/base/str.h"

enum { QN_BENCH_ROUNDS_MAX = 101 };

struct qn_bench_options {
    int64_t rounds;
    double seconds;          /* of one measurement */
    bool is_quick;           /* tiny sizes: shows that it works, not how fast */
    const char *const *rows; /* names */
    size_t row_count;
    bool wants_all; /* rows that can be measured */
    bool wants_curves;

    const char *program;   /* the server to start */
    const char *directory; /* where databases are made */
    const char *host;      /* of a server that runs already; NULL: servers are started */
    const char *port;
    int64_t pid; /* its process; 0: not known */

    const char *json_path;     /* NULL: none, as with the next two */
    const char *markdown_path; /* between its lines with "begin bench" and "end bench" */
    const char *svg_path;
    bool shows_progress;

    /* CPU time of one read of this body of SendMessage by the server's own JSON reader, in
     * microseconds; below 0 when it refuses it. The client has another reader, so this one comes
     * from outside. */
    double (*read_send_us)(struct qn_str body);
};

/* Whether the files can be written, before minutes go into figures for them. */
QN_MUST_CHECK bool qn_bench_check_files(const struct qn_bench_options *options,
                                        char ret_error[256]);
/* Everything measured and written. False: something could not be, and was said on stderr. */
QN_MUST_CHECK bool qn_bench_run(const struct qn_bench_options *options);

/* The rows by name: the names alone, as an array that ends with NULL, and as a text for people. */
const char *const *qn_bench_row_names(size_t *ret_count);
/* Whether a server that runs already can be measured by this row. */
bool qn_bench_row_is_plain(const char *name);
void qn_bench_list(FILE *file);

/* Is the echo, on this port of the loopback, until it is ended. False: it cannot listen. */
bool qn_bench_be_echo(int64_t port);

#endif
