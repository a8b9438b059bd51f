/* Dead-lettering: a message that would be received beyond maxReceiveCount goes to the dead-letter
 * queue instead (DLQ-1 to DLQ-15). Only its small row moves; the content stays where it is. */
#include "server/engine/state.h"

struct qn_queue *qn_redrive_target(struct qn_engine *engine, const struct qn_queue *queue,
                                   const struct message *message)
{
    struct qn_queue *target = NULL;

    if (queue->settings.dead_letter_target_arn == NULL ||
        (int64_t)message->receive_count < queue->settings.max_receive_count) {
        return NULL;
    }
    if (!qn_engine_find_arn(engine, qn_str_from_cstr(queue->settings.dead_letter_target_arn),
                            &target) ||
        target == queue) {
        return NULL;
    }
    return target;
}

void qn_redrive_move(struct qn_tx *tx, struct qn_queue *queue, struct qn_queue *target,
                     uint32_t slot)
{
    struct qn_engine *engine = tx->engine;
    struct message *message = message_at(engine, slot);
    int64_t old_key = message_key(message);
    struct qn_str name = QN_STR_NONE;
    struct qn_event event;
    char id_text[37];
    char sequence_text[21];
    char name_text[QN_FIFO_ID_MAX];

    if (tx->events->wanted) {
        qn_event_of(tx, &event, QN_EVENT_MSG_DLQ, queue, message, id_text, sequence_text);
        event.target = target->name;
        qn_event_add_key(tx, &event, message);
        qn_emit_event(tx, &event);
    }
    if (message->group != NULL) {
        /* The group may be freed with its last message. */
        struct qn_str group = queue->is_fifo ? message->group->name : message->tenant->name;
        name = qn_str(name_text, group.len < sizeof(name_text) ? group.len : sizeof(name_text));
        memcpy(name_text, group.ptr, name.len);
    }
    qn_message_remove(tx, queue, slot);
    message->queue_number = target->number;
    message->generation = target->generation;
    message->sequence = qn_queue_draw_sequence(tx, target);
    message->arrived_at_ms = tx->now_ms;
    message->receive_count = 0;
    message->receive_number = 0;
    message->flags = (uint8_t)(message->flags & ~(MESSAGE_STORED_FLAGS | MESSAGE_RANKED));
    message->source = qn_source_intern(engine, queue->arn);
    if (target->is_fifo) {
        message->enqueued_at_ms = tx->now_ms;
        message->flags |= MESSAGE_ID_IS_DEDUPLICATION | MESSAGE_REDRIVEN;
    } else {
        message->flags |= MESSAGE_REDRIVEN;
    }
    message->state = MESSAGE_VISIBLE;
    message->hidden_until_ms = tx->now_ms;
    qn_message_place(tx, target, slot, name, true);
    qn_emit_message(tx, QN_ROW_MESSAGE_MOVE, message, old_key, QN_STR_NONE);
}
