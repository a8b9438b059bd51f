/* What faults may do to stored messages: ordinary transitions, journaled like any other. */
#include "server/engine/state.h"

bool qn_engine_resurrect(struct qn_tx *tx, struct qn_queue *queue, struct qn_str message_id)
{
    struct qn_engine *engine = tx->engine;
    struct deleted_message *found = NULL;
    struct qn_content content;
    struct qn_event event;
    uint8_t id[16];
    char id_text[37];
    char sequence_text[21];

    if (!qn_random_parse_uuid(message_id, id)) {
        return false;
    }
    for (size_t i = 0; engine->deleted != NULL && i < DELETED_KEPT; i++) {
        struct deleted_message *deleted = &engine->deleted[i];
        if (deleted->content != NULL && deleted->queue == queue &&
            deleted->generation == queue->generation && memcmp(deleted->id, id, sizeof(id)) == 0) {
            found = deleted;
        }
    }
    if (found == NULL ||
        !qn_content_decode(qn_str(found->content, found->content_size), &content)) {
        return false;
    }
    uint32_t slot = qn_slab_take(engine);
    struct message *message = message_at(engine, slot);
    memcpy(message->id, id, sizeof(id));
    message->queue_number = queue->number;
    message->generation = queue->generation;
    message->sequence = qn_queue_draw_sequence(tx, queue);
    message->content_id = message_key(message);
    message->enqueued_at_ms = found->enqueued_at_ms;
    message->arrived_at_ms = tx->now_ms;
    message->first_received_at_ms = found->first_received_at_ms;
    message->receive_count = found->receive_count;
    message->total_count = found->total_count;
    message->source = found->source;
    message->flags = MESSAGE_REDRIVEN; /* its enqueue time is older than its place */
    message->state = MESSAGE_VISIBLE;
    message->hidden_until_ms = tx->now_ms;
    message->content = found->content;
    message->content_size = found->content_size;
    engine->content_bytes += found->content_size;
    qn_message_place(tx, queue, slot, content.group_id, true);
    qn_emit_message(tx, QN_ROW_MESSAGE_INSERT, message, 0,
                    qn_str(message->content, message->content_size));
    *found = (struct deleted_message){0};
    if (tx->events->wanted) {
        qn_event_of(tx, &event, QN_EVENT_MSG_DUPCOPY, queue, message, id_text, sequence_text);
        qn_event_add_key(tx, &event, message);
        qn_emit_event(tx, &event);
    }
    return true;
}

static bool is_meant(const struct message *message, const struct qn_leased *leased)
{
    return message->state == MESSAGE_IN_FLIGHT &&
           (leased->receive_count < 0 || message->total_count == leased->receive_count);
}

uint32_t qn_leased_slot(struct qn_tx *tx, struct qn_queue *queue, const struct qn_leased *leased)
{
    struct qn_engine *engine = tx->engine;
    const struct qn_heap *hidden = &queue->messages->hidden;
    struct qn_lease lease;
    uint8_t id[16];

    if (!qn_str_is_none(leased->handle)) {
        enum qn_handle_state state = qn_engine_find_lease(tx, queue, leased->handle, &lease);
        bool is_there = (state == QN_HANDLE_LATEST || state == QN_HANDLE_OLDER) &&
                        lease.is_in_flight && is_meant(message_at(engine, lease.slot), leased);
        return is_there ? lease.slot : SLOT_NONE;
    }
    if (!qn_random_parse_uuid(leased->message_id, id)) {
        return SLOT_NONE;
    }
    for (uint32_t i = 0; i < hidden->len; i++) {
        const struct message *message = message_at(engine, hidden->entries[i].item);
        engine->looked_at++;
        if (is_meant(message, leased) && memcmp(message->id, id, sizeof(id)) == 0) {
            return hidden->entries[i].item;
        }
    }
    return SLOT_NONE;
}

/* The lease ends then; now or earlier: it lapses. */
static void end_lease_at(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot, int64_t end_ms,
                         struct qn_str handle)
{
    struct message *message = message_at(tx->engine, slot);
    bool lasts = end_ms > tx->now_ms;
    struct qn_event event;
    char id_text[37];
    char sequence_text[21];

    qn_message_set_state(tx, queue, slot, lasts ? MESSAGE_IN_FLIGHT : MESSAGE_VISIBLE,
                         lasts ? end_ms : tx->now_ms);
    qn_emit_message(tx, QN_ROW_MESSAGE_PUT, message, 0, QN_STR_NONE);
    if (tx->events->wanted) {
        qn_event_of(tx, &event, lasts ? QN_EVENT_LEASE_EXTEND : QN_EVENT_LEASE_EXPIRE, queue,
                    message, id_text, sequence_text);
        event.reason = QN_STR("fault");
        event.handle = handle;
        event.deadline_ms = lasts ? end_ms : QN_EVENT_NO_INT;
        qn_emit_event(tx, &event);
    }
}

bool qn_engine_expire_lease(struct qn_tx *tx, struct qn_queue *queue,
                            const struct qn_leased *leased)
{
    return qn_engine_shorten_lease(tx, queue, leased, tx->now_ms);
}

bool qn_engine_shorten_lease(struct qn_tx *tx, struct qn_queue *queue,
                             const struct qn_leased *leased, int64_t end_ms)
{
    uint32_t slot = qn_leased_slot(tx, queue, leased);

    if (slot != SLOT_NONE && message_at(tx->engine, slot)->hidden_until_ms > end_ms) {
        end_lease_at(tx, queue, slot, end_ms, leased->handle);
    }
    return slot != SLOT_NONE;
}

bool qn_engine_extend_lease(struct qn_tx *tx, struct qn_queue *queue,
                            const struct qn_leased *leased, int64_t by_ms)
{
    uint32_t slot = qn_leased_slot(tx, queue, leased);

    if (slot == SLOT_NONE) {
        return false;
    }
    const struct message *message = message_at(tx->engine, slot);
    int64_t latest_ms = message->received_at_ms + QN_VISIBILITY_MAX_S * INT64_C(1000);
    int64_t room_ms = latest_ms - message->hidden_until_ms;
    if (room_ms > 0) {
        end_lease_at(tx, queue, slot,
                     message->hidden_until_ms + (by_ms < room_ms ? by_ms : room_ms),
                     leased->handle);
    }
    return true;
}
