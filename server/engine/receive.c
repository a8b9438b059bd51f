/* Receiving: picks what may be handed out, leases it, moves what was received too often (SM-4,
 * SM-5, SM-12, SM-F3). The cost hangs on what is handed out, not on the backlog, on what is in
 * flight or on blocked groups. */
#include "server/engine/state.h"

struct receiving {
    struct qn_tx *tx;
    struct qn_queue *queue;
    const struct qn_receive *receive;
    struct qn_delivery *deliveries;
    uint32_t slots[QN_RECEIVE_MAX];
    size_t count;
    int walked; /* expired or dead-lettered on the way */
    bool failed;
    struct qn_error *err;
};

bool qn_message_is_expired(const struct qn_queue *queue, const struct message *message,
                           int64_t now_ms)
{
    return message->enqueued_at_ms + queue->settings.retention_s * 1000 <= now_ms;
}

static void fill_delivery(struct qn_tx *tx, const struct qn_queue *queue, uint32_t slot,
                          struct handle_origin origin, struct qn_delivery *delivery)
{
    const struct qn_engine *engine = tx->engine;
    const struct message *message = message_at(engine, slot);

    memcpy(delivery->message_id, message->id, sizeof(delivery->message_id));
    delivery->deduplication_is_message_id = (message->flags & MESSAGE_ID_IS_DEDUPLICATION) != 0;
    memcpy(delivery->deduplication_message_id, message->id, sizeof(message->id));
    delivery->sent_at_ms = message->enqueued_at_ms;
    delivery->first_received_at_ms = message->first_received_at_ms;
    delivery->deadline_ms = message->hidden_until_ms;
    delivery->total_count = message->total_count;
    delivery->sequence = queue->is_fifo ? message->sequence : 0;
    delivery->source_arn = message->source == 0 ? QN_STR_NONE : engine->arns[message->source];
    delivery->receipt_handle = qn_handle_make(tx, queue, message, origin);
}

static bool read_content(struct receiving *r, uint32_t slot)
{
    struct qn_str content;
    struct qn_delivery *delivery = &r->deliveries[r->count];

    if (!qn_content_get(r->tx, message_at(r->tx->engine, slot), &content, r->err) ||
        !qn_content_decode(content, &delivery->content)) {
        if (r->err->code == QN_ERR_NONE) {
            (void)qn_fail(r->err, QN_ERR_INTERNAL, "A stored message cannot be read.");
        }
        r->failed = true;
        return false;
    }
    return true;
}

static void tell(struct receiving *r, uint32_t slot, enum qn_event_kind kind,
                 const struct qn_delivery *delivery)
{
    struct qn_event event;
    char id_text[37];
    char sequence_text[21];
    const struct message *message = message_at(r->tx->engine, slot);

    if (!r->tx->events->wanted) {
        return;
    }
    qn_event_of(r->tx, &event, kind, r->queue, message, id_text, sequence_text);
    event.handle = delivery->receipt_handle;
    event.deadline_ms = message->hidden_until_ms;
    qn_event_add_key(r->tx, &event, message);
    qn_emit_event(r->tx, &event);
}

/* Leases the message; its content has been read. With a visibility of 0 it is visible again at
 * once. */
static void lease(struct receiving *r, uint32_t slot)
{
    struct qn_tx *tx = r->tx;
    struct message *message = message_at(tx->engine, slot);
    struct handle_origin here = {slot, tx->engine->options.boot};
    int64_t visibility_ms = r->receive->visibility_timeout_s * 1000;

    message->receive_count++;
    message->total_count++;
    message->receive_number++;
    message->received_at_ms = tx->now_ms;
    if (message->first_received_at_ms < 0) {
        message->first_received_at_ms = tx->now_ms;
    }
    message->flags = (uint8_t)(message->flags & ~MESSAGE_CHANGED);
    if (visibility_ms > 0) {
        qn_message_set_state(tx, r->queue, slot, MESSAGE_IN_FLIGHT, tx->now_ms + visibility_ms);
    } else {
        message->hidden_until_ms = tx->now_ms;
    }
    fill_delivery(tx, r->queue, slot, here, &r->deliveries[r->count]);
    r->slots[r->count++] = slot;
    tell(r, slot, QN_EVENT_LEASE_GRANT, &r->deliveries[r->count - 1]);
}

static bool is_full(const struct receiving *r)
{
    return r->failed || r->count >= (size_t)r->receive->max || r->walked >= WALK_MAX ||
           r->queue->counts.in_flight >= r->tx->engine->options.limits.in_flight;
}

/* Hands out a message that may be; false: its content cannot be read. On a standard queue one that
 * is leased for no time at all must not be met again in this receive, so it steps aside until its
 * end (RCV-14). */
