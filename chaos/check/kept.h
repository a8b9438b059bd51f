/* --reuse: a consumer that outlives its scenario, with all that it can see: server, queues, sink.
 * Between two scenarios it is frozen, so that it meets the next one like one that has just been
 * started. */
#ifndef QN_CHECK_KEPT_H
#define QN_CHECK_KEPT_H

#include "chaos/check/judge/judge.h"

struct qn_running;

/* Of a series of scenarios, one at a time. */
struct qn_keeper {
    struct qn_running *run; /* over and judged, its consumer is frozen; NULL: there is none */
    char refusal[200];      /* why there is none */
};

/* After the end of a scenario: freezes the consumer between two calls, if it may be kept. False:
 * nothing has changed, and the keeper knows why. */
bool qn_kept_freeze(struct qn_running *run);
/* The frozen one is the keeper's from here on, if its verdict is good. False: it goes on, to be
 * ended by the caller. */
bool qn_kept_keep(struct qn_running *run, enum qn_outcome outcome);
/* At the start of a scenario, whose names and terms are there: takes the kept consumer with its
 * server and sink, without rules or messages, when it sees no difference. False: it is ended if
 * there was one, and all has to be started. */
bool qn_kept_take_over(struct qn_running *run);
/* What a scenario has in common with those that may have its consumer; appends nothing when none
 * may. Names and terms are there. */
void qn_kept_kind(struct qn_running *run, struct qn_buf *kind);
/* The consumer that was taken over goes on. */
void qn_kept_go_on(struct qn_running *run);
/* Ends a consumer that is still kept, with its server. */
void qn_kept_give_up(struct qn_keeper *keeper);

#endif
