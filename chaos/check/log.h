/* What an instance prints, in the order of everything else. */
#ifndef QN_CHECK_LOG_H
#define QN_CHECK_LOG_H

#include <sys/types.h>

#include "chaos/check/record.h"

struct qn_log_reader {
    struct qn_recorder *recorder; /* NULL: not opened */
    struct qn_str instance;       /* its access key, borrowed */
    int file;
    off_t offset;        /* of what was not read yet */
    off_t dropped_bytes; /* of the file, unread */
    size_t lines;
};

/* Begins to follow the file, which is there. Does nothing when it is followed already. */
void qn_log_open(struct qn_log_reader *reader, const char *path, struct qn_str instance,
                 struct qn_recorder *recorder);
/* Records the lines that are new, as `log` events; with is_final the last one too when it has no
 * end. Of a very long log the beginning is recorded. */
void qn_log_read(struct qn_log_reader *reader, bool is_final);
/* For another scenario: what was printed so far goes, from the file too. Does nothing when no file
 * is followed. */
void qn_log_renew(struct qn_log_reader *reader, struct qn_str instance,
                  struct qn_recorder *recorder);
/* Records the rest, or the end of a log that was too long. Accepts a zeroed reader. */
void qn_log_close(struct qn_log_reader *reader);

#endif
