/* Message move tasks: run in the background, oldest message first, at most so many a second, until
 * no visible message is left in the source (MV-1 to MV-12). Each moved message is a new one. */
#include "server/engine/state.h"

/* Why a task failed: AWS's words where they are known. */
static const char *const failures[] = {"CouldNotDetermineMessageSource",
                                       "AWS.SimpleQueueService.NonExistentQueue",
                                       "The task ran for more than 36 hours."};

struct qn_str qn_task_failure(enum task_failure failure)
{
    return qn_str_from_cstr(failures[failure]);
}

static void times_moved(void *owner, uint32_t index, uint32_t position)
{
    ((struct qn_engine *)owner)->active_tasks[index]->position = position;
}

void qn_tasks_init(struct qn_engine *engine)
{
    qn_heap_init(&engine->task_times, times_moved, engine);
}

void qn_task_emit(struct qn_tx *tx, const struct move_task *task)
{
    struct qn_buf form;
    struct qn_row row = {.kind = QN_ROW_TASK_PUT};

    if (tx->entry == NULL) {
        return;
    }
    qn_buf_init(&form, 8192);
    qn_buf_append_u8(&form, (uint8_t)task->status);
    qn_buf_append_u8(&form, !qn_str_is_none(task->destination_arn));
    qn_buf_append_bytes(&form, task->source_arn);
    qn_buf_append_bytes(&form, task->destination_arn);
    qn_buf_append_u32(&form, task->source_number);
    qn_buf_append_u64(&form, (uint64_t)task->per_second);
    qn_buf_append_u64(&form, (uint64_t)task->moved);
    qn_buf_append_u64(&form, (uint64_t)task->to_move);
    qn_buf_append_bytes(&form, task->failure);
    qn_buf_append_u64(&form, task->number);
    memcpy(row.task.id, task->id, sizeof(task->id));
    row.task.started_at_ms = task->started_at_ms;
    row.task.task = qn_buf_str(&form);
    qn_entry_append(tx->entry, &row);
    qn_buf_done(&form);
}

static void activate(struct qn_engine *engine, struct move_task *task)
{
    if (engine->active_count == engine->active_cap) {
        engine->active_cap = engine->active_cap == 0 ? 8 : engine->active_cap * 2;
        engine->active_tasks =
            qn_memory_resize(engine->active_tasks, engine->active_cap, sizeof(struct move_task *));
    }
    task->index = engine->active_count++;
    engine->active_tasks[task->index] = task;
    task->source->task = task;
    qn_task_restart_walk(task->source);
    qn_heap_push(&engine->task_times, task->next_at_ms, task->number, task->index);
}

static void deactivate(struct qn_engine *engine, struct move_task *task)
{
    uint32_t last = engine->active_count - 1;
    uint32_t index = task->index;

    qn_heap_remove(&engine->task_times, task->position);
    if (index != last) {
        struct move_task *moved = engine->active_tasks[last];
        engine->active_tasks[index] = moved;
        engine->task_times.entries[moved->position].item = index;
        moved->index = index;
    }
    engine->active_count--;
    task->index = SLOT_NONE;
    if (task->source != NULL) {
        task->source->task = NULL;
    }
    task->source = NULL;
}

void qn_task_end(struct qn_tx *tx, struct move_task *task, enum qn_task_status status,
                 struct qn_str failure)
{
    task->status = status;
    task->failure = failure;
    deactivate(tx->engine, task);
    qn_task_emit(tx, task);
}

void qn_task_restart_walk(struct qn_queue *queue)
{
    if (queue->task != NULL) {
        queue->task->cursor = queue->messages->first;
        queue->task->redriven_cursor = queue->messages->redriven_first;
    }
}

void qn_task_skip(struct qn_engine *engine, struct qn_queue *queue, uint32_t slot)
{
    struct move_task *task = queue->task;

    if (task->cursor == slot) {
        task->cursor = message_at(engine, slot)->next;
    }
    if (task->redriven_cursor == slot) {
        task->redriven_cursor = message_at(engine, slot)->next;
    }
}

