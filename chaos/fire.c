/* What a rule that fires gives: a verdict and events here, effects in chain.c. */
#include "chaos/plan.h"
#include "chaos/verbs.h"
#include "server/base/log.h"

enum { IDS_SHOWN = 10 };

enum qn_chaos_point qn_plan_point(enum qn_rule_point point)
{
    switch (point) {
    case QN_RULE_PRE_COMMIT:
        return QN_POINT_PRE_COMMIT;
    case QN_RULE_POST_COMMIT:
        return QN_POINT_POST_COMMIT;
    case QN_RULE_MID_RESPONSE:
    case QN_RULE_POST_RESPONSE:
        return QN_POINT_REPLY;
    default:
        return QN_POINT_ARRIVE;
    }
}

static const struct {
    enum qn_rule_verb verb;
    enum qn_verdict_kind kind;
} kinds[] = {
    {QN_DO_ERROR, QN_VERDICT_ERROR},
    {QN_DO_FAKE_SUCCESS, QN_VERDICT_FAKE_SUCCESS},
    {QN_DO_FAIL_ENTRIES, QN_VERDICT_FAIL_ENTRIES},
    {QN_DO_FALSE_EMPTY, QN_VERDICT_FALSE_EMPTY},
    {QN_DO_SHORT, QN_VERDICT_SHORT},
    {QN_DO_DUP_IN_BATCH, QN_VERDICT_DUP_IN_BATCH},
    {QN_DO_DELIVER_TO_BOTH, QN_VERDICT_DELIVER_TO_BOTH},
    {QN_DO_BAD_MD5, QN_VERDICT_BAD_MD5},
    {QN_DO_NO_MD5, QN_VERDICT_NO_MD5},
    {QN_DO_GARBAGE, QN_VERDICT_GARBAGE},
    {QN_DO_HTML, QN_VERDICT_HTML},
    {QN_DO_DELAY, QN_VERDICT_DELAY},
    {QN_DO_HOLD, QN_VERDICT_HOLD},
    {QN_DO_BANDWIDTH, QN_VERDICT_BANDWIDTH},
    {QN_DO_SLOW_CLOSE, QN_VERDICT_SLOW_CLOSE},
    {QN_DO_HANG, QN_VERDICT_HANG},
    {QN_DO_RESET, QN_VERDICT_RESET},
    {QN_DO_CLOSE, QN_VERDICT_CLOSE},
    {QN_DO_TRUNCATE, QN_VERDICT_TRUNCATE},
    {QN_DO_CRASH, QN_VERDICT_CRASH},
};

static enum qn_verdict_kind kind_of(enum qn_rule_verb verb)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].verb == verb) {
            return kinds[i].kind;
        }
    }
    return QN_VERDICT_PASS;
}

static uint64_t lowest_bits(uint64_t mask, int64_t count)
{
    uint64_t lowest = 0;

    for (int64_t i = 0; i < count && mask != 0; i++) {
        lowest |= mask & (~mask + 1);
        mask &= mask - 1;
    }
    return lowest;
}

static int64_t delay_of(const struct qn_plan *plan, const struct qn_plan_rule *from,
                        const struct qn_rule_action *action, uint64_t match)
{
    int64_t delay_ms = action->duration_ms;

    if (action->jitter_ms > 0) {
        uint64_t draw = qn_chain_draw(plan, from, ~match, 0);
        delay_ms += (int64_t)(draw % (uint64_t)(2 * action->jitter_ms + 1)) - action->jitter_ms;
    }
    return delay_ms > 0 ? delay_ms : 0;
}

/* The part of the answer that a fault at REPLY comes after. */
static double fraction_of(enum qn_rule_point point, const struct qn_rule_action *action)
{
    if (action->fraction >= 0) {
        return action->fraction;
    }
    if (action->bytes >= 0) {
        return 0;
    }
    return point == QN_RULE_POST_RESPONSE ? 1 : point == QN_RULE_MID_RESPONSE ? 0.5 : 0;
}

