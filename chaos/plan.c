/* The rules of a server, in their order. */
#include "chaos/plan.h"

enum {
    EVENTS_MAX = 1024 * 1024,
    ARENA_MAX = 256 * 1024,
};

static const char ready_name[] = "\001ready"; /* no rule can have it */

/* The slot that keeps the instant of the ready mark; NULL without counters that outlive us. */
static uint64_t *find_ready_slot(const struct qn_plan_options *options)
{
    struct qn_rule_state state;

    if (options->counters == NULL) {
        return NULL;
    }
    qn_rule_state_init(&state, qn_str_from_cstr(ready_name), options->counters);
    uint64_t *slot = state.total == state.own ? NULL : state.total;
    qn_rule_state_done(&state);
    return slot;
}

struct qn_plan *qn_plan_new(const struct qn_plan_options *options)
{
    struct qn_plan *plan = qn_memory_new(sizeof(*plan));

    plan->options = *options;
    plan->names = (struct qn_rule_names){options->actions, options->action_count};
    plan->ready_ms = options->start_ms;
    plan->ready_slot = find_ready_slot(options);
    if (plan->ready_slot != NULL && plan->ready_slot[1] != 0 &&
        (int64_t)plan->ready_slot[3] <= options->start_ms) {
        plan->ready_ms = (int64_t)plan->ready_slot[3];
        plan->is_ready = true;
    }
    plan->internal = &plan->indexes[QN_PLAN_POINTS];
    plan->clock = &plan->indexes[QN_PLAN_POINTS + 1];
    plan->events.wanted = true;
    qn_buf_init(&plan->events.encoded, EVENTS_MAX);
    qn_arena_init(&plan->arena, ARENA_MAX);
    return plan;
}

static void free_rule(struct qn_plan_rule *item)
{
    qn_rule_state_done(&item->state);
    qn_rule_free(item->rule);
    qn_memory_free(item);
}

void qn_plan_free(struct qn_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    qn_chain_drop(plan, NULL);
    qn_memory_free(plan->taken);
    for (size_t i = 0; i < plan->rule_count; i++) {
        free_rule(plan->rules[i]);
    }
    qn_memory_free(plan->rules);
    qn_plan_free_indexes(plan);
    qn_buf_done(&plan->events.encoded);
    qn_arena_done(&plan->arena);
    qn_memory_free(plan);
}

struct qn_plan_rule *qn_plan_find(const struct qn_plan *plan, struct qn_str name)
{
    for (size_t i = 0; i < plan->rule_count; i++) {
        if (qn_str_equal(plan->rules[i]->name, name)) {
            return plan->rules[i];
        }
    }
    return NULL;
}

void qn_plan_append(struct qn_plan *plan, struct qn_rule *rule_take, struct qn_str name)
{
    struct qn_plan_rule *item = qn_memory_new(sizeof(*item) + name.len);
    memcpy(item->name_text, name.ptr, name.len);
    item->name = qn_str(item->name_text, name.len);
    item->rule = rule_take;
    item->is_disabled = rule_take->is_disabled;
    item->next_tick_ms = INT64_MIN;
    qn_rule_state_init(&item->state, item->name, plan->options.counters);
    if (!plan->was_asked) { /* there from the start: `for` counts from there, too */
        item->state.since_ms = plan->ready_ms;
    }
    plan->has_new = plan->has_new || plan->was_asked;
    if (plan->rule_count == plan->rule_cap) {
        plan->rule_cap = plan->rule_cap > 0 ? 2 * plan->rule_cap : 8;
        plan->rules = qn_memory_resize(plan->rules, plan->rule_cap, sizeof(plan->rules[0]));
    }
    plan->rules[plan->rule_count++] = item;
}

/* Takes the rule at an index away. */
static void take_away(struct qn_plan *plan, size_t index)
{
    struct qn_plan_rule *item = plan->rules[index];

    qn_chain_drop(plan, item);
    plan->rule_count--;
    memmove(&plan->rules[index], &plan->rules[index + 1],
            (plan->rule_count - index) * sizeof(plan->rules[0]));
    free_rule(item);
}

bool qn_plan_remove(struct qn_plan *plan, struct qn_str name)
{
    size_t count_before = plan->rule_count;

    for (size_t i = plan->rule_count; i-- > 0;) {
        if (name.len == 0 || qn_str_equal(plan->rules[i]->name, name)) {
            qn_rule_state_forget(&plan->rules[i]->state);
            take_away(plan, i);
        }
    }
    qn_plan_reindex(plan);
    return name.len == 0 || plan->rule_count < count_before;
}

bool qn_plan_enable(struct qn_plan *plan, struct qn_str name, bool enabled)
{
    struct qn_plan_rule *item = qn_plan_find(plan, name);

    if (item == NULL) {
        return false;
    }
    item->skips_ticks = item->skips_ticks || item->is_disabled;
    item->is_disabled = !enabled;
    qn_plan_reindex(plan);
    return true;
}

bool qn_plan_has(const struct qn_plan *plan, struct qn_str name)
{
    return qn_plan_find(plan, name) != NULL;
}

size_t qn_plan_rule_count(const struct qn_plan *plan)
{
    return plan->rule_count;
}
