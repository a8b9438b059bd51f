/* Starting and ending child processes. */
#include "chaos/check/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/program.h"

enum { KILL_LIMIT_MS = 5000 };

extern char **environ;

/* What would lead an SDK elsewhere than to the endpoint and the keys that it is given. */
static const char *const unwanted[] = {
    "AWS_PROFILE=",
    "AWS_DEFAULT_PROFILE=",
    "AWS_SESSION_TOKEN=",
    "AWS_SECURITY_TOKEN=",
    "AWS_ROLE_ARN=",
    "AWS_WEB_IDENTITY_TOKEN_FILE=",
    "AWS_ENDPOINT_URL_SQS=",
    "AWS_USE_FIPS_ENDPOINT=",
    "AWS_USE_DUALSTACK_ENDPOINT=",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=",
};

static bool names_the_same(const char *a, const char *b)
{
    size_t len = strcspn(b, "=");

    return strncmp(a, b, len) == 0 && a[len] == '=';
}

static bool is_replaced(const char *entry, const char *const *overriding)
{
    /* Options of a server that the user runs, or of a check that this one is part of. */
    if (strncmp(entry, "QUERN_", 6) == 0) {
        return true;
    }
    for (size_t i = 0; overriding[i] != NULL; i++) {
        if (names_the_same(entry, overriding[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++) {
        if (names_the_same(entry, unwanted[i])) {
            return true;
        }
    }
    return false;
}

/* The entries are borrowed; the array is the caller's. */
static char **make_environment(const char *const *overriding)
{
    size_t count = 0;
    size_t room = 1;

    for (size_t i = 0; environ[i] != NULL; i++) {
        room++;
    }
    for (size_t i = 0; overriding[i] != NULL; i++) {
        room++;
    }
    const char **environment = qn_memory_new_array(room, sizeof(*environment));
    for (size_t i = 0; environ[i] != NULL; i++) {
        if (!is_replaced(environ[i], overriding)) {
            environment[count++] = environ[i];
        }
    }
    for (size_t i = 0; overriding[i] != NULL; i++) {
        environment[count++] = overriding[i];
    }
    return (char **)(void *)environment;
}

/* In the child. Only what may be called after fork; never returns. */
static void become(const struct qn_spawn *spawn, char **environment, int log, int report)
{
    sigset_t none;
    int nothing = open("/dev/null", O_RDONLY);

    (void)setpgid(0, 0);
    if (spawn->dies_with_parent) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    (void)dup2(nothing, STDIN_FILENO);
    (void)dup2(log, STDOUT_FILENO);
    (void)dup2(log, STDERR_FILENO);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    environ = environment;
    (void)execvp(spawn->argv[0], spawn->argv);
    int reason = errno;
    ssize_t written = write(report, &reason, sizeof(reason));
    _exit(written == (ssize_t)sizeof(reason) ? 127 : 126);
}

/* What the child says when it could not become the program; 0 when the pipe was closed by the exec.
 */
static int read_report(int pipe_end)
{
    int reason = 0;
    ssize_t got;

    do {
        got = read(pipe_end, &reason, sizeof(reason));
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(reason) ? reason : 0;
}

bool qn_process_spawn(const struct qn_spawn *spawn, pid_t *ret_pid, struct qn_error *err)
{
    int report[2] = {-1, -1};
    char **environment = NULL;
    bool ok = false;
    int log = open(spawn->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (log < 0 || pipe2(report, O_CLOEXEC) < 0) {
        (void)qn_fail(err, QN_ERR_INTERNAL, "%s: %s", spawn->log_path, strerror(errno));
        goto out;
    }
    environment = make_environment(spawn->environment);
    pid_t pid = fork();
    if (pid == 0) {
        become(spawn, environment, log, report[1]);
    }
    if (pid < 0) {
        (void)qn_fail(err, QN_ERR_INTERNAL, "fork: %s", strerror(errno));
        goto out;
    }
    (void)setpgid(pid, pid); /* here too: whoever is first */
    (void)close(report[1]);
    report[1] = -1;
    int reason = read_report(report[0]);
    if (reason != 0) {
        (void)waitpid(pid, NULL, 0);
        if (qn_program_check(spawn->argv[0], err)) { /* it looks well: all that is known */
            (void)qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "cannot start %.200s: %s",
                          spawn->argv[0], strerror(reason));
        }
        goto out;
    }
    *ret_pid = pid;
    ok = true;

out:
    qn_memory_free(environment);
    for (int i = 0; i < 2; i++) {
        if (report[i] >= 0) {
            (void)close(report[i]);
        }
    }
    if (log >= 0) {
        (void)close(log);
    }
    return ok;
}

void qn_process_adopt_orphans(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool qn_process_reap(pid_t *ret_pid, int *ret_status)
{
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);

    if (pid <= 0) {
        return false;
    }
    *ret_pid = pid;
    *ret_status = status;
    return true;
}

bool qn_process_has_ended(pid_t pid, int *ret_status)
{
    int status;

    if (waitpid(pid, &status, WNOHANG) != pid) {
        return false;
    }
    *ret_status = status;
    return true;
}

void qn_process_kill_group(pid_t leader, int *ret_status)
{
    int64_t end_ms = qn_clock_monotonic_ms() + KILL_LIMIT_MS;

    *ret_status = -1;
    (void)kill(-leader, SIGKILL);
    while (qn_clock_monotonic_ms() < end_ms) {
        int status;
        pid_t pid = waitpid(-leader, &status, WNOHANG);
        if (pid == leader) {
            *ret_status = status;
        }
        if (pid > 0) {
            continue;
        }
        if (kill(-leader, 0) < 0) {
            break; /* nobody is left */
        }
        (void)poll(NULL, 0, 1);
    }
}

bool qn_process_is_shell(pid_t pid)
{
    static const char *const shells[] = {"sh\n", "dash\n", "bash\n", "ash\n", "zsh\n", "busybox\n"};
    char path[64];
    char name[32] = "";

    (void)snprintf(path, sizeof(path), "/proc/%lld/comm", (long long)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    name[fread(name, 1, sizeof(name) - 1, file)] = '\0';
    (void)fclose(file);
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(name, shells[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool qn_process_has_group(pid_t leader)
{
    return kill(-leader, 0) == 0;
}

static bool is_among(pid_t pid, const pid_t *pids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pids[i] == pid) {
            return true;
        }
    }
    return false;
}

/* From /proc/PID/stat: "PID (NAME) STATE PARENT ...", where the name may hold anything. */
static pid_t parent_of(int64_t pid)
{
    char path[64];
    char text[512];
    int64_t parent = -1;

    (void)snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return -1;
    }
    size_t len = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[len] = '\0';
    const char *behind_name = strrchr(text, ')');
    if (behind_name != NULL && strlen(behind_name) > 4) {
        struct qn_str rest;
        struct qn_str number = qn_str_cut(qn_str_from_cstr(behind_name + 4), ' ', &rest);
        if (!qn_str_to_int64(number, 0, INT32_MAX, &parent)) {
            return -1;
        }
    }
    return (pid_t)parent;
}

/* Kills one round; false when there was nobody. */
static bool kill_children(const pid_t *spared, size_t count)
{
    DIR *all = opendir("/proc");
    bool any = false;

    for (struct dirent *entry; all != NULL && (entry = readdir(all)) != NULL;) {
        int64_t pid;
        int status;
        if (qn_str_to_int64(qn_str_from_cstr(entry->d_name), 1, INT32_MAX, &pid) &&
            parent_of(pid) == getpid() && !is_among((pid_t)pid, spared, count)) {
            any = true;
            (void)kill((pid_t)pid, SIGKILL);
            (void)waitpid((pid_t)pid, &status, WNOHANG);
        }
    }
    if (all != NULL) {
        (void)closedir(all);
    }
    return any;
}

void qn_process_kill_orphans(const pid_t *spared, size_t count)
{
    int64_t end_ms = qn_clock_monotonic_ms() + KILL_LIMIT_MS;

    while (kill_children(spared, count) && qn_clock_monotonic_ms() < end_ms) {
        (void)poll(NULL, 0, 1);
    }
}
