/* Carries out what rules want done apart from their verdicts: one function for each kind of effect.
 */
#include "server/http/effect.h"

#include "server/base/log.h"

/* Streams of effects lie apart from those of requests. */
#define EFFECT_STREAM (UINT64_C(1) << 63)

enum { REORDER_WINDOW = 10 }; /* a full batch */

static const char lease_is_over[] = "the lease is over";

/* In the account and region of the event; a tick has none, and takes the server's own or, where
 * those have no such queue, the first that has one. */
static struct qn_queue *find_queue(const struct qn_loop *loop, const struct qn_effect *effect)
{
    struct qn_engine *engine = loop->parts.engine;
    bool has_home = effect->account.len > 0;
    struct qn_queue *queue = qn_engine_find_queue(
        engine, has_home ? effect->account : loop->defaults.account,
        effect->region.len > 0 ? effect->region : loop->defaults.region, effect->queue);

    if (queue != NULL || has_home) {
        return queue;
    }
    for (size_t i = 0; (queue = qn_engine_queue_at(engine, i)) != NULL; i++) {
        if (qn_str_equal(qn_queue_name(queue), effect->queue)) {
            return queue;
        }
    }
    return NULL;
}

bool qn_work_fail(struct qn_work *work, const char *why)
{
    work->why = why;
    return false;
}

bool qn_work_fail_queue(struct qn_work *work)
{
    return qn_work_fail(work, "there is no such queue");
}

static bool resurrect(struct qn_work *work)
{
    if (work->queue == NULL) {
        return qn_work_fail_queue(work);
    }
    return qn_engine_resurrect(&work->tx, work->queue, work->effect->message_id) ||
           qn_work_fail(work, "no message of this id was deleted of late");
}

struct qn_leased qn_work_leased(const struct qn_work *work)
{
    return (struct qn_leased){work->effect->message_id, work->effect->handle,
                              work->effect->receive_count};
}

static bool expire_lease(struct qn_work *work)
{
    struct qn_leased leased = qn_work_leased(work);

    if (work->queue == NULL) {
        return qn_work_fail_queue(work);
    }
    return qn_engine_expire_lease(&work->tx, work->queue, &leased) ||
           qn_work_fail(work, lease_is_over);
}

static bool shorten_lease(struct qn_work *work)
{
    struct qn_leased leased = qn_work_leased(work);
    int64_t end_ms = work->tx.now_ms + work->effect->amount_ms;

    if (work->queue == NULL) {
        return qn_work_fail_queue(work);
    }
    return qn_engine_shorten_lease(&work->tx, work->queue, &leased, end_ms) ||
           qn_work_fail(work, lease_is_over);
}

static bool extend_lease(struct qn_work *work)
{
    struct qn_leased leased = qn_work_leased(work);

    if (work->queue == NULL) {
        return qn_work_fail_queue(work);
    }
    return qn_engine_extend_lease(&work->tx, work->queue, &leased, work->effect->amount_ms) ||
           qn_work_fail(work, lease_is_over);
}

static bool deliver_again(struct qn_work *work)
{
    const struct qn_effect *effect = work->effect;
    struct qn_leased leased = qn_work_leased(work);
    struct qn_party party = {effect->instance, effect->connection};
    enum qn_audience audience = qn_str_is_none(effect->text)                  ? QN_FOR_ANYBODY
                                : qn_str_equal(effect->text, QN_STR("other")) ? QN_FOR_OTHERS
                                                                              : QN_FOR_ONE;

    if (work->queue == NULL) {
        return qn_work_fail_queue(work);
    }
    return qn_engine_deliver_again(&work->tx, work->queue, &leased, audience, &party) ||
           qn_work_fail(work, lease_is_over);
}

static bool reorder(struct qn_work *work)
{
    const struct qn_effect *effect = work->effect;
    size_t window = effect->count > 0 ? (size_t)effect->count : REORDER_WINDOW;
    bool is_delay = qn_str_equal(effect->text, QN_STR("delay"));
    enum qn_order order =
        qn_str_equal(effect->text, QN_STR("reverse")) ? QN_ORDER_REVERSE : QN_ORDER_SHUFFLE;

    if (work->queue == NULL) {
        return qn_work_fail_queue(work);
    }
    if (is_delay) {
        return qn_engine_delay_key(&work->tx, work->queue, effect->value,
                                   work->tx.now_ms + effect->amount_ms) > 0 ||
               qn_work_fail(work, "no message with this key can be received");
    }
    /* One message alone, or none, has only one order. */
    (void)qn_engine_reorder(&work->tx, work->queue, order, window, effect->draw);
    return true;
}

