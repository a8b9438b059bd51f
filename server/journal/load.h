/* SQLite into memory: the rows of the living, through the callbacks of qn_journal_open. */
#ifndef QN_JOURNAL_LOAD_H
#define QN_JOURNAL_LOAD_H

#include "server/journal/journal.h"
#include "server/journal/store.h"

/* Hands out names, queues, messages, deduplication, attempts and tasks, each in the order that
 * journal.h promises. */
QN_MUST_CHECK bool qn_load_rows(struct qn_store *store, const struct qn_journal_load *load,
                                struct qn_error *err);

#endif
