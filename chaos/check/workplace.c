/* The folder that a check works in, and those that killed ones have left. */
#include "chaos/check/workplace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chaos/check/files.h"

static const char prefix[] = "quern-check-";
static const char owner_file[] = "owner";
static const char owner_draft[] = "owner.new";

/* Locked before it has its name, so that nobody finds it without the lock. -1: then nobody can tell
 * whether the folder is in use, and it is left alone. */
static int take(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int owner = openat(folder, owner_draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (owner >= 0 && (flock(owner, LOCK_EX | LOCK_NB) < 0 ||
                       renameat(folder, owner_draft, folder, owner_file) < 0)) {
        (void)close(owner);
        owner = -1;
    }
    if (folder >= 0) {
        (void)close(folder);
    }
    return owner;
}

/* Ours, made by a check, and nobody holds its lock. */
static bool is_left_behind(int parent, const char *name)
{
    struct stat status;
    bool is_free = false;

    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0 ||
        fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(status.st_mode) ||
        status.st_uid != geteuid()) {
        return false;
    }
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int owner = openat(folder, owner_file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (owner >= 0) {
        is_free = flock(owner, LOCK_EX | LOCK_NB) == 0;
        (void)close(owner);
    }
    if (folder >= 0) {
        (void)close(folder);
    }
    return is_free;
}

static void sweep(const char *base)
{
    DIR *parent = opendir(base);
    const struct dirent *entry;

    while (parent != NULL && (entry = readdir(parent)) != NULL) {
        char path[sizeof(((struct qn_workplace *)NULL)->path)];
        int len = snprintf(path, sizeof(path), "%s/%s", base, entry->d_name);
        if (len < (int)sizeof(path) && is_left_behind(dirfd(parent), entry->d_name)) {
            qn_files_remove_tree(path);
        }
    }
    if (parent != NULL) {
        (void)closedir(parent);
    }
}

bool qn_workplace_open(struct qn_workplace *workplace, struct qn_error *err)
{
    const char *base = getenv("TMPDIR");

    base = base != NULL && base[0] != '\0' ? base : "/tmp";
    sweep(base);
    (void)snprintf(workplace->path, sizeof(workplace->path), "%s/%sXXXXXX", base, prefix);
    if (mkdtemp(workplace->path) == NULL) {
        int reason = errno;
        bool ok = qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: %s", workplace->path,
                          strerror(reason));
        workplace->path[0] = '\0';
        return ok;
    }
    workplace->owner = take(workplace->path);
    return true;
}

void qn_workplace_close(struct qn_workplace *workplace)
{
    if (workplace->path[0] == '\0') {
        return;
    }
    qn_files_remove_tree(workplace->path);
    if (workplace->owner >= 0) {
        (void)close(workplace->owner);
    }
}
