/* Whether a rule applies to something that happened. */
#include "chaos/pred.h"
#include "chaos/verbs.h"
#include "server/base/json.h"
#include "server/model/event.h"
#include "server/model/instance.h"
#include "server/model/message.h"

enum { MESSAGES_MAX = 64, CANDIDATES = 2 };

/* What a field holds: none, one value, or two of which either may fit (key). */
struct held {
    struct qn_pred_value values[CANDIDATES];
    size_t count;
};

bool qn_rule_glob(struct qn_str pattern, struct qn_str text)
{
    size_t p = 0;
    size_t t = 0;
    size_t star = SIZE_MAX; /* behind the last * seen */
    size_t retry = 0;

    while (t < text.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = ++p;
            retry = t;
        } else if (p < pattern.len && (pattern.ptr[p] == '?' || pattern.ptr[p] == text.ptr[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star;
            t = ++retry;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*') {
        p++;
    }
    return p == pattern.len;
}

static void hold_text(struct held *held, struct qn_str text)
{
    if (!qn_str_is_none(text) && held->count < CANDIDATES) {
        struct qn_pred_value *value = &held->values[held->count++];
        *value = (struct qn_pred_value){.text = text};
        value->is_number = qn_value_number(text, &value->number);
    }
}

static void hold_number(struct held *held, int64_t number)
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

static void hold_keys(struct held *held, const struct qn_rule_subject *subject,
                      const struct qn_fact_message *message)
{
    struct qn_str key = subject->key;
    struct qn_str payload_id = subject->payload_id;

    if (!qn_str_is_none(message->body)) {
        qn_event_body_keys(message->body, subject->arena, &key, &payload_id);
    }
    hold_text(held, key);
    hold_text(held, payload_id);
}

static void hold_message_field(struct held *held, const struct qn_rule_pred *pred,
                               const struct qn_rule_subject *subject,
                               const struct qn_fact_message *message)
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

static void hold_request_field(struct held *held, enum qn_pred_field field,
                               const struct qn_rule_subject *subject)
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

static bool equals(const struct qn_rule_pred *pred, const struct qn_pred_value *value,
                   const struct qn_pred_value *wanted)
{
    if (value->is_number && wanted->is_number && value->number == wanted->number) {
        return true;
    }
    return qn_str_equal(value->text, wanted->text) ||
           (pred->field == QN_FIELD_INSTANCE && qn_instance_is(wanted->text, value->text));
}

static bool compares(const struct qn_rule_pred *pred, const struct qn_pred_value *value)
{
    const struct qn_pred_value *wanted = &pred->values[0];
    double order;

    switch (pred->op) {
    case QN_OP_GLOB:
        return qn_rule_glob(wanted->text, value->text);
    case QN_OP_EQUAL:
    case QN_OP_UNEQUAL: /* turned round by the caller */
    case QN_OP_IN:
        for (size_t i = 0; i < pred->value_count; i++) {
            if (equals(pred, value, &pred->values[i])) {
                return true;
            }
        }
        return false;
    default:
        break;
    }
    if (value->is_number && wanted->is_number) {
        order = value->number - wanted->number;
    } else {
        order = qn_str_compare(value->text, wanted->text);
    }
    switch (pred->op) {
    case QN_OP_LESS:
        return order < 0;
    case QN_OP_AT_MOST:
        return order <= 0;
    case QN_OP_MORE:
        return order > 0;
    default:
        return order >= 0;
    }
}

static bool holds(const struct qn_rule_pred *pred, const struct qn_rule_subject *subject,
                  const struct qn_fact_message *message)
{
    struct held held = {.count = 0};
    bool fits = false;

    switch (pred->kind) {
    case QN_PRED_AND:
        return holds(pred->left, subject, message) && holds(pred->right, subject, message);
    case QN_PRED_OR:
        return holds(pred->left, subject, message) || holds(pred->right, subject, message);
    case QN_PRED_NOT:
        return !holds(pred->left, subject, message);
    case QN_PRED_COMPARE:
        break;
    }
    if (pred->field < QN_FIELD_MID) {
        hold_request_field(&held, pred->field, subject);
    } else if (message != NULL) {
        hold_message_field(&held, pred, subject, message);
    }
    for (size_t i = 0; i < held.count; i++) {
        fits = fits || compares(pred, &held.values[i]);
    }
    return pred->op == QN_OP_UNEQUAL ? !fits : fits;
}

size_t qn_rule_message_count(const struct qn_rule_subject *subject)
{
    if (subject->message_count == 0) {
        return !qn_str_is_none(subject->key) || !qn_str_is_none(subject->payload_id) ? 1 : 0;
    }
    return subject->message_count < MESSAGES_MAX ? subject->message_count : MESSAGES_MAX;
}

const struct qn_fact_message *qn_rule_message(const struct qn_rule_subject *subject, size_t i)
{
    static const struct qn_fact_message unlisted = {.receive_count = -1};

    return subject->message_count == 0 ? &unlisted : &subject->messages[i];
}

static uint64_t match_messages(const struct qn_rule_pred *pred,
                               const struct qn_rule_subject *subject)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < qn_rule_message_count(subject); i++) {
        if (pred == NULL || holds(pred, subject, qn_rule_message(subject, i))) {
            mask |= UINT64_C(1) << i;
        }
    }
    return mask;
}

uint64_t qn_rule_pred_match(const struct qn_rule_pred *pred, const struct qn_rule_subject *subject)
{
    if (qn_pred_names_message(pred)) {
        return match_messages(pred, subject);
    }
    return holds(pred, subject, NULL) ? UINT64_MAX : 0;
}

static bool in_time(const struct qn_rule_when *when, int64_t since_ready_ms)
{
    return when->to_ms == 0 || (since_ready_ms >= when->from_ms && since_ready_ms < when->to_ms);
}

uint64_t qn_rule_match(const struct qn_rule *rule, const struct qn_rule_subject *subject)
{
    /* Names of actions have no dot, so that `any` means no event inside the server. */
    bool is_internal = subject->target == QN_TARGET_SQS &&
                       qn_str_find_char(subject->event, '.') < subject->event.len;

    if (rule->target != subject->target || rule->is_internal != is_internal ||
        !qn_rule_glob(rule->event, subject->event) ||
        !in_time(&rule->when, subject->since_ready_ms)) {
        return 0;
    }
    if (rule->point != QN_RULE_ANYWHERE && subject->point != QN_RULE_ANYWHERE &&
        rule->point != subject->point) {
        return 0;
    }
    if (!qn_rule_is_apt(rule, subject)) {
        return 0;
    }
    if (rule->by_message) {
        return match_messages(rule->where, subject);
    }
    return rule->where == NULL || holds(rule->where, subject, NULL) ? UINT64_MAX : 0;
}

void qn_rule_subject_init(struct qn_rule_subject *subject, enum qn_rule_target target,
                          struct qn_str event, struct qn_arena *arena)
{
    *subject = (struct qn_rule_subject){.target = target,
                                        .event = event,
                                        .arena = arena,
                                        .connection = -1,
                                        .attempt = -1,
                                        .size = -1,
                                        .wait_s = -1,
                                        .max = -1,
                                        .entries = -1};
}
