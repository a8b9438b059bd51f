/* `quern import`: the messages of a file of JSON lines into a queue, in their order, in batches.
 * All lines are checked before the first is sent. */
#include "server/cli/import.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "client/internal.h"
#include "server/cli/remote.h"
#include "server/cli/spool.h"

enum {
    BATCH = 10,
    BATCH_BYTES = 256 * 1024, /* what every server takes in one call; larger ones go alone */
    ENTRY_BYTES = 128,        /* beside its texts */
    ATTEMPTS = 3,
    PAUSE_MS = 100,
    MISTAKES_SHOWN = 20,
    FAILURES_SHOWN = 100,
    PROGRESS_EVERY = 1000
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

/* One message on its way. */
struct item {
    json_t *entry;
    int64_t line;
    size_t size;
    bool is_done;
};

struct import {
    struct qn_remote *remote;
    struct qn_import_rules rules;
    struct qn_random random;
    int fd;
    const char *name; /* of the file */
    char *url;
    struct item items[BATCH];
    size_t count;
    size_t bytes;
    int64_t sent;
    int64_t failed;
    json_t *failures;
    bool is_given_up; /* nobody answers */
    bool shows_progress;
};

/* ---- the file ---- */

/* What comes through a pipe is read twice all the same, from a file of our own. */
static bool spool(struct import *import, struct qn_error *err)
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

static bool open_file(struct import *import, struct qn_error *err)
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
static int64_t check_lines(struct import *import, int64_t begin)
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
            (void)fprintf(stderr, "error import: %s: line %lld: %s\n", import->name,
                          (long long)lines.number, reason.message);
        }
        json_decref(message);
    }
    if (!ok) {
        (void)fprintf(stderr, "error import: %s\n", err.message);
    }
    qn_lines_done(&lines);
    return ok ? mistakes : -1;
}

/* ---- sending ---- */

static void note_failure(struct import *import, const struct item *item, const char *code,
                         const char *message)
{
    import->failed++;
    if (json_array_size(import->failures) < FAILURES_SHOWN) {
        json_array_append_new(import->failures,
                              json_pack("{s:I, s:s, s:s}", "line", (json_int_t)item->line, "code",
                                        code != NULL ? code : "", "message",
                                        message != NULL ? message : ""));
    }
}

