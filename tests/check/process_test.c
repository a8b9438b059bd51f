/* Child processes of the harness. */
#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/check/process.h"
#include "server/base/clock.h"

static char log_path[64];
static struct qn_error err;

static void open_log(void)
{
    (void)snprintf(log_path, sizeof(log_path), "/tmp/quern-process-test-XXXXXX");
    (void)close(mkstemp(log_path));
}

static void close_log(void)
{
    (void)unlink(log_path);
}

TestSuite(process, .init = open_log, .fini = close_log);

static bool start(const char *command, const char *const *environment, pid_t *pid)
{
    const char *const argv[] = {"sh", "-c", command, NULL};
    const struct qn_spawn spawn = {
        .argv = (char *const *)(uintptr_t)argv,
        .environment = environment,
        .log_path = log_path,
        .dies_with_parent = true,
    };

    return qn_process_spawn(&spawn, pid, &err);
}

static int end_of(pid_t pid)
{
    int status;

    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return status;
}

static void read_log(char text[512])
{
    FILE *file = fopen(log_path, "re");
    size_t len = fread(text, 1, 511, file);

    text[len] = '\0';
    (void)fclose(file);
}

Test(process, gets_its_environment_and_writes_to_its_log)
{
    const char *const environment[] = {"QUEUE_URL=here", "HOME=elsewhere", NULL};
    char text[512];
    pid_t pid;

    cr_assert_eq(setenv("AWS_PROFILE", "mine", 1), 0);
    cr_assert_eq(setenv("KEPT", "yes", 1), 0);
    cr_assert_eq(setenv("QUERN_DB", "/somewhere", 1), 0);
    cr_assert(start("echo $QUEUE_URL $HOME $KEPT \"[$AWS_PROFILE$QUERN_DB]\"; echo err >&2; exit 3",
                    environment, &pid),
              "%s", err.message);
    cr_expect_eq(WEXITSTATUS(end_of(pid)), 3);
    read_log(text);
    cr_expect_str_eq(text, "here elsewhere yes []\nerr\n");
}

Test(process, program_that_is_not_there_is_an_error_at_once)
{
    const char *const none[] = {NULL};
    const char *const argv[] = {"/nowhere/at-all", NULL};
    const struct qn_spawn spawn = {
        .argv = (char *const *)(uintptr_t)argv, .environment = none, .log_path = log_path};
    pid_t pid;

    cr_expect_not(qn_process_spawn(&spawn, &pid, &err));
    cr_expect_not_null(strstr(err.message, "/nowhere/at-all: No such file"), "%s", err.message);
}

Test(process, killing_a_group_ends_children_of_children_too)
{
    const char *const none[] = {NULL};
    char text[512] = "";
    int status;
    pid_t pid;

    qn_process_adopt_orphans();
    cr_assert(start("sleep 100 & echo $!; wait", none, &pid));
    int64_t limit_ms = qn_clock_monotonic_ms() + 5000;
    while (strchr(text, '\n') == NULL && qn_clock_monotonic_ms() < limit_ms) {
        (void)poll(NULL, 0, 5);
        read_log(text);
    }
    pid_t grandchild = (pid_t)strtol(text, NULL, 10);
    cr_assert_gt(grandchild, 0);
    qn_process_kill_group(pid, &status);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    cr_expect_neq(kill(grandchild, 0), 0);
}

Test(process, ended_children_are_reaped_one_by_one)
{
    const char *const none[] = {NULL};
    pid_t pid;
    pid_t reaped = 0;
    int status = 0;

    cr_expect_not(qn_process_reap(&reaped, &status));
    cr_assert(start("exit 5", none, &pid));
    int64_t limit_ms = qn_clock_monotonic_ms() + 5000;
    while (!qn_process_reap(&reaped, &status) && qn_clock_monotonic_ms() < limit_ms) {
        (void)poll(NULL, 0, 2);
    }
    cr_expect_eq(reaped, pid);
    cr_expect_eq(WEXITSTATUS(status), 5);
    cr_expect_not(qn_process_has_ended(pid, &status));
}
