/* Moving what one receive gave: it is sent first and deleted then, so nothing is ever in neither
 * queue. */
#include <stdio.h>
#include <string.h>

#include "server/cli/move.h"

enum {
    BATCH_BYTES = 256 * 1024, /* what every server takes in one call; larger ones go alone */
    ATTEMPTS = 5,
    NO_ANSWERS_MAX = 2, /* each may be one more copy */
    FIRST_PAUSE_MS = 100
};

/* ---- sending ---- */

static size_t size_of(const struct quern_received *message)
{
    size_t size = message->body_len;

    for (size_t i = 0; i < message->attribute_count; i++) {
        const struct quern_attribute *attribute = &message->attributes[i];
        size += strlen(attribute->name) + strlen(attribute->data_type) + attribute->byte_count +
                (attribute->text != NULL ? strlen(attribute->text) : 0);
    }
    return size;
}

/* In a FIFO queue the id of the message as it was stands for it: what is sent again, also by
 * another run within five minutes, is stored once, and no two messages are taken for one. */
static struct quern_message copy_of(const struct qn_move *move,
                                    const struct quern_received *message)
{
    const char *group = quern_received_system(message, "MessageGroupId");

    return (struct quern_message){
        .body = message->body,
        .body_len = message->body_len,
        .group_id = group != NULL ? group : move->group,
        .deduplication_id = move->is_to_fifo ? message->message_id : NULL,
        .delay_s = QUERN_NOT_GIVEN,
        .attributes = message->attributes,
        .attribute_count = message->attribute_count,
        .trace_header = quern_received_system(message, "AWSTraceHeader"),
    };
}

static void note(struct qn_move_item *item, const char *code, const char *reason)
{
    (void)snprintf(item->code, sizeof(item->code), "%s", code);
    (void)snprintf(item->reason, sizeof(item->reason), "%s", reason);
}

static void note_unsure(struct qn_move_item *item, bool had_answer, const char *code,
                        const char *reason)
{
    item->unsure++;
    item->had_no_answer = !had_answer;
    (void)snprintf(item->unsure_reason, sizeof(item->unsure_reason), "%s: %s", code, reason);
}

/* One try with those that are neither sent nor refused. Whether all have an end now. */
static bool send_once(struct qn_move *move, struct qn_move_item *items, size_t count)
{
    struct quern_message messages[QUERN_BATCH_MAX] = {{.body = NULL}};
    struct qn_move_item *tried[QUERN_BATCH_MAX];
    struct quern_batch *batch = NULL;
    struct quern_error err;
    size_t tries = 0;
    bool is_over = true;

    for (size_t i = 0; i < count; i++) {
        if (!items[i].is_sent && !items[i].is_refused) {
            messages[tries] = copy_of(move, items[i].message);
            tried[tries++] = &items[i];
        }
    }
    if (!quern_send_message_batch(move->sender, move->to, messages, tries, &batch, &err)) {
        for (size_t i = 0; i < tries; i++) {
            if (err.is_unknown && !move->is_to_fifo) {
                note_unsure(tried[i], err.http_status != 0, err.code, err.message);
            }
            tried[i]->is_refused = !err.is_retryable;
            note(tried[i], err.code, err.message);
        }
        return !err.is_retryable;
    }
    for (size_t i = 0; i < tries; i++) {
        const struct quern_batch_entry *entry = &batch->entries[i];
        tried[i]->is_sent = entry->is_done;
        if (!entry->is_done) {
            if (entry->is_unknown && !move->is_to_fifo) {
                note_unsure(tried[i], true, entry->code, entry->message);
            }
            tried[i]->is_refused = !entry->is_retryable;
            note(tried[i], entry->code, entry->message);
            is_over = is_over && tried[i]->is_refused;
        }
    }
    quern_answer_free(batch);
    return is_over;
}

/* Sent on, there would be a copy for each answer that is lost. */
static bool loses_answers(const struct qn_move_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!items[i].is_sent && items[i].had_no_answer && items[i].unsure >= NO_ANSWERS_MAX) {
            return true;
        }
    }
    return false;
}

static void send_some(struct qn_move *move, struct qn_move_item *items, size_t count)
{
    int pause_ms = FIRST_PAUSE_MS;

    for (int attempt = 1; !send_once(move, items, count); attempt++) {
        if (attempt == ATTEMPTS || loses_answers(items, count)) {
            move->is_given_up = true;
            return;
        }
        (void)qn_progress_pause(&move->progress, pause_ms);
        pause_ms *= 2;
    }
}

