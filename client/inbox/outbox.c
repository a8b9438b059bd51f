/* Messages to be sent: noted in the transaction of the effect, and sent afterwards. */
#include <string.h>

#include "client/inbox/store.h"
#include "client/internal.h"
#include "client/message_shapes.h"

/* What a message has beside its body and the ids, as it is kept. */
static const struct quern_field rest_fields[] = {
    {.name = "DelaySeconds",
     .kind = QUERN_NUMBER,
     .offset = offsetof(struct quern_message, delay_s)},
    {.name = "MessageAttributes",
     .kind = QUERN_NAMED_ITEMS,
     .offset = offsetof(struct quern_message, attributes),
     .count = offsetof(struct quern_message, attribute_count),
     .item = &quern_attribute_shape},
    {.name = "AWSTraceHeader", .offset = offsetof(struct quern_message, trace_header)},
};
static const struct quern_shape rest_shape = QUERN_SHAPE(struct quern_message, rest_fields);

/* The oldest message of a queue. */
struct head {
    char *queue_url;
    int64_t id; /* 0: there is none, or it is stuck */
};

struct relay {
    struct quern_inbox *inbox;
    struct quern_client *client;
    sqlite3 *db;
    struct head *heads;
    size_t head_count;
    struct quern_error stuck; /* of the first queue that is */
    bool is_stuck;
};

bool quern_outbox_add(struct sqlite3 *transaction, const char *queue_url,
                      const struct quern_message *message, struct quern_error *err)
{
    json_t *rest = quern_codec_write(&rest_shape, message, err);
    struct qn_buf text;

    if (rest == NULL) {
        return false;
    }
    qn_buf_init(&text, SIZE_MAX / 2);
    quern_json_write(rest, &text);
    qn_buf_append_char(&text, '\0');
    json_decref(rest);
    const char *const texts[] = {queue_url, NULL, message->group_id, message->deduplication_id,
                                 text.ptr};
    sqlite3_stmt *row = quern_store_prepare(transaction, quern_sql_outbox_add, texts, 5, err);
    qn_buf_done(&text);
    if (row == NULL) {
        return false;
    }
    (void)sqlite3_bind_blob64(row, 2, message->body, message->body_len, SQLITE_TRANSIENT);
    return quern_store_finish(transaction, row, err);
}

/* ---- entries ---- */

static const char *keep_text(sqlite3_stmt *row, int column, struct qn_arena *arena)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text != NULL ? qn_arena_copy(arena, qn_str_from_cstr(text)).ptr : NULL;
}

static bool read_rest(sqlite3_stmt *row, int column, struct quern_message *ret_message,
                      struct qn_arena *arena, struct quern_error *err)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    json_t *rest = json_loads(text != NULL ? text : "{}", 0, NULL);
    bool ok = quern_codec_read(&rest_shape, rest, ret_message, arena, err);

    json_decref(rest);
    return ok || quern_fail(err, "DatabaseError", 0, "the outbox has an entry that is none");
}

static bool read_entry(sqlite3_stmt *row, struct quern_outbox_entry *ret_entry,
                       struct qn_arena *arena, struct quern_error *err)
{
    struct quern_outbox_entry entry = {
        .id = sqlite3_column_int64(row, 0),
        .queue_url = keep_text(row, 1, arena),
        .error_code = keep_text(row, 7, arena),
        .error_message = keep_text(row, 8, arena),
        .is_retryable = sqlite3_column_int(row, 9) != 0,
        .stuck_since_ms = sqlite3_column_int64(row, 10),
    };
    bool is_fifo = qn_str_ends_with(qn_str_from_cstr(entry.queue_url), QN_STR(".fifo"));

    if (!read_rest(row, 5, &entry.message, arena, err)) {
        return false;
    }
    entry.message.body_len = (size_t)sqlite3_column_bytes(row, 2);
    entry.message.body =
        qn_arena_copy(arena, qn_str(sqlite3_column_blob(row, 2), entry.message.body_len)).ptr;
    entry.message.group_id = keep_text(row, 3, arena);
    entry.message.deduplication_id = keep_text(row, 4, arena);
    if (is_fifo && entry.message.deduplication_id == NULL) {
        entry.message.deduplication_id = keep_text(row, 6, arena);
    }
    *ret_entry = entry;
    return true;
}

