/* One step of a move task: the walk over the source, and the move of single messages. */
#include "server/engine/state.h"

enum { MOVES_PER_STEP = 50, LOOKS_PER_STEP = 500, RETRY_MS = 1000 };

/* The next visible message in arrival order over both lists, SLOT_NONE when this walk is over or
 * has looked enough. */
static uint32_t next_visible(struct qn_engine *engine, struct move_task *task, int *looks)
{
    for (; *looks > 0; (*looks)--) {
        uint32_t *at = &task->cursor;
        if (task->redriven_cursor != SLOT_NONE &&
            (task->cursor == SLOT_NONE || message_at(engine, task->redriven_cursor)->sequence <
                                              message_at(engine, task->cursor)->sequence)) {
            at = &task->redriven_cursor;
        }
        if (*at == SLOT_NONE) {
            return SLOT_NONE;
        }
        engine->looked_at++;
        if (message_at(engine, *at)->state == MESSAGE_VISIBLE) {
            return *at;
        }
        *at = message_at(engine, *at)->next;
    }
    return SLOT_NONE;
}

/* FIFO: the moved message's deduplication id is the one it had in the dead-letter queue (MV-6). */
static bool rewrite_content(struct qn_tx *tx, struct message *message)
{
    struct qn_str encoded;
    struct qn_content content;
    struct qn_error err;
    char id_text[37];

    if (!qn_content_get(tx, message, &encoded, &err) || !qn_content_decode(encoded, &content)) {
        return false;
    }
    if ((message->flags & MESSAGE_ID_IS_DEDUPLICATION) != 0) {
        qn_random_format_uuid(message->id, id_text);
        content.deduplication_id = qn_str(id_text, 36);
    }
    qn_content_set(tx->engine, message, &content);
    return true;
}

static void tell(struct qn_tx *tx, const struct qn_queue *source, const struct qn_queue *target,
                 const struct message *message, const uint8_t new_id[16])
{
    struct qn_event event;
    char id_text[37];
    char new_text[37];
    char sequence_text[21];

    if (!tx->events->wanted) {
        return;
    }
    qn_event_of(tx, &event, QN_EVENT_MSG_MOVE, source, message, id_text, sequence_text);
    qn_random_format_uuid(new_id, new_text);
    event.target = target->name;
    event.reason = qn_str(new_text, 36);
    qn_event_add_key(tx, &event, message);
    qn_emit_event(tx, &event);
}

/* False: the content cannot be read now; nothing has changed. */
static bool move_one(struct qn_tx *tx, struct qn_queue *source, struct qn_queue *target,
                     uint32_t slot)
{
    struct message *message = message_at(tx->engine, slot);
    int64_t old_key = message_key(message);
    int64_t old_content_id = message->content_id;
    char name_text[QN_FIFO_ID_MAX];
    struct qn_str name = QN_STR_NONE;
    uint8_t new_id[16];

    if (source->is_fifo && !rewrite_content(tx, message)) {
        return false;
    }
    qn_random_uuid(tx->random, new_id);
    tell(tx, source, target, message, new_id);
    if (message->group != NULL) {
        struct qn_str group = source->is_fifo ? message->group->name : message->tenant->name;
        name = qn_str(name_text, group.len < sizeof(name_text) ? group.len : sizeof(name_text));
        memcpy(name_text, group.ptr, name.len);
    }
    if (source->is_fifo) {
        qn_emit_delete(tx, message);
    }
    qn_message_remove(tx, source, slot);
    memcpy(message->id, new_id, sizeof(message->id));
    message->queue_number = target->number;
    message->generation = target->generation;
    message->sequence = qn_queue_draw_sequence(tx, target);
    message->enqueued_at_ms = tx->now_ms;
    message->arrived_at_ms = tx->now_ms;
    message->first_received_at_ms = -1;
    message->received_at_ms = 0;
    message->receive_count = message->total_count = message->receive_number = 0;
    message->source = 0;
    message->flags = (uint8_t)(message->flags & ~(MESSAGE_STORED_FLAGS | MESSAGE_RANKED));
    message->state = (uint8_t)qn_message_first_state(target, target->settings.delay_s);
    message->hidden_until_ms = tx->now_ms + target->settings.delay_s * 1000;
    message->content_id = source->is_fifo ? message_key(message) : old_content_id;
    qn_message_place(tx, target, slot, name, true);
    if (source->is_fifo) {
        qn_emit_message(tx, QN_ROW_MESSAGE_INSERT, message, 0,
                        qn_str(message->content, message->content_size));
        if (tx->entry != NULL) {
            qn_eviction_add(tx->engine, slot);
        }
    } else {
        qn_emit_message(tx, QN_ROW_MESSAGE_MOVE, message, old_key, QN_STR_NONE);
    }
    target->sent++;
    return true;
}

