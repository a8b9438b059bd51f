/* `quern export`: a queue as JSON lines, one message a line as ReceiveMessage gives it, but for the
 * receipt handle. Of a Quern by looking; of anything else by receiving. */
#include "server/cli/export.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/cli/output.h"
#include "server/cli/peeking.h"

enum { PAGE = 1000, PATH_BYTES = 4096 };

static const struct qn_option export_options[] = {
    QN_REMOTE_OPTIONS,
    {"output", "FILE", "-", NULL, "where to write (also -o FILE); - is stdout", 0},
    {"force", NULL, NULL, NULL, "write over a file that is there", 0},
    {"account", "ID", NULL, NULL, "account of the queue, where several have the name", 0},
    {"visibility", "N", "3600", "s",
     "where the server is no Quern: how long messages are hidden while they\nare read, at most; "
     "afterwards they are given back",
     0},
};
enum { OUTPUT = QN_REMOTE_COUNT, FORCE, ACCOUNT, VISIBILITY, COUNT };

/* ---- the file ---- */

/* A device, a pipe or a link is written to, not replaced by a file. */
static bool is_written_in_place(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* An export may be the only copy of its messages. */
static bool may_write(const struct qn_export *export, const char *path, struct qn_error *err)
{
    struct stat status; /* of what a link leads to */

    return qn_options_is_on(&export->remote->options, FORCE) || stat(path, &status) != 0 ||
           !S_ISREG(status.st_mode) ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "%s is there already: give another name, or --force to write over it", path);
}

/* A file gets its name when it is whole. */
static bool open_output(struct qn_export *export, struct qn_error *err)
{
    const char *path = qn_options_text(&export->remote->options, OUTPUT);

    if (path == NULL || strcmp(path, "-") == 0) {
        export->out = stdout;
        return true;
    }
    if (!may_write(export, path, err)) {
        return false;
    }
    struct qn_buf name;
    qn_buf_init(&name, PATH_BYTES);
    qn_buf_append_format(&name, "%s%s", path, is_written_in_place(path) ? "" : ".partial");
    export->path = path;
    export->partial = qn_buf_take(&name, NULL);
    qn_buf_done(&name);
    export->out = fopen(export->partial, "we");
    return export->out != NULL ||
           qn_fail(err, QN_ERR_INTERNAL, "cannot write %s: %s", path, strerror(errno));
}

static bool fail_output(struct qn_export *export, struct quern_error *err)
{
    (void)quern_fail(err, "WriteError", 0, "cannot write: %s", strerror(errno));
    if (export->path == NULL) {
        export->is_unread = errno == EPIPE;
        qn_output_forget(); /* it is told here */
    }
    return false;
}

static bool finish_output(struct qn_export *export, struct quern_error *err)
{
    bool ok = fflush(export->out) == 0 && ferror(export->out) == 0;

    if (export->path != NULL) {
        ok = fclose(export->out) == 0 && ok;
        export->out = NULL;
        ok = ok && (strcmp(export->partial, export->path) == 0 ||
                    rename(export->partial, export->path) == 0);
    }
    return ok || fail_output(export, err);
}

static void drop_output(struct qn_export *export)
{
    if (export->path != NULL) {
        if (export->out != NULL) {
            (void)fclose(export->out);
        }
        if (strcmp(export->partial, export->path) != 0) {
            (void)unlink(export->partial); /* it is gone when it has got its name */
        }
    }
    qn_memory_free(export->partial);
}

static void show_progress(const struct qn_export *export)
{
    if (export->shows_progress) {
        (void)fprintf(stderr, "\r%lld messages\033[K", (long long)export->count);
        (void)fflush(stderr);
    }
}

bool qn_export_write(struct qn_export *export, json_t *message_take, struct quern_error *err)
{
    bool ok =
        json_dumpf(message_take, export->out, JSON_COMPACT) == 0 && fputc('\n', export->out) != EOF;

    json_decref(message_take);
    export->count++;
    if (export->count % PAGE == 0) {
        show_progress(export);
    }
    return ok || fail_output(export, err);
}

