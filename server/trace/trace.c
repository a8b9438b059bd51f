/* The ring of records, in memory or in a mapped file, and its one writer. */
#include "server/trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/trace/ring.h"

enum { PAGE = 4096, RING_MIN = 64 * 1024, TEXT_MAX = 256 };

#define RING_MAX ((size_t)1 << 40)

static const char magic[8] = {'Q', 'N', 'T', 'R', 'A', 'C', 'E', '1'};

_Static_assert(sizeof(struct qn_trace_header) <= QN_TRACE_HEADER_BYTES,
               "the ring begins behind it");
_Static_assert(QN_TRACE_HEADER_BYTES % PAGE == 0, "so that the ring is page-aligned");

static size_t rounded(size_t ring_bytes)
{
    if (ring_bytes < RING_MIN) {
        return RING_MIN;
    }
    return ring_bytes > RING_MAX ? RING_MAX : (ring_bytes + PAGE - 1) / PAGE * PAGE;
}

static void start_empty(struct qn_trace *trace, size_t ring_bytes)
{
    struct qn_trace_header *header = trace->header;

    atomic_store(&header->next_seq, 1);
    header->ring_bytes = ring_bytes;
    memcpy(header->magic, magic, sizeof(magic)); /* last: a file without it is a fresh one */
}

/* Finds the newest record. After a power failure pages may be missing: what comes behind the first
 * record that cannot be one is given up. */
static void walk(struct qn_trace *trace)
{
    struct qn_trace_header *header = trace->header;
    uint64_t tail = atomic_load(&header->tail);
    uint64_t position = atomic_load(&header->first);

    if (position > tail || tail - position > trace->ring_bytes || position % 8 != 0) {
        position = tail;
        atomic_store(&header->first, tail);
    }
    while (position < tail) {
        struct qn_trace_record record = qn_trace_record_at(trace, position);
        if (!qn_trace_record_is_sound(trace, position, tail, record)) {
            break;
        }
        if (record.event_size != QN_TRACE_FILLER) {
            if (record.seq <= trace->last_seq) {
                break;
            }
            trace->last_seq = record.seq;
        }
        position += record.size;
    }
    atomic_store(&header->tail, position);
    if (atomic_load(&header->next_seq) <= trace->last_seq) {
        atomic_store(&header->next_seq, trace->last_seq + 1);
    }
}

static bool fail_system(const char *path, const char *what, struct qn_error *err)
{
    return qn_fail(err, QN_ERR_INTERNAL, "trace file %s: cannot %s: %s", path, what,
                   strerror(errno));
}

/* Whether the file is ours and what its ring holds. A fresh one has nothing, or zeros only if we
 * were killed before the magic was written. */
static bool check_file(int fd, const char *path, size_t *ring_bytes, bool *ret_fresh,
                       struct qn_error *err)
{
    struct stat status;
    struct qn_trace_header head; /* only the part before the counters is read */
    size_t head_bytes = offsetof(struct qn_trace_header, rule_counters);
    static const char zeros[offsetof(struct qn_trace_header, rule_counters)];

    if (fstat(fd, &status) != 0) {
        return fail_system(path, "look at it", err);
    }
    if (!S_ISREG(status.st_mode)) {
        return qn_fail(err, QN_ERR_INTERNAL, "trace file %s: not a regular file", path);
    }
    *ret_fresh = status.st_size == 0;
    if (*ret_fresh) {
        return true;
    }
    if (pread(fd, &head, head_bytes, 0) != (ssize_t)head_bytes) {
        return qn_fail(err, QN_ERR_INTERNAL, "trace file %s: not a trace of Quern", path);
    }
    *ret_fresh = memcmp(&head, zeros, head_bytes) == 0 &&
                 (uint64_t)status.st_size == QN_TRACE_HEADER_BYTES + (uint64_t)*ring_bytes;
    if (*ret_fresh) {
        return true;
    }
    if (memcmp(head.magic, magic, sizeof(magic)) != 0 || head.ring_bytes < RING_MIN ||
        head.ring_bytes > RING_MAX || head.ring_bytes % PAGE != 0 ||
        (uint64_t)status.st_size != QN_TRACE_HEADER_BYTES + head.ring_bytes) {
        return qn_fail(err, QN_ERR_INTERNAL, "trace file %s: not a trace of Quern", path);
    }
    *ring_bytes = (size_t)head.ring_bytes;
    return true;
}

