/* The slow SQS: receives, their attempts, and those that wait. */
#include <string.h>

#include "tests/support/reference.h"

struct taking {
    struct reference *r;
    int queue;
    size_t max;
    int64_t visibility_ms;
    struct reference_got got;
};

static int64_t count_in_flight(const struct reference *r, int queue)
{
    int64_t counts[3];

    reference_counts(r, queue, counts);
    return counts[1];
}

static bool is_dead_letter(const struct reference *r, const struct reference_message *m)
{
    const struct reference_queue *q = &r->queues[m->queue];
    int more = r->fault == REFERENCE_ONE_RECEIVE_MORE_BEFORE_THE_DLQ ? 1 : 0;

    return q->max_receive_count > 0 && r->queues[q->target].exists &&
           m->receive_count >= q->max_receive_count + more;
}

static bool is_full(const struct taking *t)
{
    int64_t aside =
        t->visibility_ms == 0 && !t->r->queues[t->queue].is_fifo ? (int64_t)t->got.count : 0;

    return t->got.count >= t->max || count_in_flight(t->r, t->queue) + aside >= t->r->in_flight_max;
}

static void take(struct taking *t, struct reference_message *m)
{
    m->receive_count++;
    m->total_count++;
    m->handle++;
    m->received_at_ms = t->r->now_ms;
    if (m->first_received_at_ms < 0) {
        m->first_received_at_ms = t->r->now_ms;
    }
    m->was_changed = false;
    m->hidden_until_ms = t->r->now_ms + t->visibility_ms;
    m->state = t->visibility_ms > 0 ? REFERENCE_IN_FLIGHT : REFERENCE_VISIBLE;
    t->got.handles[t->got.count++] =
        (struct reference_handle){.uid = m->uid,
                                  .queue = m->queue,
                                  .serial = t->r->queues[m->queue].serial,
                                  .handle = m->handle,
                                  .order = m->order};
}

static void take_standard(struct taking *t)
{
    int64_t order = -1;
    struct reference_message *m;

    while (!is_full(t) && (m = reference_next(t->r, t->queue, -1, order)) != NULL) {
        order = m->order;
        if (m->state != REFERENCE_VISIBLE) {
            continue;
        }
        if (is_dead_letter(t->r, m)) {
            reference_dead_letter(t->r, m);
        } else {
            take(t, m);
        }
    }
}

/* Among tenants the other side chooses: any that is visible, of each tenant the oldest first, and
 * as many as there are. */
static void take_chosen(struct taking *t, const int *uids, size_t count)
{
    int64_t latest[REFERENCE_GROUPS + 1];
    int64_t counts[3];

    memset(latest, -1, sizeof(latest));
    reference_counts(t->r, t->queue, counts);
    size_t expected = (size_t)counts[0] < t->max ? (size_t)counts[0] : t->max;
    int64_t room = t->r->in_flight_max - counts[1];
    if (count != (room < (int64_t)expected ? (size_t)room : expected)) {
        t->got.code = QN_ERR_INTERNAL;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct reference_message *m = reference_by_uid(t->r, uids[i]);
        if (m == NULL || m->queue != t->queue || m->state != REFERENCE_VISIBLE ||
            m->order <= latest[m->group + 1]) {
            t->got.code = QN_ERR_INTERNAL;
            return;
        }
        for (int64_t order = latest[m->group + 1];;) {
            const struct reference_message *older = reference_next(t->r, t->queue, m->group, order);
            if (m->group < 0 || older == NULL || older == m) {
                break;
            }
            order = older->order;
            if (older->state == REFERENCE_VISIBLE) {
                t->got.code = QN_ERR_INTERNAL;
                return;
            }
        }
        latest[m->group + 1] = m->group < 0 ? -1 : m->order;
        take(t, m);
    }
}

static bool take_group(struct taking *t, int group)
{
    size_t before = t->got.count;
    int64_t order = -1;
    struct reference_message *m;

    while (!is_full(t) && (m = reference_next(t->r, t->queue, group, order)) != NULL) {
        if (m->state != REFERENCE_VISIBLE) {
            if (t->r->fault != REFERENCE_A_GROUP_IS_NEVER_BLOCKED) {
                break;
            }
            order = m->order;
            continue;
        }
        order = m->order;
        if (is_dead_letter(t->r, m)) {
            reference_dead_letter(t->r, m);
        } else {
            take(t, m);
        }
    }
    return t->got.count > before;
}

static void take_fifo(struct taking *t)
{
    struct reference_queue *q = &t->r->queues[t->queue];
    bool was_seen[REFERENCE_GROUPS] = {false};

    while (!is_full(t)) {
        int next = -1;
        for (int group = 0; group < REFERENCE_GROUPS; group++) {
            const struct reference_message *first = reference_next(t->r, t->queue, group, -1);
            if (!was_seen[group] && first != NULL && first->state == REFERENCE_VISIBLE &&
                (next < 0 || q->stamps[group] < q->stamps[next])) {
                next = group;
            }
        }
        if (next < 0) {
            return;
        }
        was_seen[next] = true;
        if (take_group(t, next)) {
            q->stamps[next] = q->next_stamp++;
        }
    }
}

/* ---- attempts ---- */

enum retry { RETRY_NEW, RETRY_SAME, RETRY_SPOILT };

static enum retry judge_attempt(struct reference *r, const struct reference_attempt *attempt)
{
    enum retry retry = RETRY_SAME;

