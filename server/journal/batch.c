/* What one transaction brings to SQLite: each row that its entries touched, at its last state. */
#include "server/journal/batch.h"

#include "server/journal/dead.h"
#include "server/journal/rows.h"

enum { ENTRIES_MAX = 16384, SLOTS_MAX = 65536, BYTES_MAX = 16 << 20, TABLE_MIN = 1024 };

enum slot_kind {
    SLOT_MESSAGE,            /* key: message */
    SLOT_CONTENT,            /* key: content id */
    SLOT_QUEUE,              /* key: number */
    SLOT_DEDUPLICATION_TRIM, /* key: queue number */
    SLOT_ATTEMPT_TRIM,       /* key: queue number */
    SLOT_SINGLE              /* a row by itself: applied as it is, in its order */
};

struct qn_batch_slot {
    int64_t key;
    const char *at;  /* the row that says the last state */
    const char *end; /* of its entry */
    enum slot_kind kind;
    bool is_new; /* SQLite does not have the row: it was inserted in this batch */
    bool is_gone;
};

void qn_batch_init(struct qn_batch *batch)
{
    *batch = (struct qn_batch){.slots = NULL};
    qn_removal_init(&batch->removal);
}

void qn_batch_done(struct qn_batch *batch)
{
    qn_memory_free(batch->slots);
    qn_memory_free(batch->table);
    qn_removal_done(&batch->removal);
    qn_batch_init(batch);
}

void qn_batch_clear(struct qn_batch *batch)
{
    if (batch->table_size > 0) {
        memset(batch->table, 0, batch->table_size * sizeof(*batch->table));
    }
    batch->slot_count = 0;
    batch->entries = 0;
    batch->bytes = 0;
    batch->has_queues = false;
}

bool qn_batch_is_full(const struct qn_batch *batch)
{
    return batch->entries >= ENTRIES_MAX || batch->slot_count >= SLOTS_MAX ||
           batch->bytes >= BYTES_MAX;
}

static struct qn_batch_slot *add_slot(struct qn_batch *batch, enum slot_kind kind, int64_t key)
{
    if (batch->slot_count == batch->slot_cap) {
        batch->slot_cap = batch->slot_cap == 0 ? TABLE_MIN / 2 : batch->slot_cap * 2;
        batch->slots = qn_memory_resize(batch->slots, batch->slot_cap, sizeof(*batch->slots));
    }
    struct qn_batch_slot *slot = &batch->slots[batch->slot_count++];
    *slot = (struct qn_batch_slot){.kind = kind, .key = key};
    return slot;
}

static uint32_t first_place(const struct qn_batch *batch, enum slot_kind kind, int64_t key)
{
    uint64_t mixed = ((uint64_t)key ^ (uint64_t)kind << 60) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(mixed >> 32) & (batch->table_size - 1);
}

/* The slot's place, or the free one where it belongs. */
static uint32_t *find_place(const struct qn_batch *batch, enum slot_kind kind, int64_t key)
{
    uint32_t place = first_place(batch, kind, key);
    while (batch->table[place] != 0) {
        const struct qn_batch_slot *slot = &batch->slots[batch->table[place] - 1];
        if (slot->key == key && slot->kind == kind) {
            break;
        }
        place = (place + 1) & (batch->table_size - 1);
    }
    return &batch->table[place];
}

/* At most half of the table is in use. */
static void grow_table(struct qn_batch *batch)
{
    uint32_t size = batch->table_size == 0 ? TABLE_MIN : batch->table_size * 2;
    qn_memory_free(batch->table);
    batch->table = qn_memory_new_array(size, sizeof(*batch->table));
    batch->table_size = size;
    for (uint32_t i = 0; i < batch->slot_count; i++) {
        if (batch->slots[i].kind != SLOT_SINGLE) {
            *find_place(batch, batch->slots[i].kind, batch->slots[i].key) = i + 1;
        }
    }
}

