/* Which rule fires now: requests, events and the clock are put to the rules that are for them. */
#include "chaos/plan.h"
#include "chaos/verbs.h"

enum {
    TICKS_PER_CALL = 1000, /* a jump of the clock over very many ticks is done in slices */
};

/* `for` of a rule that came later counts from here. */
static void begin(struct qn_plan *plan, int64_t now_ms)
{
    plan->was_asked = true;
    for (size_t i = 0; plan->has_new && i < plan->rule_count; i++) {
        struct qn_plan_rule *item = plan->rules[i];
        if (item->state.since_ms == INT64_MIN && item->rule->target != QN_TARGET_CLOCK) {
            qn_rule_state_begin(&item->state, now_ms);
        }
    }
    plan->has_new = false;
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

/* What most rules can be told apart by, in one look each: bits for the API action or the kind of
 * event and for the keys of the messages, and the queue. */
struct probe {
    uint64_t bit;
    uint64_t queue_hash;
    uint64_t key_bits;
    bool is_fifo;
};

/* Until keys are looked at each may be there. */
static struct probe probe_of(const struct qn_rule_subject *subject, uint64_t bit)
{
    return (struct probe){.bit = bit,
                          .queue_hash = qn_plan_text_hash(subject->queue),
                          .key_bits = UINT64_MAX,
                          .is_fifo = subject->is_fifo};
}

static bool is_meant(const struct qn_plan_rule *item, const struct probe *probe)
{
    return (item->bits & probe->bit) != 0 &&
           (item->queue_hash == 0 || item->queue_hash == probe->queue_hash) &&
           (item->key_bits & probe->key_bits) != 0 && !(item->spares_fifo && probe->is_fifo);
}

/* Bodies are read once for all rules. */
static void read_keys(struct qn_rule_subject *subject, const struct qn_plan_index *index,
                      struct probe *probe)
{
    if (subject->message_count == 0) {
        return;
    }
    subject->keys = qn_arena_alloc(subject->arena, subject->message_count * sizeof(*subject->keys));
    if (!index->asks_keys || subject->keys == NULL) {
        return;
    }
    probe->key_bits = QN_PLAN_ANY_TEXT;
    for (size_t i = 0; i < qn_rule_message_count(subject); i++) {
        const struct qn_rule_keys *keys = qn_rule_keys(subject, &subject->messages[i]);
        probe->key_bits |= qn_plan_text_bit(keys->key) | qn_plan_text_bit(keys->payload_id);
    }
}

static struct qn_rule_subject subject_of(const struct qn_plan *plan, const struct qn_facts *facts,
                                         uint64_t bit)
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
    subject.is_meant = bit != UINT64_MAX;
    subject.messages = facts->messages;
    subject.message_count = facts->message_count;
    return subject;
}

struct qn_verdict qn_chaos_at(struct qn_plan *plan, enum qn_chaos_point point,
                              const struct qn_facts *facts, struct qn_event_list *events)
{
    struct qn_verdict verdict = {.kind = QN_VERDICT_PASS, .rule = QN_STR_NONE};
    const struct qn_plan_index *index = &plan->indexes[point];
    const struct qn_plan_rule *first = NULL;
    uint64_t bit = qn_plan_action_bit(plan, facts->action);

    begin(plan, facts->now_ms);
    struct qn_rule_subject subject = subject_of(plan, facts, bit);
    struct qn_plan_scene scene = {.facts = facts,
                                  .subject = &subject,
                                  .arena = facts->arena,
                                  .events = events,
                                  .now_ms = facts->now_ms};
    struct probe probe = probe_of(&subject, bit);
    read_keys(&subject, index, &probe);
    for (size_t i = 0; i < index->count; i++) {
        struct qn_plan_rule *item = index->rules[i];
        if (!is_meant(item, &probe)) {
            continue;
        }
        subject.point = item->rule->point; /* two points of the grammar are one of the server's */
        if (ask(plan, item, first, &scene, &verdict)) {
            first = item;
        }
    }
    return verdict;
}

