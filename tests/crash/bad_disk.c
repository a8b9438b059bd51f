/* Preloaded into a server: makes its database, write-ahead log or ring fail as a bad disk would,
 * when the test says so.
 *
 * BAD_DISK_ORDERS names a file that both sides map: which files, which calls, which error. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum { WRITE = 1, SHORT_WRITE = 2, SYNC = 4, TRUNCATE = 8, READ = 16, OPEN = 32 };

/* As bad_disk.py packs it. An ending of "" is all of the store's files. */
struct orders {
    volatile uint32_t calls; /* those that fail; 0: the disk is well */
    volatile uint32_t error;
    volatile uint32_t failures; /* counted here */
    char ending[20];            /* of the file's name; not changed while calls is not 0 */
};

static struct orders *orders;

static __attribute__((constructor)) void map_orders(void)
{
    const char *path = getenv("BAD_DISK_ORDERS");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    void *mapping = MAP_FAILED;

    if (fd >= 0) {
        mapping = mmap(NULL, sizeof(*orders), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        (void)close(fd);
    }
    if (mapping == MAP_FAILED) {
        (void)fputs("bad disk: no orders\n", stderr);
        abort();
    }
    orders = mapping;
}

/* The files of a store are "quern.db", "quern.db-wal" and so on. */
static int is_meant(const char *path)
{
    size_t len = strlen(path);
    size_t ending = strlen(orders->ending);

    return strstr(path, "quern.db") != NULL && len >= ending &&
           strcmp(path + len - ending, orders->ending) == 0;
}

static int fails_on(const char *path, uint32_t call)
{
    if (orders == NULL || (orders->calls & call) == 0 || !is_meant(path)) {
        return 0;
    }
    (void)__atomic_fetch_add(&orders->failures, 1, __ATOMIC_RELAXED);
    errno = (int)orders->error;
    return 1;
}

static int fails(int fd, uint32_t call)
{
    char link[32];
    char path[4096];

    if (orders == NULL || (orders->calls & call) == 0) {
        return 0;
    }
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    if (len < 0) {
        return 0;
    }
    path[len] = '\0';
    return fails_on(path, call);
}

/* The function of this name behind ours. */
static void find(const char *name, void *ret_function, size_t size)
{
    void *symbol = dlsym(RTLD_NEXT, name);

    memcpy(ret_function, &symbol, size); /* C does not convert these pointers */
}

#define REAL(name, result, ...)                                                                    \
    static result (*real)(__VA_ARGS__);                                                            \
    if (real == NULL) {                                                                            \
        find(name, &real, sizeof(real));                                                           \
    }

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
    REAL("pwrite64", ssize_t, int, const void *, size_t, off64_t)
    if (fails(fd, WRITE)) {
        return -1;
    }
    if (fails(fd, SHORT_WRITE)) {
        static _Atomic unsigned writes;
        if (writes++ % 2 != 0 || len < 2) {
            return -1;
        }
        len /= 2; /* as the last room of a disk is used; there is none for the rest */
    }
    return real(fd, bytes, len, at);
}

ssize_t pread64(int fd, void *bytes, size_t len, off64_t at)
{
    REAL("pread64", ssize_t, int, void *, size_t, off64_t)
    return fails(fd, READ) ? -1 : real(fd, bytes, len, at);
}

int fdatasync(int fd)
{
    REAL("fdatasync", int, int)
    return fails(fd, SYNC) ? -1 : real(fd);
}

int fsync(int fd)
{
    REAL("fsync", int, int)
    return fails(fd, SYNC) ? -1 : real(fd);
}

int ftruncate64(int fd, off64_t size)
{
    REAL("ftruncate64", int, int, off64_t)
    return fails(fd, TRUNCATE) ? -1 : real(fd, size);
}

int open64(const char *path, int flags, ...)
{
    REAL("open64", int, const char *, int, ...)
    mode_t mode = 0;

    if ((flags & O_CREAT) != 0) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    return fails_on(path, OPEN) ? -1 : real(path, flags, mode);
}
