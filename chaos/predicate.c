/* The predicate of a rule: its parser. */
#include "chaos/pred.h"

static const char *const fields[] = {[QN_FIELD_QUEUE] = "queue",   [QN_FIELD_INSTANCE] = "instance",
                                     [QN_FIELD_CODE] = "code",     [QN_FIELD_ATTEMPT] = "attempt",
                                     [QN_FIELD_SIZE] = "size",     [QN_FIELD_WAIT] = "wait",
                                     [QN_FIELD_MAX] = "max",       [QN_FIELD_ENTRIES] = "entries",
                                     [QN_FIELD_TIME] = "t",        [QN_FIELD_MID] = "mid",
                                     [QN_FIELD_RC] = "rc",         [QN_FIELD_GROUP] = "group",
                                     [QN_FIELD_TENANT] = "tenant", [QN_FIELD_KEY] = "key",
                                     [QN_FIELD_TAG] = "tag",       [QN_FIELD_BODY] = "body",
                                     [QN_FIELD_ATTRIBUTE] = "attr"};

static const char *const ops[] = {
    [QN_OP_EQUAL] = "=", [QN_OP_UNEQUAL] = "!=",  [QN_OP_LESS] = "<", [QN_OP_AT_MOST] = "<=",
    [QN_OP_MORE] = ">",  [QN_OP_AT_LEAST] = ">=", [QN_OP_GLOB] = "~", [QN_OP_IN] = "in",
};

enum { FIELDS = sizeof(fields) / sizeof(fields[0]), OPS = sizeof(ops) / sizeof(ops[0]) };

static bool is_number_field(enum qn_pred_field field)
{
    return (field >= QN_FIELD_ATTEMPT && field <= QN_FIELD_TIME) || field == QN_FIELD_RC;
}

/* body."a.b" is the word `body.` and a quoted text right behind it; body.a.b needs no quotes. */
static bool parse_path(struct qn_parse *parse, struct qn_str word, struct qn_str prefix,
                       enum qn_pred_field field, struct qn_rule_pred *pred)
{
    struct qn_lex *lex = &parse->lex;
    size_t behind = lex->to;

    pred->field = field;
    pred->path = qn_str_from(word, prefix.len);
    qn_lex_next(lex);
    if (pred->path.len == 0) {
        if (lex->kind != QN_LEX_TEXT || lex->from != behind || lex->text.len == 0) {
            return qn_lex_fail_expected(lex, field == QN_FIELD_BODY
                                                 ? "a path such as body.\"payload.id\""
                                                 : "a name such as attr.\"kind\"");
        }
        pred->path = lex->text;
        qn_lex_next(lex);
    }
    return !lex->failed;
}

static bool parse_field(struct qn_parse *parse, struct qn_rule_pred *pred)
{
    struct qn_lex *lex = &parse->lex;

    if (lex->kind == QN_LEX_WORD) {
        struct qn_str word = lex->text;
        if (qn_str_starts_with(word, QN_STR("body."))) {
            return parse_path(parse, word, QN_STR("body."), QN_FIELD_BODY, pred);
        }
        if (qn_str_starts_with(word, QN_STR("attr."))) {
            return parse_path(parse, word, QN_STR("attr."), QN_FIELD_ATTRIBUTE, pred);
        }
        for (size_t i = 0; i < QN_FIELD_BODY; i++) {
            if (qn_str_equal(word, qn_str_from_cstr(fields[i]))) {
                pred->field = (enum qn_pred_field)i;
                qn_lex_next(lex);
                return !lex->failed;
            }
        }
        if (qn_lex_is(lex, "body") || qn_lex_is(lex, "attr")) {
            return qn_lex_fail_at(lex, lex->from, "%.*s needs what to look at, such as %s",
                                  QN_STR_ARG(word),
                                  qn_lex_is(lex, "body") ? "body.\"payload.id\"" : "attr.\"kind\"");
        }
    }
    return qn_lex_fail_words(lex, "a field, `not` or \"(\"", fields, FIELDS);
}

