/* The control API: its routes, and what all its pages share. */
#include "server/http/control/control.h"

#include <stdarg.h>
#include <stdio.h>

#include "chaos/lex.h"
#include "server/base/log.h"

struct route {
    const char *method;
    const char *path; /* with a slash at the end: everything below it */
    qn_control_page *page;
    const char *parameters; /* that it knows, with blanks between; NULL: not ours to say */
};

static const struct route routes[] = {
    {"GET", "/health", qn_control_health, NULL},
    {"GET", "/_quern/health", qn_control_health, ""},
    {"GET", "/_quern/info", qn_control_info, ""},
    {"POST", "/_quern/mark", qn_control_mark, ""},
    {"POST", "/_quern/reset", qn_control_reset, "account region"},
    {"GET", "/_quern/clock", qn_control_clock, ""},
    {"POST", "/_quern/clock", qn_control_move_clock, ""},
    {"GET", "/_quern/queues", qn_control_queues, ""},
    {"GET", "/_quern/queues/", qn_control_queue, "account region after limit"},
    {"GET", "/_quern/trace", qn_control_trace, "since wait_ms stream"},
    {"GET", "/_quern/assumptions", qn_control_assumptions, ""},
    {"GET", "/_quern/rules", qn_control_rules, ""},
    {"POST", "/_quern/rules", qn_control_add_rules, ""},
    {"DELETE", "/_quern/rules", qn_control_remove_rules, "name"},
    {"POST", "/_quern/rules/", qn_control_change_rule, ""},
    {"POST", "/_quern/act", qn_control_act, ""},
    {"GET", "/_quern/failpoints", qn_control_failpoints, ""},
    {"POST", "/_quern/failpoints", qn_control_arm_failpoints, ""},
    {"DELETE", "/_quern/failpoints", qn_control_disarm_failpoints, "name"},
    {"GET", "/_localstack/health", qn_control_localstack_health, NULL},
    {"GET", "/_aws/sqs/messages", qn_control_localstack_messages, NULL},
    {"POST", "/_aws/sqs/messages", qn_control_localstack_messages, NULL},
    {"GET", "/_aws/sqs/messages/", qn_control_localstack_messages, NULL},
};

bool qn_control_owns(struct qn_str path)
{
    static const char *const prefixes[] = {"/_quern", "/_localstack", "/_aws", "/health"};

    if (path.len < 2 || (path.ptr[1] != '_' && path.ptr[1] != 'h')) {
        return false; /* nearly all */
    }
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        struct qn_str prefix = qn_str_from_cstr(prefixes[i]);
        if (qn_str_starts_with(path, prefix) &&
            (path.len == prefix.len || path.ptr[prefix.len] == '/')) {
            return true;
        }
    }
    return false;
}

static int append_text(const char *text, size_t len, void *state)
{
    qn_buf_append(state, text, len);
    return 0;
}

