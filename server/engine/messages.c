/* The stored messages of one queue: arrival order, what is hidden and until when, what may be
 * received. */
#include "server/engine/state.h"

static void hidden_moved(void *owner, uint32_t slot, uint32_t position)
{
    message_at(owner, slot)->position = position;
}

static void age_moved(void *owner, uint32_t slot, uint32_t position)
{
    message_at(owner, slot)->age_position = position;
}

static void open_moved(void *owner, uint32_t index, uint32_t position)
{
    group_at(owner, index)->open_position = position;
}

static void tenant_moved(void *owner, uint32_t index, uint32_t position)
{
    tenant_at(owner, index)->position = position;
}

static bool same_group(const struct qn_map_node *node, const void *key)
{
    const struct group *group = QN_CONTAINER((uintptr_t)node, struct group, node);
    return qn_str_equal(group->name, *(const struct qn_str *)key);
}

uint32_t qn_named_add(struct messages *messages, void *named)
{
    uint32_t index;

    if (messages->free_named_count > 0) {
        index = messages->free_named[--messages->free_named_count];
    } else {
        if (messages->named_count == messages->named_cap) {
            messages->named_cap = messages->named_cap == 0 ? 16 : messages->named_cap * 2;
            messages->named =
                qn_memory_resize(messages->named, messages->named_cap, sizeof(void *));
        }
        index = messages->named_count++;
    }
    messages->named[index] = named;
    return index;
}

void qn_named_remove(struct messages *messages, uint32_t index)
{
    if (messages->free_named_count == messages->free_named_cap) {
        messages->free_named_cap =
            messages->free_named_cap == 0 ? 16 : messages->free_named_cap * 2;
        messages->free_named =
            qn_memory_resize(messages->free_named, messages->free_named_cap, sizeof(uint32_t));
    }
    messages->free_named[messages->free_named_count++] = index;
    messages->named[index] = NULL;
}

struct messages *qn_messages_new(struct qn_engine *engine, bool is_fifo)
{
    struct messages *messages = qn_memory_new(sizeof(*messages));

    messages->is_fifo = is_fifo;
    messages->first = messages->last = SLOT_NONE;
    messages->redriven_first = messages->redriven_last = SLOT_NONE;
    messages->first_delayed = SLOT_NONE;
    qn_heap_init(&messages->redriven_ages, age_moved, engine);
    qn_heap_init(&messages->hidden, hidden_moved, engine);
    qn_heap_init(&messages->open, open_moved, messages);
    qn_heap_init(&messages->quiet, tenant_moved, messages);
    qn_heap_init(&messages->noisy, tenant_moved, messages);
    qn_ready_init(&messages->ready, engine);
    /* A tenant begins like a group (node, name), so one comparison serves both. */
    qn_map_init(&messages->by_name, same_group);
    qn_deduplication_init(messages);
    qn_attempt_init(messages);
    return messages;
}

static bool free_some(struct qn_engine *engine, uint32_t *first, int *budget)
{
    while (*first != SLOT_NONE) {
        if ((*budget)-- <= 0) {
            return false;
        }
        uint32_t next = message_at(engine, *first)->next;
        qn_slab_give(engine, *first);
        *first = next;
    }
    return true;
}

static bool free_named(struct messages *messages, bool is_fifo, int *budget)
{
    for (; messages->dead_index < messages->named_count; messages->dead_index++) {
        struct group *group = messages->named[messages->dead_index];
        if ((*budget)-- <= 0) {
            return false;
        }
        if (group == NULL) {
            continue;
        }
        qn_memory_free((char *)(uintptr_t)group->name.ptr);
        if (!is_fifo) {
            qn_ready_done(&tenant_at(messages, (uint32_t)messages->dead_index)->ready);
        }
        qn_memory_free(group);
    }
    return true;
}

