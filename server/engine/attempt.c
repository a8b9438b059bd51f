/* ReceiveRequestAttemptId: the same receive again within five minutes gives the same messages under
 * the same handles, unless one of them was changed meanwhile (RRA-1 to RRA-8). */
#include "server/engine/state.h"

static bool same_id(const struct qn_map_node *node, const void *key)
{
    const struct attempt *attempt = QN_CONTAINER((uintptr_t)node, struct attempt, node);
    return qn_str_equal(attempt->id, *(const struct qn_str *)key);
}

void qn_attempt_init(struct messages *messages)
{
    qn_map_init(&messages->attempts, same_id);
}

static void free_attempt(struct attempt *attempt)
{
    qn_memory_free((char *)(uintptr_t)attempt->id.ptr);
    qn_memory_free(attempt);
}

static void drop(struct messages *messages, struct attempt *attempt)
{
    qn_map_remove(&messages->attempts, &attempt->node);
    if (attempt->older == NULL) {
        messages->oldest_attempt = attempt->newer;
    } else {
        attempt->older->newer = attempt->newer;
    }
    if (attempt->newer == NULL) {
        messages->newest_attempt = attempt->older;
    } else {
        attempt->newer->older = attempt->older;
    }
    free_attempt(attempt);
}

static struct attempt *find(const struct messages *messages, struct qn_str id)
{
    struct qn_map_node *node = qn_map_find(&messages->attempts, qn_str_hash(id), &id);

    return node == NULL ? NULL : QN_CONTAINER(node, struct attempt, node);
}

enum attempt_answer qn_attempt_find(struct qn_tx *tx, struct qn_queue *queue, struct qn_str id,
                                    const struct attempt **ret_attempt)
{
    const struct attempt *attempt = find(queue->messages, id);
    bool lapsed = false;

    tx->engine->looked_at++;
    if (attempt == NULL || tx->now_ms - attempt->received_at_ms >= QN_ATTEMPT_MS) {
        return ATTEMPT_NEW;
    }
    for (size_t i = 0; i < attempt->count; i++) {
        if (attempt->messages[i].slot == SLOT_NONE) {
            return ATTEMPT_SPOILT; /* gone already when the store was loaded */
        }
        const struct message *message = message_at(tx->engine, attempt->messages[i].slot);
        if (message->state == MESSAGE_FREE || message->queue_number != queue->number ||
            message->generation != queue->generation ||
            message->sequence != attempt->messages[i].sequence ||
            qn_message_is_expired(queue, message, tx->now_ms)) {
            return ATTEMPT_SPOILT;
        }
        if (message->receive_number != attempt->messages[i].receive_number ||
            message->state != MESSAGE_IN_FLIGHT || message->hidden_until_ms <= tx->now_ms) {
            lapsed = true;
        }
        if ((message->flags & MESSAGE_CHANGED) != 0 &&
            message->receive_number == attempt->messages[i].receive_number) {
            return ATTEMPT_SPOILT;
        }
    }
    if (lapsed) {
        return ATTEMPT_NEW;
    }
    *ret_attempt = attempt;
    return ATTEMPT_REPLAY;
}

static void append(struct messages *messages, struct attempt *attempt)
{
    struct attempt *old = find(messages, attempt->id);

    if (old != NULL) {
        drop(messages, old);
    }
    qn_map_insert(&messages->attempts, &attempt->node, qn_str_hash(attempt->id));
    attempt->older = messages->newest_attempt;
    if (messages->newest_attempt == NULL) {
        messages->oldest_attempt = attempt;
    } else {
        messages->newest_attempt->newer = attempt;
    }
    messages->newest_attempt = attempt;
}