static void write_answer(struct qn_call *call, int status, json_t *document_take)
{
    qn_buf_clear(&call->answer);
    (void)json_dump_callback(document_take, append_text, &call->answer,
                             JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(document_take);
    call->status = status;
    call->content_type = "application/json";
}

void qn_control_answer(struct qn_call *call, int status, json_t *document_take)
{
    write_answer(call, status, document_take);
    qn_call_respond(call);
}

void qn_control_answer_change(struct qn_call *call, json_t *document_take)
{
    write_answer(call, 200, document_take);
    if (!qn_room_waits_for_sync(call)) {
        qn_call_respond(call);
    }
}

void qn_control_fail(struct qn_call *call, int status, const char *format, ...)
{
    char text[QN_ERROR_MESSAGE_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    qn_control_answer(call, status,
                      json_pack("{s:o}", "error", qn_control_text(qn_str_from_cstr(text))));
}

bool qn_control_is_list_of_texts(const json_t *value)
{
    size_t i;
    const json_t *text;

    json_array_foreach(value, i, text)
    {
        if (!json_is_string(text)) {
            return false;
        }
    }
    return json_is_array(value);
}

/* Text that is not UTF-8 is shown with '?' in place of what is foreign. */
json_t *qn_control_text(struct qn_str text)
{
    struct qn_buf ascii;
    json_t *value;

    if (qn_str_is_none(text)) {
        return json_null();
    }
    if (qn_str_is_utf8(text)) {
        return json_stringn_nocheck(text.ptr, text.len);
    }
    qn_buf_init(&ascii, text.len);
    for (size_t i = 0; i < text.len; i++) {
        qn_buf_append_char(&ascii, (unsigned char)text.ptr[i] < 0x80 ? text.ptr[i] : '?');
    }
    value = json_stringn_nocheck(ascii.ptr, ascii.len);
    qn_buf_done(&ascii);
    return value;
}

json_t *qn_control_instant(int64_t ms)
{
    char text[32];

    qn_clock_format_instant(ms, text);
    return json_string(text);
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static struct qn_str decoded(struct qn_call *call, struct qn_str text)
{
    char *out = qn_arena_alloc_raw(&call->request.arena, text.len + 1);
    size_t len = 0;

    if (out == NULL) {
        return QN_STR("");
    }
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i] == '+' ? ' ' : text.ptr[i];
        if (c == '%' && i + 2 < text.len && hex_value(text.ptr[i + 1]) >= 0 &&
            hex_value(text.ptr[i + 2]) >= 0) {
            c = (char)(hex_value(text.ptr[i + 1]) << 4 | hex_value(text.ptr[i + 2]));
            i += 2;
        }
        out[len++] = c;
    }
    return qn_str(out, len);
}

bool qn_control_parameter(struct qn_call *call, const char *name, struct qn_str *ret_value)
{
    struct qn_str rest = call->request.http.query;

    while (rest.len > 0) {
        struct qn_str value;
        struct qn_str pair = qn_str_cut(rest, '&', &rest);
        struct qn_str key = qn_str_cut(pair, '=', &value);
        if (qn_str_equal(key, qn_str_from_cstr(name))) {
            *ret_value = qn_str_is_none(value) ? QN_STR("") : decoded(call, value);
            return true;
        }
    }
    return false;
}

bool qn_control_integer(struct qn_call *call, const char *name, int64_t otherwise, int64_t max,
                        int64_t *ret_value)
{
    struct qn_str text;

    *ret_value = otherwise;
    if (!qn_control_parameter(call, name, &text) || qn_str_to_int64(text, 0, max, ret_value)) {
        return true;
    }
    qn_control_fail(call, 400, "%s must be an integer from 0 to %lld", name, (long long)max);
    return false;
}

/* A member with a slip in its name would be as good as left out: all queues instead of one. */
static const char *unknown_member(const json_t *document, const char *const *members)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)document, key, value)
    {
        size_t i = 0;
        while (members[i] != NULL && strcmp(members[i], key) != 0) {
            i++;
        }
        if (members[i] == NULL) {
            return key;
        }
    }
    return NULL;
}

static void fail_member(struct qn_call *call, const char *unknown, const char *const *members)
{
    size_t count = 0;

    while (members[count] != NULL) {
        count++;
    }
    const char *nearest = qn_nearest_word(qn_str_from_cstr(unknown), members, count);
    qn_control_fail(call, 400, "%.40s is no member of this body; it can have %s", unknown,
                    nearest != NULL ? nearest : members[0]);
}

json_t *qn_control_body(struct qn_call *call, const char *const *members)
{
    struct qn_str body = call->request.http.body;
    const char *unknown;
    json_error_t error;
    json_t *document;

    if (qn_str_trim(body).len == 0) {
        return json_object();
    }
    document = json_loadb(body.ptr, body.len, 0, &error);
    if (document == NULL) {
        qn_control_fail(call, 400, "the body is no JSON: line %d, column %d: %s", error.line,
                        error.column, error.text);
        return NULL;
    }
    if (!json_is_object(document)) {
        json_decref(document);
        qn_control_fail(call, 400, "the body must be a JSON object");
        return NULL;
    }
    unknown = unknown_member(document, members);
    if (unknown != NULL) {
        fail_member(call, unknown, members);
        json_decref(document);
        return NULL;
    }
    return document;
}

