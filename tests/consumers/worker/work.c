/* The work of one message: read it, have its effect, say how it ended. */
#include <string.h>

#include "tests/consumers/worker/worker.h"

enum { EFFECT_KNOWN_VERSION = 1 };

struct job *work_pick(struct worker *w)
{
    for (struct job *job = w->is_stopping ? NULL : w->jobs; job != NULL; job = job->next) {
        if (jobs_may_begin(w, job)) {
            return job;
        }
    }
    return NULL;
}

const char *body_key(const json_t *body)
{
    const char *key = json_string_value(json_object_get(body, "idempotencyKey"));

    return key != NULL ? key : "";
}

const char *body_name(const json_t *body)
{
    const char *name = json_string_value(json_object_get(json_object_get(body, "payload"), "id"));

    return name != NULL ? name : "";
}

bool work_is_valid(const struct hand *hand, const json_t *body)
{
    (void)hand;
    return json_integer_value(json_object_get(body, "schemaVersion")) == EFFECT_KNOWN_VERSION &&
           body_key(body)[0] != '\0' && body_name(body)[0] != '\0';
}

const char *work_text(struct hand *hand, const struct job *job, size_t *ret_len)
{
    const json_t *body = json_object_get(job->message, "Body");

    (void)hand;
    *ret_len = json_string_length(body);
    return json_string_value(body);
}

void work_key(struct hand *hand, struct job *job, const json_t *body, struct qn_buf *key)
{
    (void)hand;
    (void)job;
    qn_buf_append_str(key, qn_str_from_cstr(body_key(body)));
}

static enum outcome outcome_of(const struct call *call)
{
    switch (call->ret_status) {
    case 200:
        return call->ret_is_replayed ? OUTCOME_REPLAYED : OUTCOME_DONE;
    case 422:
        return OUTCOME_REFUSED;
    case 0:
    case 504:
        return OUTCOME_UNKNOWN;
    default:
        return OUTCOME_RETRY;
    }
}

enum outcome work_post(struct hand *hand, struct job *job, const char *path, const char *key)
{
    struct call call = {.method = "POST",
                        .path = path,
                        .key = key,
                        .message_id = job->id,
                        .receive_count = job->receive_count,
                        .if_version_lower = -1};

    call.body = hand->worker->rules.text(hand, job, &call.body_len);
    world_call(hand->world, &call);
    return outcome_of(&call);
}

enum outcome work_effect(struct hand *hand, struct job *job, const json_t *body)
{
    const struct settings *settings = &hand->worker->settings;
    enum outcome outcome = OUTCOME_DONE;
    struct qn_buf key;
    struct qn_buf path;

    qn_buf_init(&key, SIZE_MAX / 2);
    qn_buf_init(&path, SIZE_MAX / 2);
    hand->worker->rules.key(hand, job, body, &key);
    qn_buf_append_char(&key, '\0');
    if (settings->step != NULL) {
        qn_buf_append_format(&path, "/v1/steps/%s", settings->step);
        qn_buf_append_char(&path, '\0');
        outcome = work_post(hand, job, path.ptr, key.ptr);
    }
    if (outcome == OUTCOME_DONE || outcome == OUTCOME_REPLAYED) {
        outcome = work_post(hand, job, "/v1/effects", key.ptr);
    }
    qn_buf_done(&path);
    qn_buf_done(&key);
    return outcome;
}

int work_put_state(struct hand *hand, const json_t *body, bool if_newer)
{
    const json_t *payload = json_object_get(body, "payload");
    const char *entity = json_string_value(json_object_get(payload, "entity"));
    struct qn_buf path;

    if (entity == NULL) {
        return 200;
    }
    char *text = json_dumps(payload, JSON_COMPACT);
    struct call call = {
        .method = "PUT", .body = text, .body_len = strlen(text), .if_version_lower = -1};
    if (if_newer) {
        call.if_version_lower = json_integer_value(json_object_get(payload, "version"));
    }
    qn_buf_init(&path, SIZE_MAX / 2);
    qn_buf_append_format(&path, "/v1/state/%s", entity);
    qn_buf_append_char(&path, '\0');
    call.path = path.ptr;
    world_call(hand->world, &call);
    qn_buf_done(&path);
    free(text);
    return call.ret_status;
}

/* A version that is not newer than what is there changes nothing, and that is as it should be. */
bool work_keep_state(struct hand *hand, const json_t *body)
{
    int status = work_put_state(hand, body, true);

    return status == 200 || status == 412;
}

/* Tells the next one, after the effect and before the deletion: so it happens at least once. */
bool work_publish(struct hand *hand, const json_t *body)
{
    const char *url = hand->worker->settings.output_url;
    bool is_fifo = qn_str_ends_with(qn_str_from_cstr(url), QN_STR(".fifo"));
    json_t *told = json_deep_copy(body);
    struct quern_error err;

    json_object_set_new(told, "messageType", json_string("quern.done"));
    json_object_set(told, "causationId", json_object_get(body, "messageId"));
    char *text = json_dumps(told, JSON_COMPACT);
    const struct quern_message message = {
        .body = text,
        .body_len = strlen(text),
        .delay_s = -1,
        .group_id = is_fifo ? body_key(body) : NULL,
        .deduplication_id = is_fifo ? body_key(body) : NULL,
    };
    bool ok = quern_send_message(hand->sqs, url, &message, NULL, &err);
    if (!ok) {
        hand->worker->rules.on_call_error(hand->worker, &err);
    }
    free(text);
    json_decref(told);
    return ok;
}

enum outcome work_do(struct hand *hand, struct job *job)
{
    const struct rules *rules = &hand->worker->rules;
    const struct settings *settings = &hand->worker->settings;
    size_t len;
    const char *text = rules->text(hand, job, &len);
    json_t *body = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
    enum outcome outcome = OUTCOME_INVALID;

    if (rules->is_valid(hand, body)) {
        outcome = rules->effect(hand, job, body);
        bool is_done = outcome == OUTCOME_DONE || outcome == OUTCOME_REPLAYED;
        if ((is_done && settings->keeps_state && !rules->keep_state(hand, body)) ||
            (is_done && settings->output_url != NULL && !rules->publish(hand, body))) {
            outcome = OUTCOME_RETRY;
        }
    }
    json_decref(body);
    return outcome;
}

void work_on_start(struct worker *w, struct hand *hand)
{
    (void)w; /* what was received before is the queue's business, not ours */
    (void)hand;
}

void work_one(struct hand *hand, struct job *job)
{
    const struct rules *rules = &hand->worker->rules;

    rules->settle(hand, job, rules->work(hand, job));
}

void *work_loop(void *state)
{
    struct hand *hand = state;
    struct worker *w = hand->worker;

    (void)pthread_mutex_lock(&w->lock);
    while (!w->is_over) {
        struct job *job = w->rules.pick(w);
        if (job == NULL) {
            (void)pthread_cond_wait(&w->changed, &w->lock);
            continue;
        }
        if (!w->rules.is_live(job)) {   /* it waited for too long, and is somebody else's by now */
            job->stage = STAGE_RUNNING; /* nobody else here takes it meanwhile */
            jobs_stop_beat(w, job);
            jobs_remove(w, job);
            continue;
        }
        job->stage = STAGE_RUNNING;
        (void)pthread_cond_broadcast(&w->changed); /* the receiver may have room again */
        (void)pthread_mutex_unlock(&w->lock);
        work_one(hand, job);
        (void)pthread_mutex_lock(&w->lock);
        (void)pthread_cond_broadcast(&w->changed);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}
