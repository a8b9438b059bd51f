/* Receiving: when there is room, one poll after the other, with pauses after failures. */
#include "client/receive.h"
#include "client/consumer/internal.h"
#include "server/base/clock.h"

enum { PAUSE_FIRST_MS = 500, PAUSE_LAST_MS = 5000, ATTEMPT_ID_CHARS = 37, FIRST_WAIT_S = 1 };

static int64_t age_ms(const struct quern_received *received)
{
    int64_t sent_at_ms = quern_received_number(received, "SentTimestamp");
    const struct qn_clock clock = qn_clock_system();
    int64_t age = clock.now_ms(clock.state) - sent_at_ms;

    return sent_at_ms >= 0 && age > 0 ? age : 0;
}

/* Under the lock. */
static void admit(struct quern_consumer *c, struct quern_messages *messages_take, int64_t asked)
{
    struct quern_arrivals *arrivals = qn_memory_new(sizeof(*arrivals));
    int64_t now_ms = quern_consumer_now_ms(c);
    size_t count = messages_take->count;

    *arrivals = (struct quern_arrivals){messages_take, 1};
    c->hand.counters.receives++;
    c->hand.counters.empty_receives += count == 0;
    c->receive_failures = 0;
    c->last_was_full = count > 0 && (int64_t)count >= asked;
    for (size_t i = 0; i < count; i++) {
        const struct quern_received *received = &messages_take->items[i];
        quern_hand_admit(&c->hand, received, arrivals, now_ms)->consumer = c;
        c->hand.counters.newest_age_ms = age_ms(received);
        (void)pthread_cond_signal(&c->work);
    }
    quern_arrivals_leave(arrivals);
    quern_consumer_wake(c);
}

/* Under the lock. A receive beside another is worth while only when there is much to receive. */
static int64_t may_ask(struct quern_consumer *c, const struct quern_caller *caller)
{
    bool has_turn = caller->number == 0 || c->last_was_full;

    return has_turn ? quern_hand_ask(&c->hand, quern_consumer_now_ms(c)) : 0;
}

/* Under the lock: how long there is nothing to do; 0: ask now. */
static int64_t pause_ms(struct quern_consumer *c, int64_t asked)
{
    int64_t now_ms = quern_consumer_now_ms(c);

    if (now_ms < c->receive_after_ms) {
        return c->receive_after_ms - now_ms;
    }
    if (asked > 0) {
        return 0;
    }
    int64_t circuit_ms = quern_circuit_wait_ms(&c->hand.circuit, now_ms);
    return circuit_ms > 0 ? circuit_ms : -1;
}

/* Under the lock. */
static void fail(struct quern_consumer *c)
{
    c->hand.counters.receive_failures++;
    c->receive_failures++;
    c->last_was_full = false;
    c->receive_after_ms =
        quern_consumer_now_ms(c) +
        quern_consumer_pause_ms(c, PAUSE_FIRST_MS, PAUSE_LAST_MS, c->receive_failures);
}

/* Under the lock, which is free meanwhile. Told once, whoever of those who receive hears it first.
 */
static void lose_queue(struct quern_consumer *c, const struct quern_error *err)
{
    fail(c);
    if (c->is_queue_gone || c->hand.is_draining) {
        return;
    }
    c->is_queue_gone = true;
    c->gone = *err;
    (void)pthread_mutex_unlock(&c->lock);
    quern_tell(c, "error", "queue.gone",
               json_pack("{s:s, s:s, s:s}", "queue", c->options.queue_url, "code", err->code,
                         "message", err->message));
    quern_consumer_stop(c);
    (void)pthread_mutex_lock(&c->lock);
}

/* Under the lock, which is free meanwhile. */
static void tell_ready(struct quern_consumer *c)
{
    if (c->is_ready_told) {
        return;
    }
    c->is_ready_told = true;
    (void)pthread_mutex_unlock(&c->lock);
    quern_tell(c, "info", "ready", json_pack("{s:s}", "queue", c->options.queue_url));
    if (c->options.on_ready != NULL) {
        c->options.on_ready(c->options.state);
    }
    (void)pthread_mutex_lock(&c->lock);
}

/* Whoever waits to be told that it is ready does not wait for an empty queue as well. */
static int64_t wait_s(const struct quern_consumer *c)
{
    bool is_awaited = c->options.on_ready != NULL && !c->is_ready_told;

    return is_awaited ? FIRST_WAIT_S : c->options.wait_s;
}

static void name_attempt(struct quern_consumer *c, char attempt_id[ATTEMPT_ID_CHARS])
{
    uint8_t id[16];

    qn_random_uuid(&c->random, id);
    qn_random_format_uuid(id, attempt_id);
}

/* Without the lock. */
static void tell_damaged(struct quern_consumer *c, const json_t *ids)
{
    size_t i;
    json_t *id;

    json_array_foreach(ids, i, id)
    {
        quern_tell(c, "warn", "message.damaged", json_pack("{s:O}", "message_id", id));
    }
}

/* Under the lock, which is free during the call. The same attempt id asks a FIFO queue for the same
 * messages when the answer was lost. */
static void receive(struct quern_caller *caller, int64_t asked, char attempt_id[ATTEMPT_ID_CHARS])
{
    struct quern_consumer *c = caller->consumer;
    const struct quern_receive_options options = {
        .max_messages = asked,
        .wait_s = wait_s(c),
        .visibility_s = c->options.visibility_s > 0 ? c->options.visibility_s : QUERN_NOT_GIVEN,
        .attempt_id = c->is_fifo ? attempt_id : NULL,
    };
    struct quern_messages *messages = NULL;
    json_t *damaged_ids = json_array();
    struct quern_error err;

    c->hand.promised += asked;
    (void)pthread_mutex_unlock(&c->lock);
    bool ok = quern_receive_noting(caller->client, c->options.queue_url, &options, damaged_ids,
                                   &messages, &err);
    tell_damaged(c, damaged_ids);
    (void)pthread_mutex_lock(&c->lock);
    c->hand.promised -= asked;
    c->turned_at_ms = quern_consumer_now_ms(c);
    c->hand.counters.damaged += (int64_t)json_array_size(damaged_ids);
    json_decref(damaged_ids);
    if (ok) {
        admit(c, messages, asked);
        name_attempt(c, attempt_id);
        tell_ready(c);
    } else if (quern_consumer_lacks_queue(c, &err)) {
        lose_queue(c, &err);
    } else if (!c->hand.is_draining) {
        fail(c);
        (void)pthread_mutex_unlock(&c->lock);
        quern_tell_error(c, "receive.failed", &err);
        (void)pthread_mutex_lock(&c->lock);
    }
}

void *quern_receive_loop(void *state)
{
    struct quern_caller *caller = state;
    struct quern_consumer *c = caller->consumer;
    char attempt_id[ATTEMPT_ID_CHARS];

    (void)pthread_mutex_lock(&c->lock);
    name_attempt(c, attempt_id);
    while (!c->hand.is_draining) {
        int64_t asked = may_ask(c, caller);
        int64_t wait_ms = pause_ms(c, asked);
        if (wait_ms != 0) {
            quern_consumer_wait(c, &c->room, wait_ms);
            continue;
        }
        receive(caller, asked, attempt_id);
    }
    c->receiving--;
    (void)pthread_cond_broadcast(&c->idle);
    (void)pthread_mutex_unlock(&c->lock);
    return NULL;
}
