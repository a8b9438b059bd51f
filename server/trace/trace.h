/* The ordered list of what happened: a bounded ring of binary records, rendered to JSON lines when it is read.
 * In memory; or in a mapped file that the harness shares, so that a killed server loses neither order nor events.
 * Loop thread only, apart from the shared counter (atomic). */
#ifndef QN_TRACE_TRACE_H
#define QN_TRACE_TRACE_H

#include "server/base/error.h"
#include "server/model/event.h"

struct qn_trace;

/* The mapped file begins with this page; other processes may take numbers from `next_seq` (fetch-and-add) for events of
 * their own. All fields little-endian, natural alignment. */
struct qn_trace_header {
    char magic[8];              /* "QNTRACE1" */
    _Atomic uint64_t next_seq;  /* the number of the next event, from 1 */
    _Atomic uint64_t tail;      /* bytes ever appended */
    _Atomic uint64_t first;     /* byte position of the oldest record still there */
    uint64_t ring_bytes;
    uint64_t rule_counters[256][4]; /* of chaos rules by slot: name hash, matches, fired, last fired (ms) */
};

/* path NULL: in memory. An existing file of ours is continued (the ring, the counter); another file is refused. */
QN_MUST_CHECK bool qn_trace_open(const char *path, size_t ring_bytes, struct qn_trace **ret_trace,
                                 struct qn_error *err);
void qn_trace_close(struct qn_trace *trace);

/* Gives the event the next number and keeps it; wall_ms is the wall time. Returns the number. Old records give way. */
uint64_t qn_trace_append(struct qn_trace *trace, const struct qn_event *event, int64_t wall_ms);
/* Appends every event of the list, each with `lsn` where it is a state event (kinds lease.*, msg.*), and empties it. observe (may be NULL)
 * is told of each after it was appended: chaos listens there. */
void qn_trace_append_list(struct qn_trace *trace, struct qn_event_list *list, uint64_t lsn,
                          int64_t virtual_ms, int64_t wall_ms,
                          void (*observe)(void *state, const struct qn_event *event), void *state);
uint64_t qn_trace_last_seq(const struct qn_trace *trace);

/* Appends JSON lines of all events with seq > since to buf until about max_bytes; *ret_last is the last one rendered (since, if
 * none), *ret_missed how many events after `since` are gone already. */
void qn_trace_render(const struct qn_trace *trace, uint64_t since, size_t max_bytes,
                     struct qn_buf *buf, uint64_t *ret_last, uint64_t *ret_missed);
/* One event as a JSON line: {"seq":1,"vt":..,"wt":..,"kind":"api.in",...}; absent fields are left out. Names as in the
 * field comments of event.h; parameters is embedded as JSON. */
void qn_trace_render_event(const struct qn_event *event, uint64_t seq, int64_t wall_ms,
                           struct qn_buf *buf);

/* The mapped header, for counters of rules. Never NULL (in memory mode it lies in memory). */
struct qn_trace_header *qn_trace_header(struct qn_trace *trace);

#endif
