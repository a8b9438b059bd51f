/* Receiving: when, how many, and what becomes of an answer. */
#include <string.h>

#include "server/base/digest.h"
#include "tests/consumers/worker/worker.h"

static int64_t buffer_of(const struct worker *w)
{
    return w->settings.prefetch >= 0 ? w->settings.prefetch : w->settings.max_messages - 1;
}

bool receive_may_poll(const struct worker *w)
{
    return !w->is_stopping;
}

/* A worker must be free, and, unless messages are to be fetched ahead, nothing waiting that it
 * could begin: what waits here is worked on by nobody else. */
int64_t receive_room(struct worker *w)
{
    int64_t free_hands = w->settings.workers - jobs_count(w, STAGE_RUNNING);
    int64_t room = w->settings.workers + buffer_of(w) - jobs_held(w);

    if (w->settings.prefetch < 0) {
        for (const struct job *job = w->jobs; job != NULL; job = job->next) {
            free_hands = jobs_may_begin(w, job) ? 0 : free_hands;
        }
        room = free_hands > 0 ? room : 0;
    }
    return room < w->settings.max_messages ? room : w->settings.max_messages;
}

void receive_admit(struct worker *w, json_t *messages)
{
    size_t i;
    json_t *message;

    (void)pthread_mutex_lock(&w->lock);
    w->answers++;
    json_array_foreach(messages, i, message)
    {
        struct job *known = jobs_find(w, message_text(message, "MessageId"));
        if (known != NULL) {
            w->rules.again(w, known, message);
        } else {
            (void)jobs_add(w, message);
        }
    }
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
}

void receive_on_empty(struct worker *w)
{
    (void)w; /* the next long poll waits again */
}

bool receive_on_error(struct worker *w, const struct quern_error *err, int nth)
{
    worker_log("receive failed: %s %s", err->code, err->message);
    worker_sleep(w, worker_pause_ms(w, nth));
    return true;
}

void receive_on_call_error(struct worker *w, const struct quern_error *err)
{
    (void)w;
    worker_log("call failed: %s %s", err->code, err->message);
}

static bool is_as_sent(const json_t *message)
{
    const json_t *body = json_object_get(message, "Body");
    const char *told = message_text(message, "MD5OfBody");
    uint8_t digest[16];
    char sum[33];

    if (!json_is_string(body)) {
        return false;
    }
    qn_digest_md5(qn_str(json_string_value(body), json_string_length(body)), digest);
    qn_digest_hex(digest, sizeof(digest), sum);
    return told == NULL || strcmp(told, sum) == 0;
}

/* What was damaged on its way comes back by its lease. */
static void drop_damaged(json_t *messages)
{
    for (size_t i = json_array_size(messages); i > 0; i--) {
        const json_t *message = json_array_get(messages, i - 1);
        if (message_text(message, "MessageId") == NULL ||
            message_text(message, "ReceiptHandle") == NULL || !is_as_sent(message)) {
            (void)json_array_remove(messages, i - 1);
        }
    }
}

/* By the plain call: what comes is looked at here, as somebody would with any client, and what is
 * wrong on purpose may leave that out. */
static bool receive_some(struct worker *w, int64_t most, json_t **ret_messages,
                         struct quern_error *err)
{
    json_t *input = json_pack("{s:s, s:[s], s:[s], s:I}", "QueueUrl", w->settings.queue_url,
                              "MessageSystemAttributeNames", "All", "MessageAttributeNames", "All",
                              "MaxNumberOfMessages", (json_int_t)most);
    json_t *answer = NULL;

    if (w->settings.wait_s >= 0) {
        json_object_set_new(input, "WaitTimeSeconds", json_integer(w->settings.wait_s));
    }
    if (w->settings.receive_visibility_s >= 0) {
        json_object_set_new(input, "VisibilityTimeout",
                            json_integer(w->settings.receive_visibility_s));
    }
    bool ok = quern_client_call(w->poller, "ReceiveMessage", input, &answer, err);
    if (ok) {
        json_t *messages = json_object_get(answer, "Messages");
        *ret_messages = json_is_array(messages) ? json_incref(messages) : json_array();
    }
    json_decref(answer);
    json_decref(input);
    return ok;
}

void *receive_loop(void *worker)
{
    struct worker *w = worker;
    struct quern_error err;
    int failures = 0;

    (void)pthread_mutex_lock(&w->lock);
    while (w->rules.may_poll(w)) {
        int64_t most = w->rules.room(w);
        json_t *messages = NULL;
        if (most <= 0) {
            (void)pthread_cond_wait(&w->changed, &w->lock);
            continue;
        }
        (void)pthread_mutex_unlock(&w->lock);
        bool goes_on = true;
        if (receive_some(w, most, &messages, &err)) {
            failures = 0;
            drop_damaged(messages);
            if (json_array_size(messages) == 0) {
                w->rules.on_empty(w);
            } else {
                w->rules.admit(w, messages);
            }
            json_decref(messages);
        } else if (!worker_is_stopping(w)) {
            goes_on = w->rules.on_receive_error(w, &err, ++failures);
        }
        (void)pthread_mutex_lock(&w->lock);
        if (!goes_on) {
            break;
        }
    }
    w->is_polling = false;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}
