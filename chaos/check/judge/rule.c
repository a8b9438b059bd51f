/* One entry of must, should or info: which checker it names, or that it is an expression. */
#include <ctype.h>

#include "chaos/check/judge/judge.h"
#include "chaos/lex.h"

enum arguments {
    NO_ARGUMENTS,
    EXCEPT,  /* "except KEY, KEY": messages that it does not hold for */
    KEYS,    /* "KEY, KEY": the messages that it is about */
    SELECTOR /* "WHICH, BOUND" */
};

static const struct checker {
    const char *name;
    qn_checker *checker;
    enum arguments arguments;
} checkers[] = {
    {"NO-LOSS", qn_judge_no_loss, EXCEPT},
    {"NO-PHANTOM", qn_judge_no_phantom, NO_ARGUMENTS},
    {"ONCE", qn_judge_once, EXCEPT},
    {"ACK-AFTER-EFFECT", qn_judge_ack_after_effect, EXCEPT},
    {"NO-ACK-ON-FAIL", qn_judge_no_ack_on_fail, EXCEPT},
    {"DRAINED", qn_judge_drained, NO_ARGUMENTS},
    {"DLQ-EXACT", qn_judge_dlq_exact, KEYS},
    {"NEWEST-HANDLE", qn_judge_newest_handle, EXCEPT},
    {"LEASE-COVER", qn_judge_lease_cover, EXCEPT},
    {"EXTEND-MARGIN", qn_judge_extend_margin, SELECTOR},
    {"START-LIVE", qn_judge_start_live, EXCEPT},
    {"NO-GHOST-EXTEND", qn_judge_no_ghost_extend, EXCEPT},
    {"BOUNDED", qn_judge_bounded, NO_ARGUMENTS},
    {"GROUP-SERIAL", qn_judge_group_serial, EXCEPT},
    {"GROUP-ORDER", qn_judge_group_order, EXCEPT},
    {"NO-GAP-ACK", qn_judge_no_gap_ack, EXCEPT},
    {"BACKOFF", qn_judge_backoff, NO_ARGUMENTS},
    {"QUIET", qn_judge_quiet, NO_ARGUMENTS},
    {"EXIT-IN-GRACE", qn_judge_exit_in_grace, NO_ARGUMENTS},
    {"NO-STRAND", qn_judge_no_strand, EXCEPT},
    {"PROGRESS", qn_judge_progress, SELECTOR},
    {"RECOVERY", qn_judge_recovery, SELECTOR},
    {"IDLE-HOLD", qn_judge_idle_hold, SELECTOR},
    {"SURVIVES", qn_judge_survives, NO_ARGUMENTS},
    {"DISTINCT-IDS", qn_judge_distinct_ids, NO_ARGUMENTS},
};

enum { CHECKER_COUNT = sizeof(checkers) / sizeof(checkers[0]) };

const char *qn_judge_checker_name(size_t index)
{
    return index < CHECKER_COUNT ? checkers[index].name : NULL;
}

/* The name of an invariant is in capitals; an expression always has something else. */
static size_t name_length(struct qn_str text)
{
    size_t len = 0;

    while (len < text.len && (isupper((unsigned char)text.ptr[len]) || text.ptr[len] == '-')) {
        len++;
    }
    return len;
}

static const struct checker *find(struct qn_str name)
{
    for (size_t i = 0; i < CHECKER_COUNT; i++) {
        if (qn_str_equal(name, qn_str_from_cstr(checkers[i].name))) {
            return &checkers[i];
        }
    }
    return NULL;
}

static bool fail_unknown(struct qn_str name, struct qn_error *err)
{
    const char *names[CHECKER_COUNT];

    for (size_t i = 0; i < CHECKER_COUNT; i++) {
        names[i] = checkers[i].name;
    }
    const char *nearest = qn_nearest_word(name, names, CHECKER_COUNT);
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "\"%.*s\" is no invariant%s%s; an expression compares two values, as in "
                   "leases(k-000) == 2",
                   QN_STR_ARG(name), nearest != NULL ? ", perhaps " : "",
                   nearest != NULL ? nearest : "");
}

static bool check_arguments(const struct checker *checker, struct qn_str arguments,
                            struct qn_error *err)
{
    static const struct qn_history nothing = {0};
    const struct qn_judge_input in = {.history = &nothing};
    struct qn_str bound;
    int64_t value;

    switch (checker->arguments) {
    case NO_ARGUMENTS:
        return qn_str_trim(arguments).len == 0 ||
               qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s takes nothing in brackets",
                       checker->name);
    case EXCEPT:
        return arguments.len == 0 || qn_str_starts_with(arguments, QN_STR("except ")) ||
               qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "%s takes (except KEY, KEY) or nothing, not (%.*s)", checker->name,
                       QN_STR_ARG(arguments));
    case KEYS:
        return true;
    default:
        (void)qn_str_cut(arguments, ',', &bound);
        if (qn_str_trim(bound).len == 0) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                           "%s takes (WHICH, BOUND), as in %s(ok, 2*V)", checker->name,
                           checker->name);
        }
        return qn_judge_number(&in, bound, &value, err);
    }
}