void qn_task_meet(struct qn_engine *engine, struct qn_queue *queue, uint32_t slot)
{
    const struct message *message = message_at(engine, slot);
    uint32_t *at = (message->flags & MESSAGE_REDRIVEN) != 0 ? &queue->task->redriven_cursor
                                                            : &queue->task->cursor;

    if (*at == SLOT_NONE || message->sequence < message_at(engine, *at)->sequence) {
        *at = slot;
    }
}

static void fill_view(const struct move_task *task, struct qn_task_view *ret_task)
{
    *ret_task = (struct qn_task_view){
        .status = task->status,
        .source_arn = task->source_arn,
        .destination_arn = task->destination_arn,
        .per_second = task->per_second,
        .moved = task->moved,
        .to_move = task->to_move,
        .started_at_ms = task->started_at_ms,
        .failure = task->failure,
    };
    memcpy(ret_task->id, task->id, sizeof(ret_task->id));
}

bool qn_engine_task_is_active(struct qn_engine *engine, const struct qn_queue *source)
{
    (void)engine;
    return source->task != NULL;
}

size_t qn_engine_active_tasks(struct qn_engine *engine, struct qn_str account)
{
    size_t count = 0;

    for (uint32_t i = 0; i < engine->active_count; i++) {
        count += qn_str_equal(engine->active_tasks[i]->source->account, account);
    }
    return count;
}

static struct qn_str own(struct qn_str text)
{
    return qn_str_is_none(text) ? QN_STR_NONE
                                : qn_str(qn_memory_copy_text(text.ptr, text.len), text.len);
}

void qn_task_free(struct move_task *task)
{
    qn_memory_free((char *)(uintptr_t)task->source_arn.ptr);
    qn_memory_free((char *)(uintptr_t)task->destination_arn.ptr);
    qn_memory_free(task);
}

static void drop(struct qn_tx *tx, struct move_task **at)
{
    struct move_task *task = *at;
    struct qn_row row = {.kind = QN_ROW_TASK_DROP};

    memcpy(row.task.id, task->id, sizeof(task->id));
    if (tx->entry != NULL) {
        qn_entry_append(tx->entry, &row);
    }
    *at = task->older;
    qn_task_free(task);
}

/* Finished tasks of the source beyond the number kept are forgotten. */
static void forget_old(struct qn_tx *tx, uint32_t source_number)
{
    size_t kept = 0;

    for (struct move_task **at = &tx->engine->newest_task; *at != NULL;) {
        if ((*at)->source_number == source_number && ++kept > QN_MOVE_TASKS_KEPT &&
            (*at)->index == SLOT_NONE) {
            drop(tx, at);
        } else {
            at = &(*at)->older;
        }
    }
}

void qn_engine_start_task(struct qn_tx *tx, struct qn_queue *source, struct qn_queue *destination,
                          int64_t per_second, uint8_t ret_id[16])
{
    struct move_task *task = qn_memory_new(sizeof(*task));

    qn_random_uuid(tx->random, task->id);
    task->number = ++tx->engine->last_task_number;
    task->status = QN_TASK_RUNNING;
    task->source_arn = own(source->arn);
    task->destination_arn = destination == NULL ? QN_STR_NONE : own(destination->arn);
    task->source = source;
    task->source_number = source->number;
    task->per_second = per_second;
    task->to_move = source->counts.visible;
    task->started_at_ms = tx->now_ms;
    task->next_at_ms = tx->now_ms;
    task->older = tx->engine->newest_task;
    tx->engine->newest_task = task;
    activate(tx->engine, task);
    qn_task_emit(tx, task);
    forget_old(tx, source->number);
    memcpy(ret_id, task->id, sizeof(task->id));
}

