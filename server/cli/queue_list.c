/* Queues that are to exist at start. */
#include "server/cli/queue_list.h"

#include <unistd.h>

#include "server/base/log.h"

/* ---- --queue NAME,ATTRIBUTE=VALUE,... ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Where the next attribute begins: a comma with a name and '=' behind it. Others belong to the
 * value, as in the JSON of a policy. */
static size_t attribute_end(struct qn_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        size_t at = i + 1;
        if (text.ptr[i] != ',') {
            continue;
        }
        while (at < text.len && is_letter(text.ptr[at])) {
            at++;
        }
        if (at > i + 1 && at < text.len && text.ptr[at] == '=') {
            return i;
        }
    }
    return text.len;
}

static bool parse_queue(struct qn_str text, json_t *queues, struct qn_error *err)
{
    struct qn_str rest;
    struct qn_str name = qn_str_cut(text, ',', &rest);
    json_t *attributes;

    if (!qn_str_is_utf8(text)) { /* jansson would leave it out */
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--queue must be text in UTF-8");
    }
    attributes = json_object();
    json_array_append_new(
        queues, json_pack("{s:s%, s:o}", "name", name.ptr, name.len, "attributes", attributes));
    while (rest.len > 0) {
        size_t end = attribute_end(rest);
        struct qn_str value;
        struct qn_str key = qn_str_cut(qn_str_first(rest, end), '=', &value);
        if (key.len == 0 || qn_str_is_none(value)) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                           "--queue must be NAME[,ATTRIBUTE=VALUE...], not %.*s", QN_STR_ARG(text));
        }
        json_object_setn_new(attributes, key.ptr, key.len, json_stringn(value.ptr, value.len));
        rest = qn_str_from(rest, end + 1);
    }
    return true;
}

/* ---- --config FILE ---- */

/* A number or a boolean stands for its text: 30 for "30". */
static json_t *text_of(const json_t *value)
{
    if (json_is_integer(value)) {
        return json_sprintf("%lld", (long long)json_integer_value(value));
    }
    if (json_is_boolean(value)) {
        return json_string(json_is_true(value) ? "true" : "false");
    }
    if (json_is_object(value) || json_is_array(value)) {
        char *text = json_dumps(value, JSON_COMPACT);
        json_t *string = json_string(text);
        qn_memory_free(text);
        return string;
    }
    return json_is_string(value) ? json_string(json_string_value(value)) : NULL;
}

static bool fail_config(struct qn_error *err, const char *path, size_t i, const char *what)
{
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: queue %zu: %s", path, i + 1, what);
}

/* All values as texts. */
static json_t *texts_of(json_t *object)
{
    json_t *texts = json_object();
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        json_t *text = text_of(value);
        if (text == NULL) {
            json_decref(texts);
            return NULL;
        }
        json_object_set_new(texts, name, text);
    }
    return texts;
}

static bool take_texts(json_t *queue, const char *member, json_t *copy)
{
    json_t *object = json_object_get(queue, member);
    json_t *texts;

    if (object == NULL) {
        return true;
    }
    texts = json_is_object(object) ? texts_of(object) : NULL;
    return texts != NULL && json_object_set_new(copy, member, texts) == 0;
}

static bool is_redrive(const json_t *redrive)
{
    return json_object_size(redrive) == 2 && json_is_string(json_object_get(redrive, "to")) &&
           json_is_integer(json_object_get(redrive, "max"));
}

static bool knows_members(json_t *queue)
{
    static const char *const known[] = {"name", "attributes", "tags", "redrive"};
    const char *name;
    json_t *value;

    json_object_foreach(queue, name, value)
    {
        bool is_known = false;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            is_known = is_known || strcmp(name, known[i]) == 0;
        }
        if (!is_known) {
            return false;
        }
    }
    return true;
}

static bool take_queue(json_t *queue, size_t i, const char *path, json_t *queues,
                       struct qn_error *err)
{
    json_t *name = json_object_get(queue, "name");
    json_t *redrive = json_object_get(queue, "redrive");
    json_t *copy;

