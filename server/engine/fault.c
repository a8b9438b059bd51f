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

bool qn_engine_expire_lease(struct qn_tx *tx, struct qn_queue *queue, struct qn_str message_id)
{
    struct qn_engine *engine = tx->engine;
    const struct qn_heap *hidden = &queue->messages->hidden;
    struct qn_event event;
    uint8_t id[16];
    char id_text[37];
    char sequence_text[21];

    if (!qn_random_parse_uuid(message_id, id)) {
        return false;
    }
    for (uint32_t i = 0; i < hidden->len; i++) {
        uint32_t slot = hidden->entries[i].item;
        struct message *message = message_at(engine, slot);
        if (message->state != MESSAGE_IN_FLIGHT || memcmp(message->id, id, sizeof(id)) != 0) {
            continue;
        }
        qn_message_set_state(tx, queue, slot, MESSAGE_VISIBLE, tx->now_ms);
        qn_emit_message(tx, QN_ROW_MESSAGE_PUT, message, 0, QN_STR_NONE);
        if (tx->events->wanted) {
            qn_event_of(tx, &event, QN_EVENT_LEASE_EXPIRE, queue, message, id_text, sequence_text);
            event.reason = QN_STR("fault");
            qn_emit_event(tx, &event);
        }
        return true;
    }
    return false;
}
