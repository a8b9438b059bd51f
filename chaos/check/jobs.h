/* All scenarios of a check, one after the other or side by side, each in a process of its own. */
#ifndef QN_CHECK_JOBS_H
#define QN_CHECK_JOBS_H

#include "chaos/check/report/report.h"

struct qn_jobs {
    const struct qn_check_options *options;
    struct qn_report *report; /* its entries are there in order, with their scenarios */
    const char *directory;    /* for the scenarios' own */
    const char *run_id;
    int signal_fd; /* SIGCHLD, SIGINT and SIGTERM arrive there */
    /* Filled in by the run. */
    bool is_interrupted;
    bool has_stopped;         /* at a failure: --fail-fast */
    const char *cannot_start; /* why the command is no program; NULL: it is */
};

/* Fills in the entries; those that have not run in the end are not done. Prints a line for each as
 * it ends. */
void qn_jobs_run(struct qn_jobs *jobs);

#endif
