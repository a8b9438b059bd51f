/* Which rules are asked when: the enabled ones, by point and API action, or by event. */
#include "chaos/parse.h"
#include "chaos/plan.h"
#include "chaos/pred.h"
#include "chaos/verbs.h"

enum { BITS = 64 };

/* The API actions (or, inside the server, kinds of events) to which the rule can apply. Without a
 * list of names, and beyond the bits, every one may be meant. */
static uint64_t bits_of(const struct qn_plan *plan, const struct qn_rule *rule)
{
    struct qn_rule_subject subject;
    uint64_t bits = 0;

    if (rule->is_internal) {
        for (int kind = 0; kind < QN_EVENT_KIND_COUNT; kind++) {
            const char *name = qn_event_kind_name((enum qn_event_kind)kind);
            bits |= (uint64_t)qn_str_equal(rule->event, qn_str_from_cstr(name)) << kind;
        }
        return bits;
    }
    if (plan->names.actions == NULL || plan->names.count > BITS) {
        return UINT64_MAX;
    }
    for (size_t i = 0; i < plan->names.count; i++) {
        struct qn_str name = qn_str_from_cstr(plan->names.actions[i]);
        qn_rule_subject_init(&subject, QN_TARGET_SQS, name, NULL);
        bits |= (uint64_t)(qn_rule_glob(rule->event, name) && qn_rule_is_apt(rule, &subject)) << i;
    }
    return bits;
}

static bool spares_fifo(const struct qn_rule *rule)
{
    bool is_of_fifo;

    for (size_t i = 0; i < rule->action_count && !rule->unsound; i++) {
        if (qn_rule_promise(rule, &rule->actions[i], true, &is_of_fifo) != NULL) {
            return true;
        }
    }
    return false;
}

/* Done to the call as a whole, or to none. */
static bool touches_messages(enum qn_rule_verb verb)
{
    switch (verb) {
    case QN_DO_ERROR:
    case QN_DO_DELAY:
    case QN_DO_HOLD:
    case QN_DO_HANG:
    case QN_DO_RESET:
    case QN_DO_CLOSE:
    case QN_DO_TRUNCATE:
    case QN_DO_GARBAGE:
    case QN_DO_HTML:
    case QN_DO_BANDWIDTH:
    case QN_DO_SLOW_CLOSE:
    case QN_DO_CRASH:
    case QN_DO_AFTER:
    case QN_DO_MARK:
        return false;
    default:
        return qn_verb_of(verb)->carrier != QN_CARRIED_BY_HARNESS;
    }
}

static bool needs_messages(const struct qn_rule *rule)
{
    for (size_t i = 0; i < rule->action_count; i++) {
        if (touches_messages(rule->actions[i].verb)) {
            return true;
        }
    }
    return rule->by_message;
}

/* These work on a message also when it was just deleted. */
static bool brings_back(const struct qn_rule *rule)
{
    for (size_t i = 0; i < rule->action_count; i++) {
        enum qn_rule_verb verb = rule->actions[i].verb;
        if (verb == QN_DO_RESURRECT || verb == QN_DO_DUP_SEND || verb == QN_DO_POISON_BODY) {
            return true;
        }
    }
    return false;
}

uint64_t qn_plan_text_bit(struct qn_str text)
{
    return qn_str_is_none(text) ? 0 : UINT64_C(1) << (qn_str_hash(text) % (BITS - 1));
}

uint64_t qn_plan_text_hash(struct qn_str text)
{
    return qn_str_is_none(text) ? 0 : qn_str_hash(text) | 1;
}

static uint64_t key_bits_of(const struct qn_rule *rule)
{
    struct qn_str text = qn_pred_only(rule->where, QN_FIELD_KEY);

    return qn_str_is_none(text) ? UINT64_MAX : qn_plan_text_bit(text);
}

/* What can be said of the rule once and for all, so that little has to be asked each time. */
static void describe(const struct qn_plan *plan, struct qn_plan_rule *item)
{
    const struct qn_rule *rule = item->rule;

    item->bits = bits_of(plan, rule);
    item->spares_fifo = spares_fifo(rule);
    item->needs_messages = needs_messages(rule);
    item->queue_hash = qn_plan_text_hash(qn_pred_only(rule->where, QN_FIELD_QUEUE));
    item->key_bits = key_bits_of(rule);
}

static struct qn_plan_index *index_of(struct qn_plan *plan, const struct qn_rule *rule)
{
    if (rule->target == QN_TARGET_CLOCK) {
        return plan->clock;
    }
    return rule->is_internal ? plan->internal : &plan->indexes[qn_plan_point(rule->point)];
}

static void push(struct qn_plan_index *index, struct qn_plan_rule *item)
{
    if (index->count == index->cap) {
        index->cap = index->cap > 0 ? 2 * index->cap : 8;
        index->rules = qn_memory_resize(index->rules, index->cap, sizeof(index->rules[0]));
    }
    index->rules[index->count++] = item;
    index->bits |= item->bits;
    index->asks_keys = index->asks_keys || item->key_bits != UINT64_MAX;
}

void qn_plan_reindex(struct qn_plan *plan)
{
    for (size_t i = 0; i < QN_PLAN_INDEXES; i++) {
        plan->indexes[i].count = 0;
        plan->indexes[i].bits = 0;
        plan->indexes[i].asks_keys = false;
    }
    plan->resurrects = false;
    for (size_t i = 0; i < plan->rule_count; i++) {
        struct qn_plan_rule *item = plan->rules[i];
        describe(plan, item);
        if (!item->is_disabled) {
            push(index_of(plan, item->rule), item);
            plan->resurrects = plan->resurrects || brings_back(item->rule);
        }
    }
}

void qn_plan_free_indexes(struct qn_plan *plan)
{
    for (size_t i = 0; i < QN_PLAN_INDEXES; i++) {
        qn_memory_free(plan->indexes[i].rules);
    }
}

bool qn_plan_cares(const struct qn_plan *plan, enum qn_chaos_point point)
{
    return plan->indexes[point].count > 0;
}

bool qn_plan_cares_about(const struct qn_plan *plan, enum qn_chaos_point point, size_t action)
{
    return action < BITS ? (plan->indexes[point].bits >> action & 1U) != 0
                         : plan->indexes[point].count > 0;
}

bool qn_plan_resurrects(const struct qn_plan *plan)
{
    return plan->resurrects;
}

bool qn_plan_wants_events(const struct qn_plan *plan)
{
    return plan->internal->count > 0 || plan->has_fired;
}

uint64_t qn_plan_action_bit(const struct qn_plan *plan, struct qn_str action)
{
    /* The server's own names, as a rule: then the pointer tells. */
    for (size_t i = 0; i < plan->names.count && i < BITS; i++) {
        if (plan->names.actions[i] == action.ptr) {
            return UINT64_C(1) << i;
        }
    }
    for (size_t i = 0; i < plan->names.count && i < BITS; i++) {
        if (qn_str_equal(action, qn_str_from_cstr(plan->names.actions[i]))) {
            return UINT64_C(1) << i;
        }
    }
    return UINT64_MAX;
}