static bool read_invariant(struct qn_str text, size_t len, struct qn_judge_rule *rule,
                           struct qn_error *err)
{
    const struct checker *checker = find(qn_str_first(text, len));
    struct qn_str rest = qn_str_trim(qn_str_from(text, len));

    if (checker == NULL) {
        return fail_unknown(qn_str_first(text, len), err);
    }
    rule->checker = checker->checker;
    if (rest.len == 0) {
        return checker->arguments != SELECTOR || check_arguments(checker, rest, err);
    }
    if (!qn_str_starts_with(rest, QN_STR("(")) || !qn_str_ends_with(rest, QN_STR(")"))) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "column %zu of \"%.*s\": expected '(' and ')' around the arguments of %s, "
                       "or the end",
                       text.len - rest.len + 1, QN_STR_ARG(text), checker->name);
    }
    rule->arguments = qn_str_trim(qn_str(rest.ptr + 1, rest.len - 2));
    return check_arguments(checker, rule->arguments, err);
}

const json_t *qn_declaration(const json_t *declared, struct qn_str name)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)declared, key, value) /* takes no const */
    {
        struct qn_str known = qn_str_from_cstr(key);
        if (qn_str_equal(known, name) ||
            (qn_str_starts_with(known, name) &&
             qn_str_equal(qn_str_from(known, name.len), QN_STR("_ms")))) {
            return value;
        }
    }
    return NULL;
}

/* Splits "... if CONDITION". */
static bool read_condition(const struct qn_judge_input *in, struct qn_str *text,
                           struct qn_judge_rule *rule, struct qn_error *err)
{
    const struct qn_str word = QN_STR(" if ");
    struct qn_finding finding = {0};

    for (size_t i = 0; i + word.len <= text->len; i++) {
        if (qn_str_starts_with(qn_str_from(*text, i), word)) {
            rule->condition = qn_str_trim(qn_str_from(*text, i + word.len));
            *text = qn_str_trim(qn_str_first(*text, i));
            return qn_judge_expression(in, rule->condition, &finding, err);
        }
    }
    return true;
}

bool qn_judge_rule_has_weight(const struct qn_judge_input *in, const struct qn_judge_rule *rule,
                              bool *ret_has, struct qn_error *err)
{
    struct qn_finding finding = {0};

    *ret_has = true;
    if (qn_str_is_none(rule->condition)) {
        return true;
    }
    if (!qn_judge_expression(in, rule->condition, &finding, err)) {
        return false;
    }
    *ret_has = finding.result == QN_RESULT_PASS;
    return true;
}

bool qn_judge_rule_read(struct qn_str text, struct qn_judge_rule *ret_rule, struct qn_error *err)
{
    static const struct qn_history nothing = {0};
    const struct qn_judge_input in = {.history = &nothing, .level = QN_LEVEL_SINK};
    struct qn_judge_rule rule = {.name = QN_STR_NONE};
    struct qn_str body;

    if (!read_condition(&in, &text, &rule, err)) {
        return false;
    }
    rule.name = qn_str_trim(text);
    struct qn_str name = qn_str_trim(qn_str_cut(text, ':', &body));

    if (qn_str_is_none(body)) {
        body = rule.name;
    } else {
        body = qn_str_trim(body);
        rule.name = name;
    }
    if (rule.name.len == 0 || body.len == 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "\"%.*s\": expected the name of an invariant, an expression, or NAME: and "
                       "one of them",
                       QN_STR_ARG(text));
    }
    size_t len = name_length(body);
    if (len > 1 && (len == body.len || find(qn_str_first(body, len)) != NULL)) {
        if (!read_invariant(body, len, &rule, err)) {
            return false;
        }
        /* With arguments and without a name of its own, it is known by the invariant's. */
        rule.name = qn_str_equal(rule.name, body) ? qn_str_first(body, len) : rule.name;
        *ret_rule = rule;
        return true;
    }
    struct qn_finding finding = {0};
    rule.expression = body;
    if (!qn_judge_expression(&in, body, &finding, err)) {
        return false;
    }
    *ret_rule = rule;
    return true;
}

bool qn_judge_rule_apply(const struct qn_judge_input *in, const struct qn_judge_rule *rule,
                         struct qn_finding *ret_finding, struct qn_error *err)
{
    if (rule->checker == NULL) {
        return qn_judge_expression(in, rule->expression, ret_finding, err);
    }
    struct qn_judge_input with = *in;
    with.arguments = rule->arguments;
    rule->checker(&with, ret_finding);
    return true;
}
