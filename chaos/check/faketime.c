/* The program `faketime` in front of this one. It gives all processes behind it the same start,
 * from which their clocks run at the same rate: two clocks that differ would break every comparison
 * between what the server and what the harness saw. */
#include "chaos/check/faketime.h"

#include <dirent.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARK "QUERN_FAKETIME" /* consumers do not see it */

enum { PATH_ROOM = 4096, NO_PROGRAM = 127, LOOKS = 10, LOOK_EVERY_MS = 50 };

bool qn_faketime_is_inner(void)
{
    return getenv(MARK) != NULL;
}

/* Among all that is mapped; false for one that has ended, too. */
static bool lacks_library(pid_t pid)
{
    char line[PATH_ROOM];
    bool any = false;
    bool found = false;

    (void)snprintf(line, sizeof(line), "/proc/%lld/maps", (long long)pid);
    FILE *file = fopen(line, "re");
    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
        any = true;
        found = strstr(line, "libfaketime") != NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return any && !found;
}

/* One that has begun a moment ago has no library so far. */
static bool lacks_it_for_good(pid_t leader, pid_t pid)
{
    for (int i = 0; i < LOOKS; i++) {
        if (getpgid(pid) != leader || !lacks_library(pid)) {
            return false;
        }
        (void)poll(NULL, 0, LOOK_EVERY_MS);
    }
    return true;
}

bool qn_faketime_enter(struct qn_error *err)
{
    /* They are ignored by the one between, which is to live as long as this. */
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    return !lacks_library(getpid()) ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "--faketime does not reach this program, which is linked statically: take one "
                   "that is not");
}

/* What it shares with all behind it goes with it, unless it was killed. */
void qn_faketime_leave(void)
{
    struct qn_str names = qn_str_from_cstr(getenv("FAKETIME_SHARED"));
    char path[64];
    char name[16] = "";
    char text[2][64];

    (void)snprintf(path, sizeof(path), "/proc/%lld/comm", (long long)getppid());
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        name[fread(name, 1, sizeof(name) - 1, file)] = '\0';
        (void)fclose(file);
    }
    if (qn_str_is_none(names) || strcmp(name, "faketime\n") == 0) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        struct qn_str one = qn_str_cut(names, ' ', &names);
        (void)snprintf(text[i], sizeof(text[i]), "%.*s", QN_STR_ARG(one));
    }
    (void)sem_unlink(text[0]);
    (void)shm_unlink(text[1]);
}

/* In the child; never returns. */
static void become(int64_t rate, char **words)
{
    char factor[32];
    char mark[32];

    (void)snprintf(factor, sizeof(factor), "+0 x%lld", (long long)rate);
    (void)snprintf(mark, sizeof(mark), "%lld", (long long)rate);
    words[0] = (char *)(uintptr_t) "faketime";
    words[1] = (char *)(uintptr_t) "-f";
    words[2] = factor;
    (void)setenv(MARK, mark, 1);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)execvp(words[0], words);
    _exit(NO_PROGRAM);
}

/* The signal to the child of the one between. */
static void pass_on(pid_t between, int number)
{
    char path[96];
    char text[64] = "";
    int64_t pid;
    struct qn_str rest;

    (void)snprintf(path, sizeof(path), "/proc/%lld/task/%lld/children", (long long)between,
                   (long long)between);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void)fclose(file);
    if (qn_str_to_int64(qn_str_cut(qn_str_from_cstr(text), ' ', &rest), 1, INT32_MAX, &pid)) {
        (void)kill((pid_t)pid, number);
    }
}

static int wait_for(pid_t between, const sigset_t *signals)
{
    int status;
    int number;

    for (;;) {
        pid_t ended = waitpid(between, &status, WNOHANG);
        if (ended == between) {
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        }
        if (sigwait(signals, &number) == 0 && number != SIGCHLD) {
            pass_on(between, number);
        }
    }
}

bool qn_faketime_run(int64_t rate, char **argv, int *ret_code, struct qn_error *err)
{
    char program[PATH_ROOM];
    size_t count = 0;
    sigset_t signals;
    sigset_t before;

    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[len > 0 ? len : 0] = '\0';
    while (argv[count] != NULL) {
        count++;
    }
    /* faketime -f FACTOR PROGRAM check ... */
    char **words = qn_memory_new_array(count + 6, sizeof(*words));
    words[3] = program;
    words[4] = (char *)(uintptr_t) "check";
    memcpy(words + 5, argv + 1, (count - 1) * sizeof(*words));
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGCHLD);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &signals, &before);
    (void)fflush(NULL);
    pid_t between = fork();
    if (between == 0) {
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        become(rate, words);
    }
    int code = between > 0 ? wait_for(between, &signals) : -1;
    qn_memory_free(words);
    if (code == NO_PROGRAM || code < 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       code < 0 ? "--faketime: the program faketime ended by itself"
                                : "--faketime needs the program faketime, with libfaketime "
                                  "(Debian: apt install faketime)");
    }
    *ret_code = code;
    return true;
}

bool qn_faketime_reaches(pid_t leader, pid_t *ret_pid)
{
    DIR *all = opendir("/proc");
    bool ok = true;

    for (struct dirent *entry; ok && all != NULL && (entry = readdir(all)) != NULL;) {
        int64_t pid;
        if (qn_str_to_int64(qn_str_from_cstr(entry->d_name), 1, INT32_MAX, &pid) &&
            lacks_it_for_good(leader, (pid_t)pid)) {
            ok = false;
            *ret_pid = (pid_t)pid;
        }
    }
    if (all != NULL) {
        (void)closedir(all);
    }
    return ok;
}
