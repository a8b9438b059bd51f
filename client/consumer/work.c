/* Working: one message after the other, and what follows from the result. */
#include <string.h>

#include "client/consumer/internal.h"

/* Twice as long after each receive, and less by up to a quarter, so that what failed together does
 * not come back together. No more than that: all receives that the redrive policy allows should
 * outlast a service that is away for a moment. */
static int64_t back_in_s(struct quern_consumer *c, const struct quern_delivery *d)
{
    int64_t delay_s = c->options.retry_base_s;

    if (d->result.outcome == QUERN_RETRY && d->result.delay_s >= 0) {
        return d->result.delay_s;
    }
    if (c->hand.is_draining && d->is_cancelled) {
        return 0; /* it was we who ended it: another may begin at once */
    }
    for (int64_t n = 1; n < d->receive_count && delay_s < c->options.retry_max_s; n++) {
        delay_s *= 2;
    }
    delay_s = delay_s < c->options.retry_max_s ? delay_s : c->options.retry_max_s;
    return delay_s - (int64_t)qn_random_below(&c->random, (uint64_t)delay_s / 4 + 1);
}

static void count(struct quern_counters *counters, enum quern_outcome outcome, bool deletes)
{
    counters->succeeded += outcome == QUERN_DONE;
    counters->retried += outcome == QUERN_RETRY;
    counters->permanent += outcome == QUERN_PERMANENT;
    counters->ambiguous += outcome == QUERN_AMBIGUOUS;
    counters->quarantined += outcome == QUERN_PERMANENT && deletes;
}

/* What stands behind the consumer did not answer as it should: for the circuit. That nobody knows
 * how a call ended is what an outage looks like, also where the message is deleted. */
static bool has_failed(enum quern_outcome outcome)
{
    return outcome == QUERN_RETRY || outcome == QUERN_AMBIGUOUS;
}

void quern_settle(struct quern_consumer *c, struct quern_delivery *d,
                  const struct quern_result *result, bool deletes)
{
    struct quern_hand *hand = &c->hand;
    int64_t now_ms = quern_consumer_now_ms(c);
    const struct quern_lane *group = d->group;
    bool is_given_up = d->is_given_up;

    d->result = *result;
    count(&hand->counters, result->outcome, deletes);
    if (result->outcome == QUERN_RETRY && result->is_no_failure) {
        quern_circuit_pass(&hand->circuit);
    } else {
        hand->counters.circuit_opens +=
            quern_circuit_note(&hand->circuit, has_failed(result->outcome), now_ms);
    }
    quern_hand_end(hand, d);
    if (is_given_up) { /* it has been given back, and is no longer ours to settle */
        return;
    }
    bool is_lost = d->is_lost;
    if (deletes || !is_lost) {
        quern_hand_settle(hand, d, deletes ? QUERN_DELETE : back_in_s(c, d), now_ms);
    }
    if (!deletes && group != NULL) { /* after the first of them, which keeps its place */
        quern_hand_release_group(hand, group, now_ms);
    }
    if (!deletes && is_lost) {
        quern_hand_remove(hand, d);
    }
}

static const char *name_of(enum quern_outcome outcome)
{
    static const char *const names[] = {"done", "retry", "permanent", "ambiguous"};

    return (size_t)outcome < sizeof(names) / sizeof(names[0]) ? names[outcome] : "retry";
}

/* Failures get a line each; what went well is counted. */
static void tell(struct quern_consumer *c, const struct quern_delivery *d,
                 const struct quern_result *result, bool deletes, int64_t took_ms)
{
    if (result->outcome == QUERN_DONE) {
        return;
    }
    json_t *fields = quern_tell_ids(d);
    json_object_set_new(fields, "decision", json_string(name_of(result->outcome)));
    if (result->reason[0] != '\0') {
        json_object_set_new(fields, "reason", json_string(result->reason));
    }
    json_object_set_new(fields, "duration_ms", json_integer(took_ms));
    json_object_set_new(fields, "is_deleted", json_boolean(deletes));
    quern_tell(c, "warn", "message.failed", fields);
}

/* Under the lock, which is free while the handler works. */
static void work(struct quern_consumer *c, struct quern_delivery *d)
{
    int64_t begun_ms = quern_consumer_now_ms(c);
    bool deletes;

    quern_hand_begin(&c->hand, d, begun_ms);
    c->turned_at_ms = begun_ms;
    if (quern_hand_ask(&c->hand, begun_ms) > 0) {
        (void)pthread_cond_broadcast(&c->room);
    }
    (void)pthread_mutex_unlock(&c->lock);
    struct quern_result result = quern_work_on(c, d, &deletes);
    tell(c, d, &result, deletes, quern_consumer_now_ms(c) - begun_ms);
    (void)pthread_mutex_lock(&c->lock);
    quern_settle(c, d, &result, deletes);
    c->turned_at_ms = quern_consumer_now_ms(c);
    quern_consumer_wake(c);
}

void *quern_work_loop(void *state)
{
    struct quern_caller *caller = state;
    struct quern_consumer *c = caller->consumer;
    int64_t wait_ms;

    (void)pthread_mutex_lock(&c->lock);
    while (!c->is_over) {
        int64_t in_hand = c->hand.counters.in_hand;
        int64_t settling = c->hand.settling_count;
        struct quern_delivery *d = quern_hand_pick(&c->hand, quern_consumer_now_ms(c), &wait_ms);
        if (d != NULL) {
            work(c, d);
            continue;
        }
        if (quern_tell_noted(c)) {
            continue;
        }
        if (c->hand.settling_count != settling || c->hand.counters.in_hand != in_hand) {
            quern_consumer_wake(c); /* some had to go back, or had lapsed: there is room */
        }
        quern_consumer_wait(c, &c->work, wait_ms);
    }
    (void)pthread_mutex_unlock(&c->lock);
    return NULL;
}
