/* The guard: a pipe whose end it waits for. */
#include "server/base/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GROUPS_MAX = 4096, FIRST_FREE_FD = 4 };

/* One write to the pipe, which is whole because it is short. */
struct word {
    pid_t leader;
    int is_added; /* no bool: a gap behind it would be written too */
};

/* Nothing of the other process stays open here, so that nobody waits for it in vain. */
static int let_go(int fd)
{
    int nothing = open("/dev/null", O_RDWR);

    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
        (void)dup2(nothing, i);
    }
    if (fd != FIRST_FREE_FD - 1) {
        (void)dup2(fd, FIRST_FREE_FD - 1);
    }
    (void)syscall(SYS_close_range, (unsigned)FIRST_FREE_FD, ~0U, 0U);
    return FIRST_FREE_FD - 1;
}

static void take(pid_t *leaders, size_t *count, const struct word *word)
{
    if (word->is_added) {
        leaders[*count] = word->leader;
        *count += *count + 1 < GROUPS_MAX;
        return;
    }
    for (size_t i = 0; i < *count; i++) {
        if (leaders[i] == word->leader) {
            leaders[i] = leaders[--*count];
            return;
        }
    }
}

/* In the new process: nothing that allocates. Whoever signals the other's group, as a terminal
 * does, does not mean this one. */
static _Noreturn void watch(int fd)
{
    pid_t leaders[GROUPS_MAX];
    size_t count = 0;
    struct word word;
    sigset_t all;
    ssize_t got;

    (void)setpgid(0, 0);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    (void)prctl(PR_SET_NAME, "quern-guard");
    fd = let_go(fd);
    while ((got = read(fd, &word, sizeof(word))) == (ssize_t)sizeof(word) ||
           (got < 0 && errno == EINTR)) {
        if (got > 0) {
            take(leaders, &count, &word);
        }
    }
    for (size_t i = 0; i < count; i++) {
        (void)kill(-leaders[i], SIGKILL);
    }
    _exit(0);
}

bool qn_guard_open(struct qn_guard *ret_guard, struct qn_error *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "pipe: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[1]);
        watch(ends[0]);
    }
    (void)close(ends[0]);
    if (pid < 0) {
        (void)qn_fail(err, QN_ERR_INTERNAL, "fork: %s", strerror(errno));
        (void)close(ends[1]);
        return false;
    }
    *ret_guard = (struct qn_guard){.fd = ends[1], .pid = pid};
    return true;
}

void qn_guard_close(struct qn_guard *guard)
{
    if (guard->fd >= 0) {
        (void)close(guard->fd);
        while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        guard->fd = -1;
    }
}

static void tell(const struct qn_guard *guard, pid_t leader, bool is_added)
{
    const struct word word = {.leader = leader, .is_added = is_added};

    /* Without a guard, and when it was killed, all goes on as well. */
    (void)!write(guard->fd, &word, sizeof(word));
}

void qn_guard_add(const struct qn_guard *guard, pid_t leader)
{
    tell(guard, leader, true);
}

void qn_guard_remove(const struct qn_guard *guard, pid_t leader)
{
    tell(guard, leader, false);
}
