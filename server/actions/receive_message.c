/* ReceiveMessage: leases up to ten messages, waiting for the first one if asked to. */
#include "server/actions/batch.h"
#include "server/actions/message_attributes.h"

struct input {
    struct qn_str queue_url;
    struct qn_list attribute_names; /* the older name of the next */
    struct qn_list system_attribute_names;
    struct qn_list message_attribute_names;
    struct qn_integer max;
    struct qn_integer visibility_timeout;
    struct qn_integer wait;
    struct qn_str attempt_id;
};

struct message {
    struct qn_str message_id;
    struct qn_str receipt_handle;
    struct qn_str body_md5;
    struct qn_str body;
    struct qn_list attributes; /* struct qn_pair */
    struct qn_str attributes_md5;
    struct qn_list message_attributes; /* struct qn_message_attribute */
};

struct output {
    struct qn_list messages;
};

static const struct qn_field input_fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
    {"AttributeNames", "AttributeName", QN_STRING_LIST, 0, offsetof(struct input, attribute_names),
     NULL, NULL, NULL},
    {"MessageSystemAttributeNames", "MessageSystemAttributeName", QN_STRING_LIST, 0,
     offsetof(struct input, system_attribute_names), NULL, NULL, NULL},
    {"MessageAttributeNames", "MessageAttributeName", QN_STRING_LIST, 0,
     offsetof(struct input, message_attribute_names), NULL, NULL, NULL},
    {"MaxNumberOfMessages", NULL, QN_INTEGER, 0, offsetof(struct input, max), NULL, NULL, NULL},
    {"VisibilityTimeout", NULL, QN_INTEGER, 0, offsetof(struct input, visibility_timeout), NULL,
     NULL, NULL},
    {"WaitTimeSeconds", NULL, QN_INTEGER, 0, offsetof(struct input, wait), NULL, NULL, NULL},
    {"ReceiveRequestAttemptId", NULL, QN_STRING, 0, offsetof(struct input, attempt_id), NULL, NULL,
     NULL},
};
const struct qn_shape qn_receive_message_in = QN_SHAPE(struct input, input_fields);

static const struct qn_field message_fields[] = {
    {"MessageId", NULL, QN_STRING, 0, offsetof(struct message, message_id), NULL, NULL, NULL},
    {"ReceiptHandle", NULL, QN_STRING, 0, offsetof(struct message, receipt_handle), NULL, NULL,
     NULL},
    {"MD5OfBody", NULL, QN_STRING, 0, offsetof(struct message, body_md5), NULL, NULL, NULL},
    {"Body", NULL, QN_STRING, 0, offsetof(struct message, body), NULL, NULL, NULL},
    {"Attributes", "Attribute", QN_STRING_MAP, 0, offsetof(struct message, attributes), NULL,
     "Name", "Value"},
    {"MD5OfMessageAttributes", NULL, QN_STRING, 0, offsetof(struct message, attributes_md5), NULL,
     NULL, NULL},
    {"MessageAttributes", "MessageAttribute", QN_STRUCT_MAP, 0,
     offsetof(struct message, message_attributes), &qn_message_attribute_shape, "Name", "Value"},
};
static const struct qn_shape message_shape = QN_SHAPE(struct message, message_fields);

static const struct qn_field output_fields[] = {
    {"Messages", "Message", QN_STRUCT_LIST, 0, offsetof(struct output, messages), &message_shape,
     NULL, NULL},
};
const struct qn_shape qn_receive_message_out = QN_SHAPE(struct output, output_fields);

/* System attributes, as bits of a selection. */
enum {
    SENDER_ID = 1,
    SENT_TIMESTAMP = 2,
    RECEIVE_COUNT = 4,
    FIRST_RECEIVE = 8,
    SEQUENCE_NUMBER = 16,
    DEDUPLICATION_ID = 32,
    GROUP_ID = 64,
    TRACE_HEADER = 128,
    SOURCE_ARN = 256,
    EVERYTHING = 511
};

