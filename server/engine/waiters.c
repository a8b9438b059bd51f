/* Parked receives. Each stands in its queue's list in arrival order and in a heap by deadline; when
 * something becomes available the first of the queue runs, before any other request (RCV-3 to
 * RCV-6). */
#include "server/engine/state.h"

#include <assert.h>

static void deadline_moved(void *owner, uint32_t index, uint32_t position)
{
    /* Deadlines are looked up through the waiter's index; its place in the heap is kept beside it.
     */
    struct qn_engine *engine = owner;
    engine->waiter_positions[index] = position;
}

void qn_waiters_init(struct qn_engine *engine)
{
    qn_heap_init(&engine->deadlines, deadline_moved, engine);
}

static uint32_t draw_index(struct qn_engine *engine)
{
    if (engine->free_waiter_count > 0) {
        return engine->free_waiters[--engine->free_waiter_count];
    }
    if (engine->waiter_count == engine->waiter_cap) {
        engine->waiter_cap = engine->waiter_cap == 0 ? 64 : engine->waiter_cap * 2;
        engine->waiters =
            qn_memory_resize(engine->waiters, engine->waiter_cap, sizeof(struct qn_waiter *));
        engine->free_waiters =
            qn_memory_resize(engine->free_waiters, engine->waiter_cap, sizeof(uint32_t));
        engine->waiter_positions =
            qn_memory_resize(engine->waiter_positions, engine->waiter_cap, sizeof(uint32_t));
    }
    return engine->waiter_count++;
}

void qn_engine_park(struct qn_engine *engine, struct qn_waiter *waiter, struct qn_queue *queue,
                    int64_t deadline_ms)
{
    if (waiter->queue != NULL) {
        return;
    }
    *waiter = (struct qn_waiter){.queue = queue,
                                 .deadline_ms = deadline_ms,
                                 .previous = queue->last_waiter,
                                 .index = draw_index(engine)};
    if (queue->last_waiter == NULL) {
        queue->first_waiter = waiter;
    } else {
        queue->last_waiter->next = waiter;
    }
    queue->last_waiter = waiter;
    queue->waiter_count++;
    engine->waiters[waiter->index] = waiter;
    engine->parked++;
    qn_heap_push(&engine->deadlines, deadline_ms, engine->park_count++, waiter->index);
    if (queue->goes_on) {
        qn_waiters_wake(engine, queue);
    }
}

static void leave_queue(struct qn_waiter *waiter)
{
    struct qn_queue *queue = waiter->queue;

    assert(queue != NULL); /* a waiter without a queue is over, and stands in the other list */
    if (waiter->previous == NULL) {
        queue->first_waiter = waiter->next;
    } else {
        waiter->previous->next = waiter->next;
    }
    if (waiter->next == NULL) {
        queue->last_waiter = waiter->previous;
    } else {
        waiter->next->previous = waiter->previous;
    }
    if (queue->next_waiter == waiter) {
        queue->next_waiter = waiter->next;
    }
    queue->waiter_count--;
}

static void leave_over(struct qn_engine *engine, struct qn_waiter *waiter)
{
    if (waiter->previous == NULL) {
        engine->first_over = waiter->next;
    } else {
        waiter->previous->next = waiter->next;
    }
    if (waiter->next == NULL) {
        engine->last_over = waiter->previous;
    } else {
        waiter->next->previous = waiter->previous;
    }
}

void qn_engine_unpark(struct qn_engine *engine, struct qn_waiter *waiter)
{
    if (waiter->queue == NULL && !waiter->is_over) {
        return;
    }
    if (waiter->is_over) {
        leave_over(engine, waiter);
    } else {
        leave_queue(waiter);
        qn_heap_remove(&engine->deadlines, engine->waiter_positions[waiter->index]);
    }
    engine->waiters[waiter->index] = NULL;
    engine->free_waiters[engine->free_waiter_count++] = waiter->index;
    engine->parked--;
    *waiter = (struct qn_waiter){0};
}

