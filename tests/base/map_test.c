#include "server/base/map.h"

#include <criterion/criterion.h>

#include "server/base/random.h"

enum { ITEMS = 5000 };

struct item {
    uint64_t key;
    struct qn_map_node node;
    int visits;
    bool is_in;
};

static struct qn_map map;
static struct item items[ITEMS];

static bool same_key(const struct qn_map_node *node, const void *key)
{
    return QN_CONTAINER(node, const struct item, node)->key == *(const uint64_t *)key;
}

static void open_map(void)
{
    qn_map_init(&map, same_key);
    for (uint64_t i = 0; i < ITEMS; i++) {
        items[i] = (struct item){.key = i};
    }
}

static void close_map(void)
{
    qn_map_done(&map);
}

TestSuite(map, .init = open_map, .fini = close_map);

static void count_visit(void *state, struct qn_map_node *node)
{
    (void)state;
    QN_CONTAINER(node, struct item, node)->visits++;
}

Test(map, an_empty_map_finds_nothing)
{
    cr_expect_null(qn_map_find(&map, 0, &items[0].key));
    qn_map_each(&map, count_visit, NULL);
}

Test(map, everything_is_found_while_the_map_grows)
{
    for (uint64_t i = 0; i < ITEMS; i++) {
        qn_map_insert(&map, &items[i].node, i);
        for (uint64_t j = i % 7; j < ITEMS; j += 61) {
            struct qn_map_node *found = qn_map_find(&map, j, &j);
            cr_assert_eq(found, j <= i ? &items[j].node : NULL);
        }
    }
    cr_expect_eq(map.len, ITEMS);
}

Test(map, no_insertion_moves_more_than_a_few_buckets)
{
    size_t moved_before = 0;

    for (uint64_t i = 0; i < ITEMS; i++) {
        bool is_growing = map.old_buckets != NULL;
        qn_map_insert(&map, &items[i].node, i);
        if (is_growing && map.old_buckets != NULL) {
            cr_assert_leq(map.moved_buckets - moved_before, 8);
        }
        moved_before = map.moved_buckets;
    }
}

Test(map, equal_hashes_are_told_apart_by_their_keys)
{
    for (uint64_t i = 0; i < 100; i++) {
        qn_map_insert(&map, &items[i].node, 42);
    }
    for (uint64_t i = 0; i < 100; i++) {
        cr_assert_eq(qn_map_find(&map, 42, &i), &items[i].node);
    }
    for (uint64_t i = 0; i < 100; i += 2) {
        qn_map_remove(&map, &items[i].node);
    }
    for (uint64_t i = 0; i < 100; i++) {
        cr_assert_eq(qn_map_find(&map, 42, &i), i % 2 == 0 ? NULL : &items[i].node);
    }
}

Test(map, inserting_and_removing_at_random_keeps_it_right)
{
    struct qn_random random;
    size_t len = 0;

    qn_random_init(&random, 3, 0, 0);
    for (int step = 0; step < 50000; step++) {
        struct item *item = &items[qn_random_below(&random, ITEMS)];
        uint64_t hash = qn_random_mix(item->key, 0, 0);
        cr_assert_eq(qn_map_find(&map, hash, &item->key), item->is_in ? &item->node : NULL);
        if (item->is_in) {
            qn_map_remove(&map, &item->node);
            len--;
        } else {
            qn_map_insert(&map, &item->node, hash);
            len++;
        }
        item->is_in = !item->is_in;
        cr_assert_eq(map.len, len);
    }
}

Test(map, each_node_is_visited_once_also_in_the_midst_of_growing)
{
    uint64_t count = 0;

    while (count < 1000 || map.old_buckets == NULL) {
        qn_map_insert(&map, &items[count].node, count);
        count++;
    }
    qn_map_each(&map, count_visit, NULL);
    for (uint64_t i = 0; i < ITEMS; i++) {
        cr_assert_eq(items[i].visits, i < count ? 1 : 0);
    }
}
