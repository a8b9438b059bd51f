/* Fault rules: list, add, remove, enable and disable, and letting go what they hold. */
#include "server/http/control/control.h"

/* What the plan does not know: which queues there are, and which calls wait. */
static void complete(const struct qn_loop *loop, json_t *rule)
{
    struct qn_str name = qn_str_from_cstr(json_string_value(json_object_get(rule, "name")));
    json_int_t held = 0;

    for (const struct qn_call *call = loop->held.first; call != NULL; call = call->next) {
        held += qn_str_equal(call->rule, name);
    }
    json_object_set_new(rule, "queues_unknown", qn_rule_queues_unknown(loop, rule));
    json_object_set_new(rule, "held", json_integer(held));
}

static json_t *list_rules(const struct qn_loop *loop)
{
    json_t *rules = qn_plan_list(loop->parts.plan);
    size_t i;
    json_t *rule;

    json_array_foreach(rules, i, rule)
    {
        complete(loop, rule);
    }
    return rules;
}

void qn_control_rules(struct qn_call *call, struct qn_str rest)
{
    (void)rest;
    qn_control_answer(call, 200, json_pack("{s:o}", "rules", list_rules(call->loop)));
}

/* All of a list, or none. */
static bool add_list(struct qn_call *call, const json_t *rules, struct qn_mistakes *mistakes)
{
    size_t count = json_array_size(rules);
    struct qn_str *texts = qn_memory_new_array(count, sizeof(texts[0]));
    size_t i;
    const json_t *rule;

    json_array_foreach(rules, i, rule)
    {
        texts[i] = qn_str(json_string_value(rule), json_string_length(rule));
    }
    bool ok = qn_plan_add_all(call->loop->parts.plan, texts, count, mistakes);
    qn_memory_free(texts);
    return ok;
}

/* The names of the rules behind the first `before`: some are ours to give. */
static json_t *names_of_new(const json_t *rules, size_t before)
{
    json_t *names = json_array();

    for (size_t i = before; i < json_array_size(rules); i++) {
        json_array_append(names, json_object_get(json_array_get(rules, i), "name"));
    }
    return names;
}

/* New rules stand at the end. */
static void answer_added(struct qn_call *call, size_t before)
{
    qn_keep_refresh(call->loop);
    if (call->loop->record != NULL) {
        qn_record_rules(call->loop);
    }
    json_t *rules = list_rules(call->loop);
    json_t *added = names_of_new(rules, before);
    qn_control_answer(call, 200, json_pack("{s:o, s:o}", "added", added, "rules", rules));
}

static void answer_refused(struct qn_call *call, const struct qn_mistakes *mistakes, bool has_texts)
{
    struct qn_error err;

    (void)qn_mistakes_fail(mistakes, &err);
    qn_control_answer(call, 400,
                      json_pack("{s:o, s:o}", "error",
                                qn_control_text(qn_str_from_cstr(err.message)), "errors",
                                qn_mistakes_list(mistakes, has_texts)));
}

static void answer_add(struct qn_call *call, bool ok, size_t before,
                       struct qn_mistakes *mistakes_take, bool has_texts)
{
    if (ok) {
        answer_added(call, before);
    } else {
        answer_refused(call, mistakes_take, has_texts);
    }
    qn_mistakes_done(mistakes_take);
}

static void add_document(struct qn_call *call, const json_t *body)
{
    struct qn_mistakes mistakes = {.count = 0};
    struct qn_plan *plan = call->loop->parts.plan;
    const json_t *rule = json_object_get(body, "rule");
    const json_t *rules = json_object_get(body, "rules");
    size_t before = qn_plan_rule_count(plan);

    if (json_is_string(rule) && rules == NULL) {
        struct qn_str text = qn_str(json_string_value(rule), json_string_length(rule));
        bool ok = qn_plan_add_all(plan, &text, 1, &mistakes);
        answer_add(call, ok, before, &mistakes, false);
    } else if (qn_control_is_list_of_texts(rules) && rule == NULL) {
        bool ok = add_list(call, rules, &mistakes);
        answer_add(call, ok, before, &mistakes, true);
    } else {
        qn_control_fail(call, 400,
                        "say {\"rule\": \"...\"} or {\"rules\": [\"...\"]}, or send the rules as "
                        "text/plain, one a line");
    }
}

void qn_control_add_rules(struct qn_call *call, struct qn_str rest)
{
    static const char *const members[] = {"rule", "rules", NULL};
    struct qn_str type = call->request.http.content_type;
    struct qn_mistakes mistakes = {.count = 0};
    size_t before = qn_plan_rule_count(call->loop->parts.plan);

    (void)rest;
    qn_plan_observe(call->loop->parts.plan, NULL, call->loop->now_ms); /* they count from now on */
    if (qn_str_starts_with_nocase(type, QN_STR("text/plain"))) {
        bool ok = qn_plan_add_lines(call->loop->parts.plan, call->request.http.body, &mistakes);
        answer_add(call, ok, before, &mistakes, false);
        return;
    }
    json_t *body = qn_control_body(call, members);
    if (body != NULL) {
        add_document(call, body);
        json_decref(body);
    }
}

/* What a rule holds that is gone could never be released: it goes on now. */
static void release_orphans(struct qn_loop *loop, struct qn_str name)
{
    struct qn_call *call;

    if (name.len > 0) {
        (void)qn_fault_release(loop, name);
        return;
    }
    while ((call = loop->held.first) != NULL) {
        (void)qn_fault_release(loop, call->rule);
    }
}

void qn_control_remove_rules(struct qn_call *call, struct qn_str rest)
{
    struct qn_str name = QN_STR("");

    (void)rest;
    if (qn_control_parameter(call, "name", &name) && name.len == 0) {
        qn_control_fail(call, 400, "say which rule, or leave name out to remove all");
        return;
    }
    if (!qn_plan_remove(call->loop->parts.plan, name) && name.len > 0) {
        qn_control_fail(call, 404, "there is no rule of this name");
        return;
    }
    qn_keep_refresh(call->loop);
    if (call->loop->record != NULL) {
        qn_record_rules(call->loop);
    }
    release_orphans(call->loop, name);
    qn_control_rules(call, rest);
}

static void change(struct qn_call *call, struct qn_str name, bool enabled)
{
    (void)qn_plan_enable(call->loop->parts.plan, name, enabled);
    qn_keep_refresh(call->loop);
    qn_control_rules(call, QN_STR(""));
}

void qn_control_change_rule(struct qn_call *call, struct qn_str rest)
{
    struct qn_str verb;
    struct qn_str name = qn_str_cut(rest, '/', &verb);
    bool enables = qn_str_equal(verb, QN_STR("enable"));
    bool releases = qn_str_equal(verb, QN_STR("release"));

    if (name.len == 0 || (!releases && !enables && !qn_str_equal(verb, QN_STR("disable")))) {
        qn_control_fail(call, 404, "no such page of the control API");
        return;
    }
    size_t released = releases ? qn_fault_release(call->loop, name) : 0;
    if (released == 0 && !qn_plan_has(call->loop->parts.plan, name)) {
        qn_control_fail(call, 404, "there is no rule of this name");
    } else if (releases) {
        qn_control_answer(call, 200, json_pack("{s:I}", "released", (json_int_t)released));
    } else {
        change(call, name, enables);
    }
}
