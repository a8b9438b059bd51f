/* The slow SQS. It shares no idea with the engine but the specification. */
#include "tests/support/reference.h"

#include <string.h>

static bool in_queue(const struct reference *r, int message, int queue)
{
    return r->messages[message].queue == queue;
}

/* The stored message of the queue that comes next behind `order`, of one group or of all (-1);
 * -1 for none. */
static int next_behind(const struct reference *r, int queue, int group, int64_t order)
{
    int best = -1;

    for (int i = 0; i < r->message_count; i++) {
        const struct reference_message *m = &r->messages[i];
        if (m->queue == queue && (group < 0 || m->group == group) && m->order > order &&
            (best < 0 || m->order < r->messages[best].order)) {
            best = i;
        }
    }
    return best;
}

void reference_init(struct reference *reference, int64_t now_ms, int64_t in_flight_max)
{
    memset(reference, 0, sizeof(*reference));
    reference->now_ms = now_ms;
    reference->in_flight_max = in_flight_max;
}

void reference_purge(struct reference *r, int queue)
{
    struct reference_queue *q = &r->queues[queue];

    for (int i = 0; i < r->message_count; i++) {
        if (in_queue(r, i, queue)) {
            r->messages[i].queue = -1;
        }
    }
    for (int i = 0; i < REFERENCE_IDS; i++) {
        q->accepted_at_ms[i] = -1;
        q->attempts[i].is_known = false;
    }
}

void reference_create_queue(struct reference *r, int queue, bool is_fifo)
{
    reference_purge(r, queue);
    struct reference_queue *q = &r->queues[queue];
    *q = (struct reference_queue){.is_fifo = is_fifo,
                                  .serial = ++r->next_serial,
                                  .visibility_s = QN_VISIBILITY_DEFAULT_S,
                                  .retention_s = QN_RETENTION_DEFAULT_S};
    for (int i = 0; i < REFERENCE_IDS; i++) {
        q->accepted_at_ms[i] = -1;
    }
}

void reference_settle(struct reference *r)
{
    for (int i = 0; i < r->message_count; i++) {
        struct reference_message *m = &r->messages[i];
        if (m->queue < 0) {
            continue;
        }
        const struct reference_queue *q = &r->queues[m->queue];
        int64_t until = m->state == REFERENCE_DELAYED && q->is_fifo
                            ? m->enqueued_at_ms + q->delay_s * 1000
                            : m->hidden_until_ms;
        if (m->enqueued_at_ms + q->retention_s * 1000 <= r->now_ms) {
            m->queue = -1;
        } else if (m->state != REFERENCE_VISIBLE && until <= r->now_ms) {
            m->state = REFERENCE_VISIBLE;
        }
    }
}

/* Puts the message at the end of the queue. */
static void place(struct reference *r, int message, int queue)
{
    struct reference_queue *q = &r->queues[queue];
    struct reference_message *m = &r->messages[message];

    m->queue = -1;
    if (q->is_fifo && next_behind(r, queue, m->group, -1) < 0) {
        q->stamps[m->group] = q->next_stamp++;
    }
    m->queue = queue;
    m->order = q->next_order++;
    m->handle = 0;
    m->receive_count = 0;
}

/* A message as a send makes it. */
static void make(struct reference *r, int message, int queue, int64_t delay_s)
{
    struct reference_message *m = &r->messages[message];

    place(r, message, queue);
    m->enqueued_at_ms = r->now_ms;
    m->hidden_until_ms = r->now_ms + delay_s * 1000;
    m->state = delay_s > 0 ? REFERENCE_DELAYED : REFERENCE_VISIBLE;
    m->total_count = 0;
    m->was_changed = m->is_redriven = false;
    m->source = -1;
}

const char *reference_send(struct reference *r, int queue, int64_t delay_s, int group,
                           int deduplication)
{
    struct reference_queue *q = &r->queues[queue];

    if (q->is_fifo) {
        int64_t accepted_at_ms = q->accepted_at_ms[deduplication];
        if (accepted_at_ms >= 0 && r->now_ms - accepted_at_ms < QN_DEDUPLICATION_MS) {
            return q->accepted_id[deduplication];
        }
        q->accepted_at_ms[deduplication] = r->now_ms;
    }
    r->messages[r->message_count].group = group;
    make(r, r->message_count++, queue, q->is_fifo || delay_s < 0 ? q->delay_s : delay_s);
    return NULL;
}

static int64_t count_in_flight(const struct reference *r, int queue)
{
    int64_t counts[3];

    reference_counts(r, queue, counts);
    return counts[1];
}

