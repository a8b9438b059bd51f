/* The slow SQS: its queues and messages. */
#include "tests/support/reference.h"

#include <stdio.h>
#include <string.h>

void reference_init(struct reference *reference, int64_t now_ms, int64_t in_flight_max)
{
    memset(reference, 0, sizeof(*reference));
    reference->now_ms = now_ms;
    reference->in_flight_max = in_flight_max;
}

struct reference_message *reference_next(struct reference *r, int queue, int group, int64_t order)
{
    struct reference_message *best = NULL;

    for (int i = 0; i < r->message_count; i++) {
        struct reference_message *m = &r->messages[i];
        if (m->queue == queue && (group < 0 || m->group == group) && m->order > order &&
            (best == NULL || m->order < best->order)) {
            best = m;
        }
    }
    return best;
}

struct reference_message *reference_by_uid(struct reference *r, int uid)
{
    for (int i = 0; i < r->message_count; i++) {
        if (r->messages[i].uid == uid) {
            return &r->messages[i];
        }
    }
    return NULL;
}

struct reference_message *reference_find(struct reference *r, const struct reference_handle *handle)
{
    struct reference_message *m = reference_by_uid(r, handle->uid);

    return m != NULL && m->queue == handle->queue && m->order == handle->order &&
                   r->queues[handle->queue].serial == handle->serial
               ? m
               : NULL;
}

static void forget(struct reference *r, struct reference_message *message)
{
    *message = r->messages[--r->message_count];
}

/* ---- queues ---- */

static void forget_all(struct reference *r, int queue)
{
    struct reference_queue *q = &r->queues[queue];

    for (int i = r->message_count - 1; i >= 0; i--) {
        if (r->messages[i].queue == queue) {
            forget(r, &r->messages[i]);
        }
    }
    for (int i = 0; i < REFERENCE_KEYS; i++) {
        q->accepted_at_ms[i] = -1;
    }
    for (int i = 0; i < REFERENCE_IDS; i++) {
        q->attempts[i].is_known = false;
    }
}

void reference_purge(struct reference *r, int queue)
{
    forget_all(r, queue);
}

void reference_create_queue(struct reference *r, int queue, bool is_fifo)
{
    r->queues[queue] = (struct reference_queue){.exists = true,
                                                .is_fifo = is_fifo,
                                                .serial = ++r->last_serial,
                                                .visibility_s = QN_VISIBILITY_DEFAULT_S,
                                                .retention_s = QN_RETENTION_DEFAULT_S};
    forget_all(r, queue);
}

void reference_delete_queue(struct reference *r, int queue)
{
    forget_all(r, queue);
    r->queues[queue].exists = false;
    r->queues[queue].task_count = 0;
    r->queues[queue].max_receive_count = 0;
}

void reference_counts(const struct reference *r, int queue, int64_t ret_counts[3])
{
    ret_counts[0] = ret_counts[1] = ret_counts[2] = 0;
    for (int i = 0; i < r->message_count; i++) {
        if (r->messages[i].queue == queue) {
            enum reference_state state = r->messages[i].state;
            ret_counts[state == REFERENCE_VISIBLE ? 0 : state == REFERENCE_IN_FLIGHT ? 1 : 2]++;
        }
    }
}

/* ---- what falls due ---- */

static bool is_expired(const struct reference *r, const struct reference_message *m)
{
    return m->enqueued_at_ms + r->queues[m->queue].retention_s * 1000 <= r->now_ms;
}

/* FIFO: the delay of now counts (14.1). */
static int64_t visible_at_ms(const struct reference *r, const struct reference_message *m)
{
    const struct reference_queue *q = &r->queues[m->queue];

    return m->state == REFERENCE_DELAYED && q->is_fifo ? m->enqueued_at_ms + q->delay_s * 1000
                                                       : m->hidden_until_ms;
}

void reference_settle_messages(struct reference *r)
{
    for (int i = r->message_count - 1; i >= 0; i--) {
        struct reference_message *m = &r->messages[i];
        if (is_expired(r, m)) {
            forget(r, m);
        } else if (m->state != REFERENCE_VISIBLE && visible_at_ms(r, m) <= r->now_ms) {
            if (r->fault == REFERENCE_LAPSED_MESSAGES_GO_TO_THE_END &&
                m->state == REFERENCE_IN_FLIGHT && !r->queues[m->queue].is_fifo) {
                m->order = r->queues[m->queue].next_order++;
            }
            m->state = REFERENCE_VISIBLE;
        }
    }
}

/* ---- sends ---- */

static void place(struct reference *r, struct reference_message *m, int queue)
{
    struct reference_queue *q = &r->queues[queue];

    m->queue = -1;
    if (q->is_fifo && reference_next(r, queue, m->group, -1) == NULL) {
        q->stamps[m->group] = q->next_stamp++;
    }
    m->queue = queue;
    m->order = q->next_order++;
    m->handle = 0;
    m->receive_count = 0;
}