static void judge(const struct qn_plan *plan, const struct qn_plan_rule *from,
                  const struct qn_rule_action *action, const struct qn_plan_scene *scene,
                  const struct qn_rule_decision *decision, struct qn_verdict *verdict)
{
    *verdict = (struct qn_verdict){.kind = kind_of(action->verb),
                                   .rule = from->name,
                                   .entry_mask = decision->fired,
                                   .count = -1,
                                   .fraction = fraction_of(from->rule->point, action),
                                   .draw = qn_chain_draw(plan, from, decision->match, 0)};
    switch (action->verb) {
    case QN_DO_ERROR:
        verdict->error = action->error;
        verdict->error_http_status = action->http_status > 0 ? (int)action->http_status : 0;
        verdict->error_sender = qn_error_info(action->error)->sender;
        break;
    case QN_DO_FAIL_ENTRIES:
        verdict->error = action->error;
        verdict->error_sender = action->sender;
        verdict->entry_mask =
            action->entries == NULL
                ? lowest_bits(decision->fired, action->count)
                : decision->fired & qn_rule_pred_match(action->entries, scene->subject);
        break;
    case QN_DO_SHORT:
    case QN_DO_BANDWIDTH: /* what comes before the point leaves as fast as it goes */
        verdict->count = action->count;
        break;
    case QN_DO_SLOW_CLOSE:
        verdict->delay_ms = action->duration_ms;
        break;
    case QN_DO_DELAY:
        verdict->delay_ms = delay_of(plan, from, action, decision->match);
        break;
    case QN_DO_CRASH: /* copies: it may come when the rule is gone */
        verdict->failpoint = qn_arena_copy(scene->arena, action->text);
        verdict->failpoint_mode = qn_arena_copy(scene->arena, action->value);
        verdict->restart_ms = qn_chain_restart_ms(from->rule);
        if (verdict->failpoint.len < action->text.len) {
            verdict->kind = QN_VERDICT_PASS; /* no room left in the request */
        }
        /* fall through */
    case QN_DO_RESET:
    case QN_DO_CLOSE:
    case QN_DO_TRUNCATE:
    case QN_DO_HANG:
        verdict->count = action->bytes;
        break;
    default:
        break;
    }
}

/* The fault or mark event of this scene, with what is known of the request or event. */
static struct qn_event event_of(enum qn_event_kind kind, const struct qn_plan_scene *scene,
                                const struct qn_plan_rule *from)
{
    const struct qn_rule_subject *subject = scene->subject;
    struct qn_event event;

    qn_event_init(&event, kind);
    event.virtual_ms = scene->now_ms;
    event.rule = from->name;
    event.queue = subject->queue;
    event.instance = subject->instance;
    event.action = subject->event;
    if (scene->facts != NULL) {
        event.request = scene->facts->request_id;
        event.account = scene->facts->account;
        event.listener = scene->facts->listener > 0 ? scene->facts->listener : QN_EVENT_NO_INT;
        event.connection = scene->facts->connection;
    } else if (scene->event != NULL) {
        event.account = scene->event->account;
        event.key = scene->event->key;
    }
    return event;
}

/* Ids of the messages that were hit, or "request"; a tick hits nothing. */
static void name_messages(struct qn_event *event, const struct qn_plan_scene *scene, uint64_t fired)
{
    const struct qn_rule_subject *subject = scene->subject;
    struct qn_str list = QN_STR_NONE;
    size_t shown = 0;

    if (scene->facts != NULL && fired == UINT64_MAX) {
        event->target = QN_STR("request");
        return;
    }
    for (size_t i = 0; i < subject->message_count && i < 64; i++) {
        struct qn_str id = subject->messages[i].message_id;
        if ((fired >> i & 1U) == 0 || qn_str_is_none(id) || shown == IDS_SHOWN) {
            continue;
        }
        event->message_id = shown == 0 ? id : QN_STR_NONE;
        list = shown == 0
                   ? id
                   : qn_arena_format(scene->arena, "%.*s,%.*s", QN_STR_ARG(list), QN_STR_ARG(id));
        shown++;
    }
    event->target = list;
}

/* Whom the harness has to act on. */
static struct qn_str harness_target(const struct qn_rule_action *action,
                                    const struct qn_plan_scene *scene)
{
    switch (action->verb) {
    case QN_DO_KILL:
    case QN_DO_SIGNAL:
    case QN_DO_STOP: {
        struct qn_str instance =
            qn_str_is_none(action->instance) ? scene->subject->instance : action->instance;
        return qn_arena_format(scene->arena, "instance=%.*s", QN_STR_ARG(instance));
    }
    case QN_DO_RESTART:
        return QN_STR("server");
    default:
        return QN_STR("harness");
    }
}

/* The rule's words from one action to the end of the chain. */
static struct qn_str words_from(const struct qn_rule *rule, size_t i)
{
    struct qn_str last = rule->actions[rule->action_count - 1].source;

    return qn_str(rule->actions[i].source.ptr,
                  (size_t)(last.ptr + last.len - rule->actions[i].source.ptr));
}

