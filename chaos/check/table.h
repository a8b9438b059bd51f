/* A table of small items found by text, kept in the order in which they were first asked for: what
 * a checker remembers per message, per key or per group. */
#ifndef QN_CHECK_TABLE_H
#define QN_CHECK_TABLE_H

#include "chaos/check/texts.h"
#include "server/base/map.h"

struct qn_table_item {
    struct qn_table_item *next; /* in order of arrival */
    struct qn_str key;          /* a copy, or the one that the texts have */
    void *value;                /* item_size bytes, zeroed at first */
};

struct qn_table {
    struct qn_map map;
    struct qn_arena arena;
    struct qn_table_item *first;
    struct qn_table_item *last;
    size_t item_size;
    size_t count;
    /* With texts there is no map: places[number of the text] tells the how manieth item it has, 0
     * none. Items lie in blocks of equally many. */
    const struct qn_texts *texts;
    uint32_t *places;
    size_t place_count;
    char **blocks;
    size_t block_count;
};

void qn_table_init(struct qn_table *table, size_t item_size);
/* All keys are among `texts`, which outlive the table. */
void qn_table_init_for(struct qn_table *table, size_t item_size, const struct qn_texts *texts);
void qn_table_done(struct qn_table *table);
/* The item's value, made if it is not there. */
void *qn_table_at(struct qn_table *table, struct qn_str key);
/* NULL when it is not there. */
void *qn_table_find(const struct qn_table *table, struct qn_str key);
/* The same in a table for texts, many times as fast. They take nothing but what qn_texts_take gave,
 * as the texts of a history's events are. */
void *qn_table_at_kept(struct qn_table *table, struct qn_str kept);
void *qn_table_find_kept(const struct qn_table *table, struct qn_str kept);

#endif
