/* Files of a run: copied, read whole, removed. */
#ifndef QN_CHECK_FILES_H
#define QN_CHECK_FILES_H

#include "server/base/buf.h"
#include "server/base/error.h"

/* A file that is not there is not copied. */
void qn_files_copy(const char *from, const char *to);
/* Appends the whole file; "-" is stdin. */
QN_MUST_CHECK bool qn_files_read(const char *path, struct qn_buf *buf, struct qn_error *err);
/* ": " and the last line that a command printed there, for people to see; else empty. */
enum { QN_LAST_LINE_MAX = 160 };
void qn_files_last_line(const char *path, char line[QN_LAST_LINE_MAX]);
/* The directory and all in it. */
void qn_files_remove_tree(const char *path);

#endif
