/* The rules of a server, in their order: which one fires now. */
#include "chaos/plan.h"

enum {
    EVENTS_MAX = 1024 * 1024,
    ARENA_MAX = 256 * 1024,
    TICKS_PER_CALL = 1000, /* a jump of the clock over very many ticks is done in slices */
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
    }
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

static bool is_request_rule(const struct qn_rule *rule)
{
    return rule->target == QN_TARGET_SQS && !rule->is_internal;
}

void qn_plan_append(struct qn_plan *plan, struct qn_rule *rule_take, struct qn_str name)
{
    struct qn_plan_rule *item = qn_memory_new(sizeof(*item) + name.len);
    memcpy(item->name_text, name.ptr, name.len);
    item->name = qn_str(item->name_text, name.len);
    item->rule = rule_take;
    item->next_tick_ms = INT64_MIN;
    qn_rule_state_init(&item->state, item->name, plan->options.counters);
    if (!plan->was_asked) { /* there from the start: `for` counts from there, too */
        item->state.since_ms = plan->ready_ms;
    }
    if (plan->rule_count == plan->rule_cap) {
        plan->rule_cap = plan->rule_cap > 0 ? 2 * plan->rule_cap : 8;
        plan->rules = qn_memory_resize(plan->rules, plan->rule_cap, sizeof(plan->rules[0]));
    }
    plan->rules[plan->rule_count++] = item;
    plan->cares[qn_plan_point(rule_take->point)] += is_request_rule(rule_take);
    plan->clock_rules += rule_take->target == QN_TARGET_CLOCK;
}

/* Takes the rule at an index away. */
static void take_away(struct qn_plan *plan, size_t index)
{
    struct qn_plan_rule *item = plan->rules[index];

    qn_chain_drop(plan, item);
    plan->cares[qn_plan_point(item->rule->point)] -= is_request_rule(item->rule);
    plan->clock_rules -= item->rule->target == QN_TARGET_CLOCK;
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
    return name.len == 0 || plan->rule_count < count_before;
}

size_t qn_plan_rule_count(const struct qn_plan *plan)
{
    return plan->rule_count;
}

json_t *qn_plan_list(const struct qn_plan *plan)
{
    json_t *list = json_array();

    for (size_t i = 0; i < plan->rule_count; i++) {
        const struct qn_plan_rule *item = plan->rules[i];
        const uint64_t *total = item->state.total;
        json_t *row = json_object();
        json_object_set_new(row, "name", json_stringn(item->name.ptr, item->name.len));
        json_object_set_new(row, "text", json_stringn(item->rule->text.ptr, item->rule->text.len));
        json_object_set_new(row, "matched", json_integer((json_int_t)total[1]));
        json_object_set_new(row, "fired", json_integer((json_int_t)total[2]));
        json_object_set_new(row, "last_fired",
                            total[2] > 0 ? json_integer((json_int_t)total[3]) : json_null());
        json_array_append_new(list, row);
    }
    return list;
}

bool qn_plan_cares(const struct qn_plan *plan, enum qn_chaos_point point)
{
    return plan->cares[point] > 0;
}

static int64_t since_ready(const struct qn_plan *plan, int64_t now_ms)
{
    return now_ms > plan->ready_ms ? now_ms - plan->ready_ms : 0;
}

/* Asks one rule; returns whether it is now the one that decides. */
static bool ask(struct qn_plan *plan, struct qn_plan_rule *item, const struct qn_plan_rule *first,
                const struct qn_plan_scene *scene, struct qn_verdict *verdict)
{
    struct qn_rule_moment moment = {plan->options.seed, scene->now_ms, plan->ready_ms};
    struct qn_rule_decision decision;

    qn_rule_decide(item->rule, &item->state, scene->subject, &moment, &decision);
    if (decision.fired == 0) {
        return false;
    }
    if (first != NULL) {
        qn_plan_tell_shadowed(item, first, scene, &decision);
    } else if (qn_plan_fire(plan, item, scene, &decision, verdict)) {
        qn_rule_commit(&item->state, &decision, scene->now_ms);
        return true;
    }
    qn_rule_cancel(&decision);
    return false;
}