static bool parse_op(struct qn_parse *parse, struct qn_rule_pred *pred)
{
    for (size_t i = 0; i < OPS; i++) {
        if (qn_lex_take(&parse->lex, ops[i])) {
            pred->op = (enum qn_pred_op)i;
            return !parse->lex.failed;
        }
    }
    return qn_lex_fail_words(&parse->lex, "a comparison", ops, OPS);
}

static bool set_value(struct qn_parse *parse, const struct qn_rule_pred *pred, struct qn_str text,
                      size_t at, struct qn_pred_value *ret_value)
{
    struct qn_pred_value value = {.text = text};
    int64_t ms;

    value.is_number = qn_value_number(text, &value.number);
    if (!value.is_number && pred->field == QN_FIELD_TIME && qn_value_duration(text, &ms)) {
        value.is_number = true;
        value.number = (double)ms / 1000;
    }
    if (!value.is_number && is_number_field(pred->field)) {
        return qn_lex_fail_at(&parse->lex, at, "%s is compared with a number%s, not with \"%.*s\"",
                              fields[pred->field],
                              pred->field == QN_FIELD_TIME ? " or a duration" : "",
                              QN_STR_ARG(text));
    }
    *ret_value = value;
    return true;
}

static bool parse_compare(struct qn_parse *parse, struct qn_rule_pred *pred)
{
    struct qn_str one;
    struct qn_str *texts = &one;

    pred->kind = QN_PRED_COMPARE;
    pred->value_count = 1;
    if (!parse_field(parse, pred)) {
        return false;
    }
    size_t op_at = parse->lex.from;
    if (!parse_op(parse, pred)) {
        return false;
    }
    if (pred->op == QN_OP_GLOB && is_number_field(pred->field)) {
        return qn_lex_fail_at(&parse->lex, op_at, "%s is a number: \"~\" compares texts",
                              fields[pred->field]);
    }
    size_t at = parse->lex.from;
    if (pred->op == QN_OP_IN) {
        if (!qn_lex_is(&parse->lex, "(")) {
            return qn_lex_fail_expected(&parse->lex, "\"(\" and a list such as (m-003,m-007)");
        }
        if (!qn_parse_list(parse, "a value", &texts, &pred->value_count)) {
            return false;
        }
    } else if (!qn_parse_value(parse, "a value", &one)) {
        return false;
    }
    if (!qn_parse_alloc(parse, pred->value_count, sizeof(pred->values[0]), &pred->values)) {
        return false;
    }
    for (size_t i = 0; i < pred->value_count; i++) {
        if (!set_value(parse, pred, texts[i], at, &pred->values[i])) {
            return false;
        }
    }
    return true;
}

static bool parse_unary(struct qn_parse *parse, struct qn_rule_pred **ret_pred)
{
    struct qn_lex *lex = &parse->lex;
    bool ok;

    if (parse->depth == QN_PARSE_DEPTH_MAX) {
        return qn_lex_fail_at(lex, lex->from, "brackets and `not` nest %d deep at most",
                              QN_PARSE_DEPTH_MAX);
    }
    parse->depth++;
    if (qn_lex_take(lex, "(")) {
        ok = qn_parse_predicate(parse, ret_pred);
        if (ok && !qn_lex_take(lex, ")")) {
            ok = qn_lex_fail_expected(lex, "`and`, `or` or \")\"");
        }
    } else {
        struct qn_rule_pred *pred;
        bool negates = qn_lex_take(lex, "not");
        ok = qn_parse_alloc(parse, 1, sizeof(*pred), &pred);
        if (ok && negates) {
            pred->kind = QN_PRED_NOT;
            ok = parse_unary(parse, &pred->left);
        } else if (ok) {
            ok = parse_compare(parse, pred);
        }
        if (ok) {
            *ret_pred = pred;
        }
    }
    parse->depth--;
    return ok && !lex->failed;
}

