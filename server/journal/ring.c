/* The records of the redo ring. */
#include "server/journal/ring.h"

#include "server/base/digest.h"
#include "server/base/failpoint.h"
#include "server/base/log.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Stands in place of a length: the record of this LSN is at the start of the data area. */
#define WRAP UINT32_MAX

/* Behind the last good record, for good ones behind a bad one: longer than the longest entry of a
 * request, and read within a millisecond. */
enum { LOOK_AHEAD = 2 * 1024 * 1024 };

/* The payload follows. Everything is aligned to 8 bytes, so a header is never torn by the end of
 * the area; an end that is too short for one is passed over without a mark. */
struct header {
    uint32_t checksum; /* CRC-32C over what follows and the payload, begun with the ring's own */
    uint32_t length;
    uint64_t lsn;
    int64_t now_ms;
};

struct qn_ring {
    char *data;
    uint64_t size;
    uint64_t database_id;
    /* The checksum begins with the database and the start, so that neither another database's bytes
     * nor those of an earlier start pass for records: after a power cut LSNs are given out a second
     * time. */
    uint32_t checksum_start;
    uint64_t max_used;                  /* producer's */
    _Atomic uint64_t last_lsn;          /* producer publishes */
    _Atomic uint64_t tail;              /* producer publishes */
    _Alignas(64) _Atomic uint64_t head; /* consumer publishes */
};

static uint64_t record_size(uint64_t length)
{
    return (sizeof(struct header) + length + 7) & ~UINT64_C(7);
}

static uint32_t checksum(const struct qn_ring *ring, const struct header *header,
                         const char *payload)
{
    uint32_t crc = qn_digest_crc32c(ring->checksum_start, &header->length,
                                    sizeof(*header) - offsetof(struct header, length));
    return header->length == WRAP ? crc : qn_digest_crc32c(crc, payload, header->length);
}

struct qn_ring *qn_ring_new(char *data, uint64_t size, uint64_t database_id)
{
    struct qn_ring *ring = qn_memory_new(sizeof(*ring));
    ring->data = data;
    ring->size = size;
    ring->database_id = database_id;
    return ring;
}

void qn_ring_free(struct qn_ring *ring)
{
    qn_memory_free(ring);
}

void qn_ring_set_boot(struct qn_ring *ring, uint64_t boot)
{
    const uint64_t names[2] = {ring->database_id, boot};
    ring->checksum_start = qn_digest_crc32c(0, names, sizeof(names));
}

static struct header header_at(const struct qn_ring *ring, uint64_t offset)
{
    struct header header;
    memcpy(&header, ring->data + offset, sizeof(header));
    return header;
}

/* Whether the record (or wrap mark) with this LSN stands whole at the offset. */
static bool is_good(const struct qn_ring *ring, uint64_t offset, uint64_t lsn)
{
    uint64_t left = ring->size - offset;
    if (left < sizeof(struct header)) {
        return false;
    }
    struct header header = header_at(ring, offset);
    if (header.lsn != lsn || (header.length != WRAP && record_size(header.length) > left)) {
        return false;
    }
    return header.checksum == checksum(ring, &header, ring->data + offset + sizeof(header));
}

/* Looks for the whole record with this LSN behind one that ended at `at`: there, or at the start of
 * the next lap. */
static bool find_good(const struct qn_ring *ring, uint64_t at, uint64_t lsn, uint64_t *ret_at)
{
    uint64_t offset = at % ring->size;
    uint64_t left = ring->size - offset;
    bool is_here = is_good(ring, offset, lsn);
    if (is_here && header_at(ring, offset).length != WRAP) {
        *ret_at = at;
        return true;
    }
    if (!is_here && left >= sizeof(struct header)) {
        return false;
    }
    if (!is_good(ring, 0, lsn) || header_at(ring, 0).length == WRAP) {
        return false;
    }
    *ret_at = at + left;
    return true;
}

void qn_ring_recover(struct qn_ring *ring, uint64_t boot, struct qn_ring_position position,
                     struct qn_ring_cursor *ret_cursor)
{
    /* A ring made anew may be smaller than the one the position is from. */
    uint64_t start = position.offset < ring->size && position.offset % 8 == 0 ? position.offset : 0;
    uint64_t tail = start;
    uint64_t lsn = position.lsn;
    uint64_t at;

    qn_ring_set_boot(ring, boot);
    while (find_good(ring, tail, lsn + 1, &at)) {
        uint64_t end = at + record_size(header_at(ring, at % ring->size).length);
        if (end - start > ring->size) {
            break;
        }
        tail = end;
        lsn++;
    }
    atomic_store(&ring->head, start);
    atomic_store(&ring->tail, tail);
    atomic_store(&ring->last_lsn, lsn);
    *ret_cursor = (struct qn_ring_cursor){.at = start, .lsn = position.lsn};
}

/* Whether a record of this LSN was begun here; its number may be what is damaged. */
static bool was_written(const struct qn_ring *ring, uint64_t offset, uint64_t lsn)
{
    if (ring->size - offset < sizeof(struct header)) {
        return false;
    }
    struct header header = header_at(ring, offset);
    if (header.lsn == lsn) {
        return true;
    }
    header.lsn = lsn;
    return (header.length == WRAP || (header.length <= qn_ring_payload_max(ring) &&
                                      record_size(header.length) <= ring->size - offset)) &&
           header.checksum == checksum(ring, &header, ring->data + offset + sizeof(header));
}

