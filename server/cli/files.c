/* Files that say something about what to do: configuration, rules, the memory of a cgroup. */
#include "server/cli/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 16 * 1024 * 1024 };

static bool read_all(int fd, const char *path, struct qn_buf *buf, struct qn_error *err)
{
    char block[16 * 1024];
    ssize_t got;

    while ((got = read(fd, block, sizeof(block))) != 0) {
        if (got < 0) {
            return qn_fail(err, QN_ERR_INTERNAL, "cannot read %s: %s", path, strerror(errno));
        }
        qn_buf_append(buf, block, (size_t)got);
    }
    return !buf->overflow || qn_fail(err, QN_ERR_INTERNAL, "%s is too large", path);
}

bool qn_file_read_open(int fd, const char *name, char **ret_text, size_t *ret_len,
                       struct qn_error *err)
{
    struct qn_buf buf;
    bool ok;

    qn_buf_init(&buf, FILE_MAX_BYTES);
    ok = read_all(fd, name, &buf, err);
    if (ok) {
        *ret_text = qn_buf_take(&buf, ret_len);
    }
    qn_buf_done(&buf);
    return ok;
}

bool qn_file_read(const char *path, char **ret_text, size_t *ret_len, struct qn_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok;

    if (fd < 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "cannot open %s: %s", path, strerror(errno));
    }
    ok = qn_file_read_open(fd, path, ret_text, ret_len, err);
    (void)close(fd);
    return ok;
}

/* A limit that is not there, or no number ("max"), is none. */
static int64_t limit_in(const char *path)
{
    struct qn_error err;
    int64_t limit = INT64_MAX;
    char *text;
    size_t len;

    if (!qn_file_read(path, &text, &len, &err)) {
        return INT64_MAX;
    }
    while (len > 0 && text[len - 1] == '\n') {
        len--;
    }
    if (!qn_str_to_int64(qn_str(text, len), 1, INT64_MAX, &limit)) {
        limit = INT64_MAX;
    }
    qn_memory_free(text);
    return limit;
}

/* Our own cgroup of version 2 and those above it: the least counts. */
static int64_t own_limit(void)
{
    struct qn_error err;
    int64_t least = INT64_MAX;
    struct qn_str rest;
    char *text;
    size_t len;

    if (!qn_file_read("/proc/self/cgroup", &text, &len, &err)) {
        return INT64_MAX;
    }
    rest = qn_str(text, len);
    while (rest.len > 0) {
        struct qn_str line = qn_str_cut(rest, '\n', &rest);
        struct qn_str path = qn_str_from(line, strlen("0::"));
        if (!qn_str_starts_with(line, QN_STR("0::/"))) {
            continue;
        }
        while (path.len > 1) {
            char file[512];
            (void)snprintf(file, sizeof(file), "/sys/fs/cgroup%.*s/memory.max", QN_STR_ARG(path));
            int64_t limit = limit_in(file);
            least = limit < least ? limit : least;
            while (path.ptr[path.len - 1] != '/') {
                path.len--;
            }
            path.len--;
        }
    }
    qn_memory_free(text);
    return least;
}

size_t qn_memory_default(void)
{
    int64_t pages = sysconf(_SC_PHYS_PAGES);
    int64_t page_bytes = sysconf(_SC_PAGESIZE);
    int64_t least = pages > 0 && page_bytes > 0 ? pages * page_bytes : INT64_C(1) << 30;
    /* In a container its own cgroup is the root of what it sees: versions 2 and 1. */
    const int64_t limits[] = {own_limit(), limit_in("/sys/fs/cgroup/memory.max"),
                              limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes")};

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        least = limits[i] < least ? limits[i] : least;
    }
    return (size_t)(least / 4 * 3);
}
