/* Fault rules: list, add, remove, and letting go what they hold. */
#include "server/http/control/control.h"

void qn_control_rules(struct qn_call *call, struct qn_str rest)
{
    (void)rest;
    qn_control_answer(call, 200, json_pack("{s:o}", "rules", qn_plan_list(call->loop->parts.plan)));
}

/* All of a list, or none. */
static bool add_list(struct qn_plan *plan, const json_t *rules, struct qn_error *err)
{
    struct qn_buf lines;
    bool ok;
    size_t i;
    const json_t *rule;

    qn_buf_init(&lines, SIZE_MAX / 2);
    json_array_foreach(rules, i, rule)
    {
        qn_buf_append(&lines, json_string_value(rule), json_string_length(rule));
        qn_buf_append_char(&lines, '\n');
    }
    ok = qn_plan_add_lines(plan, qn_buf_str(&lines), err);
    qn_buf_done(&lines);
    return ok;
}

static bool is_list_of_texts(const json_t *rules)
{
    size_t i;
    const json_t *rule;

    json_array_foreach(rules, i, rule)
    {
        if (!json_is_string(rule)) {
            return false;
        }
    }
    return json_is_array(rules);
}

static bool add_document(struct qn_call *call, const json_t *body, struct qn_error *err)
{
    struct qn_plan *plan = call->loop->parts.plan;
    const json_t *rule = json_object_get(body, "rule");
    const json_t *rules = json_object_get(body, "rules");

    if (json_is_string(rule)) {
        return qn_plan_add(plan, qn_str(json_string_value(rule), json_string_length(rule)), err);
    }
    if (is_list_of_texts(rules)) {
        return add_list(plan, rules, err);
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "say {\"rule\": \"...\"} or {\"rules\": [\"...\"]}, or send the rules as "
                   "text/plain, one a line");
}

void qn_control_add_rules(struct qn_call *call, struct qn_str rest)
{
    static const char *const members[] = {"rule", "rules", NULL};
    struct qn_str type = call->request.http.content_type;
    struct qn_error err;
    bool ok;

    (void)rest;
    if (qn_str_starts_with_nocase(type, QN_STR("text/plain"))) {
        ok = qn_plan_add_lines(call->loop->parts.plan, call->request.http.body, &err);
    } else {
        json_t *body = qn_control_body(call, members);
        if (body == NULL) {
            return;
        }
        ok = add_document(call, body, &err);
        json_decref(body);
    }
    qn_keep_refresh(call->loop);
    if (ok) {
        qn_control_rules(call, rest);
    } else {
        qn_control_fail(call, 400, "%s", err.message);
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
    release_orphans(call->loop, name);
    qn_control_rules(call, rest);
}

static bool rule_exists(const struct qn_plan *plan, struct qn_str name)
{
    json_t *rules = qn_plan_list(plan);
    bool exists = false;
    size_t i;
    const json_t *rule;

    json_array_foreach(rules, i, rule)
    {
        const char *text = json_string_value(json_object_get(rule, "name"));
        exists = exists || qn_str_equal(name, qn_str_from_cstr(text));
    }
    json_decref(rules);
    return exists;
}

void qn_control_release_rule(struct qn_call *call, struct qn_str rest)
{
    struct qn_str suffix = QN_STR("/release");
    struct qn_str name = qn_str_first(rest, rest.len - suffix.len);
    size_t released;

    if (!qn_str_ends_with(rest, suffix) || rest.len == suffix.len) {
        qn_control_fail(call, 404, "no such page of the control API");
        return;
    }
    released = qn_fault_release(call->loop, name);
    if (released == 0 && !rule_exists(call->loop->parts.plan, name)) {
        qn_control_fail(call, 404, "there is no rule of this name");
        return;
    }
    qn_control_answer(call, 200, json_pack("{s:I}", "released", (json_int_t)released));
}