bool qn_engine_task_at(struct qn_engine *engine, const struct qn_queue *source, size_t i,
                       struct qn_task_view *ret_task)
{
    for (const struct move_task *task = engine->newest_task; task != NULL; task = task->older) {
        if (task->source_number == source->number && i-- == 0) {
            fill_view(task, ret_task);
            return true;
        }
    }
    return false;
}

static struct move_task *find(struct qn_engine *engine, const uint8_t id[16])
{
    struct move_task *task = engine->newest_task;

    while (task != NULL && memcmp(task->id, id, sizeof(task->id)) != 0) {
        task = task->older;
    }
    return task;
}

bool qn_engine_find_task(struct qn_engine *engine, const uint8_t id[16],
                         struct qn_task_view *ret_task)
{
    const struct move_task *task = find(engine, id);

    if (task == NULL) {
        return false;
    }
    fill_view(task, ret_task);
    return true;
}

int64_t qn_engine_cancel_task(struct qn_tx *tx, const uint8_t id[16])
{
    struct move_task *task = find(tx->engine, id);

    task->status = QN_TASK_CANCELLING;
    task->next_at_ms = tx->now_ms;
    qn_heap_update(&tx->engine->task_times, task->position, task->next_at_ms, task->number);
    qn_task_emit(tx, task);
    return task->moved;
}

void qn_task_queue_gone(struct qn_tx *tx, struct qn_queue *queue)
{
    if (queue->task != NULL) {
        deactivate(tx->engine, queue->task);
    }
    for (struct move_task **at = &tx->engine->newest_task; *at != NULL;) {
        if ((*at)->source_number == queue->number) {
            drop(tx, at);
        } else {
            at = &(*at)->older;
        }
    }
}

/* The static text that equals what was stored. */
static struct qn_str failure_text(struct qn_str stored)
{
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        if (qn_str_equal(stored, qn_str_from_cstr(failures[i]))) {
            return qn_str_from_cstr(failures[i]);
        }
    }
    return qn_str_from_cstr(failures[FAILURE_QUEUE]);
}

/* Several may have started at one instant, which is all that the order of the load goes by. */
static void insert(struct qn_engine *engine, struct move_task *task)
{
    struct move_task **at = &engine->newest_task;

    while (*at != NULL && (*at)->number > task->number) {
        at = &(*at)->older;
    }
    task->older = *at;
    *at = task;
    if (task->number > engine->last_task_number) {
        engine->last_task_number = task->number;
    }
}

void qn_task_restore(struct qn_engine *engine, const struct qn_task_row *row)
{
    struct qn_reader reader;
    struct move_task *task = qn_memory_new(sizeof(*task));

    qn_reader_init(&reader, row->task);
    memcpy(task->id, row->id, sizeof(task->id));
    task->started_at_ms = row->started_at_ms;
    task->status = (enum qn_task_status)qn_reader_u8(&reader);
    bool has_destination = qn_reader_u8(&reader) != 0;
    task->source_arn = own(qn_reader_bytes(&reader));
    struct qn_str destination = qn_reader_bytes(&reader);
    task->destination_arn = has_destination ? own(destination) : QN_STR_NONE;
    task->source_number = qn_reader_u32(&reader);
    task->per_second = (int64_t)qn_reader_u64(&reader);
    task->moved = (int64_t)qn_reader_u64(&reader);
    task->to_move = (int64_t)qn_reader_u64(&reader);
    struct qn_str failure = qn_reader_bytes(&reader);
    task->failure = failure.len == 0 ? QN_STR_NONE : failure_text(failure);
    task->number = qn_reader_u64(&reader);
    task->index = SLOT_NONE;
    insert(engine, task);
    task->source = qn_queue_by_number(engine, task->source_number);
    if (task->source != NULL &&
        (task->status == QN_TASK_RUNNING || task->status == QN_TASK_CANCELLING)) {
        task->next_at_ms = task->per_second > 0 && task->status == QN_TASK_RUNNING
                               ? task->started_at_ms + task->moved * 1000 / task->per_second
                               : task->started_at_ms;
        activate(engine, task);
    } else {
        task->source = NULL;
    }
}
