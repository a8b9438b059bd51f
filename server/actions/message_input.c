/* One message to be sent: what AWS refuses about it, and the sending. */
#include "server/actions/message_attributes.h"

#include "server/base/digest.h"

size_t qn_message_size(const struct qn_message_input *message)
{
    return message->body.len + qn_message_attributes_size(message->attributes);
}

static bool check_body(const struct qn_tx *tx, const struct qn_message_input *message,
                       bool in_batch, struct qn_error *err)
{
    int64_t max = qn_queue_settings_of(tx->queue)->maximum_message_size;

    if (message->body.len == 0) {
        return qn_fail(err, QN_ERR_MISSING_PARAMETER,
                       "The request must contain the parameter MessageBody.");
    }
    /* MSG-2 is XML's own rule. */
    if (!qn_str_is_xml_text(message->body)) {
        return qn_fail(
            err, QN_ERR_INVALID_MESSAGE_CONTENTS,
            "Invalid binary character was found in the message body, the set of allowed "
            "characters is #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 "
            "to #x10FFFF");
    }
    if (qn_message_size(message) > (size_t)max) {
        return qn_fail(
            err, QN_ERR_INVALID_PARAMETER_VALUE,
            "One or more parameters %s. Reason: Message must be shorter than %lld bytes.",
            in_batch ? "cannot be validated" : "are invalid", (long long)max);
    }
    return true;
}

static bool check_delay(const struct qn_tx *tx, const struct qn_message_input *message,
                        struct qn_error *err)
{
    if (!qn_check_range(message->delay_s, 0, QN_DELAY_MAX_S, "DelaySeconds",
                        "DelaySeconds must be >= 0 and <= 900.", err)) {
        return false;
    }
    if (qn_queue_is_fifo(tx->queue) && message->delay_s.present && message->delay_s.value > 0) {
        return qn_check_range(
            message->delay_s, 0, 0, "DelaySeconds",
            "The request include parameter that is not valid for this queue type.", err);
    }
    return true;
}

bool qn_message_check_fifo_ids(const struct qn_queue *queue, const struct qn_message_input *message,
                               enum qn_error_code missing_group_code, struct qn_error *err)
{
    if (!qn_queue_is_fifo(queue)) {
        return true;
    }
    if (qn_str_is_none(message->group_id)) {
        return qn_fail(err, missing_group_code,
                       "The request must contain the parameter MessageGroupId.");
    }
    if (qn_str_is_none(message->deduplication_id) &&
        !qn_queue_settings_of(queue)->content_based_deduplication) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "The queue should either have ContentBasedDeduplication enabled or "
                       "MessageDeduplicationId provided explicitly");
    }
    return true;
}

static bool check_ids(const struct qn_tx *tx, const struct qn_message_input *message,
                      struct qn_error *err)
{
    if (!qn_str_is_none(message->group_id) && !qn_is_fifo_id(message->group_id)) {
        return qn_fail_value(err, message->group_id, "MessageGroupId",
                             "MessageGroupId can only include alphanumeric and punctuation "
                             "characters. 1 to 128 in length.");
    }
    if (qn_str_is_none(message->deduplication_id)) {
        return true;
    }
    if (!qn_queue_is_fifo(tx->queue)) {
        return qn_fail_value(
            err, message->deduplication_id, "MessageDeduplicationId",
            "The request include parameter that is not valid for this queue type.");
    }
    if (!qn_is_fifo_id(message->deduplication_id)) {
        return qn_fail_value(err, message->deduplication_id, "MessageDeduplicationId",
                             "MessageDeduplicationId can only include alphanumeric and punctuation "
                             "characters. 1 to 128 in length.");
    }
    return true;
}

bool qn_message_check(const struct qn_tx *tx, const struct qn_message_input *message, bool in_batch,
                      struct qn_error *err)
{
    return check_body(tx, message, in_batch, err) && check_delay(tx, message, err) &&
           qn_message_attributes_check(message->attributes, err) &&
           qn_message_system_attributes_check(message->system_attributes, err) &&
           (in_batch ||
            qn_message_check_fifo_ids(tx->queue, message, QN_ERR_MISSING_PARAMETER, err)) &&
           check_ids(tx, message, err);
}

/* With messageGroup scope (as given at creation) the group is part of the key (12.2). */
static struct qn_str deduplication_key(struct qn_tx *tx, const struct qn_content *content)
{
    struct qn_str key;