/* The slot of a row, made when this is the first touch: is_new then says whether SQLite lacks the
 * row. */
static struct qn_batch_slot *touch(struct qn_batch *batch, enum slot_kind kind, int64_t key,
                                   bool is_new)
{
    if (batch->slot_count >= batch->table_size / 2) {
        grow_table(batch);
    }
    uint32_t *place = find_place(batch, kind, key);
    if (*place != 0) {
        return &batch->slots[*place - 1];
    }
    *place = batch->slot_count + 1;
    struct qn_batch_slot *slot = add_slot(batch, kind, key);
    slot->is_new = is_new;
    return slot;
}

static void set_state(struct qn_batch_slot *slot, const char *at, const char *end)
{
    slot->at = at;
    slot->end = end;
    slot->is_gone = false;
}

static int64_t queue_of(int64_t key)
{
    return (int64_t)((uint64_t)key >> QN_SEQUENCE_BITS);
}

static void add_row(struct qn_batch *batch, const struct qn_row *row, const char *at,
                    const char *end)
{
    switch (row->kind) {
    case QN_ROW_QUEUE_PUT:
        set_state(touch(batch, SLOT_QUEUE, row->queue.number, false), at, end);
        batch->has_queues = true;
        break;
    case QN_ROW_QUEUE_DROP:
        touch(batch, SLOT_QUEUE, row->queue_number, false)->is_gone = true;
        batch->has_queues = true;
        break;
    case QN_ROW_MESSAGE_INSERT:
        set_state(touch(batch, SLOT_MESSAGE, row->message.key, true), at, end);
        set_state(touch(batch, SLOT_CONTENT, row->message.content_id, true), at, end);
        break;
    case QN_ROW_MESSAGE_PUT:
        set_state(touch(batch, SLOT_MESSAGE, row->message.key, false), at, end);
        break;
    case QN_ROW_MESSAGE_DELETE:
        touch(batch, SLOT_MESSAGE, row->key, false)->is_gone = true;
        touch(batch, SLOT_CONTENT, row->content_id, false)->is_gone = true;
        break;
    case QN_ROW_MESSAGE_MOVE:
        touch(batch, SLOT_MESSAGE, row->key, false)->is_gone = true;
        set_state(touch(batch, SLOT_MESSAGE, row->message.key, true), at, end);
        break;
    case QN_ROW_DEDUPLICATION_TRIM:
        set_state(touch(batch, SLOT_DEDUPLICATION_TRIM, queue_of(row->key), false), at, end);
        break;
    case QN_ROW_ATTEMPT_TRIM:
        set_state(touch(batch, SLOT_ATTEMPT_TRIM, queue_of(row->key), false), at, end);
        break;
    case QN_ROW_DEDUPLICATION_PUT:
    case QN_ROW_ATTEMPT_PUT:
    case QN_ROW_TASK_PUT:
    case QN_ROW_TASK_DROP:
    case QN_ROW_NAME_PUT:
    case QN_ROW_NAME_DROP:
        set_state(add_slot(batch, SLOT_SINGLE, 0), at, end);
        break;
    }
}

bool qn_batch_add(struct qn_batch *batch, struct qn_str payload)
{
    struct qn_reader reader;
    struct qn_row row;

    qn_reader_init(&reader, payload);
    const char *at = reader.at;
    while (qn_entry_next(&reader, &row)) {
        add_row(batch, &row, at, reader.end);
        at = reader.at;
    }
    batch->entries++;
    batch->bytes += payload.len;
    return !reader.failed;
}

static struct qn_row row_of(const struct qn_batch_slot *slot)
{
    struct qn_reader reader = {.at = slot->at, .end = slot->end};
    struct qn_row row;
    if (!qn_entry_next(&reader, &row)) {
        memset(&row, 0, sizeof(row)); /* cannot be: it was read when it was added */
    }
    return row;
}

