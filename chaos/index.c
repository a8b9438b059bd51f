/* Which rules are asked when: the enabled ones, by point and API action, or by event. */
#include "chaos/plan.h"

enum { BITS = 64 };

/* The API actions (or, inside the server, kinds of events) that the rule's event names. Without a
 * list of names, and beyond the bits, every one may be meant. */
static uint64_t bits_of(const struct qn_plan *plan, const struct qn_rule *rule)
{
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
        bits |= (uint64_t)qn_rule_glob(rule->event, name) << i;
    }
    return bits;
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
}

void qn_plan_reindex(struct qn_plan *plan)
{
    for (size_t i = 0; i < QN_PLAN_INDEXES; i++) {
        plan->indexes[i].count = 0;
        plan->indexes[i].bits = 0;
    }
    for (size_t i = 0; i < plan->rule_count; i++) {
        struct qn_plan_rule *item = plan->rules[i];
        item->bits = bits_of(plan, item->rule);
        if (!item->is_disabled) {
            push(index_of(plan, item->rule), item);
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

uint64_t qn_plan_action_bit(const struct qn_plan *plan, struct qn_str action)
{
    for (size_t i = 0; i < plan->names.count && i < BITS; i++) {
        if (qn_str_equal(action, qn_str_from_cstr(plan->names.actions[i]))) {
            return UINT64_C(1) << i;
        }
    }
    return UINT64_MAX;
}
