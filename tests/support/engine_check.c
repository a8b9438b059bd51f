/* The engine's own invariants: each message in the lists and heaps that its state says, counts that
 * equal what is there, heaps in order. */
#include "tests/support/engine_check.h"

#include "server/engine/state.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return #condition;                                                                     \
        }                                                                                          \
    } while (0)

static bool stands(const struct qn_heap *heap, uint32_t position, uint32_t item)
{
    return position < heap->len && heap->entries[position].item == item;
}

static bool is_in_order(const struct qn_heap *heap)
{
    for (uint32_t i = 1; i < heap->len; i++) {
        const struct qn_heap_entry *parent = &heap->entries[(i - 1) / 4];
        const struct qn_heap_entry *child = &heap->entries[i];
        if (parent->key > child->key || (parent->key == child->key && parent->tie > child->tie)) {
            return false;
        }
    }
    return true;
}

struct sums {
    struct qn_queue_counts counts;
    uint32_t hidden, ready, redriven, reserved;
};

static const char *check_message(const struct qn_engine *engine, const struct qn_queue *queue,
                                 uint32_t slot, struct sums *sums)
{
    const struct message *message = message_at(engine, slot);
    const struct messages *messages = queue->messages;

    CHECK(message->state != MESSAGE_FREE);
    CHECK(message->queue_number == queue->number);
    CHECK(message->generation == queue->generation);
    CHECK(message->sequence < queue->next_sequence);
    CHECK(message->first_received_at_ms <= message->received_at_ms || message->received_at_ms == 0);
    CHECK(message->receive_count <= message->total_count);
    sums->counts.visible += message->state == MESSAGE_VISIBLE;
    sums->counts.in_flight += message->state == MESSAGE_IN_FLIGHT;
    sums->counts.delayed += message->state == MESSAGE_DELAYED;
    if (message->state == MESSAGE_IN_FLIGHT) {
        CHECK(message->hidden_until_ms - message->received_at_ms <=
              QN_VISIBILITY_MAX_S * INT64_C(1000));
    }
    if (message->state == MESSAGE_IN_FLIGHT ||
        (message->state == MESSAGE_DELAYED && !queue->is_fifo)) {
        sums->hidden++;
        CHECK(stands(&messages->hidden, message->position, slot));
        CHECK(messages->hidden.entries[message->position].key == message->hidden_until_ms);
    }
    if ((message->flags & MESSAGE_REDRIVEN) != 0) {
        sums->redriven++;
        CHECK(stands(&messages->redriven_ages, message->age_position, slot));
    }
    if ((message->flags & MESSAGE_IN_READY_HEAP) != 0) {
        CHECK(message->state == MESSAGE_VISIBLE && !queue->is_fifo);
    }
    if ((message->flags & MESSAGE_RESERVED) != 0) {
        CHECK(message->state == MESSAGE_DELAYED && !queue->is_fifo);
        sums->reserved++;
    }
    CHECK((message->flags & MESSAGE_RANKED) == 0 || !queue->is_fifo);
    return NULL;
}

static const char *check_list(const struct qn_engine *engine, const struct qn_queue *queue,
                              uint32_t first, uint32_t last, struct sums *sums)
{
    uint32_t previous = SLOT_NONE;
    bool delayed_seen = false;

    for (uint32_t slot = first; slot != SLOT_NONE; slot = message_at(engine, slot)->next) {
        const char *problem = check_message(engine, queue, slot, sums);
        if (problem != NULL) {
            return problem;
        }
        CHECK(message_at(engine, slot)->previous == previous);
        CHECK(previous == SLOT_NONE ||
              message_at(engine, previous)->sequence < message_at(engine, slot)->sequence);
        if (queue->is_fifo && first == queue->messages->first) {
            bool is_delayed = message_at(engine, slot)->state == MESSAGE_DELAYED;
            CHECK(is_delayed || !delayed_seen);
            CHECK(!is_delayed || delayed_seen || queue->messages->first_delayed == slot);
            delayed_seen = delayed_seen || is_delayed;
        }
        previous = slot;
    }
    CHECK(last == previous);
    return NULL;
}

static const char *check_ready(const struct qn_engine *engine, const struct ready *ready)
{
    uint32_t count = ready->returned.len;
    uint64_t sequence = 0;

    for (uint32_t slot = ready->first; slot != SLOT_NONE;
         slot = message_at(engine, slot)->ready_next) {
        CHECK(message_at(engine, slot)->state == MESSAGE_VISIBLE);
        CHECK(message_at(engine, slot)->sequence > sequence);
        CHECK((message_at(engine, slot)->flags & MESSAGE_RANKED) == 0);
        sequence = message_at(engine, slot)->sequence;
        count++;
    }
    CHECK(count == ready->count);
    CHECK(is_in_order(&ready->returned));
    for (uint32_t i = 0; i < ready->returned.len; i++) {
        const struct qn_heap_entry *entry = &ready->returned.entries[i];
        CHECK(entry->key == (int64_t)message_order(message_at(engine, entry->item)));
    }
    return NULL;
}

