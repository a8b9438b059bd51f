/* One scenario from its start to its verdict. */
#ifndef QN_CHECK_RUN_H
#define QN_CHECK_RUN_H

#include "chaos/check/options.h"
#include "chaos/check/profile.h"
#include "chaos/check/scenario.h"

/* How far a scenario has come, while it runs. */
struct qn_run_progress {
    int64_t wall_ms;
    size_t messages; /* that were sent */
    size_t left;     /* of them in the queue, or leased */
    size_t faults;   /* that have fired */
};
typedef void qn_run_watcher(void *state, const struct qn_run_progress *progress);

/* Whose process a scenario met: one that was kept, or a new one. */
struct qn_run_process {
    char kept_from[128]; /* the scenario that it was started for; empty: it is new */
    char started[256];   /* why it is new; empty: nobody asked */
};

struct qn_keeper;

struct qn_run_options {
    const struct qn_check_options *check;
    const struct qn_profile *learned; /* is_known false: nothing so far */
    const char *run_id;
    uint64_t seed;
    const char *directory;    /* empty, the scenario's own; the caller removes it */
    int signal_fd;            /* those of qn_signals_open() arrive there */
    struct qn_keeper *keeper; /* of a series of scenarios, see kept.h; NULL: nothing is kept */
    bool is_series;           /* a child's: there may be more scenarios behind this one */
    qn_run_watcher *watcher;  /* told now and then; NULL: nobody watches */
    void *watcher_state;
};

struct qn_run_result {
    struct qn_judgement judgement;
    struct qn_history history; /* settled, for the report's witnesses */
    struct qn_profile profile;
    int64_t wall_ms;
    int64_t virtual_ms;
    char log_tail[1024]; /* the end of what the consumer printed, when it never got going; or of
                            the server's log, when that failed */
    struct qn_run_process process;
    bool is_interrupted;  /* by a signal: no more scenarios */
    bool never_got_going; /* the consumer, for no reason that lies in the scenario */
    bool cannot_start;    /* the command is not a program; the text says why */
};

/* Always fills the result; what the harness itself could not do is an outcome of ERROR. When the
 * consumer is kept, so is the history, and the result has none. */
void qn_run_scenario(const struct qn_scenario *scenario, const struct qn_run_options *options,
                     struct qn_run_result *ret_result);
/* Scenarios with the same text are likely to get along with the same consumer; nothing is appended
 * for one that needs a consumer of its own. options->directory and what comes behind it are not
 * looked at. */
void qn_run_kind(const struct qn_scenario *scenario, const struct qn_run_options *options,
                 struct qn_buf *kind);
void qn_run_result_done(struct qn_run_result *result);

#endif
