/* The consumer's processes: their environment, their start, their end. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "chaos/check/declared.h"
#include "chaos/check/judge/busy.h"
#include "chaos/check/process.h"
#include "chaos/check/running.h"
#include "server/base/clock.h"

enum { LONGEST_POLL_MS = 20000, FIRST_PUSH_MS = 100, PUSH_EVERY_MS = 500 };

static void record(struct qn_running *run, const struct qn_instance *instance, const char *what,
                   pid_t pid, int exit_code, int signal_number)
{
    struct qn_check_event event;
    struct qn_check_detail detail;

    qn_check_event_init(&event, &detail, QN_CHECK_PROC);
    event.what = qn_str_from_cstr(what);
    event.instance = qn_str_from_cstr(instance->name);
    detail.pid = pid;
    detail.exit_code = exit_code >= 0 ? exit_code : QN_EVENT_NO_INT;
    detail.signal = signal_number > 0 ? signal_number : QN_EVENT_NO_INT;
    qn_record(&run->recorder, &event);
    if (!run->is_over) {
        (void)qn_faults_at(&run->faults, &event);
    }
}

void qn_instance_record(struct qn_running *run, const struct qn_instance *instance,
                        const char *what)
{
    record(run, instance, what, instance->pid, -1, 0);
}

void qn_instance_arguments(struct qn_running *run, const struct qn_instance *instance,
                           const char **arguments)
{
    size_t count = 0;
    char **word = run->options->command;

    if (run->options->is_lambda) {
        count = qn_lambda_arguments(run, instance, arguments);
    }
    for (; *word != NULL && count < QN_ARGUMENTS_MAX - 1; word++) {
        arguments[count++] = qn_instance_fill_in(run, instance, *word);
    }
    arguments[count] = NULL;
}

bool qn_instance_spawn(struct qn_running *run, struct qn_instance *instance, struct qn_error *err)
{
    const char *environment[QN_ENVIRONMENT_MAX];
    const char *arguments[QN_ARGUMENTS_MAX];

    qn_instance_arguments(run, instance, arguments);
    qn_instance_environment(run, instance, environment);
    if (!qn_instance_write_environment(run, instance, environment, err)) {
        return false;
    }
    const struct qn_spawn spawn = {
        .argv = (char *const *)(const void *)arguments,
        .environment = environment,
        .log_path =
            qn_arena_format(&run->arena, "%s/instance-%d.log", run->directory, instance->number)
                .ptr,
        .dies_with_parent = true,
    };
    if (!qn_process_spawn(&spawn, &instance->pid, err)) {
        return false;
    }
    instance->is_ready = false;
    instance->was_told = false;
    instance->respawn_at_ms = 0;
    instance->continue_at_ms = 0;
    instance->kill_at_ms = 0;
    instance->respawn_wait_ms = -1;
    instance->stop_exit = 0;
    instance->log_seen = run->history.count;
    record(run, instance, "spawn", instance->pid, -1, 0);
    qn_log_open(&instance->log, spawn.log_path, qn_str_from_cstr(instance->name), &run->recorder);
    return true;
}

struct qn_instance *qn_instance_find(struct qn_running *run, struct qn_str name)
{
    if (run->instance_limit == 1) {
        return &run->instances[0];
    }
    for (size_t i = 0; i < run->instance_count; i++) {
        if (qn_str_equal(name, qn_str_from_cstr(run->instances[i].name))) {
            return &run->instances[i];
        }
    }
    return NULL;
}

/* Who has left the group and its session belongs to the instance all the same; with several nobody
 * can say to which, and with a command for the end it is that command's. */
static void end_those_who_left(const struct qn_running *run)
{
    const struct qn_check_options *o = run->options;
    const pid_t spared[] = {run->server.pid};

    if (run->instance_count == 1 && o->start_command == NULL && o->stop_command == NULL &&
        o->kill_command == NULL) {
        qn_process_kill_orphans(spared, 1);
    }
}

/* As its supervisor does, who is the scenario when the harness ended it, and else as declared. */
static bool is_restarted(const struct qn_running *run, const struct qn_instance *instance,
                         int status)
{
    const char *policy = run->options->restart;
    bool is_failure = !WIFEXITED(status) || !qn_declared_exit(run->options, WEXITSTATUS(status));

    if (!run->scenario->restarts || instance->was_told || strcmp(policy, "always") == 0) {
        return run->scenario->restarts;
    }
    return strcmp(policy, "on-failure") == 0 && is_failure;
}