/* From its queue to the list of those that run a last time. */
static void make_over(struct qn_engine *engine, struct qn_waiter *waiter)
{
    leave_queue(waiter);
    qn_heap_remove(&engine->deadlines, engine->waiter_positions[waiter->index]);
    waiter->is_over = true;
    waiter->next = NULL;
    waiter->previous = engine->last_over;
    if (engine->last_over == NULL) {
        engine->first_over = waiter;
    } else {
        engine->last_over->next = waiter;
    }
    engine->last_over = waiter;
}

void qn_waiter_deadline(struct qn_engine *engine)
{
    make_over(engine, engine->waiters[qn_heap_top(&engine->deadlines)->item]);
}

void qn_waiters_queue_gone(struct qn_engine *engine, struct qn_queue *queue)
{
    while (queue->first_waiter != NULL) {
        struct qn_waiter *waiter = queue->first_waiter;
        make_over(engine, waiter);
        waiter->queue_is_gone = true;
        waiter->queue = NULL;
    }
    for (struct qn_waiter *waiter = engine->first_over; waiter != NULL; waiter = waiter->next) {
        if (waiter->queue == queue) {
            waiter->queue_is_gone = true;
            waiter->queue = NULL;
        }
    }
    if (queue->has_news) {
        struct qn_queue **at = &engine->first_with_news;
        struct qn_queue *previous = NULL;
        while (*at != queue) {
            previous = *at;
            at = &(*at)->next_with_news;
        }
        *at = queue->next_with_news;
        if (engine->last_with_news == queue) {
            engine->last_with_news = previous;
        }
        queue->has_news = false;
    }
}

void qn_waiters_wake(struct qn_engine *engine, struct qn_queue *queue)
{
    queue->next_waiter = NULL;
    if (queue->first_waiter == NULL || queue->has_news) {
        return;
    }
    queue->has_news = true;
    queue->next_with_news = NULL;
    if (engine->last_with_news == NULL) {
        engine->first_with_news = queue;
    } else {
        engine->last_with_news->next_with_news = queue;
    }
    engine->last_with_news = queue;
}

static void drop_first_news(struct qn_engine *engine)
{
    struct qn_queue *queue = engine->first_with_news;

    queue->has_news = false;
    engine->first_with_news = queue->next_with_news;
    if (engine->first_with_news == NULL) {
        engine->last_with_news = NULL;
    }
}

struct qn_waiter *qn_engine_next_waiter(struct qn_engine *engine)
{
    if (engine->first_over != NULL) {
        return engine->first_over;
    }
    while (engine->first_with_news != NULL) {
        struct qn_queue *queue = engine->first_with_news;
        if (queue->first_waiter != NULL &&
            (queue->counts.visible > 0 || queue->messages->reserved_count > 0)) {
            return queue->next_waiter != NULL ? queue->next_waiter : queue->first_waiter;
        }
        drop_first_news(engine);
    }
    return NULL;
}

void qn_engine_waiter_stays(struct qn_engine *engine, struct qn_waiter *waiter)
{
    struct qn_queue *queue = waiter->queue;

    if (engine->first_with_news == NULL || engine->first_with_news != queue || queue->goes_on) {
        return;
    }
    /* What is there may be reserved for one who waits behind this one. */
    queue->next_waiter = queue->messages->reserved_count > 0 ? waiter->next : NULL;
    if (queue->next_waiter == NULL) {
        drop_first_news(engine);
    }
}

struct qn_waiter *qn_engine_any_waiter(struct qn_engine *engine)
{
    if (engine->first_over != NULL) {
        return engine->first_over;
    }
    const struct qn_heap_entry *top = qn_heap_top(&engine->deadlines);
    return top == NULL ? NULL : engine->waiters[top->item];
}

size_t qn_engine_waiter_count(const struct qn_engine *engine)
{
    return engine->parked;
}

void qn_engine_shift_waiters(struct qn_engine *engine, int64_t by_ms)
{
    /* All by the same amount: the order of the heap stays as it is. */
    for (uint32_t i = 0; i < engine->deadlines.len; i++) {
        engine->deadlines.entries[i].key += by_ms;
        engine->waiters[engine->deadlines.entries[i].item]->deadline_ms += by_ms;
    }
}