static bool hand_out(struct receiving *r, uint32_t slot)
{
    if (!read_content(r, slot)) {
        return false;
    }
    if (!r->queue->is_fifo && r->receive->visibility_timeout_s == 0) {
        qn_message_set_state(r->tx, r->queue, slot, MESSAGE_IN_FLIGHT, r->tx->now_ms);
    }
    lease(r, slot);
    return true;
}

/* A fault: the message once more, as a copy of its own. That is a receive more, which one that has
 * used up its receives does not have. */
static void hand_out_copy(struct receiving *r, uint32_t slot)
{
    bool is_last =
        qn_redrive_target(r->tx->engine, r->queue, message_at(r->tx->engine, slot)) != NULL;
    uint32_t copy = is_full(r) || is_last
                        ? SLOT_NONE
                        : qn_copy_make(r->tx, r->queue, slot, MESSAGE_VISIBLE, r->tx->now_ms);

    if (copy != SLOT_NONE) {
        (void)hand_out(r, copy);
    }
}

static bool is_doubled(const struct qn_receive *receive, const struct message *message)
{
    bool found = receive->doubles_all;

    for (size_t i = 0; i < receive->doubled_count && !found; i++) {
        found = memcmp(receive->doubled[i], message->id, sizeof(message->id)) == 0;
    }
    return found;
}

static bool hand_out_as_often_as_said(struct receiving *r, uint32_t slot)
{
    if (!hand_out(r, slot)) {
        return false;
    }
    if (is_doubled(r->receive, message_at(r->tx->engine, slot))) {
        hand_out_copy(r, slot);
    }
    return true;
}

/* What another receive got at this moment. */
static void share(struct receiving *r)
{
    for (size_t i = 0; i < r->receive->shared_count; i++) {
        uint32_t slot = qn_leased_slot(r->tx, r->queue, &r->receive->shared[i]);
        if (slot != SLOT_NONE) {
            hand_out_copy(r, slot);
        }
    }
}

/* Takes a message that must not be handed out off the way; true when it was one. */
static bool pass_by(struct receiving *r, uint32_t slot)
{
    struct message *message = message_at(r->tx->engine, slot);

    if (qn_message_is_expired(r->queue, message, r->tx->now_ms)) {
        qn_message_expire(r->tx, r->queue, slot);
        r->walked++;
        return true;
    }
    struct qn_queue *target = qn_redrive_target(r->tx->engine, r->queue, message);
    if (target != NULL) {
        qn_redrive_move(r->tx, r->queue, target, slot);
        r->walked++;
        return true;
    }
    return false;
}

static bool was_taken(const struct receiving *r, uint32_t slot)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->slots[i] == slot) {
            return true;
        }
    }
    return false;
}

/* Copies for this consumer: nobody else can take them. */
static void receive_reserved(struct receiving *r)
{
    uint32_t slot;
    uint32_t at = 0;

    while (!is_full(r) && (slot = qn_reserved_next(r->tx, r->queue, &at)) != SLOT_NONE) {
        if (!pass_by(r, slot) && !hand_out_as_often_as_said(r, slot)) {
            break;
        }
    }
}

static void receive_standard(struct receiving *r)
{
    struct qn_tx *tx = r->tx;
    struct qn_queue *queue = r->queue;

    if (queue->messages->by_name.len > 0) {
        qn_fair_refresh(tx->engine, queue, tx->now_ms);
    }
    receive_reserved(r);
    while (!is_full(r)) {
        uint32_t slot = qn_fair_next(tx->engine, queue, tx->now_ms);
        tx->engine->looked_at++;
        if (slot == SLOT_NONE) {
            break;
        }
        if (!pass_by(r, slot) && !hand_out_as_often_as_said(r, slot)) {
            break;
        }
    }
    for (size_t i = 0; r->receive->visibility_timeout_s == 0 && i < r->count; i++) {
        qn_message_set_state(tx, queue, r->slots[i], MESSAGE_VISIBLE, tx->now_ms);
    }
}

/* From the front of the group until a message that is not visible (FIFO-2). */
static void drain_group(struct receiving *r, struct group *group)
{
    struct qn_engine *engine = r->tx->engine;
    uint32_t slot = group->first;

    while (slot != SLOT_NONE && !is_full(r)) {
        struct message *message = message_at(engine, slot);
        engine->looked_at++;
        if (message->state != MESSAGE_VISIBLE) {
            return;
        }
        uint32_t next = message->ready_next;
        bool is_last = group->count == 1;
        if (pass_by(r, slot)) {
            if (is_last) {
                return; /* the group went with its last message */
            }
        } else if (!hand_out_as_often_as_said(r, slot)) {
            return;
        }
        slot = next;
    }
}

