/* Long work of a command: a line on the terminal that says how far it is, and ending early. */
#ifndef QN_CLI_PROGRESS_H
#define QN_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct qn_progress {
    const char *what; /* "moved" */
    int signals;      /* a signalfd of SIGINT and SIGTERM, or -1 */
    bool is_interrupted;
    bool is_shown; /* stderr is a terminal */
    int64_t shown_at_ms;
};

/* Signals end the process as they always do: for work that may end anywhere. */
void qn_progress_init(struct qn_progress *progress, const char *what);
/* From here on SIGINT and SIGTERM end nothing by themselves. */
void qn_progress_begin(struct qn_progress *progress, const char *what);
/* total below 0: not known. Not more often than people can read. */
void qn_progress_show(struct qn_progress *progress, int64_t done, int64_t total);
/* Takes the line away. */
void qn_progress_end(struct qn_progress *progress);
/* Whether somebody wants it to end. */
bool qn_progress_is_interrupted(struct qn_progress *progress);
/* Waits so long, less when somebody wants it to end; whether that is so. */
bool qn_progress_pause(struct qn_progress *progress, int pause_ms);

#endif
