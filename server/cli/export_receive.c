/* Exporting by receiving: what is read is hidden for a long time, and given back at the end. The
 * receipt handles wait in a file, since there may be very many. */
#include "server/cli/export.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/base/arena.h"
#include "server/cli/lines.h"
#include "server/cli/received.h"
#include "server/cli/spool.h"

enum { BATCH = 10, WAIT_S = 1, EMPTY_ONES = 3 };

struct receiving {
    struct qn_export *export;
    char *url;
    int handles; /* a file without a name, a handle a line */
};

static int64_t count_in(const struct quern_pairs *attributes, const char *name)
{
    const char *text = quern_pairs_get(attributes, name);
    int64_t count;

    return qn_str_to_int64(qn_str_from_cstr(text), 0, INT64_MAX, &count) ? count : 0;
}

static bool keep_handle(struct receiving *r, const struct quern_received *message,
                        struct quern_error *err)
{
    struct qn_str text = qn_str_from_cstr(message->receipt_handle);

    if (qn_str_find_char(text, '\n') < text.len) {
        return quern_fail(err, "UnreadableAnswer", 200, "a receipt handle of more than one line");
    }
    return (qn_spool_write(r->handles, text) && qn_spool_write(r->handles, QN_STR("\n"))) ||
           quern_fail(err, "WriteError", 0, "cannot keep the receipt handles: %s", strerror(errno));
}

static bool write_messages(struct receiving *r, const struct quern_messages *messages,
                           struct quern_error *err)
{
    bool ok = true;

    /* All handles first: whatever happens then, all are given back. */
    for (size_t i = 0; i < messages->count; i++) {
        ok = ok && keep_handle(r, &messages->items[i], err);
    }
    for (size_t i = 0; ok && i < messages->count; i++) {
        json_t *message = qn_received_json(&messages->items[i]);
        (void)json_object_del(message, "ReceiptHandle");
        ok = qn_export_write(r->export, message, err);
    }
    return ok;
}

static bool receive_all(struct receiving *r, struct quern_error *err)
{
    const struct quern_receive_options how = {
        .max_messages = BATCH, .wait_s = WAIT_S, .visibility_s = r->export->visibility_s};
    bool ok = true;

    for (int empty_ones = 0;
         ok && empty_ones < EMPTY_ONES && !qn_export_is_interrupted(r->export);) {
        struct quern_messages *messages = NULL;
        ok = qn_received_get(r->export->remote->client, "export", r->url, &how, &messages, err);
        if (!ok && strcmp(err->code, "OverLimit") == 0) {
            return true; /* that is all that can be in flight */
        }
        empty_ones = ok && messages->count > 0 ? 0 : empty_ones + 1;
        ok = ok && write_messages(r, messages, err);
        quern_answer_free(messages);
    }
    return ok;
}

/* What is left beside those that we hold. */
static void count_left(struct receiving *r)
{
    struct quern_pairs *attributes = NULL;
    struct quern_error ignored;
    int64_t others;

    if (quern_get_queue_attributes(r->export->remote->client, r->url, NULL, 0, &attributes,
                                   &ignored)) {
        others = count_in(attributes, "ApproximateNumberOfMessagesNotVisible") - r->export->count;
        r->export->left = count_in(attributes, "ApproximateNumberOfMessages") +
                          count_in(attributes, "ApproximateNumberOfMessagesDelayed") +
                          (others > 0 ? others : 0);
        quern_answer_free(attributes);
    }
}

/* Takes up to ten handles from the file, to end their leases; the number of them. Their texts are
 * in the arena. */
static size_t next_changes(struct qn_lines *lines, struct quern_visibility_change *changes,
                           struct qn_arena *arena, struct qn_error *err)
{
    struct qn_str line = QN_STR("");
    size_t count = 0;

    qn_arena_reset(arena);
    while (count < BATCH && qn_lines_next(lines, &line, err) && !qn_str_is_none(line)) {
        changes[count++] = (struct quern_visibility_change){
            .receipt_handle = qn_arena_copy(arena, line).ptr, .visibility_s = 0};
    }
    return count;
}

static void give_back(struct receiving *r)
{
    struct quern_visibility_change changes[BATCH];
    struct quern_error failure = {.code = ""};
    struct qn_arena arena;
    struct qn_lines lines;
    struct qn_error err;
    size_t failed = 0;
    size_t count;

    (void)lseek(r->handles, 0, SEEK_SET);
    qn_arena_init(&arena, SIZE_MAX / 2);
    qn_lines_init(&lines, r->handles, "the receipt handles");
    while ((count = next_changes(&lines, changes, &arena, &err)) > 0) {
        struct quern_batch *batch = NULL;
        if (quern_change_visibility_batch(r->export->remote->client, r->url, changes, count, &batch,
                                          &failure)) {
            failed += batch->failed_count;
            quern_answer_free(batch);
        } else {
            failed += count;
        }
    }
    if (failed > 0) {
        r->export->is_still_hidden = true;
        (void)fprintf(stderr,
                      "%zu message%s could not be given back: hidden for up to %lld s more%s%s\n",
                      failed, failed == 1 ? "" : "s", (long long)r->export->visibility_s,
                      failure.code[0] != '\0' ? ": " : "", failure.code);
    }
    qn_lines_done(&lines);
    qn_arena_done(&arena);
}

bool qn_export_by_receiving(struct qn_export *export, struct quern_error *err)
{
    struct receiving r = {.export = export, .handles = qn_spool_open()};
    bool ok = false;

    if (r.handles < 0) {
        (void)quern_fail(err, "WriteError", 0, "cannot make a file in %s: %s", qn_spool_folder(),
                         strerror(errno));
    } else if (qn_remote_find_url(export->remote, export->remote->options.words[0], &r.url, err)) {
        (void)fprintf(
            stderr,
            "this is no Quern: its messages are read by receiving them, hidden for %lld s "
            "meanwhile and then given back; their receive counts grow\n",
            (long long)export->visibility_s);
        ok = receive_all(&r, err);
        if (ok && !export->is_interrupted) {
            count_left(&r);
        }
        give_back(&r);
    }
    if (r.handles >= 0) {
        (void)close(r.handles);
    }
    quern_text_free(r.url);
    return ok;
}
