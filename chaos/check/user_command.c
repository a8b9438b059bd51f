/* Commands of the user's that tell something at the end of a scenario. */
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>

#include "chaos/check/files.h"
#include "chaos/check/process.h"
#include "chaos/check/running.h"
#include "server/base/clock.h"

enum { LIMIT_MS = 30000, LOOK_EVERY_MS = 2 };

bool qn_running_run_command(struct qn_running *run, const struct qn_user_command *command,
                            struct qn_error *err)
{
    const char *environment[QN_ENVIRONMENT_MAX];
    const struct qn_instance *instance = &run->instances[0];
    const char *text = qn_instance_fill_in(run, instance, command->text);
    const char *log = qn_arena_format(&run->arena, "%s.log", command->output).ptr;
    const char *const words[] = {
        "sh", "-c", "eval \"$1\" <\"$2\" >\"$3\"", "sh", text, command->input, command->output,
        NULL};
    const struct qn_spawn spawn = {
        .argv = (char *const *)(const void *)words,
        .environment = environment,
        .log_path = log,
        .dies_with_parent = true,
    };
    int64_t end_ms = qn_clock_monotonic_ms() + LIMIT_MS;
    int status;
    pid_t pid;

    qn_instance_environment(run, instance, environment);
    if (!qn_process_spawn(&spawn, &pid, err)) {
        return false;
    }
    while (!qn_process_has_ended(pid, &status)) {
        if (qn_clock_monotonic_ms() > end_ms) {
            qn_process_kill_group(pid, &status);
            return qn_fail(err, QN_ERR_INTERNAL, "%s did not end within %d s", command->option,
                           LIMIT_MS / 1000);
        }
        (void)poll(NULL, 0, LOOK_EVERY_MS);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return true;
    }
    char line[QN_LAST_LINE_MAX];
    qn_files_last_line(log, line);
    return qn_fail(err, QN_ERR_INTERNAL, "%s ended with %s %d%s", command->option,
                   WIFSIGNALED(status) ? "signal" : "exit code",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), line);
}
