/* Bringing the store's rows back into memory, in the order in which the journal gives them. */
#include "server/engine/state.h"

/* A handle can only name a message that was received: those are found by sequence after a restart.
 */
static void remember_loaded(struct qn_queue *queue, const struct message *message, uint32_t slot)
{
    size_t count = queue->loaded_count;

    if (message->receive_number == 0) {
        return;
    }
    if (count == 0 || (count >= 16 && (count & (count - 1)) == 0)) {
        queue->loaded =
            qn_memory_resize(queue->loaded, count == 0 ? 16 : count * 2, sizeof(struct loaded));
    }
    queue->loaded[queue->loaded_count++] =
        (struct loaded){.sequence = message->sequence, .slot = slot};
}

/* The latest stamp that a row of the group knows is the group's. */
static void restore_stamp(struct group *group, const struct qn_message_row *row)
{
    group->was_served = group->was_served || row->receive_number > 0 ||
                        (group->count > 1 && row->service_stamp != group->stamp);
    if (group->count == 1 || row->service_stamp > group->stamp) {
        group->stamp = row->service_stamp;
    }
}

static void restore_message(struct qn_engine *engine, const struct qn_message_row *row)
{
    uint32_t number = (uint32_t)((uint64_t)row->key >> QN_SEQUENCE_BITS);
    struct qn_queue *queue = qn_queue_by_number(engine, number);
    struct qn_event_list events = {.wanted = false};
    struct qn_tx tx = {.engine = engine, .events = &events};

    if (queue == NULL) {
        return;
    }
    uint32_t slot = qn_slab_take(engine);
    struct message *message = message_at(engine, slot);
    message->queue_number = number;
    message->generation = row->generation;
    message->sequence = (uint64_t)row->key & ((UINT64_C(1) << QN_SEQUENCE_BITS) - 1);
    message->content_id = row->content_id;
    message->content_size = row->content_size;
    message->enqueued_at_ms = row->enqueued_at_ms;
    message->hidden_until_ms = row->hidden_until_ms;
    message->first_received_at_ms = row->first_received_at_ms;
    message->received_at_ms = row->received_at_ms;
    message->arrived_at_ms = row->arrived_at_ms;
    message->receive_count = row->receive_count;
    message->total_count = row->total_count;
    message->receive_number = row->receive_number;
    message->state = row->state & 0x0f;
    message->flags = (uint8_t)(row->state >> 4);
    message->source = qn_source_intern(engine, row->source_arn);
    memcpy(message->id, row->id, sizeof(message->id));
    if (message->sequence >= queue->next_sequence) {
        queue->next_sequence = message->sequence + 1;
        queue->reserved_sequence = queue->next_sequence;
    }
    tx.now_ms = message->enqueued_at_ms;
    qn_message_place(&tx, queue, slot, row->group_id, true);
    remember_loaded(queue, message, slot);
    if (queue->is_fifo) {
        restore_stamp(message->group, row);
    }
}

void qn_engine_restore(struct qn_engine *engine, const struct qn_row *row, int64_t now_ms)
{
    struct qn_queue *queue;

    (void)now_ms;
    switch (row->kind) {
    case QN_ROW_NAME_PUT:
        qn_name_restore(engine, &row->name);
        break;
    case QN_ROW_QUEUE_PUT:
        (void)qn_queue_restore(engine, &row->queue);
        break;
    case QN_ROW_MESSAGE_PUT:
        restore_message(engine, &row->message);
        break;
    case QN_ROW_DEDUPLICATION_PUT:
        queue = qn_queue_by_number(
            engine, (uint32_t)((uint64_t)row->deduplication.key >> QN_SEQUENCE_BITS));
        if (queue != NULL) {
            qn_deduplication_restore(queue, &row->deduplication);
        }
        break;
    case QN_ROW_ATTEMPT_PUT:
        queue =
            qn_queue_by_number(engine, (uint32_t)((uint64_t)row->attempt.key >> QN_SEQUENCE_BITS));
        if (queue != NULL) {
            qn_attempt_restore(queue, &row->attempt);
        }
        break;
    case QN_ROW_TASK_PUT:
        qn_task_restore(engine, &row->task);
        break;
    default:
        break;
    }
}

static void restored_groups(struct qn_queue *queue)
{
    struct messages *messages = queue->messages;

    for (uint32_t i = 0; i < messages->named_count; i++) {
        struct group *group = group_at(messages, i);
        if (group->stamp >= queue->next_stamp) {
            queue->next_stamp = group->stamp + 1;
        }
        if (group->open_position != QN_HEAP_NONE) {
            qn_heap_update(&messages->open, group->open_position, group->stamp, 0);
        }
    }
}

void qn_engine_restored(struct qn_engine *engine, int64_t now_ms)
{
    (void)now_ms;
    for (uint32_t i = 0; i < engine->queue_count; i++) {
        if (engine->queues[i]->is_fifo) {
            restored_groups(engine->queues[i]);
        }
        qn_queue_touch(engine, engine->queues[i]);
    }
}
