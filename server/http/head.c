/* From the head of an HTTP request to what wire/ wants to know of it. */
#include "server/http/internal.h"

#include <assert.h>

static void take_length(struct qn_call *call, struct qn_str value)
{
    int64_t length;

    if (!qn_str_to_int64(value, 0, INT64_MAX, &length)) {
        return; /* libmicrohttpd has refused it */
    }
    if (call->content_length >= 0 && call->content_length != length) {
        call->lengths_differ = true; /* it would go by the first, a proxy before us by the second */
    }
    call->content_length = length;
}

/* "attempt=2; max=3" */
static int64_t attempt_of(struct qn_str value)
{
    struct qn_str rest = value;
    int64_t attempt;

    while (rest.len > 0) {
        struct qn_str part = qn_str_trim(qn_str_cut(rest, ';', &rest));
        if (qn_str_starts_with(part, QN_STR("attempt=")) &&
            qn_str_to_int64(qn_str_from(part, strlen("attempt=")), 0, INT32_MAX, &attempt)) {
            return attempt;
        }
    }
    return 0;
}

static void take_transfer_encoding(struct qn_call *call, struct qn_str value)
{
    (void)value;
    call->is_chunked = true;
}

static void take_sdk_request(struct qn_call *call, struct qn_str value)
{
    call->request.caller.sdk_attempt = attempt_of(value);
}

static void take_expect(struct qn_call *call, struct qn_str value)
{
    call->expects_continue = qn_str_equal_nocase(value, QN_STR("100-continue"));
}

struct known_header {
    struct qn_str name;
    size_t offset;                                           /* where the value is kept as it is */
    void (*take)(struct qn_call *call, struct qn_str value); /* or what is done with it */
};

#define KEPT(name, member)                                                                         \
    {                                                                                              \
        {name, sizeof(name) - 1}, offsetof(struct qn_call, member), NULL                           \
    }
#define TAKEN(name, take)                                                                          \
    {                                                                                              \
        {name, sizeof(name) - 1}, 0, take                                                          \
    }

/* Sorted by length: only those of a name's own length are compared with it. */
static const struct known_header known[] = {
    KEPT("Host", request.http.host),
    KEPT("Accept", request.http.accept),
    KEPT("Origin", origin),
    TAKEN("Expect", take_expect),
    KEPT("User-Agent", request.caller.user_agent),
    KEPT("Content-Type", request.http.content_type),
    KEPT("X-Amz-Target", request.http.target),
    KEPT("Authorization", request.http.authorization),
    TAKEN("Content-Length", take_length),
    TAKEN("amz-sdk-request", take_sdk_request),
    KEPT("X-Amzn-Trace-Id", request.caller.trace_header),
    KEPT("Content-Encoding", content_encoding),
    TAKEN("Transfer-Encoding", take_transfer_encoding),
    KEPT("amz-sdk-invocation-id", request.caller.invocation_id),
    KEPT("Access-Control-Request-Method", preflight_method),
    KEPT("Access-Control-Request-Headers", preflight_headers),
};

enum { KNOWN_COUNT = sizeof(known) / sizeof(known[0]) };

void qn_head_init(struct qn_loop *loop)
{
    size_t next = 0;

    for (size_t len = 0; len <= QN_HEADER_NAME_MAX; len++) {
        loop->headers_of_length[len] = (uint8_t)next;
        while (next < KNOWN_COUNT && known[next].name.len == len) {
            next++;
        }
    }
    assert(next == KNOWN_COUNT);
    loop->headers_of_length[QN_HEADER_NAME_MAX + 1] = KNOWN_COUNT;
}

static const struct known_header *find_known(const struct qn_loop *loop, struct qn_str name)
{
    if (name.len > QN_HEADER_NAME_MAX) {
        return NULL;
    }
    for (size_t i = loop->headers_of_length[name.len]; i < loop->headers_of_length[name.len + 1];
         i++) {
        if (qn_str_equal_nocase(name, known[i].name)) {
            return &known[i];
        }
    }
    return NULL;
}

static enum MHD_Result take_header(void *state, enum MHD_ValueKind kind, const char *key,
                                   size_t key_size, const char *value, size_t value_size)
{
    struct qn_call *call = state;
    const struct known_header *header = find_known(call->loop, qn_str(key, key_size));
    struct qn_str text = qn_str(value != NULL ? value : "", value != NULL ? value_size : 0);

    (void)kind;
    if (header != NULL && header->take != NULL) {
        header->take(call, text);
    } else if (header != NULL) {
        *(struct qn_str *)(void *)((char *)call + header->offset) = text;
    }
    return MHD_YES;
}

