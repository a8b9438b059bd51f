/* The end: nothing more is received, what is begun may finish, the rest goes back. */
#include "client/consumer/internal.h"

enum {
    RESERVE_MAX_MS = 2000, /* of the grace, for what must be sent after the work */
    LATE_RELEASE_S = 3     /* a handler that does not end may still be at it for a moment */
};

/* Under the lock: until the hand is empty, at most until the instant. */
static void wait_until(struct quern_consumer *c, int64_t until_ms)
{
    int64_t left_ms;

    while ((c->hand.counters.in_hand > 0 || c->receiving > 0) &&
           (left_ms = until_ms - quern_consumer_now_ms(c)) > 0) {
        quern_consumer_wait(c, &c->idle, left_ms);
    }
}

static void wake_all(struct quern_consumer *c)
{
    (void)pthread_cond_broadcast(&c->work);
    (void)pthread_cond_broadcast(&c->room);
    (void)pthread_cond_broadcast(&c->acks);
    (void)pthread_cond_broadcast(&c->leases);
}

static void cancel_running(struct quern_consumer *c)
{
    struct quern_delivery *d;

    TAILQ_FOREACH(d, &c->hand.all, all)
    {
        if (d->is_running) {
            quern_delivery_cancel(d);
        }
    }
}

/* What still runs is given back without waiting for its handler. */
static void give_up_running(struct quern_consumer *c)
{
    struct quern_delivery *d;

    TAILQ_FOREACH(d, &c->hand.all, all)
    {
        if (d->is_running && !d->is_given_up) {
            d->is_given_up = true;
            d->beats = false;
            if (!d->is_lost) {
                quern_hand_settle(&c->hand, d, LATE_RELEASE_S, quern_consumer_now_ms(c));
            }
        }
    }
}

/* Under the lock: the deletions and returns that are left. */
static void wait_for_calls(struct quern_consumer *c, int64_t until_ms)
{
    int64_t left_ms;

    while (c->hand.settling_count > 0 && (left_ms = until_ms - quern_consumer_now_ms(c)) > 0) {
        quern_consumer_wait(c, &c->idle, left_ms);
    }
}

static void join(struct quern_caller *caller)
{
    if (caller->is_started) {
        (void)pthread_join(caller->thread, NULL);
        caller->is_started = false;
    }
}

static void end_threads(struct quern_consumer *c)
{
    for (int64_t i = 0; i < c->options.receivers; i++) {
        quern_client_cancel(c->ackers[i].client);
    }
    quern_client_cancel(c->beater.client);
    for (int64_t i = 0; i < c->options.receivers; i++) {
        join(&c->receivers[i]);
        join(&c->ackers[i]);
    }
    join(&c->beater);
    if (quern_consumer_unfinished(c) == 0) {
        quern_consumer_join_workers(c);
    }
}

void quern_consumer_join_workers(struct quern_consumer *c)
{
    for (int64_t i = 0; i < c->options.workers; i++) {
        join(&c->workers[i]);
    }
}

void quern_drain(struct quern_consumer *c)
{
    int64_t grace_ms = c->options.grace_ms;
    int64_t reserve_ms = grace_ms / 4 < RESERVE_MAX_MS ? grace_ms / 4 : RESERVE_MAX_MS;

    (void)pthread_mutex_lock(&c->lock);
    int64_t end_ms = quern_consumer_now_ms(c) + grace_ms - reserve_ms / 4;
    c->hand.is_draining = true;
    quern_hand_release_waiting(&c->hand, quern_consumer_now_ms(c));
    wake_all(c);
    (void)pthread_mutex_unlock(&c->lock);
    for (int64_t i = 0; i < c->options.receivers; i++) {
        quern_client_cancel(c->receivers[i].client);
    }

    (void)pthread_mutex_lock(&c->lock);
    wait_until(c, end_ms - 3 * (reserve_ms / 4));
    if (c->hand.counters.running > 0) {
        cancel_running(c);
        wait_until(c, end_ms - reserve_ms / 2);
        give_up_running(c);
        (void)pthread_cond_broadcast(&c->acks);
    }
    wait_for_calls(c, end_ms);
    c->is_over = true;
    wake_all(c);
    (void)pthread_mutex_unlock(&c->lock);
    end_threads(c);
}
