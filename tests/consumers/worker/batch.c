/* Deleting in batches: one thread collects what is done, up to ten or for a moment. */
#include <string.h>

#include "server/base/clock.h"
#include "tests/consumers/worker/worker.h"

enum { RETRY_FIRST_MS = 200, RETRY_LAST_MS = 2000, TICK_MS = 10 };

void batch_give(struct worker *w, struct job *job)
{
    job->next_delete_ms = qn_clock_monotonic_ms() + w->settings.linger_ms;
    (void)pthread_cond_broadcast(&w->changed);
}

/* Under the lock: what to delete now. A full batch does not wait. */
static size_t collect(struct worker *w, const struct flush *flush, struct job **batch)
{
    int64_t now_ms = qn_clock_monotonic_ms();
    size_t count = 0;
    bool is_due = flush->most == BATCH_MAX && jobs_count(w, STAGE_DELETING) >= BATCH_MAX;

    for (struct job *job = w->jobs; job != NULL && count < flush->most; job = job->next) {
        if (job->stage == STAGE_DELETING &&
            (job->next_delete_ms <= now_ms || job->delete_attempts == 0)) {
            is_due = is_due || job->next_delete_ms <= now_ms ||
                     (w->is_stopping && !flush->waits_when_stopping);
            batch[count++] = job;
        }
    }
    return is_due ? count : 0;
}

/* Under the lock. What failed is tried again while its lease lasts; then it comes back by itself.
 */
static void settle_entry(struct worker *w, const struct flush *flush, struct job *job,
                         const char *handle, const char *code)
{
    int64_t now_ms = qn_clock_monotonic_ms();
    int64_t pause_ms = RETRY_FIRST_MS << (job->delete_attempts < 4 ? job->delete_attempts : 4);
    bool is_dead = code != NULL && (strcmp(code, "ReceiptHandleIsInvalid") == 0 ||
                                    strcmp(code, "InvalidParameterValue") == 0);
    bool is_newest = strcmp(handle, job->handle) == 0;

    job->delete_attempts++;
    job->next_delete_ms = now_ms + (pause_ms < RETRY_LAST_MS ? pause_ms : RETRY_LAST_MS);
    bool is_late = job->next_delete_ms >= job->lease_end_ms ||
                   (w->is_stopping && job->next_delete_ms >= w->deadline_ms);
    if (!is_newest) {
        job->next_delete_ms = now_ms;
    } else if (code == NULL || (!flush->never_gives_up && (is_dead || is_late))) {
        jobs_remove(w, job);
    }
}

/* The code of the entry with that id, NULL when it was deleted. */
static const char *code_of(const json_t *answer, const char *id)
{
    size_t i;
    const json_t *failed;

    json_array_foreach(json_object_get(answer, "Failed"), i, failed)
    {
        const char *one = message_text(failed, "Id");
        const char *code = message_text(failed, "Code");
        if (one != NULL && strcmp(one, id) == 0) {
            return code != NULL ? code : "?";
        }
    }
    return NULL;
}

static json_t *entry_of(const struct flush *flush, const struct job *job, size_t number)
{
    char id[24];

    (void)snprintf(id, sizeof(id), "%zu", number);
    return json_pack("{s:s, s:s}", "Id", flush->id_is_message_id ? job->id : id, "ReceiptHandle",
                     job->handle);
}

void batch_flush(struct worker *w, struct hand *hand, const struct flush *flush)
{
    struct job *batch[FLUSH_MAX];
    size_t count = collect(w, flush, batch);
    json_t *entries = json_array();
    json_t *answer = NULL;
    struct quern_error err;

    for (size_t i = 0; i < count; i++) {
        json_array_append_new(entries, entry_of(flush, batch[i], i));
    }
    if (count > 0) {
        json_t *input =
            json_pack("{s:s, s:O}", "QueueUrl", w->settings.queue_url, "Entries", entries);
        (void)pthread_mutex_unlock(&w->lock);
        bool ok = quern_client_call(hand->sqs, "DeleteMessageBatch", input, &answer, &err);
        if (!ok) {
            w->rules.on_call_error(w, &err);
        }
        json_decref(input);
        (void)pthread_mutex_lock(&w->lock);
        for (size_t i = 0; i < count; i++) {
            const json_t *entry = json_array_get(entries, i);
            const char *code = ok ? code_of(answer, message_text(entry, "Id")) : "no answer";
            settle_entry(w, flush, batch[i], message_text(entry, "ReceiptHandle"),
                         flush->ignores_failed && ok ? NULL : code);
        }
    }
    json_decref(answer);
    json_decref(entries);
}

void batch_delete(struct worker *w, struct hand *hand)
{
    static const struct flush right = {.most = BATCH_MAX};

    batch_flush(w, hand, &right);
}

void *batch_loop(void *state)
{
    struct hand *hand = state;
    struct worker *w = hand->worker;

    (void)pthread_mutex_lock(&w->lock);
    while (w->settings.deletes_in_batches && !w->is_over) {
        w->rules.delete_batch(w, hand);
        (void)pthread_mutex_unlock(&w->lock);
        worker_nap(TICK_MS);
        (void)pthread_mutex_lock(&w->lock);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}
