/* `quern import`: the messages of a file of JSON lines into a queue, in their order, in batches.
 * All lines are checked before the first is sent. */
#include "server/cli/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "client/internal.h"
#include "server/cli/peeking.h"
#include "server/cli/spool.h"

enum {
    BATCH_BYTES = 256 * 1024, /* what every server takes in one call; larger ones go alone */
    ENTRY_BYTES = 128,        /* beside its texts */
    MISTAKES_SHOWN = 20
};

static const struct qn_option import_options[] = {
    QN_REMOTE_OPTIONS,
    {"to", "QUEUE", NULL, NULL, "name or URL of the queue", 0},
    {"group", "ID", NULL, NULL, "MessageGroupId of messages that have none", 0},
    {"new-dedup-ids", NULL, NULL, NULL,
     "new deduplication ids: within five minutes a FIFO queue takes an id\nthat it knows for a "
     "repetition, and drops the message",
     0},
};
enum { TO = QN_REMOTE_COUNT, GROUP, NEW_IDS, COUNT };

/* ---- the file ---- */

/* What comes through a pipe is read twice all the same, from a file of our own. */
static bool spool(struct qn_import *import, struct qn_error *err)
{
    char block[64 * 1024];
    int fd = qn_spool_open();
    ssize_t got;

    while (fd >= 0 && (got = read(import->fd, block, sizeof(block))) != 0) {
        if ((got < 0 && errno != EINTR) ||
            (got > 0 && !qn_spool_write(fd, qn_str(block, (size_t)got)))) {
            qn_fail(err, QN_ERR_INTERNAL, "cannot copy %s to %s: %s", import->name,
                    qn_spool_folder(), strerror(errno));
            (void)close(fd);
            return false;
        }
    }
    if (fd < 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "cannot make a file in %s: %s", qn_spool_folder(),
                       strerror(errno));
    }
    if (import->fd != STDIN_FILENO) {
        (void)close(import->fd);
    }
    import->fd = fd;
    (void)lseek(fd, 0, SEEK_SET);
    return true;
}

static bool open_file(struct qn_import *import, struct qn_error *err)
{
    const char *path = import->remote->options.words[0];
    bool is_stdin = strcmp(path, "-") == 0;

    import->name = is_stdin ? "stdin" : path;
    import->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (import->fd < 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "cannot open %s: %s", path, strerror(errno));
    }
    return lseek(import->fd, 0, SEEK_CUR) >= 0 || spool(import, err);
}

static bool is_blank(struct qn_str line)
{
    return qn_str_trim(line).len == 0 || qn_str_equal(line, QN_STR("\r"));
}

/* Says what is wrong with each line; the number of lines that are. -1: the file cannot be read. */
static int64_t check_lines(struct qn_import *import, int64_t begin)
{
    struct qn_lines lines;
    struct qn_error err;
    struct qn_str line;
    int64_t mistakes = 0;
    bool ok;

    (void)lseek(import->fd, begin, SEEK_SET);
    qn_lines_init(&lines, import->fd, import->name);
    while ((ok = qn_lines_next(&lines, &line, &err)) && !qn_str_is_none(line)) {
        struct qn_error reason;
        json_t *message = is_blank(line) ? NULL : qn_import_read(line, &import->rules, &reason);
        if (message == NULL && !is_blank(line) && ++mistakes <= MISTAKES_SHOWN) {
            (void)fprintf(stderr, "quern import: %s: line %lld: %s\n", import->name,
                          (long long)lines.number, reason.message);
        }
        json_decref(message);
    }
    if (!ok) {
        (void)fprintf(stderr, "quern import: %s\n", err.message);
    }
    qn_lines_done(&lines);
    return ok ? mistakes : -1;
}

/* ---- sending ---- */

static void add(struct qn_import *import, const json_t *message, int64_t line, size_t size)
{
    struct qn_import_item *item = &import->items[import->count];
    char id[8];

    (void)snprintf(id, sizeof(id), "%zu", import->count);
    *item = (struct qn_import_item){
        .entry = qn_import_entry(message, &import->rules, &import->random),
        .message_id = json_incref(json_object_get(message, "MessageId")),
        .line = line,
        .size = size,
    };
    json_object_set_new(item->entry, "Id", json_string(id));
    import->count++;
    import->bytes += size;
}

/* Between two batches: what was begun is finished. */
static bool is_interrupted(struct qn_import *import, int64_t line)
{
    if (import->stopped_line == 0 && qn_progress_is_interrupted(&import->progress)) {
        import->stopped_line = line;
    }
    return import->stopped_line != 0;
}

static bool send_lines(struct qn_import *import, int64_t begin, struct qn_error *err)
{
    struct qn_lines lines;
    struct qn_str line = QN_STR("");
    bool ok = true;

    (void)lseek(import->fd, begin, SEEK_SET);
    qn_lines_init(&lines, import->fd, import->name);
    while (!import->is_given_up && import->stopped_line == 0 &&
           (ok = qn_lines_next(&lines, &line, err)) && !qn_str_is_none(line)) {
        json_t *message = is_blank(line) ? NULL : qn_import_read(line, &import->rules, err);
        size_t size = line.len + ENTRY_BYTES;
        if (message == NULL) {
            continue; /* blank, or the file was changed meanwhile */
        }
        if (import->count == QN_IMPORT_BATCH ||
            (import->count > 0 && import->bytes + size > BATCH_BYTES)) {
            qn_import_send(import);
            qn_progress_show(&import->progress, import->sent, -1);
        }
        if (!import->is_given_up && (import->count > 0 || !is_interrupted(import, lines.number))) {
            add(import, message, lines.number, size);
        }
        json_decref(message);
    }
    qn_import_send(import);
    qn_lines_done(&lines);
    return ok;
}

