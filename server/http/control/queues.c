/* Queues with their figures, a look at their messages, and emptying them. */
#include "server/base/digest.h"
#include "server/http/control/control.h"

static json_t *key_of(const struct qn_queue *queue)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:b}", "name", qn_control_text(qn_queue_name(queue)),
                     "account", qn_control_text(qn_queue_account(queue)), "region",
                     qn_control_text(qn_queue_region(queue)), "arn",
                     qn_control_text(qn_queue_arn(queue)), "fifo", qn_queue_is_fifo(queue));
}

static void set(json_t *object, const char *name, int64_t value)
{
    json_object_set_new(object, name, json_integer(value));
}

/* The metrics of SQS under their names; sizes and counters are sums since the start. */
static json_t *metrics_of(const struct qn_queue *queue, const struct qn_queue_figures *figures)
{
    json_t *metrics = json_object();

    set(metrics, "ApproximateNumberOfMessagesVisible", figures->counts.visible);
    set(metrics, "ApproximateNumberOfMessagesNotVisible", figures->counts.in_flight);
    set(metrics, "ApproximateNumberOfMessagesDelayed", figures->counts.delayed);
    set(metrics, "ApproximateAgeOfOldestMessage", figures->oldest_age_s);
    set(metrics, "NumberOfMessagesSent", figures->sent);
    set(metrics, "NumberOfMessagesReceived", figures->received);
    set(metrics, "NumberOfMessagesDeleted", figures->deleted);
    set(metrics, "NumberOfEmptyReceives", figures->empty_receives);
    set(metrics, "SentMessageSize", figures->sent_bytes);
    if (qn_queue_is_fifo(queue)) {
        set(metrics, "NumberOfDeduplicatedSentMessages", figures->deduplicated);
        set(metrics, "ApproximateNumberOfGroupsWithInflightMessages", figures->groups_in_flight);
    } else {
        set(metrics, "ApproximateNumberOfNoisyGroups", figures->noisy_groups);
        set(metrics, "ApproximateNumberOfMessagesVisibleInQuietGroups", figures->quiet.visible);
        set(metrics, "ApproximateNumberOfMessagesNotVisibleInQuietGroups",
            figures->quiet.in_flight);
        set(metrics, "ApproximateNumberOfMessagesDelayedInQuietGroups", figures->quiet.delayed);
        set(metrics, "ApproximateAgeOfOldestMessageInQuietGroups", figures->oldest_quiet_age_s);
    }
    return metrics;
}

static json_t *dead_letter_arn_of(const struct qn_queue *queue)
{
    const char *arn = qn_queue_settings_of(queue)->dead_letter_target_arn;

    return arn != NULL ? json_string(arn) : json_null();
}

static json_t *queue_document(const struct qn_loop *loop, const struct qn_queue *queue)
{
    struct qn_queue_figures figures;
    json_t *document = key_of(queue);

    qn_engine_figures(loop->parts.engine, queue, loop->now_ms, &figures);
    set(document, "visible", figures.counts.visible);
    set(document, "in_flight", figures.counts.in_flight);
    set(document, "delayed", figures.counts.delayed);
    set(document, "oldest_age_s", figures.oldest_age_s);
    set(document, "groups", figures.groups);
    set(document, "waiting_polls", figures.waiters);
    json_object_set_new(document, "dead_letter_arn", dead_letter_arn_of(queue));
    json_object_set_new(document, "metrics", metrics_of(queue, &figures));
    return document;
}

void qn_control_queues(struct qn_call *call, struct qn_str rest)
{
    struct qn_loop *loop = call->loop;
    json_t *list = json_array();
    struct qn_queue *queue;

    (void)rest;
    for (size_t i = 0; (queue = qn_engine_queue_at(loop->parts.engine, i)) != NULL; i++) {
        json_array_append_new(list, queue_document(loop, queue));
    }
    qn_control_answer(call, 200, json_pack("{s:o}", "queues", list));
}

struct qn_queue *qn_control_find_queue(struct qn_call *call, struct qn_str name)
{
    struct qn_engine *engine = call->loop->parts.engine;
    struct qn_str account = QN_STR_NONE;
    struct qn_str region = QN_STR_NONE;
    struct qn_queue *found = NULL;
    struct qn_queue *queue;
    size_t count = 0;

    (void)qn_control_parameter(call, "account", &account);
    (void)qn_control_parameter(call, "region", &region);
    for (size_t i = 0; (queue = qn_engine_queue_at(engine, i)) != NULL; i++) {
        if (qn_str_equal(qn_queue_name(queue), name) &&
            (qn_str_is_none(account) || qn_str_equal(qn_queue_account(queue), account)) &&
            (qn_str_is_none(region) || qn_str_equal(qn_queue_region(queue), region))) {
            found = queue;
            count++;
        }
    }
    if (count == 1) {
        return found;
    }
    if (count == 0) {
        qn_control_fail(call, 404, "there is no queue %.*s", QN_STR_ARG(qn_str_first(name, 100)));
    } else {
        qn_control_fail(call, 409,
                        "%zu queues have this name: say which with ?account= and ?region=", count);
    }
    return NULL;
}

/* ---- messages ---- */

enum { PEEK_BYTES = 16 * 1024 * 1024 };

static json_t *attributes_of(struct qn_str encoded)
{
    struct qn_message_attribute attribute;
    struct qn_reader reader;
    json_t *object = json_object();

    qn_reader_init(&reader, encoded);
    while (qn_content_next_attribute(&reader, &attribute)) {
        json_t *value = json_pack("{s:o}", "DataType", qn_control_text(attribute.data_type));
        if (!qn_str_is_none(attribute.string_value)) {
            json_object_set_new(value, "StringValue", qn_control_text(attribute.string_value));
        } else {
            struct qn_buf base64;
            qn_buf_init(&base64, SIZE_MAX / 2);
            qn_digest_append_base64(&base64, attribute.binary_value);
            json_object_set_new(value, "BinaryValue", qn_control_text(qn_buf_str(&base64)));
            qn_buf_done(&base64);
        }
        json_object_setn_new(object, attribute.name.ptr, attribute.name.len, value);
    }
    return object;
}

