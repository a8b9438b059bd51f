/* The processes that are measured, and what the kernel says of their CPU and memory. */
#ifndef QN_BENCH_CHILD_H
#define QN_BENCH_CHILD_H

#include <sys/types.h>

#include "server/base/str.h"

struct qn_bench_child {
    pid_t pid; /* 0: not ours */
    int port;
    double first_answer_ms; /* from its start */
};

enum { QN_BENCH_WORDS_MAX = 32 };

/* argv that grows; a text is borrowed. */
struct qn_bench_words {
    const char *argv[QN_BENCH_WORDS_MAX + 1];
    size_t count;
};
void qn_bench_words_add(struct qn_bench_words *words, const char *word);

/* A bare libmicrohttpd in external epoll mode, in a process of its own, on a free port. */
QN_MUST_CHECK bool qn_bench_start_echo(struct qn_bench_child *ret_child);
/* Any program that serves on this port of the loopback. Returns when it answers anything over HTTP;
 * false when it ended or did not answer in time. */
QN_MUST_CHECK bool qn_bench_start(const struct qn_bench_words *words, int port,
                                  struct qn_bench_child *ret_child);
/* SIGTERM, and SIGKILL if need be. Accepts a child that is not ours. */
void qn_bench_stop(struct qn_bench_child *child);
/* A port of the loopback that is free now; 0 without any. */
int qn_bench_free_port(void);

/* CPU time of all its threads so far, in microseconds; -1 when it cannot be read. */
double qn_bench_cpu_us(pid_t pid);
/* Resident memory in bytes; -1 when it cannot be read. */
int64_t qn_bench_rss_bytes(pid_t pid);

/* echo.c: serves on this listening socket until SIGTERM. */
_Noreturn void qn_bench_echo(int listener);
/* The same on this port of the loopback; returns only when it cannot listen. */
void qn_bench_serve_echo(int port);

#endif
