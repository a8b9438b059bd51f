/* What must hold for a consumer to be kept, and how it gets from one scenario to the next. */
#include "chaos/check/kept.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "chaos/check/files.h"
#include "chaos/check/report/report.h"
#include "chaos/check/running.h"
#include "server/base/clock.h"
#include "server/model/limits.h"

enum {
    IDLE_LIMIT_MS = 2000,
    STOP_LIMIT_MS = 1000,
    LOOK_EVERY_MS = 5,
    QUIET_LOOKS = 3, /* what was on its way to the server has arrived by then */
    LONGEST_POLL_MS = 20000,
    DIFFERENCE_BYTES = 60
};

/* ---- what stands against it */

/* What an action leaves behind that is not taken back with the rules; NULL: nothing. */
static const char *lasting(const struct qn_rule_action *action)
{
    switch (action->verb) {
    case QN_DO_KILL:
    case QN_DO_SIGNAL:
    case QN_DO_STOP:
    case QN_DO_SPAWN:
    case QN_DO_RESPAWN:
        return "a rule is about the process";
    case QN_DO_CRASH:
    case QN_DO_RESTORE:
    case QN_DO_RESTART:
    case QN_DO_FREEZE:
    case QN_DO_REFUSE:
        return "a rule is about the server";
    case QN_DO_JUMP:
        return "a rule moves the clock";
    case QN_DO_DELETE_QUEUE:
    case QN_DO_CREATE_QUEUE:
    case QN_DO_SET_ATTR:
        return "a rule changes the queue";
    default:
        return NULL;
    }
}

/* Of the scenario and the options, before and after its run; NULL: nothing. */
static const char *objection(const struct qn_running *run)
{
    const struct qn_scenario *scenario = run->scenario;
    const struct qn_check_options *o = run->options;
    const char *found = NULL;

    if (o->start_command != NULL || o->stop_command != NULL || o->kill_command != NULL) {
        return "it runs elsewhere (--start-cmd, --stop-cmd, --kill-cmd)";
    }
    if (o->no_idle_skip) {
        return "its polls would have to be waited for (--no-idle-skip)";
    }
    if (scenario->judges_final_stop) {
        return "its end is judged";
    }
    if (!qn_str_is_none(scenario->created_after)) {
        return "the queue is not there at the start";
    }
    if (!qn_str_is_none(scenario->away_for)) {
        return "the queue goes away";
    }
    for (size_t i = 0; found == NULL && i < scenario->fault_count; i++) {
        const struct qn_rule *rule = scenario->faults[i].rule;
        for (size_t j = 0; found == NULL && j < rule->action_count; j++) {
            found = lasting(&rule->actions[j]);
        }
    }
    return found;
}

/* Of what happened in the run. */
static const char *trouble_of(const struct qn_running *run)
{
    if (run->drained_since_ms == 0) {
        return "it left messages in the queue";
    }
    for (size_t i = 0; i < run->history.count; i++) {
        const struct qn_check_event *event = &run->history.events[i];
        if (event->kind == QN_CHECK_PROC && qn_str_equal(event->what, QN_STR("exit"))) {
            return "it ended, and was started again";
        }
    }
    for (size_t i = 0; i < run->instance_count; i++) {
        if (run->instances[i].pid == 0 || !run->instances[i].is_ready) {
            return "it was not ready in the end";
        }
    }
    return NULL;
}

/* The scenario that had the process, and what was against keeping it. */
static bool refuse(struct qn_keeper *keeper, const struct qn_running *run, const char *why)
{
    (void)snprintf(keeper->refusal, sizeof(keeper->refusal), "after %.*s: %s",
                   QN_STR_ARG(run->scenario->id), why);
    return false;
}

/* ---- freezing */

static void signal_all(const struct qn_running *run, int number)
{
    for (size_t i = 0; i < run->instance_count; i++) {
        if (run->instances[i].pid != 0) {
            (void)kill(-run->instances[i].pid, number);
        }
    }
}