static bool is_dead_letter(const struct reference *r, int message)
{
    const struct reference_message *m = &r->messages[message];
    const struct reference_queue *q = &r->queues[m->queue];

    return q->max_receive_count > 0 && m->receive_count >= q->max_receive_count;
}

static void dead_letter(struct reference *r, int message)
{
    struct reference_message *m = &r->messages[message];
    int source = m->queue;
    int target = r->queues[source].target;

    place(r, message, target);
    m->state = REFERENCE_VISIBLE;
    m->was_changed = false;
    m->is_redriven = true;
    m->source = source;
    if (r->queues[target].is_fifo) {
        m->enqueued_at_ms = r->now_ms;
    }
}

static struct reference_handle handle_of(const struct reference *r, int message)
{
    const struct reference_message *m = &r->messages[message];

    return (struct reference_handle){.message = message,
                                     .queue = m->queue,
                                     .serial = r->queues[m->queue].serial,
                                     .handle = m->handle,
                                     .order = m->order};
}

struct taking {
    struct reference *r;
    int queue;
    size_t max;
    int64_t visibility_ms;
    struct reference_handle *handles;
    size_t count;
};

static bool is_full(const struct taking *t)
{
    int64_t aside =
        t->visibility_ms == 0 && !t->r->queues[t->queue].is_fifo ? (int64_t)t->count : 0;

    return t->count >= t->max || count_in_flight(t->r, t->queue) + aside >= t->r->in_flight_max;
}

static void take(struct taking *t, int message)
{
    struct reference_message *m = &t->r->messages[message];

    m->receive_count++;
    m->total_count++;
    m->handle++;
    m->received_at_ms = t->r->now_ms;
    m->was_changed = false;
    m->hidden_until_ms = t->r->now_ms + t->visibility_ms;
    m->state = t->visibility_ms > 0 ? REFERENCE_IN_FLIGHT : REFERENCE_VISIBLE;
    t->handles[t->count++] = handle_of(t->r, message);
}

static void take_standard(struct taking *t)
{
    int64_t order = -1;
    int message;

    while (!is_full(t) && (message = next_behind(t->r, t->queue, -1, order)) >= 0) {
        order = t->r->messages[message].order;
        if (t->r->messages[message].state != REFERENCE_VISIBLE) {
            continue;
        }
        if (is_dead_letter(t->r, message)) {
            dead_letter(t->r, message);
        } else {
            take(t, message);
        }
    }
}

static bool take_group(struct taking *t, int group)
{
    size_t before = t->count;
    int64_t order = -1;
    int message;

    while (!is_full(t) && (message = next_behind(t->r, t->queue, group, order)) >= 0 &&
           t->r->messages[message].state == REFERENCE_VISIBLE) {
        order = t->r->messages[message].order;
        if (is_dead_letter(t->r, message)) {
            dead_letter(t->r, message);
        } else {
            take(t, message);
        }
    }
    return t->count > before;
}

