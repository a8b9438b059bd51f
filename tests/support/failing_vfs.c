/* An SQLite VFS that can be told to fail. */
#include "tests/support/failing_vfs.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

struct file {
    sqlite3_file base;
    const char *name;    /* SQLite keeps it for the file's life; NULL for a temporary one */
    sqlite3_file real[]; /* as large as the real VFS wants it */
};

/* Set by the test, read by the writer's thread. */
static _Atomic int failing_calls;
static _Atomic int failing_code;
static _Atomic int passages_left;
static _Atomic int failures_left;
static _Atomic int failures;
static _Atomic(const char *) failing_ending;

static sqlite3_vfs vfs;
static sqlite3_vfs *real_vfs;

static void arm(int calls, const char *ending, int code, int passages, int most)
{
    atomic_store(&failing_calls, 0);
    atomic_store(&failing_ending, ending);
    atomic_store(&failing_code, code);
    atomic_store(&passages_left, passages);
    atomic_store(&failures_left, most);
    atomic_store(&failures, 0);
    atomic_store(&failing_calls, code == SQLITE_OK ? 0 : calls);
}

void failing_vfs_fail(int calls, const char *ending, int code, int passages)
{
    arm(calls, ending, code, passages, INT_MAX);
}

void failing_vfs_fail_once(int calls, const char *ending, int code, int passages)
{
    arm(calls, ending, code, passages, 1);
}

int failing_vfs_failures(void)
{
    return atomic_load(&failures);
}

static bool ends_with(const char *name, const char *ending)
{
    size_t len = strlen(ending);
    if (name == NULL) {
        return len == 0;
    }
    return strlen(name) >= len && strcmp(name + strlen(name) - len, ending) == 0;
}

static bool fails_on(const char *name, int call, int *ret_code)
{
    if ((atomic_load(&failing_calls) & call) == 0 ||
        !ends_with(name, atomic_load(&failing_ending)) || atomic_fetch_sub(&passages_left, 1) > 0 ||
        atomic_fetch_sub(&failures_left, 1) <= 0) {
        return false;
    }
    atomic_fetch_add(&failures, 1);
    *ret_code = atomic_load(&failing_code);
    return true;
}

static bool fails(sqlite3_file *base, int call, int *ret_code)
{
    return fails_on(((struct file *)(void *)base)->name, call, ret_code);
}

static sqlite3_file *real_of(sqlite3_file *base)
{
    return ((struct file *)(void *)base)->real;
}

static int file_close(sqlite3_file *base)
{
    return real_of(base)->pMethods == NULL ? SQLITE_OK
                                           : real_of(base)->pMethods->xClose(real_of(base));
}

static int file_read(sqlite3_file *base, void *bytes, int len, sqlite3_int64 at)
{
    int code;
    return fails(base, FAILING_READ, &code)
               ? code
               : real_of(base)->pMethods->xRead(real_of(base), bytes, len, at);
}

static int file_write(sqlite3_file *base, const void *bytes, int len, sqlite3_int64 at)
{
    int code;
    if (fails(base, FAILING_WRITE, &code)) {
        return code;
    }
    if (fails(base, FAILING_SHORT_WRITE, &code)) {
        (void)real_of(base)->pMethods->xWrite(real_of(base), bytes, len / 2, at);
        return code;
    }
    return real_of(base)->pMethods->xWrite(real_of(base), bytes, len, at);
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    int code;
    return fails(base, FAILING_TRUNCATE, &code)
               ? code
               : real_of(base)->pMethods->xTruncate(real_of(base), size);
}

static int file_sync(sqlite3_file *base, int flags)
{
    int code;
    return fails(base, FAILING_SYNC, &code) ? code
                                            : real_of(base)->pMethods->xSync(real_of(base), flags);
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
    int code;
    return fails(base, FAILING_SIZE, &code)
               ? code
               : real_of(base)->pMethods->xFileSize(real_of(base), size);
}

static int file_lock(sqlite3_file *base, int lock)
{
    int code;
    return fails(base, FAILING_LOCK, &code) ? code
                                            : real_of(base)->pMethods->xLock(real_of(base), lock);
}

static int file_unlock(sqlite3_file *base, int lock)
{
    return real_of(base)->pMethods->xUnlock(real_of(base), lock);
}

static int file_check_lock(sqlite3_file *base, int *result)
{
    return real_of(base)->pMethods->xCheckReservedLock(real_of(base), result);
}

static int file_control(sqlite3_file *base, int operation, void *argument)
{
    return real_of(base)->pMethods->xFileControl(real_of(base), operation, argument);
}

static int file_sector_size(sqlite3_file *base)
{
    return real_of(base)->pMethods->xSectorSize(real_of(base));
}

static int file_characteristics(sqlite3_file *base)
{
    return real_of(base)->pMethods->xDeviceCharacteristics(real_of(base));
}

static int file_shm_map(sqlite3_file *base, int page, int size, int extend, void volatile **map)
{
    int code;
    return fails(base, FAILING_SHM_MAP, &code)
               ? code
               : real_of(base)->pMethods->xShmMap(real_of(base), page, size, extend, map);
}

static int file_shm_lock(sqlite3_file *base, int offset, int count, int flags)
{
    int code;
    /* Giving a lock back cannot fail. */
    return (flags & SQLITE_SHM_LOCK) != 0 && fails(base, FAILING_SHM_LOCK, &code)
               ? code
               : real_of(base)->pMethods->xShmLock(real_of(base), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *base)
{
    real_of(base)->pMethods->xShmBarrier(real_of(base));
}

static int file_shm_unmap(sqlite3_file *base, int delete)
{
    return real_of(base)->pMethods->xShmUnmap(real_of(base), delete);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int vfs_open(sqlite3_vfs *self, const char *name, sqlite3_file *base, int flags,
                    int *ret_flags)
{
    struct file *file = (struct file *)(void *)base;
    int code;
    (void)self;
    file->base.pMethods = NULL;
    file->name = name;
    if (fails_on(name, FAILING_OPEN, &code)) {
        return code;
    }
    int rc = real_vfs->xOpen(real_vfs, name, file->real, flags, ret_flags);
    if (file->real->pMethods != NULL) {
        file->base.pMethods = &methods;
    }
    return rc;
}

static int vfs_delete(sqlite3_vfs *self, const char *name, int sync_folder)
{
    int code;
    (void)self;
    return fails_on(name, FAILING_DELETE, &code) ? code
                                                 : real_vfs->xDelete(real_vfs, name, sync_folder);
}

void failing_vfs_install(void)
{
    if (real_vfs != NULL) {
        return;
    }
    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs; /* all but this is the real one's; its functions ignore which VFS calls */
    vfs.zName = "failing";
    vfs.pNext = NULL;
    vfs.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
    vfs.xOpen = vfs_open;
    vfs.xDelete = vfs_delete;
    (void)sqlite3_vfs_register(&vfs, 1);
}
