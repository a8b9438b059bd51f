/* Whole copies of the database, from a state that a read transaction holds. */
#ifndef QN_JOURNAL_COPY_H
#define QN_JOURNAL_COPY_H

#include "server/journal/store.h"

/* A connection of its own whose read transaction stays open: what is written meanwhile does not
 * show. By one thread at a time. */
struct qn_copy_view {
    sqlite3 *db;
};

/* Fails as well when the database does not end with this entry. */
QN_MUST_CHECK bool qn_copy_view_open(struct qn_copy_view *view, const struct qn_store *store,
                                     uint64_t lsn, struct qn_error *err);
/* Accepts a zeroed view. */
void qn_copy_view_close(struct qn_copy_view *view);

struct qn_copy {
    sqlite3 *to;
    sqlite3_backup *backup;
};

/* Into a file that is not there. It survives kill -9, but not surely a power cut. To be ended also
 * when it fails. */
QN_MUST_CHECK bool qn_copy_begin(struct qn_copy *copy, const struct qn_copy_view *from,
                                 const char *path, struct qn_error *err);
/* So many pages more; *ret_is_end: it is whole. */
QN_MUST_CHECK bool qn_copy_step(struct qn_copy *copy, int pages, bool *ret_is_end,
                                struct qn_error *err);
void qn_copy_end(struct qn_copy *copy);

/* Puts one database in place of another, in one transaction. Nobody else has either open. */
QN_MUST_CHECK bool qn_copy_over(const char *from_path, const char *path, struct qn_error *err);

#endif
