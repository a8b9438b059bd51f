/* One action, done once and now, without a rule that stays: what a harness wants when something
 * happened that the server does not see. */
#include "chaos/plan.h"

/* As a rule for an event of the message, so that the action is read, and refused, as in any. */
static bool read_for(struct qn_plan *plan, const char *event, struct qn_str text,
                     struct qn_rule **ret_rule, struct qn_mistakes *mistakes)
{
    struct qn_buf whole;

    qn_buf_init(&whole, SIZE_MAX / 2);
    qn_buf_append_format(&whole, "unsound on %s do %.*s", event, QN_STR_ARG(text));
    bool ok = qn_rule_read(qn_buf_str(&whole), 1, &plan->names, ret_rule, mistakes) &&
              qn_plan_carries(&plan->options, *ret_rule, mistakes) &&
              qn_sends_load(*ret_rule, mistakes);
    if (ok && qn_plan_harness_part(*ret_rule) < (*ret_rule)->action_count) {
        qn_mistakes_add(mistakes, 1, 1,
                        "the server does this itself, not a harness: no kill, "
                        "signal, stop, spawn, respawn or restart");
        ok = false;
    }
    qn_buf_done(&whole);
    if (!ok) {
        qn_rule_free(*ret_rule);
        *ret_rule = NULL;
    }
    return ok;
}

/* Leases end at a grant, and only what was deleted comes back. */
static bool read_action(struct qn_plan *plan, struct qn_str text, struct qn_rule **ret_rule,
                        struct qn_mistakes *mistakes)
{
    struct qn_mistakes others = {.count = 0};

    bool ok = read_for(plan, "msg.delete", text, ret_rule, &others) ||
              read_for(plan, "lease.grant", text, ret_rule, mistakes);
    qn_mistakes_done(&others);
    return ok;
}

bool qn_plan_act(struct qn_plan *plan, struct qn_str text, struct qn_str name,
                 const struct qn_event *event, int64_t now_ms, struct qn_mistakes *mistakes)
{
    struct qn_rule *rule = NULL;
    struct qn_rule_subject subject;
    const struct qn_fact_message message = {.message_id = event->message_id,
                                            .handle = event->handle,
                                            .receive_count = event->receive_count};
    const struct qn_rule_decision decision = {.fired = UINT64_MAX, .match = 1};

    if (!read_action(plan, text, &rule, mistakes)) {
        return false;
    }
    struct qn_plan_rule once = {.rule = rule, .name = name};
    qn_rule_subject_init(&subject, QN_TARGET_SQS, rule->event, &plan->arena);
    subject.queue = event->queue;
    subject.instance = event->instance;
    subject.messages = &message;
    subject.message_count = qn_str_is_none(event->message_id) ? 0 : 1;
    const struct qn_plan_scene scene = {.event = event,
                                        .subject = &subject,
                                        .arena = &plan->arena,
                                        .events = &plan->events,
                                        .now_ms = now_ms};
    bool any = qn_chain_queue(plan, &once, &scene, &decision) != QN_DO_COUNT;
    qn_chain_forget(plan, &once);
    plan->has_fired = plan->has_fired || any;
    qn_rule_free(rule);
    if (!any) {
        qn_mistakes_add(mistakes, 1, 1, "this does nothing apart from a request");
    }
    return any;
}

bool qn_plan_has_work(const struct qn_plan *plan)
{
    return plan->rule_count > 0 || plan->effects != NULL;
}
