/* Looking for a program without starting it. */
#include "server/base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/str.h"

/* 0, or what exec() would say. */
static int look(const char *path)
{
    struct stat status;

    if (stat(path, &status) < 0) {
        return errno;
    }
    if (!S_ISREG(status.st_mode)) {
        return EACCES;
    }
    return access(path, X_OK) < 0 ? errno : 0;
}

/* The interpreter of a script; empty: it names none, or cannot be read and is none. */
static void read_interpreter(const char *path, char *ret_interpreter, size_t size)
{
    char line[PATH_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd >= 0 ? read(fd, line, sizeof(line)) : 0;

    ret_interpreter[0] = '\0';
    if (fd >= 0) {
        (void)close(fd);
    }
    if (got < 3 || line[0] != '#' || line[1] != '!') {
        return;
    }
    struct qn_str text = qn_str(line + 2, (size_t)got - 2);
    text = qn_str_trim(qn_str_first(text, qn_str_find_char(text, '\n')));
    text = qn_str_first(text, qn_str_find_char(text, ' '));
    text = qn_str_first(text, qn_str_find_char(text, '\t'));
    (void)snprintf(ret_interpreter, size, "%.*s", QN_STR_ARG(text));
}

/* In the folders of PATH, and what is there but may not be started before what is not there. */
static int search(const char *name, char *ret_path, size_t size)
{
    const char *folders = getenv("PATH");
    struct qn_str rest = qn_str_from_cstr(folders != NULL ? folders : "/bin:/usr/bin");
    int found = ENOENT;

    while (!qn_str_is_none(rest)) {
        struct qn_str folder = qn_str_cut(rest, ':', &rest);
        int length = snprintf(ret_path, size, "%.*s%s%s", QN_STR_ARG(folder),
                              folder.len > 0 ? "/" : "", name);
        int reason = length < (int)size ? look(ret_path) : ENAMETOOLONG;
        if (reason == 0) {
            return 0;
        }
        found = reason == EACCES ? EACCES : found;
    }
    return found;
}

/* What exec() calls a lack of permission is one of two slips. */
static const char *advice(const char *path)
{
    struct stat status;

    if (stat(path, &status) < 0) {
        return "";
    }
    return S_ISDIR(status.st_mode) ? " (it is a folder)" : " (chmod +x makes it a program)";
}

bool qn_program_check(const char *command, struct qn_error *err)
{
    char path[PATH_MAX];
    char interpreter[PATH_MAX];
    int reason;

    if (command[0] == '\0') {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "the command is empty");
    }
    if (strchr(command, '/') == NULL) {
        reason = search(command, path, sizeof(path));
    } else {
        reason = look(command);
        (void)snprintf(path, sizeof(path), "%s", command);
    }
    if (reason != 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "cannot start %.200s: %s%s", command,
                       strerror(reason), reason == EACCES ? advice(path) : "");
    }
    read_interpreter(path, interpreter, sizeof(interpreter));
    reason = interpreter[0] != '\0' ? look(interpreter) : 0;
    return reason == 0 || qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                                  "cannot start %.200s: its first line names %.200s: %s", command,
                                  interpreter, strerror(reason));
}