unsigned qn_plan_may_apply(struct qn_plan *plan, enum qn_chaos_point point,
                           const struct qn_facts *facts, bool is_now)
{
    const struct qn_plan_index *index = &plan->indexes[point];
    const unsigned all = QN_PLAN_APPLIES | QN_PLAN_NEEDS_MESSAGES;
    uint64_t bit = qn_plan_action_bit(plan, facts->action);
    unsigned found = 0;

    begin(plan, facts->now_ms);
    struct qn_rule_subject subject = subject_of(plan, facts, bit);
    struct probe probe = probe_of(&subject, bit);
    for (size_t i = 0; i < index->count && found != all; i++) {
        const struct qn_plan_rule *item = index->rules[i];
        if (is_meant(item, &probe) && qn_rule_may_match(item->rule, &subject, is_now)) {
            found |= item->needs_messages ? all : QN_PLAN_APPLIES;
        }
    }
    return found;
}

/* The first tick after now, counted from the ready mark or from when the rule was added. */
static void set_tick(const struct qn_plan *plan, struct qn_plan_rule *item, int64_t now_ms)
{
    if (item->state.since_ms == INT64_MIN) {
        qn_rule_state_begin(&item->state, now_ms);
    }
    int64_t since = item->state.since_ms;
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

    if (item->skips_ticks) {
        item->skips_ticks = false;
        set_tick(plan, item, now_ms);
    } else if (item->next_tick_ms == INT64_MIN) {
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

static void set_ready(struct qn_plan *plan, int64_t now_ms)
{
    plan->ready_ms = now_ms;
    plan->is_ready = true;
    if (plan->ready_slot != NULL) {
        plan->ready_slot[1] = 1;
        plan->ready_slot[3] = (uint64_t)now_ms;
    }
}

/* Who starts a server long before its clients must not find every window of time closed. */
void qn_plan_sqs_begins(struct qn_plan *plan, int64_t now_ms)
{
    if (!plan->is_ready) {
        set_ready(plan, now_ms);
    }
}

static void become_ready(struct qn_plan *plan, int64_t now_ms)
{
    set_ready(plan, now_ms);
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
    struct probe probe = probe_of(&subject, UINT64_C(1) << event->kind);
    for (size_t i = 0; i < plan->internal->count; i++) {
        struct qn_plan_rule *item = plan->internal->rules[i];
        if (is_meant(item, &probe) && ask(plan, item, first, &scene, &verdict)) {
            first = item;
        }
    }
}

void qn_plan_observe(struct qn_plan *plan, const struct qn_event *event, int64_t now_ms)
{
    begin(plan, now_ms);
    if (event == NULL) {
        for (size_t i = 0; i < plan->clock->count; i++) {
            tick(plan, plan->clock->rules[i], now_ms);
        }
    } else if (event->kind == QN_EVENT_MARK) {
        if (qn_str_equal(event->reason, QN_STR("ready"))) {
            become_ready(plan, now_ms);
        }
    } else if ((plan->internal->bits >> event->kind & 1U) != 0) {
        observe_internal(plan, event, now_ms);
    }
}

int64_t qn_plan_next_ms(const struct qn_plan *plan)
{
    int64_t next_ms = plan->effects != NULL ? plan->effects->effect.due_ms : INT64_MAX;

    if (plan->has_new) { /* a rule that was just added learns the time by being asked at once */
        return plan->options.start_ms;
    }
    for (size_t i = 0; i < plan->clock->count; i++) {
        const struct qn_plan_rule *item = plan->clock->rules[i];
        int64_t tick_ms = item->next_tick_ms == INT64_MIN || item->skips_ticks
                              ? plan->options.start_ms
                              : item->next_tick_ms;
        next_ms = tick_ms < next_ms ? tick_ms : next_ms;
    }
    return next_ms;
}

void qn_plan_take_events(struct qn_plan *plan, struct qn_event_list *events)
{
    struct qn_reader reader;
    struct qn_event event;

    events->wanted = events->wanted || plan->events.encoded.len > 0;
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
