/* From an HTTP request to an action and its input: which protocol is spoken, which action is meant,
 * and what every action demands of its input. */
#include "server/wire/codec.h"

#include "server/actions/actions.h"

#define TEXT(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

static const struct qn_str json_type = TEXT("application/x-amz-json-1.0");
static const struct qn_str target_prefix = TEXT("AmazonSQS.");
static const struct qn_str api_version = TEXT("2012-11-05");

enum { ECHO_MAX = 128, ADDRESS_MAX = 1024 }; /* bytes that an error repeats */

/* "application/json; charset=utf-8" without its parameters. */
static struct qn_str media_type(struct qn_str header)
{
    struct qn_str parameters;

    return qn_str_trim(qn_str_cut(header, ';', &parameters));
}

static bool is_aws_json(const struct qn_http_request *http)
{
    return qn_str_equal(http->method, QN_STR("POST")) && !qn_str_is_none(http->target) &&
           (qn_str_equal(http->content_type, json_type) ||
            qn_str_equal_nocase(media_type(http->content_type), json_type));
}

static bool accepts_json(struct qn_str accept)
{
    while (accept.len > 0) {
        struct qn_str range = qn_str_cut(accept, ',', &accept);
        if (qn_str_equal_nocase(media_type(range), QN_STR("application/json"))) {
            return true;
        }
    }
    return false;
}

/* A body that says it is JSON is none of a form; every other may be one, whatever it is called:
 * browsers and simple clients name forms text/plain, or not at all. */
static bool body_may_be_form(const struct qn_http_request *http)
{
    struct qn_str type = media_type(http->content_type);

    return !qn_str_starts_with_nocase(type, QN_STR("application/x-amz-json")) &&
           !qn_str_equal_nocase(type, QN_STR("application/json"));
}

static bool alloc_input(struct qn_request *request, struct qn_error *err)
{
    request->input = qn_arena_alloc(&request->arena, request->action->input->size);
    return request->input != NULL || qn_wire_fail_too_large(err);
}

static const struct qn_field *queue_url_field(const struct qn_shape *shape)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        if (shape->fields[i].type == QN_STRING && strcmp(shape->fields[i].name, "QueueUrl") == 0) {
            return &shape->fields[i];
        }
    }
    return NULL;
}

static bool is_missing(const struct qn_field *field, const void *value)
{
    bool is_list = field->type >= QN_STRING_LIST;
    bool is_text = field->type == QN_STRING || field->type == QN_BLOB;

    if ((field->flags & QN_EMPTY_IS_ABSENT) && is_text) {
        return ((const struct qn_str *)value)->len == 0;
    }
    if (is_list && !(field->flags & QN_EMPTY_IS_ABSENT)) {
        return !((const struct qn_list *)value)->present;
    }
    return qn_wire_is_empty(field, value);
}

/* Where the input lacks a QueueUrl, the path that the request was sent to names the queue. In the
 * query protocol a path that cannot do so gets told, in JSON it is the member that is missed. */
static bool use_path(struct qn_request *request, const struct qn_field *field, struct qn_error *err)
{
    struct qn_str path = request->http.path;
    enum qn_path_kind kind;
    struct qn_str *queue_url;

    if (field == NULL) {
        return true;
    }
    queue_url = (void *)((char *)request->input + field->offset);
    if (!is_missing(field, queue_url)) {
        return true;
    }
    kind = qn_wire_path_kind(path);
    if (kind == QN_PATH_ROOT || (kind == QN_PATH_OTHER && request->protocol == QN_PROTOCOL_JSON)) {
        return true;
    }
    if (qn_str_find_char(path, '%') == path.len) {
        *queue_url = path;
        return qn_str_is_utf8(path) ||
               qn_fail(err, QN_ERR_MALFORMED_INPUT, "The path of the request is not UTF-8.");
    }
    return qn_wire_form_decode(&request->arena, path, QN_ERR_MALFORMED_INPUT, queue_url, err);
}

/* The form of a QueueUrl. A queue's bare name is one in JSON only, and no action knows the
 * protocol. */
static bool check_queue_url(struct qn_request *request, const struct qn_field *field,
                            struct qn_error *err)
{
    struct qn_queue_address *address = &request->address;
    const struct qn_str *queue_url;

    if (field == NULL) {
        return true;
    }
    queue_url = (const void *)((const char *)request->input + field->offset);
    if (qn_wire_split_queue_url(*queue_url, request->protocol == QN_PROTOCOL_JSON,
                                &address->account, &address->name)) {
        address->url = *queue_url;
        return true;
    }
    return qn_fail(err, QN_ERR_INVALID_ADDRESS, "The address %.*s is not valid for this endpoint.",
                   QN_STR_ARG(qn_wire_excerpt(*queue_url, ADDRESS_MAX)));
}

/* Of the input itself only: what an entry of a batch lacks is that entry's failure, and the
 * action's to judge. */
static bool check_required(const struct qn_request *request, struct qn_error *err)
{
    const struct qn_shape *shape = request->action->input;

    for (size_t i = 0; i < shape->field_count; i++) {
        const struct qn_field *field = &shape->fields[i];
        if ((field->flags & QN_REQUIRED) &&
            is_missing(field, (const char *)request->input + field->offset)) {
            return qn_fail(err, QN_ERR_MISSING_PARAMETER,
                           "The request must contain the parameter %s.", field->name);
        }
    }
    return true;
}

