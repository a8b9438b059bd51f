/* Starting and ending a function. */
#include "client/lambda/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool names_the_same(const char *a, const char *b)
{
    size_t len = strcspn(b, "=");

    return strncmp(a, b, len) == 0 && a[len] == '=';
}

static bool has_name(const char *const *list, size_t count, const char *entry)
{
    for (size_t i = 0; i < count; i++) {
        if (names_the_same(list[i], entry)) {
            return true;
        }
    }
    return false;
}

static size_t count_of(const char *const *list)
{
    size_t count = 0;

    while (list[count] != NULL) {
        count++;
    }
    return count;
}

/* The entries are borrowed; the array is the caller's. */
static char **make_environment(const char *const *added, const char *const *fallback)
{
    const char *const *own = (const char *const *)environ;
    size_t added_count = count_of(added);
    size_t own_count = count_of(own);
    size_t fallback_count = count_of(fallback);
    const char **all =
        qn_memory_new_array(added_count + own_count + fallback_count + 1, sizeof(*all));
    size_t count = 0;

    for (size_t i = 0; i < added_count; i++) {
        all[count++] = added[i];
    }
    for (size_t i = 0; i < own_count; i++) {
        if (!has_name(added, added_count, own[i])) {
            all[count++] = own[i];
        }
    }
    for (size_t i = 0; i < fallback_count; i++) {
        if (!has_name(all, count, fallback[i])) {
            all[count++] = fallback[i];
        }
    }
    return (char **)(void *)all;
}

static int spawn(char *const *argv, char **environment, int in, int out, pid_t *ret_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;

    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawn_file_actions_init(&files);
    if (in >= 0) {
        (void)posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    } else {
        (void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    (void)posix_spawn_file_actions_adddup2(&files, out >= 0 ? out : STDERR_FILENO, STDOUT_FILENO);
    int reason = posix_spawnp(ret_pid, argv[0], &files, &attributes, argv, environment);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    return reason;
}

bool qn_lambda_process_start(const struct qn_guard *guard, char *const *argv,
                             const char *const *added, const char *const *fallback, int in, int out,
                             pid_t *ret_pid, int *ret_fd, struct qn_error *err)
{
    char **environment = make_environment(added, fallback);
    pid_t pid;
    int reason = spawn(argv, environment, in, out, &pid);

    qn_memory_free(environment);
    if (reason != 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "cannot start %.200s: %s", argv[0],
                       strerror(reason));
    }
    qn_guard_add(guard, pid);
    int fd = pidfd_open(pid, 0);
    if (fd < 0) {
        (void)qn_fail(err, QN_ERR_INTERNAL, "pidfd_open: %s", strerror(errno));
        (void)qn_lambda_process_end(guard, pid);
        return false;
    }
    *ret_pid = pid;
    *ret_fd = fd;
    return true;
}

int qn_lambda_process_end(const struct qn_guard *guard, pid_t pid)
{
    int status = 0;

    (void)kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    (void)kill(-pid, SIGKILL); /* whom it started meanwhile */
    qn_guard_remove(guard, pid);
    return status;
}

void qn_lambda_process_describe(int status, char *text, size_t size)
{
    if (WIFSIGNALED(status)) {
        (void)snprintf(text, size, "was killed by signal %d", WTERMSIG(status));
    } else {
        (void)snprintf(text, size, "left with status %d", WEXITSTATUS(status));
    }
}
