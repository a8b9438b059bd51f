/* What the files of the trace share: the mapping and the form of a record. */
#ifndef QN_TRACE_RING_H
#define QN_TRACE_RING_H

#include "server/trace/trace.h"

/* The event's size in a record that only fills the ring up to its end. */
#define QN_TRACE_FILLER UINT32_MAX

struct qn_trace_record {
    uint32_t size;       /* with this head and padding; a multiple of 8 */
    uint32_t event_size; /* or QN_TRACE_FILLER: then nothing of what follows is there */
    uint64_t seq;
    int64_t wall_ms;
};

/* Where a reader stopped: the next one begins there instead of at the oldest record. */
struct qn_trace_cursor {
    uint64_t seq;
    uint64_t position; /* of the record behind it */
};

struct qn_trace {
    struct qn_trace_header *header;
    char *ring;
    size_t ring_bytes;
    size_t mapped_bytes; /* 0: in memory */
    bool is_adopted;     /* the memory is somebody else's */
    uint64_t last_seq;
    struct qn_buf scratch;
    struct qn_trace_cursor *cursor;
};

/* The record at a byte position of a mapping, in place. */
static inline char *qn_trace_at(const struct qn_trace *trace, uint64_t position)
{
    return trace->ring + position % trace->ring_bytes;
}

/* Whether a head at this position can be one: nothing beyond the end of the ring or of what was
 * appended. */
static inline bool qn_trace_record_is_sound(const struct qn_trace *trace, uint64_t position,
                                            uint64_t tail, struct qn_trace_record record)
{
    uint64_t room = trace->ring_bytes - position % trace->ring_bytes;

    if (record.size < 2 * sizeof(uint32_t) || record.size % 8 != 0 || record.size > room ||
        record.size > tail - position) {
        return false;
    }
    return record.event_size == QN_TRACE_FILLER ||
           (record.size >= sizeof(record) && record.event_size <= record.size - sizeof(record));
}

/* Reads a head; a filler may be as short as its first two members. */
static inline struct qn_trace_record qn_trace_record_at(const struct qn_trace *trace,
                                                        uint64_t position)
{
    struct qn_trace_record record = {0};
    size_t room = trace->ring_bytes - (size_t)(position % trace->ring_bytes);

    memcpy(&record, qn_trace_at(trace, position), room < sizeof(record) ? room : sizeof(record));
    return record;
}

#endif
