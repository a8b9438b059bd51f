/* Which scenario is next. */
#ifndef QN_CHECK_CHOOSE_H
#define QN_CHECK_CHOOSE_H

#include "chaos/check/report/report.h"

/* Of those that have not begun: one that gets along with the consumer that is kept from a scenario,
 * or else, and without one (NULL), the first; with several side by side the one that may take the
 * longest, so that it is not alone at the end. NULL: all have begun. */
struct qn_report_entry *qn_choose(const struct qn_report *report,
                                  const struct qn_scenario *kept_from);

#endif
