/* The same message a second time, as a fault wants it: with its id, its content and its counts, but
 * stored, leased and deleted for itself. And for whom a copy is meant. */
#include "server/engine/state.h"

#include "server/model/instance.h"

static void tell(struct qn_tx *tx, const struct qn_queue *queue, const struct message *message)
{
    struct qn_event event;
    char id_text[37];
    char sequence_text[21];

    if (tx->events->wanted) {
        qn_event_of(tx, &event, QN_EVENT_MSG_DUPCOPY, queue, message, id_text, sequence_text);
        qn_event_add_key(tx, &event, message);
        qn_emit_event(tx, &event);
    }
}

static void fill(struct qn_tx *tx, struct qn_queue *queue, const struct message *original,
                 struct message *copy)
{
    memcpy(copy->id, original->id, sizeof(copy->id));
    copy->queue_number = queue->number;
    copy->generation = queue->generation;
    copy->sequence = qn_queue_draw_sequence(tx, queue);
    copy->content_id = message_key(copy);
    copy->enqueued_at_ms = original->enqueued_at_ms;
    copy->arrived_at_ms = tx->now_ms;
    copy->first_received_at_ms = original->first_received_at_ms;
    copy->receive_count = original->receive_count;
    copy->total_count = original->total_count;
    copy->source = original->source;
    /* Its enqueue time is older than its place. */
    copy->flags = (uint8_t)(MESSAGE_REDRIVEN | (original->flags & MESSAGE_ID_IS_DEDUPLICATION));
    if (!queue->is_fifo) {
        copy->flags |= MESSAGE_RANKED;
        copy->rank = message_order(original);
    }
}

uint32_t qn_copy_make(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot,
                      enum message_state state, int64_t hidden_until_ms)
{
    struct qn_engine *engine = tx->engine;
    struct qn_str encoded;
    struct qn_content content;
    struct qn_error err;

    if (!qn_content_get(tx, message_at(engine, slot), &encoded, &err) ||
        !qn_content_decode(encoded, &content) || !qn_engine_has_memory(engine, encoded.len)) {
        return SLOT_NONE;
    }
    uint32_t copy_slot = qn_slab_take(engine);
    struct message *copy = message_at(engine, copy_slot);
    fill(tx, queue, message_at(engine, slot), copy);
    copy->state = (uint8_t)state;
    copy->hidden_until_ms = hidden_until_ms;
    qn_content_set(engine, copy, &content);
    qn_message_place(tx, queue, copy_slot, content.group_id, true);
    if (queue->is_fifo) {
        qn_group_put_first(engine, queue, copy_slot);
    }
    qn_emit_message(tx, QN_ROW_MESSAGE_INSERT, copy, 0, qn_str(copy->content, copy->content_size));
    if (tx->entry != NULL) {
        qn_eviction_add(engine, copy_slot);
    }
    tell(tx, queue, copy);
    return copy_slot;
}

/* ---- copies for some consumers ---- */

static void reserve(struct qn_engine *engine, struct qn_queue *queue, uint32_t slot,
                    enum qn_audience audience, const struct qn_party *party)
{
    struct messages *messages = queue->messages;

    if (messages->reserved_count == messages->reserved_cap) {
        messages->reserved_cap = messages->reserved_cap == 0 ? 8 : 2 * messages->reserved_cap;
        messages->reserved = qn_memory_resize(messages->reserved, messages->reserved_cap,
                                              sizeof(messages->reserved[0]));
    }
    messages->reserved[messages->reserved_count++] = (struct reserved){
        .slot = slot,
        .is_for_others = audience == QN_FOR_OTHERS,
        .instance = qn_str_is_none(party->instance)
                        ? QN_STR_NONE
                        : qn_str(qn_memory_copy_text(party->instance.ptr, party->instance.len),
                                 party->instance.len),
        .connection = party->connection,
    };
    message_at(engine, slot)->flags |= MESSAGE_RESERVED;
    qn_waiters_wake(engine, queue);
}

static bool is_meant(const struct reserved *reserved, const struct qn_tx *tx)
{
    struct qn_str instance = tx->caller != NULL ? tx->caller->access_key_id : QN_STR_NONE;
    bool is_the_one = qn_str_is_none(reserved->instance)
                          ? qn_str_is_none(instance) && tx->connection == reserved->connection
                          : qn_instance_is(reserved->instance, instance);

    return is_the_one != reserved->is_for_others;
}

uint32_t qn_reserved_next(const struct qn_tx *tx, const struct qn_queue *queue, uint32_t *at)
{
    const struct messages *messages = queue->messages;

    for (; *at < messages->reserved_count; (*at)++) {
        if (is_meant(&messages->reserved[*at], tx)) {
            return messages->reserved[*at].slot;
        }
    }
    return SLOT_NONE;
}

void qn_reserved_drop(struct messages *messages, struct message *message, uint32_t slot)
{
    uint32_t i = 0;

    while (messages->reserved[i].slot != slot) {
        i++;
    }
    message->flags = (uint8_t)(message->flags & ~MESSAGE_RESERVED);
    qn_memory_free((char *)(uintptr_t)messages->reserved[i].instance.ptr);
    messages->reserved_count--;
    memmove(&messages->reserved[i], &messages->reserved[i + 1],
            (messages->reserved_count - i) * sizeof(messages->reserved[0]));
}

void qn_reserved_done(struct messages *messages)
{
    for (uint32_t i = 0; i < messages->reserved_count; i++) {
        qn_memory_free((char *)(uintptr_t)messages->reserved[i].instance.ptr);
    }
    qn_memory_free(messages->reserved);
}

bool qn_engine_deliver_again(struct qn_tx *tx, struct qn_queue *queue,
                             const struct qn_leased *leased, enum qn_audience audience,
                             const struct qn_party *party)
{
    uint32_t slot = qn_leased_slot(tx, queue, leased);
    int64_t until_ms = tx->now_ms + queue->settings.visibility_timeout_s * 1000;
    bool is_reserved = audience != QN_FOR_ANYBODY && until_ms > tx->now_ms && !queue->is_fifo;

    if (slot == SLOT_NONE) {
        return false;
    }
    uint32_t copy = qn_copy_make(tx, queue, slot, is_reserved ? MESSAGE_DELAYED : MESSAGE_VISIBLE,
                                 is_reserved ? until_ms : tx->now_ms);
    if (copy != SLOT_NONE && is_reserved) {
        reserve(tx->engine, queue, copy, audience, party);
    }
    return copy != SLOT_NONE;
}
