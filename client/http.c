/* One HTTP exchange over libcurl: headers, signature, time limits, the whole answer in memory. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/internal.h"

enum { ANSWER_MAX_BYTES = 256 * 1024 * 1024 };

/* What is known of one request on its way. */
struct passage {
    struct quern_client *client;
    struct quern_connection *connection;
    struct quern_exchange *exchange;
    bool is_sent;
};

static void note_answer(struct passage *passage)
{
    (void)pthread_mutex_lock(&passage->client->lock);
    passage->connection->has_answer = true;
    (void)pthread_mutex_unlock(&passage->client->lock);
}

static void note_header(struct passage *passage, struct qn_str line)
{
    char *id = passage->exchange->ret_request_id;
    struct qn_str rest;
    struct qn_str name = qn_str_cut(line, ':', &rest);

    if (qn_str_equal_nocase(name, QN_STR("x-amzn-requestid"))) {
        while (rest.len > 0 && (rest.ptr[rest.len - 1] == '\n' || rest.ptr[rest.len - 1] == '\r')) {
            rest.len--;
        }
        (void)snprintf(id, QUERN_REQUEST_ID_MAX, "%.*s", QN_STR_ARG(qn_str_trim(rest)));
    }
}

/* libcurl tells what it does; of interest is that the request itself has left, that an answer has
 * begun, and what its head says. */
static int note_passage(CURL *curl, curl_infotype type, char *data, size_t size, void *state)
{
    struct passage *passage = state;

    (void)curl;
    if (type == CURLINFO_HEADER_OUT &&
        !qn_str_starts_with(qn_str(data, size), QN_STR("CONNECT "))) {
        passage->is_sent = true;
    }
    if (type == CURLINFO_HEADER_IN) {
        note_answer(passage);
        note_header(passage, qn_str(data, size));
    }
    return 0;
}

/* When a connection ends before an answer, libcurl would send the same once more on a new one, and
 * nobody would know: whether to repeat is for the caller to say. */
static curl_socket_t open_socket(void *state, curlsocktype purpose, struct curl_sockaddr *address)
{
    const struct passage *passage = state;
    struct quern_client *client = passage->client;
    int made = CURL_SOCKET_BAD;

    (void)purpose;
    if (!passage->is_sent && !quern_client_is_cancelled(client, passage->exchange->is_receive)) {
        made = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
        (void)pthread_mutex_lock(&client->lock);
        passage->connection->socket = made;
        (void)pthread_mutex_unlock(&client->lock);
    }
    return made;
}

/* The number of a closed socket may soon be somebody else's. */
static int close_socket(void *state, curl_socket_t closed)
{
    struct quern_connection *connection = state;
    struct quern_client *client = connection->client;

    (void)pthread_mutex_lock(&client->lock);
    if (connection->socket == closed) {
        connection->socket = -1;
    }
    int result = close(closed);
    (void)pthread_mutex_unlock(&client->lock);
    return result;
}

static int look_for_cancel(void *state, curl_off_t download_total, curl_off_t downloaded,
                           curl_off_t upload_total, curl_off_t uploaded)
{
    const struct passage *passage = state;

    (void)download_total;
    (void)downloaded;
    (void)upload_total;
    (void)uploaded;
    /* Only this thread writes has_answer. */
    return !passage->connection->has_answer &&
           quern_client_is_cancelled(passage->client, passage->exchange->is_receive);
}

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

/* By which a server, and who reads its log, tells another attempt from another call.
 * Source: AWS SDKs and Tools Reference Guide, "Retry behavior": the SDKs send both. */
static void add_invocation(struct curl_slist **headers, const struct quern_client *client,
                           const struct quern_exchange *exchange)
{
    char text[64];

    if (exchange->invocation[0] != '\0') {
        (void)snprintf(text, sizeof(text), "attempt=%d; max=%d", exchange->attempt,
                       client->settings.max_attempts);
        add_pair(headers, "amz-sdk-invocation-id", exchange->invocation);
        add_pair(headers, "amz-sdk-request", text);
    }
}

static struct curl_slist *make_headers(const struct quern_client *client,
                                       const struct quern_exchange *exchange)
{
    struct curl_slist *headers = NULL;

    if (exchange->target != NULL) {
        add_header(&headers, "Content-Type: application/x-amz-json-1.0");
        add_pair(&headers, "X-Amz-Target", exchange->target);
        if (client->settings.session_token != NULL && client->settings.access_key != NULL) {
            add_pair(&headers, "X-Amz-Security-Token", client->settings.session_token);
        }
        add_invocation(&headers, client, exchange);
        for (size_t i = 0; i < client->header_count; i++) {
            add_header(&headers, client->headers[i]);
        }
    } else {
        add_pair(&headers, "Content-Type",
                 exchange->type != NULL ? exchange->type : "application/json");
    }
    return headers;
}

