/* Which files are ours, and how a database comes to its schema. */
#ifndef QN_JOURNAL_SCHEMA_H
#define QN_JOURNAL_SCHEMA_H

#include "server/journal/store.h"

enum qn_schema_file {
    QN_SCHEMA_FILE_NONE,  /* no such file */
    QN_SCHEMA_FILE_EMPTY, /* there, with no bytes: to be taken as new */
    QN_SCHEMA_FILE_OURS
};

/* Looks at the file's header without opening it as a database. Fails when the file is not ours, of
 * a newer schema, or cannot be read. */
QN_MUST_CHECK bool qn_schema_look(const char *path, enum qn_schema_file *ret_file,
                                  struct qn_error *err);

/* Makes the tables of a new database, or brings those of an older one up to date, and prepares all
 * statements. */
QN_MUST_CHECK bool qn_schema_apply(struct qn_store *store, uint64_t seed, struct qn_error *err);

#endif