    if (!json_is_string(name)) {
        return fail_config(err, path, i, "it has no \"name\"");
    }
    if (!knows_members(queue)) {
        return fail_config(err, path, i, "it may have name, attributes, tags and redrive only");
    }
    copy = json_object();
    json_array_append_new(queues, copy);
    json_object_set(copy, "name", name);
    if (!take_texts(queue, "attributes", copy) || !take_texts(queue, "tags", copy)) {
        return fail_config(err, path, i, "attributes and tags must be objects of texts");
    }
    if (redrive != NULL && !is_redrive(redrive)) {
        return fail_config(err, path, i, "redrive must be {\"to\": NAME, \"max\": N}");
    }
    if (redrive != NULL) {
        json_object_set(copy, "redrive", redrive);
    }
    return true;
}

static bool read_config(const char *path, json_t *queues, struct qn_error *err)
{
    json_error_t problem;
    json_t *document;
    json_t *list;
    json_t *queue;
    char *text;
    size_t len;
    size_t i;
    bool ok = true;

    if (!qn_file_read(path, &text, &len, err)) {
        return false;
    }
    document = json_loadb(text, len, 0, &problem);
    qn_memory_free(text);
    if (document == NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: line %d, column %d: %s", path,
                       problem.line, problem.column, problem.text);
    }
    list = json_object_get(document, "queues");
    if (!json_is_array(list) || json_object_size(document) != 1) {
        ok = qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s must be {\"queues\": [...]}", path);
    }
    json_array_foreach(list, i, queue)
    {
        ok = ok && take_queue(queue, i, path, queues, err);
    }
    json_decref(document);
    return ok;
}

bool qn_queue_list_read(const struct qn_options *options, struct qn_queue_list *ret_list,
                        struct qn_error *err)
{
    const struct qn_given *given = &options->given[QN_SERVE_QUEUE];
    const char *config = qn_options_text(options, QN_SERVE_CONFIG);
    json_t *queues = json_array();
    bool ok = config == NULL || read_config(config, queues, err);

    for (size_t i = 0; ok && i < given->count; i++) {
        ok = parse_queue(qn_str_from_cstr(given->texts[i]), queues, err);
    }
    if (ok) {
        ret_list->queues = queues;
    } else {
        json_decref(queues);
    }
    return ok;
}

void qn_queue_list_done(struct qn_queue_list *list)
{
    json_decref(list->queues);
    list->queues = NULL;
}

/* ---- creating them ---- */

static bool call(struct qn_loop *loop, const char *action, json_t *input_take, const char *name,
                 struct qn_error *err)
{
    char *text = json_dumps(input_take, JSON_COMPACT);
    struct qn_error cause;
    bool ok = qn_loop_call(loop, qn_str_from_cstr(action), qn_str_from_cstr(text), NULL, &cause);

    qn_memory_free(text);
    json_decref(input_take);
    return ok || qn_fail(err, cause.code, "queue %s: %.*s", name, (int)(QN_ERROR_MESSAGE_MAX - 200),
                         cause.message);
}

static bool create(json_t *queue, struct qn_loop *loop, struct qn_error *err)
{
    const char *name = json_string_value(json_object_get(queue, "name"));
    json_t *attributes = json_deep_copy(json_object_get(queue, "attributes"));
    json_t *tags = json_object_get(queue, "tags");
    json_t *input;

    if (attributes == NULL) {
        attributes = json_object();
    }
    /* The name says it already. */
    if (qn_str_ends_with(qn_str_from_cstr(name), QN_STR(".fifo")) &&
        json_object_get(attributes, "FifoQueue") == NULL) {
        json_object_set_new(attributes, "FifoQueue", json_string("true"));
    }
    input = json_pack("{s:s, s:o}", "QueueName", name, "Attributes", attributes);
    if (tags != NULL) {
        json_object_set(input, "tags", tags);
    }
    return call(loop, "CreateQueue", input, name, err);
}

