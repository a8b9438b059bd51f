/* The consumer's processes: their environment, their start, their end. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "chaos/check/process.h"
#include "chaos/check/running.h"
#include "server/base/clock.h"

enum {
    ENVIRONMENT_MAX = 128,
    ARGUMENTS_MAX = 256,
    LONGEST_POLL_MS = 20000,
    FIRST_PUSH_MS = 100,
    PUSH_EVERY_MS = 500
};

/* What stands for a placeholder, or none. */
static struct qn_str value_of(const struct qn_running *run, const struct qn_instance *instance,
                              struct qn_str name, char room[128])
{
    if (qn_str_equal(name, QN_STR("queue_url"))) {
        return qn_str_from_cstr(run->queue_url);
    }
    if (qn_str_equal(name, QN_STR("queue_name"))) {
        return run->queue_name;
    }
    if (qn_str_equal(name, QN_STR("dlq_url"))) {
        return qn_str_from_cstr(run->dlq_url != NULL ? run->dlq_url : "");
    }
    if (qn_str_equal(name, QN_STR("endpoint"))) {
        return qn_str_from_cstr(run->server.endpoint);
    }
    if (qn_str_equal(name, QN_STR("host"))) {
        return QN_STR("127.0.0.1");
    }
    if (qn_str_equal(name, QN_STR("port"))) {
        (void)snprintf(room, 128, "%d", run->server.port);
        return qn_str_from_cstr(room);
    }
    if (qn_str_equal(name, QN_STR("sink"))) {
        (void)snprintf(room, 128, "http://127.0.0.1:%d", qn_sink_port(run->sink));
        return qn_str_from_cstr(room);
    }
    if (qn_str_equal(name, QN_STR("instance"))) {
        (void)snprintf(room, 128, "%d", instance->number);
        return qn_str_from_cstr(room);
    }
    return qn_str_equal(name, QN_STR("scenario")) ? run->scenario->id : QN_STR_NONE;
}

/* Fills in {name}; braces around anything else stay. The text lies in the run's arena and ends in
 * NUL. */
static const char *fill_in(struct qn_running *run, const struct qn_instance *instance,
                           const char *text)
{
    struct qn_str rest = qn_str_from_cstr(text);
    struct qn_buf filled;
    char room[128];

    qn_buf_init(&filled, SIZE_MAX / 2);
    while (rest.len > 0) {
        size_t open = qn_str_find_char(rest, '{');
        size_t length = qn_str_find_char(qn_str_from(rest, open), '}');
        struct qn_str name = qn_str_first(qn_str_from(rest, open + 1), length > 0 ? length - 1 : 0);
        struct qn_str value = value_of(run, instance, name, room);
        qn_buf_append_str(&filled, qn_str_first(rest, open));
        rest = qn_str_from(rest, open);
        if (!qn_str_is_none(value)) {
            qn_buf_append_str(&filled, value);
            rest = qn_str_from(rest, length + 1);
        } else if (rest.len > 0) {
            qn_buf_append_char(&filled, '{');
            rest = qn_str_from(rest, 1);
        }
    }
    const char *copy = qn_arena_copy(&run->arena, qn_buf_str(&filled)).ptr;
    qn_buf_done(&filled);
    return copy;
}

/* Texts with placeholders; a line ends up as one variable. */
static const char *const variables[] = {
    "AWS_ENDPOINT_URL={endpoint}",
    "AWS_ENDPOINT_URL_SQS={endpoint}",
    "AWS_REGION=us-east-1",
    "AWS_DEFAULT_REGION=us-east-1",
    "AWS_SECRET_ACCESS_KEY=quern",
    "AWS_EC2_METADATA_DISABLED=true",
    "NO_PROXY=127.0.0.1,localhost",
    "no_proxy=127.0.0.1,localhost",
    "QUERN_QUEUE_URL={queue_url}",
    "QUERN_QUEUE_NAME={queue_name}",
    "QUERN_QUEUE_ARN=arn:aws:sqs:us-east-1:000000000000:{queue_name}",
    "QUERN_DLQ_URL={dlq_url}",
    "QUEUE_URL={queue_url}",
    "SQS_QUEUE_URL={queue_url}",
    "QUERN_SINK_URL={sink}",
    "QUERN_INSTANCE={instance}",
    "QUERN_SCENARIO={scenario}",
    "PYTHONUNBUFFERED=1",
};

