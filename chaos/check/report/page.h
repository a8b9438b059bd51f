/* The parts of the HTML report. Each appends its markup. */
#ifndef QN_CHECK_PAGE_H
#define QN_CHECK_PAGE_H

#include "chaos/check/report/report.h"
#include "chaos/check/report/template.h"

/* A word with a symbol before it; colours only repeat what they say. */
void qn_page_badge(struct qn_buf *buf, const char *css_class, const char *word);
void qn_page_outcome(struct qn_buf *buf, enum qn_outcome outcome);
/* "fail", as the style sheet calls it. */
const char *qn_page_class(enum qn_outcome outcome);

/* scenario_page.c: one scenario; number counts from 1 and is part of its anchors. */
void qn_page_scenario(const struct qn_report *report, size_t number, struct qn_buf *buf);
/* events.c: its table of events, with the consumer's log beside them. */
void qn_page_events(const struct qn_report_entry *entry, size_t number, struct qn_buf *buf);
/* would_show.c: whether one of the patterns fits the name. */
bool qn_checklist_is_named(const json_t *patterns, struct qn_str id);
/* "to be seen in poll.idle-cost, poll.false-empty (skipped) and 2 more". */
void qn_checklist_would_show(const struct qn_report *report, const json_t *item,
                             struct qn_buf *buf);
/* checklists.c */
void qn_page_checklists(const struct qn_report *report, struct qn_buf *buf);

#endif
