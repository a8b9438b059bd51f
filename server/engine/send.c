/* Sending: a message comes into being, DELAYED or VISIBLE (SM-1, SM-2), unless it is a FIFO
 * duplicate (SM-F1). */
#include "server/engine/state.h"

bool qn_engine_has_memory(const struct qn_engine *engine, size_t bytes)
{
    return engine->content_bytes + engine->slab.in_use * sizeof(struct message) + bytes <=
           engine->options.memory_max;
}

void qn_engine_format_sequence(uint64_t sequence, char out[21])
{
    uint64_t number = UINT64_C(18000000000000000000) + sequence * 256;

    for (int i = 19; i >= 0; i--) {
        out[i] = (char)('0' + number % 10);
        number /= 10;
    }
    out[20] = '\0';
}

/* A FIFO queue's delayed messages are the tail of its arrival order, also when a shorter delay has
 * made many of them due that are not all settled yet: then a new one lines up behind them. */
enum message_state qn_message_first_state(const struct qn_queue *queue, int64_t delay_s)
{
    bool waits = queue->is_fifo && queue->messages->first_delayed != SLOT_NONE;

    return delay_s > 0 || waits ? MESSAGE_DELAYED : MESSAGE_VISIBLE;
}

void qn_message_place(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot,
                      struct qn_str group_id, bool is_new)
{
    struct qn_engine *engine = tx->engine;
    struct message *message = message_at(engine, slot);

    engine->looked_at++;
    qn_arrival_add(engine, queue, slot);
    message->group = NULL;
    if (queue->is_fifo) {
        message->group = qn_group_of(engine, queue, group_id);
        qn_group_add(engine, queue, slot);
    } else if (!qn_str_is_none(group_id)) {
        message->tenant = qn_tenant_of(engine, queue, group_id);
        message->tenant->stored++;
        message->tenant->last_sent_ms = tx->now_ms;
    }
    qn_message_enter(tx, queue, slot, is_new);
    qn_queue_touch(engine, queue);
}

static uint32_t store(struct qn_tx *tx, struct qn_queue *queue, const struct qn_send *send)
{
    uint32_t slot = qn_slab_take(tx->engine);
    struct message *message = message_at(tx->engine, slot);
    int64_t delay_s = queue->is_fifo ? queue->settings.delay_s : send->delay_s;

    qn_random_uuid(tx->random, message->id);
    message->queue_number = queue->number;
    message->generation = queue->generation;
    message->sequence = qn_queue_draw_sequence(tx, queue);
    message->content_id = message_key(message);
    message->enqueued_at_ms = tx->now_ms;
    message->arrived_at_ms = tx->now_ms;
    message->state = (uint8_t)qn_message_first_state(queue, delay_s);
    message->hidden_until_ms = tx->now_ms + delay_s * 1000;
    qn_content_set(tx->engine, message, send->content);
    qn_message_place(tx, queue, slot, send->content->group_id, true);
    qn_emit_message(tx, QN_ROW_MESSAGE_INSERT, message, 0,
                    qn_str(message->content, message->content_size));
    if (tx->entry != NULL) {
        qn_eviction_add(tx->engine, slot);
    }
    return slot;
}

static void tell(struct qn_tx *tx, const struct qn_queue *queue, uint32_t slot)
{
    struct qn_event event;
    char id_text[37];
    char sequence_text[21];
    const struct message *message = message_at(tx->engine, slot);

    qn_event_of(tx, &event, QN_EVENT_MSG_SEND, queue, message, id_text, sequence_text);
    if (message->state == MESSAGE_DELAYED) {
        event.deadline_ms = message->hidden_until_ms;
    }
    qn_event_add_key(tx, &event, message);
    qn_emit_event(tx, &event);
}

void qn_engine_send(struct qn_tx *tx, struct qn_queue *queue, const struct qn_send *send,
                    struct qn_sent *ret_sent)
{
    *ret_sent = (struct qn_sent){0};
    if (!qn_str_is_none(send->deduplication_key) &&
        qn_deduplication_find(tx, queue, send->deduplication_key, ret_sent)) {
        queue->deduplicated++;
        return;
    }
    uint32_t slot = store(tx, queue, send);
    const struct message *message = message_at(tx->engine, slot);
    memcpy(ret_sent->message_id, message->id, sizeof(ret_sent->message_id));
    ret_sent->sequence = queue->is_fifo ? message->sequence : 0;
    if (!qn_str_is_none(send->deduplication_key)) {
        qn_deduplication_add(tx, queue, send->deduplication_key, ret_sent);
        qn_queue_touch(tx->engine, queue);
    }
    queue->sent++;
    queue->sent_bytes += (int64_t)(send->content->body.len + send->content->attributes.len);
    if (tx->events->wanted) {
        tell(tx, queue, slot);
    }
}