static void emit(struct qn_tx *tx, const struct qn_queue *queue, const struct attempt *attempt)
{
    struct qn_buf messages;
    struct qn_row row = {.kind = QN_ROW_ATTEMPT_PUT};

    qn_buf_init(&messages, 4096);
    for (size_t i = 0; i < attempt->count; i++) {
        qn_buf_append_u64(&messages, attempt->messages[i].sequence);
        qn_buf_append_u32(&messages, attempt->messages[i].receive_number);
        qn_buf_append_u32(&messages, attempt->messages[i].origin.slot);
        qn_buf_append_u32(&messages, attempt->messages[i].origin.boot);
    }
    row.attempt = (struct qn_attempt_row){
        .key = QN_MESSAGE_KEY(queue->number, attempt->counter),
        .generation = queue->generation,
        .received_at_ms = attempt->received_at_ms,
        .id = attempt->id,
        .messages = qn_buf_str(&messages),
    };
    qn_entry_append(tx->entry, &row);
    qn_buf_done(&messages);
}

void qn_attempt_add(struct qn_tx *tx, struct qn_queue *queue, struct qn_str id,
                    const uint32_t *slots, size_t count)
{
    struct attempt *attempt = qn_memory_new(sizeof(*attempt));

    attempt->id = qn_str(qn_memory_copy_text(id.ptr, id.len), id.len);
    attempt->received_at_ms = tx->now_ms;
    attempt->counter = ++queue->next_attempt;
    attempt->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct message *message = message_at(tx->engine, slots[i]);
        attempt->messages[i] = (struct attempt_message){
            .sequence = message->sequence,
            .slot = slots[i],
            .receive_number = message->receive_number,
            .origin = {slots[i], tx->engine->options.boot},
        };
    }
    append(queue->messages, attempt);
    if (tx->entry != NULL) {
        emit(tx, queue, attempt);
    }
    qn_queue_touch(tx->engine, queue);
}

void qn_attempt_trim(struct qn_tx *tx, struct qn_queue *queue, int64_t now_ms, int *budget)
{
    struct attempt *oldest;
    uint64_t last = 0;

    while ((oldest = queue->messages->oldest_attempt) != NULL && *budget > 0 &&
           oldest->received_at_ms + QN_ATTEMPT_MS <= now_ms) {
        last = oldest->counter;
        drop(queue->messages, oldest);
        (*budget)--;
    }
    if (last > 0 && tx->entry != NULL) {
        struct qn_row row = {.kind = QN_ROW_ATTEMPT_TRIM,
                             .key = QN_MESSAGE_KEY(queue->number, last)};
        qn_entry_append(tx->entry, &row);
    }
}

bool qn_attempt_free_some(struct messages *messages, int *budget)
{
    while (messages->oldest_attempt != NULL) {
        struct attempt *oldest = messages->oldest_attempt;
        if ((*budget)-- <= 0) {
            return false;
        }
        messages->oldest_attempt = oldest->newer;
        free_attempt(oldest);
    }
    qn_map_done(&messages->attempts);
    return true;
}

void qn_attempt_restore(struct qn_queue *queue, const struct qn_attempt_row *row)
{
    struct qn_reader reader;
    struct attempt *attempt = qn_memory_new(sizeof(*attempt));

    qn_reader_init(&reader, row->messages);
    attempt->id = qn_str(qn_memory_copy_text(row->id.ptr, row->id.len), row->id.len);
    attempt->received_at_ms = row->received_at_ms;
    attempt->counter = (uint64_t)row->key & ((UINT64_C(1) << QN_SEQUENCE_BITS) - 1);
    while (reader.at != reader.end && !reader.failed && attempt->count < QN_RECEIVE_MAX) {
        struct attempt_message *message = &attempt->messages[attempt->count++];
        message->sequence = qn_reader_u64(&reader);
        message->receive_number = qn_reader_u32(&reader);
        message->origin.slot = qn_reader_u32(&reader);
        message->origin.boot = qn_reader_u32(&reader);
        message->slot = qn_loaded_slot(queue, message->sequence);
    }
    if (attempt->counter > queue->next_attempt) {
        queue->next_attempt = attempt->counter;
    }
    append(queue->messages, attempt);
}
