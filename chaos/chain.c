/* Effects: what a chain of actions does apart from its verdict, and when. */
#include "chaos/plan.h"
#include "chaos/verbs.h"
#include "server/base/random.h"

enum { MESSAGES_MAX = 64 };

static const struct {
    enum qn_rule_verb verb;
    bool is_each;
} scopes[QN_EFFECT_KIND_COUNT] = {
#define EACH true
#define ONCE false
#define QN_EFFECT(symbol, action, scope) [QN_EFFECT_##symbol] = {QN_DO_##action, scope},
#include "server/model/effect.def"
#undef QN_EFFECT
#undef EACH
#undef ONCE
};

/* QN_EFFECT_KIND_COUNT: the action has no effect of its own. */
static enum qn_effect_kind kind_of(enum qn_rule_verb verb)
{
    size_t i = 0;

    while (i < QN_EFFECT_KIND_COUNT && scopes[i].verb != verb) {
        i++;
    }
    return (enum qn_effect_kind)i;
}

bool qn_chain_has_effect(enum qn_rule_verb verb)
{
    return verb != QN_DO_COUNT && kind_of(verb) != QN_EFFECT_KIND_COUNT;
}

uint64_t qn_chain_draw(const struct qn_plan *plan, const struct qn_plan_rule *from, uint64_t match,
                       uint64_t index)
{
    const struct qn_rule_when *when = &from->rule->when;
    uint64_t seed = when->has_seed ? when->seed : plan->options.seed;

    return qn_random_mix(seed ^ index, from->state.hash, match);
}

bool qn_chain_is_verdict(const struct qn_rule_action *action, const struct qn_plan_scene *scene)
{
    return qn_verb_of(action->verb)->need == QN_NEEDS_REQUEST ||
           (action->verb == QN_DO_CRASH && action->after_ms == 0 && scene->facts != NULL);
}

static struct qn_str copy(char **end, struct qn_str text)
{
    struct qn_str kept = text;

    if (!qn_str_is_none(text)) {
        memcpy(*end, text.ptr, text.len);
        kept.ptr = *end;
        *end += text.len;
    }
    return kept;
}

/* At these points a part of the answer, or all of it, has left. */
static bool waits_for_answer(const struct qn_plan_rule *from, const struct qn_effect *effect)
{
    return !qn_str_is_none(effect->request) && (from->rule->point == QN_RULE_MID_RESPONSE ||
                                                from->rule->point == QN_RULE_POST_RESPONSE);
}

static void join(struct qn_plan_effect **place, struct qn_plan_effect *item)
{
    while (*place != NULL && (*place)->effect.due_ms <= item->effect.due_ms) {
        place = &(*place)->next;
    }
    item->next = *place;
    *place = item;
}

static void add(struct qn_plan *plan, const struct qn_plan_rule *from, struct qn_effect effect)
{
    struct qn_str *const texts[] = {
        &effect.rule,     &effect.request, &effect.account, &effect.region,     &effect.queue,
        &effect.instance, &effect.text,    &effect.value,   &effect.message_id, &effect.handle};
    size_t size = 0;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        size += texts[i]->len;
    }
    struct qn_plan_effect *item = qn_memory_new(sizeof(*item) + size);
    char *end = item->text;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        *texts[i] = copy(&end, *texts[i]);
    }
    item->effect = effect;
    item->from = from;
    if (waits_for_answer(from, &effect)) {
        join(&plan->waiting, item);
    } else {
        join(&plan->effects, item);
    }
}

/* Of one request, or with none of all what a later request could notice. */
static void let_go(struct qn_plan *plan, struct qn_str request)
{
    struct qn_plan_effect **place = &plan->waiting;

    while (*place != NULL) {
        struct qn_plan_effect *item = *place;
        enum qn_effect_kind kind = item->effect.kind;
        if (qn_str_is_none(request) ? kind != QN_EFFECT_REFUSE && kind != QN_EFFECT_FREEZE
                                    : qn_str_equal(item->effect.request, request)) {
            *place = item->next;
            join(&plan->effects, item);
        } else {
            place = &item->next;
        }
    }
}

void qn_plan_answer_left(struct qn_plan *plan, struct qn_str request)
{
    let_go(plan, request);
}

void qn_plan_request_begins(struct qn_plan *plan)
{
    let_go(plan, QN_STR_NONE);
}

static void add_for_each(struct qn_plan *plan, const struct qn_plan_rule *from,
                         const struct qn_plan_scene *scene, struct qn_effect effect, uint64_t fired)
{
    const struct qn_rule_subject *subject = scene->subject;

    for (size_t i = 0; i < subject->message_count && i < MESSAGES_MAX; i++) {
        effect.message_id = subject->messages[i].message_id;
        effect.handle = subject->messages[i].handle;
        effect.receive_count = subject->messages[i].receive_count;
        effect.draw++;
        if ((fired >> i & 1U) != 0 && !qn_str_is_none(effect.message_id)) {
            add(plan, from, effect);
        }
    }
}

static int64_t connection_of(const struct qn_plan_scene *scene)
{
    int64_t connection = scene->facts != NULL   ? scene->facts->connection
                         : scene->event != NULL ? scene->event->connection
                                                : 0;

    return connection > 0 ? connection : 0;
}

