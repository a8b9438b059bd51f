/* Names of failpoints, and rules for those of actions. */
#include "chaos/failpoints.h"

#include "chaos/lex.h"
#include "chaos/plan.h"

enum { NAMES_MAX = 64, RULE_MAX = 512 };

static const struct {
    const char *prefix;
    const char *point;
} points[] = {
    {"begin:", "arrive"},
    {"before_commit:", "pre-commit"},
    {"after_commit:", "post-commit"},
    {"before_write:", "post-commit"}, /* nothing lies between the two */
    {"mid_write:", "mid-response"},
};

enum { POINT_COUNT = sizeof(points) / sizeof(points[0]) };

/* POINT_COUNT: it is none of these. */
static size_t point_of(struct qn_str name, struct qn_str *ret_action)
{
    size_t i = 0;

    while (i < POINT_COUNT && !qn_str_starts_with(name, qn_str_from_cstr(points[i].prefix))) {
        i++;
    }
    if (i < POINT_COUNT) {
        *ret_action = qn_str_from(name, strlen(points[i].prefix));
    }
    return i;
}

/* Letters and wildcards: what follows is put into the text of a rule. */
static bool is_action(struct qn_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char letter = (char)(text.ptr[i] | 0x20);
        if ((letter < 'a' || letter > 'z') && text.ptr[i] != '*' && text.ptr[i] != '?') {
            return false;
        }
    }
    return text.len > 0;
}

bool qn_failpoints_is_point(struct qn_str name)
{
    struct qn_str action;

    return point_of(name, &action) < POINT_COUNT && is_action(action);
}

static const char rule_prefix[] = "failpoint.";

/* Names of rules have no wildcards. */
static void name_rule(struct qn_str name, struct qn_buf *ret_rule)
{
    qn_buf_append(ret_rule, rule_prefix, sizeof(rule_prefix) - 1);
    for (size_t i = 0; i < name.len; i++) {
        char letter = name.ptr[i];
        qn_buf_append_char(ret_rule, letter == ':'                    ? '.'
                                     : letter == '*' || letter == '?' ? '-'
                                                                      : letter);
    }
}

bool qn_failpoints_owns_rule(struct qn_str rule)
{
    return qn_str_starts_with(rule, qn_str_from_cstr(rule_prefix));
}

static bool fail_unknown(struct qn_str name, struct qn_error *err)
{
    const char *names[NAMES_MAX];
    const struct qn_failpoint_row *row;
    struct qn_buf list;
    size_t count = 0;

    qn_buf_init(&list, QN_ERROR_MESSAGE_MAX);
    while (count < NAMES_MAX && (row = qn_failpoint_row(count)) != NULL) {
        qn_buf_append_format(&list, "%s%s", count > 0 ? ", " : "", row->name);
        names[count++] = row->name;
    }
    const char *nearest = qn_nearest_word(name, names, count);
    if (nearest != NULL) {
        (void)qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                      "no such failpoint: %.*s; did you mean %s?", QN_STR_ARG(name), nearest);
    } else {
        (void)qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                      "no such failpoint: %.*s; there are %.*s, and begin:, before_commit:, "
                      "after_commit:, before_write: and mid_write: with an action behind",
                      QN_STR_ARG(qn_str_first(name, 100)), QN_STR_ARG(qn_buf_str(&list)));
    }
    qn_buf_done(&list);
    return false;
}

static bool is_reached(const struct qn_failpoint_row *row, const struct qn_failpoint_reach *reach,
                       struct qn_error *err)
{
    if (row->need != QN_FAILPOINT_ALWAYS && !reach->has_journal) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "failpoint %s lies in the journal and is never passed without --db FILE",
                       row->name);
    }
    if (row->need == QN_FAILPOINT_SYNC && !reach->is_synced) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "failpoint %s is never passed without --sync full", row->name);
    }
    if (row->need == QN_FAILPOINT_START && !reach->has_starts) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "failpoint %s is passed at a start: give it to --failpoint, or run under "
                       "--supervise",
                       row->name);
    }
    return true;
}

bool qn_failpoints_can_meet(struct qn_str name, const struct qn_failpoint_reach *reach,
                            struct qn_error *err)
{
    const struct qn_failpoint_row *row;

    for (size_t i = 0; (row = qn_failpoint_row(i)) != NULL; i++) {
        if (qn_str_equal(name, qn_str_from_cstr(row->name))) {
            return is_reached(row, reach, err);
        }
    }
    return fail_unknown(name, err);
}

static struct qn_str name_of(struct qn_str spec)
{
    struct qn_str mode;

    return qn_str_cut(spec, '=', &mode);
}

bool qn_failpoints_check(const struct qn_str *specs, size_t count,
                         const struct qn_failpoint_reach *reach, struct qn_error *err)
{
    if (!qn_failpoint_check_all(specs, count, err)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct qn_str name = name_of(specs[i]);
        if (!qn_failpoints_is_point(name) && !qn_failpoints_can_meet(name, reach, err)) {
            return false;
        }
    }
    return true;
}

