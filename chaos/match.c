/* Whether a rule applies to something that happened. */
#include "chaos/pred.h"
#include "chaos/verbs.h"
#include "server/model/instance.h"

enum { MESSAGES_MAX = 64 };

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

/* What is known of a subject before its messages are looked at, and before it is answered. */
enum truth { NO, YES, UNKNOWN };

struct view {
    const struct qn_rule_subject *subject;
    const struct qn_fact_message *message; /* NULL: it is about no message */
    bool knows_all;
    bool knows_time;
};

static bool is_known(const struct view *view, enum qn_pred_field field)
{
    return view->knows_all || (field < QN_FIELD_MID && field != QN_FIELD_CODE &&
                               (field != QN_FIELD_TIME || view->knows_time));
}

static enum truth compare(const struct qn_rule_pred *pred, const struct view *view)
{
    struct qn_held held;
    bool fits = false;

    if (!is_known(view, pred->field)) {
        return UNKNOWN;
    }
    held.count = 0;
    if (pred->field < QN_FIELD_MID) {
        qn_field_of_request(pred->field, view->subject, &held);
    } else if (view->message != NULL) {
        qn_field_of_message(pred, view->subject, view->message, &held);
    }
    for (size_t i = 0; i < held.count; i++) {
        fits = fits || compares(pred, &held.values[i]);
    }
    return (pred->op == QN_OP_UNEQUAL ? !fits : fits) ? YES : NO;
}

static enum truth truth_of(const struct qn_rule_pred *pred, const struct view *view)
{
    /* The value of AND and of OR that is decided by one side alone. */
    enum truth deciding = pred->kind == QN_PRED_AND ? NO : YES;
    enum truth left;
    enum truth right;

    if (pred->kind == QN_PRED_COMPARE) {
        return compare(pred, view);
    }
    left = truth_of(pred->left, view);
    if (pred->kind == QN_PRED_NOT) {
        return left == UNKNOWN ? UNKNOWN : left == YES ? NO : YES;
    }
    if (left == deciding) {
        return left;
    }
    right = truth_of(pred->right, view);
    return right == deciding || left != UNKNOWN ? right : UNKNOWN;
}

static bool holds(const struct qn_rule_pred *pred, const struct qn_rule_subject *subject,
                  const struct qn_fact_message *message)
{
    const struct view view = {.subject = subject, .message = message, .knows_all = true};

    return truth_of(pred, &view) == YES;
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

/* By event, point, and what may be done to this kind of queue. */
static bool is_meant(const struct qn_rule *rule, const struct qn_rule_subject *subject)
{
    /* Names of actions have no dot, so that `any` means no event inside the server. */
    bool is_internal = subject->target == QN_TARGET_SQS &&
                       qn_str_find_char(subject->event, '.') < subject->event.len;

    return rule->target == subject->target && rule->is_internal == is_internal &&
           qn_rule_glob(rule->event, subject->event) &&
           (rule->point == QN_RULE_ANYWHERE || subject->point == QN_RULE_ANYWHERE ||
            rule->point == subject->point) &&
           qn_rule_is_apt(rule, subject);
}

uint64_t qn_rule_match(const struct qn_rule *rule, const struct qn_rule_subject *subject)
{
    if (!in_time(&rule->when, subject->since_ready_ms) ||
        (!subject->is_meant && !is_meant(rule, subject)) || !qn_rule_has_room(rule, subject)) {
        return 0;
    }
    if (rule->by_message) {
        return match_messages(rule->where, subject);
    }
    return rule->where == NULL || holds(rule->where, subject, NULL) ? UINT64_MAX : 0;
}

bool qn_rule_may_match(const struct qn_rule *rule, const struct qn_rule_subject *subject,
                       bool is_now)
{
    const struct view view = {.subject = subject, .knows_time = is_now};

    return (!is_now || in_time(&rule->when, subject->since_ready_ms)) &&
           (rule->where == NULL || truth_of(rule->where, &view) != NO);
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
