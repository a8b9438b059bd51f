/* The client itself: where its settings come from, and one call with its attempts. */
#include "client/quern.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "client/calls.h"
#include "client/internal.h"

enum {
    DEFAULT_CONNECT_TIMEOUT_MS = 3100,
    DEFAULT_TIMEOUT_MS = 30000,
    DEFAULT_ATTEMPTS = 3,
    DEFAULT_RETRY_BASE_MS = 1000,
    BODY_MAX_BYTES = 64 * 1024 * 1024
};

static char *copy(const char *text)
{
    return text != NULL && text[0] != '\0' ? qn_memory_copy_text(text, strlen(text)) : NULL;
}

/* The option, else the first variable that is set, else NULL. */
static char *setting(const char *option, const char *variable, const char *second_variable)
{
    if (option == NULL) {
        option = getenv(variable);
    }
    if ((option == NULL || option[0] == '\0') && second_variable != NULL) {
        option = getenv(second_variable);
    }
    return copy(option);
}

static void choose_endpoint(struct quern_client *client, const char *option)
{
    char own[256];

    client->endpoint = setting(option, "AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL");
    if (client->endpoint == NULL) {
        (void)snprintf(own, sizeof(own), "https://sqs.%s.amazonaws.com", client->region);
        client->endpoint = copy(own);
    }
    for (size_t len = strlen(client->endpoint); len > 0 && client->endpoint[len - 1] == '/';
         len--) {
        client->endpoint[len - 1] = '\0';
    }
}

bool quern_client_new(const struct quern_options *options, struct quern_client **ret_client,
                      struct quern_error *err)
{
    static const struct quern_options none = {0};
    const struct quern_options *o = options != NULL ? options : &none;

    CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) {
        return quern_fail(err, "ConnectionError", 0, "libcurl does not start: %s",
                          curl_easy_strerror(code));
    }
    struct quern_client *client = qn_memory_new(sizeof(*client));
    (void)pthread_mutex_init(&client->lock, NULL);
    client->socket = -1;
    client->curl = curl_easy_init();
    if (client->curl == NULL) {
        quern_client_free(client);
        return quern_fail(err, "ConnectionError", 0, "libcurl does not start");
    }
    client->region = setting(o->region, "AWS_REGION", "AWS_DEFAULT_REGION");
    if (client->region == NULL) {
        client->region = copy("us-east-1");
    }
    client->access_key = setting(o->access_key, "AWS_ACCESS_KEY_ID", NULL);
    client->secret_key = setting(o->secret_key, "AWS_SECRET_ACCESS_KEY", NULL);
    client->session_token = setting(o->session_token, "AWS_SESSION_TOKEN", NULL);
    choose_endpoint(client, o->endpoint);
    client->connect_timeout_ms =
        o->connect_timeout_ms > 0 ? o->connect_timeout_ms : DEFAULT_CONNECT_TIMEOUT_MS;
    client->timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : DEFAULT_TIMEOUT_MS;
    client->max_attempts = o->max_attempts > 0 ? o->max_attempts : DEFAULT_ATTEMPTS;
    client->retry_base_ms = o->retry_base_ms > 0 ? o->retry_base_ms : DEFAULT_RETRY_BASE_MS;
    qn_random_init(&client->random, o->seed != 0 ? o->seed : qn_random_fresh_seed(), 0, 0);
    *ret_client = client;
    return true;
}

void quern_client_free(struct quern_client *client)
{
    if (client == NULL) {
        return;
    }
    curl_easy_cleanup(client->curl);
    (void)pthread_mutex_destroy(&client->lock);
    qn_memory_free(client->endpoint);
    qn_memory_free(client->region);
    qn_memory_free(client->access_key);
    qn_memory_free(client->secret_key);
    qn_memory_free(client->session_token);
    qn_memory_free(client);
    curl_global_cleanup();
}

const char *quern_client_endpoint(const struct quern_client *client)
{
    return client->endpoint;
}

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

/* One attempt, answered with success and well-formed JSON, or an error. */
static bool attempt(struct quern_client *client, struct quern_exchange *exchange,
                    struct reading *reading, struct quern_error *err)
{
    bool ok = false;