static const struct {
    const char *name;
    unsigned bit;
} system_attributes[] = {
    {"All", EVERYTHING},
    {"SenderId", SENDER_ID},
    {"SentTimestamp", SENT_TIMESTAMP},
    {"ApproximateReceiveCount", RECEIVE_COUNT},
    {"ApproximateFirstReceiveTimestamp", FIRST_RECEIVE},
    {"SequenceNumber", SEQUENCE_NUMBER},
    {"MessageDeduplicationId", DEDUPLICATION_ID},
    {"MessageGroupId", GROUP_ID},
    {"AWSTraceHeader", TRACE_HEADER},
    {"DeadLetterQueueSourceArn", SOURCE_ARN},
};

static bool select_system(struct qn_list names, unsigned *selection, struct qn_error *err)
{
    const struct qn_str *items = names.items;

    for (size_t i = 0; i < names.count; i++) {
        unsigned bit = 0;
        for (size_t j = 0; j < sizeof(system_attributes) / sizeof(system_attributes[0]); j++) {
            if (qn_str_equal(items[i], qn_str_from_cstr(system_attributes[j].name))) {
                bit = system_attributes[j].bit;
            }
        }
        if (bit == 0) {
            return qn_fail(err, QN_ERR_INVALID_ATTRIBUTE_NAME, "Unknown Attribute %.*s.",
                           QN_STR_ARG(qn_str_first(items[i], 256)));
        }
        *selection |= bit;
    }
    return true;
}

static bool check_attempt_id(const struct qn_tx *tx, struct qn_str attempt_id, struct qn_error *err)
{
    if (qn_str_is_none(attempt_id)) {
        return true;
    }
    if (!qn_queue_is_fifo(tx->queue)) {
        return qn_fail_value(
            err, attempt_id, "ReceiveRequestAttemptId",
            "The request include parameter that is not valid for this queue type.");
    }
    return qn_is_fifo_id(attempt_id) ||
           qn_fail_value(err, attempt_id, "ReceiveRequestAttemptId",
                         "ReceiveRequestAttemptId can only include alphanumeric and punctuation "
                         "characters. 1 to 128 in length.");
}

bool qn_receive_message_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;
    unsigned selection = 0;

    return qn_resolve_queue(tx, in->queue_url, err) &&
           qn_check_range(in->max, 1, QN_RECEIVE_MAX, "MaxNumberOfMessages",
                          "Must be between 1 and 10, if provided.", err) &&
           qn_check_range(in->visibility_timeout, 0, QN_VISIBILITY_MAX_S, "VisibilityTimeout",
                          "Must be between 0 and 43200, if provided.", err) &&
           qn_check_range(in->wait, 0, QN_WAIT_MAX_S, "WaitTimeSeconds",
                          "Must be >= 0 and <= 20, if provided.", err) &&
           select_system(in->attribute_names, &selection, err) &&
           select_system(in->system_attribute_names, &selection, err) &&
           check_attempt_id(tx, in->attempt_id, err);
}

static void add(struct qn_list *attributes, const char *name, struct qn_str value)
{
    if (!qn_str_is_none(value)) {
        ((struct qn_pair *)attributes->items)[attributes->count++] =
            (struct qn_pair){qn_str_from_cstr(name), value};
    }
}

static void add_integer(struct qn_tx *tx, struct qn_list *attributes, const char *name,
                        int64_t value)
{
    add(attributes, name, qn_arena_format(tx->arena, "%lld", (long long)value));
}

static void fill_fifo(struct qn_tx *tx, const struct qn_delivery *delivery, unsigned selection,
                      struct qn_list *attributes)
{
    char text[21];

    if ((selection & SEQUENCE_NUMBER) != 0) {
        qn_engine_format_sequence(delivery->sequence, text);
        add(attributes, "SequenceNumber", qn_arena_copy(tx->arena, qn_str(text, 20)));
    }
    if ((selection & DEDUPLICATION_ID) != 0) {
        add(attributes, "MessageDeduplicationId",
            delivery->deduplication_is_message_id
                ? qn_uuid_text(tx, delivery->deduplication_message_id)
                : delivery->content.deduplication_id);
    }
}

