/* One HTTP exchange over libcurl: headers, signature, time limits, the whole answer in memory. */
#include <string.h>

#include "client/internal.h"

enum { ANSWER_MAX_BYTES = 256 * 1024 * 1024 };

static size_t take_answer(char *bytes, size_t size, size_t count, void *state)
{
    struct qn_buf *answer = state;

    qn_buf_append(answer, bytes, size * count);
    return answer->overflow ? 0 : size * count;
}

static void add_header(struct curl_slist **headers, const char *text)
{
    struct curl_slist *longer = curl_slist_append(*headers, text);

    if (longer != NULL) {
        *headers = longer;
    }
}

static void add_pair(struct curl_slist **headers, const char *name, const char *value)
{
    struct qn_buf line;

    qn_buf_init(&line, SIZE_MAX / 2);
    qn_buf_append_format(&line, "%s: %s", name, value);
    qn_buf_append_char(&line, '\0');
    add_header(headers, line.ptr);
    qn_buf_done(&line);
}

static struct curl_slist *make_headers(const struct quern_client *client,
                                       const struct quern_exchange *exchange)
{
    struct curl_slist *headers = NULL;

    add_header(&headers, "Expect:"); /* no pause before a large body */
    if (exchange->target != NULL) {
        add_header(&headers, "Content-Type: application/x-amz-json-1.0");
        add_pair(&headers, "X-Amz-Target", exchange->target);
        if (client->session_token != NULL && client->access_key != NULL) {
            add_pair(&headers, "X-Amz-Security-Token", client->session_token);
        }
    } else {
        add_header(&headers, "Content-Type: application/json");
    }
    return headers;
}

static void sign(struct quern_client *client)
{
    char scope[256];

    (void)snprintf(scope, sizeof(scope), "aws:amz:%s:sqs", client->region);
    curl_easy_setopt(client->curl, CURLOPT_AWS_SIGV4, scope);
    curl_easy_setopt(client->curl, CURLOPT_USERNAME, client->access_key);
    curl_easy_setopt(client->curl, CURLOPT_PASSWORD, client->secret_key);
}

static void set_options(struct quern_client *client, struct quern_exchange *exchange,
                        const char *url, struct curl_slist *headers, char *reason)
{
    CURL *curl = client->curl;

    curl_easy_reset(curl); /* keeps the connection */
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "quern-client/" QN_VERSION);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "127.0.0.1,localhost,::1");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)client->connect_timeout_ms);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)exchange->timeout_ms);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange->ret_answer);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
    if (strcmp(exchange->method, "POST") == 0) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)exchange->body.len);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS,
                         exchange->body.ptr != NULL ? exchange->body.ptr : "");
    } else if (strcmp(exchange->method, "GET") != 0) {
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, exchange->method);
    }
    if (exchange->target != NULL && client->access_key != NULL) {
        sign(client);
    }
}

bool quern_http_exchange(struct quern_client *client, struct quern_exchange *exchange,
                         struct quern_error *err)
{
    char reason[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers = make_headers(client, exchange);
    struct qn_buf url;

    qn_buf_init(&url, SIZE_MAX / 2);
    qn_buf_append_format(&url, "%s%s", client->endpoint, exchange->path);
    qn_buf_append_char(&url, '\0');
    qn_buf_init(&exchange->ret_answer, ANSWER_MAX_BYTES);
    set_options(client, exchange, url.ptr, headers, reason);

    CURLcode code = curl_easy_perform(client->curl);
    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &exchange->ret_status);
    curl_easy_reset(client->curl); /* it must not point into this frame */
    curl_slist_free_all(headers);
    qn_buf_done(&url);
    if (code == CURLE_OK) {
        return true;
    }
    return quern_fail(err, code == CURLE_OPERATION_TIMEDOUT ? "Timeout" : "ConnectionError", 0,
                      "%s: %s", client->endpoint,
                      reason[0] != '\0' ? reason : curl_easy_strerror(code));
}
