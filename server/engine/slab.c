/* Slots for messages, and the memory of their contents. Slots are 32-bit indexes that receipt
 * handles carry; the table grows by chunks and never moves. */
#include "server/engine/state.h"

#include <assert.h>

uint32_t qn_slab_take(struct qn_engine *engine)
{
    struct slab *slab = &engine->slab;
    uint32_t slot = slab->free;

    if (slot != SLOT_NONE) {
        slab->free = message_at(engine, slot)->next;
    } else {
        if (slab->used == slab->chunk_count * SLAB_CHUNK) {
            slab->chunks =
                qn_memory_resize(slab->chunks, slab->chunk_count + 1, sizeof(struct message *));
            slab->chunks[slab->chunk_count++] =
                qn_memory_new_array(SLAB_CHUNK, sizeof(struct message));
            engine->fixed_bytes += SLAB_CHUNK * sizeof(struct message);
        }
        slot = slab->used++;
    }
    *message_at(engine, slot) = (struct message){
        .first_received_at_ms = -1,
        .previous = SLOT_NONE,
        .next = SLOT_NONE,
        .ready_previous = SLOT_NONE,
        .ready_next = SLOT_NONE,
        .position = QN_HEAP_NONE,
        .age_position = QN_HEAP_NONE,
    };
    slab->in_use++;
    return slot;
}

void qn_slab_give(struct qn_engine *engine, uint32_t slot)
{
    struct message *message = message_at(engine, slot);

    qn_content_forget(engine, message);
    message->state = MESSAGE_FREE;
    message->queue_number = 0;
    message->next = engine->slab.free;
    engine->slab.free = slot;
    engine->slab.in_use--;
}

void qn_content_forget(struct qn_engine *engine, struct message *message)
{
    if (message->content != NULL) {
        engine->content_bytes -= message->content_size;
        qn_memory_free(message->content);
        message->content = NULL;
    }
}

void qn_content_set(struct qn_engine *engine, struct message *message,
                    const struct qn_content *content)
{
    struct qn_buf encoded; /* of just the right size, once */
    size_t len;

    qn_buf_init(&encoded, qn_content_size(content));
    qn_content_encode(&encoded, content);
    assert(!encoded.overflow);
    qn_content_forget(engine, message); /* the new one may have views into it until here */
    message->content = qn_buf_take(&encoded, &len);
    message->content_size = (uint32_t)len;
    engine->content_bytes += len;
}

bool qn_content_get(struct qn_tx *tx, const struct message *message, struct qn_str *ret_content,
                    struct qn_error *err)
{
    const struct qn_content_source *source = &tx->engine->options.source;

    if (message->content != NULL) {
        *ret_content = qn_str(message->content, message->content_size);
        return true;
    }
    if (source->read == NULL) {
        return qn_fail(err, QN_ERR_INTERNAL, "The content of a message is not at hand.");
    }
    return source->read(source->state, message->content_id, tx->arena, ret_content, err);
}

void qn_eviction_add(struct qn_engine *engine, uint32_t slot)
{
    const struct message *message = message_at(engine, slot);

    if (engine->options.source.read == NULL ||
        engine->content_bytes <= engine->options.content_budget) {
        return;
    }
    if (engine->eviction_count == engine->eviction_cap) {
        size_t cap = engine->eviction_cap == 0 ? 1024 : engine->eviction_cap * 2;
        struct eviction *grown = qn_memory_new_array(cap, sizeof(*grown));
        for (size_t i = 0; i < engine->eviction_count; i++) {
            grown[i] = engine->evictions[(engine->eviction_first + i) % engine->eviction_cap];
        }
        qn_memory_free(engine->evictions);
        engine->evictions = grown;
        engine->eviction_first = 0;
        engine->eviction_cap = cap;
    }
    size_t at = (engine->eviction_first + engine->eviction_count) % engine->eviction_cap;
    engine->evictions[at] =
        (struct eviction){.content_id = message->content_id, .slot = slot, .lsn = UINT64_MAX};
    engine->eviction_count++;
    engine->eviction_unstamped++;
}

void qn_engine_entry_appended(struct qn_engine *engine, uint64_t lsn)
{
    for (; engine->eviction_unstamped > 0; engine->eviction_unstamped--) {
        size_t i = engine->eviction_count - engine->eviction_unstamped;
        engine->evictions[(engine->eviction_first + i) % engine->eviction_cap].lsn = lsn;
    }
}

void qn_engine_evict(struct qn_engine *engine, uint64_t written_lsn)
{
    enum { EVICTIONS_PER_CALL = 512 };

    for (int i = 0; i < EVICTIONS_PER_CALL && engine->eviction_count > 0; i++) {
        struct eviction *eviction = &engine->evictions[engine->eviction_first];
        struct message *message = message_at(engine, eviction->slot);
        if (eviction->lsn > written_lsn) {
            return;
        }
        if (message->state != MESSAGE_FREE && message->content_id == eviction->content_id) {
            qn_content_forget(engine, message);
        }
        engine->eviction_first = (engine->eviction_first + 1) % engine->eviction_cap;
        engine->eviction_count--;
    }
}

uint32_t qn_source_intern(struct qn_engine *engine, struct qn_str arn)
{
    if (qn_str_is_none(arn)) {
        return 0;
    }
    for (uint32_t i = 1; i < engine->arn_count; i++) {
        if (qn_str_equal(engine->arns[i], arn)) {
            return i;
        }
    }
    if (engine->arn_count == engine->arn_cap) {
        engine->arn_cap = engine->arn_cap == 0 ? 16 : engine->arn_cap * 2;
        engine->arns = qn_memory_resize(engine->arns, engine->arn_cap, sizeof(struct qn_str));
    }
    if (engine->arn_count == 0) {
        engine->arns[engine->arn_count++] = QN_STR_NONE;
    }
    engine->arns[engine->arn_count] = qn_str(qn_memory_copy_text(arn.ptr, arn.len), arn.len);
    return engine->arn_count++;
}