static bool crash(struct qn_work *work)
{
    const struct qn_effect *effect = work->effect;

    qn_fault_crash(work->loop, &(struct qn_crash){effect->rule, effect->text, effect->value,
                                                  effect->restart_ms});
    return true;
}

static bool refuse(struct qn_work *work)
{
    qn_process_refuse(work->loop, work->effect->amount_ms);
    return true;
}

static bool freeze(struct qn_work *work)
{
    qn_process_freeze(work->loop, work->effect->amount_ms);
    return true;
}

static bool jump(struct qn_work *work)
{
    return qn_advance_jump(work->loop, work->effect->amount_ms, work->effect->force, &work->why);
}

static bool restore(struct qn_work *work)
{
    const struct qn_effect *effect = work->effect;

    return qn_restore_crash(work->loop, effect->rule, effect->amount_ms, effect->restart_ms) ||
           qn_work_fail(work, "no snapshot could be taken");
}

/* That nothing is held any more, because its client has gone, is no failure. */
static bool release(struct qn_work *work)
{
    (void)qn_fault_release_one(work->loop, work->effect->request);
    return true;
}

/* False: it is not done, and work->why says why not. */
static bool (*const carriers[QN_EFFECT_KIND_COUNT])(struct qn_work *work) = {
    [QN_EFFECT_RESURRECT] = resurrect,
    [QN_EFFECT_EXPIRE_LEASE] = expire_lease,
    [QN_EFFECT_SHORTEN_LEASE] = shorten_lease,
    [QN_EFFECT_EXTEND_LEASE] = extend_lease,
    [QN_EFFECT_DELIVER_AGAIN] = deliver_again,
    [QN_EFFECT_REFUSE] = refuse,
    [QN_EFFECT_FREEZE] = freeze,
    [QN_EFFECT_JUMP] = jump,
    [QN_EFFECT_REORDER] = reorder,
    [QN_EFFECT_SEND] = qn_inject_send,
    [QN_EFFECT_DUP_SEND] = qn_inject_dup_send,
    [QN_EFFECT_POISON_BODY] = qn_inject_poison_body,
    [QN_EFFECT_REDRIVE] = qn_inject_redrive,
    [QN_EFFECT_PURGE] = qn_inject_purge,
    [QN_EFFECT_DELETE_QUEUE] = qn_inject_delete_queue,
    [QN_EFFECT_CREATE_QUEUE] = qn_inject_create_queue,
    [QN_EFFECT_SET_ATTR] = qn_inject_set_attr,
    [QN_EFFECT_CRASH] = crash,
    [QN_EFFECT_RESTORE] = restore,
    [QN_EFFECT_RELEASE] = release,
};

/* A fault that could not happen must not pass for one that was stood. Not under `rule`: it has told
 * of its firing already. */
static void tell_not_done(struct qn_work *work)
{
    const struct qn_effect *effect = work->effect;
    struct qn_event event;

    qn_event_init(&event, QN_EVENT_FAULT);
    event.virtual_ms = work->tx.now_ms;
    event.account = effect->account;
    event.queue = effect->queue;
    event.message_id = effect->message_id;
    event.code = qn_str_from_cstr(effect->word);
    event.target = qn_arena_format(work->tx.arena, "rule=%.*s", QN_STR_ARG(effect->rule));
    event.reason = qn_arena_format(work->tx.arena, "not done: %s", work->why);
    qn_event_list_add(work->tx.events, &event);
}

static void carry_out(struct qn_loop *loop, const struct qn_effect *effect)
{
    struct qn_work work = {.loop = loop, .effect = effect, .why = "the server cannot do it"};
    struct qn_random random;
    bool done;

    qn_random_init(&random, loop->options.seed, loop->options.boot | EFFECT_STREAM,
                   ++loop->effect_count);
    qn_tx_init(loop, &work.tx, &loop->scratch, &random);
    work.queue = find_queue(loop, effect);
    done = carriers[effect->kind] != NULL && carriers[effect->kind](&work);
    if (!done) {
        tell_not_done(&work);
    }
    qn_log(QN_LOG_DEBUG, "chaos", "effect carried out rule=%.*s action=%s message=%.*s done=%d",
           QN_STR_ARG(effect->rule), effect->word, QN_STR_ARG(effect->message_id), done);
    qn_loop_keep(loop);
    qn_arena_reset(&loop->scratch);
}

bool qn_effect_run_next(struct qn_loop *loop)
{
    struct qn_effect effect;

    /* Many may be due at once, more than the ring has room for. */
    loop->is_stalled = loop->is_stalled ||
                       (loop->parts.journal != NULL && !qn_journal_has_room(loop->parts.journal));
    if (loop->is_stalled || !qn_plan_take_effect(loop->parts.plan, loop->now_ms, &effect)) {
        return false;
    }
    carry_out(loop, &effect);
    return true;
}