/* "http://host/path?query" of a proxy's request line: only path and query count. */
static struct qn_str without_authority(struct qn_str target)
{
    struct qn_str rest;
    size_t scheme;
    size_t slash;

    if (qn_str_starts_with(target, QN_STR("/"))) {
        return target;
    }
    scheme = qn_str_find(target, QN_STR("://"));
    if (scheme == target.len) {
        return target;
    }
    rest = qn_str_from(target, scheme + strlen("://"));
    slash = qn_str_find_char(rest, '/');
    return slash == rest.len ? QN_STR("/") : qn_str_from(rest, slash);
}

/* Only what can stand in a host is repeated in queue URLs. */
static bool is_host(struct qn_str host)
{
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];
        if (!qn_char_is_alphanumeric(c) && c != '.' && c != '-' && c != ':' && c != '_' &&
            c != '[' && c != ']') {
            return false;
        }
    }
    return host.len > 0 && host.len <= 255;
}

static void name_url_base(struct qn_call *call)
{
    struct qn_caller *caller = &call->request.caller;
    struct qn_str host = call->request.http.host;

    if (!qn_str_is_none(call->loop->options.public_url)) {
        caller->url_base = call->loop->options.public_url;
    } else if (is_host(host)) {
        caller->url_scheme = QN_STR("http://");
        caller->url_base = host;
    } else {
        caller->url_base =
            qn_arena_format(&call->request.arena, "http://localhost:%d", call->client->port);
    }
}

void qn_head_read(struct qn_call *call, const char *method)
{
    struct qn_http_request *http = &call->request.http;
    struct qn_str target = without_authority(http->path);

    http->method = qn_str_from_cstr(method);
    http->path = qn_str_cut(target, '?', &http->query);
    http->body = QN_STR("");
    (void)MHD_get_connection_values_n(call->connection, MHD_HEADER_KIND, take_header, call);
    call->is_head = qn_str_equal(http->method, QN_STR("HEAD"));
    name_url_base(call);
    if (call->lengths_differ) {
        call->refusal = QN_ERR_MALFORMED_INPUT;
    } else if (call->content_encoding.len > 0 &&
               !qn_str_equal_nocase(call->content_encoding, QN_STR("identity"))) {
        call->refusal = QN_ERR_UNSUPPORTED_MEDIA_TYPE;
    }
}

static void answer_preflight(struct qn_call *call)
{
    struct qn_str wanted = call->preflight_headers;

    call->status = MHD_HTTP_NO_CONTENT;
    qn_call_add_header(call, "Access-Control-Allow-Methods", "GET, POST, OPTIONS");
    if (wanted.len > 0) {
        /* The caller's text, which libmicrohttpd has taken off a line of its own. */
        qn_call_add_header(call, "Access-Control-Allow-Headers", wanted.ptr);
    }
    qn_call_add_header(call, "Access-Control-Max-Age", "86400");
    qn_call_respond(call);
}

static const char *reason_of(enum qn_error_code code)
{
    switch (code) {
    case QN_ERR_UNSUPPORTED_MEDIA_TYPE:
        return "Compressed request bodies are not supported: send the body without a "
               "Content-Encoding.";
    case QN_ERR_REQUEST_TOO_LARGE:
        return "The request is too large.";
    default:
        return "The request has two different Content-Length headers.";
    }
}

bool qn_head_refuses(struct qn_call *call)
{
    struct qn_str method = call->request.http.method;

    if (qn_str_equal(method, QN_STR("OPTIONS"))) {
        answer_preflight(call);
        return true;
    }
    if (!qn_str_equal(method, QN_STR("POST")) && !qn_str_equal(method, QN_STR("GET"))) {
        qn_loop_refuse(call, QN_ERR_INVALID_ACTION, "Only GET and POST are understood here.");
        return true;
    }
    if (call->refusal == QN_ERR_NONE && !qn_body_is_hopeless(call)) {
        return false;
    }
    if (call->refusal == QN_ERR_NONE) {
        call->refusal = QN_ERR_REQUEST_TOO_LARGE;
    }
    qn_loop_refuse(call, call->refusal, reason_of(call->refusal));
    return true;
}
