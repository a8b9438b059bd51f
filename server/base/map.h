/* A hash map of nodes that live inside their owners' structs (no allocation per item). It grows a
 * few buckets per insertion: no single call ever moves the whole table. */
#ifndef QN_BASE_MAP_H
#define QN_BASE_MAP_H

#include "server/base/str.h"

struct qn_map_node {
    struct qn_map_node *next;
    uint64_t hash;
};

/* Whether the node is the one with this key. */
typedef bool qn_map_same(const struct qn_map_node *node, const void *key);

struct qn_map {
    struct qn_map_node **buckets;
    size_t bucket_count; /* power of two, 0 before the first insertion */
    struct qn_map_node **old_buckets;
    size_t old_bucket_count;
    size_t moved_buckets; /* of the old table, already empty */
    size_t len;
    qn_map_same *same;
};

void qn_map_init(struct qn_map *map, qn_map_same *same);
/* Frees the tables, not the nodes. */
void qn_map_done(struct qn_map *map);
struct qn_map_node *qn_map_find(const struct qn_map *map, uint64_t hash, const void *key);
/* The node's key must not be in the map. Sets node->hash. */
void qn_map_insert(struct qn_map *map, struct qn_map_node *node, uint64_t hash);
/* The node must be in the map. */
void qn_map_remove(struct qn_map *map, struct qn_map_node *node);
/* Calls visit for each node in no particular order; visit may free the node but not change the map.
 */
void qn_map_each(const struct qn_map *map, void (*visit)(void *state, struct qn_map_node *node),
                 void *state);

/* The struct that a node lies in. */
#define QN_CONTAINER(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