    if (!attempt->is_known || r->now_ms - attempt->received_at_ms >= QN_ATTEMPT_MS) {
        return RETRY_NEW;
    }
    for (size_t i = 0; i < attempt->count; i++) {
        const struct reference_message *m = reference_find(r, &attempt->handles[i]);
        if (m == NULL) {
            return RETRY_SPOILT;
        }
        bool is_same = m->handle == attempt->handles[i].handle;
        if (is_same && m->was_changed) {
            return RETRY_SPOILT;
        }
        if (!is_same || m->state != REFERENCE_IN_FLIGHT) {
            retry = RETRY_NEW;
        }
    }
    return retry;
}

static void repeat(struct taking *t, const struct reference_attempt *attempt)
{
    for (size_t i = 0; i < attempt->count; i++) {
        struct reference_message *m = reference_find(t->r, &attempt->handles[i]);
        int64_t latest = m->received_at_ms + QN_VISIBILITY_MAX_S * INT64_C(1000);
        int64_t until = t->r->now_ms + t->visibility_ms;
        m->hidden_until_ms = until < latest ? until : latest;
        m->state = t->visibility_ms > 0 ? REFERENCE_IN_FLIGHT : REFERENCE_VISIBLE;
        t->got.handles[t->got.count++] = attempt->handles[i];
    }
}

struct reference_got reference_receive(struct reference *r, const struct reference_receive *receive,
                                       const int *chosen_uids, size_t chosen_count)
{
    struct reference_queue *q = &r->queues[receive->queue];
    struct reference_attempt *attempt =
        receive->attempt >= 0 ? &q->attempts[receive->attempt] : NULL;
    struct taking t = {
        .r = r,
        .queue = receive->queue,
        .max = (size_t)receive->max,
        .visibility_ms =
            (receive->visibility_s >= 0 ? receive->visibility_s : q->visibility_s) * 1000,
    };

    if (!q->exists) {
        t.got.code = QN_ERR_QUEUE_DOES_NOT_EXIST;
        return t.got;
    }
    enum retry retry = attempt != NULL ? judge_attempt(r, attempt) : RETRY_NEW;
    if (retry == RETRY_SPOILT) {
        t.got.code = QN_ERR_INVALID_PARAMETER_VALUE;
    } else if (retry == RETRY_SAME) {
        repeat(&t, attempt);
    } else if (!q->is_fifo && count_in_flight(r, receive->queue) >= r->in_flight_max) {
        t.got.code = receive->may_wait ? QN_ERR_NONE : QN_ERR_OVER_LIMIT;
    } else if (q->is_fifo) {
        take_fifo(&t);
    } else if (chosen_uids != NULL) {
        take_chosen(&t, chosen_uids, chosen_count);
    } else {
        take_standard(&t);
    }
    if (retry == RETRY_NEW && attempt != NULL && t.got.count > 0) {
        *attempt = (struct reference_attempt){
            .is_known = true, .received_at_ms = r->now_ms, .count = t.got.count};
        memcpy(attempt->handles, t.got.handles, sizeof(attempt->handles));
    }
    return t.got;
}

/* ---- those that wait ---- */

static void remove_waiter(struct reference *r, int at)
{
    r->waiter_count--;
    memmove(&r->waiters[at], &r->waiters[at + 1],
            (size_t)(r->waiter_count - at) * sizeof(r->waiters[0]));
}

/* True when it waits no longer. */
static bool serve_one(struct reference *r, int at)
{
    const struct reference_waiter *waiter = &r->waiters[at];
    const struct reference_queue *q = &r->queues[waiter->receive.queue];
    struct reference_served served = {.id = waiter->id, .at_ms = r->now_ms};

    reference_settle_messages(r); /* a dead letter may be too old for its new queue */
    if (!q->exists || q->serial != waiter->serial) {
        served.got.code = QN_ERR_QUEUE_DOES_NOT_EXIST;
    } else {
        served.got = reference_receive(r, &waiter->receive, NULL, 0);
        if (served.got.count == 0 && waiter->deadline_ms > r->now_ms) {
            return false;
        }
    }
    for (size_t i = 0; i < served.got.count; i++) {
        served.messages[i] = *reference_by_uid(r, served.got.handles[i].uid);
    }
    r->served[r->served_count++] = served;
    remove_waiter(r, at);
    return true;
}

/* What one lets die may be another's. */
void reference_serve(struct reference *r)
{
    int before;

    do {
        before = r->dead_letters;
        for (int at = 0; at < r->waiter_count;) {
            at += serve_one(r, at) ? 0 : 1;
        }
    } while (r->dead_letters != before);
}

void reference_wait(struct reference *r, int id, const struct reference_receive *receive,
                    int64_t wait_s)
{
    r->waiters[r->waiter_count] =
        (struct reference_waiter){.id = id,
                                  .serial = r->queues[receive->queue].serial,
                                  .receive = *receive,
                                  .deadline_ms = r->now_ms + wait_s * 1000};
    r->waiter_count++;
    (void)serve_one(r, r->waiter_count - 1);
    reference_serve(r);
}

void reference_stop_waiting(struct reference *r, int id)
{
    for (int at = 0; at < r->waiter_count; at++) {
        if (r->waiters[at].id == id) {
            remove_waiter(r, at);
            return;
        }
    }
}