bool qn_ring_is_broken(const struct qn_ring *ring)
{
    uint64_t lsn = atomic_load(&ring->last_lsn) + 1;
    uint64_t offset = atomic_load(&ring->tail) % ring->size;
    uint64_t look = ring->size < LOOK_AHEAD ? ring->size : LOOK_AHEAD;

    if (was_written(ring, offset, lsn)) {
        return true;
    }
    /* What earlier laps left has lower numbers, what earlier starts left other checksums. */
    for (uint64_t looked = 0; looked < look; looked += 8, offset = (offset + 8) % ring->size) {
        if (ring->size - offset < sizeof(struct header)) {
            continue;
        }
        uint64_t found = header_at(ring, offset).lsn;
        if (found >= lsn && found - lsn <= look / sizeof(struct header) &&
            is_good(ring, offset, found)) {
            return true;
        }
    }
    return false;
}

bool qn_ring_is_ahead(struct qn_ring *ring, uint64_t boot)
{
    uint64_t at;

    qn_ring_set_boot(ring, boot + 1);
    bool is_ahead =
        find_good(ring, atomic_load(&ring->tail), atomic_load(&ring->last_lsn) + 1, &at);
    qn_ring_set_boot(ring, boot);
    return is_ahead;
}

/* The payload goes first, the header last: a record that is half there has no header that fits it.
 */
static void write_record(struct qn_ring *ring, uint64_t offset, struct header header,
                         const char *payload)
{
    char *at = ring->data + offset;
    if (header.length != WRAP && header.length > 0) {
        memcpy(at + sizeof(header), payload, header.length);
    }
    (void)qn_failpoint("ring.mid_append");
    header.checksum = checksum(ring, &header, payload);
    atomic_signal_fence(
        memory_order_seq_cst); /* a killed process leaves its stores in this order */
    memcpy(at, &header, sizeof(header));
}

/* A mistake of ours; but to write on would destroy what was promised to be kept, so this is checked
 * in every build. */
static _Noreturn void fail_append(const struct qn_ring *ring, size_t len)
{
    qn_log(QN_LOG_ERROR, "journal", "an entry was appended that does not fit bytes=%zu used=%llu",
           len, (unsigned long long)qn_ring_used(ring));
    abort();
}

uint64_t qn_ring_append(struct qn_ring *ring, struct qn_str payload, int64_t now_ms)
{
    uint64_t at = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t lsn = atomic_load_explicit(&ring->last_lsn, memory_order_relaxed) + 1;
    uint64_t left = ring->size - at % ring->size;
    uint64_t size = record_size(payload.len);

    if (payload.len > qn_ring_payload_max(ring) ||
        at + size + (left < size ? left : 0) - head > ring->size) {
        fail_append(ring, payload.len);
    }
    if (left < size) {
        if (left >= sizeof(struct header)) {
            write_record(ring, at % ring->size, (struct header){.length = WRAP, .lsn = lsn}, NULL);
        }
        at += left;
    }
    write_record(ring, at % ring->size,
                 (struct header){.length = (uint32_t)payload.len, .lsn = lsn, .now_ms = now_ms},
                 payload.ptr);
    at += size;
    if (at - head > ring->max_used) {
        ring->max_used = at - head;
    }
    /* Sequentially consistent, because who appends looks next whether the other side sleeps. */
    atomic_store(&ring->tail, at);
    atomic_store(&ring->last_lsn, lsn);
    return lsn;
}

bool qn_ring_has_room(const struct qn_ring *ring)
{
    return qn_ring_used(ring) < ring->size - ring->size / 4;
}

uint64_t qn_ring_payload_max(const struct qn_ring *ring)
{
    /* At the end of a lap up to another record's size is passed over. */
    uint64_t half_of_quarter = ring->size / 8 - sizeof(struct header) - 8;
    return half_of_quarter < WRAP ? half_of_quarter : WRAP - 1;
}

uint64_t qn_ring_max_used(const struct qn_ring *ring)
{
    return ring->max_used;
}

uint64_t qn_ring_last_lsn(const struct qn_ring *ring)
{
    return atomic_load(&ring->last_lsn);
}

uint64_t qn_ring_used(const struct qn_ring *ring)
{
    /* Head first: it never passes a tail that is read later. */
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    return atomic_load(&ring->tail) - head;
}

uint64_t qn_ring_size(const struct qn_ring *ring)
{
    return ring->size;
}

bool qn_ring_take(const struct qn_ring *ring, struct qn_ring_cursor *cursor,
                  struct qn_ring_record *ret_record)
{
    if (cursor->at == atomic_load(&ring->tail)) {
        return false;
    }
    uint64_t at = cursor->at;
    uint64_t left = ring->size - at % ring->size;
    if (left < sizeof(struct header) || header_at(ring, at % ring->size).length == WRAP) {
        at += left;
    }
    struct header header = header_at(ring, at % ring->size);
    assert(header.lsn == cursor->lsn + 1);
    *ret_record = (struct qn_ring_record){
        .lsn = header.lsn,
        .now_ms = header.now_ms,
        .payload = qn_str(ring->data + at % ring->size + sizeof(header), header.length),
    };
    cursor->at = at + record_size(header.length);
    cursor->lsn = header.lsn;
    return true;
}

struct qn_ring_position qn_ring_position(const struct qn_ring *ring,
                                         const struct qn_ring_cursor *cursor)
{
    return (struct qn_ring_position){.lsn = cursor->lsn, .offset = cursor->at % ring->size};
}

void qn_ring_release(struct qn_ring *ring, const struct qn_ring_cursor *cursor)
{
    atomic_store_explicit(&ring->head, cursor->at, memory_order_release);
}
