/* The harness's own entries in the common order: numbers from the counter that server and harness
 * share. */
#ifndef QN_CHECK_RECORD_H
#define QN_CHECK_RECORD_H

#include "chaos/check/history.h"

struct qn_trace_header;

struct qn_recorder {
    struct qn_history *history;
    struct qn_trace_header *header; /* mapped; NULL before the server runs */
    uint64_t own_seq;               /* without a mapping: tests of parts */
    int64_t virtual_base_ms;        /* virtual instant at the monotonic instant `base_ms` */
    int64_t base_ms;
};

/* Maps the counter of the trace file. */
QN_MUST_CHECK bool qn_recorder_map(struct qn_recorder *recorder, const char *path,
                                   struct qn_error *err);
void qn_recorder_unmap(struct qn_recorder *recorder);
/* The clock of the server as the harness reckons it: it runs at rate 1, and the harness knows of
 * its own advances. */
void qn_recorder_set_clock(struct qn_recorder *recorder, int64_t virtual_ms);
int64_t qn_recorder_now_ms(const struct qn_recorder *recorder);
/* Gives the event its number and times, and adds it. */
void qn_record(struct qn_recorder *recorder, struct qn_check_event *event);

#endif
