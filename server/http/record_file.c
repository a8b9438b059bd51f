/* The file of a recording: whole lines, appended in large pieces. */
#include "server/http/record.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/http/internal.h"

enum { ENOUGH = 64 * 1024, BLOCK = 4096 };

struct qn_record {
    int fd; /* -1: nothing more is recorded */
    char *path;
    struct qn_buf lines;
    off_t end; /* of the last whole line in the file */
};

struct qn_buf *qn_record_lines(struct qn_record *record)
{
    return &record->lines;
}

static bool fail_file(const char *path, struct qn_error *err)
{
    return qn_fail(err, QN_ERR_INTERNAL, "--record: cannot open %s: %s", path, strerror(errno));
}

/* Behind the last line feed of the file; -1 when it cannot be read. */
static off_t end_of_lines(int fd, off_t size)
{
    char block[BLOCK];

    while (size > 0) {
        off_t from = size > BLOCK ? size - BLOCK : 0;
        ssize_t got = pread(fd, block, (size_t)(size - from), from);
        if (got != size - from) {
            return -1;
        }
        for (ssize_t i = got; i > 0; i--) {
            if (block[i - 1] == '\n') {
                return from + i;
            }
        }
        size = from;
    }
    return 0;
}

/* Whether the file begins as a recording does; one whose first line was cut off is begun anew. */
static bool is_ours(int fd, off_t size)
{
    struct qn_str head = QN_STR(QN_RECORD_HEAD);
    char begin[sizeof(QN_RECORD_HEAD)];
    size_t len = size < (off_t)head.len ? (size_t)size : head.len;

    return pread(fd, begin, len, 0) == (ssize_t)len && memcmp(begin, head.ptr, len) == 0;
}

static bool take_up(struct qn_record *record, struct qn_error *err)
{
    struct stat status;

    if (fstat(record->fd, &status) != 0) {
        return fail_file(record->path, err);
    }
    if (!S_ISREG(status.st_mode)) {
        return qn_fail(err, QN_ERR_INTERNAL, "--record: %s is not a regular file", record->path);
    }
    if (flock(record->fd, LOCK_EX | LOCK_NB) != 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "--record: another server records in %s",
                       record->path);
    }
    if (!is_ours(record->fd, status.st_size)) {
        return qn_fail(err, QN_ERR_INTERNAL,
                       "--record: %s is no recording; name a file that is not there yet",
                       record->path);
    }
    record->end = end_of_lines(record->fd, status.st_size);
    if (record->end < 0 || ftruncate(record->fd, record->end) != 0 ||
        lseek(record->fd, record->end, SEEK_SET) < 0) {
        return fail_file(record->path, err);
    }
    return true;
}

bool qn_record_open(const char *path, struct qn_record **ret_record, struct qn_error *err)
{
    struct qn_record *record = qn_memory_new(sizeof(*record));
    bool ok;

    record->path = qn_memory_copy_text(path, strlen(path));
    qn_buf_init(&record->lines, SIZE_MAX / 2);
    /* Not to wait for the reader of a pipe. */
    record->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    ok = record->fd >= 0 ? take_up(record, err) : fail_file(path, err);
    if (ok) {
        *ret_record = record;
    } else {
        qn_record_close(record);
    }
    return ok;
}

static void end_recording(struct qn_record *record, const char *why)
{
    qn_log(QN_LOG_ERROR, "record", "%s cannot be written, nothing more is recorded: %s",
           record->path, why);
    if (ftruncate(record->fd, record->end) != 0) {
        qn_log(QN_LOG_ERROR, "record", "its last line is cut off: %s", strerror(errno));
    }
    (void)close(record->fd);
    record->fd = -1;
}

/* How much of the text are whole lines. */
static size_t whole_lines(struct qn_str text)
{
    while (text.len > 0 && text.ptr[text.len - 1] != '\n') {
        text.len--;
    }
    return text.len;
}

void qn_record_flush(struct qn_record *record)
{
    struct qn_str lines = qn_buf_str(&record->lines);
    size_t done = 0;
    int error = 0;

    while (record->fd >= 0 && done < lines.len && error == 0) {
        ssize_t written = write(record->fd, lines.ptr + done, lines.len - done);
        if (written >= 0) {
            done += (size_t)written;
        } else if (errno != EINTR) {
            error = errno;
        }
    }
    record->end += (off_t)whole_lines(qn_str_first(lines, done));
    if (error != 0) {
        end_recording(record, strerror(error));
    }
    qn_buf_clear(&record->lines);
}

void qn_record_flush_much(struct qn_record *record)
{
    if (record->lines.len >= ENOUGH) {
        qn_record_flush(record);
    }
}

void qn_record_close(struct qn_record *record)
{
    if (record == NULL) {
        return;
    }
    if (record->fd >= 0) {
        qn_record_flush(record);
    }
    if (record->fd >= 0) {
        (void)close(record->fd);
    }
    qn_buf_done(&record->lines);
    qn_memory_free(record->path);
    qn_memory_free(record);
}
