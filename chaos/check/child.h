/* One scenario in a process of its own, or a series of them: several can run side by side, and one
 * that fails takes no other with it. */
#ifndef QN_CHECK_CHILD_H
#define QN_CHECK_CHILD_H

#include <sys/types.h>

#include "chaos/check/run.h"

struct qn_child {
    pid_t pid;  /* 0: none */
    int socket; /* to poll: progress and the result come from there */
    const struct qn_scenario *scenario;
    char directory[4200]; /* the scenario's own; made by start, to be removed when all is read */
    bool has_result;
    bool waits;   /* the result is complete, and it would run another scenario */
    bool is_over; /* it has ended, and its result is complete */
};

/* options->directory, signal_fd, keeper and watcher are the child's own affair. */
QN_MUST_CHECK bool qn_child_start(struct qn_child *child, const struct qn_scenario *scenario,
                                  const struct qn_run_options *options, const char *directory,
                                  struct qn_error *err);
/* Another scenario for a child that waits, with what was learned since and the seed of the options;
 * the scenario was there before the child. False: the child is gone. */
QN_MUST_CHECK bool qn_child_go_on(struct qn_child *child, const struct qn_scenario *scenario,
                                  const struct qn_run_options *options);
/* No more scenarios for a child that waits: it ends what it kept, and then itself. */
void qn_child_dismiss(const struct qn_child *child);
/* Reads what has come; never waits. The result is complete once is_over is set: its history is read
 * from the trace in the directory, and judged. */
void qn_child_read(struct qn_child *child, struct qn_run_progress *progress,
                   struct qn_run_result *result);
/* SIGTERM: it ends what it started, and then itself; SIGKILL: at once. */
void qn_child_signal(const struct qn_child *child, int number);

#endif