static bool free_slice(struct qn_engine *engine, struct messages *messages, int *budget)
{
    if (!free_some(engine, &messages->first, budget) ||
        !free_some(engine, &messages->redriven_first, budget) ||
        !free_named(messages, messages->is_fifo, budget) ||
        !qn_deduplication_free_some(messages, budget) || !qn_attempt_free_some(messages, budget)) {
        return false;
    }
    qn_heap_done(&messages->redriven_ages);
    qn_heap_done(&messages->hidden);
    qn_heap_done(&messages->open);
    qn_heap_done(&messages->quiet);
    qn_heap_done(&messages->noisy);
    qn_ready_done(&messages->ready);
    qn_reserved_done(messages);
    qn_map_done(&messages->by_name);
    qn_memory_free(messages->named);
    qn_memory_free(messages->free_named);
    qn_memory_free(messages);
    return true;
}

void qn_messages_free_slice(struct qn_engine *engine, int *budget)
{
    while (engine->dead != NULL) {
        struct messages *messages = engine->dead;
        struct messages *next = messages->next_dead;
        if (!free_slice(engine, messages, budget)) {
            return;
        }
        engine->dead = next;
    }
}

void qn_messages_free_now(struct qn_engine *engine, struct messages *messages)
{
    int budget = INT32_MAX;

    while (!free_slice(engine, messages, &budget)) {
        budget = INT32_MAX;
    }
}

void qn_arrival_add(struct qn_engine *engine, struct qn_queue *queue, uint32_t slot)
{
    struct messages *messages = queue->messages;
    struct message *message = message_at(engine, slot);
    bool redriven = (message->flags & MESSAGE_REDRIVEN) != 0;
    uint32_t *first = redriven ? &messages->redriven_first : &messages->first;
    uint32_t *last = redriven ? &messages->redriven_last : &messages->last;

    message->previous = *last;
    message->next = SLOT_NONE;
    if (*last == SLOT_NONE) {
        *first = slot;
    } else {
        message_at(engine, *last)->next = slot;
    }
    *last = slot;
    if (redriven) {
        qn_heap_push(&messages->redriven_ages, message->enqueued_at_ms, message->sequence, slot);
    }
}

void qn_arrival_remove(struct qn_engine *engine, struct qn_queue *queue, uint32_t slot)
{
    struct messages *messages = queue->messages;
    struct message *message = message_at(engine, slot);
    bool redriven = (message->flags & MESSAGE_REDRIVEN) != 0;
    uint32_t *first = redriven ? &messages->redriven_first : &messages->first;
    uint32_t *last = redriven ? &messages->redriven_last : &messages->last;

    if (messages->first_delayed == slot) {
        messages->first_delayed = message->next;
    }
    if (queue->task != NULL) {
        qn_task_skip(engine, queue, slot);
    }
    if (message->previous == SLOT_NONE) {
        *first = message->next;
    } else {
        message_at(engine, message->previous)->next = message->next;
    }
    if (message->next == SLOT_NONE) {
        *last = message->previous;
    } else {
        message_at(engine, message->next)->previous = message->previous;
    }
    if (redriven) {
        qn_heap_remove(&messages->redriven_ages, message->age_position);
    }
}

/* A FIFO queue's delayed messages are the tail of the arrival list, due in that order: no heap. */
static bool uses_heap(const struct qn_queue *queue, const struct message *message)
{
    return message->state == MESSAGE_IN_FLIGHT ||
           (message->state == MESSAGE_DELAYED && !queue->is_fifo);
}

static void count_state(struct qn_queue *queue, struct message *message, int by)
{
    struct tenant *tenant = queue->is_fifo ? NULL : message->tenant;

    switch (message->state) {
    case MESSAGE_VISIBLE:
        queue->counts.visible += by;
        break;
    case MESSAGE_DELAYED:
        queue->counts.delayed += by;
        if (tenant != NULL) {
            tenant->delayed = (uint32_t)((int)tenant->delayed + by);
        }
        break;
    default:
        queue->counts.in_flight += by;
        if (tenant != NULL) {
            tenant->in_flight = (uint32_t)((int)tenant->in_flight + by);
        }
        if (queue->is_fifo) {
            struct group *group = message->group;
            queue->groups_in_flight -= group->in_flight > 0;
            group->in_flight = (uint32_t)((int)group->in_flight + by);
            queue->groups_in_flight += group->in_flight > 0;
        }
        break;
    }
}