static json_t *instant_or_null(int64_t ms)
{
    return ms < 0 ? json_null() : json_integer(ms);
}

static json_t *message_document(const struct qn_peeked *message)
{
    char id[37];
    json_t *document;

    qn_random_format_uuid(message->message_id, id);
    document = json_pack(
        "{s:I, s:s, s:s, s:o, s:I, s:o, s:o, s:I, s:I}", "position", (json_int_t)message->sequence,
        "message_id", id, "state", message->state, "body", qn_control_text(message->content.body),
        "sent_at_ms", (json_int_t)message->sent_at_ms, "first_received_at_ms",
        instant_or_null(message->first_received_at_ms), "hidden_until_ms",
        strcmp(message->state, "visible") == 0 ? json_null()
                                               : json_integer(message->hidden_until_ms),
        "receive_count", (json_int_t)message->total_count, "receive_count_here",
        (json_int_t)message->receive_count);
    json_object_set_new(document, "group_id", qn_control_text(message->content.group_id));
    json_object_set_new(document, "deduplication_id",
                        qn_control_text(message->content.deduplication_id));
    json_object_set_new(document, "source_arn", qn_control_text(message->source_arn));
    json_object_set_new(document, "trace_header", qn_control_text(message->content.trace_header));
    json_object_set_new(document, "attributes", attributes_of(message->content.attributes));
    return document;
}

/* A page ends at its number of messages, or behind so many bytes of them: bodies are large. */
static void peek(struct qn_call *call, struct qn_queue *queue, int64_t after, int64_t limit)
{
    struct qn_loop *loop = call->loop;
    json_t *list = json_array();
    struct qn_peek_place place;
    struct qn_peeked message;
    struct qn_tx tx;
    size_t bytes = 0;
    bool more;

    qn_tx_init(loop, &tx, &call->request.arena, &loop->background);
    place = qn_engine_peek_place(&tx, queue, (uint64_t)after);
    while ((more = qn_engine_peek_next(&tx, &place, &message)) &&
           (int64_t)json_array_size(list) < limit && bytes < PEEK_BYTES) {
        json_array_append_new(list, message_document(&message));
        after = (int64_t)message.sequence;
        bytes += message.content.body.len;
    }
    qn_control_answer(call, 200,
                      json_pack("{s:o, s:o}", "messages", list, "next",
                                more ? json_integer(after) : json_null()));
}

void qn_control_queue(struct qn_call *call, struct qn_str rest)
{
    struct qn_str suffix = QN_STR("/messages");
    bool is_messages = qn_str_ends_with(rest, suffix);
    struct qn_str name = is_messages ? qn_str_first(rest, rest.len - suffix.len) : rest;
    struct qn_queue *queue;
    int64_t after;
    int64_t limit;

    if (qn_str_find_char(name, '/') < name.len) {
        qn_control_fail(call, 404, "no such page of the control API");
        return;
    }
    if (!qn_control_integer(call, "after", 0, INT64_MAX, &after) ||
        !qn_control_integer(call, "limit", 100, 1000, &limit)) {
        return;
    }
    queue = qn_control_find_queue(call, name);
    if (queue == NULL) {
        return;
    }
    if (is_messages) {
        peek(call, queue, after, limit);
    } else {
        qn_control_answer(call, 200, queue_document(call->loop, queue));
    }
}

/* ---- reset ---- */

static void reset_all(struct qn_call *call, struct qn_tx *tx)
{
    struct qn_loop *loop = call->loop;
    struct qn_queue *queue;
    int64_t count = 0;

    while ((queue = qn_engine_queue_at(loop->parts.engine, 0)) != NULL) {
        qn_engine_delete_queue(tx, queue);
        count++;
    }
    (void)qn_plan_remove(loop->parts.plan, QN_STR(""));
    qn_keep_refresh(loop);
    while (loop->held.first != NULL) {
        (void)qn_fault_release(loop, loop->held.first->rule);
    }
    qn_loop_keep(loop);
    qn_control_answer_change(call, json_pack("{s:I}", "queues_deleted", (json_int_t)count));
}

void qn_control_reset(struct qn_call *call, struct qn_str rest)
{
    static const char *const members[] = {"queue", NULL};
    json_t *body = qn_control_body(call, members);
    const char *name;
    struct qn_queue *queue;
    struct qn_tx tx;

    (void)rest;
    if (body == NULL) {
        return;
    }
    if (call->loop->parts.journal != NULL && !qn_journal_has_room(call->loop->parts.journal)) {
        qn_control_fail(call, 503, "the database does not keep up or cannot be written");
        json_decref(body);
        return;
    }
    qn_tx_init(call->loop, &tx, &call->request.arena, &call->loop->background);
    name = json_string_value(json_object_get(body, "queue"));
    if (json_object_get(body, "queue") == NULL) {
        reset_all(call, &tx);
    } else if (name == NULL) {
        qn_control_fail(call, 400, "queue must be the name of a queue");
    } else if ((queue = qn_control_find_queue(call, qn_str_from_cstr(name))) != NULL) {
        qn_engine_purge_queue(&tx, queue);
        qn_loop_keep(call->loop);
        qn_control_answer_change(call, json_pack("{s:s}", "purged", name));
    }
    qn_loop_serve_waiters(call->loop);
    json_decref(body);
}