void reference_store(struct reference *r, struct reference_message *m, int queue, int64_t delay_s)
{
    place(r, m, queue);
    m->enqueued_at_ms = r->now_ms;
    m->hidden_until_ms = r->now_ms + delay_s * 1000;
    m->state = delay_s > 0 ? REFERENCE_DELAYED : REFERENCE_VISIBLE;
    if (r->fault != REFERENCE_MOVED_MESSAGES_KEEP_THEIR_COUNT) {
        m->total_count = 0;
    }
    m->first_received_at_ms = -1;
    m->was_changed = false;
    m->source = -1;
    m->id[0] = '\0';
}

void reference_dead_letter(struct reference *r, struct reference_message *m)
{
    int source = m->queue;
    int target = r->queues[source].target;

    r->dead_letters++;
    place(r, m, target);
    m->state = REFERENCE_VISIBLE;
    m->was_changed = false;
    m->source = source;
    if (r->queues[target].is_fifo) {
        m->enqueued_at_ms = r->now_ms;
    }
}

/* The id given, else the body; in its group where the queue's scope is the group (12.2). */
static int key_of(const struct reference_queue *q, const struct reference_send *send)
{
    int key = send->deduplication >= 0 ? send->deduplication : REFERENCE_IDS + send->content;

    return key + (q->has_group_scope ? (send->group + 1) * 2 * REFERENCE_IDS : 0);
}

struct reference_sent reference_send(struct reference *r, const struct reference_send *send,
                                     const char *body)
{
    struct reference_queue *q = &r->queues[send->queue];
    struct reference_sent sent = {.code = QN_ERR_NONE};

    if (!q->exists) {
        sent.code = QN_ERR_QUEUE_DOES_NOT_EXIST;
        return sent;
    }
    if (q->is_fifo && send->deduplication < 0 && !q->is_content_based) {
        sent.code = QN_ERR_INVALID_PARAMETER_VALUE;
        return sent;
    }
    if (q->is_fifo) {
        int key = key_of(q, send);
        int64_t accepted_at_ms = q->accepted_at_ms[key];
        sent.accepted_id = q->accepted_id[key];
        sent.is_duplicate = accepted_at_ms >= 0 && r->now_ms - accepted_at_ms < QN_DEDUPLICATION_MS;
        if (!sent.is_duplicate || r->fault == REFERENCE_DUPLICATES_EXTEND_THE_WINDOW) {
            q->accepted_at_ms[key] = r->now_ms;
        }
        if (sent.is_duplicate) {
            return sent;
        }
    }
    sent.message = &r->messages[r->message_count++];
    *sent.message = (struct reference_message){.uid = ++r->last_uid, .group = send->group};
    (void)snprintf(sent.message->body, sizeof(sent.message->body), "%s", body);
    reference_store(r, sent.message, send->queue,
                    q->is_fifo || send->delay_s < 0 ? q->delay_s : send->delay_s);
    return sent;
}

/* ---- what is done by handles ---- */

static enum qn_error_code judge_handle(const struct reference *r, int queue,
                                       const struct reference_handle *handle)
{
    if (!r->queues[queue].exists) {
        return QN_ERR_QUEUE_DOES_NOT_EXIST;
    }
    return handle->queue != queue || handle->serial != r->queues[queue].serial
               ? QN_ERR_RECEIPT_HANDLE_IS_INVALID
               : QN_ERR_NONE;
}

static bool is_expired_handle(const struct reference *r, const struct reference_message *m,
                              const struct reference_handle *handle)
{
    return r->queues[m->queue].is_fifo &&
           (m->handle != handle->handle || m->state != REFERENCE_IN_FLIGHT);
}

enum qn_error_code reference_delete(struct reference *r, int queue,
                                    const struct reference_handle *handle)
{
    enum qn_error_code code = judge_handle(r, queue, handle);
    struct reference_message *m = reference_find(r, handle);

    if (code != QN_ERR_NONE || m == NULL) {
        return code;
    }
    if (is_expired_handle(r, m, handle)) {
        return QN_ERR_INVALID_PARAMETER_VALUE;
    }
    if (m->handle == handle->handle || r->fault == REFERENCE_OLD_HANDLES_DELETE) {
        forget(r, m);
    }
    return QN_ERR_NONE;
}

enum qn_error_code reference_change(struct reference *r, int queue,
                                    const struct reference_handle *handle, int64_t visibility_s)
{
    enum qn_error_code code = judge_handle(r, queue, handle);
    struct reference_message *m = reference_find(r, handle);
    int64_t until_ms = r->now_ms + visibility_s * 1000;

    if (code != QN_ERR_NONE) {
        return code;
    }
    if (m == NULL || is_expired_handle(r, m, handle) ||
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