static struct qn_rule_subject subject_of(const struct qn_plan *plan, const struct qn_facts *facts)
{
    struct qn_rule_subject subject;

    qn_rule_subject_init(&subject, QN_TARGET_SQS, facts->action, facts->arena);
    subject.queue = facts->queue;
    subject.instance = facts->instance;
    subject.code = facts->code;
    subject.connection = facts->connection;
    subject.attempt = facts->sdk_attempt > 0 ? facts->sdk_attempt : -1;
    subject.size = facts->size;
    subject.wait_s = facts->wait_s;
    subject.max = facts->max;
    subject.entries = facts->entries;
    subject.since_ready_ms = since_ready(plan, facts->now_ms);
    subject.is_fifo = facts->is_fifo || qn_str_ends_with(facts->queue, QN_STR(".fifo"));
    subject.messages = facts->messages;
    subject.message_count = facts->message_count;
    return subject;
}

struct qn_verdict qn_chaos_at(struct qn_plan *plan, enum qn_chaos_point point,
                              const struct qn_facts *facts, struct qn_event_list *events)
{
    struct qn_verdict verdict = {.kind = QN_VERDICT_PASS, .rule = QN_STR_NONE};
    const struct qn_plan_rule *first = NULL;

    plan->was_asked = true;
    if (plan->cares[point] == 0) {
        return verdict;
    }
    struct qn_rule_subject subject = subject_of(plan, facts);
    struct qn_plan_scene scene = {.facts = facts,
                                  .subject = &subject,
                                  .arena = facts->arena,
                                  .events = events,
                                  .now_ms = facts->now_ms};
    for (size_t i = 0; i < plan->rule_count; i++) {
        struct qn_plan_rule *item = plan->rules[i];
        if (!is_request_rule(item->rule) || qn_plan_point(item->rule->point) != point) {
            continue;
        }
        subject.point = item->rule->point; /* two points of the grammar are one of the server's */
        if (ask(plan, item, first, &scene, &verdict)) {
            first = item;
        }
    }
    return verdict;
}

/* The first tick after now, counted from the ready mark or from when the rule was added. */
static void set_tick(const struct qn_plan *plan, struct qn_plan_rule *item, int64_t now_ms)
{
    int64_t since = item->state.since_ms;

    if (since == INT64_MIN) {
        since = item->state.since_ms = now_ms;
    }
    if (since < plan->ready_ms) {
        since = plan->ready_ms;
    }
    int64_t gone = now_ms > since ? (now_ms - since) / item->rule->tick_ms : 0;
    item->next_tick_ms = since + (gone + 1) * item->rule->tick_ms;
}

static void tick(struct qn_plan *plan, struct qn_plan_rule *item, int64_t now_ms)
{
    struct qn_rule_subject subject;
    struct qn_verdict verdict;

    if (item->next_tick_ms == INT64_MIN) {
        /* A rule from the start has its ticks from the start on, not those of an earlier process.
         */
        set_tick(plan, item, item->state.since_ms == INT64_MIN ? now_ms : plan->options.start_ms);
    }
    for (int i = 0; i < TICKS_PER_CALL && item->next_tick_ms <= now_ms; i++) {
        int64_t at_ms = item->next_tick_ms;
        qn_arena_reset(&plan->arena);
        qn_rule_subject_init(&subject, QN_TARGET_CLOCK, QN_STR("tick"), &plan->arena);
        subject.since_ready_ms = since_ready(plan, at_ms);
        struct qn_plan_scene scene = {
            .subject = &subject, .arena = &plan->arena, .events = &plan->events, .now_ms = at_ms};
        item->next_tick_ms += item->rule->tick_ms;
        (void)ask(plan, item, NULL, &scene, &verdict);
    }
}

