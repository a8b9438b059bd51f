/* The redo ring: the records in a mapped data area. One thread appends, one takes; what was
 * appended survives kill -9, because the mapping is the kernel's.
 *
 * Nobody trusts a stored tail. A start walks from the position that SQLite holds, over records with
 * consecutive LSNs and good checksums, and stops at the first that is not such a one. That is the
 * end, or a damage that is then told. */
#ifndef QN_JOURNAL_RING_H
#define QN_JOURNAL_RING_H

#include "server/base/str.h"

struct qn_ring;

/* How far SQLite has got: the last LSN it holds, and where in the data area the search for the next
 * goes on. */
struct qn_ring_position {
    uint64_t lsn;
    uint64_t offset;
};

struct qn_ring_record {
    uint64_t lsn;
    int64_t now_ms;
    struct qn_str payload; /* a view into the ring, valid until it is released */
};

/* Where the consumer reads. */
struct qn_ring_cursor {
    uint64_t at;  /* counts on from lap to lap: the offset is what remains of it modulo the size */
    uint64_t lsn; /* of the record taken last */
};

/* size: a multiple of 8. The data must outlive the ring. */
struct qn_ring *qn_ring_new(char *data, uint64_t size, uint64_t database_id);
/* Accepts NULL. */
void qn_ring_free(struct qn_ring *ring);

/* Walks from SQLite's position over the records that start number `boot` appended; the cursor
 * stands at the first of them. Before any other call. */
void qn_ring_recover(struct qn_ring *ring, uint64_t boot, struct qn_ring_position position,
                     struct qn_ring_cursor *ret_cursor);
/* After a recovery, while records still belong to that start: whether the record behind the last
 * one was written and is not whole. Looks some way ahead: records that are good behind a gap give
 * it away. */
bool qn_ring_is_broken(const struct qn_ring *ring);
/* After a recovery: whether records of the start behind `boot` follow. A start's number is in the
 * database before its first record is here, so the database is an older state of itself. */
bool qn_ring_is_ahead(struct qn_ring *ring, uint64_t boot);
/* From here on records belong to start number `boot`. */
void qn_ring_set_boot(struct qn_ring *ring, uint64_t boot);

/* Producer. There must be room (below); a payload is at most qn_ring_payload_max() bytes. Returns
 * the LSN. */
uint64_t qn_ring_append(struct qn_ring *ring, struct qn_str payload, int64_t now_ms);
/* Less than three quarters are used: then the largest record fits. */
bool qn_ring_has_room(const struct qn_ring *ring);
uint64_t qn_ring_payload_max(const struct qn_ring *ring);
uint64_t qn_ring_max_used(const struct qn_ring *ring);

/* Any thread. */
uint64_t qn_ring_last_lsn(const struct qn_ring *ring);
uint64_t qn_ring_used(const struct qn_ring *ring);
uint64_t qn_ring_size(const struct qn_ring *ring);

/* Consumer. False when all that was appended has been taken. */
bool qn_ring_take(const struct qn_ring *ring, struct qn_ring_cursor *cursor,
                  struct qn_ring_record *ret_record);
struct qn_ring_position qn_ring_position(const struct qn_ring *ring,
                                         const struct qn_ring_cursor *cursor);
/* What lies before the cursor may be overwritten from now on. */
void qn_ring_release(struct qn_ring *ring, const struct qn_ring_cursor *cursor);

#endif
