/* The thread that extends leases. */
#include <string.h>

#include "client/consumer/internal.h"
#include "client/consumer/lease.h"

static json_t *beat_input(const struct quern_consumer *c, struct quern_delivery *const *batch,
                          size_t count)
{
    json_int_t seconds = (json_int_t)(c->hand.visibility_ms / 1000);
    char id[24];

    if (count == 1) {
        return json_pack("{s:s, s:s, s:I}", "QueueUrl", c->options.queue_url, "ReceiptHandle",
                         batch[0]->handle, "VisibilityTimeout", seconds);
    }
    json_t *entries = json_array();
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(id, sizeof(id), "%zu", i);
        json_array_append_new(entries, json_pack("{s:s, s:s, s:I}", "Id", id, "ReceiptHandle",
                                                 batch[i]->handle, "VisibilityTimeout", seconds));
    }
    return json_pack("{s:s, s:o}", "QueueUrl", c->options.queue_url, "Entries", entries);
}

bool quern_entry_failed(const json_t *answer, size_t number, struct quern_error *err)
{
    size_t i;
    const json_t *failed;
    char id[24];

    (void)snprintf(id, sizeof(id), "%zu", number);
    json_array_foreach(json_object_get(answer, "Failed"), i, failed)
    {
        const char *one = json_string_value(json_object_get(failed, "Id"));
        const char *code = json_string_value(json_object_get(failed, "Code"));
        const char *message = json_string_value(json_object_get(failed, "Message"));
        if (one != NULL && strcmp(one, id) == 0) {
            memset(err, 0, sizeof(*err));
            (void)snprintf(err->code, sizeof(err->code), "%s", code != NULL ? code : "?");
            (void)snprintf(err->message, sizeof(err->message), "%s",
                           message != NULL ? message : "");
            err->http_status = 200;
            return true;
        }
    }
    return false;
}

/* Under the lock, which is free during the call. */
static void extend(struct quern_caller *caller, struct quern_delivery **batch, size_t count)
{
    struct quern_consumer *c = caller->consumer;
    json_t *input = beat_input(c, batch, count);
    uint64_t numbers[QUERN_BATCH_MAX];
    json_t *answer = NULL;
    struct quern_error err;
    int64_t asked_at_ms = quern_consumer_now_ms(c);

    for (size_t i = 0; i < count; i++) {
        batch[i]->is_beating = true;
        numbers[i] = batch[i]->handle_number;
    }
    (void)pthread_mutex_unlock(&c->lock);
    bool ok = quern_client_call(
        caller->client, count == 1 ? "ChangeMessageVisibility" : "ChangeMessageVisibilityBatch",
        input, &answer, &err);
    json_decref(input);
    (void)pthread_mutex_lock(&c->lock);
    bool has_failed = !ok;
    for (size_t i = 0; i < count; i++) {
        if (!ok || quern_entry_failed(answer, i, &err)) {
            has_failed = true;
            quern_lease_failed(&c->hand, batch[i], numbers[i], &err, quern_consumer_now_ms(c));
        } else {
            quern_lease_extended(&c->hand, batch[i], numbers[i], asked_at_ms);
        }
    }
    json_decref(answer);
    (void)pthread_cond_broadcast(&c->acks); /* a deletion may have waited for the answer */
    if (has_failed) {
        (void)pthread_mutex_unlock(&c->lock);
        quern_tell_error(c, "extension.failed", &err);
        (void)pthread_mutex_lock(&c->lock);
    }
}

void *quern_beat_loop(void *state)
{
    struct quern_caller *caller = state;
    struct quern_consumer *c = caller->consumer;
    struct quern_delivery *batch[QUERN_BATCH_MAX];
    int64_t wait_ms;

    (void)pthread_mutex_lock(&c->lock);
    while (!c->is_over) {
        size_t count = quern_lease_due(&c->hand, c->options.work_max_ms, quern_consumer_now_ms(c),
                                       batch, &wait_ms);
        if (count > 0) {
            extend(caller, batch, count);
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
