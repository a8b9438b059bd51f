/* The threads that delete what is done and give back what is not. */
#include <string.h>

#include "client/consumer/internal.h"

enum { RETRY_FIRST_MS = 200, RETRY_LAST_MS = 2000, RELEASES_MAX = 3 };

static json_t *ack_input(const struct quern_consumer *c, struct quern_delivery *const *batch,
                         size_t count)
{
    json_t *entries = json_array();
    char id[24];

    for (size_t i = 0; i < count; i++) {
        (void)snprintf(id, sizeof(id), "%zu", i);
        json_t *entry = json_pack("{s:s, s:s}", "Id", id, "ReceiptHandle", batch[i]->handle);
        if (batch[i]->visible_in_s != QUERN_DELETE) {
            json_object_set_new(entry, "VisibilityTimeout", json_integer(batch[i]->visible_in_s));
        }
        json_array_append_new(entries, entry);
    }
    return json_pack("{s:s, s:o}", "QueueUrl", c->options.queue_url, "Entries", entries);
}

/* Whether it would only be refused again, or comes back by its lease before it is of use. */
static bool is_hopeless(const struct quern_delivery *d, const struct quern_error *err)
{
    if (d->visible_in_s != QUERN_DELETE && d->attempts >= RELEASES_MAX) {
        return true;
    }
    bool is_refused = strcmp(err->code, "ReceiptHandleIsInvalid") == 0 ||
                      strcmp(err->code, "InvalidParameterValue") == 0 ||
                      strcmp(err->code, "MessageNotInflight") == 0;
    return is_refused || d->due_ms >= d->lease_end_ms || d->is_lost;
}

/* Under the lock. True: its deletion was accepted, and it is still in hand, for the finisher. */
static bool take_answer(struct quern_consumer *c, struct quern_delivery *d, uint64_t handle_number,
                        const struct quern_error *err)
{
    int64_t now_ms = quern_consumer_now_ms(c);
    bool is_deletion = d->visible_in_s == QUERN_DELETE;

    quern_hand_return(&c->hand, d);
    if (d->handle_number != handle_number && is_deletion) {
        d->due_ms = now_ms; /* it came again meanwhile: what counts is the newest handle */
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
    json_t *input = ack_input(c, batch, count);
    bool is_deletion = batch[0]->visible_in_s == QUERN_DELETE;
    uint64_t numbers[QUERN_BATCH_MAX];
    struct quern_delivery *deleted[QUERN_BATCH_MAX];
    size_t deleted_count = 0;
    json_t *answer = NULL;
    struct quern_error err;
    bool has_failed = false;

    for (size_t i = 0; i < count; i++) {
        numbers[i] = batch[i]->handle_number;
    }
    quern_hand_call(batch, count);
    (void)pthread_mutex_unlock(&c->lock);
    bool ok = quern_client_call(caller->client,
                                is_deletion ? "DeleteMessageBatch" : "ChangeMessageVisibilityBatch",
                                input, &answer, &err);
    json_decref(input);
    (void)pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < count; i++) {
        bool failed = !ok || quern_entry_failed(answer, i, &err);
        has_failed = has_failed || failed;
        if (take_answer(c, batch[i], numbers[i], failed ? &err : NULL)) {
            batch[i]->is_in_call = true; /* nobody else takes it up meanwhile */
            deleted[deleted_count++] = batch[i];
        }
    }
    json_decref(answer);
    if (has_failed) {
        (void)pthread_mutex_unlock(&c->lock);
        quern_tell_error(c, is_deletion ? "deletion.failed" : "release.failed", &err);
        (void)pthread_mutex_lock(&c->lock);
    }
    finish(c, deleted, deleted_count);
    for (size_t i = 0; i < deleted_count; i++) {
        quern_hand_remove(&c->hand, deleted[i]);
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
