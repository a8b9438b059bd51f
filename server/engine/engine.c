/* The engine as a whole: making it, restoring it from the store, freeing it. */
#include "server/engine/state.h"

struct qn_engine *qn_engine_new(const struct qn_engine_options *options)
{
    struct qn_engine *engine = qn_memory_new(sizeof(*engine));

    engine->options = *options;
    qn_seal_init(&engine->seal, options->handle_key);
    engine->slab.free = SLOT_NONE;
    engine->next_queue_number = 1;
    qn_queues_init(engine);
    qn_waiters_init(engine);
    qn_tasks_init(engine);
    qn_names_init(engine);
    return engine;
}

void qn_engine_free(struct qn_engine *engine)
{
    int budget = INT32_MAX;

    if (engine == NULL) {
        return;
    }
    for (uint32_t i = 0; i < engine->queue_count; i++) {
        engine->queues[i]->task = NULL;
        qn_queue_free(engine, engine->queues[i]);
    }
    qn_messages_free_slice(engine, &budget);
    while (engine->newest_task != NULL) {
        struct move_task *older = engine->newest_task->older;
        qn_task_free(engine->newest_task);
        engine->newest_task = older;
    }
    qn_names_done(engine);
    qn_map_done(&engine->queues_by_name);
    qn_heap_done(&engine->events);
    qn_heap_done(&engine->deadlines);
    qn_heap_done(&engine->task_times);
    for (uint32_t i = 1; i < engine->arn_count; i++) {
        qn_memory_free((char *)(uintptr_t)engine->arns[i].ptr);
    }
    for (size_t i = 0; engine->deleted != NULL && i < DELETED_KEPT; i++) {
        qn_memory_free(engine->deleted[i].content);
    }
    for (uint32_t i = 0; i < engine->slab.chunk_count; i++) {
        qn_memory_free(engine->slab.chunks[i]);
    }
    qn_memory_free(engine->slab.chunks);
    qn_memory_free(engine->queues);
    qn_memory_free(engine->sorted);
    qn_numbers_done(engine);
    qn_memory_free(engine->waiters);
    qn_memory_free(engine->free_waiters);
    qn_memory_free(engine->waiter_positions);
    qn_memory_free(engine->active_tasks);
    qn_memory_free(engine->arns);
    qn_memory_free(engine->evictions);
    qn_memory_free(engine->deleted);
    qn_memory_free(engine);
}

const struct qn_engine_options *qn_engine_options_of(const struct qn_engine *engine)
{
    return &engine->options;
}

void qn_engine_keep_deleted(struct qn_engine *engine, bool keeps)
{
    engine->options.keeps_deleted = keeps;
}

void qn_engine_total_figures(const struct qn_engine *engine, struct qn_engine_figures *ret_figures)
{
    *ret_figures = (struct qn_engine_figures){
        .messages = engine->slab.in_use,
        .memory_bytes = engine->content_bytes + engine->fixed_bytes,
        .content_bytes = engine->content_bytes,
        .queues = engine->queue_count,
        .parked = engine->parked,
        .looked_at = engine->looked_at,
    };
}
