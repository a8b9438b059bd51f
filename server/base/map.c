/* Chained hash table in two generations: while it grows, the old table empties a few buckets per
 * insertion, and a search looks into both. */
#include "server/base/map.h"

#include <assert.h>

/* The next growth comes after at least as many insertions as the old table had buckets, so 1 would
 * do. */
enum { BUCKETS_MIN = 16, MOVED_PER_INSERT = 4 };

/* The caller's hash may be a plain number: multiplying spreads it over the upper bits. */
static size_t bucket_of(uint64_t hash, size_t bucket_count)
{
    int bits = __builtin_ctzll(bucket_count);

    return (size_t)((hash * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - bits));
}

void qn_map_init(struct qn_map *map, qn_map_same *same)
{
    *map = (struct qn_map){.same = same};
}

void qn_map_done(struct qn_map *map)
{
    qn_memory_free(map->buckets);
    qn_memory_free(map->old_buckets);
    *map = (struct qn_map){.same = map->same};
}

static struct qn_map_node *find_in(const struct qn_map *map, struct qn_map_node *node,
                                   uint64_t hash, const void *key)
{
    while (node != NULL && !(node->hash == hash && map->same(node, key))) {
        node = node->next;
    }
    return node;
}

struct qn_map_node *qn_map_find(const struct qn_map *map, uint64_t hash, const void *key)
{
    struct qn_map_node *node;

    if (map->bucket_count == 0) {
        return NULL;
    }
    node = find_in(map, map->buckets[bucket_of(hash, map->bucket_count)], hash, key);
    if (node == NULL && map->old_buckets != NULL) {
        node = find_in(map, map->old_buckets[bucket_of(hash, map->old_bucket_count)], hash, key);
    }
    return node;
}

static void link_node(struct qn_map *map, struct qn_map_node *node)
{
    struct qn_map_node **bucket = &map->buckets[bucket_of(node->hash, map->bucket_count)];

    node->next = *bucket;
    *bucket = node;
}

static void move_buckets(struct qn_map *map, size_t count)
{
    for (; count > 0 && map->moved_buckets < map->old_bucket_count; count--) {
        struct qn_map_node *node = map->old_buckets[map->moved_buckets];
        map->old_buckets[map->moved_buckets++] = NULL;
        while (node != NULL) {
            struct qn_map_node *next = node->next;
            link_node(map, node);
            node = next;
        }
    }
    if (map->old_buckets != NULL && map->moved_buckets == map->old_bucket_count) {
        qn_memory_free(map->old_buckets);
        map->old_buckets = NULL;
        map->old_bucket_count = 0;
        map->moved_buckets = 0;
    }
}

/* A large zeroed table is fresh pages from the system, which costs nothing until they are touched.
 */
static void grow(struct qn_map *map)
{
    size_t bucket_count = map->bucket_count > 0 ? map->bucket_count * 2 : BUCKETS_MIN;

    assert(map->old_buckets == NULL);
    map->old_buckets = map->buckets;
    map->old_bucket_count = map->bucket_count;
    map->moved_buckets = 0;
    map->buckets = qn_memory_new_array(bucket_count, sizeof(*map->buckets));
    map->bucket_count = bucket_count;
}

void qn_map_insert(struct qn_map *map, struct qn_map_node *node, uint64_t hash)
{
    move_buckets(map, MOVED_PER_INSERT);
    if (map->len >= map->bucket_count) {
        grow(map);
    }
    node->hash = hash;
    link_node(map, node);
    map->len++;
}

static bool unlink_from(struct qn_map_node **at, const struct qn_map_node *node)
{
    while (*at != NULL && *at != node) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        return false;
    }
    *at = node->next;
    return true;
}

void qn_map_remove(struct qn_map *map, struct qn_map_node *node)
{
    bool found = unlink_from(&map->buckets[bucket_of(node->hash, map->bucket_count)], node);

    if (!found && map->old_buckets != NULL) {
        found = unlink_from(&map->old_buckets[bucket_of(node->hash, map->old_bucket_count)], node);
    }
    assert(found);
    (void)found;
    node->next = NULL;
    map->len--;
}

static void visit_table(struct qn_map_node *const *buckets, size_t bucket_count,
                        void (*visit)(void *state, struct qn_map_node *node), void *state)
{
    for (size_t i = 0; i < bucket_count; i++) {
        struct qn_map_node *node = buckets[i];
        while (node != NULL) {
            struct qn_map_node *next = node->next;
            visit(state, node);
            node = next;
        }
    }
}

void qn_map_each(const struct qn_map *map, void (*visit)(void *state, struct qn_map_node *node),
                 void *state)
{
    visit_table(map->buckets, map->bucket_count, visit, state);
    visit_table(map->old_buckets, map->old_bucket_count, visit, state);
}