static const char *check_group(const struct qn_engine *engine, const struct qn_queue *queue,
                               const struct group *group, int64_t *ret_blocked)
{
    uint32_t count = 0;
    uint32_t in_flight = 0;
    bool is_open = message_at(engine, group->first)->state == MESSAGE_VISIBLE;

    for (uint32_t slot = group->first; slot != SLOT_NONE;
         slot = message_at(engine, slot)->ready_next) {
        CHECK(message_at(engine, slot)->group == group);
        in_flight += message_at(engine, slot)->state == MESSAGE_IN_FLIGHT;
        count++;
    }
    CHECK(count == group->count && count > 0);
    CHECK(in_flight == group->in_flight);
    CHECK(group->stamp < queue->next_stamp);
    CHECK(is_open == (group->open_position != QN_HEAP_NONE));
    CHECK(!is_open || stands(&queue->messages->open, group->open_position, group->index));
    CHECK(!is_open || queue->messages->open.entries[group->open_position].key == group->stamp);
    *ret_blocked += in_flight > 0;
    return NULL;
}

static const char *check_tenant(const struct qn_engine *engine, const struct qn_queue *queue,
                                const struct tenant *tenant, uint32_t *ret_ready)
{
    const struct qn_heap *heap =
        tenant->is_noisy ? &queue->messages->noisy : &queue->messages->quiet;

    CHECK((tenant->ready.count > 0) == (tenant->position != QN_HEAP_NONE));
    CHECK(tenant->position == QN_HEAP_NONE || stands(heap, tenant->position, tenant->index));
    CHECK(tenant->ready.count + tenant->in_flight + tenant->delayed == tenant->stored);
    *ret_ready += tenant->ready.count;
    return check_ready(engine, &tenant->ready);
}

static const char *check_named(const struct qn_engine *engine, const struct qn_queue *queue,
                               struct sums *sums)
{
    const struct messages *messages = queue->messages;
    const char *problem = check_ready(engine, &messages->ready);
    int64_t blocked = 0;
    size_t named = 0;

    sums->ready = messages->ready.count;
    for (uint32_t i = 0; i < messages->named_count && problem == NULL; i++) {
        if (messages->named[i] == NULL) {
            continue;
        }
        named++;
        problem = queue->is_fifo
                      ? check_group(engine, queue, group_at(messages, i), &blocked)
                      : check_tenant(engine, queue, tenant_at(messages, i), &sums->ready);
    }
    if (problem != NULL) {
        return problem;
    }
    CHECK(named == messages->by_name.len);
    CHECK(!queue->is_fifo || blocked == queue->groups_in_flight);
    CHECK(is_in_order(&messages->open) && is_in_order(&messages->quiet) &&
          is_in_order(&messages->noisy) && is_in_order(&messages->hidden) &&
          is_in_order(&messages->redriven_ages));
    return NULL;
}

static const char *check_queue(const struct qn_engine *engine, const struct qn_queue *queue,
                               size_t *ret_stored)
{
    const struct messages *messages = queue->messages;
    struct sums sums = {.hidden = 0};
    const char *problem = check_list(engine, queue, messages->first, messages->last, &sums);

    if (problem == NULL) {
        problem =
            check_list(engine, queue, messages->redriven_first, messages->redriven_last, &sums);
    }
    if (problem == NULL) {
        problem = check_named(engine, queue, &sums);
    }
    if (problem != NULL) {
        return problem;
    }
    CHECK(sums.counts.visible == queue->counts.visible);
    CHECK(sums.counts.in_flight == queue->counts.in_flight);
    CHECK(sums.counts.delayed == queue->counts.delayed);
    CHECK(sums.hidden == messages->hidden.len);
    CHECK(sums.redriven == messages->redriven_ages.len);
    CHECK(sums.reserved == messages->reserved_count);
    for (uint32_t i = 0; i < messages->reserved_count; i++) {
        CHECK((message_at(engine, messages->reserved[i].slot)->flags & MESSAGE_RESERVED) != 0);
    }
    CHECK(queue->is_fifo || sums.ready == queue->counts.visible);
    CHECK(queue->event_position == QN_HEAP_NONE ||
          stands(&engine->events, queue->event_position, queue->index));
    *ret_stored += (size_t)(sums.counts.visible + sums.counts.in_flight + sums.counts.delayed);
    return NULL;
}

const char *engine_check(const struct qn_engine *engine)
{
    size_t stored = 0;

    for (uint32_t i = 0; i < engine->queue_count; i++) {
        const char *problem = check_queue(engine, engine->queues[i], &stored);
        if (problem != NULL) {
            return problem;
        }
    }
    CHECK(engine->dead != NULL || stored == engine->slab.in_use);
    CHECK(is_in_order(&engine->events) && is_in_order(&engine->task_times) &&
          is_in_order(&engine->deadlines));
    return NULL;
}
