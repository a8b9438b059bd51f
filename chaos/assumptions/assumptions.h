/* What the clients of a run relied on that AWS does not promise, found in the events of the trace:
 * one pass, one detector for each assumption, no look at anything else.
 *
 * The folder has its own row in the map: it may include server/model and server/base; the server,
 * its command line and the harness may include this header. assumptions.def is the table of
 * detectors; each stands in one file with those that look at the same thing.
 *
 * A detector claims only what the requests show. Whoever did as AWS asks must never be named, so
 * where an answer could have been meant otherwise nothing is claimed, and of two clocks the one
 * counts that excuses: virtual or wall time, whichever says that the client waited longer. */
#ifndef QN_ASSUMPTIONS_H
#define QN_ASSUMPTIONS_H

#include <jansson.h>

#include "server/base/error.h"
#include "server/model/event.h"

/* The access key of the harness, whose own requests are nobody's assumptions. */
#define QN_ASSUMPTIONS_HARNESS "QUERNCHECK"

enum qn_assumption {
#define QN_ASSUMPTION(symbol, name, title, promise, source, fix) QN_ASSUMPTION_##symbol,
#include "chaos/assumptions/assumptions.def"
#undef QN_ASSUMPTION
    QN_ASSUMPTION_COUNT
};

struct qn_assumption_info {
    const char *name;    /* "name-reused" */
    const char *title;   /* what was relied on, in a few words */
    const char *promise; /* what AWS says instead */
    const char *source;  /* the page that says so */
    const char *fix;     /* what to do about it */
};

const struct qn_assumption_info *qn_assumption_info(enum qn_assumption assumption);

/* One pass over a trace. Holds a limited number of entries, so it may run as long as a server. */
struct qn_assumptions;

struct qn_assumptions *qn_assumptions_new(void);
/* Accepts NULL. */
void qn_assumptions_free(struct qn_assumptions *self);

/* The next event. Nothing of it is kept by reference. */
void qn_assumptions_observe(struct qn_assumptions *self, const struct qn_event *event, uint64_t seq,
                            int64_t wall_ms);
/* Events are missing before the next one. What was found stays found, the rest is forgotten. */
void qn_assumptions_gap(struct qn_assumptions *self, uint64_t count);
/* A trace as JSON lines, from the control API or from `quern check --keep`; lines of the harness's
 * own kinds are passed over. Fails at the first line that is no event, and says which. */
QN_MUST_CHECK bool qn_assumptions_read(struct qn_assumptions *self, struct qn_str lines,
                                       struct qn_error *err);

/* How many assumptions were found so far. */
size_t qn_assumptions_count(const struct qn_assumptions *self);
/* How often this one was. */
uint64_t qn_assumptions_count_of(const struct qn_assumptions *self, enum qn_assumption assumption);
/* All that was found, the document of GET /_quern/assumptions: see report.c. The caller owns the
 * reference. May be called again, and events may follow. */
json_t *qn_assumptions_report(const struct qn_assumptions *self);
/* All detectors: a list of {name, title, promise, source, fix}. The caller owns the reference. */
json_t *qn_assumptions_list(void);

#endif
