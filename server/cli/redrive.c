/* `quern redrive`: the move tasks of a dead-letter queue: starting, watching, listing, cancelling.
 */
#include <stdio.h>
#include <time.h>

#include "client/internal.h"
#include "server/cli/progress.h"
#include "server/cli/remote.h"

enum { LOOK_EVERY_MS = 250, LOOK_EVERY_AT_AMAZON_MS = 2000, RATE_MAX = 500, WHEN_BYTES = 32 };

static const struct qn_option redrive_options[] = {
    QN_REMOTE_OPTIONS,
    {"to", "QUEUE", NULL, NULL, "move all of them there, not each to the queue it came from", 0},
    {"rate", "N", "0", NULL, "messages a second, up to 500; 0: as fast as the server can", 0},
    {"detach", NULL, NULL, NULL, "start the task and do not wait for its end", 0},
    {"list", NULL, NULL, NULL, "show the tasks of the queue, newest first", 0},
    {"cancel", NULL, NULL, NULL, "stop the task that is running", 0},
};
enum {
    REDRIVE_TO = QN_REMOTE_COUNT,
    REDRIVE_RATE,
    REDRIVE_DETACH,
    REDRIVE_LIST,
    REDRIVE_CANCEL,
    REDRIVE_COUNT
};

struct redrive {
    struct qn_remote *remote;
    char *source_arn;
    char *target_arn; /* NULL: each to its own queue */
    int64_t rate;
};

static bool is_on(const struct redrive *r, size_t row)
{
    return qn_options_is_on(&r->remote->options, row);
}

/* ---- tasks ---- */

static bool is_running(const struct quern_move_task *task)
{
    return strcmp(task->status, "RUNNING") == 0 || strcmp(task->status, "CANCELLING") == 0;
}

static json_t *text_json(const char *text)
{
    return text == NULL ? json_null() : json_string(text);
}

static json_t *number_json(int64_t number)
{
    return number == QUERN_NOT_GIVEN ? json_null() : json_integer(number);
}

static json_t *task_json(const struct quern_move_task *task)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:I, s:o}", "status", task->status,
                     "source_arn", task->source_arn, "destination_arn",
                     text_json(task->destination_arn), "max_per_second",
                     number_json(task->max_per_second), "moved", (json_int_t)task->moved, "to_move",
                     number_json(task->to_move), "failure_reason", text_json(task->failure_reason),
                     "started_at_ms", (json_int_t)task->started_at_ms, "task_handle",
                     text_json(task->task_handle));
}

static void add_number(struct qn_columns *table, int64_t number)
{
    if (number == QUERN_NOT_GIVEN) {
        qn_columns_add(table, "-");
    } else {
        qn_columns_add_integer(table, number);
    }
}

