/* The file of the redo ring: lock, header page, mapping. */
#include "server/journal/ring_file.h"

#include "server/base/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, RING_VERSION = 1 };

static const char MAGIC[8] = "QN-RING";

/* Lies at the start of the header page and is written once, after the data area has its place on
 * disk: a file without it was never in use. */
struct header {
    char magic[8];
    uint32_t version;
    uint32_t checksum; /* over the two that follow */
    uint64_t database_id;
    uint64_t size;
};

static bool fail_system(struct qn_error *err, const char *what, const char *path, int error)
{
    return qn_fail(err, QN_ERR_INTERNAL, "%s %s: %s", what, path, strerror(error));
}

static char *ring_path(const char *path)
{
    struct qn_buf buf;
    size_t len;
    qn_buf_init(&buf, SIZE_MAX);
    qn_buf_append_format(&buf, "%s-ring", path);
    return qn_buf_take(&buf, &len);
}

/* Creates the file if it is not there, and notes whether it did. */
static bool open_file(struct qn_ring_file *file, struct qn_error *err)
{
    file->fd = open(file->path, O_RDWR | O_CLOEXEC);
    if (file->fd < 0 && errno == ENOENT) {
        file->fd = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        file->is_made = file->fd >= 0;
        if (file->fd < 0 && errno == EEXIST) { /* somebody was faster: the lock decides */
            file->fd = open(file->path, O_RDWR | O_CLOEXEC);
        }
    }
    return file->fd >= 0 || fail_system(err, "cannot open", file->path, errno);
}

static bool is_regular(const struct qn_ring_file *file)
{
    struct stat status;

    return fstat(file->fd, &status) == 0 && S_ISREG(status.st_mode);
}

bool qn_ring_file_open(const char *path, struct qn_ring_file **ret_file, struct qn_error *err)
{
    struct qn_ring_file *file = qn_memory_new(sizeof(*file));
    bool ok = false;

    file->path = ring_path(path);
    if (!open_file(file, err)) {
        goto out;
    }
    if (!is_regular(file)) { /* a pipe, say, which reads as if it were empty */
        ok = qn_fail(err, QN_ERR_INTERNAL, "%s is no ordinary file: move it away", file->path);
        goto out;
    }
    if (flock(file->fd, LOCK_EX | LOCK_NB) != 0) {
        file->is_made = false; /* who holds the lock uses it */
        ok = errno == EWOULDBLOCK
                 ? qn_fail(err, QN_ERR_INTERNAL,
                           "%s is in use by another quern: stop that one, or give this one another "
                           "file",
                           path)
                 : fail_system(err, "cannot lock", file->path, errno);
        goto out;
    }
    *ret_file = file;
    file = NULL;
    ok = true;

out:
    qn_ring_file_close(file);
    return ok;
}

void qn_ring_file_keep(struct qn_ring_file *file)
{
    file->is_made = false;
}

void qn_ring_file_close(struct qn_ring_file *file)
{
    if (file == NULL) {
        return;
    }
    if (file->is_made) {
        (void)unlink(file->path);
    }
    if (file->mapping != NULL) {
        (void)munmap(file->mapping, PAGE + file->size);
    }
    if (file->fd >= 0) {
        (void)close(file->fd);
    }
    qn_memory_free(file->path);
    qn_memory_free(file);
}

static bool read_header(const struct qn_ring_file *file, struct header *ret_header)
{
    struct header header = {.version = 0};
    if (pread(file->fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header)) {
        return false;
    }
    *ret_header = header;
    return true;
}

bool qn_ring_file_is_blank(const struct qn_ring_file *file)
{
    static const struct header blank;
    struct header header;
    struct stat status;
    if (fstat(file->fd, &status) == 0 && status.st_size == 0) {
        return true;
    }
    return read_header(file, &header) && memcmp(&header, &blank, sizeof(blank)) == 0;
}

bool qn_ring_file_clear(struct qn_ring_file *file, struct qn_error *err)
{
    return ftruncate(file->fd, 0) == 0 || fail_system(err, "cannot empty", file->path, errno);
}

static uint32_t header_checksum(const struct header *header)
{
    uint32_t crc = qn_digest_crc32c(0, &header->database_id, sizeof(header->database_id));
    return qn_digest_crc32c(crc, &header->size, sizeof(header->size));
}

/* The name of a new file is on disk only when its folder is. */
static bool sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? qn_memory_copy_text(".", 1)
                                 : qn_memory_copy_text(path, (size_t)(slash - path) + 1);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    qn_memory_free(folder);
    return ok;
}

/* The place is taken beforehand: a full disk must be an error here, not a SIGBUS in a later store.
 */
static bool make(struct qn_ring_file *file, uint64_t database_id, uint64_t size,
                 struct qn_error *err)
{
    struct header header = {.version = RING_VERSION, .database_id = database_id, .size = size};
    memcpy(header.magic, MAGIC, sizeof(MAGIC));
    header.checksum = header_checksum(&header);

    int error = posix_fallocate(file->fd, 0, (off_t)(PAGE + size));
    if (error != 0) {
        return fail_system(err, "cannot make", file->path, error);
    }
    if (pwrite(file->fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        fsync(file->fd) != 0 || !sync_folder(file->path)) {
        return fail_system(err, "cannot write", file->path, errno);
    }
    return true;
}

/* The size may be anything although the checksum is right: a sum with it could overflow. */
static bool has_whole_pages(const struct qn_ring_file *file, uint64_t size)
{
    struct stat status;

    return size > 0 && size % PAGE == 0 && fstat(file->fd, &status) == 0 &&
           status.st_size >= PAGE && size <= (uint64_t)status.st_size - PAGE;
}

static bool check(struct qn_ring_file *file, uint64_t database_id, struct qn_error *err)
{
    struct header header;
    if (!read_header(file, &header) || memcmp(header.magic, MAGIC, sizeof(MAGIC)) != 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "%s is not a ring of quern: move it away", file->path);
    }
    if (header.version > RING_VERSION) {
        return qn_fail(err, QN_ERR_INTERNAL,
                       "%s was made by a newer quern (version %u of the ring): use that one",
                       file->path, header.version);
    }
    if (header.version == 0 || header.checksum != header_checksum(&header) ||
        !has_whole_pages(file, header.size)) {
        return qn_fail(err, QN_ERR_INTERNAL,
                       "%s is damaged: move it away to go on without the changes in it",
                       file->path);
    }
    if (header.database_id != database_id) {
        return qn_fail(err, QN_ERR_INTERNAL,
                       "%s belongs to another database: bring the two that belong together back",
                       file->path);
    }
    file->size = header.size;
    return true;
}

bool qn_ring_file_map(struct qn_ring_file *file, uint64_t database_id, uint64_t size,
                      struct qn_error *err)
{
    if (qn_ring_file_is_blank(file)) {
        file->is_made = true;
        if (!make(file, database_id, size, err)) {
            return false;
        }
        file->size = size;
    } else if (!check(file, database_id, err)) {
        return false;
    }
    void *mapping = mmap(NULL, PAGE + file->size, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
    if (mapping == MAP_FAILED) {
        return fail_system(err, "cannot map", file->path, errno);
    }
    file->mapping = mapping;
    return true;
}

char *qn_ring_file_data(const struct qn_ring_file *file)
{
    return file->mapping + PAGE;
}

bool qn_ring_file_sync(const struct qn_ring_file *file)
{
    int result;
    do {
        result = fdatasync(file->fd);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}