static int apply_queue(const struct qn_batch_slot *slot, struct qn_store *store)
{
    if (slot->is_gone) {
        int rc = qn_dead_note_drop(store, (uint32_t)slot->key);
        return rc == SQLITE_OK ? qn_rows_run_number(store, QN_SQL_queue_drop, slot->key) : rc;
    }
    struct qn_row row = row_of(slot);
    int rc = qn_dead_note_put(store, row.queue.number, row.queue.generation);
    return rc == SQLITE_OK ? qn_rows_put_queue(store, &row.queue) : rc;
}

static int apply_single(const struct qn_batch_slot *slot, struct qn_store *store)
{
    struct qn_row row = row_of(slot);
    switch (row.kind) {
    case QN_ROW_DEDUPLICATION_PUT:
        return qn_rows_put_deduplication(store, &row.deduplication);
    case QN_ROW_ATTEMPT_PUT:
        return qn_rows_put_attempt(store, &row.attempt);
    case QN_ROW_TASK_PUT:
        return qn_rows_put_task(store, &row.task);
    case QN_ROW_TASK_DROP:
        return qn_rows_run_bytes(store, QN_SQL_task_drop,
                                 qn_str((const char *)row.task.id, sizeof(row.task.id)));
    case QN_ROW_NAME_PUT:
        return qn_rows_put_name(store, &row.name);
    case QN_ROW_NAME_DROP:
        return qn_rows_run_bytes(store, QN_SQL_name_drop, row.name.name);
    default:
        return SQLITE_OK;
    }
}

static int apply_slot(struct qn_batch *batch, const struct qn_batch_slot *slot,
                      struct qn_store *store)
{
    if (slot->is_new && slot->is_gone) {
        return SQLITE_OK;
    }
    switch (slot->kind) {
    case SLOT_MESSAGE: {
        if (slot->is_gone) {
            qn_removal_add_message(&batch->removal, slot->key);
            return SQLITE_OK;
        }
        struct qn_row row = row_of(slot);
        return qn_rows_put_message(store, &row.message);
    }
    case SLOT_CONTENT: {
        if (slot->is_gone) {
            qn_removal_add_content(&batch->removal, slot->key);
            return SQLITE_OK;
        }
        struct qn_row row = row_of(slot);
        return qn_rows_put_content(store, slot->key, row.content);
    }
    case SLOT_QUEUE:
        return apply_queue(slot, store);
    case SLOT_SINGLE:
        return apply_single(slot, store);
    case SLOT_DEDUPLICATION_TRIM:
    case SLOT_ATTEMPT_TRIM:
        break;
    }
    return SQLITE_OK;
}

static int apply_trim(const struct qn_batch_slot *slot, struct qn_store *store)
{
    enum qn_sql sql;
    if (slot->kind == SLOT_DEDUPLICATION_TRIM) {
        sql = QN_SQL_deduplication_trim;
    } else if (slot->kind == SLOT_ATTEMPT_TRIM) {
        sql = QN_SQL_attempt_trim;
    } else {
        return SQLITE_OK;
    }
    sqlite3_bind_int64(store->statements[sql], 1, QN_MESSAGE_KEY(slot->key, 0));
    sqlite3_bind_int64(store->statements[sql], 2, row_of(slot).key);
    return qn_store_run(store, sql);
}

int qn_batch_apply(struct qn_batch *batch, struct qn_store *store)
{
    int rc = SQLITE_OK;
    qn_removal_clear(&batch->removal);
    for (uint32_t i = 0; rc == SQLITE_OK && i < batch->slot_count; i++) {
        rc = apply_slot(batch, &batch->slots[i], store);
    }
    if (rc == SQLITE_OK) {
        rc = qn_removal_apply(&batch->removal, store);
    }
    /* The last trim of a queue stands where its first one stood: rows that the batch put in between
     * must be there before. It never reaches the ones put after it, because keys grow with time. */
    for (uint32_t i = 0; rc == SQLITE_OK && i < batch->slot_count; i++) {
        rc = apply_trim(&batch->slots[i], store);
    }
    return rc;
}
