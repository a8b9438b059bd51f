/* Failpoints: list, arm, disarm. */
#include "server/http/control/control.h"

static json_t *describe(const struct qn_failpoint_row *row, const struct qn_failpoint_reach *reach)
{
    struct qn_str name = qn_str_from_cstr(row->name);
    struct qn_failpoint_state state;
    struct qn_error err;
    char mode[32];
    json_t *document = json_pack("{s:s, s:b, s:n, s:n, s:n, s:s}", "name", row->name, "reachable",
                                 qn_failpoints_can_meet(name, reach, &err), "mode", "nth", "passed",
                                 "proves", row->proves);

    if (qn_failpoint_find(name, &state)) {
        json_object_set_new(document, "mode",
                            qn_control_text(qn_failpoint_mode_text(&state, mode)));
        json_object_set_new(document, "passed", json_integer(state.passages));
        if (state.at_passage > 0) {
            json_object_set_new(document, "nth", json_integer(state.at_passage));
        }
    }
    return document;
}

void qn_control_failpoints(struct qn_call *call, struct qn_str rest)
{
    const struct qn_failpoint_row *row;
    json_t *list = json_array();

    (void)rest;
    for (size_t i = 0; (row = qn_failpoint_row(i)) != NULL; i++) {
        json_array_append_new(list, describe(row, &call->loop->options.failpoints));
    }
    qn_control_answer(call, 200, json_pack("{s:o}", "failpoints", list));
}

/* All of them or none; those of actions become rules. */
static void arm(struct qn_call *call, const struct qn_str *specs, size_t count)
{
    struct qn_plan *plan = call->loop->parts.plan;
    struct qn_error err;
    bool ok = qn_failpoints_check(specs, count, &call->loop->options.failpoints, &err) &&
              qn_failpoints_add_rules(plan, specs, count, &err) &&
              qn_failpoints_arm(specs, count, &err);

    qn_keep_refresh(call->loop);
    if (ok) {
        qn_control_failpoints(call, QN_STR(""));
    } else {
        qn_control_fail(call, 400, "%s", err.message);
    }
}

/* NULL: there are more than can be armed. */
static struct qn_str *split_lines(struct qn_call *call, struct qn_str text, size_t *ret_count)
{
    struct qn_str *specs = qn_arena_alloc(&call->request.arena, QN_FAILPOINTS_MAX * sizeof(*specs));

    *ret_count = 0;
    while (specs != NULL && text.len > 0) {
        struct qn_str line = qn_str_cut(text, '\n', &text);
        line = qn_str_trim(qn_str_ends_with(line, QN_STR("\r")) ? qn_str_first(line, line.len - 1)
                                                                : line);
        if (line.len == 0 || line.ptr[0] == '#') {
            continue;
        }
        if (*ret_count == QN_FAILPOINTS_MAX) {
            return NULL;
        }
        specs[(*ret_count)++] = line;
    }
    return specs;
}

static struct qn_str *list_texts(struct qn_call *call, const json_t *list, size_t *ret_count)
{
    struct qn_str *specs = qn_arena_alloc(&call->request.arena, QN_FAILPOINTS_MAX * sizeof(*specs));
    size_t i;
    const json_t *text;

    *ret_count = json_array_size(list);
    if (specs == NULL || *ret_count > QN_FAILPOINTS_MAX) {
        return NULL;
    }
    json_array_foreach(list, i, text)
    {
        specs[i] = qn_str(json_string_value(text), json_string_length(text));
    }
    return specs;
}

static void arm_or_fail(struct qn_call *call, const struct qn_str *specs, size_t count)
{
    if (specs == NULL) {
        qn_control_fail(call, 400, "more than %d failpoints", QN_FAILPOINTS_MAX);
    } else if (count == 0) {
        qn_control_fail(call, 400,
                        "say which: {\"failpoints\": [\"NAME=kill\"]}, or text/plain, "
                        "one a line");
    } else {
        arm(call, specs, count);
    }
}

void qn_control_arm_failpoints(struct qn_call *call, struct qn_str rest)
{
    static const char *const members[] = {"failpoints", NULL};
    struct qn_str type = call->request.http.content_type;
    struct qn_str *specs;
    size_t count;

    (void)rest;
    if (qn_str_starts_with_nocase(type, QN_STR("text/plain"))) {
        specs = split_lines(call, call->request.http.body, &count);
        arm_or_fail(call, specs, count);
        return;
    }
    json_t *body = qn_control_body(call, members);
    if (body == NULL) {
        return;
    }
    const json_t *list = json_object_get(body, "failpoints");
    if (!qn_control_is_list_of_texts(list)) {
        qn_control_fail(call, 400,
                        "say {\"failpoints\": [\"NAME=kill\", ...]}, or send them as "
                        "text/plain, one a line");
    } else {
        specs = list_texts(call, list, &count);
        arm_or_fail(call, specs, count);
    }
    json_decref(body);
}

/* All that is armed, the rules of actions among them. */
static void disarm_all(struct qn_call *call)
{
    struct qn_plan *plan = call->loop->parts.plan;
    json_t *rules = qn_plan_list(plan);
    size_t i;
    const json_t *rule;

    qn_failpoint_clear();
    json_array_foreach(rules, i, rule)
    {
        struct qn_str name = qn_str_from_cstr(json_string_value(json_object_get(rule, "name")));
        if (qn_failpoints_owns_rule(name)) {
            (void)qn_plan_remove(plan, name);
        }
    }
    json_decref(rules);
}

void qn_control_disarm_failpoints(struct qn_call *call, struct qn_str rest)
{
    struct qn_str name;

    (void)rest;
    if (!qn_control_parameter(call, "name", &name)) {
        disarm_all(call);
    } else if (name.len == 0) {
        qn_control_fail(call, 400, "say which failpoint, or leave name out to disarm all");
        return;
    } else if (!qn_failpoints_remove_rule(call->loop->parts.plan, name) &&
               !qn_failpoint_disarm(name)) {
        qn_control_fail(call, 404, "no failpoint of this name is armed");
        return;
    }
    qn_keep_refresh(call->loop);
    qn_control_failpoints(call, rest);
}
