/* The effect sink, which stands for the database or the service that a real consumer changes. */
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "tests/consumers/worker/worker.h"

struct world {
    CURL *curl;
    char *url;
    int64_t timeout_ms;
};

struct world *world_open(const char *url, int64_t timeout_ms)
{
    struct world *world = qn_memory_new(sizeof(*world));

    world->curl = curl_easy_init();
    world->url = qn_memory_copy_text(url, strlen(url));
    world->timeout_ms = timeout_ms;
    return world;
}

void world_close(struct world *world)
{
    if (world == NULL) {
        return;
    }
    curl_easy_cleanup(world->curl);
    qn_memory_free(world->url);
    qn_memory_free(world);
}

void world_set_timeout(struct world *world, int64_t timeout_ms)
{
    world->timeout_ms = timeout_ms;
}

static size_t drop_body(char *bytes, size_t size, size_t count, void *state)
{
    (void)bytes;
    (void)state;
    return size * count;
}

static size_t see_header(char *bytes, size_t size, size_t count, void *state)
{
    struct call *call = state;
    struct qn_str rest;
    struct qn_str line = qn_str_cut(qn_str(bytes, size * count), '\r', &rest);

    if (qn_str_equal_nocase(line, QN_STR("Idempotency-Replayed: true"))) {
        call->ret_is_replayed = true;
    }
    return size * count;
}

static void add(struct curl_slist **headers, const char *name, const char *value)
{
    struct qn_buf line;

    if (value == NULL || value[0] == '\0') {
        return;
    }
    qn_buf_init(&line, SIZE_MAX / 2);
    qn_buf_append_format(&line, "%s: %s", name, value);
    qn_buf_append_char(&line, '\0');
    *headers = curl_slist_append(*headers, line.ptr);
    qn_buf_done(&line);
}

static struct curl_slist *headers_of(const struct call *call)
{
    struct curl_slist *headers = NULL;
    char number[24];

    add(&headers, "Content-Type", "application/json");
    add(&headers, "X-Quern-Instance", getenv("QUERN_INSTANCE"));
    add(&headers, "Idempotency-Key", call->key);
    add(&headers, "X-Quern-Message-Id", call->message_id);
    headers = curl_slist_append(headers, "Expect:");
    if (call->receive_count > 0) {
        (void)snprintf(number, sizeof(number), "%lld", (long long)call->receive_count);
        add(&headers, "X-Quern-Receive-Count", number);
    }
    if (call->if_version_lower >= 0) {
        (void)snprintf(number, sizeof(number), "%lld", (long long)call->if_version_lower);
        add(&headers, "If-Version-Lower", number);
    }
    return headers;
}

/* False: nobody answered, or the descriptor has become readable first. */
static bool perform(CURL *curl, int cancel_fd)
{
    struct curl_waitfd cancel = {.fd = cancel_fd, .events = CURL_WAIT_POLLIN};
    CURLM *both = curl_multi_init();
    const CURLMsg *ended = NULL;
    int running = 1;
    int left;

    (void)curl_multi_add_handle(both, curl);
    while (running > 0 && cancel.revents == 0 && curl_multi_perform(both, &running) == CURLM_OK &&
           running > 0) {
        (void)curl_multi_poll(both, &cancel, 1, INT32_MAX, NULL);
    }
    ended = curl_multi_info_read(both, &left);
    bool ok = ended != NULL && ended->data.result == CURLE_OK;
    (void)curl_multi_remove_handle(both, curl);
    (void)curl_multi_cleanup(both);
    return ok;
}

void world_call(struct world *world, struct call *call)
{
    CURL *curl = world->curl;
    struct curl_slist *headers = headers_of(call);
    struct qn_buf url;
    long status = 0;

    qn_buf_init(&url, SIZE_MAX / 2);
    qn_buf_append_format(&url, "%s%s", world->url, call->path);
    qn_buf_append_char(&url, '\0');
    call->ret_is_replayed = false;
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url.ptr);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L); /* nothing is sent again unasked */
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)world->timeout_ms);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop_body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, see_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, call);
    if (strcmp(call->method, "GET") != 0) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_len);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body);
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method);
    }
    bool is_answered =
        call->cancel_fd > 0 ? perform(curl, call->cancel_fd) : curl_easy_perform(curl) == CURLE_OK;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    call->ret_status = is_answered ? (int)status : 0;
    curl_easy_reset(curl);
    curl_slist_free_all(headers);
    qn_buf_done(&url);
}
