/* The end of a scenario: the last event of its history, the verdict, and what helps when there is
 * none. */
#include <stdio.h>
#include <sys/wait.h>

#include "chaos/check/report/report.h"
#include "chaos/check/running.h"

enum { PATH_ROOM = 4200 };

/* The verdict is drawn from the trace alone, so it is said there. */
static void mark_cut(struct qn_running *run)
{
    struct qn_check_event event;
    struct qn_check_detail detail;

    if (run->is_cut) {
        qn_check_event_init(&event, &detail, QN_CHECK_MARK);
        event.queue = run->queue_name;
        detail.reason = qn_arena_format(
            &run->arena, QN_JUDGE_CUT "not at its end after %.3g s, which --scenario-timeout sets",
            (double)run->options->scenario_timeout_ms / 1000);
        qn_record(&run->recorder, &event);
    }
}

/* What is left in the queue. */
bool qn_running_mark_end(struct qn_running *run, struct qn_error *err)
{
    struct qn_check_event event;
    struct qn_check_detail detail;

    if (run->server.pid == 0 && !qn_server_restart(&run->server, err)) {
        return false;
    }
    if (!qn_running_read_trace(run, err) || !qn_running_count(run, err) ||
        !qn_running_count_effects(run, err) || !qn_running_read_letters(run, err)) {
        return false;
    }
    mark_cut(run);
    qn_check_event_init(&event, &detail, QN_CHECK_MARK);
    detail.reason = QN_STR("end");
    event.queue = run->queue_name;
    detail.visible = run->visible;
    detail.in_flight = run->in_flight;
    detail.delayed = run->delayed;
    qn_record(&run->recorder, &event);
    return true;
}

static void keep_trace(const struct qn_running *run)
{
    char path[PATH_ROOM];

    (void)snprintf(path, sizeof(path), "%s/trace.jsonl", run->directory);
    FILE *file = fopen(path, "we");
    if (file != NULL) {
        qn_history_write(&run->history, file);
        (void)fclose(file);
    }
}