/* How many of them go in one call. One by one from FIFO to FIFO: what follows a message that is
 * refused must not get before it. */
static size_t next_chunk(const struct qn_move *move, const struct qn_move_item *items, size_t count)
{
    size_t size = size_of(items[0].message);
    size_t chunk = 1;

    while (chunk < count && !(move->is_from_fifo && move->is_to_fifo)) {
        size += size_of(items[chunk].message);
        if (size > BATCH_BYTES) {
            break;
        }
        chunk++;
    }
    return chunk;
}

static bool any_refused(const struct qn_move_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (items[i].is_refused) {
            return true;
        }
    }
    return false;
}

static void send_all(struct qn_move *move, struct qn_move_item *items, size_t count)
{
    for (size_t at = 0; at < count && !move->is_given_up;) {
        size_t chunk = next_chunk(move, items + at, count - at);
        send_some(move, items + at, chunk);
        /* Behind a message that stays, its group would get out of order. */
        if (move->is_from_fifo && any_refused(items + at, chunk)) {
            move->is_given_up = true;
        }
        at += chunk;
    }
}

/* ---- deleting ---- */

static void add_line(json_t *list, const char *message_id, const char *code, const char *reason,
                     int copies)
{
    json_t *line =
        json_pack("{s:s, s:s, s:s}", "message_id", message_id, "code", code, "message", reason);

    if (copies > 0) {
        json_object_set_new(line, "copies", json_integer(copies));
    }
    json_array_append_new(list, line);
}

/* What was sent and is still there: the run ends, or it would move it once more. */
static void note_in_both(struct qn_move *move, const struct qn_move_item *item, const char *code,
                         const char *reason)
{
    char text[QUERN_MESSAGE_MAX + 64];

    (void)snprintf(text, sizeof(text), "it is sent, and could not be deleted: %s", reason);
    add_line(move->twice, item->message->message_id, code, text, item->unsure + 1);
    move->is_given_up = true;
}

/* Deleting twice does no harm: the library repeats it itself. */
static void delete_sent(struct qn_move *move, struct qn_move_item *items, size_t count)
{
    const char *handles[QUERN_BATCH_MAX];
    struct qn_move_item *sent[QUERN_BATCH_MAX];
    struct quern_batch *batch = NULL;
    struct quern_error err;
    size_t total = 0;

    for (size_t i = 0; i < count; i++) {
        if (items[i].is_sent) {
            handles[total] = items[i].message->receipt_handle;
            sent[total++] = &items[i];
        }
    }
    if (total == 0) {
        return;
    }
    bool ok =
        quern_delete_message_batch(move->remote->client, move->from, handles, total, &batch, &err);
    for (size_t i = 0; i < total; i++) {
        if (!ok) {
            note_in_both(move, sent[i], err.code, err.message);
        } else if (!batch->entries[i].is_done &&
                   !quern_delete_message(move->remote->client, move->from, handles[i], &err)) {
            note_in_both(move, sent[i], err.code, err.message);
        }
    }
    quern_answer_free(batch);
}

/* ---- both ---- */

static void keep(struct qn_move *move, const struct qn_move_item *item)
{
    const char *handle = item->message->receipt_handle;

    move->returns = qn_memory_resize(move->returns, move->return_count + 1, sizeof(*move->returns));
    move->returns[move->return_count++] = qn_memory_copy_text(handle, strlen(handle));
    if (item->code[0] != '\0') {
        add_line(move->stayed, item->message->message_id, item->code, item->reason, 0);
    }
}

/* One of them is sure: sent, or still where it was. */
static void note_copies(struct qn_move *move, const struct qn_move_item *item)
{
    char text[sizeof(item->unsure_reason) + 128];

    (void)snprintf(text, sizeof(text),
                   "%d %s of it failed and may have stored it all the same; the last: %s",
                   item->unsure, item->unsure == 1 ? "send" : "sends", item->unsure_reason);
    add_line(move->twice, item->message->message_id,
             item->had_no_answer ? "AnswerLost" : "SendFailed", text, item->unsure + item->is_sent);
}

void qn_move_batch(struct qn_move *move, struct qn_move_item *items, size_t count)
{
    send_all(move, items, count);
    delete_sent(move, items, count);
    for (size_t i = 0; i < count; i++) {
        move->moved += items[i].is_sent;
        if (items[i].unsure > 0) {
            note_copies(move, &items[i]);
        }
        if (!items[i].is_sent) {
            keep(move, &items[i]);
        }
    }
}