static const char *text_in(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

/* The answer's word on an entry in one of its lists, or NULL. */
static const json_t *entry_in(const json_t *answer, const char *list, const char *id)
{
    size_t i;
    const json_t *entry;

    json_array_foreach(json_object_get(answer, list), i, entry)
    {
        const char *other = text_in(entry, "Id");
        if (other != NULL && strcmp(other, id) == 0) {
            return entry;
        }
    }
    return NULL;
}

static const char *id_of(const struct item *item)
{
    return text_in(item->entry, "Id");
}

/* Sent again it would come behind a later one of its group. */
static bool was_overtaken(const struct import *import, size_t index, const json_t *answer)
{
    const char *group = text_in(import->items[index].entry, "MessageGroupId");

    for (size_t i = index + 1; import->rules.is_fifo && i < import->count; i++) {
        const char *other = text_in(import->items[i].entry, "MessageGroupId");
        if (group != NULL && other != NULL && strcmp(group, other) == 0 &&
            entry_in(answer, "Successful", id_of(&import->items[i])) != NULL) {
            return true;
        }
    }
    return false;
}

static void take_answer(struct import *import, const json_t *answer, bool is_last)
{
    for (size_t i = 0; i < import->count; i++) {
        struct item *item = &import->items[i];
        const json_t *failed = entry_in(answer, "Failed", id_of(item));
        if (item->is_done) {
            continue;
        }
        if (entry_in(answer, "Successful", id_of(item)) != NULL) {
            item->is_done = true;
            import->sent++;
        } else if (is_last || json_is_true(json_object_get(failed, "SenderFault")) ||
                   was_overtaken(import, i, answer)) {
            item->is_done = true;
            note_failure(import, item,
                         failed != NULL ? text_in(failed, "Code") : "UnreadableAnswer",
                         failed != NULL ? text_in(failed, "Message") : "not in the answer");
        }
    }
}

static json_t *entries_to_send(const struct import *import)
{
    json_t *entries = json_array();

    for (size_t i = 0; i < import->count; i++) {
        if (!import->items[i].is_done) {
            json_array_append(entries, import->items[i].entry);
        }
    }
    return entries;
}

static bool call(struct import *import, json_t *entries_take, json_t **ret_answer,
                 struct quern_error *err)
{
    json_t *input = json_pack("{s:s, s:o}", "QueueUrl", import->url, "Entries", entries_take);
    bool ok = quern_client_call(import->remote->client, "SendMessageBatch", input, ret_answer, err);

    json_decref(input);
    return ok;
}

static void fail_all(struct import *import, const struct quern_error *err)
{
    for (size_t i = 0; i < import->count; i++) {
        if (!import->items[i].is_done) {
            import->items[i].is_done = true;
            note_failure(import, &import->items[i], err->code, err->message);
        }
    }
}

/* A batch that is refused as a whole is sent entry by entry: one of them may be the reason. */
static void send_each(struct import *import)
{
    for (size_t i = 0; i < import->count && !import->is_given_up; i++) {
        struct item *item = &import->items[i];
        struct quern_error err;
        json_t *answer = NULL;
        if (item->is_done) {
            continue;
        }
        item->is_done = true;
        if (!call(import, json_pack("[O]", item->entry), &answer, &err)) {
            import->is_given_up = err.http_status == 0 || err.http_status >= 500;
            note_failure(import, item, err.code, err.message);
        } else if (entry_in(answer, "Successful", id_of(item)) != NULL) {
            import->sent++;
        } else {
            const json_t *failed = entry_in(answer, "Failed", id_of(item));
            note_failure(import, item, text_in(failed, "Code"), text_in(failed, "Message"));
        }
        json_decref(answer);
    }
}

static void send_batch(struct import *import)
{
    struct quern_error err;

    for (int attempt = 1; attempt <= ATTEMPTS && !import->is_given_up; attempt++) {
        json_t *entries = entries_to_send(import);
        json_t *answer = NULL;
        size_t left = json_array_size(entries);
        if (left == 0) {
            json_decref(entries);
            break;
        }
        if (attempt > 1) {
            (void)poll(NULL, 0, (int)quern_retry_delay_ms(&import->random, PAUSE_MS, attempt));
        }
        if (call(import, entries, &answer, &err)) {
            take_answer(import, answer, attempt == ATTEMPTS);
        } else if (err.http_status != 0 && err.http_status < 500 && left > 1) {
            send_each(import);
        } else {
            import->is_given_up = err.http_status == 0 || err.http_status >= 500;
            fail_all(import, &err);
        }
        json_decref(answer);
    }
    for (size_t i = 0; i < import->count; i++) {
        json_decref(import->items[i].entry);
    }
    import->count = 0;
    import->bytes = 0;
}

static void show_progress(const struct import *import)
{
    if (import->shows_progress && import->sent % PROGRESS_EVERY < BATCH) {
        (void)fprintf(stderr, "\r%lld messages\033[K", (long long)import->sent);
        (void)fflush(stderr);
    }
}

static void add(struct import *import, const json_t *message, int64_t line, size_t size)
{
    struct item *item = &import->items[import->count];
    char id[8];

    (void)snprintf(id, sizeof(id), "%zu", import->count);
    *item = (struct item){
        .entry = qn_import_entry(message, &import->rules, &import->random),
        .line = line,
        .size = size,
    };
    json_object_set_new(item->entry, "Id", json_string(id));
    import->count++;
    import->bytes += size;
}

static bool send_lines(struct import *import, int64_t begin, struct qn_error *err)
{
    struct qn_lines lines;
    struct qn_str line = QN_STR("");
    bool ok = true;

    (void)lseek(import->fd, begin, SEEK_SET);
    qn_lines_init(&lines, import->fd, import->name);
    while (!import->is_given_up && (ok = qn_lines_next(&lines, &line, err)) &&
           !qn_str_is_none(line)) {
        json_t *message = is_blank(line) ? NULL : qn_import_read(line, &import->rules, err);
        size_t size = line.len + ENTRY_BYTES;
        if (message == NULL) {
            continue; /* blank, or the file was changed meanwhile */
        }
        if (import->count == BATCH || (import->count > 0 && import->bytes + size > BATCH_BYTES)) {
            send_batch(import);
            show_progress(import);
        }
        if (!import->is_given_up) {
            add(import, message, lines.number, size);
        }
        json_decref(message);
    }
    send_batch(import);
    qn_lines_done(&lines);
    return ok;
}

/* ---- the command ---- */

static void tell(const struct import *import)
{
    size_t i;
    const json_t *failure;

    if (import->shows_progress) {
        (void)fputs("\r\033[K", stderr);
    }
    if (qn_remote_wants_json(import->remote)) {
        qn_remote_print_json(json_pack("{s:I, s:I, s:b, s:O}", "imported", (json_int_t)import->sent,
                                       "failed", (json_int_t)import->failed, "given_up",
                                       import->is_given_up, "failures", import->failures));
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
    (void)printf("imported %lld message%s into %s\n", (long long)import->sent,
                 import->sent == 1 ? "" : "s", qn_options_text(&import->remote->options, TO));
}

static bool read_rules(struct import *import, struct quern_error *err)
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

static int import_all(struct import *import)
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
            (void)fprintf(stderr, "error import: and %lld more\n",
                          (long long)(mistakes - MISTAKES_SHOWN));
        }
        (void)fputs("error import: nothing was sent\n", stderr);
        return QN_EXIT_USAGE;
    }
    if (!send_lines(import, begin, &err)) {
        (void)fprintf(stderr, "error import: %s\n", err.message);
        import->is_given_up = true;
    }
    tell(import);
    return import->failed > 0 || import->is_given_up ? QN_EXIT_FAILED : QN_EXIT_OK;
}

int qn_import_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct import import = {.remote = &remote, .fd = -1};
    struct qn_error err;
    int code;

    if (!qn_remote_open(&remote, "import FILE|- --to QUEUE [OPTIONS]", import_options, COUNT, 1, 1,
                        argc, argv, &code)) {
        return code;
    }
    import.failures = json_array();
    import.shows_progress = isatty(STDERR_FILENO) == 1;
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
    quern_text_free(import.url);
    qn_remote_close(&remote);
    return code;
}
