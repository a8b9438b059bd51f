/* Message groups of a FIFO queue. A group is open while its first stored message is visible; open
 * groups stand in a heap by their service stamp, so those served longest ago come first (FIFO-1 to
 * FIFO-5). A blocked group is not looked at. */
#include "server/engine/state.h"

struct group *qn_group_of(struct qn_engine *engine, struct qn_queue *queue, struct qn_str name)
{
    struct messages *messages = queue->messages;
    uint64_t hash = qn_str_hash(name);
    struct qn_map_node *node = qn_map_find(&messages->by_name, hash, &name);

    engine->looked_at++;
    if (node != NULL) {
        return QN_CONTAINER(node, struct group, node);
    }
    struct group *group = qn_memory_new(sizeof(*group));
    group->name = qn_str(qn_memory_copy_text(name.ptr, name.len), name.len);
    group->first = group->last = SLOT_NONE;
    group->open_position = QN_HEAP_NONE;
    group->stamp = queue->next_stamp++;
    group->index = qn_named_add(messages, group);
    qn_map_insert(&messages->by_name, &group->node, hash);
    return group;
}

void qn_group_add(struct qn_engine *engine, struct qn_queue *queue, uint32_t slot)
{
    struct message *message = message_at(engine, slot);
    struct group *group = message->group;

    (void)queue;
    message->ready_previous = group->last;
    message->ready_next = SLOT_NONE;
    if (group->last == SLOT_NONE) {
        group->first = slot;
    } else {
        message_at(engine, group->last)->ready_next = slot;
    }
    group->last = slot;
    group->count++;
}

static void unlink_message(struct qn_engine *engine, struct group *group, uint32_t slot)
{
    const struct message *message = message_at(engine, slot);

    if (message->ready_previous == SLOT_NONE) {
        group->first = message->ready_next;
    } else {
        message_at(engine, message->ready_previous)->ready_next = message->ready_next;
    }
    if (message->ready_next == SLOT_NONE) {
        group->last = message->ready_previous;
    } else {
        message_at(engine, message->ready_next)->ready_previous = message->ready_previous;
    }
}

void qn_group_put_first(struct qn_engine *engine, struct qn_queue *queue, uint32_t slot)
{
    struct message *message = message_at(engine, slot);
    struct group *group = message->group;

    unlink_message(engine, group, slot);
    message->ready_previous = SLOT_NONE;
    message->ready_next = group->first;
    if (group->first == SLOT_NONE) {
        group->last = slot;
    } else {
        message_at(engine, group->first)->ready_previous = slot;
    }
    group->first = slot;
    qn_group_settle(engine, queue, group);
}

void qn_group_settle(struct qn_engine *engine, struct qn_queue *queue, struct group *group)
{
    struct messages *messages = queue->messages;
    bool is_open =
        group->first != SLOT_NONE && message_at(engine, group->first)->state == MESSAGE_VISIBLE;

    if (is_open && group->open_position == QN_HEAP_NONE) {
        qn_heap_push(&messages->open, group->stamp, 0, group->index);
        qn_waiters_wake(engine, queue);
    } else if (!is_open && group->open_position != QN_HEAP_NONE) {
        qn_heap_remove(&messages->open, group->open_position);
    }
}

void qn_group_remove(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot)
{
    struct qn_engine *engine = tx->engine;
    struct messages *messages = queue->messages;
    struct message *message = message_at(engine, slot);
    struct group *group = message->group;

    unlink_message(engine, group, slot);
    group->count--;
    message->group = NULL;
    if (group->count > 0) {
        /* The removed row may have been the only one that knew the group's place in the order of
         * service. */
        if (group->was_served) {
            qn_emit_message(tx, QN_ROW_MESSAGE_PUT, message_at(engine, group->first), 0,
                            QN_STR_NONE);
        }
        qn_group_settle(engine, queue, group);
        return;
    }
    if (group->open_position != QN_HEAP_NONE) {
        qn_heap_remove(&messages->open, group->open_position);
    }
    qn_map_remove(&messages->by_name, &group->node);
    qn_named_remove(messages, group->index);
    qn_memory_free((char *)(uintptr_t)group->name.ptr);
    qn_memory_free(group);
}