static bool run_on(sqlite3 *db, const char *sql, int64_t id, struct quern_error *err)
{
    sqlite3_stmt *row = quern_store_prepare(db, sql, NULL, 0, err);

    if (row == NULL) {
        return false;
    }
    (void)sqlite3_bind_int64(row, 1, id);
    return quern_store_finish(db, row, err);
}

/* *ret_entry: NULL when another relay has sent it. It is a copy: no statement is open, which would
 * keep the log of the database from being written back, while a message is sent. */
static bool load(sqlite3 *db, int64_t id, struct quern_outbox_entry **ret_entry,
                 struct quern_error *err)
{
    sqlite3_stmt *row = quern_store_prepare(db, quern_sql_outbox_entry, NULL, 0, err);
    struct quern_outbox_entry *entry = NULL;

    if (row == NULL) {
        return false;
    }
    (void)sqlite3_bind_int64(row, 1, id);
    int code = sqlite3_step(row);
    bool is_unnamed = code == SQLITE_ROW && sqlite3_column_type(row, 6) == SQLITE_NULL;
    bool ok = code == SQLITE_DONE || code == SQLITE_ROW || quern_store_fail(db, err);
    if (code == SQLITE_ROW && !is_unnamed) {
        entry = quern_answer_new(sizeof(*entry));
        ok = read_entry(row, entry, quern_answer_arena(entry), err);
    }
    (void)sqlite3_finalize(row);
    if (is_unnamed) { /* written by an older program */
        return run_on(db, quern_sql_outbox_name, id, err) && load(db, id, ret_entry, err);
    }
    if (ok) {
        *ret_entry = entry;
        entry = NULL;
    }
    quern_answer_free(entry);
    return ok;
}

/* ---- the relay ---- */

static bool find_heads(struct relay *relay, struct quern_error *err)
{
    sqlite3_stmt *row = quern_store_prepare(relay->db, quern_sql_outbox_heads, NULL, 0, err);
    int code;

    if (row == NULL) {
        return false;
    }
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        const char *url = (const char *)sqlite3_column_text(row, 0);
        relay->heads = qn_memory_resize(relay->heads, relay->head_count + 1, sizeof(*relay->heads));
        relay->heads[relay->head_count++] =
            (struct head){qn_memory_copy_text(url, strlen(url)), sqlite3_column_int64(row, 1)};
    }
    bool ok = code == SQLITE_DONE || quern_store_fail(relay->db, err);
    (void)sqlite3_finalize(row);
    return ok;
}

static struct head *oldest_of(const struct relay *relay)
{
    struct head *oldest = NULL;

    for (size_t i = 0; i < relay->head_count; i++) {
        struct head *head = &relay->heads[i];
        if (head->id != 0 && (oldest == NULL || head->id < oldest->id)) {
            oldest = head;
        }
    }
    return oldest;
}

static bool go_on(const struct relay *relay, struct head *head, struct quern_error *err)
{
    const char *const texts[] = {head->queue_url};
    sqlite3_stmt *row = quern_store_prepare(relay->db, quern_sql_outbox_next, texts, 1, err);

    if (row == NULL) {
        return false;
    }
    (void)sqlite3_bind_int64(row, 2, head->id);
    bool ok = sqlite3_step(row) == SQLITE_ROW || quern_store_fail(relay->db, err);
    head->id = ok ? sqlite3_column_int64(row, 0) : 0; /* null is 0 */
    (void)sqlite3_finalize(row);
    return ok;
}

/* False: the relay ends. */
static bool note_failure(struct relay *relay, struct head *head, const struct quern_error *failure,
                         struct quern_error *err)
{
    const char *const texts[] = {failure->code, failure->message};

    if (strcmp(failure->code, "Cancelled") == 0) {
        *err = *failure;
        return false;
    }
    if (!relay->is_stuck) {
        relay->is_stuck = true;
        relay->stuck = *failure;
        (void)quern_fail(&relay->stuck, failure->code, failure->http_status, "%s: %s",
                         head->queue_url, failure->message);
        relay->stuck.is_retryable = failure->is_retryable;
        relay->stuck.is_unknown = failure->is_unknown;
    }
    sqlite3_stmt *row = quern_store_prepare(relay->db, quern_sql_outbox_fail, texts, 2, err);
    if (row == NULL) {
        return false;
    }
    (void)sqlite3_bind_int(row, 3, failure->is_retryable);
    (void)sqlite3_bind_int64(row, 4, quern_store_now_ms(relay->inbox));
    (void)sqlite3_bind_int64(row, 5, head->id);
    head->id = 0; /* those behind it keep their order: they wait */
    return quern_store_finish(relay->db, row, err);
}

