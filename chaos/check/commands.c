/* The user's own commands for consumers that run elsewhere, such as in containers. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "chaos/check/files.h"
#include "chaos/check/process.h"
#include "chaos/check/running.h"
#include "server/base/clock.h"

enum { COMMAND_LIMIT_MS = 20000, END_LIMIT_MS = 5000, LOOK_EVERY_MS = 2 };

static void set_trouble(struct qn_running *run, const char *format, ...) QN_PRINTF(2, 3);

static void set_trouble(struct qn_running *run, const char *format, ...)
{
    va_list args;

    if (run->trouble[0] == '\0') {
        va_start(args, format);
        (void)vsnprintf(run->trouble, sizeof(run->trouble), format, args);
        va_end(args);
    }
}

/* By a shell, with placeholders filled in and the instance's environment; false: told as trouble.
 */
static bool start(struct qn_running *run, const struct qn_instance *instance, const char *option,
                  const char *command, const char *log_path, pid_t *ret_pid)
{
    const char *environment[QN_ENVIRONMENT_MAX];
    const char *filled = qn_instance_fill_in(run, instance, command);
    const char *const words[] = {"sh", "-c", filled, NULL};
    const struct qn_spawn spawn = {
        .argv = (char *const *)(const void *)words,
        .environment = environment,
        .log_path = log_path,
        .dies_with_parent = true,
    };
    struct qn_error err;

    qn_instance_environment(run, instance, environment);
    if (!qn_process_spawn(&spawn, ret_pid, &err)) {
        set_trouble(run, "%s: %.200s", option, err.message);
        return false;
    }
    return true;
}

static bool wait_for(pid_t pid, int64_t limit_ms, int *ret_status)
{
    int64_t end_ms = qn_clock_monotonic_ms() + limit_ms;

    while (!qn_process_has_ended(pid, ret_status)) {
        if (qn_clock_monotonic_ms() >= end_ms) {
            return false;
        }
        (void)poll(NULL, 0, LOOK_EVERY_MS);
    }
    return true;
}

bool qn_instance_stop_elsewhere(struct qn_running *run, struct qn_instance *instance)
{
    const char *log = qn_arena_format(&run->arena, "%s/stop.log", run->directory).ptr;
    pid_t pid;

    if (run->options->stop_command == NULL) {
        return false;
    }
    /* It may last as long as the consumer takes to end: nothing waits for it alone. */
    if (start(run, instance, "--stop-cmd", run->options->stop_command, log, &pid)) {
        instance->stop_pid = pid;
        instance->stop_exit = 0;
    }
    return true;
}

bool qn_instance_stop_has_ended(struct qn_running *run, pid_t pid, int status)
{
    for (size_t i = 0; i < run->instance_count; i++) {
        struct qn_instance *instance = &run->instances[i];
        if (instance->stop_pid == pid) {
            instance->stop_pid = 0;
            instance->stop_exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
            return true;
        }
    }
    return false;
}

void qn_instance_tell_failed_stop(struct qn_running *run, const struct qn_instance *instance)
{
    const char *log = qn_arena_format(&run->arena, "%s/stop.log", run->directory).ptr;
    char told[QN_LAST_LINE_MAX];

    if (instance->stop_exit != 0) {
        qn_files_last_line(log, told);
        set_trouble(run, "--stop-cmd failed (exit code %d), and the consumer went on%s",
                    instance->stop_exit, told);
    }
}

void qn_instance_kill_elsewhere(struct qn_running *run, const struct qn_instance *instance,
                                int *ret_status)
{
    const char *log = qn_arena_format(&run->arena, "%s/kill.log", run->directory).ptr;
    char told[QN_LAST_LINE_MAX];
    pid_t pid;
    int status = 0;

    *ret_status = -1;
    if (run->options->kill_command == NULL ||
        !start(run, instance, "--kill-cmd", run->options->kill_command, log, &pid)) {
        return;
    }
    if (!wait_for(pid, COMMAND_LIMIT_MS, &status)) {
        qn_process_kill_group(pid, &status);
        set_trouble(run, "--kill-cmd did not end within %d s", COMMAND_LIMIT_MS / 1000);
    } else if (!wait_for(instance->pid, END_LIMIT_MS, ret_status)) {
        qn_files_last_line(log, told);
        set_trouble(run, "--kill-cmd (exit code %d) did not end the consumer%s",
                    WIFEXITED(status) ? WEXITSTATUS(status) : -1, told);
    }
}