void qn_instance_has_ended(struct qn_running *run, struct qn_instance *instance, int status)
{
    pid_t pid = instance->pid;
    int rest;

    /* A shell that ends, or ends late, with its child at work: the signal did not reach the child.
     */
    instance->shell_is_deaf =
        instance->shell_is_deaf ||
        (instance->is_shell && instance->was_told && qn_process_has_group(pid));
    /* As with a container: when the first process has ended, so do all. */
    qn_process_kill_group(pid, &rest);
    instance->pid = 0;
    end_those_who_left(run);
    qn_log_read(&instance->log, true); /* its last words stand before its end */
    if (!run->is_over) {               /* else it was told to */
        instance->last_status = status;
        instance->exits_before_ready += !instance->is_ready;
    }
    record(run, instance, "exit", pid, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    if (run->sink != NULL) {
        qn_effects_abort(qn_sink_effects(run->sink), qn_str_from_cstr(instance->name), "gone");
    }
    qn_watch_replace(&run->watch, qn_str_from_cstr(instance->name));
    qn_ready_close(&instance->probe);
    instance->is_ready = false;
    instance->continue_at_ms = 0;
    instance->kill_at_ms = 0;
    if (run->is_over) {
        return;
    }
    if (instance->respawn_wait_ms >= 0) {
        instance->respawn_at_ms = qn_clock_monotonic_ms() + instance->respawn_wait_ms + 1;
    } else if (is_restarted(run, instance, status)) {
        instance->respawn_at_ms = qn_clock_monotonic_ms() + run->terms.in.restart_ms;
    }
}

void qn_instance_kill(struct qn_running *run, struct qn_instance *instance)
{
    int status;

    if (instance->pid == 0) {
        return;
    }
    instance->was_told = true;
    qn_instance_tell_failed_stop(run, instance);
    record(run, instance, "signal", instance->pid, -1, SIGKILL);
    qn_instance_kill_elsewhere(run, instance, &status);
    if (status == -1) {
        qn_process_kill_group(instance->pid, &status);
    }
    qn_instance_has_ended(run, instance, status == -1 ? SIGKILL : status);
}

static int64_t grace_of(const struct qn_running *run)
{
    return run->terms.in.grace_ms + run->terms.in.slack_ms;
}

void qn_instance_signal(struct qn_running *run, struct qn_instance *instance, int number)
{
    if (number == SIGKILL) {
        qn_instance_kill(run, instance);
    } else if (instance->pid != 0 && number > 0) {
        instance->was_told = true;
        instance->is_shell = number == SIGTERM && qn_process_is_shell(instance->pid);
        record(run, instance, "signal", instance->pid, -1, number);
        if (number != SIGTERM || !qn_instance_stop_elsewhere(run, instance)) {
            (void)kill(instance->pid, number);
        }
        if (number == SIGTERM && instance->kill_at_ms == 0) {
            instance->kill_at_ms = qn_clock_monotonic_ms() + grace_of(run);
            instance->prolonged_ms = 0;
        }
    }
}

void qn_instance_pause(struct qn_running *run, struct qn_instance *instance, int64_t for_ms)
{
    if (instance->pid != 0) {
        record(run, instance, "stop", instance->pid, -1, SIGSTOP);
        (void)kill(-instance->pid, SIGSTOP);
        instance->continue_at_ms = qn_clock_monotonic_ms() + for_ms;
    }
}

static void go_on(struct qn_running *run, struct qn_instance *instance)
{
    if (instance->continue_at_ms != 0 && instance->pid != 0) {
        (void)kill(-instance->pid, SIGCONT);
        record(run, instance, "cont", instance->pid, -1, SIGCONT);
    }
    instance->continue_at_ms = 0;
}

void qn_instance_respawn(struct qn_running *run, struct qn_instance *instance, int64_t after_ms)
{
    (void)run;
    if (instance->pid != 0) {
        instance->respawn_wait_ms = after_ms;
    } else {
        instance->respawn_at_ms = qn_clock_monotonic_ms() + after_ms + 1; /* 0 is never */
    }
}

bool qn_instances_spawn_more(struct qn_running *run, size_t count, struct qn_error *err)
{
    for (size_t i = 0; i < count && run->instance_count < run->instance_limit; i++) {
        struct qn_instance *instance = &run->instances[run->instance_count++];
        if (!qn_instance_spawn(run, instance, err)) {
            return false;
        }
    }
    return true;
}

bool qn_instances_tick(struct qn_running *run, int64_t now_ms, struct qn_error *err)
{
    for (size_t i = 0; i < run->instance_count; i++) {
        struct qn_instance *instance = &run->instances[i];
        if (instance->continue_at_ms != 0 && now_ms >= instance->continue_at_ms) {
            go_on(run, instance);
        }
        if (instance->kill_at_ms != 0 && now_ms >= instance->kill_at_ms) {
            qn_instance_kill(run, instance); /* as a supervisor would */
        }
        if (instance->respawn_at_ms != 0 && now_ms >= instance->respawn_at_ms &&
            !qn_instance_spawn(run, instance, err)) {
            return false;
        }
    }
    return true;
}

static bool has_printed(struct qn_running *run, struct qn_instance *instance)
{
    const char *pattern = run->options->ready_log;
    bool has = false;

    for (; pattern != NULL && instance->log_seen < run->history.count; instance->log_seen++) {
        const struct qn_check_event *event = &run->history.events[instance->log_seen];
        has = has || (event->kind == QN_CHECK_LOG &&
                      qn_str_equal(event->instance, qn_str_from_cstr(instance->name)) &&
                      qn_ready_line_fits(pattern, event->detail->reason));
    }
    return has;
}

bool qn_instance_says_ready(struct qn_running *run, struct qn_instance *instance, int64_t now_ms)
{
    struct qn_ready_url url;
    struct qn_error ignored; /* one that cannot be read answers nothing */

    if (instance->is_ready || instance->pid == 0) {
        return false;
    }
    if (has_printed(run, instance)) {
        return true;
    }
    return run->options->ready_url != NULL &&
           qn_ready_read_url(qn_instance_fill_in(run, instance, run->options->ready_url), &url,
                             &ignored) &&
           qn_ready_probe(&instance->probe, &url, now_ms);
}

void qn_instance_mark_ready(struct qn_running *run, struct qn_instance *instance)
{
    if (!instance->is_ready && instance->pid != 0) {
        instance->is_ready = true;
        record(run, instance, "ready", instance->pid, -1, 0);
    }
}

/* A poll that is parked would hold up who waits for it before it ends. With nothing left in the
 * queue, time may fly. */
static void end_parked_polls(struct qn_running *run)
{
    bool is_drained = run->visible + run->in_flight + run->delayed == 0;

    if (is_drained && run->ready_virtual_ms != 0 && run->server.pid != 0 &&
        !run->options->no_idle_skip) {
        (void)qn_server_advance(&run->server, LONGEST_POLL_MS, false);
    }
}

void qn_instances_stop(struct qn_running *run)
{
    int64_t now_ms = qn_clock_monotonic_ms();
    int64_t end_ms = now_ms + grace_of(run);
    int64_t last_ms = end_ms + qn_busy_grace_limit_ms(run->terms.in.grace_ms);
    int64_t next_push_ms = now_ms + FIRST_PUSH_MS;
    size_t running = 0;

    run->is_over = true;
    for (size_t i = 0; i < run->instance_count; i++) {
        go_on(run, &run->instances[i]); /* or it would not hear */
        qn_instance_signal(run, &run->instances[i], SIGTERM);
        running += run->instances[i].pid != 0;
    }
    while (running > 0 && qn_clock_monotonic_ms() < end_ms) {
        running = 0;
        end_ms += qn_running_note_waits(run, qn_clock_monotonic_ms());
        end_ms = end_ms < last_ms ? end_ms : last_ms;
        for (size_t i = 0; i < run->instance_count; i++) {
            struct qn_instance *instance = &run->instances[i];
            int status;
            if (instance->pid != 0 && qn_process_has_ended(instance->pid, &status)) {
                qn_instance_has_ended(run, instance, status);
            }
            if (instance->stop_pid != 0 && qn_process_has_ended(instance->stop_pid, &status)) {
                (void)qn_instance_stop_has_ended(run, instance->stop_pid, status);
            }
            qn_log_read(&instance->log, false);
            running += instance->pid != 0;
        }
        if (run->sink != NULL) {
            qn_sink_run(run->sink); /* it may still have work to finish */
        }
        if (running > 0 && qn_clock_monotonic_ms() >= next_push_ms) {
            end_parked_polls(run);
            next_push_ms = qn_clock_monotonic_ms() + PUSH_EVERY_MS;
        }
        (void)poll(NULL, 0, 2);
    }
    for (size_t i = 0; i < run->instance_count; i++) {
        qn_instance_kill(run, &run->instances[i]);
        qn_log_close(&run->instances[i].log);
    }
}