bool qn_export_is_interrupted(struct qn_export *export)
{
    struct signalfd_siginfo info;

    while (read(export->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        export->is_interrupted = true;
    }
    return export->is_interrupted;
}

/* ---- of a Quern, by looking ---- */

static void copy_text(json_t *to, const char *name, const json_t *from, const char *member)
{
    const json_t *text = json_object_get(from, member);

    if (json_is_string(text)) {
        json_object_set(to, name, (json_t *)(uintptr_t)text);
    }
}

/* SQS says numbers as texts. */
static void copy_number(json_t *to, const char *name, const json_t *from, const char *member)
{
    const json_t *number = json_object_get(from, member);

    if (json_is_integer(number)) {
        json_object_set_new(to, name, json_sprintf("%lld", (long long)json_integer_value(number)));
    }
}

static json_t *message_of(const json_t *peeked)
{
    json_t *message = json_object();
    json_t *system = json_object();
    json_t *attributes = json_object_get(peeked, "attributes");

    copy_text(message, "MessageId", peeked, "message_id");
    copy_text(message, "Body", peeked, "body");
    copy_number(system, "SentTimestamp", peeked, "sent_at_ms");
    copy_number(system, "ApproximateReceiveCount", peeked, "receive_count");
    copy_number(system, "ApproximateFirstReceiveTimestamp", peeked, "first_received_at_ms");
    copy_text(system, "MessageGroupId", peeked, "group_id");
    copy_text(system, "MessageDeduplicationId", peeked, "deduplication_id");
    copy_text(system, "AWSTraceHeader", peeked, "trace_header");
    copy_text(system, "DeadLetterQueueSourceArn", peeked, "source_arn");
    json_object_set_new(message, "Attributes", system);
    if (json_object_size(attributes) > 0) {
        json_object_set(message, "MessageAttributes", attributes);
    }
    return message;
}

static bool export_page(struct qn_export *export, int64_t *after, bool *ret_more,
                        struct quern_error *err)
{
    const char *account = qn_options_text(&export->remote->options, ACCOUNT);
    json_t *page = NULL;
    bool ok = qn_peeking_page(export->remote, account, *after, PAGE, &page, err);
    const json_t *next = json_object_get(page, "next");
    size_t i;
    const json_t *peeked;

    json_array_foreach(json_object_get(page, "messages"), i, peeked)
    {
        ok = ok && qn_export_write(export, message_of(peeked), err);
    }
    *ret_more = json_is_integer(next);
    *after = json_integer_value(next);
    json_decref(page);
    return ok;
}

static bool export_by_looking(struct qn_export *export, struct quern_error *err)
{
    int64_t after = 0;
    bool more = true;
    bool ok = true;

    while (ok && more && !qn_export_is_interrupted(export)) {
        ok = export_page(export, &after, &more, err);
    }
    return ok;
}

/* ---- the command ---- */

static void tell(const struct qn_export *export)
{
    FILE *out = export->path != NULL ? stdout : stderr;

    if (qn_remote_wants_json(export->remote)) {
        (void)fprintf(out, "{\"exported\":%lld,\"left\":%lld}\n", (long long)export->count,
                      (long long)export->left);
        return;
    }
    (void)fprintf(out, "exported %lld message%s from %s\n", (long long)export->count,
                  export->count == 1 ? "" : "s", export->remote->options.words[0]);
    if (export->left > 0) {
        (void)fprintf(stderr,
                      "about %lld more could not be received: they are in flight or delayed, or a "
                      "FIFO queue holds them back behind others of their group\n",
                      (long long)export->left);
    }
}

static bool export_all(struct qn_export *export, struct quern_error *err)
{
    json_t *info = NULL;
    bool ok = qn_remote_ask_quern(export->remote, &info, err);

    if (ok) {
        ok = info != NULL ? export_by_looking(export, err) : qn_export_by_receiving(export, err);
    }
    json_decref(info);
    if (export->shows_progress) {
        (void)fputs("\r\033[K", stderr);
    }
    if (ok && export->is_interrupted) {
        ok = quern_fail(err, "Interrupted", 0, "ended by a signal after %lld message%s",
                        (long long)export->count, export->count == 1 ? "" : "s");
    }
    return ok && finish_output(export, err);
}

static void watch_signals(struct qn_export *export)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    export->signals = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    export->shows_progress = isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) != 1;
}

static int run(struct qn_remote *remote)
{
    struct qn_export export = {.remote = remote, .signals = -1};
    struct quern_error failure;
    struct qn_error err;
    int code = QN_EXIT_OK;

    if (!qn_options_integer(&remote->options, VISIBILITY, 1, 43200, &export.visibility_s, &err) ||
        !open_output(&export, &err)) {
        code = qn_remote_misuse(remote, &err);
    } else {
        watch_signals(&export);
        if (export_all(&export, &failure)) {
            tell(&export);
            code = export.left > 0 || export.is_still_hidden ? QN_EXIT_FAILED : QN_EXIT_OK;
        } else {
            if (export.is_unread) {
                qn_output_end_unread(); /* as behind any `| head`: it is no mistake */
            }
            code = qn_remote_fail(remote, &failure);
        }
        (void)close(export.signals);
    }
    drop_output(&export);
    return code;
}

int qn_export_main(int argc, char **argv)
{
    struct qn_remote remote;
    int code;

    if (!qn_remote_open(&remote, "export QUEUE|URL [-o FILE] [OPTIONS]", export_options, COUNT, 1,
                        1, argc, argv, &code)) {
        return code;
    }
    code = run(&remote);
    qn_remote_close(&remote);
    return code;
}
