/* The client itself: where its settings come from, and one call with its attempts. */
#include "client/quern.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "client/calls.h"
#include "client/internal.h"

enum {
    DEFAULT_CONNECT_TIMEOUT_MS = 3100,
    DEFAULT_TIMEOUT_MS = 30000,
    DEFAULT_RETRY_BASE_MS = 1000,
    BODY_MAX_BYTES = 64 * 1024 * 1024
};

/* ---- its life ---- */

/* Until the pause is over or the call is cancelled. */
static bool pause_on_clock(struct quern_client *client, bool is_receive, int64_t pause_ms)
{
    struct timespec end;
    bool goes_on;

    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    int64_t ns = end.tv_nsec + pause_ms % 1000 * 1000000;
    end.tv_sec += (time_t)(pause_ms / 1000 + ns / 1000000000);
    end.tv_nsec = (long)(ns % 1000000000);
    (void)pthread_mutex_lock(&client->lock);
    do {
        goes_on = !client->is_cancelled && !(is_receive && client->are_receives_cancelled);
    } while (goes_on &&
             pthread_cond_timedwait(&client->cancelled, &client->lock, &end) != ETIMEDOUT);
    (void)pthread_mutex_unlock(&client->lock);
    return goes_on;
}

static void init_lock(struct quern_client *client)
{
    pthread_condattr_t attributes;

    (void)pthread_mutex_init(&client->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&client->cancelled, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

bool quern_client_new(const struct quern_options *options, struct quern_client **ret_client,
                      struct quern_error *err)
{
    static const struct quern_options none = {0};
    const struct quern_options *o = options != NULL ? options : &none;
    struct quern_settings settings;

    if (!quern_settings_read(o, &settings, err)) {
        return false;
    }
    CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) {
        quern_settings_done(&settings);
        return quern_fail(err, "ConnectionError", 0, "libcurl does not start: %s",
                          curl_easy_strerror(code));
    }
    struct quern_client *client = qn_memory_new(sizeof(*client));
    init_lock(client);
    client->settings = settings;
    client->connect_timeout_ms =
        o->connect_timeout_ms > 0 ? o->connect_timeout_ms : DEFAULT_CONNECT_TIMEOUT_MS;
    client->timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : DEFAULT_TIMEOUT_MS;
    client->retry_base_ms = o->retry_base_ms > 0 ? o->retry_base_ms : DEFAULT_RETRY_BASE_MS;
    client->pause = pause_on_clock;
    client->are_invocations_told = true;
    qn_random_init(&client->random, o->seed != 0 ? o->seed : qn_random_fresh_seed(), 0, 0);
    qn_random_init(&client->ids, qn_random_fresh_seed(), 0, 0);
    quern_quota_init(&client->quota);
    LIST_INIT(&client->idle);
    LIST_INIT(&client->busy);
    *ret_client = client;
    return true;
}

void quern_client_free(struct quern_client *client)
{
    if (client == NULL) {
        return;
    }
    quern_pool_done(client);
    (void)pthread_cond_destroy(&client->cancelled);
    (void)pthread_mutex_destroy(&client->lock);
    quern_settings_done(&client->settings);
    qn_memory_free(client);
    curl_global_cleanup();
}

const char *quern_client_endpoint(const struct quern_client *client)
{
    return client->settings.endpoint;
}

/* ---- one call ---- */

/* What is to be made of the answer of one call. */
struct reading {
    json_t **ret_json;             /* as it is; or NULL */
    const struct quern_call *call; /* into a result; or NULL */
    void *output;                  /* of the result */
};

static bool read_answer(struct reading *reading, const json_t *answer, struct quern_error *err)
{
    const struct quern_call *call = reading->call;

    if (call == NULL || call->output_shape == NULL) {
        return true;
    }
    void *output = quern_answer_new(call->output_shape->size);
    struct qn_arena *arena = quern_answer_arena(output);
    if (!quern_codec_read(call->output_shape, answer, output, arena, err) ||
        (call->check != NULL && !call->check(output, call->context, arena, err))) {
        quern_answer_free(output);
        return false;
    }
    reading->output = output;
    return true;
}

/* An error page, of a proxy or of a server that does not know the action. */
static void name_call(const struct quern_client *client, const struct quern_exchange *exchange,
                      struct quern_error *err)
{
    if (strcmp(err->code, "UnreadableAnswer") == 0) {
        (void)snprintf(err->message, sizeof(err->message),
                       "%s answered %s with HTTP status %ld and no error of SQS",
                       client->settings.endpoint, strchr(exchange->target, '.') + 1,
                       exchange->ret_status);
    }
}

/* What an answer that came is worth. */
static bool judge(const struct quern_client *client, struct quern_exchange *exchange,
                  struct reading *reading, struct quern_error *err)
{
    struct qn_str answer = qn_buf_str(&exchange->ret_answer);

    if (exchange->ret_status / 100 != 2) {
        quern_json_read_error(answer, exchange->ret_status, err);
        name_call(client, exchange, err);
        err->is_unknown = exchange->ret_status >= 500;
        return false;
    }
    json_t *output = quern_json_read(answer);
    bool ok = output != NULL ? read_answer(reading, output, err)
                             : quern_fail(err, "UnreadableAnswer", (int)exchange->ret_status,
                                          "the answer is not JSON (%zu bytes)", answer.len);
    if (!ok) {
        err->is_unknown = true; /* it was a success, of something */
    } else if (reading->ret_json != NULL) {
        *reading->ret_json = json_incref(output);
    }
    json_decref(output);
    return ok;
}

/* One attempt, answered with success and well-formed JSON, or an error. */
static bool attempt(struct quern_client *client, struct quern_exchange *exchange,
                    struct reading *reading, struct quern_error *err)
{
    bool ok = quern_http_exchange(client, exchange, err) && judge(client, exchange, reading, err);

    qn_buf_done(&exchange->ret_answer);
    if (!ok) {
        (void)snprintf(err->request_id, sizeof(err->request_id), "%s", exchange->ret_request_id);
    }
    return ok;
}

/* A long poll ends later by the length of its wait. */
static int64_t time_limit_ms(const struct quern_client *client, const char *action,
                             const json_t *input)
{
    if (strcmp(action, "ReceiveMessage") != 0) {
        return client->timeout_ms;
    }
    json_int_t wait_s = 20; /* the longest that a queue's own wait can be */
    const json_t *asked = json_object_get(input, "WaitTimeSeconds");
    if (json_is_integer(asked) && json_integer_value(asked) >= 0 &&
        json_integer_value(asked) < 20) {
        wait_s = json_integer_value(asked);
    }
    return client->timeout_ms + wait_s * 1000;
}

/* What one attempt that failed cost, and whether there is to be another. */
static bool may_repeat(struct quern_client *client, const struct quern_exchange *exchange,
                       const struct quern_error *err, int64_t *ret_cost)
{
    if (err->attempts >= client->settings.max_attempts || !err->is_retryable) {
        return false;
    }
    *ret_cost = quern_quota_cost(err);
    (void)pthread_mutex_lock(&client->lock);
    bool may = quern_quota_take(&client->quota, *ret_cost);
    int64_t pause_ms = quern_retry_delay_ms(&client->random, client->retry_base_ms, err->attempts);
    (void)pthread_mutex_unlock(&client->lock);
    return may && client->pause(client, exchange->is_receive, pause_ms);
}

/* As often as it may be tried. */
static bool exchange_until_answered(struct quern_client *client, struct quern_exchange *exchange,
                                    struct reading *reading, struct quern_error *err)
{
    int64_t cost = QUERN_QUOTA_CALL;
    bool is_unknown = false;
    int attempts = 0;

    do {
        exchange->attempt = attempts + 1;
        if (attempt(client, exchange, reading, err)) {
            (void)pthread_mutex_lock(&client->lock);
            quern_quota_give(&client->quota, cost);
            (void)pthread_mutex_unlock(&client->lock);
            return true;
        }
        is_unknown = is_unknown || err->is_unknown;
        err->is_unknown = is_unknown;
        err->is_retryable = quern_retry_is_useful(err);
        err->attempts = ++attempts;
    } while (may_repeat(client, exchange, err, &cost));
    return false;
}

/* One call of the program is one invocation, however often it is tried. */
static void begin_invocation(struct quern_client *client, struct quern_exchange *exchange)
{
    uint8_t id[16];

    if (client->are_invocations_told) {
        (void)pthread_mutex_lock(&client->lock);
        qn_random_uuid(&client->ids, id);
        (void)pthread_mutex_unlock(&client->lock);
        qn_random_format_uuid(id, exchange->invocation);
    }
}

static bool make_call(struct quern_client *client, const char *action, const json_t *input,
                      struct reading *reading, struct quern_error *err)
{
    char target[128];
    struct qn_buf body;

    (void)snprintf(target, sizeof(target), "AmazonSQS.%s", action);
    qn_buf_init(&body, BODY_MAX_BYTES);
    quern_json_write(input, &body);
    struct quern_exchange exchange = {
        .method = "POST",
        .path = "/",
        .target = target,
        .body = qn_buf_str(&body),
        .timeout_ms = time_limit_ms(client, action, input),
        .is_receive = strcmp(action, "ReceiveMessage") == 0,
    };
    begin_invocation(client, &exchange);
    bool ok = exchange_until_answered(client, &exchange, reading, err);
    qn_buf_done(&body);
    return ok;
}

bool quern_client_call(struct quern_client *client, const char *action, const json_t *input,
                       json_t **ret_output, struct quern_error *err)
{
    struct reading reading = {.ret_json = ret_output};

    return make_call(client, action, input, &reading, err);
}

bool quern_call_make(struct quern_client *client, const struct quern_call *call, void **ret_output,
                     struct quern_error *err)
{
    struct reading reading = {.call = call};
    json_t *input = quern_codec_write(call->input_shape, call->input, err);

    if (input == NULL) {
        return false;
    }
    bool ok = make_call(client, call->action, input, &reading, err);
    json_decref(input);
    if (ok && ret_output != NULL) {
        *ret_output = reading.output;
    } else {
        quern_answer_free(reading.output);
    }
    return ok;
}