/* What is done to the request; the spec has been checked. */
static bool append_action(struct qn_buf *rule, struct qn_str mode, struct qn_error *err)
{
    struct qn_str amount;
    struct qn_str word = qn_str_cut(mode, ' ', &amount);

    if (qn_str_equal(word, QN_STR("kill"))) {
        qn_buf_append_literal(rule, "crash server");
    } else if (qn_str_equal(word, QN_STR("error"))) {
        qn_buf_append_literal(rule, "error InternalFailure");
    } else if (qn_str_equal(word, QN_STR("delay"))) {
        qn_buf_append_format(rule, "delay %.*sms", QN_STR_ARG(amount));
    } else {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "abort is for places in the journal; at a point of a request say kill");
    }
    return true;
}

/* The text of the spec's rule. */
static bool append_rule(struct qn_buf *rule, struct qn_str spec, struct qn_error *err)
{
    struct qn_str action;
    struct qn_str how;
    struct qn_str passage;
    struct qn_str name = qn_str_cut(spec, '=', &how);
    size_t point = point_of(name, &action);
    struct qn_str mode = qn_str_cut(how, ':', &passage);

    qn_buf_append_format(rule, "on %.*s ", QN_STR_ARG(action));
    if (!qn_str_is_none(passage)) {
        qn_buf_append_format(rule, "nth %.*s ", QN_STR_ARG(passage));
    }
    qn_buf_append_format(rule, "at %s do ", points[point].point);
    if (!append_action(rule, mode, err)) {
        return false;
    }
    qn_buf_append_literal(rule, " as ");
    name_rule(name, rule);
    return true;
}

bool qn_failpoints_remove_rule(struct qn_plan *plan, struct qn_str name)
{
    struct qn_buf rule;
    bool was_there;

    qn_buf_init(&rule, RULE_MAX);
    name_rule(name, &rule);
    was_there = qn_failpoints_is_point(name) && qn_plan_remove(plan, qn_buf_str(&rule));
    qn_buf_done(&rule);
    return was_there;
}

/* Says the first, and frees them. */
static bool fail_at(struct qn_mistakes *mistakes, const struct qn_str *names, struct qn_error *err)
{
    const struct qn_mistake *first = &mistakes->all[0];

    (void)qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "failpoint %.*s: %.*s",
                  QN_STR_ARG(names[first->text]), QN_ERROR_MESSAGE_MAX - 200, first->what);
    qn_mistakes_done(mistakes);
    return false;
}

/* All are right, and none is there twice. */
static bool check_all(const struct qn_plan *plan, const struct qn_str *texts,
                      const struct qn_str *names, size_t count, struct qn_error *err)
{
    struct qn_mistakes mistakes = {.count = 0};
    struct qn_rule *rule;

    for (size_t i = 0; i < count; i++) {
        mistakes.text = i;
        if (!qn_rule_read(texts[i], 1, plan->names.actions != NULL ? &plan->names : NULL, &rule,
                          &mistakes)) {
            return fail_at(&mistakes, names, err);
        }
        qn_rule_free(rule);
        for (size_t j = 0; j < i; j++) {
            if (qn_str_equal(names[j], names[i])) {
                return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "failpoint %.*s is named twice",
                               QN_STR_ARG(names[i]));
            }
        }
    }
    return true;
}

/* In place of those that are armed at the same points, as places in the journal are armed anew. */
static bool add_all(struct qn_plan *plan, const struct qn_buf *rules, const struct qn_str *names,
                    size_t count, struct qn_error *err)
{
    struct qn_mistakes mistakes = {.count = 0};
    struct qn_str texts[QN_FAILPOINTS_MAX];

    for (size_t i = 0; i < count; i++) {
        texts[i] = qn_buf_str(&rules[i]);
    }
    if (!check_all(plan, texts, names, count, err)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        (void)qn_failpoints_remove_rule(plan, names[i]);
    }
    return qn_plan_add_all(plan, texts, count, &mistakes) || fail_at(&mistakes, names, err);
}

bool qn_failpoints_add_rules(struct qn_plan *plan, const struct qn_str *specs, size_t count,
                             struct qn_error *err)
{
    struct qn_buf rules[QN_FAILPOINTS_MAX];
    struct qn_str names[QN_FAILPOINTS_MAX];
    size_t rule_count = 0;
    bool ok = true;

    for (size_t i = 0; ok && i < count; i++) {
        struct qn_str name = name_of(specs[i]);
        if (!qn_failpoints_is_point(name)) {
            continue;
        }
        if (rule_count == QN_FAILPOINTS_MAX) {
            ok = qn_fail(err, QN_ERR_OVER_LIMIT, "more than %d failpoints", QN_FAILPOINTS_MAX);
            break;
        }
        names[rule_count] = name;
        qn_buf_init(&rules[rule_count], RULE_MAX);
        ok = append_rule(&rules[rule_count++], specs[i], err);
    }
    ok = ok && add_all(plan, rules, names, rule_count, err);
    for (size_t i = 0; i < rule_count; i++) {
        qn_buf_done(&rules[i]);
    }
    return ok;
}

bool qn_failpoints_arm(const struct qn_str *specs, size_t count, struct qn_error *err)
{
    struct qn_str places[QN_FAILPOINTS_MAX];
    size_t place_count = 0;

    for (size_t i = 0; i < count; i++) {
        if (qn_failpoints_is_point(name_of(specs[i]))) {
            continue;
        }
        if (place_count == QN_FAILPOINTS_MAX) {
            return qn_fail(err, QN_ERR_OVER_LIMIT, "more than %d failpoints", QN_FAILPOINTS_MAX);
        }
        places[place_count++] = specs[i];
    }
    return qn_failpoint_arm_all(places, place_count, err);
}