static struct qn_effect effect_of(const struct qn_plan *plan, const struct qn_plan_rule *from,
                                  const struct qn_plan_scene *scene, uint64_t match, size_t i)
{
    const struct qn_rule_action *action = &from->rule->actions[i];
    struct qn_str event_instance = scene->subject->instance;

    return (struct qn_effect){
        .kind = kind_of(action->verb),
        .word = qn_rule_verb_name(action->verb),
        .rule = from->name,
        .request = scene->facts != NULL ? scene->facts->request_id : QN_STR_NONE,
        .account = scene->facts != NULL   ? scene->facts->account
                   : scene->event != NULL ? scene->event->account
                                          : QN_STR_NONE,
        .region = scene->facts != NULL   ? scene->facts->region
                  : scene->event != NULL ? scene->event->queue_region
                                         : QN_STR_NONE,
        .queue = qn_str_is_none(action->queue) ? scene->subject->queue : action->queue,
        .message_id = QN_STR_NONE,
        .handle = QN_STR_NONE,
        .receive_count = -1,
        .instance = qn_str_is_none(action->instance) ? event_instance : action->instance,
        .connection = connection_of(scene),
        .text = action->verb == QN_DO_SEND ? action->inputs : action->text,
        .value = action->value,
        .amount_ms = action->duration_ms,
        .count = action->count,
        .restart_ms = -1,
        .draw = qn_chain_draw(plan, from, match, i + 1),
        .force = action->force,
    };
}

/* How long `restart server after D` behind a crash lets it be down; -1: nothing is said. */
static int64_t restart_behind(const struct qn_rule *rule, size_t i)
{
    int64_t pause_ms = 0;

    for (i++; i < rule->action_count; i++) {
        const struct qn_rule_action *action = &rule->actions[i];
        pause_ms += action->after_ms;
        if (action->verb == QN_DO_RESTART) {
            return pause_ms + (action->duration_ms > 0 ? action->duration_ms : 0);
        }
        if (action->verb != QN_DO_AFTER) {
            break;
        }
        pause_ms += action->duration_ms;
    }
    return -1;
}

int64_t qn_chain_restart_ms(const struct qn_rule *rule)
{
    for (size_t i = 0; i < rule->action_count; i++) {
        if (rule->actions[i].verb == QN_DO_CRASH || rule->actions[i].verb == QN_DO_RESTORE) {
            return restart_behind(rule, i);
        }
    }
    return -1;
}

enum qn_rule_verb qn_chain_queue(struct qn_plan *plan, const struct qn_plan_rule *from,
                                 const struct qn_plan_scene *scene,
                                 const struct qn_rule_decision *decision)
{
    const struct qn_rule *rule = from->rule;
    size_t harness = qn_plan_harness_part(rule);
    enum qn_rule_verb first = QN_DO_COUNT;
    int64_t due_ms = scene->now_ms; /* when the action before is finished */
    bool holds = false;

    for (size_t i = 0; i < rule->action_count && i < harness; i++) {
        const struct qn_rule_action *action = &rule->actions[i];
        struct qn_effect effect = effect_of(plan, from, scene, decision->match, i);
        due_ms += action->after_ms;
        effect.due_ms = due_ms;
        effect.restart_ms = restart_behind(rule, i);
        if (action->verb == QN_DO_AFTER || action->verb == QN_DO_DELAY) {
            due_ms += action->duration_ms;
        } else if (qn_chain_has_effect(action->verb) && !qn_chain_is_verdict(action, scene)) {
            if (scopes[effect.kind].is_each) {
                add_for_each(plan, from, scene, effect, decision->fired);
            } else {
                add(plan, from, effect);
            }
            first = first == QN_DO_COUNT ? action->verb : first;
        }
        if (holds) {
            effect.kind = QN_EFFECT_RELEASE;
            effect.due_ms = due_ms;
            add(plan, from, effect);
        }
        holds = action->verb == QN_DO_HOLD;
    }
    return first;
}

static void drop(struct qn_plan_effect **place, const struct qn_plan_rule *from)
{
    while (*place != NULL) {
        struct qn_plan_effect *effect = *place;
        if (from == NULL || effect->from == from) {
            *place = effect->next;
            qn_memory_free(effect);
        } else {
            place = &effect->next;
        }
    }
}

static void forget(struct qn_plan_effect *effect, const struct qn_plan_rule *from)
{
    for (; effect != NULL; effect = effect->next) {
        if (effect->from == from) {
            effect->from = NULL;
        }
    }
}

void qn_chain_forget(struct qn_plan *plan, const struct qn_plan_rule *from)
{
    forget(plan->effects, from);
    forget(plan->waiting, from);
}

void qn_chain_drop(struct qn_plan *plan, const struct qn_plan_rule *from)
{
    drop(&plan->effects, from);
    drop(&plan->waiting, from);
}

bool qn_plan_take_effect(struct qn_plan *plan, int64_t now_ms, struct qn_effect *ret_effect)
{
    qn_memory_free(plan->taken);
    plan->taken = NULL;
    if (plan->effects == NULL || plan->effects->effect.due_ms > now_ms) {
        return false;
    }
    plan->taken = plan->effects;
    plan->effects = plan->taken->next;
    *ret_effect = plan->taken->effect;
    return true;
}
