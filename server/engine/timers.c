/* Time: what falls due when, and doing it in the order of its instants. Nothing sweeps: each queue
 * knows its earliest instant and stands with it in one heap. At the same instant: expiry, then
 * delay end, then visibility end (sqs-semantics 17.1). */
#include "server/engine/state.h"

enum { QUEUE_SLICE = 250 };

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t expiry_ms(const struct qn_engine *engine, const struct qn_queue *queue)
{
    const struct messages *messages = queue->messages;
    const struct qn_heap_entry *redriven = qn_heap_top(&messages->redriven_ages);
    int64_t oldest = NEVER_MS;

    if (messages->first != SLOT_NONE) {
        oldest = message_at(engine, messages->first)->enqueued_at_ms;
    }
    if (redriven != NULL) {
        oldest = earlier(oldest, redriven->key);
    }
    return oldest == NEVER_MS ? NEVER_MS : oldest + queue->settings.retention_s * 1000;
}

static int64_t fifo_delay_end_ms(const struct qn_engine *engine, const struct qn_queue *queue)
{
    uint32_t slot = queue->messages->first_delayed;

    return slot == SLOT_NONE
               ? NEVER_MS
               : message_at(engine, slot)->enqueued_at_ms + queue->settings.delay_s * 1000;
}

static int64_t hidden_end_ms(const struct qn_queue *queue)
{
    const struct qn_heap_entry *top = qn_heap_top(&queue->messages->hidden);

    return top == NULL ? NEVER_MS : top->key;
}

static int64_t windows_ms(const struct qn_queue *queue)
{
    int64_t at = NEVER_MS;

    if (queue->messages->oldest_deduplication != NULL) {
        at = queue->messages->oldest_deduplication->accepted_at_ms + QN_DEDUPLICATION_MS;
    }
    if (queue->messages->oldest_attempt != NULL) {
        at = earlier(at, queue->messages->oldest_attempt->received_at_ms + QN_ATTEMPT_MS);
    }
    return at;
}

static int64_t queue_next_ms(const struct qn_engine *engine, const struct qn_queue *queue)
{
    return earlier(earlier(expiry_ms(engine, queue), fifo_delay_end_ms(engine, queue)),
                   earlier(hidden_end_ms(queue), windows_ms(queue)));
}

void qn_queue_touch(struct qn_engine *engine, struct qn_queue *queue)
{
    int64_t next_ms = queue_next_ms(engine, queue);

    if (queue->event_position == QN_HEAP_NONE) {
        if (next_ms != NEVER_MS) {
            qn_heap_push(&engine->events, next_ms, queue->number, queue->index);
        }
    } else if (next_ms == NEVER_MS) {
        qn_heap_remove(&engine->events, queue->event_position);
    } else if (engine->events.entries[queue->event_position].key != next_ms) {
        qn_heap_update(&engine->events, queue->event_position, next_ms, queue->number);
    }
}

static void expire_oldest(struct qn_tx *tx, struct qn_queue *queue)
{
    const struct messages *messages = queue->messages;
    const struct qn_heap_entry *redriven = qn_heap_top(&messages->redriven_ages);

    if (redriven != NULL &&
        (messages->first == SLOT_NONE ||
         redriven->key < message_at(tx->engine, messages->first)->enqueued_at_ms)) {
        qn_message_expire(tx, queue, redriven->item);
    } else {
        qn_message_expire(tx, queue, messages->first);
    }
}

void qn_message_expire(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot)
{
    struct qn_engine *engine = tx->engine;
    struct qn_event event;
    char id_text[37];
    char sequence_text[21];

    if (tx->events->wanted) {
        qn_event_of(tx, &event, QN_EVENT_MSG_EXPIRE, queue, message_at(engine, slot), id_text,
                    sequence_text);
        event.request = QN_STR_NONE; /* whose request it came to light in does not matter */
        qn_emit_event(tx, &event);
    }
    qn_emit_delete(tx, message_at(engine, slot));
    qn_message_remove(tx, queue, slot);
    qn_slab_give(engine, slot);
}

static void end_hiding(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot)
{
    struct message *message = message_at(tx->engine, slot);
    bool was_leased = message->state == MESSAGE_IN_FLIGHT;
    struct qn_event event;
    char id_text[37];
    char sequence_text[21];

    qn_message_set_state(tx, queue, slot, MESSAGE_VISIBLE, message->hidden_until_ms);
    if (was_leased && tx->events->wanted) {
        qn_event_of(tx, &event, QN_EVENT_LEASE_EXPIRE, queue, message, id_text, sequence_text);
        event.request = QN_STR_NONE;
        event.reason = QN_STR("timeout");
        qn_emit_event(tx, &event);
    }
    if (!was_leased && queue->is_fifo) {
        /* The queue's delay may grow later; that must not hide this one again after a restart. */
        qn_emit_message(tx, QN_ROW_MESSAGE_PUT, message, 0, QN_STR_NONE);
    }
}