static void make_environment(struct qn_running *run, const struct qn_instance *instance,
                             const char **environment)
{
    struct qn_arena *arena = &run->arena;
    size_t count = 0;

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        environment[count++] = fill_in(run, instance, variables[i]);
    }
    environment[count++] = qn_arena_format(arena, "AWS_ACCESS_KEY_ID=%s", instance->name).ptr;
    environment[count++] = qn_arena_format(arena, "QUERN_RUN_ID=%s", run->run_id).ptr;
    environment[count++] =
        qn_arena_format(arena, "QUERN_SEED=%llu", (unsigned long long)run->seed).ptr;
    environment[count++] = qn_arena_format(arena, "QUERN_VISIBILITY=%lld",
                                           (long long)(run->terms.in.visibility_ms / 1000))
                               .ptr;
    environment[count++] =
        qn_arena_format(arena, "QUERN_GRACE=%lld", (long long)(run->options->grace_ms / 1000)).ptr;
    if (run->options->concurrency > 0) {
        environment[count++] =
            qn_arena_format(arena, "QUERN_CONCURRENCY=%lld", (long long)run->options->concurrency)
                .ptr;
    }
    for (size_t i = 0; i < run->options->environment.count; i++) {
        environment[count++] = fill_in(run, instance, run->options->environment.items[i]);
    }
    environment[count] = NULL;
}

static void record(struct qn_running *run, const struct qn_instance *instance, const char *what,
                   pid_t pid, int exit_code, int signal_number)
{
    struct qn_check_event event;

    qn_check_event_init(&event, QN_CHECK_PROC);
    event.what = qn_str_from_cstr(what);
    event.instance = qn_str_from_cstr(instance->name);
    event.pid = pid;
    event.exit_code = exit_code >= 0 ? exit_code : QN_EVENT_NO_INT;
    event.signal = signal_number > 0 ? signal_number : QN_EVENT_NO_INT;
    qn_record(&run->recorder, &event);
    (void)qn_faults_at(&run->faults, &event);
}

bool qn_instance_spawn(struct qn_running *run, struct qn_instance *instance, struct qn_error *err)
{
    const char *environment[ENVIRONMENT_MAX];
    const char *arguments[ARGUMENTS_MAX];
    size_t count = 0;

    for (; run->options->command[count] != NULL && count < ARGUMENTS_MAX - 1; count++) {
        arguments[count] = fill_in(run, instance, run->options->command[count]);
    }
    arguments[count] = NULL;
    make_environment(run, instance, environment);
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
    record(run, instance, "spawn", instance->pid, -1, 0);
    qn_log_open(&instance->log, spawn.log_path, qn_str_from_cstr(instance->name), &run->recorder);
    return true;
}

struct qn_instance *qn_instance_find(struct qn_running *run, struct qn_str name)
{
    if (run->instance_count == 1) {
        return &run->instances[0];
    }
    for (size_t i = 0; i < run->instance_count; i++) {
        if (qn_str_equal(name, qn_str_from_cstr(run->instances[i].name))) {
            return &run->instances[i];
        }
    }
    return NULL;
}

void qn_instance_has_ended(struct qn_running *run, struct qn_instance *instance, int status)
{
    pid_t pid = instance->pid;
    int rest;

    /* As with a container: when the first process has ended, so do all. */
    qn_process_kill_group(pid, &rest);
    instance->pid = 0;
    qn_log_read(&instance->log, true); /* its last words stand before its end */
    instance->last_status = status;
    instance->exits_before_ready += !instance->is_ready;
    record(run, instance, "exit", pid, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    if (run->sink != NULL) {
        qn_effects_abort(qn_sink_effects(run->sink), qn_str_from_cstr(instance->name), "gone");
    }
    qn_watch_replace(&run->watch, qn_str_from_cstr(instance->name));
    instance->is_ready = false;
    if (run->scenario->restarts && !run->is_over) {
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
    record(run, instance, "signal", instance->pid, -1, SIGKILL);
    qn_process_kill_group(instance->pid, &status);
    qn_instance_has_ended(run, instance, status == -1 ? SIGKILL : status);
}

void qn_instance_signal(struct qn_running *run, struct qn_instance *instance, int number)
{
    if (number == SIGKILL) {
        qn_instance_kill(run, instance);
    } else if (instance->pid != 0 && number > 0) {
        instance->was_told = true;
        record(run, instance, "signal", instance->pid, -1, number);
        (void)kill(instance->pid, number);
    }
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
    int64_t end_ms = now_ms + run->options->grace_ms;
    int64_t next_push_ms = now_ms + FIRST_PUSH_MS;
    size_t running = 0;

    run->is_over = true;
    for (size_t i = 0; i < run->instance_count; i++) {
        qn_instance_signal(run, &run->instances[i], SIGTERM);
        running += run->instances[i].pid != 0;
    }
    while (running > 0 && qn_clock_monotonic_ms() < end_ms) {
        running = 0;
        for (size_t i = 0; i < run->instance_count; i++) {
            struct qn_instance *instance = &run->instances[i];
            int status;
            if (instance->pid != 0 && qn_process_has_ended(instance->pid, &status)) {
                qn_instance_has_ended(run, instance, status);
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
