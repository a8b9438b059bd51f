/* How long processes were ready to run, and another had the processor: what a busy machine takes
 * from a consumer, which is not held against it. */
#ifndef QN_CHECK_PROCESSOR_H
#define QN_CHECK_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { QN_PROCESSOR_THREADS = 512 };

struct qn_processor_thread {
    int64_t number;
    int64_t waited_ns; /* since it was started */
};

struct qn_processor_round {
    struct qn_processor_thread threads[QN_PROCESSOR_THREADS]; /* more are not looked at */
    size_t count;
};

struct qn_processor_waits {
    struct qn_processor_round rounds[2]; /* the last one, and the one under way */
    int current;
    bool has_begun;
};

/* Looks at the processes and all below them. Returns how many ms the one of their threads that
 * waited longest since the last look waited for a processor; 0 the first time, and where the system
 * does not tell (/proc/PID/schedstat). A pid of 0 is passed over. */
int64_t qn_processor_waited_ms(struct qn_processor_waits *waits, const pid_t *pids, size_t count);

#endif
