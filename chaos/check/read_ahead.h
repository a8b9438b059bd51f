/* A stored trace, read by two threads: what one has parsed, the other puts into the history. */
#ifndef QN_CHECK_READ_AHEAD_H
#define QN_CHECK_READ_AHEAD_H

#include "chaos/check/history.h"

/* The file to its end, or to the first line that is no event, with which it fails. Whether the file
 * itself could be read to its end is for ferror() to say. The history is touched by the calling
 * thread only. Not settled. */
QN_MUST_CHECK bool qn_history_read_file(struct qn_history *history, FILE *file,
                                        struct qn_error *err);

#endif