static bool decode_json(struct qn_request *request, struct qn_error *err)
{
    struct qn_str target = request->http.target;

    if (!qn_str_is_utf8(target) || !qn_str_starts_with(target, target_prefix)) {
        return qn_fail(err, QN_ERR_UNKNOWN_OPERATION,
                       "The X-Amz-Target header does not name an operation of AmazonSQS.");
    }
    target = qn_str_from(target, target_prefix.len);
    request->action = qn_action_find(target);
    if (request->action == NULL) {
        return qn_fail(err, QN_ERR_UNKNOWN_OPERATION, "The operation %.*s is not known.",
                       QN_STR_ARG(qn_wire_excerpt(target, ECHO_MAX)));
    }
    return alloc_input(request, err) &&
           qn_wire_read_json(&request->arena, request->http.body, request->action->input,
                             request->input, err);
}

static bool fail_without_action(struct qn_request *request, struct qn_error *err)
{
    if (qn_wire_path_kind(request->http.path) == QN_PATH_ROOT) {
        return qn_fail(err, QN_ERR_MISSING_ACTION,
                       "The request must contain the parameter Action.");
    }
    request->protocol = QN_PROTOCOL_QUERY; /* XML, also when JSON is asked for */
    return qn_fail(err, QN_ERR_UNKNOWN_OPERATION_404, "The request does not name an action.");
}

static bool find_query_action(struct qn_request *request, const struct qn_wire_form *form,
                              struct qn_error *err)
{
    enum qn_path_kind kind = qn_wire_path_kind(request->http.path);
    const struct qn_action *action;
    struct qn_str name;

    if (!qn_wire_form_get(&request->arena, form, "Action", &name, err)) {
        return false;
    }
    if (name.len == 0) {
        return fail_without_action(request, err);
    }
    action = qn_action_find(name);
    if (action == NULL || (kind == QN_PATH_QUEUE && (action->flags & QN_ACTION_ACCOUNT_SCOPE))) {
        return qn_fail(err, QN_ERR_INVALID_ACTION,
                       "The action %.*s is not valid for this endpoint.",
                       QN_STR_ARG(qn_wire_excerpt(name, ECHO_MAX)));
    }
    request->action = action;
    return true;
}

static bool check_version(struct qn_request *request, const struct qn_wire_form *form,
                          struct qn_error *err)
{
    struct qn_str version;

    if (!qn_wire_form_get(&request->arena, form, "Version", &version, err)) {
        return false;
    }
    if (!qn_str_is_none(version) && !qn_str_equal(version, api_version)) {
        return qn_fail(err, QN_ERR_NO_SUCH_VERSION, "The version %.*s of the API is not known.",
                       QN_STR_ARG(qn_wire_excerpt(version, ECHO_MAX)));
    }
    return true;
}

static bool decode_query(struct qn_request *request, struct qn_error *err)
{
    const struct qn_http_request *http = &request->http;
    struct qn_wire_form form = {.query = http->query, .body = QN_STR_NONE};
    struct qn_str access_key_id;

    if (body_may_be_form(http)) {
        form.body = http->body;
    }
    if (!qn_wire_form_get(&request->arena, &form, "AWSAccessKeyId", &access_key_id, err)) {
        return false;
    }
    if (qn_str_is_none(request->caller.access_key_id)) {
        qn_wire_use_access_key(&request->caller, access_key_id);
    }
    return find_query_action(request, &form, err) && check_version(request, &form, err) &&
           alloc_input(request, err) &&
           qn_wire_read_query(&request->arena, &form, request->action->input, request->input, err);
}

enum qn_protocol qn_wire_protocol(const struct qn_http_request *http)
{
    if (is_aws_json(http)) {
        return QN_PROTOCOL_JSON;
    }
    return accepts_json(http->accept) ? QN_PROTOCOL_QUERY_JSON : QN_PROTOCOL_QUERY;
}

bool qn_wire_decode(struct qn_request *request, const struct qn_wire_defaults *defaults,
                    struct qn_error *err)
{
    struct qn_str path = request->http.path;
    const struct qn_field *field;

    request->action = NULL;
    request->input = NULL;
    request->protocol = qn_wire_protocol(&request->http);
    request->path_queue = qn_wire_path_kind(path) == QN_PATH_QUEUE ? path : QN_STR_NONE;
    qn_wire_read_caller(request, defaults);
    if (request->protocol == QN_PROTOCOL_JSON ? !decode_json(request, err)
                                              : !decode_query(request, err)) {
        return false;
    }
    field = queue_url_field(request->action->input);
    return use_path(request, field, err) && check_required(request, err) &&
           check_queue_url(request, field, err);
}

/* A message may be spelled much longer than it is: as \u escapes a byte takes six, in a form three.
 * The protocol is not known before the body is read, so the longer one counts for both. The rest
 * is for names, handles and the other parameters. A batch has the same limit as a message. */
size_t qn_wire_body_max(int64_t message_size_limit)
{
    const size_t json_spelling = 6;
    const size_t others = 256 * 1024;

    return (size_t)message_size_limit * json_spelling + others;
}
