/* Files without a name. */
#include "server/cli/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

const char *qn_spool_folder(void)
{
    const char *folder = getenv("TMPDIR");

    return folder != NULL && folder[0] != '\0' ? folder : "/tmp";
}

int qn_spool_open(void)
{
    char path[PATH_BYTES];
    int fd;

    if (snprintf(path, sizeof(path), "%s/quern-XXXXXX", qn_spool_folder()) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) {
        (void)unlink(path);
    }
    return fd;
}

bool qn_spool_write(int fd, struct qn_str bytes)
{
    while (bytes.len > 0) {
        ssize_t written = write(fd, bytes.ptr, bytes.len);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        bytes = qn_str_from(bytes, written > 0 ? (size_t)written : 0);
    }
    return true;
}
