/* Reading a file line by line. */
#include "server/cli/lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { BLOCK = 64 * 1024 };

void qn_lines_init(struct qn_lines *lines, int fd, const char *name)
{
    *lines = (struct qn_lines){.fd = fd, .name = name};
    qn_buf_init(&lines->buf, QN_LINE_MAX_BYTES + BLOCK);
}

void qn_lines_done(struct qn_lines *lines)
{
    qn_buf_done(&lines->buf);
}

bool qn_lines_fail(const struct qn_lines *lines, struct qn_error *err, const char *format, ...)
{
    char text[QN_ERROR_MESSAGE_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%.200s: line %lld (byte %lld): %.1200s",
                   lines->name, (long long)lines->number, (long long)lines->offset, text);
}

/* Lines that were taken make room for what is read. */
static void forget_taken(struct qn_lines *lines)
{
    struct qn_buf *buf = &lines->buf;

    if (lines->taken > 0) {
        buf->len -= lines->taken;
        memmove(buf->ptr, buf->ptr + lines->taken, buf->len);
        lines->taken = 0;
    }
}

static bool read_more(struct qn_lines *lines, struct qn_error *err)
{
    struct qn_buf *buf = &lines->buf;
    ssize_t got;

    forget_taken(lines);
    if (!qn_buf_reserve(buf, BLOCK)) {
        return qn_lines_fail(lines, err, "longer than %d bytes", QN_LINE_MAX_BYTES);
    }
    do {
        got = read(lines->fd, buf->ptr + buf->len, BLOCK);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "cannot read %s: %s", lines->name, strerror(errno));
    }
    buf->len += (size_t)got;
    lines->at_end = got == 0;
    return true;
}

bool qn_lines_next(struct qn_lines *lines, struct qn_str *ret_line, struct qn_error *err)
{
    size_t looked_at = 0;

    lines->offset = lines->next_offset;
    lines->number++;
    for (;;) {
        struct qn_str left = qn_str_from(qn_buf_str(&lines->buf), lines->taken);
        size_t end = looked_at + qn_str_find_char(qn_str_from(left, looked_at), '\n');
        if (end < left.len || lines->at_end) {
            lines->is_cut = end == left.len && left.len > 0;
            *ret_line = left.len == 0 ? QN_STR_NONE : qn_str_first(left, end);
            lines->taken += end < left.len ? end + 1 : end;
            lines->next_offset += (int64_t)(end < left.len ? end + 1 : end);
            return true;
        }
        looked_at = left.len;
        if (!read_more(lines, err)) {
            return false;
        }
    }
}
