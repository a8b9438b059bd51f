/* A process for a message: start it, feed it, wait for it, end it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/consumer/internal.h"
#include "server/base/clock.h"
#include "server/cli/consume.h"

enum {
    LEAVE_MS = 100,      /* for what ends with the command, as a tee behind it */
    KILL_AFTER_MS = 400, /* after SIGTERM */
    KILLED_MS = 400,     /* then nothing runs any more, even if nobody has reaped it */
    LOOK_MS = 5,         /* how often to look for what a command left behind */
    TICK_MS = 20,        /* how often to look where the kernel cannot tell */
    TOGETHER_MAX = 256,  /* of a variable, when they are too long together */
    NOT_STARTED = 127
};

struct process {
    pid_t pid;
    int pid_fd; /* readable at its end; -1 on an old kernel */
    int stdin_fd;
    const char *body;
    size_t left;
    int cancel_fd;
    int64_t kill_at_ms; /* 0: it has not been told to end */
    bool is_killed;
};

/* In the new process, between fork and exec: nothing that allocates. */
static _Noreturn void become(const struct qn_consume *consume,
                             const struct qn_consume_environment *environment, int stdin_fd,
                             int report_fd)
{
    sigset_t none;

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* until it is under guard, and if that is killed */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)dup2(stdin_fd, STDIN_FILENO);
    for (size_t i = 0; i < environment->file_count; i++) {
        (void)fcntl(environment->files[i], F_SETFD, 0);
    }
    (void)execvpe(consume->command[0], consume->command, environment->texts);
    int reason = errno;
    (void)!write(report_fd, &reason, sizeof(reason));
    _exit(NOT_STARTED);
}

