/* A 4-ary min-heap: half as deep as a binary one, and the four children lie side by side. */
#include "server/base/heap.h"

#include <assert.h>

enum { FANOUT = 4, CAP_MIN = 16 };

static bool is_before(const struct qn_heap_entry *a, const struct qn_heap_entry *b)
{
    return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

static void place(struct qn_heap *heap, uint32_t position, struct qn_heap_entry entry)
{
    heap->entries[position] = entry;
    heap->moved(heap->owner, entry.item, position);
}

/* Both sifts carry the entry in hand and put it down once, at its final position. */
static void sift_up(struct qn_heap *heap, uint32_t position, struct qn_heap_entry entry)
{
    while (position > 0) {
        uint32_t parent = (position - 1) / FANOUT;
        if (!is_before(&entry, &heap->entries[parent])) {
            break;
        }
        place(heap, position, heap->entries[parent]);
        position = parent;
    }
    place(heap, position, entry);
}

static uint32_t smallest_child(const struct qn_heap *heap, uint32_t first)
{
    uint32_t best = first;

    for (uint32_t child = first + 1; child < heap->len && child < first + FANOUT; child++) {
        if (is_before(&heap->entries[child], &heap->entries[best])) {
            best = child;
        }
    }
    return best;
}

static void sift_down(struct qn_heap *heap, uint32_t position, struct qn_heap_entry entry)
{
    while ((uint64_t)position * FANOUT + 1 < heap->len) {
        uint32_t child = smallest_child(heap, position * FANOUT + 1);
        if (!is_before(&heap->entries[child], &entry)) {
            break;
        }
        place(heap, position, heap->entries[child]);
        position = child;
    }
    place(heap, position, entry);
}

static void settle(struct qn_heap *heap, uint32_t position, struct qn_heap_entry entry)
{
    if (position > 0 && is_before(&entry, &heap->entries[(position - 1) / FANOUT])) {
        sift_up(heap, position, entry);
    } else {
        sift_down(heap, position, entry);
    }
}

void qn_heap_init(struct qn_heap *heap, qn_heap_moved *moved, void *owner)
{
    *heap = (struct qn_heap){.moved = moved, .owner = owner};
}

void qn_heap_done(struct qn_heap *heap)
{
    qn_memory_free(heap->entries);
    heap->entries = NULL;
    heap->len = 0;
    heap->cap = 0;
}

void qn_heap_push(struct qn_heap *heap, int64_t key, uint64_t tie, uint32_t item)
{
    assert(heap->len < QN_HEAP_NONE - 1);
    if (heap->len == heap->cap) {
        uint32_t cap = heap->cap > UINT32_MAX / 2 ? UINT32_MAX : heap->cap * 2;
        heap->cap = cap > CAP_MIN ? cap : CAP_MIN;
        heap->entries = qn_memory_resize(heap->entries, heap->cap, sizeof(*heap->entries));
    }
    heap->len++;
    sift_up(heap, heap->len - 1, (struct qn_heap_entry){.key = key, .tie = tie, .item = item});
}

uint32_t qn_heap_pop(struct qn_heap *heap)
{
    uint32_t item;

    assert(heap->len > 0);
    item = heap->entries[0].item;
    qn_heap_remove(heap, 0);
    return item;
}

void qn_heap_remove(struct qn_heap *heap, uint32_t position)
{
    uint32_t item;

    assert(position < heap->len);
    item = heap->entries[position].item;
    heap->len--;
    if (position < heap->len) {
        settle(heap, position, heap->entries[heap->len]);
    }
    heap->moved(heap->owner, item, QN_HEAP_NONE);
}

void qn_heap_update(struct qn_heap *heap, uint32_t position, int64_t key, uint64_t tie)
{
    struct qn_heap_entry entry;

    assert(position < heap->len);
    entry = heap->entries[position];
    entry.key = key;
    entry.tie = tie;
    settle(heap, position, entry);
}
