/* The ordered list of what happened: a bounded ring of binary records, rendered to JSON lines when
 * it is read. In memory; or in a mapped file that the harness shares, so that a killed server loses
 * neither order nor events. Loop thread only, apart from the shared counter (atomic). */
#ifndef QN_TRACE_TRACE_H
#define QN_TRACE_TRACE_H

#include "server/base/error.h"
#include "server/model/event.h"

struct qn_trace;

/* The mapped file: this header, then from QN_TRACE_HEADER_BYTES on `ring_bytes` bytes of records.
 * Other processes may take numbers from `next_seq` (fetch-and-add) for events of their own.
 * Little-endian, natural alignment.
 *
 * A record begins at a multiple of 8: its size with padding (u32), the size of the event (u32), seq
 * (u64), wall_ms (i64), the event (qn_event_encode). A size of the event of UINT32_MAX says that
 * nothing more fits before the end of the ring. `tail` moves when a record is whole, `first` before
 * one is overwritten, so what lies between them is always whole. */
enum { QN_TRACE_HEADER_BYTES = 12288 };

struct qn_trace_header {
    char magic[8];             /* "QNTRACE1" */
    _Atomic uint64_t next_seq; /* the number of the next event, from 1 */
    _Atomic uint64_t tail;     /* bytes ever appended */
    _Atomic uint64_t first;    /* byte position of the oldest record still there */
    uint64_t ring_bytes;
    uint64_t rule_counters[256][4]; /* of chaos rules by slot: name hash, matches, fired, last fired
                                       (ms) */
    _Atomic uint64_t dropped;       /* records that gave way to newer ones */
    _Atomic uint64_t last_dropped_seq; /* the number of the newest of them */
};

/* path NULL: in memory. An existing file of ours is continued (its ring, whatever ring_bytes says,
 * and the counter); another file is refused and left as it was. ring_bytes is rounded up to pages,
 * at least 64 KiB. */
QN_MUST_CHECK bool qn_trace_open(const char *path, size_t ring_bytes, struct qn_trace **ret_trace,
                                 struct qn_error *err);
/* In memory that the caller has, and that may outlive the process: zeroed, or left by an earlier
 * trace of the same size, which is continued. At least QN_TRACE_HEADER_BYTES + 64 KiB. */
struct qn_trace *qn_trace_adopt(void *memory, size_t size);
void qn_trace_close(struct qn_trace *trace);

/* Gives the event the next number and keeps it; wall_ms is the wall time. Returns the number. Old
 * records give way. An event of more than a quarter of the ring loses its parameters, and then the
 * ends of its texts. Every start appends `boot`, whose lsn is the one that the store came back to:
 * state events above it did not happen. */
uint64_t qn_trace_append(struct qn_trace *trace, const struct qn_event *event, int64_t wall_ms);
/* Appends every event of the list, each with `lsn` where it is a state event (kinds lease.*,
 * msg.*), and empties it. observe (may be NULL) is told of each after it was appended: chaos
 * listens there. It must not add to this list. */
void qn_trace_append_list(struct qn_trace *trace, struct qn_event_list *list, uint64_t lsn,
                          int64_t virtual_ms, int64_t wall_ms,
                          void (*observe)(void *state, const struct qn_event *event), void *state);
uint64_t qn_trace_last_seq(const struct qn_trace *trace);

/* Calls visit for each event with seq > since, in order, until it answers false. The texts live
 * until visit returns. Also right when another process appends to the file meanwhile. *ret_missed:
 * see qn_trace_render. */
void qn_trace_each(const struct qn_trace *trace, uint64_t since,
                   bool (*visit)(void *state, const struct qn_event *event, uint64_t seq,
                                 int64_t wall_ms),
                   void *state, uint64_t *ret_missed);
/* Appends JSON lines of all events with seq > since to buf until about max_bytes; *ret_last is the
 * last one rendered (since, if none), *ret_missed how many events after `since` are gone already:
 * exact for since 0 and while no other process takes numbers of the counter; else it may be too
 * high, but is 0 only when none is missing. A line that does not fit into buf ends it. */
void qn_trace_render(const struct qn_trace *trace, uint64_t since, size_t max_bytes,
                     struct qn_buf *buf, uint64_t *ret_last, uint64_t *ret_missed);
/* One event as a JSON line. Members, in this order, absent ones left out:
 *   seq, vt (virtual ms), wt (wall ms), kind, lsn (state events and boot), req (request id),
 * action, account, queue, instance (access key id), port, conn, invocation, attempt, params (an
 * object; of the answer of a batch FailedEntries too, each with Id, Code and Message), code,
 * status, bytes, mid, k, h, n (receive count), deadline, grp, sn, reason, rule, match, target,
 * from, to, count, region, agent (User-Agent, with a connection's first call). State events name
 * the request that did it, if one did. Text that is not UTF-8 is shown with U+FFFD in place of each
 * bad byte. */
void qn_trace_render_event(const struct qn_event *event, uint64_t seq, int64_t wall_ms,
                           struct qn_buf *buf);

/* The mapped header, for counters of rules. Never NULL (in memory mode it lies in memory). */
struct qn_trace_header *qn_trace_header(struct qn_trace *trace);

#endif
