/* --keep: trace and logs of a scenario, for somebody to look at. */
#ifndef QN_CHECK_TRACES_H
#define QN_CHECK_TRACES_H

#include "chaos/check/report/report.h"

/* Copies them from the scenario's directory, and tells the entry where the trace is; the mark goes
 * into the names. Does nothing without --keep. */
void qn_traces_keep(const struct qn_check_options *options, struct qn_report_entry *entry,
                    const char *directory, struct qn_str mark);

#endif