    if (!quern_http_exchange(client, exchange, err)) {
        goto out;
    }
    struct qn_str answer = qn_buf_str(&exchange->ret_answer);
    if (exchange->ret_status / 100 != 2) {
        quern_json_read_error(answer, exchange->ret_status, err);
        goto out;
    }
    json_t *output = quern_json_read(answer);
    if (output == NULL) {
        (void)quern_fail(err, "UnreadableAnswer", (int)exchange->ret_status,
                         "the answer is not JSON (%zu bytes)", answer.len);
        goto out;
    }
    ok = read_answer(reading, output, err);
    if (ok && reading->ret_json != NULL) {
        *reading->ret_json = json_incref(output);
    }
    json_decref(output);

out:
    qn_buf_done(&exchange->ret_answer);
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

static bool make_call(struct quern_client *client, const char *action, const json_t *input,
                      struct reading *reading, struct quern_error *err)
{
    char target[128];
    struct qn_buf body;
    bool ok = false;

    (void)snprintf(target, sizeof(target), "AmazonSQS.%s", action);
    qn_buf_init(&body, BODY_MAX_BYTES);
    quern_json_write(input, &body);
    for (int n = 1; !ok && n <= client->max_attempts; n++) {
        struct quern_exchange exchange = {
            .method = "POST",
            .path = "/",
            .target = target,
            .body = qn_buf_str(&body),
            .timeout_ms = time_limit_ms(client, action, input),
        };
        ok = attempt(client, &exchange, reading, err);
        if (!ok) {
            err->attempts = n;
            err->is_retryable = quern_retry_is_useful(err);
            if (n == client->max_attempts || !err->is_retryable ||
                quern_client_is_cancelled(client)) {
                break;
            }
            (void)poll(NULL, 0,
                       (int)quern_retry_delay_ms(&client->random, client->retry_base_ms, n));
        }
    }
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

static bool plain(struct quern_client *client, const char *method, const char *path,
                  const json_t *body, json_t **ret_answer, struct quern_error *err)
{
    struct qn_buf bytes;

    qn_buf_init(&bytes, BODY_MAX_BYTES);
    if (body != NULL) {
        quern_json_write(body, &bytes);
    }
    struct quern_exchange exchange = {
        .method = method,
        .path = path,
        .body = qn_buf_str(&bytes),
        .timeout_ms = client->timeout_ms,
    };
    struct reading reading = {.ret_json = ret_answer};
    bool ok = attempt(client, &exchange, &reading, err);
    if (!ok) {
        err->attempts = 1;
    }
    qn_buf_done(&bytes);
    return ok;
}

bool quern_http_get(struct quern_client *client, const char *path, json_t **ret_answer,
                    struct quern_error *err)
{
    return plain(client, "GET", path, NULL, ret_answer, err);
}

bool quern_http_post(struct quern_client *client, const char *path, const json_t *body,
                     json_t **ret_answer, struct quern_error *err)
{
    return plain(client, "POST", path, body, ret_answer, err);
}

bool quern_http_delete(struct quern_client *client, const char *path, json_t **ret_answer,
                       struct quern_error *err)
{
    return plain(client, "DELETE", path, NULL, ret_answer, err);
}

bool quern_http_get_text(struct quern_client *client, const char *path, char **ret_text,
                         size_t *ret_len, struct quern_error *err)
{
    struct quern_exchange exchange = {
        .method = "GET",
        .path = path,
        .timeout_ms = client->timeout_ms,
    };
    size_t len = 0;
    bool ok = quern_http_exchange(client, &exchange, err);

    if (ok && exchange.ret_status / 100 != 2) {
        quern_json_read_error(qn_buf_str(&exchange.ret_answer), exchange.ret_status, err);
        ok = false;
    }
    if (ok) {
        *ret_text = qn_buf_take(&exchange.ret_answer, &len);
        if (ret_len != NULL) {
            *ret_len = len;
        }
    } else {
        err->attempts = 1;
    }
    qn_buf_done(&exchange.ret_answer);
    return ok;
}