/* False: the server does not answer, which shows no idle consumer. */
static bool look(struct qn_running *run)
{
    struct qn_error ignored;

    qn_sink_run(run->sink);
    return qn_running_read_trace(run, &ignored);
}

static bool is_busy(struct qn_running *run)
{
    return qn_effects_open_count(qn_sink_effects(run->sink)) > 0 || qn_watch_is_held(&run->watch);
}

static bool all_are_idle(struct qn_running *run)
{
    struct qn_clock wall = qn_clock_system();

    for (size_t i = 0; i < run->instance_count; i++) {
        if (!qn_watch_is_idle(
                qn_watch_instance_at(&run->watch, qn_str_from_cstr(run->instances[i].name)),
                wall.now_ms(wall.state))) {
            return false;
        }
    }
    return !is_busy(run);
}

static bool has_no_call(struct qn_running *run)
{
    for (size_t i = 0; i < run->instance_count; i++) {
        const struct qn_watch_instance *seen =
            qn_watch_instance_at(&run->watch, qn_str_from_cstr(run->instances[i].name));
        if (seen->open_receives > 0 || seen->open_others > 0) {
            return false;
        }
    }
    return !is_busy(run);
}

/* So often in a row, within the limit. */
static bool comes_true(struct qn_running *run, bool (*holds)(struct qn_running *run), int times)
{
    int64_t end_ms = qn_clock_monotonic_ms() + IDLE_LIMIT_MS;
    int count = 0;

    while (count < times && qn_clock_monotonic_ms() < end_ms) {
        count = look(run) && holds(run) ? count + 1 : 0;
        if (count < times) {
            (void)poll(NULL, 0, LOOK_EVERY_MS);
        }
    }
    return count == times;
}

/* The signal is on its way for a moment. */
static bool has_stopped(pid_t pid)
{
    int64_t end_ms = qn_clock_monotonic_ms() + STOP_LIMIT_MS;

    while (qn_clock_monotonic_ms() < end_ms) {
        siginfo_t info = {0};
        int found = waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT);
        if (found < 0 || info.si_pid == pid) {
            return found == 0 && info.si_code == CLD_STOPPED;
        }
        (void)poll(NULL, 0, 1);
    }
    return false;
}

/* Its polls are answered, but it cannot ask again. */
static bool freeze(struct qn_running *run)
{
    bool ok = true;

    signal_all(run, SIGSTOP);
    for (size_t i = 0; ok && i < run->instance_count; i++) {
        ok = has_stopped(run->instances[i].pid);
    }
    return ok && qn_server_advance(&run->server, LONGEST_POLL_MS, false) &&
           comes_true(run, has_no_call, QUIET_LOOKS);
}

bool qn_kept_freeze(struct qn_running *run)
{
    if (run->keeper == NULL) {
        return false;
    }
    const char *why = objection(run);
    why = why != NULL ? why : trouble_of(run);
    if (why != NULL) {
        return refuse(run->keeper, run, why);
    }
    if (!comes_true(run, all_are_idle, 1)) {
        return refuse(run->keeper, run, "it did not come to rest");
    }
    if (!freeze(run)) {
        signal_all(run, SIGCONT);
        return refuse(run->keeper, run, "it could not be stopped between two calls");
    }
    return true;
}

bool qn_kept_keep(struct qn_running *run, enum qn_outcome outcome)
{
    if (!qn_report_is_fine(outcome)) {
        signal_all(run, SIGCONT);
        return refuse(run->keeper, run, "its verdict was not a good one");
    }
    run->keeper->run = run;
    return true;
}

void qn_kept_give_up(struct qn_keeper *keeper)
{
    struct qn_running *run = keeper->run;

    if (run != NULL) {
        keeper->run = NULL;
        signal_all(run, SIGCONT);
        qn_instances_stop(run);
        qn_running_tear_down(run);
        qn_memory_free(run);
    }
}

/* ---- taking over */

/* It has a value for each scenario, which only one that was just started can know. */
static bool is_unseen(const char *variable)
{
    struct qn_str text = qn_str_from_cstr(variable);

    return qn_str_starts_with(text, QN_STR("QUERN_SCENARIO=")) ||
           qn_str_starts_with(text, QN_STR("QUERN_RUN_ID=")) ||
           qn_str_starts_with(text, QN_STR("QUERN_SEED="));
}