/* A page of the web must not drive the server; programs send no Origin. */
static bool is_foreign(const struct qn_call *call)
{
    struct qn_str origin = call->origin;
    struct qn_str host = call->request.http.host;
    struct qn_str scheme = QN_STR("http://");

    if (qn_str_is_none(origin)) {
        return false;
    }
    return !(host.len > 0 && qn_str_starts_with(origin, scheme) &&
             qn_str_equal_nocase(qn_str_from(origin, scheme.len), host));
}

/* The route's page and what stands behind its path. */
static const struct route *find_route(const struct qn_call *call, struct qn_str *ret_rest,
                                      bool *ret_path_is_known)
{
    struct qn_str path = call->request.http.path;
    struct qn_str method = call->is_head ? QN_STR("GET") : call->request.http.method;

    *ret_path_is_known = false;
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        struct qn_str route = qn_str_from_cstr(routes[i].path);
        bool below = route.ptr[route.len - 1] == '/' && path.len > route.len;
        if (below ? !qn_str_starts_with(path, route) : !qn_str_equal(path, route)) {
            continue;
        }
        *ret_path_is_known = true;
        *ret_rest = qn_str_from(path, route.len);
        if (qn_str_equal(method, qn_str_from_cstr(routes[i].method))) {
            return &routes[i];
        }
    }
    return NULL;
}

/* The first parameter that the page does not know, or none. */
static struct qn_str unknown_parameter(const struct qn_call *call, const struct route *route)
{
    struct qn_str rest = call->request.http.query;

    while (route->parameters != NULL && rest.len > 0) {
        struct qn_str words = qn_str_from_cstr(route->parameters);
        struct qn_str ignored;
        struct qn_str key = qn_str_cut(qn_str_cut(rest, '&', &rest), '=', &ignored);
        bool is_known = key.len == 0;
        while (!is_known && words.len > 0) {
            is_known = qn_str_equal(key, qn_str_cut(words, ' ', &words));
        }
        if (!is_known) {
            return key;
        }
    }
    return QN_STR_NONE;
}

/* A slip in a parameter's name must not remove all rules instead of one. */
static void open_page(struct qn_call *call, const struct route *route, struct qn_str rest)
{
    struct qn_str unknown = unknown_parameter(call, route);

    if (qn_str_is_none(unknown)) {
        route->page(call, decoded(call, rest));
    } else {
        qn_control_fail(call, 400, "this page has no parameter %.*s; it knows: %s",
                        QN_STR_ARG(qn_str_first(unknown, 40)),
                        route->parameters[0] == '\0' ? "none" : route->parameters);
    }
}

void qn_control_call(struct qn_call *call)
{
    struct qn_str rest = QN_STR("");
    bool path_is_known;
    const struct route *route = find_route(call, &rest, &path_is_known);

    qn_log(QN_LOG_DEBUG, "control", "asked method=%.*s path=%.*s",
           QN_STR_ARG(call->request.http.method), QN_STR_ARG(call->request.http.path));
    if (is_foreign(call)) {
        qn_control_fail(call, 403, "the control API is not for web pages: Origin is refused");
    } else if (call->refusal == QN_ERR_REQUEST_TOO_LARGE || qn_body_is_hopeless(call)) {
        qn_control_fail(call, 413, "the body is too large");
    } else if (call->refusal != QN_ERR_NONE) {
        qn_control_fail(call, 400, "two Content-Length headers, or a compressed body");
    } else if (route == NULL && path_is_known) {
        qn_control_fail(call, 405, "%.*s is not for this path",
                        QN_STR_ARG(qn_str_first(call->request.http.method, 40)));
    } else if (route == NULL) {
        qn_control_fail(call, 404, "no such page of the control API");
    } else {
        open_page(call, route, rest);
    }
}
