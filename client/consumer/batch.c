/* Which of the settled messages share the next call. */
#include <unistd.h>

#include "client/consumer/hand.h"

/* Others may come to share the call: for so long it waits, unless nothing can come. */
static bool may_wait(const struct quern_hand *hand, const struct quern_delivery *d)
{
    const struct quern_counters *count = &hand->counters;

    return d->visible_in_s == QUERN_DELETE && d->attempts == 0 && !hand->is_draining &&
           hand->settling_count < QUERN_BATCH_MAX && count->running + count->waiting > 0 &&
           count->in_hand < hand->workers + hand->max_messages - 1;
}

static int64_t due_ms(const struct quern_hand *hand, const struct quern_delivery *d)
{
    return d->due_ms + (may_wait(hand, d) ? hand->delete_lag_ms : 0);
}

/* In a group the first that cannot go now holds back the rest. */
static bool is_held_back(const struct quern_hand *hand, const struct quern_delivery *d)
{
    return d->group != NULL && (d->group->passed == hand->passes || d->group->in_call > 0);
}

static bool is_alike(const struct quern_delivery *a, const struct quern_delivery *b)
{
    return (a->visible_in_s == QUERN_DELETE) == (b->visible_in_s == QUERN_DELETE);
}

size_t quern_hand_collect(struct quern_hand *hand, int64_t now_ms,
                          struct quern_delivery *ret_batch[QUERN_BATCH_MAX], int64_t *ret_wait_ms)
{
    size_t count = 0;
    bool is_due = false;
    struct quern_delivery *d;

    hand->passes++;
    *ret_wait_ms = -1;
    TAILQ_FOREACH(d, &hand->settling, settling)
    {
        if (d->is_in_call) {
            continue;
        }
        int64_t wait_ms = due_ms(hand, d) - now_ms;
        bool may_go = !d->is_beating && !is_held_back(hand, d) && d->due_ms <= now_ms &&
                      count < QUERN_BATCH_MAX && (count == 0 || is_alike(d, ret_batch[0]));
        if (may_go) {
            ret_batch[count++] = d;
            is_due = is_due || wait_ms <= 0;
        } else if (d->group != NULL) {
            d->group->passed = hand->passes;
        }
        if (wait_ms > 0 && (*ret_wait_ms < 0 || wait_ms < *ret_wait_ms)) {
            *ret_wait_ms = wait_ms;
        }
    }
    return is_due || count == QUERN_BATCH_MAX ? count : 0;
}

void quern_hand_call(struct quern_delivery *const *batch, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        batch[i]->is_in_call = true;
        if (batch[i]->group != NULL) {
            batch[i]->group->in_call++;
        }
    }
}

void quern_hand_restore(struct quern_hand *hand, struct quern_delivery *d, int64_t now_ms)
{
    if (hand->is_draining ||
        d->is_running) { /* it cannot begin here: once more, with its new handle */
        d->due_ms = now_ms;
        d->visible_in_s = 0;
        return;
    }
    TAILQ_REMOVE(&hand->settling, d, settling);
    hand->settling_count--;
    if (d->group != NULL) {
        d->group->returning--;
    }
    if (d->cancel_fd >= 0) {
        (void)close(d->cancel_fd);
    }
    d->cancel_fd = -1;
    d->is_cancelled = false;
    d->stage = QUERN_WAITING;
    d->beats = hand->beat_interval_ms > 0;
    quern_hand_queue(hand, d);
}

void quern_hand_return(struct quern_hand *hand, struct quern_delivery *d)
{
    (void)hand;
    d->is_in_call = false;
    if (d->group != NULL) {
        d->group->in_call--;
    }
}