static bool fill_system(struct qn_tx *tx, const struct qn_delivery *delivery, unsigned selection,
                        struct qn_list *attributes, struct qn_error *err)
{
    if (selection == 0) {
        return true;
    }
    if (!qn_list_new(tx, 16, sizeof(struct qn_pair), attributes, err)) {
        return false;
    }
    if ((selection & SENDER_ID) != 0) {
        add(attributes, "SenderId", delivery->content.sender_id);
    }
    if ((selection & FIRST_RECEIVE) != 0) {
        add_integer(tx, attributes, "ApproximateFirstReceiveTimestamp",
                    delivery->first_received_at_ms);
    }
    if ((selection & RECEIVE_COUNT) != 0) {
        add_integer(tx, attributes, "ApproximateReceiveCount", delivery->total_count);
    }
    if ((selection & SENT_TIMESTAMP) != 0) {
        add_integer(tx, attributes, "SentTimestamp", delivery->sent_at_ms);
    }
    if (delivery->sequence > 0) {
        fill_fifo(tx, delivery, selection, attributes);
    }
    if ((selection & GROUP_ID) != 0) {
        add(attributes, "MessageGroupId", delivery->content.group_id);
    }
    if ((selection & TRACE_HEADER) != 0) {
        add(attributes, "AWSTraceHeader", delivery->content.trace_header);
    }
    if ((selection & SOURCE_ARN) != 0) {
        add(attributes, "DeadLetterQueueSourceArn", delivery->source_arn);
    }
    return true;
}

/* An exact name, "All", "*", ".*", or "prefix.*" for every name that begins with the prefix (8.7).
 */
static bool is_selected(struct qn_list names, struct qn_str name)
{
    const struct qn_str *items = names.items;

    for (size_t i = 0; i < names.count; i++) {
        if (qn_str_equal(items[i], name) || qn_str_equal(items[i], QN_STR("All")) ||
            qn_str_equal(items[i], QN_STR("*"))) {
            return true;
        }
        if (qn_str_ends_with(items[i], QN_STR(".*")) &&
            qn_str_starts_with(name, qn_str_first(items[i], items[i].len - 2))) {
            return true;
        }
    }
    return false;
}

static bool fill_user(struct qn_tx *tx, const struct input *in, const struct qn_delivery *delivery,
                      struct message *message, struct qn_error *err)
{
    struct qn_reader reader;
    struct qn_message_attribute attribute;
    struct qn_message_attribute *items;
    char *hex;

    if (in->message_attribute_names.count == 0 || delivery->content.attributes.len == 0) {
        return true;
    }
    if (!qn_list_new(tx, QN_MESSAGE_ATTRIBUTES_MAX, sizeof(attribute), &message->message_attributes,
                     err)) {
        return false;
    }
    items = message->message_attributes.items;
    qn_reader_init(&reader, delivery->content.attributes);
    while (message->message_attributes.count < QN_MESSAGE_ATTRIBUTES_MAX &&
           qn_content_next_attribute(&reader, &attribute)) {
        if (is_selected(in->message_attribute_names, attribute.name)) {
            items[message->message_attributes.count++] = attribute;
        }
    }
    if (message->message_attributes.count > 0 &&
        (hex = qn_arena_alloc_raw(tx->arena, 33)) != NULL) {
        qn_attributes_md5(items, message->message_attributes.count, hex);
        message->attributes_md5 = qn_str(hex, 32);
    }
    return true;
}

static bool fill_output(struct qn_tx *tx, const struct input *in,
                        const struct qn_delivery *deliveries, size_t count, struct output *out,
                        struct qn_error *err)
{
    unsigned selection = 0;

    (void)select_system(in->attribute_names, &selection, err);
    (void)select_system(in->system_attribute_names, &selection, err);
    if (!qn_list_new(tx, count, sizeof(struct message), &out->messages, err)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct message *message = (struct message *)out->messages.items + i;
        message->message_id = qn_uuid_text(tx, deliveries[i].message_id);
        message->receipt_handle = deliveries[i].receipt_handle;
        message->body_md5 = qn_md5_hex(tx, deliveries[i].content.body_md5);
        message->body = deliveries[i].content.body;
        if (!fill_system(tx, &deliveries[i], selection, &message->attributes, err) ||
            !fill_user(tx, in, &deliveries[i], message, err)) {
            return false;
        }
        out->messages.count++;
    }
    return true;
}

