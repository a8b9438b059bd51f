/* One HTTP exchange over libcurl: headers, signature, time limits, the whole answer in memory. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/internal.h"

enum { ANSWER_MAX_BYTES = 256 * 1024 * 1024 };

/* What libcurl may do while one request is on its way. */
struct passage {
    struct quern_client *client;
    bool is_sent;
};

static void note_answer(struct quern_client *client, bool has_answer)
{
    pthread_mutex_lock(&client->lock);
    client->has_answer = has_answer;
    pthread_mutex_unlock(&client->lock);
}

/* libcurl tells what it does; of interest is that the request itself has left, and that an answer
 * has begun. */
static int note_sent(CURL *curl, curl_infotype type, char *data, size_t size, void *state)
{
    struct passage *passage = state;

    (void)curl;
    if (type == CURLINFO_HEADER_OUT &&
        !qn_str_starts_with(qn_str(data, size), QN_STR("CONNECT "))) {
        passage->is_sent = true;
    }
    if (type == CURLINFO_HEADER_IN) {
        note_answer(passage->client, true);
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
    pthread_mutex_lock(&client->lock);
    if (!passage->is_sent && !client->is_cancelled) {
        made = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
        client->socket = made;
    }
    pthread_mutex_unlock(&client->lock);
    return made;
}

/* The number of a closed socket may soon be somebody else's. */
static int close_socket(void *state, curl_socket_t closed)
{
    struct quern_client *client = state;

    pthread_mutex_lock(&client->lock);
    if (client->socket == closed) {
        client->socket = -1;
    }
    int result = close(closed);
    pthread_mutex_unlock(&client->lock);
    return result;
}

static int look_for_cancel(void *state, curl_off_t download_total, curl_off_t downloaded,
                           curl_off_t upload_total, curl_off_t uploaded)
{
    struct quern_client *client = ((const struct passage *)state)->client;

    (void)download_total;
    (void)downloaded;
    (void)upload_total;
    (void)uploaded;
    pthread_mutex_lock(&client->lock);
    bool ends = client->is_cancelled && !client->has_answer;
    pthread_mutex_unlock(&client->lock);
    return ends;
}

bool quern_client_is_cancelled(struct quern_client *client)
{
    pthread_mutex_lock(&client->lock);
    bool is_cancelled = client->is_cancelled;
    pthread_mutex_unlock(&client->lock);
    return is_cancelled;
}

void quern_client_cancel(struct quern_client *client)
{
    pthread_mutex_lock(&client->lock);
    client->is_cancelled = true;
    if (client->socket != -1 && !client->has_answer) {
        (void)shutdown(client->socket, SHUT_RDWR); /* wakes who waits for it */
    }
    pthread_mutex_unlock(&client->lock);
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
        for (size_t i = 0; i < client->header_count; i++) {
            add_header(&headers, client->headers[i]);
        }
    } else {
        add_pair(&headers, "Content-Type",
                 exchange->type != NULL ? exchange->type : "application/json");
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

static void set_passage(CURL *curl, struct passage *passage)
{
    curl_easy_setopt(curl, CURLOPT_VERBOSE, 1L);
    curl_easy_setopt(curl, CURLOPT_DEBUGFUNCTION, note_sent);
    curl_easy_setopt(curl, CURLOPT_DEBUGDATA, passage);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, passage);
    curl_easy_setopt(curl, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(curl, CURLOPT_CLOSESOCKETDATA, passage->client);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_for_cancel);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, passage);
}

static void set_options(struct quern_client *client, struct quern_exchange *exchange,
                        const char *url, struct curl_slist *headers, char *reason)
{
    CURL *curl = client->curl;

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
    struct passage passage = {.client = client};
    struct qn_buf url;

    note_answer(client, false);
    qn_buf_init(&url, SIZE_MAX / 2);
    qn_buf_append_format(&url, "%s%s", client->endpoint, exchange->path);
    qn_buf_append_char(&url, '\0');
    qn_buf_init(&exchange->ret_answer, ANSWER_MAX_BYTES);
    curl_easy_reset(client->curl); /* keeps the connection */
    set_passage(client->curl, &passage);
    set_options(client, exchange, url.ptr, headers, reason);

    CURLcode code = quern_client_is_cancelled(client) ? CURLE_ABORTED_BY_CALLBACK
                                                      : curl_easy_perform(client->curl);
    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &exchange->ret_status);
    curl_easy_reset(client->curl); /* it must not point into this frame */
    curl_slist_free_all(headers);
    qn_buf_done(&url);
    if (code == CURLE_OK) {
        return true;
    }
    if (code == CURLE_COULDNT_CONNECT && passage.is_sent) {
        return quern_fail(err, "ConnectionError", 0, "%s: the connection ended without an answer",
                          client->endpoint);
    }
    return quern_fail(err, code == CURLE_OPERATION_TIMEDOUT ? "Timeout" : "ConnectionError", 0,
                      "%s: %s", client->endpoint,
                      reason[0] != '\0' ? reason : curl_easy_strerror(code));
}
