/* The processes that are measured, and what the kernel says of their CPU. */
#ifndef QN_BENCH_CHILD_H
#define QN_BENCH_CHILD_H

#include <sys/types.h>

#include "server/base/str.h"

struct qn_bench_child {
    pid_t pid; /* 0: not ours */
    int port;
};

/* A bare libmicrohttpd in external epoll mode, in a process of its own, on a free port. */
QN_MUST_CHECK bool qn_bench_start_echo(struct qn_bench_child *ret_child);
/* `program serve` on a free port. database NULL: in memory; sync "normal" or "full". Returns when
 * it answers. */
QN_MUST_CHECK bool qn_bench_start_server(const char *program, const char *database,
                                         const char *sync, struct qn_bench_child *ret_child);
/* Accepts a child that is not ours. */
void qn_bench_stop(struct qn_bench_child *child);
/* CPU time of all its threads so far, in microseconds; -1 when it cannot be read. */
int64_t qn_bench_cpu_us(pid_t pid);

/* echo.c: serves until it is killed. */
_Noreturn void qn_bench_echo(int listener);

#endif