/* After all of them are there, in whatever order they stand. */
static bool set_redrive(const json_t *queue, struct qn_loop *loop, struct qn_queue *target,
                        struct qn_error *err)
{
    const char *name = json_string_value(json_object_get(queue, "name"));
    const json_t *redrive = json_object_get(queue, "redrive");
    json_t *policy;

    policy = json_sprintf("{\"deadLetterTargetArn\":\"%.*s\",\"maxReceiveCount\":%lld}",
                          QN_STR_ARG(qn_queue_arn(target)),
                          (long long)json_integer_value(json_object_get(redrive, "max")));
    return call(
        loop, "SetQueueAttributes",
        json_pack("{s:s, s:{s:o}}", "QueueUrl", name, "Attributes", "RedrivePolicy", policy), name,
        err);
}

static struct qn_queue *find(const struct qn_queue_list_place *place, struct qn_str name)
{
    return qn_engine_find_queue(place->engine, place->settings->account, place->settings->region,
                                name);
}

static struct qn_str target_of(const json_t *queue)
{
    return qn_str_from_cstr(
        json_string_value(json_object_get(json_object_get(queue, "redrive"), "to")));
}

static bool is_listed(const struct qn_queue_list *list, struct qn_str name)
{
    size_t i;
    const json_t *queue;

    json_array_foreach(list->queues, i, queue)
    {
        if (qn_str_equal(name,
                         qn_str_from_cstr(json_string_value(json_object_get(queue, "name"))))) {
            return true;
        }
    }
    return false;
}

/* A database that does not exist yet has no queue that a redrive could name. */
static bool has_database(const struct qn_settings *settings)
{
    return settings->db != NULL && access(settings->db, F_OK) == 0;
}

/* Asked before anything is created. */
static bool check_targets(const struct qn_queue_list *list, const struct qn_queue_list_place *place,
                          struct qn_error *err)
{
    size_t i;
    json_t *queue;

    json_array_foreach(list->queues, i, queue)
    {
        struct qn_str to = target_of(queue);
        if (qn_str_is_none(to) || is_listed(list, to) || find(place, to) != NULL) {
            continue;
        }
        if (!place->is_rehearsal || !has_database(place->settings)) {
            return qn_fail(err, QN_ERR_QUEUE_DOES_NOT_EXIST,
                           "queue %s: redrive to %.*s: no such queue",
                           json_string_value(json_object_get(queue, "name")), QN_STR_ARG(to));
        }
        /* It may be in the database: the rehearsal makes one that stands for it. */
        json_t *stand_in = json_pack("{s:s%}", "name", to.ptr, to.len);
        bool ok = create(stand_in, place->loop, err);
        json_decref(stand_in);
        if (!ok) {
            return false;
        }
    }
    return true;
}

static bool create_missing(const struct qn_queue_list *list,
                           const struct qn_queue_list_place *place, json_t *created,
                           struct qn_error *err)
{
    size_t i;
    json_t *queue;

    json_array_foreach(list->queues, i, queue)
    {
        struct qn_str name = qn_str_from_cstr(json_string_value(json_object_get(queue, "name")));
        if (find(place, name) != NULL) {
            qn_log(QN_LOG_INFO, "serve", "queue exists and is kept as it is queue=%.*s",
                   QN_STR_ARG(name));
            continue;
        }
        json_array_append(created, queue);
        if (!create(queue, place->loop, err)) {
            return false;
        }
    }
    return true;
}

bool qn_queue_list_create(const struct qn_queue_list *list, const struct qn_queue_list_place *place,
                          struct qn_error *err)
{
    json_t *created = json_array();
    json_t *queue;
    size_t i;
    bool ok = check_targets(list, place, err) && create_missing(list, place, created, err);

    json_array_foreach(created, i, queue)
    {
        if (ok && !qn_str_is_none(target_of(queue))) {
            ok = set_redrive(queue, place->loop, find(place, target_of(queue)), err);
        }
    }
    json_decref(created);
    return ok;
}
