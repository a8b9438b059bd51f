/* From waiting to work, and how much more may come. */
#include <assert.h>

#include "client/consumer/hand.h"

enum {
    DEFER_S = 1,          /* a tenant's message that had to go back is away for so long */
    LEASE_MARGIN_MS = 200 /* with less of its lease left nothing is begun */
};

static bool group_allows(const struct quern_delivery *d)
{
    return d->group == NULL || (d->group->running == 0 && d->group->returning == 0);
}

static bool tenant_allows(const struct quern_hand *hand, const struct quern_delivery *d)
{
    return hand->tenant_workers == 0 || d->tenant == NULL ||
           d->tenant->running < hand->tenant_workers;
}

/* An order that cannot be kept when one is sent back alone: FIFO messages are not deferred. */
static bool is_deferred(const struct quern_hand *hand, const struct quern_delivery *d)
{
    return d->group == NULL && !tenant_allows(hand, d);
}

int64_t quern_hand_ask(struct quern_hand *hand, int64_t now_ms)
{
    const struct quern_counters *count = &hand->counters;
    int64_t room = hand->workers + hand->max_messages - 1 - count->in_hand - hand->promised;
    const struct quern_delivery *d;

    if (hand->is_draining || count->running + hand->promised >= hand->workers ||
        quern_circuit_wait_ms(&hand->circuit, now_ms) != 0) {
        return 0;
    }
    TAILQ_FOREACH(d, &hand->waiting, waiting)
    {
        if (group_allows(d)) {
            return 0;
        }
    }
    if (hand->circuit.is_open) { /* one is enough to see whether it works again */
        return hand->promised == 0 && room > 0 ? 1 : 0;
    }
    room = room < hand->max_messages ? room : hand->max_messages;
    return room > 0 ? room : 0;
}

/* The first of the tenant with the fewest at work. */
static struct quern_delivery *fairest(struct quern_hand *hand)
{
    struct quern_delivery *best = NULL;
    struct quern_delivery *d;

    TAILQ_FOREACH(d, &hand->waiting, waiting)
    {
        int64_t running = d->tenant != NULL ? d->tenant->running : 0;
        if (!group_allows(d) || !tenant_allows(hand, d)) {
            continue;
        }
        if (best == NULL || running < (best->tenant != NULL ? best->tenant->running : 0)) {
            best = d;
        }
        if (running == 0) {
            break;
        }
    }
    return best;
}

/* With a free worker and nothing that may begin, the buffer must not stay full of one tenant. */
static void defer(struct quern_hand *hand, int64_t now_ms)
{
    struct quern_delivery *d;
    struct quern_delivery *next;

    for (d = TAILQ_FIRST(&hand->waiting); d != NULL; d = next) {
        next = TAILQ_NEXT(d, waiting);
        if (is_deferred(hand, d)) {
            hand->counters.deferred++;
            quern_hand_settle(hand, d, DEFER_S, now_ms);
        }
    }
}

static void drop_lapsed(struct quern_hand *hand, int64_t now_ms)
{
    struct quern_delivery *d;
    struct quern_delivery *next;

    for (d = TAILQ_FIRST(&hand->waiting); d != NULL; d = next) {
        next = TAILQ_NEXT(d, waiting);
        if (!d->is_beating && (d->is_lost || d->lease_end_ms - LEASE_MARGIN_MS <= now_ms)) {
            if (!d->is_lost) {
                quern_hand_lapse(hand, d);
            }
            quern_hand_remove(hand, d);
        }
    }
}

struct quern_delivery *quern_hand_pick(struct quern_hand *hand, int64_t now_ms,
                                       int64_t *ret_wait_ms)
{
    *ret_wait_ms = -1;
    drop_lapsed(hand, now_ms);
    struct quern_delivery *d = fairest(hand);
    if (d == NULL) {
        defer(hand, now_ms);
        return NULL;
    }
    int64_t circuit_ms = quern_circuit_wait_ms(&hand->circuit, now_ms);
    int64_t bucket_ms = quern_bucket_wait_ms(&hand->bucket, now_ms);
    if (circuit_ms == 0 && bucket_ms == 0) {
        return d;
    }
    *ret_wait_ms = circuit_ms != 0 ? circuit_ms : bucket_ms;
    return NULL;
}

static void count_running(struct quern_delivery *d, int64_t by)
{
    if (d->group != NULL) {
        d->group->running += by;
    }
    if (d->tenant != NULL) {
        d->tenant->running += by;
    }
}

void quern_hand_begin(struct quern_hand *hand, struct quern_delivery *d, int64_t now_ms)
{
    TAILQ_REMOVE(&hand->waiting, d, waiting);
    d->stage = QUERN_AT_WORK;
    d->is_running = true;
    d->begun_at_ms = now_ms;
    count_running(d, 1);
    hand->counters.waiting--;
    hand->counters.running++;
    quern_bucket_take(&hand->bucket);
    quern_circuit_begin(&hand->circuit);
}

void quern_hand_end(struct quern_hand *hand, struct quern_delivery *d)
{
    d->is_running = false;
    count_running(d, -1);
    hand->counters.running--;
    quern_hand_bury(hand, d);
}

void quern_hand_settle(struct quern_hand *hand, struct quern_delivery *d, int64_t visible_in_s,
                       int64_t now_ms)
{
    assert(d->stage != QUERN_SETTLING);
    if (d->stage == QUERN_WAITING) {
        TAILQ_REMOVE(&hand->waiting, d, waiting);
        hand->counters.waiting--;
    }
    d->stage = QUERN_SETTLING;
    d->beats = false;
    d->visible_in_s = visible_in_s;
    d->settled_at_ms = now_ms;
    d->due_ms = now_ms;
    d->attempts = 0;
    TAILQ_INSERT_TAIL(&hand->settling, d, settling);
    hand->settling_count++;
    if (d->group != NULL && visible_in_s != QUERN_DELETE) {
        d->group->returning++;
    }
}

void quern_hand_release_group(struct quern_hand *hand, const struct quern_lane *group,
                              int64_t now_ms)
{
    struct quern_delivery *d;
    struct quern_delivery *next;

    for (d = TAILQ_FIRST(&hand->waiting); d != NULL; d = next) {
        next = TAILQ_NEXT(d, waiting);
        if (d->group == group) {
            quern_hand_settle(hand, d, 0, now_ms);
        }
    }
}

void quern_hand_release_waiting(struct quern_hand *hand, int64_t now_ms)
{
    struct quern_delivery *d;

    while ((d = TAILQ_FIRST(&hand->waiting)) != NULL) {
        quern_hand_settle(hand, d, 0, now_ms);
    }
}
