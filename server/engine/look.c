/* Looking without touching: figures, peeks, and the facts that faults are told. */
#include "server/engine/state.h"

void qn_event_add_key(struct qn_tx *tx, struct qn_event *event, const struct message *message)
{
    struct qn_content content;

    if (message->content != NULL &&
        qn_content_decode(qn_str(message->content, message->content_size), &content)) {
        qn_event_body_keys(content.body, tx->arena, &event->key, &event->payload_id);
    }
}
void qn_fill_fact(struct qn_tx *tx, const struct qn_queue *queue, const struct message *message,
                  struct qn_fact_message *ret_fact)
{
    struct qn_str encoded;
    struct qn_content content;
    struct qn_error err;
    char id_text[37];

    *ret_fact = (struct qn_fact_message){.receive_count = message->total_count};
    qn_random_format_uuid(message->id, id_text);
    ret_fact->message_id = qn_arena_copy(tx->arena, qn_str(id_text, 36));
    if (message->group != NULL) {
        ret_fact->group = queue->is_fifo ? message->group->name : message->tenant->name;
    }
    if (qn_content_get(tx, message, &encoded, &err) && qn_content_decode(encoded, &content)) {
        ret_fact->body = qn_arena_copy(tx->arena, content.body);
        ret_fact->attributes = qn_arena_copy(tx->arena, content.attributes);
    }
}

static struct qn_fact_message *add_fact(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot,
                                        struct qn_facts *facts)
{
    struct qn_fact_message *fact = &facts->messages[facts->message_count];

    qn_fill_fact(tx, queue, message_at(tx->engine, slot), fact);
    fact->entry_index = (int64_t)facts->message_count++;
    return fact;
}

/* The message as the receive would hand it out, unless the receive would pass it by. */
static void add_next(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot,
                     struct qn_facts *facts)
{
    const struct message *message = message_at(tx->engine, slot);

    if (!qn_message_is_expired(queue, message, tx->now_ms) &&
        qn_redrive_target(tx->engine, queue, message) == NULL) {
        add_fact(tx, queue, slot, facts)->receive_count++;
    }
}

/* Takes the next ones out and puts them back: afterwards the same ones come in the same order. */
static void look_standard(struct qn_tx *tx, struct qn_queue *queue, size_t max,
                          struct qn_facts *facts)
{
    struct qn_engine *engine = tx->engine;
    uint32_t slots[WALK_MAX + QN_RECEIVE_MAX];
    size_t count = 0;
    uint32_t slot;

    for (uint32_t at = 0;
         facts->message_count < max && (slot = qn_reserved_next(tx, queue, &at)) != SLOT_NONE;
         at++) {
        add_next(tx, queue, slot, facts);
    }
    if (queue->messages->by_name.len > 0) {
        qn_fair_refresh(engine, queue, tx->now_ms);
    }
    while (facts->message_count < max && count < sizeof(slots) / sizeof(slots[0]) &&
           (slot = qn_fair_next(engine, queue, tx->now_ms)) != SLOT_NONE) {
        add_next(tx, queue, slot, facts);
        slots[count++] = slot;
        qn_ready_remove(engine, qn_ready_of(queue, slot, engine), slot);
        if (message_at(engine, slot)->tenant != NULL) {
            qn_tenant_settle(engine, queue, message_at(engine, slot)->tenant);
        }
    }
    while (count > 0) {
        slot = slots[--count];
        qn_ready_add_returned(engine, qn_ready_of(queue, slot, engine), slot);
        if (message_at(engine, slot)->tenant != NULL) {
            qn_tenant_settle(engine, queue, message_at(engine, slot)->tenant);
        }
    }
}

static void look_group(struct qn_tx *tx, struct qn_queue *queue, const struct group *group,
                       size_t max, int *looks, struct qn_facts *facts)
{
    const struct qn_engine *engine = tx->engine;

    for (uint32_t slot = group->first;
         slot != SLOT_NONE && facts->message_count < max && (*looks)-- > 0 &&
         message_at(engine, slot)->state == MESSAGE_VISIBLE;
         slot = message_at(engine, slot)->ready_next) {
        add_next(tx, queue, slot, facts);
    }
}

