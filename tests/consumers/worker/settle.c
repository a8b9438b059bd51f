/* What follows from the end of the work: a deletion, a record, or the message's return. */
#include <string.h>

#include "server/base/clock.h"
#include "tests/consumers/worker/worker.h"

enum { DELETE_PAUSE_MS = 200, DELETE_PAUSE_LAST_MS = 2000, RESEND_LAST_S = 30 };

bool settle_is_final(const struct quern_error *err)
{
    return err->http_status >= 400 && err->http_status < 500 && err->http_status != 403 &&
           err->http_status != 429 && strstr(err->code, "Throttl") == NULL;
}

void settle_forget(struct hand *hand, struct job *job)
{
    struct worker *w = hand->worker;

    (void)pthread_mutex_lock(&w->lock);
    jobs_stop_beat(w, job);
    jobs_remove(w, job);
    (void)pthread_mutex_unlock(&w->lock);
}

/* Until when it makes sense to try: then the message is on its way back, or the process ends. */
static bool is_too_late(struct worker *w, const struct job *job)
{
    int64_t now_ms = qn_clock_monotonic_ms();

    (void)pthread_mutex_lock(&w->lock);
    bool late = now_ms >= job->lease_end_ms || job->is_given_up ||
                (w->is_stopping && now_ms >= w->deadline_ms);
    (void)pthread_mutex_unlock(&w->lock);
    return late;
}

static char *handle_now(struct worker *w, const struct job *job)
{
    (void)pthread_mutex_lock(&w->lock);
    char *handle = qn_memory_copy_text(job->handle, strlen(job->handle));
    (void)pthread_mutex_unlock(&w->lock);
    return handle;
}

bool settle_delete(struct hand *hand, struct job *job)
{
    struct worker *w = hand->worker;
    struct quern_error err;
    int64_t pause_ms = DELETE_PAUSE_MS;

    for (;;) {
        char *handle = handle_now(w, job);
        bool ok = quern_delete_message(hand->sqs, w->settings.queue_url, handle, &err);
        (void)pthread_mutex_lock(&w->lock);
        bool is_newest = strcmp(handle, job->handle) == 0;
        (void)pthread_mutex_unlock(&w->lock);
        qn_memory_free(handle);
        if (ok && is_newest) {
            return true;
        }
        if (!ok) {
            w->rules.on_call_error(w, &err);
            if ((settle_is_final(&err) && is_newest) || is_too_late(w, job)) {
                return false;
            }
            worker_nap(pause_ms);
            pause_ms = 2 * pause_ms < DELETE_PAUSE_LAST_MS ? 2 * pause_ms : DELETE_PAUSE_LAST_MS;
            if (is_too_late(w, job)) {
                return false;
            }
        }
    }
}

void settle_acknowledge(struct hand *hand, struct job *job)
{
    struct worker *w = hand->worker;

    (void)pthread_mutex_lock(&w->lock);
    jobs_stop_beat(w, job);
    job->stage = STAGE_DELETING;
    if (w->settings.deletes_in_batches) {
        batch_give(w, job);
        (void)pthread_mutex_unlock(&w->lock);
        return;
    }
    (void)pthread_cond_broadcast(&w->changed); /* the next of its group may begin */
    (void)pthread_mutex_unlock(&w->lock);
    (void)settle_delete(hand, job);
    settle_forget(hand, job);
}

bool settle_make_visible(struct hand *hand, struct job *job, int64_t in_s)
{
    struct worker *w = hand->worker;
    char *handle = handle_now(w, job);
    struct quern_error err;
    bool ok = quern_change_visibility(hand->sqs, w->settings.queue_url, handle, in_s, &err);

    if (!ok) { /* then it comes back when its lease ends */
        w->rules.on_call_error(w, &err);
    }
    qn_memory_free(handle);
    return ok;
}

/* The rest of a group cannot be worked on before what failed is back: others may have it. */
void settle_release_group(struct hand *hand, const char *group)
{
    struct worker *w = hand->worker;
    struct job *job;

    do {
        (void)pthread_mutex_lock(&w->lock);
        for (job = w->jobs; job != NULL; job = job->next) {
            if (job->stage == STAGE_WAITING && job->group != NULL &&
                strcmp(job->group, group) == 0) {
                job->stage = STAGE_RUNNING; /* nobody else takes it */
                jobs_stop_beat(w, job);
                break;
            }
        }
        (void)pthread_mutex_unlock(&w->lock);
        if (job != NULL) {
            (void)settle_make_visible(hand, job, 0);
            settle_forget(hand, job);
        }
    } while (job != NULL);
}

/* A copy that comes later, with one attempt more on it; it is there before the message is deleted.
 */