/* The last whole lines of a log that fit. */
static void read_tail(const struct qn_running *run, const char *name, char *tail, size_t size)
{
    char path[PATH_ROOM];

    (void)snprintf(path, sizeof(path), "%s/%s", run->directory, name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    if (fseek(file, 0, SEEK_END) == 0) {
        long length = ftell(file);
        long from = length > (long)size - 1 ? length - (long)size + 1 : 0;
        (void)fseek(file, from, SEEK_SET);
        tail[fread(tail, 1, size - 1, file)] = '\0';
        char *line = from > 0 ? strchr(tail, '\n') : NULL;
        if (line != NULL) {
            memmove(tail, line + 1, strlen(line));
        }
    }
    (void)fclose(file);
}

/* What a server says while all is well explains nothing. */
static void drop_info_lines(char *text)
{
    char *end = text;

    for (char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        len += line[len] == '\n';
        if (strncmp(line, "info ", strlen("info ")) != 0) {
            memmove(end, line, len);
            end += len;
        }
        line += len;
    }
    *end = '\0';
}

static void tell_early_end(const struct qn_running *run, struct qn_judgement *judgement)
{
    for (size_t i = 0; i < run->instance_count; i++) {
        const struct qn_instance *instance = &run->instances[i];
        int status = instance->last_status;
        bool is_gone = instance->exits_before_ready == 1 && !instance->was_told;
        char times[32] = "";
        if (instance->exits_before_ready > 1) {
            (void)snprintf(times, sizeof(times), " %d times", instance->exits_before_ready);
        }
        if (is_gone || instance->exits_before_ready > 1) {
            (void)snprintf(judgement->text, sizeof(judgement->text),
                           "the consumer ended%s before its first ReceiveMessage (%s %d)%s", times,
                           WIFSIGNALED(status) ? "signal" : "exit code",
                           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                           is_gone ? " and is not started again" : "");
        }
    }
}

/* The whole of what it printed, of which the report shows the end. */
static void tell_log(const struct qn_running *run, struct qn_judgement *judgement)
{
    size_t len = strlen(judgement->text);
    char *end = judgement->text + len;

    if (run->options->keep_directory == NULL) {
        (void)snprintf(end, sizeof(judgement->text) - len, " (--keep DIR keeps its log)");
    } else {
        (void)snprintf(end, sizeof(judgement->text) - len, " (its log: %s/%.*s.instance-1.log)",
                       run->options->keep_directory, QN_STR_ARG(run->scenario->id));
    }
}

/* What looks like a consumer that does not hear SIGTERM may be a shell in front of it. */
static void tell_deaf_shell(const struct qn_running *run, struct qn_judgement *judgement)
{
    static const char advice[] =
        " (your shell does not forward SIGTERM: start the consumer with exec)";
    bool is_deaf = false;
    size_t len = strlen(judgement->text);

    for (size_t i = 0; i < run->instance_count; i++) {
        is_deaf = is_deaf || run->instances[i].shell_is_deaf;
    }
    bool is_about_the_end = run->scenario->judges_final_stop ||
                            qn_str_starts_with(run->scenario->id, QN_STR("shutdown."));
    bool is_broken = judgement->outcome == QN_OUTCOME_FAIL || judgement->outcome == QN_OUTCOME_WARN;
    if (is_deaf && is_about_the_end && is_broken) {
        (void)snprintf(judgement->text + len, sizeof(judgement->text) - len, "%s", advice);
    }
}

static void set_error(struct qn_judgement *judgement, const struct qn_error *err)
{
    judgement->outcome = QN_OUTCOME_ERROR;
    (void)snprintf(judgement->text, sizeof(judgement->text), "%.300s", err->message);
}

void qn_running_conclude(struct qn_running *run, const struct qn_error *trouble,
                         struct qn_run_result *result)
{
    struct qn_judgement *judgement = &result->judgement;
    struct qn_error err;

    qn_history_settle(&run->history);
    result->virtual_ms = qn_history_virtual_length_ms(&run->history);
    keep_trace(run);
    if (trouble == NULL && run->trouble[0] != '\0') {
        (void)qn_fail(&err, QN_ERR_INTERNAL, "%s", run->trouble);
        trouble = &err;
    }
    if (trouble != NULL) {
        set_error(judgement, trouble);
        if (run->is_interrupted) {
            return;
        }
        read_tail(run, "server.log", result->log_tail, sizeof(result->log_tail));
        drop_info_lines(result->log_tail);
        return;
    }
    if (!qn_judge(&run->history, judgement, &err)) {
        set_error(judgement, &err);
        return;
    }
    if (judgement->outcome == QN_OUTCOME_INCONCLUSIVE && judgement->never_got_going) {
        /* A fault that fired, or a queue that comes later, may be the reason. */
        result->never_got_going = run->fired == 0 && run->queue_wait_ms == 0 && !run->is_cut;
        if (run->ready_virtual_ms == 0) {
            tell_early_end(run, judgement);
        }
        tell_log(run, judgement);
        read_tail(run, "instance-1.log", result->log_tail, sizeof(result->log_tail));
    }
    tell_deaf_shell(run, judgement);
    const struct qn_judge_input in = {
        .history = &run->history,
        .queue = run->queue_name,
        .self = QN_STR(QN_SERVER_SELF),
        .level = judgement->level,
    };
    qn_profile_learn(&result->profile, &in);
}

void qn_running_tell(const struct qn_check_event *event)
{
    struct qn_buf text;

    qn_buf_init(&text, 4096);
    qn_report_describe(event, &text);
    (void)fprintf(stderr, "       %8llu %.*s\n", (unsigned long long)event->seq,
                  QN_STR_ARG(qn_buf_str(&text)));
    qn_buf_done(&text);
}
