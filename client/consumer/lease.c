/* The rule of the interval, and the care of each lease. */
#include <string.h>

#include "client/consumer/lease.h"
#include "client/internal.h"

enum {
    LEAD_MS = 5000, /* between an extension and the end of the lease, for it to be tried again */
    RETRY_FIRST_MS = 250,
    RETRY_LAST_MS = 2000
};

bool quern_lease_interval(const struct quern_consumer_options *options, int64_t visibility_ms,
                          int64_t *ret_interval_ms, struct quern_error *err)
{
    int64_t asked_ms = options->heartbeat_interval_ms;
    int64_t strict_ms = visibility_ms - LEAD_MS;
    int64_t most_ms = options->allows_short_leases && strict_ms < visibility_ms / 2
                          ? visibility_ms / 2
                          : strict_ms;

    if (asked_ms < 0) {
        *ret_interval_ms = 0;
        return true;
    }
    if (most_ms <= 0) {
        return quern_fail(
            err, "InvalidParameterValue", 0,
            "a visibility timeout of %lld s leaves no time for a heartbeat, which must "
            "come 5 s before its end: raise it, allow short leases, or go without "
            "extensions",
            (long long)(visibility_ms / 1000));
    }
    if (asked_ms > most_ms) {
        return quern_fail(
            err, "InvalidParameterValue", 0,
            "a heartbeat every %lld ms is too late for a visibility timeout of %lld s: "
            "at most every %lld ms",
            (long long)asked_ms, (long long)(visibility_ms / 1000), (long long)most_ms);
    }
    if (asked_ms == 0) {
        asked_ms = visibility_ms / 2 < most_ms ? visibility_ms / 2 : most_ms;
    }
    *ret_interval_ms = asked_ms;
    return true;
}

static void lose(struct quern_hand *hand, struct quern_delivery *d)
{
    quern_hand_lapse(hand, d);
    if (d->is_running) {
        quern_delivery_cancel(d);
    }
}

static int64_t sooner(int64_t wait_ms, int64_t other_ms)
{
    other_ms = other_ms > 0 ? other_ms : 0;
    return wait_ms < 0 || other_ms < wait_ms ? other_ms : wait_ms;
}

/* Whether there is more to do for this one; *wait_ms takes when. */
static bool look_after(struct quern_hand *hand, struct quern_delivery *d, int64_t work_max_ms,
                       int64_t now_ms, int64_t *wait_ms)
{
    if (d->stage == QUERN_SETTLING || d->is_lost) {
        return false;
    }
    if (d->is_running && d->beats && now_ms >= d->begun_at_ms + work_max_ms) {
        d->beats = false; /* its lease ends by itself, and another may try */
        quern_delivery_cancel(d);
    }
    if (now_ms >= d->lease_end_ms) {
        lose(hand, d);
        return false;
    }
    *wait_ms = sooner(*wait_ms, d->lease_end_ms - now_ms);
    if (d->is_running && d->beats) {
        *wait_ms = sooner(*wait_ms, d->begun_at_ms + work_max_ms - now_ms);
    }
    return d->beats && !d->is_beating;
}

size_t quern_lease_due(struct quern_hand *hand, int64_t work_max_ms, int64_t now_ms,
                       struct quern_delivery *ret_batch[QUERN_BATCH_MAX], int64_t *ret_wait_ms)
{
    int64_t near_ms = now_ms + hand->beat_interval_ms / 10;
    bool is_due = false;
    size_t count = 0;
    struct quern_delivery *d;

    *ret_wait_ms = -1;
    TAILQ_FOREACH(d, &hand->all, all)
    {
        if (!look_after(hand, d, work_max_ms, now_ms, ret_wait_ms)) {
            continue;
        }
        *ret_wait_ms = sooner(*ret_wait_ms, d->next_beat_ms - now_ms);
        is_due = is_due || d->next_beat_ms <= now_ms;
        if (d->next_beat_ms <= near_ms && count < QUERN_BATCH_MAX) {
            ret_batch[count++] = d;
        }
    }
    return is_due ? count : 0;
}

void quern_lease_extended(struct quern_hand *hand, struct quern_delivery *d, uint64_t handle_number,
                          int64_t asked_at_ms)
{
    d->is_beating = false;
    hand->counters.extensions++;
    if (handle_number == d->handle_number) {
        d->lease_end_ms = asked_at_ms + hand->visibility_ms;
        d->next_beat_ms = asked_at_ms + hand->beat_interval_ms;
        d->beat_failures = 0;
    }
    quern_hand_bury(hand, d);
}

/* The message is gone, or somebody else's. */
static bool says_lost(const struct quern_error *err)
{
    return strcmp(err->code, "MessageNotInflight") == 0 ||
           strcmp(err->code, "ReceiptHandleIsInvalid") == 0 ||
           strcmp(err->code, "InvalidParameterValue") == 0 ||
           strcmp(err->code, "InvalidParameterValueException") == 0;
}

void quern_lease_failed(struct quern_hand *hand, struct quern_delivery *d, uint64_t handle_number,
                        const struct quern_error *err, int64_t now_ms)
{
    int64_t pause_ms = (int64_t)RETRY_FIRST_MS << (d->beat_failures < 4 ? d->beat_failures : 4);

    d->is_beating = false;
    hand->counters.extension_failures++;
    if (handle_number == d->handle_number && says_lost(err)) {
        if (!d->is_lost && d->stage != QUERN_SETTLING) {
            lose(hand, d);
        }
    } else if (handle_number == d->handle_number) {
        d->beat_failures++;
        d->next_beat_ms = now_ms + (pause_ms < RETRY_LAST_MS ? pause_ms : RETRY_LAST_MS);
    }
    quern_hand_bury(hand, d);
}
