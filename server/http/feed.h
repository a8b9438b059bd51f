/* From the trace to the detectors of assumptions. */
#ifndef QN_HTTP_FEED_H
#define QN_HTTP_FEED_H

#include "chaos/assumptions/assumptions.h"
#include "server/trace/trace.h"

/* Shows the pass all events with seq > since, and tells it of those that are gone. The number of
 * the last one (since, if there was none). */
uint64_t qn_feed_assumptions(const struct qn_trace *trace, uint64_t since,
                             struct qn_assumptions *pass);

#endif