static void append_line(struct qn_buf *text, const char *line)
{
    qn_buf_append_str(text, qn_str_from_cstr(line));
    qn_buf_append_char(text, '\n');
}

/* Of that what is known before there is a server. */
static void append_plan(struct qn_running *run, struct qn_buf *text)
{
    json_t *attributes = qn_running_queue_attributes(run);
    const char *name;
    json_t *value;

    qn_buf_append_format(text, "instances: %zu\n", run->instance_limit);
    qn_buf_append_format(text, "queue: %.*s\n", QN_STR_ARG(run->queue_name));
    json_object_foreach(attributes, name, value)
    {
        qn_buf_append_format(text, "%s=%s\n", name, json_string_value(value));
    }
    json_decref(attributes);
    qn_buf_append_format(text, "V: %lld ms\nG: %lld ms\n", (long long)run->terms.in.visibility_ms,
                         (long long)run->terms.in.grace_ms);
}

/* All that a consumer can see of the scenario before its first message, a line each. */
static void append_seen(struct qn_running *run, struct qn_buf *text)
{
    const char *environment[QN_ENVIRONMENT_MAX];
    const char *arguments[QN_ARGUMENTS_MAX];

    append_plan(run, text);
    for (size_t i = 0; i < run->instance_count; i++) {
        qn_instance_arguments(run, &run->instances[i], arguments);
        for (size_t j = 0; arguments[j] != NULL; j++) {
            append_line(text, arguments[j]);
        }
        qn_instance_environment(run, &run->instances[i], environment);
        for (size_t j = 0; environment[j] != NULL; j++) {
            if (!is_unseen(environment[j])) {
                append_line(text, environment[j]);
            }
        }
    }
}

void qn_kept_kind(struct qn_running *run, struct qn_buf *kind)
{
    if (objection(run) == NULL) {
        append_plan(run, kind);
    }
}

/* A line from a little before the place where it differs. */
static struct qn_str around(struct qn_str line, size_t differs_at)
{
    size_t from = differs_at > DIFFERENCE_BYTES / 2 ? differs_at - DIFFERENCE_BYTES / 2 : 0;

    return qn_str_first(qn_str_from(line, from), DIFFERENCE_BYTES);
}

/* The first difference goes to why. */
static bool are_same(struct qn_str before, struct qn_str now, char *why, size_t size)
{
    while (before.len > 0 || now.len > 0) {
        struct qn_str x = qn_str_cut(before, '\n', &before);
        struct qn_str y = qn_str_cut(now, '\n', &now);
        size_t at = 0;
        while (at < x.len && at < y.len && x.ptr[at] == y.ptr[at]) {
            at++;
        }
        if (at < x.len || at < y.len) {
            (void)snprintf(why, size, "it would see %.*s in place of %.*s",
                           QN_STR_ARG(around(y, at)), QN_STR_ARG(around(x, at)));
            return false;
        }
    }
    return true;
}

/* The consumer and what it can see; the rest of a run is made for each scenario. */
static void move(struct qn_running *from, struct qn_running *to)
{
    to->server = from->server;
    to->server.recorder = &to->recorder;
    to->server.options.directory = to->directory;
    from->server = (struct qn_server){0};
    to->recorder = from->recorder;
    to->recorder.history = &to->history;
    from->recorder.header = NULL;
    to->sink = from->sink;
    from->sink = NULL;
    to->queue_url = from->queue_url;
    to->dlq_url = from->dlq_url;
    to->output_queue_url = from->output_queue_url;
    to->retry_queue_url = from->retry_queue_url;
    from->queue_url = from->dlq_url = from->output_queue_url = from->retry_queue_url = NULL;
    for (size_t i = 0; i < QN_INSTANCES_MAX; i++) {
        to->instances[i] = from->instances[i];
        from->instances[i].pid = 0;
        from->instances[i].log = (struct qn_log_reader){0};
        from->instances[i].probe = (struct qn_ready_probe){0};
    }
}