/* Where this message goes; NULL with the failure when it cannot be known. */
static struct qn_queue *destination_of(struct qn_engine *engine, const struct move_task *task,
                                       uint32_t slot, struct qn_str *ret_failure)
{
    struct qn_queue *target = NULL;
    uint32_t source = message_at(engine, slot)->source;

    if (qn_str_is_none(task->destination_arn) && source == 0) {
        *ret_failure = qn_task_failure(FAILURE_SOURCE);
        return NULL;
    }
    if (!qn_engine_find_arn(engine,
                            qn_str_is_none(task->destination_arn) ? engine->arns[source]
                                                                  : task->destination_arn,
                            &target)) {
        target = NULL;
    }
    if (target == NULL || target == task->source || target->is_fifo != task->source->is_fifo) {
        *ret_failure = qn_task_failure(FAILURE_QUEUE);
        return NULL;
    }
    return target;
}

/* Moves one message; false when the step is over (task ended, nothing found, later again). */
static bool move_next(struct qn_tx *tx, struct move_task *task, int *looks)
{
    struct qn_engine *engine = tx->engine;
    struct qn_str failure = QN_STR_NONE;

    if (task->source->counts.visible == 0) {
        qn_task_end(tx, task, QN_TASK_COMPLETED, QN_STR_NONE);
        return false;
    }
    uint32_t slot = next_visible(engine, task, looks);
    if (slot == SLOT_NONE) {
        if (*looks > 0) {
            qn_task_restart_walk(task->source); /* something behind the walk became visible */
        }
        return *looks > 0;
    }
    if (qn_message_is_expired(task->source, message_at(engine, slot), tx->now_ms)) {
        qn_message_expire(tx, task->source, slot);
        return true;
    }
    struct qn_queue *target = destination_of(engine, task, slot, &failure);
    if (target == NULL) {
        qn_task_end(tx, task, QN_TASK_FAILED, failure);
        return false;
    }
    if (!move_one(tx, task->source, target, slot)) {
        task->next_at_ms = tx->now_ms + RETRY_MS;
        return false;
    }
    task->moved++;
    if (task->source->counts.visible == 0) {
        return true; /* done, whatever the rate */
    }
    if (task->per_second > 0) {
        task->next_at_ms = task->started_at_ms + task->moved * 1000 / task->per_second;
        if (task->next_at_ms > tx->now_ms) {
            return false;
        }
    }
    return true;
}

void qn_task_step(struct qn_tx *tx, struct move_task *task, int *budget)
{
    int looks = LOOKS_PER_STEP;

    (*budget)--;
    if (task->status == QN_TASK_CANCELLING) {
        qn_task_end(tx, task, QN_TASK_CANCELLED, QN_STR_NONE);
        return;
    }
    if (tx->now_ms - task->started_at_ms >= QN_MOVE_TASK_MAX_S * INT64_C(1000)) {
        qn_task_end(tx, task, QN_TASK_FAILED, qn_task_failure(FAILURE_TIME));
        return;
    }
    for (int i = 0; i < MOVES_PER_STEP && !qn_entry_is_full(tx) && move_next(tx, task, &looks);
         i++) {
        (*budget)--;
    }
    if (task->index != SLOT_NONE) {
        qn_heap_update(&tx->engine->task_times, task->position, task->next_at_ms, task->number);
        qn_task_emit(tx, task);
    }
}
