/* Whether a call may go on now: there is room in the ring and in memory, nothing is due before it,
 * and what its answer tells of is synced. */
#include "server/http/internal.h"

enum { ROOM_WAIT_MS = 1000 };

static bool needs_room(const struct qn_call *call)
{
    const struct qn_loop *loop = call->loop;

    /* With --auto-create even a read may make a queue. */
    return loop->parts.journal != NULL && !qn_journal_has_room(loop->parts.journal) &&
           ((call->request.action->flags & QN_ACTION_CHANGES) != 0 ||
            qn_engine_options_of(loop->parts.engine)->auto_create);
}

/* A writer that is only behind catches up within moments, so the call waits for it, once. */
bool qn_room_waits_for_ring(struct qn_call *call, bool asks)
{
    if (call->has_waited_for_room || !needs_room(call)) {
        return false;
    }
    qn_call_unpark(call);
    call->has_waited_for_room = true;
    call->stage = asks ? QN_STAGE_ARRIVED : QN_STAGE_CHECKED;
    call->due_ms = qn_clock_monotonic_ms() + ROOM_WAIT_MS;
    qn_call_wait(call, &call->loop->crowded);
    return true;
}

/* Instants are moved, and messages counted, when all that is due is done, slice by slice: very many
 * may be due at once. Without room in the ring nothing can be done, and reads go on. */
bool qn_room_waits_for_settling(struct qn_call *call, struct qn_tx *tx, bool asks)
{
    bool is_settled;

    if ((call->request.action->flags & QN_ACTION_SETTLES) == 0 ||
        (call->loop->parts.journal != NULL && !qn_journal_has_room(call->loop->parts.journal))) {
        return false;
    }
    is_settled = qn_engine_settle_queue(tx, tx->queue);
    qn_loop_keep(call->loop);
    if (!is_settled) {
        call->stage = asks ? QN_STAGE_ARRIVED : QN_STAGE_CHECKED;
        call->due_ms = 0; /* in the order in which they came */
        qn_call_wait(call, &call->loop->behind);
    }
    return !is_settled;
}

bool qn_room_refuses(const struct qn_call *call, struct qn_error *err)
{
    if (needs_room(call)) {
        return !qn_fail(err, QN_ERR_SERVICE_UNAVAILABLE,
                        "The database does not keep up or cannot be written. Nothing was changed.");
    }
    if (call->request.action->id == QN_ACTION_receive_message &&
        call->loop->under_way > call->loop->options.under_way_max) {
        return !qn_fail(
            err, QN_ERR_SERVICE_UNAVAILABLE,
            "Too many answers wait for clients that read slowly. Nothing was received.");
    }
    if ((call->request.action->flags & QN_ACTION_SENDS) != 0 &&
        !qn_engine_has_memory(call->loop->parts.engine, call->request.http.body.len)) {
        return !qn_fail(err, QN_ERR_SERVICE_UNAVAILABLE,
                        "The memory for stored messages is used up. Nothing was stored.");
    }
    return false;
}

bool qn_room_waits_for_sync(struct qn_call *call)
{
    struct qn_loop *loop = call->loop;

    if (loop->parts.journal == NULL || qn_journal_sync_fd(loop->parts.journal) < 0) {
        return false;
    }
    call->lsn = qn_journal_last_lsn(loop->parts.journal);
    /* What the loop knows of, not how far the thread is by now: that would let its speed decide
     * whether something comes in between. */
    if (loop->synced_lsn >= call->lsn) {
        return false;
    }
    call->due_ms = 0; /* in the order of their LSN */
    qn_call_wait(call, &loop->syncing);
    return true;
}