/* No rule, no message, nothing of the past; and no message is taken for a copy of an older one. */
static bool clear(struct qn_running *run, struct qn_error *err)
{
    const struct {
        const char *url;
        const char *name;
    } queues[] = {{run->queue_url, run->queue_name.ptr},
                  {run->dlq_url, run->dlq_name.ptr},
                  {run->output_queue_url, run->options->output_queue},
                  {run->retry_queue_url, run->options->retry_queue}};

    if (!qn_server_remove_rules(&run->server, err)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
        if (queues[i].url != NULL && !qn_server_empty(&run->server, queues[i].name, err)) {
            return false;
        }
    }
    if (run->options->is_fifo && !qn_server_advance(&run->server, QN_DEDUPLICATION_MS + 1, false)) {
        return qn_fail(err, QN_ERR_INTERNAL, "the clock cannot be moved");
    }
    return qn_server_skip_trace(&run->server, err);
}

/* As instances that have just been started. */
static void renew_instances(struct qn_running *run)
{
    for (size_t i = 0; i < run->instance_count; i++) {
        struct qn_instance *instance = &run->instances[i];
        struct qn_log_reader log = instance->log;
        qn_log_renew(&log, qn_str_from_cstr(instance->name), &run->recorder);
        struct qn_instance renewed = {
            .number = instance->number, .pid = instance->pid, .respawn_wait_ms = -1, .log = log};
        (void)snprintf(renewed.name, sizeof(renewed.name), "%s", instance->name);
        qn_ready_close(&instance->probe);
        *instance = renewed;
    }
}

/* False: the old one is whole again. */
static bool suits(struct qn_running *old, struct qn_running *run, char *why, size_t size)
{
    struct qn_buf before;
    struct qn_buf now;
    struct qn_error err;

    qn_buf_init(&before, SIZE_MAX / 2);
    qn_buf_init(&now, SIZE_MAX / 2);
    append_seen(old, &before);
    move(old, run);
    append_seen(run, &now);
    bool ok = are_same(qn_buf_str(&before), qn_buf_str(&now), why, size);
    if (ok && !clear(run, &err)) {
        (void)snprintf(why, size, "the server could not be cleared: %.100s", err.message);
        ok = false;
    }
    if (!ok) {
        move(run, old);
    }
    qn_buf_done(&before);
    qn_buf_done(&now);
    return ok;
}

/* A new server finds nothing of an older one in the directory that a series has. */
static bool start_anew(const struct qn_running *run)
{
    qn_files_remove_tree(run->directory);
    (void)mkdir(run->directory, 0700); /* the server tells when it cannot write there */
    return false;
}

bool qn_kept_take_over(struct qn_running *run)
{
    struct qn_keeper *keeper = run->keeper;

    if (keeper == NULL) {
        return false;
    }
    struct qn_running *old = keeper->run;
    const char *against = objection(run);
    char *why = run->process.started;
    size_t size = sizeof(run->process.started);
    (void)snprintf(why, size, "%s", against != NULL ? against : keeper->refusal);
    if (old == NULL) {
        return start_anew(run);
    }
    if (against != NULL || !suits(old, run, why, size)) {
        qn_kept_give_up(keeper);
        return start_anew(run);
    }
    why[0] = '\0';
    renew_instances(run);
    bool is_first = old->process.kept_from[0] == '\0';
    (void)snprintf(run->process.kept_from, sizeof(run->process.kept_from), "%.*s",
                   is_first ? (int)old->scenario->id.len : (int)strlen(old->process.kept_from),
                   is_first ? old->scenario->id.ptr : old->process.kept_from);
    keeper->run = NULL;
    qn_running_tear_down(old);
    qn_memory_free(old);
    return true;
}

void qn_kept_go_on(struct qn_running *run)
{
    for (size_t i = 0; i < run->instance_count; i++) {
        qn_instance_record(run, &run->instances[i], "keep");
    }
    signal_all(run, SIGCONT);
}