/* What the new process says when it could not become the command; 0: the exec closed the pipe. */
static int read_report(int fd)
{
    int reason = 0;
    ssize_t got;

    do {
        got = read(fd, &reason, sizeof(reason));
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(reason) ? reason : 0;
}

static void close_both(const int ends[2])
{
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* 0, or errno. */
static int start(const struct qn_consume *consume, const struct qn_consume_environment *environment,
                 struct process *process)
{
    int ends[2];
    int report[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return errno;
    }
    if (pipe2(report, O_CLOEXEC) != 0) {
        int reason = errno;
        close_both(ends);
        return reason;
    }
    process->pid = fork();
    int reason = process->pid < 0 ? errno : 0;
    if (process->pid == 0) {
        become(consume, environment, ends[0], report[1]);
    }
    if (process->pid > 0) {
        qn_guard_add(&consume->guard, process->pid);
    }
    (void)close(ends[0]);
    (void)close(report[1]);
    if (reason == 0 && (reason = read_report(report[0])) != 0) {
        (void)waitpid(process->pid, NULL, 0);
        qn_guard_remove(&consume->guard, process->pid);
    }
    (void)close(report[0]);
    if (reason != 0) {
        (void)close(ends[1]);
        return reason;
    }
    (void)setpgid(process->pid, process->pid); /* whoever comes first */
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    process->stdin_fd = ends[1];
    process->pid_fd = pidfd_open(process->pid, 0);
    return 0;
}

static void stop_feeding(struct process *process)
{
    if (process->stdin_fd >= 0) {
        (void)close(process->stdin_fd);
        process->stdin_fd = -1;
    }
}

static void feed(struct process *process)
{
    ssize_t written = write(process->stdin_fd, process->body, process->left);

    if (written > 0) {
        process->body += written;
        process->left -= (size_t)written;
    }
    bool has_failed = written < 0 && errno != EAGAIN && errno != EINTR; /* it does not read */
    if (process->left == 0 || has_failed) {
        stop_feeding(process);
    }
}

/* SIGTERM first; when that is of no use, SIGKILL. */
static void end(struct process *process, int64_t now_ms)
{
    if (process->kill_at_ms == 0) {
        process->kill_at_ms = now_ms + KILL_AFTER_MS;
        (void)kill(-process->pid, SIGTERM);
        stop_feeding(process);
    } else if (now_ms >= process->kill_at_ms && !process->is_killed) {
        process->is_killed = true;
        (void)kill(-process->pid, SIGKILL);
    }
}

static int wait_for_change(struct process *process, struct pollfd fds[3], int64_t now_ms)
{
    int64_t wait_ms = process->pid_fd >= 0 ? -1 : TICK_MS;

    fds[0] = (struct pollfd){.fd = process->stdin_fd, .events = POLLOUT};
    fds[1] = (struct pollfd){.fd = process->pid_fd, .events = POLLIN};
    fds[2] =
        (struct pollfd){.fd = process->kill_at_ms == 0 ? process->cancel_fd : -1, .events = POLLIN};
    if (process->kill_at_ms != 0 && !process->is_killed) {
        int64_t left_ms = process->kill_at_ms > now_ms ? process->kill_at_ms - now_ms : 0;
        wait_ms = wait_ms >= 0 && wait_ms < left_ms ? wait_ms : left_ms;
    }
    return poll(fds, 3, (int)wait_ms);
}

static int wait_for_exit(struct process *process)
{
    struct pollfd fds[3];
    int status;

    while (waitpid(process->pid, &status, WNOHANG) == 0) {
        (void)wait_for_change(process, fds, qn_clock_monotonic_ms());
        if (fds[2].revents != 0 || process->kill_at_ms != 0) {
            end(process, qn_clock_monotonic_ms());
        }
        if (fds[0].revents != 0 && process->stdin_fd >= 0) {
            feed(process);
        }
    }
    return status;
}

/* Until the instant: whether nothing of the group is left. As process 1 of a container this one is
 * the parent of what was left behind. */
static bool is_alone_by(pid_t group, int64_t until_ms)
{
    for (;;) {
        while (waitpid(-group, NULL, WNOHANG) > 0) {
        }
        if (kill(-group, 0) != 0) {
            return true;
        }
        if (qn_clock_monotonic_ms() >= until_ms) {
            return false;
        }
        (void)poll(NULL, 0, LOOK_MS);
    }
}

/* What the command left behind would go on with a message that is another's by then. */
static void end_group(struct process *process)
{
    pid_t group = process->pid;
    int64_t now_ms = qn_clock_monotonic_ms();

    if (process->kill_at_ms == 0) {
        if (is_alone_by(group, now_ms + LEAVE_MS)) {
            return;
        }
        end(process, qn_clock_monotonic_ms());
    }
    if (!process->is_killed && !is_alone_by(group, process->kill_at_ms)) {
        (void)kill(-group, SIGKILL);
    }
    (void)is_alone_by(group, qn_clock_monotonic_ms() + KILLED_MS);
}

static int wait_for_end(const struct qn_consume *consume, struct process *process)
{
    int status = wait_for_exit(process);

    stop_feeding(process);
    end_group(process);
    qn_guard_remove(&consume->guard, process->pid);
    if (process->pid_fd >= 0) {
        (void)close(process->pid_fd);
    }
    return status;
}

static struct quern_result result_of(int status)
{
    struct quern_result result = quern_retry(-1);

    if (WIFSIGNALED(status)) {
        (void)snprintf(result.reason, sizeof(result.reason), "ended by signal %d",
                       WTERMSIG(status));
        return result;
    }
    int code = WEXITSTATUS(status);
    if (code == 0) {
        return quern_done();
    }
    if (code == QN_CONSUME_PERMANENT) {
        return quern_permanent("exit code 65");
    }
    (void)snprintf(result.reason, sizeof(result.reason), "exit code %d", code);
    return result;
}

/* Whether it is the command and not the machine or the message: the next start fails too. */
static bool is_of_the_command(int reason)
{
    return reason == ENOENT || reason == EACCES || reason == ENOTDIR || reason == ELOOP ||
           reason == ENOEXEC || reason == EPERM || reason == EISDIR;
}

static struct quern_result not_started(struct qn_consume *consume, int reason)
{
    bool is_of_command = is_of_the_command(reason);
    struct quern_result result = quern_retry(is_of_command ? 0 : -1); /* for another consumer */

    (void)snprintf(result.reason, sizeof(result.reason), "cannot start %.100s: %s",
                   consume->command[0], strerror(reason));
    if (is_of_command) {
        atomic_store(&consume->start_error, reason);
        quern_consumer_stop(consume->consumer);
    }
    return result;
}

static void tell_files(const struct qn_consume *consume, const struct quern_delivery *delivery,
                       const struct qn_consume_environment *environment)
{
    json_t *fields = quern_tell_ids(delivery);

    json_object_set(fields, "names", environment->in_files);
    quern_tell(consume->consumer, "info", "attributes.in_files", fields);
}

/* 0, or errno. */
static int start_with(const struct qn_consume *consume, const struct quern_delivery *delivery,
                      size_t longest, struct process *process)
{
    struct qn_consume_environment environment;
    int reason = qn_consume_environment_init(&environment, consume, delivery, environ, longest);

    if (reason == 0) {
        reason = start(consume, &environment, process);
    }
    if (reason == 0 && environment.file_count > 0) {
        tell_files(consume, delivery, &environment);
    }
    qn_consume_environment_done(&environment);
    return reason;
}

struct quern_result qn_consume_handle(void *state, struct quern_delivery *delivery)
{
    struct qn_consume *consume = state;
    struct process process = {.cancel_fd = quern_delivery_cancel_fd(delivery)};

    process.body = quern_delivery_body(delivery, &process.left);
    int reason = start_with(consume, delivery, QN_CONSUME_VARIABLE_MAX, &process);
    if (reason == E2BIG) { /* all together: how much is borne depends on the limit of the stack */
        reason = start_with(consume, delivery, TOGETHER_MAX, &process);
    }
    return reason == 0 ? result_of(wait_for_end(consume, &process)) : not_started(consume, reason);
}
