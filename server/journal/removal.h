/* Messages and contents that go, each run of neighbouring keys in one statement: a queue that is
 * drained loses its rows in the order of their keys. */
#ifndef QN_JOURNAL_REMOVAL_H
#define QN_JOURNAL_REMOVAL_H

#include "server/journal/store.h"

struct qn_key_list {
    int64_t *keys;
    size_t count;
    size_t cap;
};

struct qn_removal {
    struct qn_key_list messages;
    struct qn_key_list contents; /* by content id */
};

void qn_removal_init(struct qn_removal *removal);
void qn_removal_done(struct qn_removal *removal);
/* Empties; keeps the memory. */
void qn_removal_clear(struct qn_removal *removal);

void qn_removal_add_message(struct qn_removal *removal, int64_t key);
void qn_removal_add_content(struct qn_removal *removal, int64_t content_id);

/* Within a transaction; sorts the lists. No other row goes than those that were added. SQLite's
 * code. */
int qn_removal_apply(struct qn_removal *removal, struct qn_store *store);

#endif