bool settle_resend(struct hand *hand, struct job *job)
{
    struct worker *w = hand->worker;
    const char *tried = json_string_value(json_object_get(
        json_object_get(json_object_get(job->message, "MessageAttributes"), "attempt"),
        "StringValue"));
    int64_t attempt;
    char number[24];
    struct quern_error err;

    if (!qn_str_to_int64(qn_str_from_cstr(tried), 1, INT32_MAX, &attempt)) {
        attempt = 1;
    }
    (void)snprintf(number, sizeof(number), "%lld", (long long)attempt + 1);
    const struct quern_attribute counted = {
        .name = "attempt", .data_type = "Number", .text = number};
    struct quern_message copy = {.delay_s = attempt < RESEND_LAST_S ? attempt : RESEND_LAST_S,
                                 .attributes = &counted,
                                 .attribute_count = 1};
    copy.body = w->rules.text(hand, job, &copy.body_len);
    bool ok = quern_send_message(hand->sqs, w->settings.retry_url, &copy, NULL, &err);
    if (!ok) {
        w->rules.on_call_error(w, &err);
    }
    return ok;
}

/* It comes back, later at each failure, and never later than a whole lease. */
static int64_t back_in_s(const struct worker *w, const struct job *job)
{
    int64_t lease_s = w->visibility_ms / 1000;
    int64_t pause_s = job->receive_count <= 1 ? (lease_s + 1) / 2 : lease_s;

    return pause_s > 1 ? pause_s : 1;
}

void settle_failed(struct hand *hand, struct job *job)
{
    struct worker *w = hand->worker;
    char group[256] = "";

    (void)pthread_mutex_lock(&w->lock);
    jobs_stop_beat(w, job);
    bool is_ours = !job->is_lost && !job->is_given_up && job_is_live(job);
    if (job->group != NULL) {
        (void)snprintf(group, sizeof(group), "%s", job->group);
    }
    (void)pthread_mutex_unlock(&w->lock);
    if (is_ours) {
        (void)settle_make_visible(hand, job, back_in_s(w, job));
    }
    if (group[0] != '\0') { /* while it is still in hand, so that nothing overtakes it */
        settle_release_group(hand, group);
    }
    settle_forget(hand, job);
}

bool settle_record(struct hand *hand, struct job *job, const char *reason)
{
    size_t len;
    const char *text = hand->worker->rules.text(hand, job, &len);
    json_t *body = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
    const char *name = body_name(body);
    json_t *record =
        json_pack("{s:s, s:s}", "id", name[0] != '\0' ? name : job->id, "reason", reason);
    char *bytes = json_dumps(record, JSON_COMPACT);
    struct call call = {.method = "POST",
                        .path = "/v1/rejects",
                        .body = bytes,
                        .body_len = strlen(bytes),
                        .message_id = job->id,
                        .if_version_lower = -1};

    world_call(hand->world, &call);
    free(bytes);
    json_decref(record);
    json_decref(body);
    return call.ret_status == 200;
}

/* Kept somewhere safe, then deleted. */
void settle_reject(struct hand *hand, struct job *job, const char *reason)
{
    if (settle_record(hand, job, reason)) {
        hand->worker->rules.acknowledge(hand, job);
    } else {
        hand->worker->rules.failed(hand, job);
    }
}

void settle_outcome(struct hand *hand, struct job *job, enum outcome outcome)
{
    const struct rules *rules = &hand->worker->rules;
    bool is_poison = outcome == OUTCOME_REFUSED || outcome == OUTCOME_INVALID;

    (void)pthread_mutex_lock(&hand->worker->lock);
    bool is_given_up = job->is_given_up;
    (void)pthread_mutex_unlock(&hand->worker->lock);
    if (is_given_up) {
        settle_forget(hand, job); /* somebody else's by now */
    } else if (outcome == OUTCOME_DONE || outcome == OUTCOME_REPLAYED) {
        rules->acknowledge(hand, job);
    } else if (is_poison && !hand->worker->settings.leaves_poison) {
        rules->reject(hand, job,
                      outcome == OUTCOME_INVALID ? "not a message of version 1" : "refused");
    } else if (hand->worker->settings.retry_url != NULL) {
        rules->resend(hand, job);
    } else {
        rules->failed(hand, job);
    }
}

void settle_by_retry_queue(struct hand *hand, struct job *job)
{
    if (settle_resend(hand, job)) {
        hand->worker->rules.acknowledge(hand, job);
    } else {
        hand->worker->rules.failed(hand, job);
    }
}

enum outcome settle_before_work(struct hand *hand, struct job *job)
{
    (void)pthread_mutex_lock(&hand->worker->lock);
    jobs_stop_beat(hand->worker, job);
    (void)pthread_mutex_unlock(&hand->worker->lock);
    return settle_delete(hand, job) ? work_do(hand, job) : OUTCOME_RETRY;
}

void settle_nothing(struct hand *hand, struct job *job, enum outcome outcome)
{
    (void)outcome;
    settle_forget(hand, job);
}
