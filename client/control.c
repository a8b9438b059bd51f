/* Plain JSON over HTTP to the same endpoint: the control API of a Quern server. */
#include "client/internal.h"

enum { BODY_MAX_BYTES = 64 * 1024 * 1024 };

/* The body of an answer that is a success; the caller frees it either way. */
static bool ask(struct quern_client *client, struct quern_exchange *exchange,
                struct quern_error *err)
{
    bool ok = quern_http_exchange(client, exchange, err);

    if (ok && exchange->ret_status / 100 != 2) {
        quern_json_read_error(qn_buf_str(&exchange->ret_answer), exchange->ret_status, err);
        ok = false;
    }
    if (!ok) {
        err->attempts = 1;
        err->is_retryable = quern_retry_is_useful(err);
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
    bool ok = ask(client, &exchange, err);
    json_t *answer = ok ? quern_json_read(qn_buf_str(&exchange.ret_answer)) : NULL;
    if (ok && answer == NULL) {
        ok = quern_fail(err, "UnreadableAnswer", (int)exchange.ret_status,
                        "the answer is not JSON (%zu bytes)", exchange.ret_answer.len);
        err->attempts = 1;
    }
    if (ok && ret_answer != NULL) {
        *ret_answer = json_incref(answer);
    }
    json_decref(answer);
    qn_buf_done(&exchange.ret_answer);
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
    bool ok = ask(client, &exchange, err);

    if (ok) {
        *ret_text = qn_buf_take(&exchange.ret_answer, &len);
        if (ret_len != NULL) {
            *ret_len = len;
        }
    }
    qn_buf_done(&exchange.ret_answer);
    return ok;
}
