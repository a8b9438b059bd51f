/* Finding a message by its id, for faults: no map leads from ids to messages, so the newest are
 * looked at first. */
#include "server/engine/state.h"

static uint32_t find_in_list(struct qn_engine *engine, uint32_t last, const uint8_t id[16])
{
    uint32_t slot = last;

    while (slot != SLOT_NONE && memcmp(message_at(engine, slot)->id, id, 16) != 0) {
        engine->looked_at++;
        slot = message_at(engine, slot)->previous;
    }
    return slot;
}

static uint32_t find_stored(struct qn_tx *tx, struct qn_queue *queue, const struct qn_leased *which,
                            const uint8_t id[16])
{
    const struct messages *messages = queue->messages;
    struct qn_lease lease;

    if (!qn_str_is_none(which->handle)) {
        enum qn_handle_state state = qn_engine_find_lease(tx, queue, which->handle, &lease);
        if (state == QN_HANDLE_LATEST || state == QN_HANDLE_OLDER) {
            return lease.slot;
        }
    }
    uint32_t slot = find_in_list(tx->engine, messages->last, id);
    return slot != SLOT_NONE ? slot : find_in_list(tx->engine, messages->redriven_last, id);
}

static bool read_deleted(const struct qn_engine *engine, const struct qn_queue *queue,
                         const uint8_t id[16], struct qn_content *ret_content)
{
    for (size_t i = 0; engine->deleted != NULL && i < DELETED_KEPT; i++) {
        const struct deleted_message *deleted = &engine->deleted[i];
        if (deleted->content != NULL && deleted->queue == queue &&
            deleted->generation == queue->generation && memcmp(deleted->id, id, 16) == 0) {
            return qn_content_decode(qn_str(deleted->content, deleted->content_size), ret_content);
        }
    }
    return false;
}

static bool read_stored(struct qn_tx *tx, struct qn_queue *queue, const struct qn_leased *which,
                        const uint8_t id[16], struct qn_content *ret_content)
{
    uint32_t slot = find_stored(tx, queue, which, id);
    struct qn_str encoded;
    struct qn_error err;

    return slot != SLOT_NONE && qn_content_get(tx, message_at(tx->engine, slot), &encoded, &err) &&
           qn_content_decode(encoded, ret_content);
}

bool qn_engine_read_message(struct qn_tx *tx, struct qn_queue *queue, const struct qn_leased *which,
                            struct qn_content *ret_content)
{
    const char *target_arn = queue->settings.dead_letter_target_arn;
    const struct qn_leased by_id = {which->message_id, QN_STR_NONE, -1};
    struct qn_queue *target = NULL;
    uint8_t id[16];

    if (!qn_random_parse_uuid(which->message_id, id)) {
        return false;
    }
    if (read_stored(tx, queue, which, id, ret_content) ||
        read_deleted(tx->engine, queue, id, ret_content)) {
        return true;
    }
    return target_arn != NULL &&
           qn_engine_find_arn(tx->engine, qn_str_from_cstr(target_arn), &target) &&
           target != NULL && read_stored(tx, target, &by_id, id, ret_content);
}
