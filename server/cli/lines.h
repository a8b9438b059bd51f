/* Reading a file line by line, in bounded memory, knowing where each line stands. */
#ifndef QN_CLI_LINES_H
#define QN_CLI_LINES_H

#include "server/base/buf.h"
#include "server/base/error.h"

enum { QN_LINE_MAX_BYTES = 64 * 1024 * 1024 };

struct qn_lines {
    int fd;
    const char *name; /* for messages */
    struct qn_buf buf;
    size_t taken;   /* of buf */
    int64_t offset; /* in the file, of the line that was taken last */
    int64_t next_offset;
    int64_t number; /* of that line, from 1 */
    bool at_end;
    bool is_cut; /* the last line has no line feed */
};

/* Neither fd nor name is taken over. */
void qn_lines_init(struct qn_lines *lines, int fd, const char *name);
void qn_lines_done(struct qn_lines *lines);
/* The next line without its line feed, a view until the next call; none at the end of the file. A
 * last line without line feed is given out too, with `is_cut` set. False: it cannot be read, or a
 * line is longer than QN_LINE_MAX_BYTES. */
QN_MUST_CHECK bool qn_lines_next(struct qn_lines *lines, struct qn_str *ret_line,
                                 struct qn_error *err);
/* "NAME: line N (byte M): ..." */
bool qn_lines_fail(const struct qn_lines *lines, struct qn_error *err, const char *format, ...)
    QN_PRINTF(3, 4);

#endif
