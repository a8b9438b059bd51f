/* A table by text that holds a limited number of items: when it is full, the one that was touched
 * longest ago makes room. What a detector remembers. */
#ifndef QN_ASSUMPTIONS_MEMO_H
#define QN_ASSUMPTIONS_MEMO_H

#include "server/base/map.h"

struct qn_memo_item {
    struct qn_map_node node;
    struct qn_memo_item *older, *newer;
    struct qn_str key; /* a copy */
    void *value;       /* value_size bytes behind this head */
};

struct qn_memo {
    struct qn_map map;
    struct qn_memo_item *oldest, *newest;
    size_t value_size;
    size_t max;
    uint64_t forgotten; /* items that made room */
    /* Is told of each value before it goes; may be NULL. */
    void (*drop)(void *value);
};

void qn_memo_init(struct qn_memo *memo, size_t value_size, size_t max, void (*drop)(void *value));
/* Accepts a zeroed memo. */
void qn_memo_done(struct qn_memo *memo);
/* Drops everything; the number of forgotten items stays. */
void qn_memo_clear(struct qn_memo *memo);
/* The value of the key, zeroed if it was not there; it is the newest now. */
void *qn_memo_at(struct qn_memo *memo, struct qn_str key);
/* NULL: not there. */
void *qn_memo_find(const struct qn_memo *memo, struct qn_str key);
void qn_memo_remove(struct qn_memo *memo, struct qn_str key);
/* The item that the value is of. */
void qn_memo_drop(struct qn_memo *memo, void *value);

#endif
