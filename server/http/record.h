/* The recording of --record: what was asked and answered, as JSON lines in a file, from which
 * `quern replay` asks the same again. chaos/README.md has the form. */
#ifndef QN_HTTP_RECORD_H
#define QN_HTTP_RECORD_H

#include "server/base/buf.h"
#include "server/base/error.h"

#define QN_RECORD_FORMAT "quern-record-1"
/* What each recording begins with. */
#define QN_RECORD_HEAD "{\"kind\":\"start\",\"format\":\"" QN_RECORD_FORMAT "\","

struct qn_record;

/* A recording that is there is continued, without a line that a crash cut off; another file is
 * refused and left as it was, and so is one in which another server records. */
QN_MUST_CHECK bool qn_record_open(const char *path, struct qn_record **ret_record,
                                  struct qn_error *err);
/* Writes what is left. Accepts NULL. */
void qn_record_close(struct qn_record *record);

/* The lines to be written: whole ones are added at the end. */
struct qn_buf *qn_record_lines(struct qn_record *record);
/* Hands what was added to the system, which keeps it when the process is killed. When the file
 * cannot be written, that is said once; the file ends with its last whole line, and nothing more
 * is recorded. */
void qn_record_flush(struct qn_record *record);
/* The same, once there is enough to be worth it. */
void qn_record_flush_much(struct qn_record *record);

#endif
