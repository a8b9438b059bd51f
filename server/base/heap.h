/* A 4-ary min-heap of small items (indexes into somebody's table), ordered by key, then by tie.
 * The owner is told each item's position, so that an item in the middle can be moved or removed. */
#ifndef QN_BASE_HEAP_H
#define QN_BASE_HEAP_H

#include "server/base/str.h"

#define QN_HEAP_NONE UINT32_MAX

struct qn_heap_entry {
    int64_t key;
    uint64_t tie;
    uint32_t item;
};

/* Called whenever an item stands at a new position; QN_HEAP_NONE when it has left the heap. */
typedef void qn_heap_moved(void *owner, uint32_t item, uint32_t position);

struct qn_heap {
    struct qn_heap_entry *entries;
    uint32_t len;
    uint32_t cap;
    qn_heap_moved *moved;
    void *owner;
};

void qn_heap_init(struct qn_heap *heap, qn_heap_moved *moved, void *owner);
/* Frees the table; `moved` is not called. */
void qn_heap_done(struct qn_heap *heap);
void qn_heap_push(struct qn_heap *heap, int64_t key, uint64_t tie, uint32_t item);
/* The smallest entry, or NULL. Valid until the heap changes. */
static inline const struct qn_heap_entry *qn_heap_top(const struct qn_heap *heap)
{
    return heap->len > 0 ? &heap->entries[0] : NULL;
}
/* Removes the smallest entry; the heap must not be empty. */
uint32_t qn_heap_pop(struct qn_heap *heap);
/* Removes the entry at a position that `moved` gave. */
void qn_heap_remove(struct qn_heap *heap, uint32_t position);
/* Changes key and tie of the entry at a position. */
void qn_heap_update(struct qn_heap *heap, uint32_t position, int64_t key, uint64_t tie);

#endif