void qn_message_enter(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot, bool is_new)
{
    struct qn_engine *engine = tx->engine;
    struct message *message = message_at(engine, slot);

    count_state(queue, message, 1);
    if (uses_heap(queue, message)) {
        qn_heap_push(&queue->messages->hidden, message->hidden_until_ms, message->sequence, slot);
    } else if (message->state == MESSAGE_DELAYED && queue->messages->first_delayed == SLOT_NONE) {
        queue->messages->first_delayed = slot;
    }
    if (queue->is_fifo) {
        qn_group_settle(engine, queue, message->group);
    } else if (message->state == MESSAGE_VISIBLE) {
        struct ready *ready = qn_ready_of(queue, slot, engine);
        if (is_new && (message->flags & MESSAGE_RANKED) == 0) {
            qn_ready_add_new(engine, ready, slot);
        } else {
            qn_ready_add_returned(engine, ready, slot);
        }
    }
    if (!queue->is_fifo && message->tenant != NULL) {
        qn_tenant_settle(engine, queue, message->tenant);
    }
    if (message->state == MESSAGE_VISIBLE) {
        if (queue->task != NULL) {
            qn_task_meet(engine, queue, slot);
        }
        qn_waiters_wake(engine, queue);
    }
}

void qn_message_leave(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot)
{
    struct qn_engine *engine = tx->engine;
    struct message *message = message_at(engine, slot);

    count_state(queue, message, -1);
    if ((message->flags & MESSAGE_RESERVED) != 0) {
        qn_reserved_drop(queue->messages, message, slot);
    }
    if (uses_heap(queue, message)) {
        if (message->state == MESSAGE_IN_FLIGHT) {
            qn_fair_note_busy(queue, queue->is_fifo ? NULL : message->tenant,
                              message->received_at_ms, tx->now_ms);
        }
        qn_heap_remove(&queue->messages->hidden, message->position);
    } else if (message->state == MESSAGE_DELAYED) {
        if (queue->messages->first_delayed == slot) {
            queue->messages->first_delayed = message->next;
        }
    } else if (!queue->is_fifo) {
        qn_ready_remove(engine, qn_ready_of(queue, slot, engine), slot);
    }
    if (!queue->is_fifo && message->tenant != NULL) {
        qn_tenant_settle(engine, queue, message->tenant);
    }
}

void qn_message_set_state(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot,
                          enum message_state state, int64_t hidden_until_ms)
{
    struct message *message = message_at(tx->engine, slot);

    tx->engine->looked_at++;
    qn_message_leave(tx, queue, slot);
    message->state = (uint8_t)state;
    message->hidden_until_ms = hidden_until_ms;
    qn_message_enter(tx, queue, slot, false);
    qn_queue_touch(tx->engine, queue);
}

void qn_message_remove(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot)
{
    struct qn_engine *engine = tx->engine;
    struct message *message = message_at(engine, slot);

    engine->looked_at++;
    qn_message_leave(tx, queue, slot);
    qn_arrival_remove(engine, queue, slot);
    if (queue->is_fifo) {
        qn_group_remove(tx, queue, slot);
    } else if (message->tenant != NULL) {
        struct tenant *tenant = message->tenant;
        tenant->stored--;
        message->tenant = NULL;
        qn_tenant_drop_if_idle(engine, queue, tenant, tx->now_ms);
    }
    /* Below the in-flight limit again, or a group is free: a waiter may be served. */
    qn_waiters_wake(engine, queue);
    qn_queue_touch(engine, queue);
}
