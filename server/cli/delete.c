/* `quern delete`: messages by their receipt handles, or the queue itself. */
#include <stdio.h>
#include <unistd.h>

#include "server/cli/lines.h"
#include "server/cli/remote.h"

enum { WORDS_MAX = 1000 };

static const struct qn_option delete_options[] = {
    QN_REMOTE_OPTIONS,
    {"whole-queue", NULL, NULL, NULL, "delete the queue itself, with all that is in it", 0},
};
enum { DELETE_WHOLE = QN_REMOTE_COUNT, DELETE_COUNT };

struct deleting {
    struct qn_remote *remote;
    char *url;
    char *handles[QUERN_BATCH_MAX];
    size_t count;
    int64_t deleted;
    int64_t failed;
    bool is_given_up; /* nobody answers, or there is no such queue */
};

static void note_failures(struct deleting *d, const struct quern_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct quern_batch_entry *entry = &batch->entries[i];
        if (!entry->is_done) {
            (void)fprintf(stderr, "quern %s: handle %.24s%s: %s: %s\n", d->remote->word,
                          d->handles[i], strlen(d->handles[i]) > 24 ? "..." : "", entry->code,
                          entry->message);
        }
    }
}

static void delete_batch(struct deleting *d)
{
    struct quern_batch *batch = NULL;
    struct quern_error err;

    if (d->count == 0) {
        return;
    }
    if (quern_delete_message_batch(d->remote->client, d->url, (const char *const *)d->handles,
                                   d->count, &batch, &err)) {
        note_failures(d, batch);
        d->failed += (int64_t)batch->failed_count;
        d->deleted += (int64_t)(d->count - batch->failed_count);
        quern_answer_free(batch);
    } else {
        (void)qn_remote_fail(d->remote, &err);
        d->failed += (int64_t)d->count;
        d->is_given_up = true;
    }
    for (size_t i = 0; i < d->count; i++) {
        qn_memory_free(d->handles[i]);
    }
    d->count = 0;
}

static void add_handle(struct deleting *d, struct qn_str handle)
{
    if (handle.len == 0 || d->is_given_up) {
        return;
    }
    d->handles[d->count++] = qn_memory_copy_text(handle.ptr, handle.len);
    if (d->count == QUERN_BATCH_MAX) {
        delete_batch(d);
    }
}

/* What `quern receive --json` prints: the messages in a list. */
static bool add_messages(struct deleting *d, const struct qn_lines *lines, struct qn_str line,
                         struct qn_error *err)
{
    json_error_t problem;
    json_t *document = json_loadb(line.ptr, line.len, 0, &problem);
    json_t *message;
    size_t i;
    bool ok = document != NULL;

    json_array_foreach(document, i, message)
    {
        const char *handle = json_string_value(json_object_get(message, "ReceiptHandle"));
        ok = ok && handle != NULL;
        if (ok) {
            add_handle(d, qn_str_from_cstr(handle));
        }
    }
    json_decref(document);
    return ok || qn_lines_fail(lines, err,
                               "neither a receipt handle nor what quern receive --json prints");
}

static bool read_handles(struct deleting *d, struct qn_error *err)
{
    struct qn_lines lines;
    struct qn_str line = QN_STR_NONE;
    bool ok;

    qn_lines_init(&lines, STDIN_FILENO, "stdin");
    while ((ok = qn_lines_next(&lines, &line, err)) && !qn_str_is_none(line)) {
        line = qn_str_trim(line);
        if (!qn_str_is_utf8(line)) {
            ok = qn_lines_fail(&lines, err, "not UTF-8");
        } else if (qn_str_starts_with(line, QN_STR("["))) {
            ok = add_messages(d, &lines, line, err);
        } else {
            add_handle(d, line);
        }
        if (!ok) {
            break;
        }
    }
    qn_lines_done(&lines);
    return ok;
}

static void tell(const struct deleting *d)
{
    if (qn_remote_wants_json(d->remote)) {
        qn_remote_print_json(json_pack("{s:I, s:I}", "deleted", (json_int_t)d->deleted, "failed",
                                       (json_int_t)d->failed));
    } else {
        (void)printf("deleted %lld message%s\n", (long long)d->deleted, d->deleted == 1 ? "" : "s");
    }
}

static int delete_messages(struct deleting *d)
{
    const struct qn_options *options = &d->remote->options;
    struct qn_error err;
    bool ok = true;

    for (size_t i = 1; ok && i < options->word_count; i++) {
        if (strcmp(options->words[i], "-") == 0) {
            ok = read_handles(d, &err);
        } else {
            add_handle(d, qn_str_from_cstr(options->words[i]));
        }
    }
    if (!d->is_given_up) {
        delete_batch(d); /* the rest; those before a wrong line were meant */
    }
    if (!ok) {
        return qn_remote_misuse(d->remote, &err);
    }
    if (!d->is_given_up) {
        tell(d);
    }
    return d->failed > 0 ? QN_EXIT_FAILED : QN_EXIT_OK;
}

static int delete_queue(const struct deleting *d)
{
    struct quern_error err;

    if (!quern_delete_queue(d->remote->client, d->url, &err)) {
        return qn_remote_fail(d->remote, &err);
    }
    if (qn_remote_wants_json(d->remote)) {
        qn_remote_print_json(json_pack("{s:s}", "deleted_queue", d->url));
    } else {
        (void)printf("deleted %s\n", d->url);
    }
    return QN_EXIT_OK;
}

static int run(struct qn_remote *remote)
{
    struct deleting d = {.remote = remote};
    bool is_whole = qn_options_is_on(&remote->options, DELETE_WHOLE);
    struct quern_error failure;
    struct qn_error err;
    int code;

    if (is_whole != (remote->options.word_count == 1)) {
        (void)qn_fail(&err, QN_ERR_INVALID_PARAMETER_VALUE,
                      "say which messages, by receipt handles (- reads them from stdin), or "
                      "--whole-queue for the queue itself");
        return qn_remote_misuse(remote, &err);
    }
    if (!qn_remote_find_url(remote, remote->options.words[0], &d.url, &failure)) {
        return qn_remote_fail(remote, &failure);
    }
    code = is_whole ? delete_queue(&d) : delete_messages(&d);
    quern_text_free(d.url);
    return code;
}

int qn_delete_main(int argc, char **argv)
{
    struct qn_remote remote;
    int code;

    if (!qn_remote_open(&remote, "delete QUEUE HANDLE...|- | delete QUEUE --whole-queue",
                        delete_options, DELETE_COUNT, 1, WORDS_MAX, argc, argv, &code)) {
        return code;
    }
    code = run(&remote);
    qn_remote_close(&remote);
    return code;
}
