/* What the user is shown: the console while it runs, the JSON report at the end. */
#ifndef QN_CHECK_REPORT_H
#define QN_CHECK_REPORT_H

#include <stdio.h>

#include "chaos/check/run.h"

/* One scenario with what became of it. */
struct qn_report_entry {
    const struct qn_scenario *scenario;
    struct qn_run_result result;
    char trace_path[1024]; /* empty: not kept */
    bool is_of_profile;    /* false: skipped because it is about another kind of queue */
};

struct qn_report {
    const struct qn_check_options *options;
    uint64_t seed;
    struct qn_profile profile;
    struct qn_report_entry *entries;
    size_t count;
    bool colours; /* the console is a terminal; words say the same */
    FILE *console;
};

void qn_report_begin(const struct qn_report *report);
/* The line of one scenario, and below it, on trouble, what was seen. */
void qn_report_entry_print(const struct qn_report *report, const struct qn_report_entry *entry);
void qn_report_profile_print(const struct qn_report *report);
void qn_report_end(const struct qn_report *report);

/* How often each outcome occurred. */
void qn_report_count(const struct qn_report *report, size_t counts[QN_OUTCOME_COUNT]);
/* "effectively-once", "at-least-once", "at-most-once", or "not observable". */
const char *qn_report_semantics(const struct qn_report *report);

QN_MUST_CHECK bool qn_report_write_json(const struct qn_report *report, const char *path,
                                        struct qn_error *err);

/* One event as a sentence, without its number. */
void qn_report_describe(const struct qn_check_event *event, struct qn_buf *buf);
/* The story of a broken invariant: the events of the messages that its witnesses are about, and
 * what the harness did between them. */
void qn_report_witness(FILE *file, const struct qn_history *history,
                       const struct qn_finding *finding);

#endif
