/* Two pages of LocalStack that test suites know: its health, and a look at all messages of a queue
 * without receiving them. */
#include "server/http/control/control.h"

#include "server/base/digest.h"
#include "server/base/xml.h"
#include "server/model/queue_url.h"

void qn_control_localstack_health(struct qn_call *call, struct qn_str rest)
{
    (void)rest;
    qn_control_answer(call, 200,
                      json_pack("{s:{s:s}, s:s, s:s}", "services", "sqs", "running", "edition",
                                "quern", "version", QN_VERSION));
}

/* A parameter of the query string, or of a form's body. */
static bool parameter(struct qn_call *call, const char *name, struct qn_str *ret_value)
{
    struct qn_str query = call->request.http.query;
    bool found = qn_control_parameter(call, name, ret_value);

    if (!found) {
        call->request.http.query = call->request.http.body;
        found = qn_control_parameter(call, name, ret_value);
        call->request.http.query = query;
    }
    return found;
}

static struct qn_queue *find(struct qn_call *call, struct qn_str account, struct qn_str name)
{
    struct qn_engine *engine = call->loop->parts.engine;
    struct qn_queue *queue;

    for (size_t i = 0; (queue = qn_engine_queue_at(engine, i)) != NULL; i++) {
        if (qn_str_equal(qn_queue_name(queue), name) &&
            (qn_str_is_none(account) || qn_str_equal(qn_queue_account(queue), account))) {
            return queue;
        }
    }
    qn_control_fail(call, 404, "there is no queue %.*s", QN_STR_ARG(qn_str_first(name, 100)));
    return NULL;
}

/* By ?QueueUrl=, or by "<region>/<account>/<name>" behind the path. NULL: answered. */
static struct qn_queue *find_queue(struct qn_call *call, struct qn_str rest)
{
    struct qn_str account = QN_STR_NONE;
    struct qn_str name = rest;
    struct qn_str url;

    if (rest.len > 0) {
        (void)qn_str_cut(name, '/', &name);
        account = qn_str_cut(name, '/', &name);
        return find(call, account, name);
    }
    if (!parameter(call, "QueueUrl", &url) || !qn_queue_url_split(url, true, &account, &name)) {
        qn_control_fail(call, 400, "say which queue: ?QueueUrl=...");
        return NULL;
    }
    return find(call, account, name);
}

static bool is_set(struct qn_call *call, const char *name)
{
    struct qn_str value;

    return parameter(call, name, &value) &&
           (qn_str_equal_nocase(value, QN_STR("true")) || qn_str_equal(value, QN_STR("1")));
}

static void add(json_t *attributes, const char *name, json_t *value_take)
{
    if (json_is_null(value_take)) {
        json_decref(value_take);
        return;
    }
    json_array_append_new(attributes, json_pack("{s:s, s:o}", "Name", name, "Value", value_take));
}

static json_t *number_text(int64_t value)
{
    return value < 0 ? json_null() : json_sprintf("%lld", (long long)value);
}

static json_t *message_document(const struct qn_peeked *message)
{
    json_t *attributes = json_array();
    char id[37];
    char md5[33];

    qn_random_format_uuid(message->message_id, id);
    qn_digest_hex(message->content.body_md5, sizeof(message->content.body_md5), md5);
    add(attributes, "SenderId", qn_control_text(message->content.sender_id));
    add(attributes, "SentTimestamp", number_text(message->sent_at_ms));
    add(attributes, "ApproximateReceiveCount", number_text(message->total_count));
    add(attributes, "ApproximateFirstReceiveTimestamp", number_text(message->first_received_at_ms));
    add(attributes, "MessageGroupId", qn_control_text(message->content.group_id));
    add(attributes, "MessageDeduplicationId", qn_control_text(message->content.deduplication_id));
    add(attributes, "DeadLetterQueueSourceArn", qn_control_text(message->source_arn));
    /* The handle is of no use: nothing was leased. */
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "MessageId", id, "ReceiptHandle",
                     "SQS/BACKDOOR/ACCESS", "MD5OfBody", md5, "Body",
                     qn_control_text(message->content.body), "Attribute", attributes);
}

static json_t *messages_of(struct qn_call *call, struct qn_queue *queue)
{
    bool shows_invisible = is_set(call, "ShowInvisible");
    bool shows_delayed = is_set(call, "ShowDelayed");
    json_t *list = json_array();
    struct qn_peeked message;
    struct qn_tx tx;
    uint64_t after = 0;

    qn_tx_init(call->loop, &tx, &call->request.arena, &call->loop->background);
    while (qn_engine_peek(&tx, queue, after, &message)) {
        after = message.sequence;
        if ((strcmp(message.state, "in-flight") == 0 && !shows_invisible) ||
            (strcmp(message.state, "delayed") == 0 && !shows_delayed)) {
            continue;
        }
        json_array_append_new(list, message_document(&message));
    }
    return list;
}

/* ---- the same document as XML ---- */

static void append_element(struct qn_buf *buf, const char *name, const json_t *value);

static void append_members(struct qn_buf *buf, json_t *object)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        append_element(buf, name, value);
    }
}

/* An array is its element repeated. */
static void append_element(struct qn_buf *buf, const char *name, const json_t *value)
{
    size_t i;
    const json_t *item;

    if (json_is_array(value)) {
        json_array_foreach(value, i, item)
        {
            append_element(buf, name, item);
        }
        return;
    }
    qn_buf_append_format(buf, "<%s>", name);
    if (json_is_object(value)) {
        append_members(buf, (json_t *)(uintptr_t)value);
    } else {
        qn_xml_append_text(buf, qn_str(json_string_value(value), json_string_length(value)), false);
    }
    qn_buf_append_format(buf, "</%s>", name);
}

static void answer_xml(struct qn_call *call, json_t *document_take)
{
    qn_buf_clear(&call->answer);
    qn_buf_append_literal(&call->answer, "<?xml version=\"1.0\"?>");
    append_members(&call->answer, document_take);
    json_decref(document_take);
    call->status = 200;
    call->content_type = "text/xml";
    qn_call_respond(call);
}

void qn_control_localstack_messages(struct qn_call *call, struct qn_str rest)
{
    struct qn_queue *queue = find_queue(call, rest);
    struct qn_str accept = call->request.http.accept;
    json_t *document;

    if (queue == NULL) {
        return;
    }
    document = json_pack("{s:{s:{s:o}, s:{s:s}}}", "ReceiveMessageResponse", "ReceiveMessageResult",
                         "Message", messages_of(call, queue), "ResponseMetadata", "RequestId",
                         "00000000-0000-0000-0000-000000000000");
    if (qn_str_find(accept, QN_STR("application/json")) < accept.len) {
        qn_control_answer(call, 200, document);
    } else {
        answer_xml(call, document);
    }
}
