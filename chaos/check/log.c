/* What an instance prints, as events: so a line of its log stands where it was written in the order
 * of everything else. Looked at as often as the server's trace, so it is that exact. */
#include "chaos/check/log.h"

#include <fcntl.h>
#include <unistd.h>

enum {
    LINES_MAX = 2000, /* of one instance in one scenario; a log may have gigabytes */
    TAIL_LINES_MAX = 100,
    LINE_MAX_BYTES = 500,
    BLOCK = 16384,
    TAIL_BYTES = 4096,
    UNREAD_MAX_BYTES = 16 * 1024 * 1024 /* of the file, beyond what is recorded */
};

/* JSON takes UTF-8 only; what is none is shown as a question mark. */
static void append_text(struct qn_buf *buf, struct qn_str s)
{
    while (s.len > 0) {
        size_t len = 1;
        while (len <= 4 && len <= s.len && !qn_str_is_utf8(qn_str_first(s, len))) {
            len++;
        }
        bool is_text = len <= 4 && len <= s.len;
        qn_buf_append(buf, is_text ? s.ptr : "?", is_text ? len : 1);
        s = qn_str_from(s, is_text ? len : 1);
    }
}

static void record_line(struct qn_log_reader *reader, struct qn_str line)
{
    struct qn_check_event event;
    struct qn_check_detail detail;
    struct qn_buf text;

    qn_check_event_init(&event, &detail, QN_CHECK_LOG);
    event.instance = reader->instance;
    qn_buf_init(&text, SIZE_MAX / 2);
    append_text(&text, qn_str_first(line, LINE_MAX_BYTES));
    detail.reason = qn_buf_str(&text);
    qn_record(reader->recorder, &event);
    qn_buf_done(&text);
    reader->lines++;
}

/* Takes whole lines out of the bytes, and the last one without an end if wanted. Returns how many
 * bytes were taken. */
static size_t record_lines(struct qn_log_reader *reader, struct qn_str bytes, bool takes_rest)
{
    size_t taken = 0;

    while (taken < bytes.len && reader->lines < LINES_MAX) {
        struct qn_str rest = qn_str_from(bytes, taken);
        size_t end = qn_str_find_char(rest, '\n');
        if (end == rest.len && !takes_rest && rest.len < BLOCK) {
            break;
        }
        record_line(reader, qn_str_first(rest, end));
        taken += end < rest.len ? end + 1 : end;
    }
    return taken;
}

void qn_log_open(struct qn_log_reader *reader, const char *path, struct qn_str instance,
                 struct qn_recorder *recorder)
{
    if (reader->recorder == NULL) {
        reader->file = open(path, O_RDWR | O_CLOEXEC);
        reader->instance = instance;
        reader->recorder = recorder;
    }
}

/* Who prints gigabytes must not fill the disk: what nobody will read goes. It is written by
 * appending, so the next line stands at the new end. */
static void give_back(struct qn_log_reader *reader)
{
    off_t size = lseek(reader->file, 0, SEEK_END);

    if (size - reader->offset > UNREAD_MAX_BYTES && ftruncate(reader->file, reader->offset) == 0) {
        reader->dropped_bytes += size - reader->offset;
    }
}

void qn_log_read(struct qn_log_reader *reader, bool is_final)
{
    char block[BLOCK];

    while (reader->recorder != NULL && reader->lines < LINES_MAX) {
        ssize_t len = pread(reader->file, block, sizeof(block), reader->offset);
        struct qn_str bytes = qn_str(block, len > 0 ? (size_t)len : 0);
        size_t taken = record_lines(reader, bytes, is_final && bytes.len < BLOCK);
        reader->offset += (off_t)taken;
        if (taken == 0) {
            break;
        }
    }
    if (reader->recorder != NULL && reader->lines >= LINES_MAX) {
        give_back(reader);
    }
}

/* The last whole lines of the text, as many as may be recorded. */
static struct qn_str last_lines(struct qn_str text)
{
    size_t from = text.len;

    for (size_t lines = 0; from > 0; from--) {
        lines += from < text.len && text.ptr[from - 1] == '\n';
        if (lines == TAIL_LINES_MAX - 1) {
            break;
        }
    }
    return qn_str_from(text, from);
}

/* What was printed last says most: where the middle was left out, the end is still told. */
static void record_tail(struct qn_log_reader *reader)
{
    char tail[TAIL_BYTES];
    char left_out[64];
    off_t size = lseek(reader->file, 0, SEEK_END);
    off_t from = size - TAIL_BYTES > reader->offset ? size - TAIL_BYTES : reader->offset;
    ssize_t len = size > from ? pread(reader->file, tail, sizeof(tail), from) : 0;

    if (len <= 0) {
        return;
    }
    struct qn_str text = last_lines(qn_str(tail, (size_t)len));
    off_t skipped = size - (off_t)text.len - reader->offset + reader->dropped_bytes;
    (void)snprintf(left_out, sizeof(left_out), "(%lld bytes are left out here)",
                   (long long)skipped);
    reader->lines = LINES_MAX - TAIL_LINES_MAX;
    if (skipped > 0) {
        record_line(reader, qn_str_from_cstr(left_out));
    }
    (void)record_lines(reader, text, true);
}

void qn_log_close(struct qn_log_reader *reader)
{
    if (reader->recorder == NULL) {
        return;
    }
    qn_log_read(reader, true);
    if (reader->lines >= LINES_MAX) {
        record_tail(reader);
    }
    if (reader->file >= 0) {
        (void)close(reader->file);
    }
    *reader = (struct qn_log_reader){0};
}

/* It is written by appending, so the next line stands at the beginning. */
void qn_log_renew(struct qn_log_reader *reader, struct qn_str instance,
                  struct qn_recorder *recorder)
{
    if (reader->recorder == NULL) {
        return;
    }
    bool is_empty = ftruncate(reader->file, 0) == 0;
    *reader = (struct qn_log_reader){
        .recorder = recorder,
        .instance = instance,
        .file = reader->file,
        .offset = is_empty ? 0 : lseek(reader->file, 0, SEEK_END),
    };
}
