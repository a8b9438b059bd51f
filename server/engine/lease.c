/* Receipt handles, and what is done with them. A handle names queue, message and receive number,
 * sealed so that a forged one is refused; it carries the message's slot, so no map is needed.
 * Handles from before a restart are found among the messages loaded. */
#include "server/engine/state.h"

enum { HANDLE_TEXT = 44 }; /* base64 of QN_SEAL_SEALED bytes */

struct handle {
    uint32_t queue_number;
    uint32_t slot;
    uint64_t sequence;
    uint32_t receive_number;
    uint32_t boot;
};

struct qn_str qn_handle_make(struct qn_tx *tx, const struct qn_queue *queue,
                             const struct message *message, struct handle_origin origin)
{
    uint8_t plain[QN_SEAL_PLAIN];
    uint8_t sealed[QN_SEAL_SEALED];

    memcpy(plain, &queue->number, 4);
    memcpy(plain + 4, &origin.slot, 4);
    memcpy(plain + 8, &message->sequence, 8);
    memcpy(plain + 16, &message->receive_number, 4);
    memcpy(plain + 20, &origin.boot, 4);
    qn_seal_close(&tx->engine->seal, plain, sealed);
    return qn_digest_base64(tx->arena, qn_str((const char *)sealed, sizeof(sealed)));
}

static bool read_handle(struct qn_tx *tx, struct qn_str text, struct handle *ret_handle)
{
    struct qn_str sealed;
    uint8_t plain[QN_SEAL_PLAIN];

    if (text.len != HANDLE_TEXT || !qn_digest_decode_base64(tx->arena, text, &sealed) ||
        sealed.len != QN_SEAL_SEALED ||
        !qn_seal_open(&tx->engine->seal, (const uint8_t *)sealed.ptr, plain)) {
        return false;
    }
    memcpy(&ret_handle->queue_number, plain, 4);
    memcpy(&ret_handle->slot, plain + 4, 4);
    memcpy(&ret_handle->sequence, plain + 8, 8);
    memcpy(&ret_handle->receive_number, plain + 16, 4);
    memcpy(&ret_handle->boot, plain + 20, 4);
    return true;
}

uint32_t qn_loaded_slot(const struct qn_queue *queue, uint64_t sequence)
{
    size_t low = 0;
    size_t high = queue->loaded_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (queue->loaded[middle].sequence < sequence) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < queue->loaded_count && queue->loaded[low].sequence == sequence
               ? queue->loaded[low].slot
               : SLOT_NONE;
}

enum qn_handle_state qn_engine_find_lease(struct qn_tx *tx, struct qn_queue *queue,
                                          struct qn_str receipt_handle, struct qn_lease *ret_lease)
{
    struct handle handle;

    tx->engine->looked_at++;
    if (!read_handle(tx, receipt_handle, &handle)) {
        return QN_HANDLE_MALFORMED;
    }
    if (handle.queue_number != queue->number) {
        return QN_HANDLE_OTHER_QUEUE;
    }
    uint32_t slot = handle.boot == tx->engine->options.boot
                        ? handle.slot
                        : qn_loaded_slot(queue, handle.sequence);
    if (slot >= tx->engine->slab.used) {
        return QN_HANDLE_GONE;
    }
    const struct message *message = message_at(tx->engine, slot);
    if (message->state == MESSAGE_FREE || message->queue_number != queue->number ||
        message->generation != queue->generation || message->sequence != handle.sequence ||
        qn_message_is_expired(queue, message, tx->now_ms)) {
        return QN_HANDLE_GONE;
    }
    *ret_lease = (struct qn_lease){
        .slot = slot,
        .is_in_flight =
            message->state == MESSAGE_IN_FLIGHT && message->hidden_until_ms > tx->now_ms,
        .received_at_ms = message->received_at_ms,
        .deadline_ms = message->hidden_until_ms,
    };
    return handle.receive_number == message->receive_number ? QN_HANDLE_LATEST : QN_HANDLE_OLDER;
}

static void keep_deleted(struct qn_engine *engine, struct qn_queue *queue,
                         const struct message *message)
{
    if (!engine->options.keeps_deleted || message->content == NULL) {
        return;
    }
    if (engine->deleted == NULL) {
        engine->deleted = qn_memory_new_array(DELETED_KEPT, sizeof(*engine->deleted));
    }
    struct deleted_message *kept = &engine->deleted[engine->deleted_next++ % DELETED_KEPT];
    qn_memory_free(kept->content);
    *kept = (struct deleted_message){
        .queue = queue,
        .generation = queue->generation,
        .content = qn_memory_copy_text(message->content, message->content_size),
        .content_size = message->content_size,
        .enqueued_at_ms = message->enqueued_at_ms,
        .first_received_at_ms = message->first_received_at_ms,
        .receive_count = message->receive_count,
        .total_count = message->total_count,
        .source = message->source,
    };
    memcpy(kept->id, message->id, sizeof(kept->id));
}

void qn_engine_delete_message(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot,
                              struct qn_str receipt_handle)
{
    struct qn_engine *engine = tx->engine;
    struct message *message = message_at(engine, slot);
    struct qn_event event;
    char id_text[37];
    char sequence_text[21];

    if (tx->events->wanted) {
        qn_event_of(tx, &event, QN_EVENT_MSG_DELETE, queue, message, id_text, sequence_text);
        event.handle = receipt_handle;
        qn_event_add_key(tx, &event, message);
        qn_emit_event(tx, &event);
    }
    keep_deleted(engine, queue, message);
    qn_emit_delete(tx, message);
    qn_message_remove(tx, queue, slot);
    qn_slab_give(engine, slot);
    queue->deleted++;
}

void qn_engine_count_vain_delete(struct qn_queue *queue)
{
    queue->deleted++;
}

void qn_engine_set_visible_at(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot,
                              int64_t visible_at_ms, struct qn_str receipt_handle)
{
    struct message *message = message_at(tx->engine, slot);
    bool hides = visible_at_ms > tx->now_ms;
    struct qn_event event;
    char id_text[37];
    char sequence_text[21];

    message->flags |= MESSAGE_CHANGED;
    qn_message_set_state(tx, queue, slot, hides ? MESSAGE_IN_FLIGHT : MESSAGE_VISIBLE,
                         visible_at_ms);
    qn_emit_message(tx, QN_ROW_MESSAGE_PUT, message, 0, QN_STR_NONE);
    if (tx->events->wanted) {
        qn_event_of(tx, &event, hides ? QN_EVENT_LEASE_EXTEND : QN_EVENT_LEASE_RELEASE, queue,
                    message, id_text, sequence_text);
        event.handle = receipt_handle;
        event.deadline_ms = visible_at_ms;
        event.reason = hides ? QN_STR_NONE : QN_STR("cmv0");
        qn_emit_event(tx, &event);
    }
}

void qn_engine_look_lease(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot,
                          struct qn_fact_message *ret_message)
{
    qn_fill_fact(tx, queue, message_at(tx->engine, slot), ret_message);
}