static void add_instant(struct qn_columns *table, int64_t at_ms)
{
    time_t seconds = (time_t)(at_ms / 1000);
    char text[WHEN_BYTES] = "-";
    struct tm parts;

    if (gmtime_r(&seconds, &parts) != NULL) {
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    qn_columns_add(table, text);
}

static void print_tasks(const struct quern_move_tasks *tasks)
{
    static const char *const head[] = {"STATUS", "MOVED", "OF", "STARTED", "TO"};
    struct qn_columns table;

    qn_columns_begin(&table, head, sizeof(head) / sizeof(head[0]));
    for (size_t i = 0; i < tasks->count; i++) {
        const struct quern_move_task *task = &tasks->items[i];
        const char *to = task->destination_arn;
        qn_columns_add(&table, task->status);
        qn_columns_add_integer(&table, task->moved);
        add_number(&table, task->to_move);
        add_instant(&table, task->started_at_ms);
        qn_columns_add(&table, to != NULL ? to : "(their own queues)");
    }
    qn_columns_print(&table);
    qn_columns_done(&table);
}

static int list(const struct redrive *r)
{
    struct quern_move_tasks *tasks = NULL;
    struct quern_error err;

    if (!quern_list_message_move_tasks(r->remote->client, r->source_arn, 0, &tasks, &err)) {
        return qn_remote_fail(r->remote, &err);
    }
    if (qn_remote_wants_json(r->remote)) {
        json_t *all = json_array();
        for (size_t i = 0; i < tasks->count; i++) {
            json_array_append_new(all, task_json(&tasks->items[i]));
        }
        qn_remote_print_json(all);
    } else {
        print_tasks(tasks);
    }
    quern_answer_free(tasks);
    return QN_EXIT_OK;
}

/* ---- cancelling ---- */

static bool cancel_newest(const struct redrive *r, int64_t *ret_moved, struct quern_error *err)
{
    struct quern_move_tasks *tasks = NULL;
    bool ok = quern_list_message_move_tasks(r->remote->client, r->source_arn, 1, &tasks, err);

    if (!ok) {
        return false;
    }
    if (tasks->count == 0 || tasks->items[0].task_handle == NULL) {
        ok = quern_fail(err, "NothingToCancel", 0, "no task is running on %s",
                        r->remote->options.words[0]);
    } else {
        ok = quern_cancel_message_move_task(r->remote->client, tasks->items[0].task_handle,
                                            ret_moved, err);
    }
    quern_answer_free(tasks);
    return ok;
}

static int cancel(const struct redrive *r)
{
    struct quern_error err;
    int64_t moved = 0;

    if (!cancel_newest(r, &moved, &err)) {
        return qn_remote_fail(r->remote, &err);
    }
    if (qn_remote_wants_json(r->remote)) {
        qn_remote_print_json(json_pack("{s:I}", "moved", (json_int_t)moved));
    } else {
        (void)printf("cancelled; %lld message%s moved before\n", (long long)moved,
                     moved == 1 ? " was" : "s were");
    }
    return QN_EXIT_OK;
}

/* ---- starting and watching ---- */

static int tell(const struct redrive *r, const struct quern_move_task *task)
{
    bool is_whole = strcmp(task->status, "COMPLETED") == 0;

    if (qn_remote_wants_json(r->remote)) {
        qn_remote_print_json(task_json(task));
    } else {
        (void)printf("moved %lld message%s from %s\n", (long long)task->moved,
                     task->moved == 1 ? "" : "s", r->remote->options.words[0]);
    }
    if (!is_whole) {
        (void)fprintf(stderr, "quern %s: the task has ended as %s%s%s\n", r->remote->word,
                      task->status, task->failure_reason != NULL ? ": " : "",
                      task->failure_reason != NULL ? task->failure_reason : "");
    }
    return is_whole ? QN_EXIT_OK : QN_EXIT_FAILED;
}

static int watch(const struct redrive *r)
{
    int every_ms = qn_remote_is_amazon(r->remote) ? LOOK_EVERY_AT_AMAZON_MS : LOOK_EVERY_MS;
    struct qn_progress progress;
    struct quern_error err;
    int code = -1;

    qn_progress_begin(&progress, "moved");
    while (code < 0) {
        struct quern_move_tasks *tasks = NULL;
        if (!quern_list_message_move_tasks(r->remote->client, r->source_arn, 1, &tasks, &err)) {
            qn_progress_end(&progress);
            return qn_remote_fail(r->remote, &err);
        }
        if (tasks->count > 0 && is_running(&tasks->items[0])) {
            qn_progress_show(&progress, tasks->items[0].moved, tasks->items[0].to_move);
        } else {
            qn_progress_end(&progress);
            code = tasks->count > 0 ? tell(r, &tasks->items[0]) : QN_EXIT_FAILED;
        }
        quern_answer_free(tasks);
        if (code < 0 && qn_progress_pause(&progress, every_ms)) {
            qn_progress_end(&progress);
            (void)fprintf(stderr, "the task goes on: quern redrive %s --cancel stops it\n",
                          r->remote->options.words[0]);
            code = QN_EXIT_FAILED;
        }
    }
    return code;
}

static int begin(const struct redrive *r)
{
    const struct quern_move move = {
        .source_arn = r->source_arn, .destination_arn = r->target_arn, .max_per_second = r->rate};
    struct quern_error err;
    char *handle = NULL;

    if (!quern_start_message_move_task(r->remote->client, &move, &handle, &err)) {
        return qn_remote_fail(r->remote, &err);
    }
    if (!is_on(r, REDRIVE_DETACH)) {
        quern_text_free(handle);
        return watch(r);
    }
    if (qn_remote_wants_json(r->remote)) {
        qn_remote_print_json(json_pack("{s:s}", "task_handle", handle));
    } else {
        (void)printf("started; quern redrive %s --list shows how far it is\n",
                     r->remote->options.words[0]);
    }
    quern_text_free(handle);
    return QN_EXIT_OK;
}

/* ---- the command ---- */

static bool find_arn(const struct redrive *r, const char *word, char **ret_arn,
                     struct quern_error *err)
{
    char *url = NULL;
    bool ok = qn_remote_find_url(r->remote, word, &url, err) &&
              qn_remote_find_arn(r->remote, url, ret_arn, err);

    quern_text_free(url);
    return ok;
}

static bool check(struct redrive *r, struct qn_error *err)
{
    const char *to = qn_options_text(&r->remote->options, REDRIVE_TO);
    bool starts = to != NULL || qn_options_text(&r->remote->options, REDRIVE_RATE) != NULL ||
                  is_on(r, REDRIVE_DETACH);

    if (is_on(r, REDRIVE_LIST) + is_on(r, REDRIVE_CANCEL) + starts > 1) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--list and --cancel start nothing: say one of them, alone");
    }
    return qn_options_integer(&r->remote->options, REDRIVE_RATE, 0, RATE_MAX, &r->rate, err);
}

static int run(struct redrive *r)
{
    const char *to = qn_options_text(&r->remote->options, REDRIVE_TO);
    struct quern_error failure;
    struct qn_error err;

    if (!check(r, &err)) {
        return qn_remote_misuse(r->remote, &err);
    }
    if (!find_arn(r, r->remote->options.words[0], &r->source_arn, &failure) ||
        (to != NULL && !find_arn(r, to, &r->target_arn, &failure))) {
        return qn_remote_fail(r->remote, &failure);
    }
    if (r->target_arn != NULL && strcmp(r->source_arn, r->target_arn) == 0) {
        (void)qn_fail(&err, QN_ERR_INVALID_PARAMETER_VALUE,
                      "--to %s is the dead-letter queue itself: say another one", to);
        return qn_remote_misuse(r->remote, &err);
    }
    if (is_on(r, REDRIVE_LIST)) {
        return list(r);
    }
    return is_on(r, REDRIVE_CANCEL) ? cancel(r) : begin(r);
}

int qn_redrive_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct redrive r = {.remote = &remote};
    int code;

    if (!qn_remote_open(&remote, "redrive DLQ [--to QUEUE] [OPTIONS]", redrive_options,
                        REDRIVE_COUNT, 1, 1, argc, argv, &code)) {
        return code;
    }
    code = run(&r);
    qn_memory_free(r.source_arn);
    qn_memory_free(r.target_arn);
    qn_remote_close(&remote);
    return code;
}
