/* Sending a batch of an import, and what its answer says of each message. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "client/internal.h"
#include "client/message_shapes.h"
#include "server/cli/import.h"

enum { ATTEMPTS = 3, PAUSE_MS = 100, FAILURES_SHOWN = 100, IDS_KEPT = 64 * 1024 };

static void note_failure(struct qn_import *import, const struct qn_import_item *item,
                         const char *code, const char *message)
{
    import->failed++;
    if (json_array_size(import->failures) < FAILURES_SHOWN) {
        json_array_append_new(import->failures,
                              json_pack("{s:I, s:s, s:s}", "line", (json_int_t)item->line, "code",
                                        code != NULL ? code : "", "message",
                                        message != NULL ? message : ""));
    }
}

static void note_damage(struct qn_import *import, const struct qn_import_item *item, const char *id,
                        const char *differs)
{
    char message[200];

    (void)snprintf(message, sizeof(message),
                   "stored as %.100s, and its %s has another MD5 than was sent",
                   id != NULL ? id : "?", differs);
    note_failure(import, item, "ChecksumMismatch", message);
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

static const char *id_of(const struct qn_import_item *item)
{
    return text_in(item->entry, "Id");
}

/* Sent again it would come behind a later one of its group. */
static bool was_overtaken(const struct qn_import *import, size_t index, const json_t *answer)
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

/* Whether an earlier message of this run was answered with the same id. So that a long file needs
 * little memory the newest ids alone are kept, more than a queue's five minutes of them. */
static bool was_answered(struct qn_import *import, const char *id)
{
    if (json_object_get(import->ids, id) != NULL ||
        json_object_get(import->older_ids, id) != NULL) {
        return true;
    }
    if (import->ids == NULL || json_object_size(import->ids) >= IDS_KEPT) {
        json_decref(import->older_ids);
        import->older_ids = import->ids;
        import->ids = json_object();
    }
    json_object_set_new(import->ids, id, json_true());
    return false;
}

/* A FIFO queue answers a repetition with the id that it gave the first time: that of the exported
 * message, or of one before it in the file. Sequence numbers tell nothing: Amazon's grow within a
 * group, and those of others need not. */
static void take_sent(struct qn_import *import, struct qn_import_item *item, const json_t *said)
{
    const char *id = text_in(said, "MessageId");
    const char *was = json_string_value(item->message_id);
    const char *differs = quern_message_json_difference(item->entry, said);

    item->is_done = true;
    if (differs != NULL) { /* stored all the same: sent again it would be there twice */
        note_damage(import, item, id, differs);
        return;
    }
    import->sent++;
    if (import->rules.is_fifo && id != NULL) {
        bool is_again = was_answered(import, id);
        import->repeated += is_again || (was != NULL && strcmp(id, was) == 0);
    }
}

static void take_answer(struct qn_import *import, const json_t *answer, bool is_last)
{
    for (size_t i = 0; i < import->count; i++) {
        struct qn_import_item *item = &import->items[i];
        const json_t *failed = entry_in(answer, "Failed", id_of(item));
        if (item->is_done) {
            continue;
        }
        const json_t *said = entry_in(answer, "Successful", id_of(item));
        if (said != NULL) {
            take_sent(import, item, said);
        } else if (is_last || json_is_true(json_object_get(failed, "SenderFault")) ||
                   was_overtaken(import, i, answer)) {
            item->is_done = true;
            note_failure(import, item,
                         failed != NULL ? text_in(failed, "Code") : "UnreadableAnswer",
                         failed != NULL ? text_in(failed, "Message") : "not in the answer");
        }
    }
}

static json_t *entries_to_send(const struct qn_import *import)
{
    json_t *entries = json_array();

    for (size_t i = 0; i < import->count; i++) {
        if (!import->items[i].is_done) {
            json_array_append(entries, import->items[i].entry);
        }
    }
    return entries;
}

static bool call(struct qn_import *import, json_t *entries_take, json_t **ret_answer,
                 struct quern_error *err)
{
    json_t *input = json_pack("{s:s, s:o}", "QueueUrl", import->url, "Entries", entries_take);
    bool ok = quern_client_call(import->remote->client, "SendMessageBatch", input, ret_answer, err);

    json_decref(input);
    return ok;
}

static void fail_all(struct qn_import *import, const struct quern_error *err)
{
    for (size_t i = 0; i < import->count; i++) {
        if (!import->items[i].is_done) {
            import->items[i].is_done = true;
            note_failure(import, &import->items[i], err->code, err->message);
        }
    }
}

/* A batch that is refused as a whole is sent entry by entry: one of them may be the reason. */
static void send_each(struct qn_import *import)
{
    for (size_t i = 0; i < import->count && !import->is_given_up; i++) {
        struct qn_import_item *item = &import->items[i];
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
            take_sent(import, item, entry_in(answer, "Successful", id_of(item)));
        } else {
            const json_t *failed = entry_in(answer, "Failed", id_of(item));
            note_failure(import, item, text_in(failed, "Code"), text_in(failed, "Message"));
        }
        json_decref(answer);
    }
}

void qn_import_send(struct qn_import *import)
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
        json_decref(import->items[i].message_id);
    }
    import->count = 0;
    import->bytes = 0;
}
