/* Scenarios that are not run. */
#ifndef QN_CHECK_OMIT_H
#define QN_CHECK_OMIT_H

#include "chaos/check/report/report.h"

/* True: there is nothing to run, and the entry is a SKIP with the reason. stuck: the scenario in
 * which the consumer never got going, none if it did. */
bool qn_omit(const struct qn_check_options *options, const struct qn_report *report,
             struct qn_str stuck, struct qn_report_entry *entry);

#endif
