/* What may be received from a standard queue (or by one tenant of it), oldest first: messages never
 * received stand in a list, those that came back by lapse, delay end or a visibility change wait in
 * a heap by sequence and so take their old place (RCV-9). */
#include "server/engine/state.h"

static void moved(void *owner, uint32_t slot, uint32_t position)
{
    message_at(owner, slot)->position = position;
}

void qn_ready_init(struct ready *ready, struct qn_engine *engine)
{
    *ready = (struct ready){.first = SLOT_NONE, .last = SLOT_NONE};
    qn_heap_init(&ready->returned, moved, engine);
}

void qn_ready_done(struct ready *ready)
{
    qn_heap_done(&ready->returned);
}

void qn_ready_add_new(struct qn_engine *engine, struct ready *ready, uint32_t slot)
{
    struct message *message = message_at(engine, slot);

    message->ready_previous = ready->last;
    message->ready_next = SLOT_NONE;
    if (ready->last == SLOT_NONE) {
        ready->first = slot;
    } else {
        message_at(engine, ready->last)->ready_next = slot;
    }
    ready->last = slot;
    ready->count++;
}

void qn_ready_add_returned(struct qn_engine *engine, struct ready *ready, uint32_t slot)
{
    struct message *message = message_at(engine, slot);

    message->flags |= MESSAGE_IN_READY_HEAP;
    qn_heap_push(&ready->returned, (int64_t)message_order(message), message->sequence, slot);
    ready->count++;
}

void qn_ready_remove(struct qn_engine *engine, struct ready *ready, uint32_t slot)
{
    struct message *message = message_at(engine, slot);

    ready->count--;
    if ((message->flags & MESSAGE_IN_READY_HEAP) != 0) {
        message->flags = (uint8_t)(message->flags & ~MESSAGE_IN_READY_HEAP);
        qn_heap_remove(&ready->returned, message->position);
        return;
    }
    if (message->ready_previous == SLOT_NONE) {
        ready->first = message->ready_next;
    } else {
        message_at(engine, message->ready_previous)->ready_next = message->ready_next;
    }
    if (message->ready_next == SLOT_NONE) {
        ready->last = message->ready_previous;
    } else {
        message_at(engine, message->ready_next)->ready_previous = message->ready_previous;
    }
    message->ready_previous = SLOT_NONE;
    message->ready_next = SLOT_NONE;
}

struct ready *qn_ready_of(struct qn_queue *queue, uint32_t slot, const struct qn_engine *engine)
{
    struct tenant *tenant = message_at(engine, slot)->tenant;

    return tenant != NULL ? &tenant->ready : &queue->messages->ready;
}

uint32_t qn_ready_oldest(const struct qn_engine *engine, const struct ready *ready)
{
    const struct qn_heap_entry *returned = qn_heap_top(&ready->returned);

    if (returned == NULL) {
        return ready->first;
    }
    if (ready->first == SLOT_NONE) {
        return returned->item;
    }
    return (int64_t)message_at(engine, ready->first)->sequence < returned->key ? ready->first
                                                                               : returned->item;
}
