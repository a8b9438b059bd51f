/* Counters of rules, and the decision that hangs on them. */
#include "chaos/count.h"

#include "chaos/verbs.h"
#include "server/base/random.h"

enum { SLOTS_FOR_PARTS = 192 }; /* the rest stays free for the rules themselves */

enum { HASH, MATCHES, FIRED, LAST_FIRED_MS };

struct qn_count {
    struct qn_map_node node;
    uint64_t hash;
    uint64_t *slot; /* shared, or own */
    qn_count_slot own;
    uint64_t pending; /* firings of the decision under way */
};

/* 0 marks a free slot. */
static uint64_t name_hash(uint64_t hash)
{
    return hash != 0 ? hash : 1;
}

static uint64_t *find_slot(qn_count_slot *slots, uint64_t hash, size_t limit)
{
    size_t used = 0;

    if (slots == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < QN_COUNT_SLOTS; i++) {
        used += slots[i][HASH] != 0;
    }
    for (size_t i = 0; i < QN_COUNT_SLOTS; i++) {
        uint64_t *slot = slots[(hash + i) % QN_COUNT_SLOTS];
        if (slot[HASH] == hash) {
            return slot;
        }
        if (slot[HASH] == 0) {
            if (used >= limit) {
                return NULL;
            }
            slot[HASH] = hash;
            return slot;
        }
    }
    return NULL;
}

static bool same_count(const struct qn_map_node *node, const void *key)
{
    return QN_CONTAINER(node, struct qn_count, node)->hash == *(const uint64_t *)key;
}

void qn_rule_state_init(struct qn_rule_state *state, struct qn_str name, qn_count_slot *slots)
{
    *state = (struct qn_rule_state){
        .hash = name_hash(qn_str_hash(name)), .slots = slots, .since_ms = INT64_MIN};
    state->total = find_slot(slots, state->hash, QN_COUNT_SLOTS);
    if (state->total == NULL) {
        state->total = state->own;
    }
    qn_map_init(&state->counts, same_count);
}

static void free_count(void *state, struct qn_map_node *node)
{
    (void)state;
    qn_memory_free(QN_CONTAINER(node, struct qn_count, node));
}

void qn_rule_state_done(struct qn_rule_state *state)
{
    qn_map_each(&state->counts, free_count, NULL);
    qn_map_done(&state->counts);
}

/* The hash stays: a slot given back would cut the chains that run over it. */
static void clear_slot(uint64_t *slot)
{
    slot[MATCHES] = slot[FIRED] = slot[LAST_FIRED_MS] = 0;
}

static void clear_count(void *state, struct qn_map_node *node)
{
    (void)state;
    clear_slot(QN_CONTAINER(node, struct qn_count, node)->slot);
}

void qn_rule_state_begin(struct qn_rule_state *state, int64_t now_ms)
{
    uint64_t hash = name_hash(qn_random_mix(state->hash, 'b', 0));
    uint64_t *slot = find_slot(state->slots, hash, QN_COUNT_SLOTS);

    state->since_ms = now_ms;
    state->begun = slot;
    if (slot == NULL) {
        return;
    }
    if (slot[MATCHES] > 0 && (int64_t)slot[LAST_FIRED_MS] <= now_ms) {
        state->since_ms = (int64_t)slot[LAST_FIRED_MS];
    } else {
        slot[LAST_FIRED_MS] = (uint64_t)now_ms;
        slot[MATCHES] = 1;
    }
}

void qn_rule_state_forget(struct qn_rule_state *state)
{
    clear_slot(state->total);
    if (state->begun != NULL) {
        clear_slot(state->begun);
    }
    qn_map_each(&state->counts, clear_count, NULL);
}

/* kind tells counters of the same key apart: 'p' of `per`, 'r' of resurrect. */
static struct qn_count *count_of(struct qn_rule_state *state, uint64_t kind, uint64_t key)
{
    uint64_t hash = name_hash(qn_random_mix(state->hash, kind, key));
    struct qn_map_node *node = qn_map_find(&state->counts, hash, &hash);

    if (node != NULL) {
        return QN_CONTAINER(node, struct qn_count, node);
    }
    struct qn_count *count = qn_memory_new(sizeof(*count));
    count->hash = hash;
    count->slot = find_slot(state->slots, hash, SLOTS_FOR_PARTS);
    if (count->slot == NULL) {
        count->slot = count->own;
    }
    qn_map_insert(&state->counts, &count->node, hash);
    return count;
}

static uint64_t part_key(enum qn_rule_per per, const struct qn_rule_subject *subject,
                         const struct qn_fact_message *message)
{
    struct qn_str queue_and_group[2] = {subject->queue, QN_STR_NONE};

    switch (per) {
    case QN_PER_MESSAGE:
        if (message == NULL || qn_str_is_none(message->message_id)) {
            return qn_str_hash(subject->key);
        }
        return qn_str_hash(message->message_id);
    case QN_PER_GROUP:
        queue_and_group[1] = message != NULL ? message->group : QN_STR_NONE;
        return qn_random_mix(qn_str_hash(queue_and_group[0]), qn_str_hash(queue_and_group[1]), 0);
    case QN_PER_INSTANCE:
        return qn_str_hash(subject->instance);
    case QN_PER_QUEUE:
        return qn_str_hash(subject->queue);
    default:
        return (uint64_t)subject->connection;
    }
}