static void take_fifo(struct taking *t)
{
    struct reference_queue *q = &t->r->queues[t->queue];
    bool was_seen[REFERENCE_GROUPS] = {false};

    while (!is_full(t)) {
        int next = -1;
        for (int group = 0; group < REFERENCE_GROUPS; group++) {
            int first = next_behind(t->r, t->queue, group, -1);
            if (!was_seen[group] && first >= 0 &&
                t->r->messages[first].state == REFERENCE_VISIBLE &&
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

/* What the handle names, -1 when it is gone. */
static int find(const struct reference *r, const struct reference_handle *handle)
{
    const struct reference_message *m = &r->messages[handle->message];

    return m->queue == handle->queue && m->order == handle->order &&
                   r->queues[handle->queue].serial == handle->serial
               ? handle->message
               : -1;
}

enum retry { RETRY_NEW, RETRY_SAME, RETRY_SPOILT };

static enum retry judge_attempt(const struct reference *r, const struct reference_attempt *attempt)
{
    enum retry retry = RETRY_SAME;

    if (!attempt->is_known || r->now_ms - attempt->received_at_ms >= QN_ATTEMPT_MS) {
        return RETRY_NEW;
    }
    for (size_t i = 0; i < attempt->count; i++) {
        int message = find(r, &attempt->handles[i]);
        if (message < 0) {
            return RETRY_SPOILT;
        }
        const struct reference_message *m = &r->messages[message];
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
        struct reference_message *m = &t->r->messages[attempt->handles[i].message];
        int64_t latest = m->received_at_ms + QN_VISIBILITY_MAX_S * INT64_C(1000);
        int64_t until = t->r->now_ms + t->visibility_ms;
        m->hidden_until_ms = until < latest ? until : latest;
        m->state = t->visibility_ms > 0 ? REFERENCE_IN_FLIGHT : REFERENCE_VISIBLE;
        t->handles[t->count++] = attempt->handles[i];
    }
}

enum qn_error_code reference_receive(struct reference *r, const struct reference_receive *receive,
                                     struct reference_handle ret_handles[QN_RECEIVE_MAX],
                                     size_t *ret_count)
{
    struct reference_queue *q = &r->queues[receive->queue];
    struct reference_attempt *attempt =
        receive->attempt >= 0 ? &q->attempts[receive->attempt] : NULL;
    enum retry retry = attempt != NULL ? judge_attempt(r, attempt) : RETRY_NEW;
    struct taking t = {
        .r = r,
        .queue = receive->queue,
        .max = (size_t)receive->max,
        .visibility_ms =
            (receive->visibility_s >= 0 ? receive->visibility_s : q->visibility_s) * 1000,
        .handles = ret_handles,
    };

    *ret_count = 0;
    if (retry == RETRY_SPOILT) {
        return QN_ERR_INVALID_PARAMETER_VALUE;
    }
    if (retry == RETRY_SAME) {
        repeat(&t, attempt);
    } else if (!q->is_fifo && count_in_flight(r, receive->queue) >= r->in_flight_max) {
        return QN_ERR_OVER_LIMIT;
    } else if (q->is_fifo) {
        take_fifo(&t);
    } else {
        take_standard(&t);
    }
    if (retry == RETRY_NEW && attempt != NULL && t.count > 0) {
        *attempt = (struct reference_attempt){
            .is_known = true, .received_at_ms = r->now_ms, .count = t.count};
        memcpy(attempt->handles, ret_handles, t.count * sizeof(ret_handles[0]));
    }
    *ret_count = t.count;
    return QN_ERR_NONE;
}

static bool is_expired_handle(const struct reference *r, int message,
                              const struct reference_handle *handle)
{
    const struct reference_message *m = &r->messages[message];

    return r->queues[m->queue].is_fifo &&
           (m->handle != handle->handle || m->state != REFERENCE_IN_FLIGHT);
}

enum qn_error_code reference_delete(struct reference *r, int queue,
                                    const struct reference_handle *handle)
{
    int message = find(r, handle);

    if (handle->queue != queue || handle->serial != r->queues[queue].serial) {
        return QN_ERR_RECEIPT_HANDLE_IS_INVALID;
    }
    if (message < 0) {
        return QN_ERR_NONE;
    }
    if (is_expired_handle(r, message, handle)) {
        return QN_ERR_INVALID_PARAMETER_VALUE;
    }
    if (r->messages[message].handle == handle->handle) {
        r->messages[message].queue = -1;
    }
    return QN_ERR_NONE;
}

enum qn_error_code reference_change(struct reference *r, int queue,
                                    const struct reference_handle *handle, int64_t visibility_s)
{
    int message = find(r, handle);
    struct reference_message *m = &r->messages[message < 0 ? 0 : message];
    int64_t until_ms = r->now_ms + visibility_s * 1000;

    if (handle->queue != queue || handle->serial != r->queues[queue].serial) {
        return QN_ERR_RECEIPT_HANDLE_IS_INVALID;
    }
    if (message < 0 || is_expired_handle(r, message, handle) ||
        (visibility_s > 0 && until_ms - m->received_at_ms > QN_VISIBILITY_MAX_S * INT64_C(1000))) {
        return QN_ERR_INVALID_PARAMETER_VALUE;
    }
    if (visibility_s > 0 || m->state == REFERENCE_IN_FLIGHT) {
        m->was_changed = true;
        m->hidden_until_ms = until_ms;
        m->state = visibility_s > 0 ? REFERENCE_IN_FLIGHT : REFERENCE_VISIBLE;
    }
    return QN_ERR_NONE;
}

void reference_move_all(struct reference *r, int queue, int target)
{
    int64_t order = -1;
    int message;

    while ((message = next_behind(r, queue, -1, order)) >= 0) {
        const struct reference_message *m = &r->messages[message];
        int to = target >= 0 ? target : m->source;
        order = m->order;
        if (m->state != REFERENCE_VISIBLE) {
            continue;
        }
        if (to < 0) {
            return;
        }
        make(r, message, to, r->queues[to].delay_s);
    }
}

void reference_counts(const struct reference *r, int queue, int64_t ret_counts[3])
{
    ret_counts[0] = ret_counts[1] = ret_counts[2] = 0;
    for (int i = 0; i < r->message_count; i++) {
        if (in_queue(r, i, queue)) {
            enum reference_state state = r->messages[i].state;
            ret_counts[state == REFERENCE_VISIBLE ? 0 : state == REFERENCE_IN_FLIGHT ? 1 : 2]++;
        }
    }
}
