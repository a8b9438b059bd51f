/* Another order of what may be received, as a fault wants it. SQS promises none on a standard
 * queue, so a restart may bring the old one back. Inside the groups of a FIFO queue it promises
 * one: that is for rules that say so. */
#include "server/engine/state.h"

#include <stdlib.h>

enum { LOOKS_MAX = 10000, CONTENT_ARENA_MAX = 16 * 1024 * 1024 };

static void swap(uint32_t *slots, size_t a, size_t b)
{
    uint32_t slot = slots[a];

    slots[a] = slots[b];
    slots[b] = slot;
}

static void mix(uint32_t *slots, size_t count, enum qn_order order, struct qn_random *random)
{
    for (size_t i = 0; order == QN_ORDER_REVERSE && i < count / 2; i++) {
        swap(slots, i, count - 1 - i);
    }
    for (size_t i = count; order == QN_ORDER_SHUFFLE && i > 1; i--) {
        swap(slots, i - 1, (size_t)qn_random_below(random, i));
    }
}

static int compare_orders(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static void settle_tenant(struct qn_engine *engine, struct qn_queue *queue, uint32_t slot)
{
    if (message_at(engine, slot)->tenant != NULL) {
        qn_tenant_settle(engine, queue, message_at(engine, slot)->tenant);
    }
}

/* Takes the next ones out, and puts them back at each other's places. */
static size_t reorder_standard(struct qn_tx *tx, struct qn_queue *queue, enum qn_order order,
                               size_t window, struct qn_random *random)
{
    struct qn_engine *engine = tx->engine;
    uint32_t *slots = qn_memory_new_array(window, sizeof(*slots));
    uint64_t *places = qn_memory_new_array(window, sizeof(*places));
    size_t count = 0;

    if (queue->messages->by_name.len > 0) {
        qn_fair_refresh(engine, queue, tx->now_ms);
    }
    while (count < window &&
           (slots[count] = qn_fair_next(engine, queue, tx->now_ms)) != SLOT_NONE) {
        uint32_t slot = slots[count];
        places[count++] = message_order(message_at(engine, slot));
        qn_ready_remove(engine, qn_ready_of(queue, slot, engine), slot);
        settle_tenant(engine, queue, slot);
    }
    mix(slots, count, order, random);
    qsort(places, count, sizeof(*places), compare_orders);
    for (size_t i = 0; i < count; i++) {
        struct message *message = message_at(engine, slots[i]);
        message->flags |= MESSAGE_RANKED;
        message->rank = places[i];
        qn_ready_add_returned(engine, qn_ready_of(queue, slots[i], engine), slots[i]);
        settle_tenant(engine, queue, slots[i]);
    }
    engine->looked_at += count;
    qn_memory_free(slots);
    qn_memory_free(places);
    return count;
}

/* The visible messages at the front of a group change places; those behind stay. */
static size_t reorder_group(struct qn_engine *engine, struct group *group, enum qn_order order,
                            size_t window, struct qn_random *random)
{
    uint32_t *slots = qn_memory_new_array(window, sizeof(*slots));
    size_t count = 0;
    uint32_t rest = group->first;

    while (count < window && rest != SLOT_NONE &&
           message_at(engine, rest)->state == MESSAGE_VISIBLE) {
        slots[count++] = rest;
        rest = message_at(engine, rest)->ready_next;
    }
    mix(slots, count, order, random);
    for (size_t i = 0; i < count; i++) {
        message_at(engine, slots[i])->ready_previous = i > 0 ? slots[i - 1] : SLOT_NONE;
        message_at(engine, slots[i])->ready_next = i + 1 < count ? slots[i + 1] : rest;
    }
    if (count > 0) {
        group->first = slots[0];
        group->last = rest == SLOT_NONE ? slots[count - 1] : group->last;
    }
    if (count > 0 && rest != SLOT_NONE) {
        message_at(engine, rest)->ready_previous = slots[count - 1];
    }
    engine->looked_at += count;
    qn_memory_free(slots);
    return count;
}

static size_t reorder_fifo(struct qn_tx *tx, struct qn_queue *queue, enum qn_order order,
                           size_t window, struct qn_random *random)
{
    const struct messages *messages = queue->messages;
    size_t count = 0;

    for (uint32_t i = 0; i < messages->open.len && count < window; i++) {
        count += reorder_group(tx->engine, group_at(messages, messages->open.entries[i].item),
                               order, window - count, random);
    }
    return count;
}

size_t qn_engine_reorder(struct qn_tx *tx, struct qn_queue *queue, enum qn_order order,
                         size_t window, uint64_t draw)
{
    struct qn_random random;
    size_t stored = (size_t)queue->counts.visible;
    size_t most = window < stored ? window : stored;

    qn_random_init(&random, draw, 0, 0);
    if (most == 0) {
        return 0;
    }
    return queue->is_fifo ? reorder_fifo(tx, queue, order, most, &random)
                          : reorder_standard(tx, queue, order, most, &random);
}

/* ---- one key comes later ---- */

static bool has_key(struct qn_tx *tx, uint32_t slot, struct qn_str key, struct qn_arena *arena)
{
    struct qn_tx reading = *tx;
    struct qn_str encoded;
    struct qn_content content;
    struct qn_str found = QN_STR_NONE;
    struct qn_str payload_id = QN_STR_NONE;
    struct qn_error err;

    qn_arena_reset(arena);
    reading.arena = arena;
    if (!qn_content_get(&reading, message_at(tx->engine, slot), &encoded, &err) ||
        !qn_content_decode(encoded, &content)) {
        return false;
    }
    qn_event_body_keys(content.body, arena, &found, &payload_id);
    return qn_str_equal(found, key) || qn_str_equal(payload_id, key);
}

static size_t delay_in_list(struct qn_tx *tx, struct qn_queue *queue, uint32_t first,
                            struct qn_str key, int64_t until_ms, struct qn_arena *arena)
{
    struct qn_engine *engine = tx->engine;
    size_t delayed = 0;
    int looks = 0;

    for (uint32_t slot = first; slot != SLOT_NONE && looks < LOOKS_MAX;
         slot = message_at(engine, slot)->next) {
        if (message_at(engine, slot)->state != MESSAGE_VISIBLE) {
            continue;
        }
        looks++;
        engine->looked_at++;
        if (has_key(tx, slot, key, arena)) {
            qn_message_set_state(tx, queue, slot, MESSAGE_DELAYED, until_ms);
            qn_emit_message(tx, QN_ROW_MESSAGE_PUT, message_at(engine, slot), 0, QN_STR_NONE);
            delayed++;
        }
    }
    return delayed;
}

size_t qn_engine_delay_key(struct qn_tx *tx, struct qn_queue *queue, struct qn_str key,
                           int64_t until_ms)
{
    struct messages *messages = queue->messages;
    struct qn_arena arena;
    size_t delayed = 0;

    if (queue->is_fifo || until_ms <= tx->now_ms) {
        return 0; /* a FIFO queue delays by the queue alone */
    }
    qn_arena_init(&arena, CONTENT_ARENA_MAX);
    delayed = delay_in_list(tx, queue, messages->redriven_first, key, until_ms, &arena) +
              delay_in_list(tx, queue, messages->first, key, until_ms, &arena);
    qn_arena_done(&arena);
    return delayed;
}
