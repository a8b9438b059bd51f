/* The slow SQS: move tasks, and time. */
#include <string.h>

#include "tests/support/reference.h"

static bool is_active(const struct reference_task *task)
{
    return task->status == REFERENCE_RUNNING || task->status == REFERENCE_CANCELLING;
}

static bool is_dead_letter_queue(const struct reference *r, int queue)
{
    for (int i = 0; i < REFERENCE_QUEUES; i++) {
        const struct reference_queue *q = &r->queues[i];
        if (q->exists && q->max_receive_count > 0 && q->target == queue) {
            return true;
        }
    }
    return false;
}

enum qn_error_code reference_start_task(struct reference *r, int id, int source, int target,
                                        int per_second)
{
    struct reference_queue *q = &r->queues[source];
    int64_t counts[3];

    if (!q->exists || (target >= 0 && !r->queues[target].exists)) {
        return QN_ERR_RESOURCE_NOT_FOUND;
    }
    if (!is_dead_letter_queue(r, source) || (q->task_count > 0 && is_active(&q->tasks[0]))) {
        return QN_ERR_INVALID_PARAMETER_VALUE;
    }
    if (q->task_count == REFERENCE_TASKS) {
        q->task_count--;
    }
    memmove(&q->tasks[1], &q->tasks[0], (size_t)q->task_count * sizeof(q->tasks[0]));
    q->task_count++;
    reference_counts(r, source, counts);
    q->tasks[0] = (struct reference_task){.id = id,
                                          .status = REFERENCE_RUNNING,
                                          .target = target,
                                          .per_second = per_second,
                                          .to_move = (int)counts[0],
                                          .started_at_ms = r->now_ms};
    return QN_ERR_NONE;
}

enum qn_error_code reference_cancel_task(struct reference *r, int id, int *ret_moved)
{
    for (int queue = 0; queue < REFERENCE_QUEUES; queue++) {
        struct reference_queue *q = &r->queues[queue];
        if (q->task_count > 0 && q->tasks[0].id == id && q->tasks[0].status == REFERENCE_RUNNING) {
            q->tasks[0].status = REFERENCE_CANCELLING;
            *ret_moved = q->tasks[0].moved;
            return QN_ERR_NONE;
        }
    }
    return QN_ERR_RESOURCE_NOT_FOUND;
}

bool reference_has_active_task(const struct reference *r)
{
    for (int queue = 0; queue < REFERENCE_QUEUES; queue++) {
        if (r->queues[queue].task_count > 0 && is_active(&r->queues[queue].tasks[0])) {
            return true;
        }
    }
    return false;
}

static struct reference_message *oldest_visible(struct reference *r, int queue)
{
    struct reference_message *m = reference_next(r, queue, -1, -1);

    while (m != NULL && m->state != REFERENCE_VISIBLE) {
        m = reference_next(r, queue, -1, m->order);
    }
    return m;
}

/* The first message at once, then so many a second (MV-3). */
static int64_t next_move_ms(const struct reference_task *task)
{
    return task->per_second == 0
               ? task->started_at_ms
               : task->started_at_ms + task->moved * INT64_C(1000) / task->per_second;
}

static void move_what_is_due(struct reference *r, int queue)
{
    struct reference_task *task = &r->queues[queue].tasks[0];

    if (task->status == REFERENCE_CANCELLING) {
        task->status = REFERENCE_CANCELLED;
    }
    bool has_moved = false;
    while (task->status == REFERENCE_RUNNING) {
        struct reference_message *m = oldest_visible(r, queue);
        bool is_due = next_move_ms(task) <= r->now_ms;
        /* Whether one is left is asked when one is due, or the last has gone (MV-8 leaves it open).
         */
        if (m == NULL && (is_due || has_moved)) {
            task->status = REFERENCE_COMPLETED;
        }
        if (m == NULL || !is_due) {
            return;
        }
        int to = task->target >= 0 ? task->target : m->source;
        if (to < 0 || !r->queues[to].exists) {
            task->status = to < 0 ? REFERENCE_FAILED_SOURCE : REFERENCE_FAILED_QUEUE;
            return;
        }
        reference_store(r, m, to, r->queues[to].delay_s);
        task->moved++;
        has_moved = true;
    }
}

void reference_settle(struct reference *r)
{
    reference_settle_messages(r);
    for (int queue = 0; queue < REFERENCE_QUEUES; queue++) {
        if (r->queues[queue].task_count > 0) {
            move_what_is_due(r, queue);
        }
    }
}

static void sooner(const struct reference *r, int64_t *at_ms, int64_t other_ms)
{
    if (other_ms > r->now_ms && other_ms < *at_ms) {
        *at_ms = other_ms;
    }
}

static int64_t next_instant(const struct reference *r, int64_t to_ms)
{
    int64_t at_ms = to_ms;

    for (int i = 0; i < r->message_count; i++) {
        const struct reference_message *m = &r->messages[i];
        const struct reference_queue *q = &r->queues[m->queue];
        sooner(r, &at_ms, m->enqueued_at_ms + q->retention_s * 1000);
        if (m->state == REFERENCE_DELAYED && q->is_fifo) {
            sooner(r, &at_ms, m->enqueued_at_ms + q->delay_s * 1000);
        } else if (m->state != REFERENCE_VISIBLE) {
            sooner(r, &at_ms, m->hidden_until_ms);
        }
    }
    for (int i = 0; i < r->waiter_count; i++) {
        sooner(r, &at_ms, r->waiters[i].deadline_ms);
    }
    for (int queue = 0; queue < REFERENCE_QUEUES; queue++) {
        if (r->queues[queue].task_count > 0 && is_active(&r->queues[queue].tasks[0])) {
            sooner(r, &at_ms, next_move_ms(&r->queues[queue].tasks[0]));
        }
    }
    return at_ms;
}

void reference_advance(struct reference *r, int64_t to_ms, bool in_one_leap)
{
    while (r->now_ms < to_ms) {
        r->now_ms = in_one_leap ? to_ms : next_instant(r, to_ms);
        reference_settle(r);
        reference_serve(r);
    }
}
