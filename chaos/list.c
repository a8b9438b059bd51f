/* The rules of a plan as others see them: as JSON, and as the text that makes them again. */
#include "chaos/plan.h"
#include "chaos/pred.h"
#include "chaos/verbs.h"

static json_t *json_text(struct qn_str text)
{
    return json_stringn(text.ptr, text.len);
}

static void add_queue(json_t *list, struct qn_str queue)
{
    size_t i;
    const json_t *known;

    json_array_foreach(list, i, known)
    {
        if (qn_str_equal(qn_str(json_string_value(known), json_string_length(known)), queue)) {
            return;
        }
    }
    json_array_append_new(list, json_text(queue));
}

/* Of a kind of queues that is left out nobody need be there: `not queue ~ "*.fifo"`. */
static void add_queues(json_t *list, const struct qn_rule_pred *pred, bool is_negated)
{
    if (pred == NULL) {
        return;
    }
    if (pred->kind != QN_PRED_COMPARE) {
        is_negated = is_negated != (pred->kind == QN_PRED_NOT);
        add_queues(list, pred->left, is_negated);
        add_queues(list, pred->right, is_negated);
        return;
    }
    if (is_negated && pred->op == QN_OP_GLOB) {
        return;
    }
    bool compares_order = pred->op == QN_OP_LESS || pred->op == QN_OP_AT_MOST ||
                          pred->op == QN_OP_MORE || pred->op == QN_OP_AT_LEAST;
    for (size_t i = 0; pred->field == QN_FIELD_QUEUE && !compares_order && i < pred->value_count;
         i++) {
        add_queue(list, pred->values[i].text);
    }
}

/* What the rule calls a queue, with the wildcards it uses, but for one that it makes itself. */
static json_t *queues_of(const struct qn_rule *rule)
{
    json_t *list = json_array();

    add_queues(list, rule->where, false);
    for (size_t i = 0; i < rule->action_count; i++) {
        add_queues(list, rule->actions[i].entries, false);
        if (!qn_str_is_none(rule->actions[i].queue) &&
            rule->actions[i].verb != QN_DO_CREATE_QUEUE) {
            add_queue(list, rule->actions[i].queue);
        }
    }
    return list;
}

/* Whether it has fired for the last time. */
static bool is_used_up(const struct qn_plan_rule *item)
{
    const struct qn_rule_when *when = &item->rule->when;
    int64_t matched = (int64_t)item->state.total[1];
    int64_t fired = (int64_t)item->state.total[2];
    int64_t last_nth = 0;

    for (size_t i = 0; i < when->nth_count; i++) {
        last_nth = when->nth[i] > last_nth ? when->nth[i] : last_nth;
    }
    return when->per == QN_PER_NOTHING &&
           ((when->times > 0 && fired >= when->times) ||
            (when->first > 0 && matched >= when->first) || (last_nth > 0 && matched >= last_nth));
}

/* Off is what somebody switched off, done what will not fire any more. */
static const char *state_of(const struct qn_plan_rule *item)
{
    return item->is_disabled ? "off" : is_used_up(item) ? "done" : "on";
}

/* From the first one on that only quern check carries out, the actions are told in the trace, and
 * nothing else. What restarts the server is its supervisor's. */
static json_t *told_of(const struct qn_rule *rule)
{
    json_t *told = json_array();
    bool is_told = false;

    for (size_t i = 0; i < rule->action_count; i++) {
        const struct qn_rule_action *action = &rule->actions[i];
        is_told = is_told || (qn_verb_of(action->verb)->carrier == QN_CARRIED_BY_HARNESS &&
                              action->verb != QN_DO_RESTART);
        if (is_told) {
            json_array_append_new(told, json_text(action->source));
        }
    }
    return told;
}

static json_t *row_of(const struct qn_plan_rule *item)
{
    const struct qn_rule *rule = item->rule;
    const uint64_t *total = item->state.total;

    return json_pack("{s:o, s:o, s:o, s:b, s:s, s:b, s:I, s:I, s:o, s:o, s:o}", "name",
                     json_text(item->name), "text", json_text(rule->text), "point",
                     rule->point == QN_RULE_ANYWHERE ? json_null()
                                                     : json_string(qn_rule_point_name(rule->point)),
                     "enabled", !item->is_disabled, "state", state_of(item), "unsound",
                     rule->unsound, "matched", (json_int_t)total[1], "fired", (json_int_t)total[2],
                     "last_fired", total[2] > 0 ? json_integer((json_int_t)total[3]) : json_null(),
                     "queues", queues_of(rule), "told", told_of(rule));
}

json_t *qn_plan_list(const struct qn_plan *plan)
{
    json_t *list = json_array();

    for (size_t i = 0; i < plan->rule_count; i++) {
        json_array_append_new(list, row_of(plan->rules[i]));
    }
    return list;
}

/* Comments and ends of lines become blanks, within quotes \n. */
static void write_line(struct qn_buf *buf, struct qn_str text)
{
    bool in_quotes = false;
    bool in_comment = false;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (in_quotes && c == '\\') {
            qn_buf_append(buf, text.ptr + i, 2); /* the lexer has seen that there is another */
            i++;
            continue;
        }
        in_quotes = !in_comment && in_quotes != (c == '"');
        in_comment = !in_quotes && c != '\n' && (in_comment || c == '#');
        if (c == '\n' && in_quotes) {
            qn_buf_append_literal(buf, "\\n");
        } else if (c == '\n') {
            qn_buf_append_char(buf, ' ');
        } else if (!in_comment) {
            qn_buf_append_char(buf, c);
        }
    }
}

void qn_plan_write(const struct qn_plan *plan, struct qn_buf *buf)
{
    for (size_t i = 0; i < plan->rule_count; i++) {
        const struct qn_plan_rule *item = plan->rules[i];
        if (item->is_disabled) {
            qn_buf_append_literal(buf, "disabled ");
        }
        write_line(buf, item->rule->text);
        if (qn_str_is_none(item->rule->name)) {
            qn_buf_append_format(buf, " as %.*s", QN_STR_ARG(item->name));
        }
        qn_buf_append_char(buf, '\n');
    }
}

static void widen(int64_t *least_ms, int64_t *most_ms, int64_t ms)
{
    *least_ms = ms < *least_ms ? ms : *least_ms;
    *most_ms = ms > *most_ms ? ms : *most_ms;
}

bool qn_plan_restores(const struct qn_plan *plan, int64_t *ret_least_ms, int64_t *ret_most_ms)
{
    *ret_least_ms = INT64_MAX;
    *ret_most_ms = -1;
    for (size_t i = 0; i < plan->rule_count; i++) {
        const struct qn_plan_rule *item = plan->rules[i];
        for (size_t j = 0; j < item->rule->action_count; j++) {
            const struct qn_rule_action *action = &item->rule->actions[j];
            if (action->verb == QN_DO_RESTORE && !item->is_disabled && !is_used_up(item)) {
                widen(ret_least_ms, ret_most_ms, action->duration_ms);
            }
        }
    }
    for (const struct qn_plan_effect *next = plan->effects; next != NULL; next = next->next) {
        if (next->effect.kind == QN_EFFECT_RESTORE) { /* has fired, and is still to come */
            widen(ret_least_ms, ret_most_ms, next->effect.amount_ms);
        }
    }
    return *ret_most_ms >= 0;
}
