/* Events of the source aws:sqs. */
#include "client/lambda/event.h"

static const char begin[] = "{\"Records\":[";
static const char end[] = "]}";

static void copy(json_t *record, const char *name, const json_t *message, const char *field)
{
    json_t *value = json_object_get(message, field);

    if (value != NULL) {
        (void)json_object_set(record, name, value);
    }
}

static json_t *attribute_of(const json_t *given)
{
    json_t *attribute = json_object();

    copy(attribute, "stringValue", given, "StringValue");
    copy(attribute, "binaryValue", given, "BinaryValue");
    (void)json_object_set_new(attribute, "stringListValues", json_array());
    (void)json_object_set_new(attribute, "binaryListValues", json_array());
    copy(attribute, "dataType", given, "DataType");
    return attribute;
}

json_t *qn_lambda_record_new(const json_t *message, const char *queue_arn, const char *region)
{
    json_t *record = json_object();
    json_t *attributes = json_object();
    const char *name;
    json_t *given;

    json_object_foreach(json_object_get(message, "MessageAttributes"), name, given)
    {
        (void)json_object_set_new(attributes, name, attribute_of(given));
    }
    copy(record, "messageId", message, "MessageId");
    copy(record, "receiptHandle", message, "ReceiptHandle");
    copy(record, "body", message, "Body");
    copy(record, "attributes", message, "Attributes");
    (void)json_object_set_new(record, "messageAttributes", attributes);
    copy(record, "md5OfBody", message, "MD5OfBody");
    copy(record, "md5OfMessageAttributes", message, "MD5OfMessageAttributes");
    (void)json_object_set_new(record, "eventSource", json_string("aws:sqs"));
    (void)json_object_set_new(record, "eventSourceARN", json_string(queue_arn));
    (void)json_object_set_new(record, "awsRegion", json_string(region));
    return record;
}

void qn_lambda_event_begin(struct qn_buf *event)
{
    qn_buf_clear(event);
    qn_buf_append(event, begin, sizeof(begin) - 1);
}

bool qn_lambda_event_add(struct qn_buf *event, const json_t *record)
{
    bool is_first = event->len == sizeof(begin) - 1;
    size_t len = json_dumpb(record, NULL, 0, JSON_COMPACT);

    if (!is_first && event->len + 1 + len + sizeof(end) - 1 > QN_LAMBDA_EVENT_MAX) {
        return false;
    }
    if (!is_first) {
        qn_buf_append_char(event, ',');
    }
    if (qn_buf_reserve(event, len)) {
        event->len += json_dumpb(record, event->ptr + event->len, len, JSON_COMPACT);
    }
    return true;
}

void qn_lambda_event_end(struct qn_buf *event)
{
    qn_buf_append(event, end, sizeof(end) - 1);
}