static bool map_file(struct qn_trace *trace, const char *path, size_t ring_bytes,
                     struct qn_error *err)
{
    bool ok = false;
    bool fresh;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);

    if (fd < 0) {
        return fail_system(path, "open it", err);
    }
    if (!check_file(fd, path, &ring_bytes, &fresh, err)) {
        goto out;
    }
    size_t size = QN_TRACE_HEADER_BYTES + ring_bytes;
    if (fresh) { /* the blocks are taken now: a full disk would otherwise be a SIGBUS later */
        errno = posix_fallocate(fd, 0, (off_t)size);
        if (errno != 0) {
            fail_system(path, "make room for it", err);
            goto out;
        }
    }
    char *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) {
        fail_system(path, "map it", err);
        goto out;
    }
    trace->header = (struct qn_trace_header *)(void *)mapped;
    trace->mapped_bytes = size;
    trace->ring = mapped + QN_TRACE_HEADER_BYTES;
    trace->ring_bytes = ring_bytes;
    if (fresh) {
        start_empty(trace, ring_bytes);
    }
    ok = true;

out:
    close(fd);
    return ok;
}

bool qn_trace_open(const char *path, size_t ring_bytes, struct qn_trace **ret_trace,
                   struct qn_error *err)
{
    struct qn_trace *trace = qn_memory_new(sizeof(*trace));

    ring_bytes = rounded(ring_bytes);
    qn_buf_init(&trace->scratch, SIZE_MAX / 2);
    trace->cursor = qn_memory_new(sizeof(*trace->cursor));
    if (path == NULL) {
        trace->header = qn_memory_new(sizeof(*trace->header));
        trace->ring = qn_memory_new_raw(ring_bytes);
        trace->ring_bytes = ring_bytes;
        start_empty(trace, ring_bytes);
    } else if (!map_file(trace, path, ring_bytes, err)) {
        qn_trace_close(trace);
        return false;
    } else {
        walk(trace);
    }
    *ret_trace = trace;
    return true;
}

struct qn_trace *qn_trace_adopt(void *memory, size_t size)
{
    struct qn_trace *trace = qn_memory_new(sizeof(*trace));

    qn_buf_init(&trace->scratch, SIZE_MAX / 2);
    trace->cursor = qn_memory_new(sizeof(*trace->cursor));
    trace->is_adopted = true;
    trace->header = memory;
    trace->ring = (char *)memory + QN_TRACE_HEADER_BYTES;
    trace->ring_bytes = (size - QN_TRACE_HEADER_BYTES) / PAGE * PAGE;
    if (memcmp(trace->header->magic, magic, sizeof(magic)) != 0) {
        start_empty(trace, trace->ring_bytes);
    }
    walk(trace);
    return trace;
}

void qn_trace_close(struct qn_trace *trace)
{
    if (trace == NULL) {
        return;
    }
    if (trace->is_adopted) {
        trace->header = NULL;
    } else if (trace->mapped_bytes > 0) {
        munmap(trace->header, trace->mapped_bytes);
    } else {
        qn_memory_free(trace->header);
        qn_memory_free(trace->ring);
    }
    qn_buf_done(&trace->scratch);
    qn_memory_free(trace->cursor);
    qn_memory_free(trace);
}

/* The oldest records give way until `bytes` more can follow `tail`. */
static void make_room(struct qn_trace *trace, uint64_t tail, size_t bytes)
{
    struct qn_trace_header *header = trace->header;
    uint64_t first = atomic_load_explicit(&header->first, memory_order_relaxed);

    while (tail + bytes - first > trace->ring_bytes) {
        struct qn_trace_record record = qn_trace_record_at(trace, first);
        if (record.event_size != QN_TRACE_FILLER) {
            atomic_fetch_add_explicit(&header->dropped, 1, memory_order_relaxed);
            atomic_store_explicit(&header->last_dropped_seq, record.seq, memory_order_relaxed);
        }
        first += record.size;
        atomic_store(&header->first, first);
    }
}

