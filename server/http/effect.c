/* Carries out what rules want done apart from their verdicts: one function for each kind of effect.
 */
#include "server/http/internal.h"

#include "server/base/log.h"

/* Streams of effects lie apart from those of requests. */
#define EFFECT_STREAM (UINT64_C(1) << 63)

/* One effect under way. */
struct work {
    struct qn_loop *loop;
    const struct qn_effect *effect;
    struct qn_queue *queue; /* NULL: there is none of its name */
    struct qn_tx tx;
};

static struct qn_queue *find_queue(struct qn_engine *engine, const struct qn_effect *effect)
{
    struct qn_queue *queue;

    for (size_t i = 0; (queue = qn_engine_queue_at(engine, i)) != NULL; i++) {
        if (qn_str_equal(qn_queue_name(queue), effect->queue) &&
            (effect->account.len == 0 || qn_str_equal(qn_queue_account(queue), effect->account))) {
            return queue;
        }
    }
    return NULL;
}

static bool resurrect(struct work *work)
{
    return work->queue != NULL &&
           qn_engine_resurrect(&work->tx, work->queue, work->effect->message_id);
}

static bool expire_lease(struct work *work)
{
    return work->queue != NULL &&
           qn_engine_expire_lease(&work->tx, work->queue, work->effect->message_id);
}

static bool crash(struct work *work)
{
    qn_fault_crash(work->effect->text, work->effect->value, work->effect->restart_ms);
    return true;
}

static bool release(struct work *work)
{
    return qn_fault_release_one(work->loop, work->effect->request);
}

/* False: nothing was there that it could be done to. */
static bool (*const carriers[QN_EFFECT_KIND_COUNT])(struct work *work) = {
    [QN_EFFECT_RESURRECT] = resurrect,
    [QN_EFFECT_EXPIRE_LEASE] = expire_lease,
    [QN_EFFECT_CRASH] = crash,
    [QN_EFFECT_RELEASE] = release,
};

static void carry_out(struct qn_loop *loop, const struct qn_effect *effect)
{
    struct work work = {.loop = loop, .effect = effect};
    struct qn_random random;
    bool done;

    qn_random_init(&random, loop->options.seed, loop->options.boot | EFFECT_STREAM,
                   ++loop->effect_count);
    qn_tx_init(loop, &work.tx, &loop->scratch, &random);
    work.queue = find_queue(loop->parts.engine, effect);
    done = carriers[effect->kind] != NULL && carriers[effect->kind](&work);
    qn_log(QN_LOG_DEBUG, "chaos", "effect carried out rule=%.*s message=%.*s done=%d",
           QN_STR_ARG(effect->rule), QN_STR_ARG(effect->message_id), done);
    qn_loop_keep(loop);
    qn_arena_reset(&loop->scratch);
}

bool qn_effect_run_next(struct qn_loop *loop)
{
    struct qn_effect effect;

    if (loop->is_stalled || !qn_plan_take_effect(loop->parts.plan, loop->now_ms, &effect)) {
        return false;
    }
    carry_out(loop, &effect);
    return true;
}