static void tell_fault(const struct qn_plan *plan, const struct qn_plan_rule *from,
                       const struct qn_plan_scene *scene, const struct qn_rule_decision *decision,
                       uint64_t hit, enum qn_rule_verb done)
{
    const struct qn_rule *rule = from->rule;
    size_t harness = qn_plan_harness_part(rule);
    struct qn_event event = event_of(QN_EVENT_FAULT, scene, from);

    event.match = (int64_t)decision->match;
    name_messages(&event, scene, hit);
    event.reason = words_from(rule, harness < rule->action_count ? harness : 0);
    if (harness < rule->action_count) {
        event.target = harness_target(&rule->actions[harness], scene);
    }
    if (done != QN_DO_COUNT) {
        event.code = qn_str_from_cstr(qn_rule_verb_name(done));
    }
    qn_event_list_add(scene->events, &event);
    qn_log(
        QN_LOG_INFO, "chaos",
        "fired rule=%.*s match=%lld on=%.*s target=%.*s queue=%.*s request=%.*s seed=%llu do=%.*s",
        QN_STR_ARG(from->name), (long long)event.match, QN_STR_ARG(event.action),
        QN_STR_ARG(event.target), QN_STR_ARG(event.queue), QN_STR_ARG(event.request),
        (unsigned long long)(rule->when.has_seed ? rule->when.seed : plan->options.seed),
        QN_STR_ARG(event.reason));
}

void qn_plan_tell_shadowed(const struct qn_plan_rule *from, const struct qn_plan_rule *first,
                           const struct qn_plan_scene *scene,
                           const struct qn_rule_decision *decision)
{
    struct qn_event event = event_of(QN_EVENT_FAULT, scene, from);

    /* Not under `rule`: who looks there for rules that fired must not find this one. */
    event.rule = QN_STR_NONE;
    event.match = (int64_t)decision->match;
    event.target = qn_arena_format(scene->arena, "rule=%.*s", QN_STR_ARG(from->name));
    event.reason = qn_arena_format(scene->arena, "shadowed by %.*s", QN_STR_ARG(first->name));
    qn_event_list_add(scene->events, &event);
}

/* Whether there is something in the answer that the verdict could be carried out on. */
static bool has_object(const struct qn_verdict *verdict, const struct qn_facts *facts)
{
    switch (verdict->kind) {
    case QN_VERDICT_FAIL_ENTRIES:
        return verdict->entry_mask != 0;
    case QN_VERDICT_BAD_MD5:
    case QN_VERDICT_NO_MD5:
        return facts->message_count > 0 && qn_str_equal(facts->code, QN_STR("OK"));
    default:
        return true;
    }
}

/* Verdicts in their order: each but the last is a DELAY or HOLD, behind which the next one comes.
 */
static bool judge_chain(const struct qn_plan *plan, const struct qn_plan_rule *from,
                        const struct qn_plan_scene *scene, const struct qn_rule_decision *decision,
                        struct qn_verdict *ret_first, enum qn_rule_verb *ret_done)
{
    const struct qn_rule *rule = from->rule;
    struct qn_verdict *last = NULL;

    for (size_t i = 0; i < rule->action_count; i++) {
        const struct qn_rule_action *action = &rule->actions[i];
        struct qn_verdict *place = ret_first;
        if (!qn_chain_is_verdict(action, scene)) {
            continue;
        }
        if (last != NULL) {
            place = qn_arena_alloc(scene->arena, sizeof(*place));
            if (place == NULL) {
                break; /* the request is over its ceiling and will be refused */
            }
            last->then = place;
        }
        judge(plan, from, action, scene, decision, place);
        if (!has_object(place, scene->facts)) {
            return false;
        }
        *ret_done = last == NULL ? action->verb : *ret_done;
        last = place;
    }
    return true;
}

bool qn_plan_fire(struct qn_plan *plan, const struct qn_plan_rule *from,
                  const struct qn_plan_scene *scene, const struct qn_rule_decision *decision,
                  struct qn_verdict *ret_verdict)
{
    const struct qn_rule *rule = from->rule;
    struct qn_verdict verdict = {.kind = QN_VERDICT_PASS, .rule = QN_STR_NONE};
    enum qn_rule_verb done = QN_DO_COUNT; /* what the fault event calls it */

    if (!judge_chain(plan, from, scene, decision, &verdict, &done)) {
        return false;
    }
    plan->has_fired = true;
    scene->events->wanted = true;
    for (size_t i = 0; i < rule->action_count; i++) {
        const struct qn_rule_action *action = &rule->actions[i];
        if (action->verb == QN_DO_MARK) {
            struct qn_event mark = event_of(QN_EVENT_MARK, scene, from);
            mark.reason = action->text;
            qn_event_list_add(scene->events, &mark);
            done = done == QN_DO_COUNT ? action->verb : done;
        }
    }
    enum qn_rule_verb first_effect = qn_chain_queue(plan, from, scene, decision);
    done = done == QN_DO_COUNT ? first_effect : done;
    tell_fault(plan, from, scene, decision,
               verdict.kind == QN_VERDICT_PASS ? decision->fired : verdict.entry_mask, done);
    if (verdict.kind == QN_VERDICT_PASS) {
        verdict.rule = from->name;
        verdict.count = -1;
        verdict.fraction = fraction_of(rule->point, &rule->actions[0]);
    }
    *ret_verdict = verdict;
    return true;
}