static void receive_fifo(struct receiving *r)
{
    struct qn_engine *engine = r->tx->engine;
    struct messages *messages = r->queue->messages;

    while (!is_full(r) && messages->open.len > 0) {
        struct group *group = group_at(messages, qn_heap_top(&messages->open)->item);
        size_t before = r->count;
        engine->looked_at++;
        if (before > 0 && was_taken(r, group->first)) {
            break; /* leased for no time and served in this receive already: nothing else is open */
        }
        drain_group(r, group);
        if (r->count == before) {
            continue; /* it was emptied or closed, or the receive is full */
        }
        group->stamp = r->queue->next_stamp++;
        group->was_served = true;
        if (group->open_position != QN_HEAP_NONE) {
            qn_heap_update(&messages->open, group->open_position, group->stamp, 0);
        }
    }
}

static void replay(struct receiving *r, const struct attempt *attempt)
{
    struct qn_tx *tx = r->tx;

    for (size_t i = 0; i < attempt->count; i++) {
        uint32_t slot = attempt->messages[i].slot;
        struct message *message = message_at(tx->engine, slot);
        int64_t deadline = tx->now_ms + r->receive->visibility_timeout_s * 1000;
        int64_t latest = message->received_at_ms + QN_VISIBILITY_MAX_S * INT64_C(1000);
        if (!read_content(r, slot)) {
            return;
        }
        qn_message_set_state(tx, r->queue, slot,
                             deadline > tx->now_ms ? MESSAGE_IN_FLIGHT : MESSAGE_VISIBLE,
                             deadline < latest ? deadline : latest);
        fill_delivery(tx, r->queue, slot, attempt->messages[i].origin, &r->deliveries[r->count]);
        r->slots[r->count++] = slot;
        qn_emit_message(tx, QN_ROW_MESSAGE_PUT, message, 0, QN_STR_NONE);
        tell(r, slot, deadline > tx->now_ms ? QN_EVENT_LEASE_EXTEND : QN_EVENT_LEASE_RELEASE,
             &r->deliveries[r->count - 1]);
    }
}

static enum qn_receive_result finish(struct receiving *r, size_t *ret_count)
{
    if (r->failed && r->count == 0 && r->walked == 0) {
        return QN_RECEIVE_FAILED;
    }
    *ret_count = r->count;
    if (r->count == 0 && r->walked >= WALK_MAX) {
        r->queue->goes_on = true;
        return QN_RECEIVE_GOES_ON;
    }
    r->queue->received += (int64_t)r->count;
    return QN_RECEIVED;
}

enum qn_receive_result qn_engine_receive(struct qn_tx *tx, struct qn_queue *queue,
                                         const struct qn_receive *receive,
                                         struct qn_delivery *ret_deliveries, size_t *ret_count,
                                         struct qn_error *err)
{
    struct receiving r = {
        .tx = tx, .queue = queue, .receive = receive, .deliveries = ret_deliveries, .err = err};
    const struct attempt *attempt = NULL;

    err->code = QN_ERR_NONE;
    queue->goes_on = false;
    if (!qn_str_is_none(receive->attempt_id)) {
        enum attempt_answer answer = qn_attempt_find(tx, queue, receive->attempt_id, &attempt);
        if (answer == ATTEMPT_SPOILT) {
            (void)qn_fail(
                err, QN_ERR_INVALID_PARAMETER_VALUE,
                "Value %.*s for parameter ReceiveRequestAttemptId is invalid. Reason: The "
                "receiveRequestAttemptId is not valid anymore since the receive call is "
                "not retryable.",
                QN_STR_ARG(receive->attempt_id));
            return QN_RECEIVE_FAILED;
        }
        if (answer == ATTEMPT_REPLAY) {
            replay(&r, attempt);
            return finish(&r, ret_count);
        }
    }
    if (queue->counts.in_flight >= tx->engine->options.limits.in_flight) {
        *ret_count = 0;
        return queue->is_fifo ? QN_RECEIVED : QN_RECEIVE_OVER_LIMIT;
    }
    share(&r);
    if (queue->is_fifo) {
        receive_fifo(&r);
    } else {
        receive_standard(&r);
    }
    for (size_t i = 0; i < r.count; i++) {
        qn_emit_message(tx, QN_ROW_MESSAGE_PUT, message_at(tx->engine, r.slots[i]), 0, QN_STR_NONE);
    }
    if (r.count > 0 && !qn_str_is_none(receive->attempt_id)) {
        qn_attempt_add(tx, queue, receive->attempt_id, r.slots, r.count);
    }
    return finish(&r, ret_count);
}

void qn_engine_count_empty_receive(struct qn_queue *queue)
{
    queue->empty_receives++;
}
