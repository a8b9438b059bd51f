#include "server/base/heap.h"

#include <criterion/criterion.h>

#include "server/base/random.h"

enum { ITEMS = 2000 };

static struct qn_heap heap;
static uint32_t positions[ITEMS]; /* as the heap told them */

static void note_position(void *owner, uint32_t item, uint32_t position)
{
    (void)owner;
    positions[item] = position;
}

static void open_heap(void)
{
    qn_heap_init(&heap, note_position, NULL);
    memset(positions, 0xFF, sizeof(positions));
}

static void close_heap(void)
{
    qn_heap_done(&heap);
}

TestSuite(heap, .init = open_heap, .fini = close_heap);

static void expect_sound(void)
{
    for (uint32_t i = 0; i < heap.len; i++) {
        const struct qn_heap_entry *entry = &heap.entries[i];
        const struct qn_heap_entry *parent = &heap.entries[i > 0 ? (i - 1) / 4 : 0];
        cr_assert_eq(positions[entry->item], i);
        cr_assert(parent->key < entry->key ||
                  (parent->key == entry->key && parent->tie <= entry->tie));
    }
}

Test(heap, an_empty_heap_has_no_top)
{
    cr_expect_null(qn_heap_top(&heap));
}

Test(heap, equal_keys_leave_in_order_of_their_tie)
{
    for (uint32_t i = 0; i < 100; i++) {
        qn_heap_push(&heap, 5, 99 - i, i);
    }
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_eq(qn_heap_top(&heap)->tie, i);
        cr_assert_eq(qn_heap_pop(&heap), 99 - i);
    }
}

Test(heap, items_leave_in_order_whatever_order_they_came_in)
{
    struct qn_random random;
    int64_t last = INT64_MIN;

    qn_random_init(&random, 1, 0, 0);
    for (uint32_t i = 0; i < ITEMS; i++) {
        qn_heap_push(&heap, (int64_t)qn_random_below(&random, 500) - 250, i, i);
    }
    expect_sound();
    for (uint32_t i = 0; i < ITEMS; i++) {
        int64_t key = qn_heap_top(&heap)->key;
        cr_assert_geq(key, last);
        last = key;
        cr_assert_eq(positions[qn_heap_pop(&heap)], QN_HEAP_NONE);
    }
    cr_expect_null(qn_heap_top(&heap));
}

Test(heap, items_in_the_middle_can_be_moved_and_removed)
{
    struct qn_random random;

    qn_random_init(&random, 2, 0, 0);
    for (uint32_t i = 0; i < 300; i++) {
        qn_heap_push(&heap, (int64_t)qn_random_below(&random, 100), i, i);
    }
    for (int step = 0; step < 3000; step++) {
        uint32_t item = (uint32_t)qn_random_below(&random, 300);
        int64_t key = (int64_t)qn_random_below(&random, 100);
        if (positions[item] == QN_HEAP_NONE) {
            qn_heap_push(&heap, key, item, item);
        } else if (qn_random_below(&random, 2) == 0) {
            qn_heap_update(&heap, positions[item], key, item);
        } else {
            qn_heap_remove(&heap, positions[item]);
            cr_assert_eq(positions[item], QN_HEAP_NONE);
        }
        expect_sound();
    }
}

Test(heap, the_last_item_can_be_removed_by_its_position)
{
    qn_heap_push(&heap, 1, 0, 0);
    qn_heap_push(&heap, 2, 0, 1);
    qn_heap_remove(&heap, positions[1]);
    qn_heap_remove(&heap, positions[0]);
    cr_expect_eq(heap.len, 0);
}