/* One step of what is due in the queue; false when nothing is. */
static bool queue_step(struct qn_tx *tx, struct qn_queue *queue, int *budget)
{
    struct qn_engine *engine = tx->engine;
    int64_t expiry = expiry_ms(engine, queue);
    int64_t delay_end = fifo_delay_end_ms(engine, queue);
    int64_t hidden_end = hidden_end_ms(queue);

    if (expiry <= tx->now_ms && expiry <= delay_end && expiry <= hidden_end) {
        expire_oldest(tx, queue);
    } else if (delay_end <= tx->now_ms && delay_end <= hidden_end) {
        end_hiding(tx, queue, queue->messages->first_delayed);
    } else if (hidden_end <= tx->now_ms) {
        end_hiding(tx, queue, qn_heap_top(&queue->messages->hidden)->item);
    } else if (windows_ms(queue) <= tx->now_ms) {
        qn_deduplication_trim(tx, queue, tx->now_ms, budget);
        qn_attempt_trim(tx, queue, tx->now_ms, budget);
        qn_queue_touch(engine, queue);
    } else {
        return false;
    }
    (*budget)--;
    return true;
}

bool qn_engine_settle_queue(struct qn_tx *tx, struct qn_queue *queue)
{
    int budget = QUEUE_SLICE;
    bool more = true;

    while (more && budget > 0 && !qn_entry_is_full(tx)) {
        more = queue_step(tx, queue, &budget);
    }
    qn_queue_touch(tx->engine, queue);
    return !more;
}

static int64_t top_key(const struct qn_heap *heap)
{
    const struct qn_heap_entry *top = qn_heap_top(heap);

    return top == NULL ? NEVER_MS : top->key;
}

bool qn_engine_is_due(const struct qn_engine *engine, int64_t now_ms)
{
    return top_key(&engine->events) <= now_ms || top_key(&engine->task_times) <= now_ms ||
           top_key(&engine->deadlines) <= now_ms;
}

int64_t qn_engine_next_event_ms(const struct qn_engine *engine)
{
    int64_t next_ms = earlier(top_key(&engine->events),
                              earlier(top_key(&engine->task_times), top_key(&engine->deadlines)));

    if (engine->first_over != NULL || engine->dead != NULL) {
        return 0;
    }
    if (engine->oldest_name != NULL) {
        next_ms = earlier(next_ms, engine->oldest_name->deleted_at_ms + QN_RECREATE_WAIT_MS);
    }
    return next_ms;
}

/* One step of what is due first; false when nothing is. Sets the step's instant. */
static bool settle_step(struct qn_tx *tx, int *budget, int64_t *instant_ms)
{
    struct qn_engine *engine = tx->engine;
    int64_t event = top_key(&engine->events);
    int64_t task = top_key(&engine->task_times);
    int64_t deadline = top_key(&engine->deadlines);
    int64_t next = earlier(earlier(event, task), deadline);

    if (next > tx->now_ms) {
        return false;
    }
    *instant_ms = next;
    if (event == next) {
        struct qn_queue *queue = engine->queues[qn_heap_top(&engine->events)->item];
        if (!queue_step(tx, queue, budget)) {
            qn_queue_touch(engine, queue);
        }
    } else if (task == next) {
        qn_task_step(tx, engine->active_tasks[qn_heap_top(&engine->task_times)->item], budget);
    } else {
        qn_waiter_deadline(engine);
    }
    return true;
}

/* Polls are requests, and requests come last of what happens at one instant: a poll finds all that
 * became available then. */
static bool is_waiters_turn(struct qn_engine *engine, int64_t instant_ms)
{
    return earlier(top_key(&engine->events), top_key(&engine->task_times)) > instant_ms &&
           qn_engine_next_waiter(engine) != NULL;
}

enum qn_settle_result qn_engine_settle(struct qn_tx *tx, int *budget)
{
    int64_t instant_ms = INT64_MIN;

    qn_names_trim(tx, budget);
    for (;;) {
        if (is_waiters_turn(tx->engine, instant_ms)) {
            return QN_SETTLE_WAITER;
        }
        if (*budget <= 0 || qn_entry_is_full(tx) || !settle_step(tx, budget, &instant_ms)) {
            break;
        }
    }
    qn_messages_free_slice(tx->engine, budget);
    return *budget > 0 && !qn_entry_is_full(tx) ? QN_SETTLED : QN_SETTLE_MORE;
}