static void look_fifo(struct qn_tx *tx, struct qn_queue *queue, size_t max, struct qn_facts *facts)
{
    struct messages *messages = queue->messages;
    uint32_t taken[WALK_MAX + QN_RECEIVE_MAX];
    int looks = WALK_MAX + QN_RECEIVE_MAX;
    size_t count = 0;

    while (messages->open.len > 0 && facts->message_count < max && looks > 0 &&
           count < sizeof(taken) / sizeof(taken[0])) {
        taken[count] = qn_heap_pop(&messages->open);
        look_group(tx, queue, group_at(messages, taken[count++]), max, &looks, facts);
    }
    while (count > 0) {
        struct group *group = group_at(messages, taken[--count]);
        qn_heap_push(&messages->open, group->stamp, 0, group->index);
    }
}

/* A retry under the attempt id of an earlier receive gives its messages, and counts nothing. */
static bool look_replay(struct qn_tx *tx, struct qn_queue *queue, struct qn_str attempt_id,
                        struct qn_facts *facts)
{
    const struct attempt *attempt;

    if (qn_str_is_none(attempt_id)) {
        return false;
    }
    switch (qn_attempt_find(tx, queue, attempt_id, &attempt)) {
    case ATTEMPT_REPLAY:
        for (size_t i = 0; i < attempt->count; i++) {
            add_fact(tx, queue, attempt->messages[i].slot, facts);
        }
        return true;
    case ATTEMPT_SPOILT:
        return true;
    default:
        return false;
    }
}

void qn_engine_look_receive(struct qn_tx *tx, struct qn_queue *queue,
                            const struct qn_receive *receive, struct qn_facts *facts)
{
    int64_t room = tx->engine->options.limits.in_flight - queue->counts.in_flight;
    int64_t max = receive->max < room ? receive->max : room;

    facts->messages = qn_arena_alloc(tx->arena, QN_RECEIVE_MAX * sizeof(*facts->messages));
    facts->message_count = 0;
    if (facts->messages == NULL || look_replay(tx, queue, receive->attempt_id, facts) || max <= 0) {
        return;
    }
    if (queue->is_fifo) {
        look_fifo(tx, queue, (size_t)max, facts);
    } else {
        look_standard(tx, queue, (size_t)max, facts);
    }
}

static const char *state_name(const struct message *message)
{
    return message->state == MESSAGE_VISIBLE   ? "visible"
           : message->state == MESSAGE_DELAYED ? "delayed"
                                               : "in-flight";
}

static uint32_t first_after(const struct qn_engine *engine, uint32_t slot, uint64_t after)
{
    while (slot != SLOT_NONE && message_at(engine, slot)->sequence <= after) {
        slot = message_at(engine, slot)->next;
    }
    return slot;
}

struct qn_peek_place qn_engine_peek_place(const struct qn_tx *tx, const struct qn_queue *queue,
                                          uint64_t after)
{
    return (struct qn_peek_place){
        .slot = first_after(tx->engine, queue->messages->first, after),
        .redriven = first_after(tx->engine, queue->messages->redriven_first, after),
    };
}

/* Takes the one that comes first of both lists. */
static uint32_t take_slot(const struct qn_engine *engine, struct qn_peek_place *place)
{
    uint32_t slot = place->slot;

    if (slot == SLOT_NONE ||
        (place->redriven != SLOT_NONE &&
         message_at(engine, place->redriven)->sequence < message_at(engine, slot)->sequence)) {
        slot = place->redriven;
        place->redriven = slot == SLOT_NONE ? SLOT_NONE : message_at(engine, slot)->next;
    } else {
        place->slot = message_at(engine, slot)->next;
    }
    return slot;
}