static struct qn_receive receive_of(const struct qn_tx *tx, const struct input *in)
{
    return (struct qn_receive){
        .max = in->max.present ? in->max.value : 1,
        .visibility_timeout_s = in->visibility_timeout.present
                                    ? in->visibility_timeout.value
                                    : qn_queue_settings_of(tx->queue)->visibility_timeout_s,
        .attempt_id = in->attempt_id,
    };
}

static int64_t wait_s(const struct qn_tx *tx, const struct input *in)
{
    return in->wait.present ? in->wait.value : qn_queue_settings_of(tx->queue)->wait_s;
}

/* Nothing to hand out: a long poll waits on, anything else is answered empty. */
static void come_away_empty(struct qn_tx *tx, const struct input *in)
{
    if (!tx->wait_is_over && wait_s(tx, in) > 0) {
        tx->park =
            (struct qn_park){.queue = tx->queue, .deadline_ms = tx->now_ms + wait_s(tx, in) * 1000};
    } else {
        qn_engine_count_empty_receive(tx->queue);
    }
}

/* What a fault adds to the answer: copies of another call's messages, or its own twice. */
static void heed_copies(struct qn_tx *tx, struct qn_receive *receive)
{
    const struct qn_verdict *verdict = tx->verdict;

    receive->shared = tx->shared;
    receive->shared_count = tx->shared_count;
    if (verdict == NULL || verdict->kind != QN_VERDICT_DUP_IN_BATCH) {
        return;
    }
    uint8_t(*ids)[16] = NULL;
    receive->doubles_all = verdict->entry_mask == UINT64_MAX;
    if (!receive->doubles_all && tx->facts != NULL) {
        ids = qn_arena_alloc(tx->arena, tx->facts->message_count * sizeof(*ids));
    }
    for (size_t i = 0; ids != NULL && i < tx->facts->message_count && i < 64; i++) {
        bool is_named = (verdict->entry_mask >> i & 1U) != 0;
        if (is_named &&
            qn_random_parse_uuid(tx->facts->messages[i].message_id, ids[receive->doubled_count])) {
            receive->doubled_count++;
        }
    }
    receive->doubled = (const uint8_t(*)[16])ids;
}

bool qn_receive_message_execute(struct qn_tx *tx, const void *input, void *ret_output,
                                struct qn_error *err)
{
    const struct input *in = input;
    struct qn_delivery deliveries[QN_RECEIVE_MAX];
    size_t count = 0;
    enum qn_verdict_kind verdict = tx->verdict == NULL ? QN_VERDICT_PASS : tx->verdict->kind;
    struct qn_receive receive = receive_of(tx, in);

    tx->park = (struct qn_park){0};
    if (verdict == QN_VERDICT_SHORT && tx->verdict->count < receive.max) {
        receive.max = tx->verdict->count;
    }
    if (verdict == QN_VERDICT_FALSE_EMPTY || receive.max < 1) {
        qn_engine_count_empty_receive(tx->queue);
        return true;
    }
    heed_copies(tx, &receive);
    enum qn_receive_result result =
        qn_engine_receive(tx, tx->queue, &receive, deliveries, &count, err);
    if (result == QN_RECEIVE_FAILED) {
        return false;
    }
    if (result == QN_RECEIVE_OVER_LIMIT && wait_s(tx, in) == 0) {
        return qn_fail(err, QN_ERR_OVER_LIMIT,
                       "Too many messages are in flight: the limit of %lld is reached.",
                       (long long)qn_engine_options_of(tx->engine)->limits.in_flight);
    }
    if (result == QN_RECEIVE_GOES_ON) {
        tx->park =
            (struct qn_park){.queue = tx->queue, .deadline_ms = tx->now_ms + wait_s(tx, in) * 1000};
        return true;
    }
    if (count == 0) {
        come_away_empty(tx, in);
        return true;
    }
    return fill_output(tx, in, deliveries, count, ret_output, err);
}

void qn_receive_message_look(struct qn_tx *tx, const void *input, struct qn_facts *ret_facts)
{
    const struct input *in = input;
    struct qn_receive receive = receive_of(tx, in);

    ret_facts->max = receive.max;
    ret_facts->wait_s = wait_s(tx, in);
    qn_engine_look_receive(tx, tx->queue, &receive, ret_facts);
}