static bool brings_back(const struct qn_rule *rule)
{
    for (size_t i = 0; i < rule->action_count; i++) {
        if (rule->actions[i].verb == QN_DO_RESURRECT) {
            return true;
        }
    }
    return false;
}

static bool is_nth(const struct qn_rule_when *when, uint64_t matches)
{
    for (size_t i = 0; i < when->nth_count; i++) {
        if (matches == (uint64_t)when->nth[i]) {
            return true;
        }
    }
    return when->nth_count == 0;
}

static bool is_drawn(const struct qn_rule_when *when, const struct qn_rule_state *state,
                     uint64_t seed, uint64_t match)
{
    uint64_t draw = qn_random_mix(when->has_seed ? when->seed : seed, state->hash, match);

    /* 53 bits are what a double holds; prob 1 always fires. */
    return when->prob <= 0 || (double)(draw >> 11) < when->prob * 9007199254740992.0;
}

static bool fires(const struct qn_rule_when *when, const struct qn_rule_state *state,
                  const uint64_t *slot, uint64_t pending, uint64_t seed)
{
    uint64_t matches = slot[MATCHES];

    return is_nth(when, matches) && (when->every == 0 || matches % (uint64_t)when->every == 0) &&
           (when->first == 0 || matches <= (uint64_t)when->first) &&
           matches > (uint64_t)when->after &&
           (when->times == 0 || slot[FIRED] + pending < (uint64_t)when->times) &&
           is_drawn(when, state, seed, state->total[MATCHES]);
}

/* One match: a message, or the whole request (message NULL). */
static void decide_one(const struct qn_rule *rule, struct qn_rule_state *state,
                       const struct qn_rule_subject *subject, uint64_t seed,
                       const struct qn_fact_message *message, uint64_t bits,
                       struct qn_rule_decision *decision)
{
    const struct qn_rule_when *when = &rule->when;
    struct qn_count *part = NULL;
    struct qn_count *back = NULL;

    state->total[MATCHES]++;
    if (when->per != QN_PER_NOTHING) {
        part = count_of(state, 'p', part_key(when->per, subject, message));
        part->slot[MATCHES]++;
    }
    if (brings_back(rule) && message != NULL) { /* each message comes back once */
        back = count_of(state, 'r', qn_str_hash(message->message_id));
        back->slot[MATCHES]++;
        if (back->slot[FIRED] + back->pending > 0) {
            return;
        }
    }
    uint64_t pending = part != NULL ? part->pending : decision->fired_count;
    if (!fires(when, state, part != NULL ? part->slot : state->total, pending, seed)) {
        return;
    }
    struct qn_count *const touched[] = {part, back};
    for (size_t i = 0; i < 2; i++) {
        if (touched[i] != NULL) {
            touched[i]->pending++;
            decision->counts[decision->unit_count++] = touched[i];
        }
    }
    if (decision->fired == 0) {
        decision->match = state->total[MATCHES];
    }
    decision->fired |= bits;
    decision->fired_count++;
}

static bool is_over(const struct qn_rule *rule, struct qn_rule_state *state,
                    const struct qn_rule_moment *moment)
{
    if (state->since_ms == INT64_MIN) {
        qn_rule_state_begin(state, moment->now_ms);
    }
    int64_t since = state->since_ms > moment->ready_ms ? state->since_ms : moment->ready_ms;
    return rule->when.for_ms > 0 && moment->now_ms - since >= rule->when.for_ms;
}

void qn_rule_decide(const struct qn_rule *rule, struct qn_rule_state *state,
                    const struct qn_rule_subject *subject, const struct qn_rule_moment *moment,
                    struct qn_rule_decision *ret_decision)
{
    struct qn_rule_decision *decision = ret_decision;

    decision->fired = decision->match = 0;
    decision->unit_count = decision->fired_count = 0;
    if (is_over(rule, state, moment)) {
        return;
    }
    uint64_t matched = qn_rule_match(rule, subject);
    if (matched == 0) {
        return;
    }
    if (!rule->by_message) {
        const struct qn_fact_message *only =
            subject->message_count == 1 ? &subject->messages[0] : NULL;
        decide_one(rule, state, subject, moment->seed, only, UINT64_MAX, decision);
        return;
    }
    for (size_t i = 0; i < qn_rule_message_count(subject); i++) {
        uint64_t bit = UINT64_C(1) << i;
        if ((matched & bit) != 0) {
            decide_one(rule, state, subject, moment->seed, qn_rule_message(subject, i), bit,
                       decision);
        }
    }
}

void qn_rule_cancel(struct qn_rule_decision *decision)
{
    for (size_t i = 0; i < decision->unit_count; i++) {
        decision->counts[i]->pending = 0;
    }
}

void qn_rule_commit(struct qn_rule_state *state, struct qn_rule_decision *decision, int64_t now_ms)
{
    state->total[FIRED] += decision->fired_count;
    state->total[LAST_FIRED_MS] = (uint64_t)now_ms;
    for (size_t i = 0; i < decision->unit_count; i++) {
        struct qn_count *count = decision->counts[i];
        count->slot[FIRED]++;
        count->slot[LAST_FIRED_MS] = (uint64_t)now_ms;
        count->pending = 0;
    }
}
