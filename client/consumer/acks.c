/* The threads that delete what is done and give back what is not. */
#include <string.h>

#include "client/consumer/internal.h"

enum { RETRY_FIRST_MS = 200, RETRY_LAST_MS = 2000, RELEASES_MAX = 3, HTTP_FORBIDDEN = 403 };

/* The lock is free during the call. */
static bool call(struct quern_caller *caller, struct quern_delivery *const *batch, size_t count,
                 struct quern_batch **ret_answer, struct quern_error *err)
{
    struct quern_consumer *c = caller->consumer;
    struct quern_visibility_change changes[QUERN_BATCH_MAX];
    char *handles[QUERN_BATCH_MAX];
    bool is_deletion = batch[0]->visible_in_s == QUERN_DELETE;

    for (size_t i = 0; i < count; i++) {
        handles[i] = qn_memory_copy_text(batch[i]->handle, strlen(batch[i]->handle));
        changes[i] = (struct quern_visibility_change){handles[i], batch[i]->visible_in_s};
    }
    (void)pthread_mutex_unlock(&c->lock);
    bool ok = is_deletion
                  ? quern_delete_message_batch(caller->client, c->options.queue_url,
                                               (const char *const *)handles, count, ret_answer, err)
                  : quern_change_visibility_batch(caller->client, c->options.queue_url, changes,
                                                  count, ret_answer, err);
    (void)pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < count; i++) {
        qn_memory_free(handles[i]);
    }
    return ok;
}

/* Whether it would only be refused again, or comes back by its lease before it is of use. */
static bool is_hopeless(const struct quern_delivery *d, const struct quern_error *err)
{
    if (d->visible_in_s != QUERN_DELETE && d->attempts >= RELEASES_MAX) {
        return true;
    }
    /* Who may not delete now may be allowed to soon; a handle that is over stays over. */
    bool is_refused = !err->is_retryable && err->http_status != HTTP_FORBIDDEN;
    return is_refused || d->due_ms >= d->lease_end_ms || d->is_lost;
}

/* Under the lock. True: its deletion was accepted, and it is still in hand, for the finisher. */
static bool take_answer(struct quern_consumer *c, struct quern_delivery *d, uint64_t handle_number,
                        const struct quern_error *err)
{
    int64_t now_ms = quern_consumer_now_ms(c);
    bool is_deletion = d->visible_in_s == QUERN_DELETE;

    quern_hand_return(&c->hand, d);
    if (d->handle_number != handle_number) { /* it came again meanwhile */
        if (is_deletion) {
            d->due_ms = now_ms; /* what counts is the newest handle */
        } else {
            c->hand.counters.released++;
            quern_hand_restore(&c->hand, d, now_ms);
        }
        return false;
    }
    if (err == NULL) {
        if (is_deletion) {
            c->hand.counters.deleted++;
            return true;
        }
        c->hand.counters.released++;
        quern_hand_remove(&c->hand, d);
        return false;
    }
    c->hand.counters.delete_failures += is_deletion;
    d->attempts++;
    d->due_ms = now_ms + quern_consumer_pause_ms(c, RETRY_FIRST_MS, RETRY_LAST_MS, d->attempts);
    if (is_hopeless(d, err)) {
        quern_hand_remove(&c->hand, d);
    }
    return false;
}

static void finish(struct quern_consumer *c, struct quern_delivery **deleted, size_t count)
{
    if (c->options.on_finished == NULL) {
        return;
    }
    (void)pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < count; i++) {
        if (deleted[i]->result.outcome == QUERN_DONE) {
            c->options.on_finished(c->options.state, deleted[i]);
        }
    }
    (void)pthread_mutex_lock(&c->lock);
}

/* Under the lock, which is free during the call. */
static void flush(struct quern_caller *caller, struct quern_delivery **batch, size_t count)
{
    struct quern_consumer *c = caller->consumer;
    bool is_deletion = batch[0]->visible_in_s == QUERN_DELETE;
    uint64_t numbers[QUERN_BATCH_MAX];
    struct quern_delivery *deleted[QUERN_BATCH_MAX];
    uint64_t deleted_numbers[QUERN_BATCH_MAX];
    size_t deleted_count = 0;
    struct quern_batch *answer = NULL;
    struct quern_error err;

    for (size_t i = 0; i < count; i++) {
        numbers[i] = batch[i]->handle_number;
    }
    quern_hand_call(batch, count);
    bool ok = call(caller, batch, count, &answer, &err);
    for (size_t i = 0; i < count; i++) {
        bool failed = !ok || !answer->entries[i].is_done;
        if (ok && failed) {
            quern_entry_error(&answer->entries[i], &err);
        }
        if (failed) {
            quern_note(c, is_deletion ? "deletion.failed" : "release.failed", batch[i], &err);
        }
        if (take_answer(c, batch[i], numbers[i], failed ? &err : NULL)) {
            batch[i]->is_in_call = true; /* nobody else takes it up meanwhile */
            deleted_numbers[deleted_count] = numbers[i];
            deleted[deleted_count++] = batch[i];
        }
    }
    quern_answer_free(answer);
    (void)quern_tell_noted(c);
    finish(c, deleted, deleted_count);
    for (size_t i = 0; i < deleted_count; i++) {
        if (deleted[i]->handle_number == deleted_numbers[i]) {
            quern_hand_remove(&c->hand, deleted[i]);
        } else { /* a copy came during the finisher */
            deleted[i]->is_in_call = false;
            deleted[i]->result.outcome = QUERN_RETRY; /* it has been finished */
        }
    }
    quern_consumer_wake(c);
}

void *quern_ack_loop(void *state)
{
    struct quern_caller *caller = state;
    struct quern_consumer *c = caller->consumer;
    struct quern_delivery *batch[QUERN_BATCH_MAX];
    int64_t wait_ms;

    (void)pthread_mutex_lock(&c->lock);
    while (!c->is_over) {
        size_t count = quern_hand_collect(&c->hand, quern_consumer_now_ms(c), batch, &wait_ms);
        if (count > 0) {
            flush(caller, batch, count);
        } else {
            quern_consumer_wait(c, &c->acks, wait_ms);
        }
    }
    (void)pthread_mutex_unlock(&c->lock);
    return NULL;
}
