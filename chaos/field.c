/* What the fields of a predicate hold: of a request, of one of its messages, of a body. */
#include "chaos/pred.h"
#include "chaos/verbs.h"
#include "server/base/json.h"
#include "server/model/event.h"
#include "server/model/message.h"

static void hold_text(struct qn_held *held, struct qn_str text)
{
    if (!qn_str_is_none(text) && held->count < QN_HELD_MAX) {
        struct qn_pred_value *value = &held->values[held->count++];
        *value = (struct qn_pred_value){.text = text};
        value->is_number = qn_value_number(text, &value->number);
    }
}

static void hold_number(struct qn_held *held, int64_t number)
{
    if (number >= 0) {
        held->values[held->count++] =
            (struct qn_pred_value){.is_number = true, .number = (double)number};
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Takes one value; ret_text is the text of a string or a scalar as it stands, none for objects and
 * arrays. */
static void take_scalar(struct qn_json *json, struct qn_str *ret_text)
{
    enum qn_json_type type = qn_json_peek(json);
    const char *start = json->at;

    if (type == QN_JSON_STRING) {
        if (!qn_json_string(json, ret_text)) {
            *ret_text = QN_STR_NONE;
        }
        return;
    }
    bool is_scalar = type == QN_JSON_NUMBER || type == QN_JSON_BOOLEAN || type == QN_JSON_NULL;
    *ret_text = QN_STR_NONE;
    if (qn_json_skip(json) && is_scalar) {
        while (start < json->at && is_blank(*start)) {
            start++;
        }
        *ret_text = qn_str(start, (size_t)(json->at - start));
    }
}

/* Stands before the member or element that `step` names and leaves `json` there. The last of equal
 * names counts. */
static bool descend(struct qn_json *json, struct qn_str step)
{
    enum qn_json_type type = qn_json_peek(json);
    struct qn_json found = {.failed = true};
    struct qn_str name;
    int64_t index = 0;
    int64_t wanted;

    if (type == QN_JSON_OBJECT && qn_json_open_object(json)) {
        while (qn_json_next_member(json, &name)) {
            if (qn_str_equal(name, step)) {
                found = *json;
            }
            (void)qn_json_skip(json);
        }
    } else if (type == QN_JSON_ARRAY && qn_str_to_int64(step, 0, INT64_MAX, &wanted) &&
               qn_json_open_array(json)) {
        while (qn_json_next_element(json)) {
            if (index++ == wanted) {
                found = *json;
            }
            (void)qn_json_skip(json);
        }
    }
    if (json->failed || found.failed) {
        return false;
    }
    *json = found;
    return true;
}

static struct qn_str body_value(struct qn_str body, struct qn_str path, struct qn_arena *arena)
{
    struct qn_json json;
    struct qn_str text;
    struct qn_str rest = path;

    qn_json_init(&json, body, arena);
    while (!qn_str_is_none(rest)) {
        struct qn_str step = qn_str_cut(rest, '.', &rest);
        if (!descend(&json, step)) {
            return QN_STR_NONE;
        }
    }
    take_scalar(&json, &text);
    return text;
}

static struct qn_str attribute_value(struct qn_str attributes, struct qn_str name)
{
    struct qn_reader reader;
    struct qn_message_attribute attribute;

    if (qn_str_is_none(attributes)) {
        return QN_STR_NONE;
    }
    qn_reader_init(&reader, attributes);
    while (qn_content_next_attribute(&reader, &attribute)) {
        if (qn_str_equal(attribute.name, name)) {
            return qn_str_is_none(attribute.string_value) ? attribute.binary_value
                                                          : attribute.string_value;
        }
    }
    return QN_STR_NONE;
}

const struct qn_rule_keys *qn_rule_keys(const struct qn_rule_subject *subject,
                                        const struct qn_fact_message *message)
{
    struct qn_rule_keys *keys = &subject->keys[message - subject->messages];

    if (!keys->is_known && !qn_str_is_none(message->body)) {
        qn_event_body_keys(message->body, subject->arena, &keys->key, &keys->payload_id);
    }
    keys->is_known = true;
    return keys;
}

static void hold_keys(struct qn_held *held, const struct qn_rule_subject *subject,
                      const struct qn_fact_message *message)
{
    struct qn_rule_keys read = {.key = subject->key, .payload_id = subject->payload_id};
    const struct qn_rule_keys *keys = &read;

    if (subject->keys != NULL) {
        keys = qn_rule_keys(subject, message);
    } else if (!qn_str_is_none(message->body)) {
        qn_event_body_keys(message->body, subject->arena, &read.key, &read.payload_id);
    }
    hold_text(held, keys->key);
    hold_text(held, keys->payload_id);
}

void qn_field_of_message(const struct qn_rule_pred *pred, const struct qn_rule_subject *subject,
                         const struct qn_fact_message *message, struct qn_held *held)
{
    switch (pred->field) {
    case QN_FIELD_MID:
        hold_text(held, message->message_id);
        break;
    case QN_FIELD_RC:
        hold_number(held, message->receive_count);
        break;
    case QN_FIELD_GROUP:
        hold_text(held, message->group);
        break;
    case QN_FIELD_TENANT:
        if (!subject->is_fifo && !qn_str_is_none(message->group)) {
            hold_text(held, message->group);
        } else {
            hold_text(held, body_value(message->body, QN_STR("tenantId"), subject->arena));
        }
        break;
    case QN_FIELD_KEY:
        hold_keys(held, subject, message);
        break;
    case QN_FIELD_TAG:
        hold_text(held, body_value(message->body, QN_STR("tag"), subject->arena));
        if (held->count == 0) {
            hold_text(held, attribute_value(message->attributes, QN_STR("tag")));
        }
        break;
    case QN_FIELD_BODY:
        hold_text(held, body_value(message->body, pred->path, subject->arena));
        break;
    default:
        hold_text(held, attribute_value(message->attributes, pred->path));
        break;
    }
}

void qn_field_of_request(enum qn_pred_field field, const struct qn_rule_subject *subject,
                         struct qn_held *held)
{
    switch (field) {
    case QN_FIELD_QUEUE:
        hold_text(held, subject->queue);
        break;
    case QN_FIELD_INSTANCE:
        hold_text(held, subject->instance);
        break;
    case QN_FIELD_CODE:
        hold_text(held, subject->code);
        break;
    case QN_FIELD_ATTEMPT:
        hold_number(held, subject->attempt);
        break;
    case QN_FIELD_SIZE:
        hold_number(held, subject->size);
        break;
    case QN_FIELD_WAIT:
        hold_number(held, subject->wait_s);
        break;
    case QN_FIELD_MAX:
        hold_number(held, subject->max);
        break;
    case QN_FIELD_ENTRIES:
        hold_number(held, subject->entries);
        break;
    default:
        held->values[0] = (struct qn_pred_value){.is_number = true,
                                                 .number = (double)subject->since_ready_ms / 1000};
        held->count = 1;
        break;
    }
}
