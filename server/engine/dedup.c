/* Deduplication of FIFO sends: five minutes per queue (or per group, when the key says so), also
 * after the original is gone (DED-1 to DED-9). Entries stand in time order, so the oldest is always
 * the next to be forgotten. */
#include "server/engine/state.h"

static bool same_key(const struct qn_map_node *node, const void *key)
{
    const struct deduplication *entry = QN_CONTAINER((uintptr_t)node, struct deduplication, node);
    return qn_str_equal(entry->key, *(const struct qn_str *)key);
}

void qn_deduplication_init(struct messages *messages)
{
    qn_map_init(&messages->deduplications, same_key);
}

bool qn_deduplication_find(struct qn_tx *tx, struct qn_queue *queue, struct qn_str key,
                           struct qn_sent *ret_sent)
{
    struct qn_map_node *node =
        qn_map_find(&queue->messages->deduplications, qn_str_hash(key), &key);

    tx->engine->looked_at++;
    if (node == NULL) {
        return false;
    }
    const struct deduplication *entry = QN_CONTAINER(node, struct deduplication, node);
    if (tx->now_ms - entry->accepted_at_ms >= QN_DEDUPLICATION_MS) {
        return false;
    }
    memcpy(ret_sent->message_id, entry->message_id, sizeof(ret_sent->message_id));
    ret_sent->sequence = entry->sequence;
    ret_sent->is_duplicate = true;
    return true;
}

static void append(struct messages *messages, struct deduplication *entry)
{
    uint64_t hash = qn_str_hash(entry->key);
    /* An entry whose window has passed may still be there under the same key. */
    struct qn_map_node *old = qn_map_find(&messages->deduplications, hash, &entry->key);

    if (old != NULL) {
        qn_map_remove(&messages->deduplications, old);
        QN_CONTAINER(old, struct deduplication, node)->counter = 0;
    }
    qn_map_insert(&messages->deduplications, &entry->node, hash);
    if (messages->newest_deduplication == NULL) {
        messages->oldest_deduplication = entry;
    } else {
        messages->newest_deduplication->newer = entry;
    }
    messages->newest_deduplication = entry;
}

static struct deduplication *new_entry(struct qn_str key)
{
    struct deduplication *entry = qn_memory_new(sizeof(*entry));

    entry->key = qn_str(qn_memory_copy_text(key.ptr, key.len), key.len);
    return entry;
}

void qn_deduplication_add(struct qn_tx *tx, struct qn_queue *queue, struct qn_str key,
                          const struct qn_sent *sent)
{
    struct deduplication *entry = new_entry(key);

    entry->accepted_at_ms = tx->now_ms;
    entry->counter = ++queue->next_deduplication;
    entry->sequence = sent->sequence;
    memcpy(entry->message_id, sent->message_id, sizeof(entry->message_id));
    append(queue->messages, entry);
    if (tx->entry != NULL) {
        struct qn_row row = {.kind = QN_ROW_DEDUPLICATION_PUT};
        row.deduplication = (struct qn_deduplication_row){
            .key = QN_MESSAGE_KEY(queue->number, entry->counter),
            .generation = queue->generation,
            .accepted_at_ms = entry->accepted_at_ms,
            .id = key,
            .sequence = (int64_t)entry->sequence,
        };
        memcpy(row.deduplication.message_id, entry->message_id, sizeof(entry->message_id));
        qn_entry_append(tx->entry, &row);
    }
}

static void free_oldest(struct messages *messages)
{
    struct deduplication *entry = messages->oldest_deduplication;

    messages->oldest_deduplication = entry->newer;
    if (messages->oldest_deduplication == NULL) {
        messages->newest_deduplication = NULL;
    }
    qn_memory_free((char *)(uintptr_t)entry->key.ptr);
    qn_memory_free(entry);
}

void qn_deduplication_trim(struct qn_tx *tx, struct qn_queue *queue, int64_t now_ms, int *budget)
{
    struct messages *messages = queue->messages;
    struct deduplication *oldest;
    uint64_t last = 0;

    while ((oldest = messages->oldest_deduplication) != NULL && *budget > 0 &&
           oldest->accepted_at_ms + QN_DEDUPLICATION_MS <= now_ms) {
        last = oldest->counter > last ? oldest->counter : last;
        if (oldest->counter != 0) {
            qn_map_remove(&messages->deduplications, &oldest->node);
        }
        free_oldest(messages);
        (*budget)--;
    }
    if (last > 0 && tx->entry != NULL) {
        struct qn_row row = {.kind = QN_ROW_DEDUPLICATION_TRIM,
                             .key = QN_MESSAGE_KEY(queue->number, last)};
        qn_entry_append(tx->entry, &row);
    }
}

bool qn_deduplication_free_some(struct messages *messages, int *budget)
{
    while (messages->oldest_deduplication != NULL) {
        if ((*budget)-- <= 0) {
            return false;
        }
        free_oldest(messages);
    }
    qn_map_done(&messages->deduplications);
    return true;
}

void qn_deduplication_restore(struct qn_queue *queue, const struct qn_deduplication_row *row)
{
    struct deduplication *entry = new_entry(row->id);

    entry->accepted_at_ms = row->accepted_at_ms;
    entry->counter = (uint64_t)row->key & ((UINT64_C(1) << QN_SEQUENCE_BITS) - 1);
    entry->sequence = (uint64_t)row->sequence;
    memcpy(entry->message_id, row->message_id, sizeof(entry->message_id));
    if (entry->counter > queue->next_deduplication) {
        queue->next_deduplication = entry->counter;
    }
    append(queue->messages, entry);
}
