/* The thread that extends leases. */
#include <string.h>

#include "client/consumer/internal.h"
#include "client/consumer/lease.h"
#include "client/internal.h"

enum { HTTP_OK = 200 };

void quern_entry_error(const struct quern_batch_entry *entry, struct quern_error *err)
{
    (void)quern_fail(err, entry->code, HTTP_OK, "%s", entry->message);
    err->is_retryable = entry->is_retryable;
    err->is_unknown = entry->is_unknown;
}

/* One alone needs no batch. */
static bool call(struct quern_caller *caller, struct quern_delivery *const *batch, size_t count,
                 struct quern_batch **ret_answer, struct quern_error *err)
{
    const struct quern_consumer *c = caller->consumer;
    int64_t visibility_s = c->hand.visibility_ms / 1000;
    struct quern_visibility_change changes[QUERN_BATCH_MAX];
    char *handles[QUERN_BATCH_MAX];

    for (size_t i = 0; i < count; i++) {
        handles[i] = qn_memory_copy_text(batch[i]->handle, strlen(batch[i]->handle));
        changes[i] = (struct quern_visibility_change){handles[i], visibility_s};
    }
    (void)pthread_mutex_unlock(&caller->consumer->lock);
    bool ok = count == 1 ? quern_change_visibility(caller->client, c->options.queue_url, handles[0],
                                                   visibility_s, err)
                         : quern_change_visibility_batch(caller->client, c->options.queue_url,
                                                         changes, count, ret_answer, err);
    (void)pthread_mutex_lock(&caller->consumer->lock);
    for (size_t i = 0; i < count; i++) {
        qn_memory_free(handles[i]);
    }
    return ok;
}

/* Under the lock, which is free during the call. */
static void extend(struct quern_caller *caller, struct quern_delivery **batch, size_t count)
{
    struct quern_consumer *c = caller->consumer;
    uint64_t numbers[QUERN_BATCH_MAX];
    struct quern_batch *answer = NULL;
    struct quern_error err;
    int64_t asked_at_ms = quern_consumer_now_ms(c);

    for (size_t i = 0; i < count; i++) {
        batch[i]->is_beating = true;
        numbers[i] = batch[i]->handle_number;
    }
    bool ok = call(caller, batch, count, &answer, &err);
    c->turned_at_ms = quern_consumer_now_ms(c);
    for (size_t i = 0; i < count; i++) {
        if (answer != NULL && !answer->entries[i].is_done) {
            quern_entry_error(&answer->entries[i], &err);
        }
        if (!ok || (answer != NULL && !answer->entries[i].is_done)) {
            quern_note(c, "extension.failed", batch[i], &err);
            quern_lease_failed(&c->hand, batch[i], numbers[i], &err, quern_consumer_now_ms(c));
        } else {
            quern_lease_extended(&c->hand, batch[i], numbers[i], asked_at_ms);
        }
    }
    quern_answer_free(answer);
    (void)pthread_cond_broadcast(&c->acks); /* a deletion may have waited for the answer */
    quern_consumer_wake(c);
    (void)quern_tell_noted(c);
}

void *quern_beat_loop(void *state)
{
    struct quern_caller *caller = state;
    struct quern_consumer *c = caller->consumer;
    struct quern_delivery *batch[QUERN_BATCH_MAX];
    int64_t wait_ms;

    (void)pthread_mutex_lock(&c->lock);
    while (!c->is_over) {
        int64_t lapses = c->hand.counters.lapses;
        size_t count = quern_lease_due(&c->hand, c->options.work_max_ms, quern_consumer_now_ms(c),
                                       batch, &wait_ms);
        if (c->hand.counters.lapses != lapses) { /* what waits is dropped by who looks for work */
            (void)pthread_cond_signal(&c->work);
        }
        if (count > 0) {
            extend(caller, batch, count);
            continue;
        }
        if (quern_tell_noted(c)) {
            continue;
        }
        /* What arrives meanwhile is not due sooner than this. */
        int64_t most_ms =
            c->hand.beat_interval_ms > 0 ? c->hand.beat_interval_ms : c->hand.visibility_ms;
        most_ms = most_ms < c->options.work_max_ms ? most_ms : c->options.work_max_ms;
        wait_ms = wait_ms < 0 || wait_ms > most_ms ? most_ms : wait_ms;
        quern_consumer_wait(c, &c->leases, wait_ms);
    }
    (void)pthread_mutex_unlock(&c->lock);
    return NULL;
}