static bool join(struct qn_parse *parse, enum qn_pred_kind kind, struct qn_rule_pred *right,
                 struct qn_rule_pred **left)
{
    struct qn_rule_pred *pred;

    if (!qn_parse_alloc(parse, 1, sizeof(*pred), &pred)) {
        return false;
    }
    *pred = (struct qn_rule_pred){.kind = kind, .left = *left, .right = right};
    *left = pred;
    return true;
}

static bool parse_conjunction(struct qn_parse *parse, struct qn_rule_pred **ret_pred)
{
    struct qn_rule_pred *left;
    struct qn_rule_pred *right;

    if (!parse_unary(parse, &left)) {
        return false;
    }
    while (qn_lex_take(&parse->lex, "and")) {
        if (!parse_unary(parse, &right) || !join(parse, QN_PRED_AND, right, &left)) {
            return false;
        }
    }
    *ret_pred = left;
    return !parse->lex.failed;
}

bool qn_parse_predicate(struct qn_parse *parse, struct qn_rule_pred **ret_pred)
{
    struct qn_rule_pred *left;
    struct qn_rule_pred *right;

    if (!parse_conjunction(parse, &left)) {
        return false;
    }
    while (qn_lex_take(&parse->lex, "or")) {
        if (!parse_conjunction(parse, &right) || !join(parse, QN_PRED_OR, right, &left)) {
            return false;
        }
    }
    *ret_pred = left;
    return !parse->lex.failed;
}

/* Whether some comparison of the predicate has the property. */
static bool any(const struct qn_rule_pred *pred, bool (*is)(const struct qn_rule_pred *compare))
{
    if (pred == NULL) {
        return false;
    }
    if (pred->kind == QN_PRED_COMPARE) {
        return is(pred);
    }
    return any(pred->left, is) || any(pred->right, is);
}

static bool is_of_message(const struct qn_rule_pred *compare)
{
    return compare->field >= QN_FIELD_MID;
}

static bool is_of_code(const struct qn_rule_pred *compare)
{
    return compare->field == QN_FIELD_CODE;
}

static bool is_of_fifo(const struct qn_rule_pred *compare)
{
    bool found = false;

    if (compare->field != QN_FIELD_QUEUE || compare->op == QN_OP_UNEQUAL) {
        return false;
    }
    for (size_t i = 0; i < compare->value_count; i++) {
        found = found || qn_str_ends_with(compare->values[i].text, QN_STR(".fifo"));
    }
    return found;
}

bool qn_pred_names_message(const struct qn_rule_pred *pred)
{
    return any(pred, is_of_message);
}

bool qn_pred_names_code(const struct qn_rule_pred *pred)
{
    return any(pred, is_of_code);
}

struct qn_str qn_pred_only(const struct qn_rule_pred *pred, enum qn_pred_field field)
{
    if (pred == NULL) {
        return QN_STR_NONE;
    }
    if (pred->kind == QN_PRED_AND) {
        struct qn_str left = qn_pred_only(pred->left, field);
        return qn_str_is_none(left) ? qn_pred_only(pred->right, field) : left;
    }
    /* As numbers 7 and 07 are equal. */
    bool names_one = pred->kind == QN_PRED_COMPARE && pred->field == field &&
                     (pred->op == QN_OP_EQUAL || pred->op == QN_OP_IN) && pred->value_count == 1 &&
                     !pred->values[0].is_number;
    return names_one ? pred->values[0].text : QN_STR_NONE;
}

bool qn_pred_wants_fifo(const struct qn_rule_pred *pred)
{
    if (pred == NULL || pred->kind == QN_PRED_NOT) {
        return false; /* `not queue=x.fifo` wants the others */
    }
    if (pred->kind == QN_PRED_COMPARE) {
        return is_of_fifo(pred);
    }
    return qn_pred_wants_fifo(pred->left) || qn_pred_wants_fifo(pred->right);
}
