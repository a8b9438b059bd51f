/* A table of small items found by text, kept in the order in which they were first asked for: what
 * a checker remembers per message, per key or per group. */
#ifndef QN_CHECK_TABLE_H
#define QN_CHECK_TABLE_H

#include "server/base/arena.h"
#include "server/base/map.h"

struct qn_table_item {
    struct qn_map_node node;
    struct qn_table_item *next; /* in order of arrival */
    struct qn_str key;          /* a copy */
    void *value;                /* item_size bytes, zeroed at first */
};

struct qn_table {
    struct qn_map map;
    struct qn_arena arena;
    struct qn_table_item *first;
    struct qn_table_item *last;
    size_t item_size;
    size_t count;
};

void qn_table_init(struct qn_table *table, size_t item_size);
void qn_table_done(struct qn_table *table);
/* The item's value, made if it is not there. */
void *qn_table_at(struct qn_table *table, struct qn_str key);
/* NULL when it is not there. */
void *qn_table_find(const struct qn_table *table, struct qn_str key);

#endif