static void sign(CURL *curl, const struct quern_settings *settings)
{
    char scope[256];

    (void)snprintf(scope, sizeof(scope), "aws:amz:%s:sqs", settings->region);
    curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, scope);
    curl_easy_setopt(curl, CURLOPT_USERNAME, settings->access_key);
    curl_easy_setopt(curl, CURLOPT_PASSWORD, settings->secret_key);
}

static void set_passage(CURL *curl, struct passage *passage)
{
    curl_easy_setopt(curl, CURLOPT_VERBOSE, 1L);
    curl_easy_setopt(curl, CURLOPT_DEBUGFUNCTION, note_passage);
    curl_easy_setopt(curl, CURLOPT_DEBUGDATA, passage);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, passage);
    curl_easy_setopt(curl, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(curl, CURLOPT_CLOSESOCKETDATA, passage->connection);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_for_cancel);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, passage);
}

static void set_options(const struct passage *passage, const char *url, struct curl_slist *headers,
                        char *reason)
{
    CURL *curl = passage->connection->curl;
    const struct quern_client *client = passage->client;
    struct quern_exchange *exchange = passage->exchange;

    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "quern-client/" QN_VERSION);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    if (client->settings.ca_bundle != NULL) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, client->settings.ca_bundle);
    }
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "127.0.0.1,localhost,::1");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)client->connect_timeout_ms);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)exchange->timeout_ms);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange->ret_answer);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
    /* No pause before a large body. "Expect:" among the headers would leave it out altogether, but
     * is signed although it is not sent (libcurl 7.88), and AWS refuses the signature. */
    curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
    if (strcmp(exchange->method, "POST") == 0) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)exchange->body.len);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS,
                         exchange->body.ptr != NULL ? exchange->body.ptr : "");
    } else if (strcmp(exchange->method, "GET") != 0) {
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, exchange->method);
    }
    if (exchange->target != NULL && client->settings.access_key != NULL) {
        sign(curl, &client->settings);
    }
}

static CURLcode perform(struct passage *passage, char *reason)
{
    CURL *curl = passage->connection->curl;
    struct curl_slist *headers = make_headers(passage->client, passage->exchange);
    struct qn_buf url;

    qn_buf_init(&url, SIZE_MAX / 2);
    qn_buf_append_format(&url, "%s%s", passage->client->settings.endpoint, passage->exchange->path);
    qn_buf_append_char(&url, '\0');
    curl_easy_reset(curl); /* keeps the connection */
    set_passage(curl, passage);
    set_options(passage, url.ptr, headers, reason);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &passage->exchange->ret_status);
    curl_easy_reset(curl); /* it must not point into this frame */
    curl_slist_free_all(headers);
    qn_buf_done(&url);
    return code;
}

static bool fail(const struct passage *passage, CURLcode code, const char *reason,
                 struct quern_error *err)
{
    const char *endpoint = passage->client->settings.endpoint;
    bool is_cancelled = !passage->connection->has_answer &&
                        quern_client_is_cancelled(passage->client, passage->exchange->is_receive);

    if (is_cancelled) {
        (void)quern_fail(err, "Cancelled", 0, "%s: the call was cancelled", endpoint);
    } else if (code == CURLE_COULDNT_CONNECT && passage->is_sent) {
        (void)quern_fail(err, "ConnectionError", 0, "%s: the connection ended without an answer",
                         endpoint);
    } else {
        (void)quern_fail(err, code == CURLE_OPERATION_TIMEDOUT ? "Timeout" : "ConnectionError", 0,
                         "%s: %s", endpoint, reason[0] != '\0' ? reason : curl_easy_strerror(code));
    }
    err->is_unknown = passage->is_sent;
    return false;
}

bool quern_http_exchange(struct quern_client *client, struct quern_exchange *exchange,
                         struct quern_error *err)
{
    char reason[CURL_ERROR_SIZE] = "";
    struct passage passage = {.client = client, .exchange = exchange};

    qn_buf_init(&exchange->ret_answer, ANSWER_MAX_BYTES);
    exchange->ret_request_id[0] = '\0';
    passage.connection = quern_pool_take(client, exchange->is_receive);
    if (passage.connection == NULL) {
        return quern_fail(err, "ConnectionError", 0, "libcurl has no handle for a connection");
    }
    CURLcode code = quern_client_is_cancelled(client, exchange->is_receive)
                        ? CURLE_ABORTED_BY_CALLBACK
                        : perform(&passage, reason);
    bool ok = code == CURLE_OK || fail(&passage, code, reason, err);
    quern_pool_give(client, passage.connection);
    return ok;
}