bool qn_engine_peek_next(struct qn_tx *tx, struct qn_peek_place *place,
                         struct qn_peeked *ret_message)
{
    struct qn_engine *engine = tx->engine;
    uint32_t slot = take_slot(engine, place);
    struct qn_str encoded;
    struct qn_error err;

    if (slot == SLOT_NONE) {
        return false;
    }
    const struct message *message = message_at(engine, slot);
    *ret_message = (struct qn_peeked){
        .sequence = message->sequence,
        .state = state_name(message),
        .sent_at_ms = message->enqueued_at_ms,
        .first_received_at_ms = message->first_received_at_ms,
        .hidden_until_ms = message->state == MESSAGE_VISIBLE ? -1 : message->hidden_until_ms,
        .receive_count = message->receive_count,
        .total_count = message->total_count,
        .source_arn = message->source == 0 ? QN_STR_NONE : engine->arns[message->source],
    };
    memcpy(ret_message->message_id, message->id, sizeof(message->id));
    if (!qn_content_get(tx, message, &encoded, &err) ||
        !qn_content_decode(encoded, &ret_message->content)) {
        ret_message->content = (struct qn_content){0};
    }
    return true;
}

bool qn_engine_peek(struct qn_tx *tx, struct qn_queue *queue, uint64_t after,
                    struct qn_peeked *ret_message)
{
    struct qn_peek_place place = qn_engine_peek_place(tx, queue, after);

    return qn_engine_peek_next(tx, &place, ret_message);
}

/* The age metric of a standard queue passes over what was received three times or more
 * (sqs-semantics 16). */
static int64_t oldest_age_s(const struct qn_engine *engine, const struct qn_queue *queue,
                            bool only_quiet, int64_t now_ms)
{
    const uint32_t heads[] = {queue->messages->first, queue->messages->redriven_first};
    int64_t oldest_ms = now_ms;

    for (size_t i = 0; i < 2; i++) {
        for (uint32_t slot = heads[i]; slot != SLOT_NONE; slot = message_at(engine, slot)->next) {
            const struct message *message = message_at(engine, slot);
            bool is_left_out = only_quiet && message->tenant != NULL &&
                               qn_fair_is_noisy(queue, message->tenant, now_ms);
            if ((queue->is_fifo || message->receive_count < 3) && !is_left_out) {
                oldest_ms = message->arrived_at_ms < oldest_ms ? message->arrived_at_ms : oldest_ms;
                break;
            }
        }
    }
    return (now_ms - oldest_ms) / 1000;
}

void qn_engine_figures(struct qn_engine *engine, const struct qn_queue *queue, int64_t now_ms,
                       struct qn_queue_figures *ret_figures)
{
    struct messages *messages = queue->messages;

    *ret_figures = (struct qn_queue_figures){
        .counts = queue->counts,
        .oldest_age_s = oldest_age_s(engine, queue, false, now_ms),
        .sent = queue->sent,
        .received = queue->received,
        .deleted = queue->deleted,
        .empty_receives = queue->empty_receives,
        .deduplicated = queue->deduplicated,
        .sent_bytes = queue->sent_bytes,
        .quiet = queue->counts,
        .waiters = (int64_t)queue->waiter_count,
    };
    if (queue->is_fifo) {
        ret_figures->groups = (int64_t)messages->by_name.len;
        ret_figures->groups_in_flight = queue->groups_in_flight;
        return;
    }
    for (uint32_t i = 0; i < messages->named_count; i++) {
        const struct tenant *tenant = tenant_at(messages, i);
        if (tenant != NULL && qn_fair_is_noisy(queue, tenant, now_ms)) {
            ret_figures->noisy_groups++;
            ret_figures->quiet.visible -= tenant->ready.count;
            ret_figures->quiet.in_flight -= tenant->in_flight;
            ret_figures->quiet.delayed -= tenant->delayed;
        }
    }
    ret_figures->oldest_quiet_age_s = oldest_age_s(engine, queue, true, now_ms);
}