static uint64_t put(struct qn_trace *trace, struct qn_str encoded, int64_t wall_ms)
{
    struct qn_trace_header *header = trace->header;
    uint64_t tail = atomic_load_explicit(&header->tail, memory_order_relaxed);
    struct qn_trace_record record = {.event_size = (uint32_t)encoded.len, .wall_ms = wall_ms};
    size_t room = trace->ring_bytes - (size_t)(tail % trace->ring_bytes);

    record.size = (uint32_t)((sizeof(record) + encoded.len + 7) / 8 * 8);
    if (room < record.size) {
        const uint32_t filler[2] = {(uint32_t)room, QN_TRACE_FILLER};
        make_room(trace, tail, room + record.size);
        memcpy(qn_trace_at(trace, tail), filler, sizeof(filler));
        tail += room;
    } else {
        make_room(trace, tail, record.size);
    }
    record.seq = atomic_fetch_add(&header->next_seq, 1);
    memcpy(qn_trace_at(trace, tail), &record, sizeof(record));
    memcpy(qn_trace_at(trace, tail) + sizeof(record), encoded.ptr, encoded.len);
    atomic_store_explicit(&header->tail, tail + record.size, memory_order_release);
    trace->last_seq = record.seq;
    return record.seq;
}

/* An event that would push out most of the others: the parameters go, then the ends of texts. */
static struct qn_str shortened(struct qn_trace *trace, struct qn_event event)
{
    event.parameters = QN_STR_NONE;
    qn_buf_clear(&trace->scratch);
    qn_event_encode(&trace->scratch, &event);
    if (trace->scratch.len > trace->ring_bytes / 4) {
        for (size_t i = 0; i < QN_EVENT_FIELD_COUNT; i++) {
            char *member = (char *)&event + qn_event_fields[i].offset;
            struct qn_str *text = (struct qn_str *)(void *)member;
            if (qn_event_fields[i].is_text) {
                *text = qn_str_is_none(*text) ? *text : qn_str_first(*text, TEXT_MAX);
            }
        }
        qn_buf_clear(&trace->scratch);
        qn_event_encode(&trace->scratch, &event);
    }
    return qn_buf_str(&trace->scratch);
}

uint64_t qn_trace_append(struct qn_trace *trace, const struct qn_event *event, int64_t wall_ms)
{
    qn_buf_clear(&trace->scratch);
    qn_event_encode(&trace->scratch, event);
    if (trace->scratch.len > trace->ring_bytes / 4) {
        return put(trace, shortened(trace, *event), wall_ms);
    }
    return put(trace, qn_buf_str(&trace->scratch), wall_ms);
}

void qn_trace_append_list(struct qn_trace *trace, struct qn_event_list *list, uint64_t lsn,
                          int64_t virtual_ms, int64_t wall_ms,
                          void (*observe)(void *state, const struct qn_event *event), void *state)
{
    size_t at = 0;

    while (at < list->encoded.len) {
        struct qn_reader reader;
        struct qn_event event;
        qn_reader_init(&reader, qn_str_from(qn_buf_str(&list->encoded), at));
        uint32_t size = qn_reader_u32(&reader);
        char *encoded = list->encoded.ptr + at + sizeof(size);
        bool has_lsn = qn_event_is_state((enum qn_event_kind)(uint8_t)encoded[0]);

        qn_event_stamp(encoded, virtual_ms, has_lsn ? lsn : 0);
        at += sizeof(size) + size;
        bool decode = observe != NULL || size > trace->ring_bytes / 4;
        if (decode && !qn_event_decode(&reader, &event)) {
            break; /* nobody but qn_event_list_add writes here */
        }
        put(trace, size > trace->ring_bytes / 4 ? shortened(trace, event) : qn_str(encoded, size),
            wall_ms);
        if (observe != NULL) {
            observe(state, &event);
        }
    }
    qn_buf_clear(&list->encoded);
}

uint64_t qn_trace_last_seq(const struct qn_trace *trace)
{
    return trace->last_seq;
}

struct qn_trace_header *qn_trace_header(struct qn_trace *trace)
{
    return trace->header;
}