static void become_ready(struct qn_plan *plan, int64_t now_ms)
{
    plan->ready_ms = now_ms;
    if (plan->ready_slot != NULL) {
        plan->ready_slot[1] = 1;
        plan->ready_slot[3] = (uint64_t)now_ms;
    }
    for (size_t i = 0; i < plan->rule_count; i++) {
        if (plan->rules[i]->rule->target == QN_TARGET_CLOCK) {
            set_tick(plan, plan->rules[i], now_ms);
        }
    }
}

static void observe_internal(struct qn_plan *plan, const struct qn_event *event, int64_t now_ms)
{
    struct qn_rule_subject subject;
    struct qn_fact_message message = {.message_id = event->message_id,
                                      .group = event->group,
                                      .handle = event->handle,
                                      .receive_count = event->receive_count};
    struct qn_plan_scene scene = {.event = event,
                                  .subject = &subject,
                                  .arena = &plan->arena,
                                  .events = &plan->events,
                                  .now_ms = now_ms};
    const struct qn_plan_rule *first = NULL;
    struct qn_verdict verdict;

    qn_arena_reset(&plan->arena);
    qn_rule_subject_init(&subject, QN_TARGET_SQS, qn_str_from_cstr(qn_event_kind_name(event->kind)),
                         &plan->arena);
    subject.queue = event->queue;
    subject.instance = event->instance;
    subject.is_fifo = qn_str_ends_with(event->queue, QN_STR(".fifo"));
    subject.since_ready_ms = since_ready(plan, now_ms);
    subject.messages = &message;
    subject.message_count = 1;
    subject.key = event->key;
    subject.payload_id = event->payload_id;
    for (size_t i = 0; i < plan->rule_count; i++) {
        struct qn_plan_rule *item = plan->rules[i];
        if (item->rule->is_internal && ask(plan, item, first, &scene, &verdict)) {
            first = item;
        }
    }
}

void qn_plan_observe(struct qn_plan *plan, const struct qn_event *event, int64_t now_ms)
{
    plan->was_asked = true;
    if (event == NULL) {
        for (size_t i = 0; i < plan->rule_count; i++) {
            if (plan->rules[i]->rule->target == QN_TARGET_CLOCK) {
                tick(plan, plan->rules[i], now_ms);
            }
        }
    } else if (event->kind == QN_EVENT_MARK) {
        if (qn_str_equal(event->reason, QN_STR("ready"))) {
            become_ready(plan, now_ms);
        }
    } else if (qn_event_is_state(event->kind)) {
        observe_internal(plan, event, now_ms);
    }
}

int64_t qn_plan_next_ms(const struct qn_plan *plan)
{
    int64_t next_ms = plan->effects != NULL ? plan->effects->effect.due_ms : INT64_MAX;

    for (size_t i = 0; plan->clock_rules > 0 && i < plan->rule_count; i++) {
        const struct qn_plan_rule *item = plan->rules[i];
        if (item->rule->target != QN_TARGET_CLOCK) {
            continue;
        }
        /* A rule that was just added learns the time by being asked at once. */
        int64_t tick_ms =
            item->next_tick_ms != INT64_MIN ? item->next_tick_ms : plan->options.start_ms;
        next_ms = tick_ms < next_ms ? tick_ms : next_ms;
    }
    return next_ms;
}

void qn_plan_take_events(struct qn_plan *plan, struct qn_event_list *events)
{
    struct qn_reader reader;
    struct qn_event event;

    qn_reader_init(&reader, qn_buf_str(&plan->events.encoded));
    while (reader.at < reader.end) {
        struct qn_reader one;
        qn_reader_init(&one, qn_reader_bytes(&reader));
        if (!qn_event_decode(&one, &event)) {
            break;
        }
        qn_event_list_add(events, &event);
    }
    qn_buf_clear(&plan->events.encoded);
}