    if (!qn_queue_is_fifo(tx->queue)) {
        return QN_STR_NONE;
    }
    if (!qn_queue_settings_of(tx->queue)->created_with_group_scope) {
        return content->deduplication_id;
    }
    size_t len = content->group_id.len + 1 + content->deduplication_id.len;
    char *text = qn_arena_alloc_raw(tx->arena, len);
    if (text == NULL) {
        return content->deduplication_id;
    }
    memcpy(text, content->group_id.ptr, content->group_id.len);
    text[content->group_id.len] = '\n';
    memcpy(text + content->group_id.len + 1, content->deduplication_id.ptr,
           content->deduplication_id.len);
    key = qn_str(text, len);
    return key;
}

static struct qn_str content_hash(struct qn_tx *tx, struct qn_str body)
{
    uint8_t digest[32];
    char *text = qn_arena_alloc_raw(tx->arena, 65);

    if (text == NULL) {
        return QN_STR("");
    }
    qn_digest_sha256(body, digest);
    qn_digest_hex(digest, sizeof(digest), text);
    return qn_str(text, 64);
}

/* Digests of what was sent, also when it turns out to be a duplicate (DED-3). */
static void fill_digests(struct qn_tx *tx, const struct qn_message_input *message,
                         const struct qn_content *content, struct qn_message_output *output)
{
    char *hex;

    output->body_md5 = qn_md5_hex(tx, content->body_md5);
    if (message->attributes.count > 0 && (hex = qn_arena_alloc_raw(tx->arena, 33)) != NULL) {
        qn_attributes_md5(message->attributes.items, message->attributes.count, hex);
        output->attributes_md5 = qn_str(hex, 32);
    }
    if (message->system_attributes.count > 0 && (hex = qn_arena_alloc_raw(tx->arena, 33)) != NULL) {
        qn_attributes_md5(message->system_attributes.items, message->system_attributes.count, hex);
        output->system_attributes_md5 = qn_str(hex, 32);
    }
}

static void fill_content(struct qn_tx *tx, const struct qn_message_input *message,
                         struct qn_buf *attributes, struct qn_content *content)
{
    const struct qn_message_attribute *system = message->system_attributes.items;

    *content = (struct qn_content){
        .body = message->body,
        .sender_id = tx->caller->account,
        .group_id = message->group_id,
        .trace_header = message->system_attributes.count > 0 ? system[0].string_value
                                                             : tx->caller->trace_header,
    };
    qn_digest_md5(message->body, content->body_md5);
    if (qn_queue_is_fifo(tx->queue)) {
        content->deduplication_id = qn_str_is_none(message->deduplication_id)
                                        ? content_hash(tx, message->body)
                                        : message->deduplication_id;
    }
    if (message->attributes.count > 0) {
        qn_message_attributes_sort(message->attributes);
        qn_content_encode_attributes(attributes, message->attributes.items,
                                     message->attributes.count);
    }
    content->attributes = qn_buf_str(attributes);
}

bool qn_message_send(struct qn_tx *tx, const struct qn_message_input *message, bool pretend,
                     struct qn_message_output *ret_output, struct qn_error *err)
{
    struct qn_buf attributes;
    struct qn_content content;
    struct qn_sent sent = {0};
    char sequence_text[21];

    if (!qn_engine_has_memory(tx->engine, qn_message_size(message))) {
        return qn_fail(
            err, QN_ERR_SERVICE_UNAVAILABLE,
            "The memory for stored messages is used up; receive and delete some, or start "
            "the server with a larger --max-memory.");
    }
    qn_buf_init(&attributes, SIZE_MAX);
    fill_content(tx, message, &attributes, &content);
    struct qn_send send = {
        .content = &content,
        .delay_s = message->delay_s.present ? message->delay_s.value
                                            : qn_queue_settings_of(tx->queue)->delay_s,
        .deduplication_key = deduplication_key(tx, &content),
    };
    if (pretend) {
        qn_random_uuid(tx->random, sent.message_id);
        sent.sequence = qn_queue_is_fifo(tx->queue) ? 1 : 0;
    } else {
        qn_engine_send(tx, tx->queue, &send, &sent);
    }
    fill_digests(tx, message, &content, ret_output);
    ret_output->message_id = qn_uuid_text(tx, sent.message_id);
    if (sent.sequence > 0) {
        qn_engine_format_sequence(sent.sequence, sequence_text);
        ret_output->sequence_number = qn_arena_copy(tx->arena, qn_str(sequence_text, 20));
    }
    qn_buf_done(&attributes);
    return true;
}