static int64_t count_stored(const struct qn_import *import)
{
    return import->rules.is_fifo ? qn_peeking_count_sent(import->remote, import->url) : -1;
}

/* Others may send meanwhile: then fewer are seen here. */
static void count_repeated(struct qn_import *import, int64_t before)
{
    int64_t after = before >= 0 ? count_stored(import) : -1;
    int64_t missing = after >= before ? import->sent - (after - before) : 0;

    if (before >= 0 && after >= before && missing > import->repeated) {
        import->repeated = missing;
    }
}

/* ---- the command ---- */

static const char *text_in(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

static void tell(const struct qn_import *import)
{
    size_t i;
    const json_t *failure;

    if (qn_remote_wants_json(import->remote)) {
        qn_remote_print_json(
            json_pack("{s:I, s:I, s:I, s:b, s:I, s:O}", "imported", (json_int_t)import->sent,
                      "repeated", (json_int_t)import->repeated, "failed",
                      (json_int_t)import->failed, "given_up", import->is_given_up, "stopped_line",
                      (json_int_t)import->stopped_line, "failures", import->failures));
        return;
    }
    json_array_foreach(import->failures, i, failure)
    {
        (void)fprintf(stderr, "line %lld: %s: %s\n",
                      (long long)json_integer_value(json_object_get(failure, "line")),
                      text_in(failure, "code"), text_in(failure, "message"));
    }
    if (import->failed > (int64_t)json_array_size(import->failures)) {
        (void)fprintf(stderr, "and %lld more\n",
                      (long long)(import->failed - (int64_t)json_array_size(import->failures)));
    }
    if (import->is_given_up) {
        (void)fputs("given up: what follows was not sent\n", stderr);
    }
    if (import->stopped_line > 0) {
        (void)fprintf(stderr, "ended by a signal: line %lld and what follows were not sent\n",
                      (long long)import->stopped_line);
    }
    if (import->repeated > 0) {
        (void)fprintf(stderr,
                      "%lld of them %s not stored anew: the queue knows the deduplication id%s "
                      "(--new-dedup-ids makes new ones)\n",
                      (long long)import->repeated, import->repeated == 1 ? "was" : "were",
                      import->repeated == 1 ? "" : "s");
    }
    (void)printf("imported %lld message%s into %s\n", (long long)import->sent,
                 import->sent == 1 ? "" : "s", qn_options_text(&import->remote->options, TO));
}

static bool read_rules(struct qn_import *import, struct quern_error *err)
{
    const struct qn_options *options = &import->remote->options;
    struct quern_pairs *attributes = NULL;

    if (!qn_remote_find_url(import->remote, qn_options_text(options, TO), &import->url, err) ||
        !quern_get_queue_attributes(import->remote->client, import->url, NULL, 0, &attributes,
                                    err)) {
        return false;
    }
    const char *by_content = quern_pairs_get(attributes, "ContentBasedDeduplication");
    import->rules = (struct qn_import_rules){
        .is_fifo = qn_str_ends_with(qn_str_from_cstr(import->url), QN_STR(".fifo")),
        .has_content_ids = by_content != NULL && strcmp(by_content, "true") == 0,
        .group = qn_options_text(options, GROUP),
        .makes_new_ids = qn_options_is_on(options, NEW_IDS),
    };
    quern_answer_free(attributes);
    return true;
}

static int import_all(struct qn_import *import)
{
    int64_t begin = lseek(import->fd, 0, SEEK_CUR);
    struct quern_error failure;
    struct qn_error err;
    int64_t mistakes;

    if (!read_rules(import, &failure)) {
        return qn_remote_fail(import->remote, &failure);
    }
    mistakes = check_lines(import, begin);
    if (mistakes != 0) {
        if (mistakes > MISTAKES_SHOWN) {
            (void)fprintf(stderr, "quern import: and %lld more\n",
                          (long long)(mistakes - MISTAKES_SHOWN));
        }
        (void)fputs("quern import: nothing was sent\n", stderr);
        return QN_EXIT_USAGE;
    }
    int64_t before = count_stored(import);
    qn_progress_begin(&import->progress, "imported");
    bool ok = send_lines(import, begin, &err);
    qn_progress_end(&import->progress);
    if (!ok) {
        (void)fprintf(stderr, "quern import: %s\n", err.message);
        import->is_given_up = true;
    }
    count_repeated(import, before);
    tell(import);
    return import->failed > 0 || import->is_given_up || import->stopped_line > 0 ||
                   import->repeated > 0
               ? QN_EXIT_FAILED
               : QN_EXIT_OK;
}

int qn_import_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct qn_import import = {.remote = &remote, .fd = -1};
    struct qn_error err;
    int code;

    if (!qn_remote_open(&remote, "import FILE|- --to QUEUE [OPTIONS]", import_options, COUNT, 1, 1,
                        argc, argv, &code)) {
        return code;
    }
    import.failures = json_array();
    qn_random_init(&import.random, qn_random_fresh_seed(), 0, 0);
    if (qn_options_text(&remote.options, TO) == NULL) {
        (void)qn_fail(&err, QN_ERR_INVALID_PARAMETER_VALUE, "say where to: --to QUEUE");
        code = qn_remote_misuse(&remote, &err);
    } else if (open_file(&import, &err)) {
        code = import_all(&import);
    } else {
        code = qn_remote_misuse(&remote, &err);
    }
    if (import.fd > STDERR_FILENO) {
        (void)close(import.fd);
    }
    json_decref(import.failures);
    json_decref(import.ids);
    json_decref(import.older_ids);
    quern_text_free(import.url);
    qn_remote_close(&remote);
    return code;
}