static bool relay_one(struct relay *relay, struct head *head, int64_t *ret_sent,
                      struct quern_error *err)
{
    struct quern_outbox_entry *entry = NULL;
    struct quern_error failure;

    if (!load(relay->db, head->id, &entry, err)) {
        return false;
    }
    if (entry == NULL) {
        return go_on(relay, head, err);
    }
    bool is_sent =
        quern_send_message(relay->client, entry->queue_url, &entry->message, NULL, &failure);
    quern_answer_free(entry);
    if (!is_sent) {
        return note_failure(relay, head, &failure, err);
    }
    if (!run_on(relay->db, quern_sql_outbox_drop, head->id, err)) {
        return false;
    }
    (*ret_sent)++;
    return go_on(relay, head, err);
}

bool quern_outbox_relay(struct quern_inbox *inbox, struct quern_client *client, int64_t most,
                        int64_t *ret_sent, struct quern_error *err)
{
    struct relay relay = {.inbox = inbox, .client = client};
    struct head *head;

    *ret_sent = 0;
    if (!quern_store_take(inbox, &relay.db, err)) {
        return false;
    }
    bool ok = find_heads(&relay, err);
    while (ok && *ret_sent < most && (head = oldest_of(&relay)) != NULL) {
        ok = relay_one(&relay, head, ret_sent, err);
    }
    quern_store_give(inbox, relay.db);
    for (size_t i = 0; i < relay.head_count; i++) {
        qn_memory_free(relay.heads[i].queue_url);
    }
    qn_memory_free(relay.heads);
    if (ok && relay.is_stuck) {
        *err = relay.stuck;
    }
    return ok && !relay.is_stuck;
}

/* ---- what is stuck ---- */

static bool count_stuck(sqlite3 *db, int64_t *ret_count, struct quern_error *err)
{
    sqlite3_stmt *row = quern_store_prepare(db, quern_sql_outbox_stuck_count, NULL, 0, err);

    if (row == NULL) {
        return false;
    }
    bool ok = sqlite3_step(row) == SQLITE_ROW || quern_store_fail(db, err);
    *ret_count = ok ? sqlite3_column_int64(row, 0) : 0;
    (void)sqlite3_finalize(row);
    return ok;
}

static bool list_stuck(sqlite3 *db, struct quern_outbox_entries *entries, struct quern_error *err)
{
    struct qn_arena *arena = quern_answer_arena(entries);
    int64_t most = 0;
    int code = SQLITE_DONE;

    if (!count_stuck(db, &most, err)) {
        return false;
    }
    struct quern_outbox_entry *items = qn_arena_alloc(arena, ((size_t)most + 1) * sizeof(*items));
    sqlite3_stmt *row = quern_store_prepare(db, quern_sql_outbox_stuck, NULL, 0, err);
    if (row == NULL || items == NULL) {
        (void)sqlite3_finalize(row);
        return row != NULL && quern_fail(err, "DatabaseError", 0, "no memory");
    }
    (void)sqlite3_bind_int64(row, 1, most);
    bool ok = true;
    while (ok && (code = sqlite3_step(row)) == SQLITE_ROW) {
        ok = read_entry(row, &items[entries->count++], arena, err);
    }
    ok = ok && (code == SQLITE_DONE || quern_store_fail(db, err));
    (void)sqlite3_finalize(row);
    entries->items = items;
    return ok;
}

bool quern_outbox_list_stuck(struct quern_inbox *inbox, struct quern_outbox_entries **ret_entries,
                             struct quern_error *err)
{
    sqlite3 *db;

    if (!quern_store_take(inbox, &db, err)) {
        return false;
    }
    struct quern_outbox_entries *entries = quern_answer_new(sizeof(*entries));
    bool ok = list_stuck(db, entries, err);
    quern_store_give(inbox, db);
    if (!ok) {
        quern_answer_free(entries);
        return false;
    }
    *ret_entries = entries;
    return true;
}

bool quern_outbox_drop(struct quern_inbox *inbox, int64_t id, struct quern_error *err)
{
    sqlite3 *db;

    if (!quern_store_take(inbox, &db, err)) {
        return false;
    }
    bool ok = run_on(db, quern_sql_outbox_drop, id, err);
    quern_store_give(inbox, db);
    return ok;
}
