/* An SQLite VFS that passes everything on to the system's, until it is told to fail. */
#ifndef QN_TESTS_FAILING_VFS_H
#define QN_TESTS_FAILING_VFS_H

enum failing_call {
    FAILING_WRITE = 1,
    FAILING_SHORT_WRITE = 2, /* half of the bytes reach the file */
    FAILING_SYNC = 4,
    FAILING_READ = 8,
    FAILING_TRUNCATE = 16,
    FAILING_SIZE = 32,
    FAILING_OPEN = 64,
    FAILING_DELETE = 128,
    FAILING_LOCK = 256,
    FAILING_SHM_MAP = 512,
    FAILING_SHM_LOCK = 1024
};

/* Becomes the default for connections opened afterwards. Call it before the first. */
void failing_vfs_install(void);

/* From now on, after `passages` more of these calls on files whose name ends like this ("" for
 * all), each of them gives this SQLite code. Calls: a sum of the above. SQLITE_OK turns it off. */
void failing_vfs_fail(int calls, const char *ending, int code, int passages);

/* The same, but only one call fails; those behind it are good again. */
void failing_vfs_fail_once(int calls, const char *ending, int code, int passages);

/* How many calls have failed since the last failing_vfs_fail. */
int failing_vfs_failures(void);

#endif
