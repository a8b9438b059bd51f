/* Two receives that get the same messages, as a rule wants it: the first one waits, with nothing
 * leased, until another client asks the same queue. Then the first is executed, the second gets
 * copies of its messages, and both are answered. */
#include "server/http/execute.h"

enum { ALONE_AFTER_MS = 5000 };

struct qn_pairing {
    struct qn_str *ids; /* of the messages that both get; NULL: all of the answer */
    size_t count;
};

static struct qn_pairing *pair_new(struct qn_call *call, uint64_t mask)
{
    const struct qn_facts *facts = call->facts;
    struct qn_pairing *pair = qn_arena_alloc(&call->request.arena, sizeof(*pair));

    if (pair == NULL || facts == NULL || mask == UINT64_MAX) {
        return pair;
    }
    pair->ids = qn_arena_alloc(&call->request.arena, facts->message_count * sizeof(struct qn_str));
    for (size_t i = 0; pair->ids != NULL && i < facts->message_count && i < 64; i++) {
        if ((mask >> i & 1U) != 0) {
            pair->ids[pair->count++] = facts->messages[i].message_id;
        }
    }
    return pair;
}

/* The one that waits for another receive of this call's queue. */
static struct qn_call *find(const struct qn_call *call)
{
    struct qn_call *next;

    for (struct qn_call *one = call->loop->delayed.first; one != NULL; one = next) {
        next = one->next;
        if (one->pair == NULL || !qn_str_equal(one->queue, call->queue) ||
            !qn_str_equal(one->account, call->account) ||
            !qn_str_equal(one->request.caller.region, call->request.caller.region)) {
            continue;
        }
        if (!qn_client_is_gone(one->client)) {
            return one;
        }
        qn_client_gone(one->client);
    }
    return NULL;
}

bool qn_pair_waits(struct qn_call *call, const struct qn_verdict *verdict)
{
    if (find(call) != NULL) {
        return false;
    }
    call->pair = pair_new(call, verdict->entry_mask);
    if (call->pair == NULL) {
        return false; /* the request is at its ceiling */
    }
    qn_call_unpark(call);
    call->stage = QN_STAGE_CHECKED;
    call->then = NULL;
    call->due_ms = qn_clock_monotonic_ms() + ALONE_AFTER_MS;
    qn_call_wait(call, &call->loop->delayed);
    return true;
}

static bool comes_away_empty(const struct qn_verdict *verdict)
{
    return verdict != NULL && (verdict->kind == QN_VERDICT_FALSE_EMPTY ||
                               (verdict->kind == QN_VERDICT_SHORT && verdict->count < 1));
}

struct qn_call *qn_pair_take(struct qn_call *call, const struct qn_verdict *verdict)
{
    struct qn_call *first;

    if (call->request.action->id != QN_ACTION_receive_message || comes_away_empty(verdict) ||
        comes_away_empty(call->verdict)) {
        return NULL;
    }
    first = find(call);
    if (first != NULL) {
        qn_call_leave(first);
        first->state = QN_CALL_RUNNING;
    }
    return first;
}

static bool is_named(const struct qn_pairing *pair, struct qn_str id)
{
    bool found = pair->ids == NULL;

    for (size_t i = 0; i < pair->count && !found; i++) {
        found = qn_str_equal(pair->ids[i], id);
    }
    return found;
}

void qn_pair_share(const struct qn_call *first, struct qn_tx *tx)
{
    const struct qn_facts *facts = first->facts;
    struct qn_leased *shared =
        facts == NULL ? NULL : qn_arena_alloc(tx->arena, facts->message_count * sizeof(*shared));

    for (size_t i = 0; shared != NULL && i < facts->message_count; i++) {
        const struct qn_fact_message *message = &facts->messages[i];
        if (is_named(first->pair, message->message_id)) {
            shared[tx->shared_count++] =
                (struct qn_leased){message->message_id, message->handle, message->receive_count};
        }
    }
    tx->shared = shared;
}
