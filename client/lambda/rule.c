/* The rules that stand in a leaf of an event pattern. */
#include <strings.h>

#include "client/lambda/filter.h"

/* Of EventBridge: numbers beyond are not compared. */
static const double number_max = 5.0e9;

static bool refuse(struct qn_error *err, const char *path, const char *what)
{
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: %s", path, what);
}

/* The one member of an operator, such as "prefix" of {"prefix": "a"}; NULL when it is not one. */
static const char *operator_of(const json_t *rule, json_t **ret_operand)
{
    void *member = json_object_iter((json_t *)(uintptr_t)rule);

    if (json_object_size(rule) != 1) {
        return NULL;
    }
    *ret_operand = json_object_iter_value(member);
    return json_object_iter_key(member);
}

static struct qn_str text_of(const json_t *value)
{
    return json_is_string(value) ? qn_str(json_string_value(value), json_string_length(value))
                                 : QN_STR_NONE;
}

/* ---- checks ---- */

static bool check_number(const json_t *value, const char *path, struct qn_error *err)
{
    double number = json_number_value(value);

    return (json_is_number(value) && number >= -number_max && number <= number_max) ||
           refuse(err, path, "numbers are compared from -5.0e9 to 5.0e9");
}

static bool is_comparison(const json_t *word, bool *ret_is_upper, bool *ret_is_equal)
{
    const char *text = json_string_value(word);

    if (text == NULL) {
        return false;
    }
    *ret_is_equal = strcmp(text, "=") == 0;
    *ret_is_upper = text[0] == '<';
    return *ret_is_equal || strcmp(text, "<") == 0 || strcmp(text, "<=") == 0 ||
           strcmp(text, ">") == 0 || strcmp(text, ">=") == 0;
}

static bool check_numeric(const json_t *operand, const char *path, struct qn_error *err)
{
    static const char form[] =
        "\"numeric\" takes [\"=\", 5], [\">\", 0] or a range such as [\">\", 0, \"<=\", 5]";
    size_t count = json_array_size(operand);
    bool is_upper = false;
    bool is_equal = false;
    bool was_upper = false;

    if (!json_is_array(operand) || (count != 2 && count != 4)) {
        return refuse(err, path, form);
    }
    for (size_t i = 0; i < count; i += 2) {
        if (!is_comparison(json_array_get(operand, i), &is_upper, &is_equal) ||
            (count == 4 && is_equal) || (i == 2 && is_upper == was_upper)) {
            return refuse(err, path, form);
        }
        if (!check_number(json_array_get(operand, i + 1), path, err)) {
            return false;
        }
        was_upper = is_upper;
    }
    return true;
}

static bool check_text(const json_t *operand, const char *path, struct qn_error *err)
{
    json_t *inner;
    const char *name = operator_of(operand, &inner);

    if (json_is_string(operand)) {
        return json_string_length(operand) > 0 || refuse(err, path, "the text must not be empty");
    }
    return (name != NULL && strcmp(name, "equals-ignore-case") == 0 && json_is_string(inner)) ||
           refuse(err, path, "takes a text, or {\"equals-ignore-case\": \"text\"}");
}

static bool check_each(const json_t *list, const char *path, struct qn_error *err)
{
    size_t i;
    json_t *value;

    if (json_array_size(list) == 0) {
        return refuse(err, path, "the list must not be empty");
    }
    json_array_foreach(list, i, value)
    {
        if (!json_is_string(value) && !json_is_number(value)) {
            return refuse(err, path, "the list may hold texts and numbers");
        }
    }
    return true;
}

static bool check_texts(const json_t *list, const char *path, struct qn_error *err)
{
    size_t i;
    json_t *value;

    json_array_foreach(list, i, value)
    {
        if (!json_is_string(value)) {
            return refuse(err, path, "the list may hold texts only");
        }
    }
    return json_array_size(list) > 0 || refuse(err, path, "the list must not be empty");
}

static bool check_anything_but(const json_t *operand, const char *path, struct qn_error *err)
{
    json_t *inner;
    const char *name = operator_of(operand, &inner);

    if (json_is_array(operand)) {
        return check_each(operand, path, err);
    }
    if (name == NULL) {
        return json_is_string(operand) || json_is_number(operand) ||
               refuse(
                   err, path,
                   "\"anything-but\" takes a text, a number, a list of them, or a prefix, suffix "
                   "or equals-ignore-case");
    }
    if (strcmp(name, "prefix") == 0 || strcmp(name, "suffix") == 0 ||
        strcmp(name, "equals-ignore-case") == 0) {
        return json_is_array(inner) ? check_texts(inner, path, err) : check_text(inner, path, err);
    }
    return refuse(err, path, "\"anything-but\" knows prefix, suffix and equals-ignore-case");
}

bool qn_lambda_rule_check(const json_t *rule, const char *path, struct qn_error *err)
{
    json_t *operand = NULL;
    const char *name = operator_of(rule, &operand);

    if (json_is_string(rule) || json_is_null(rule) || json_is_boolean(rule)) {
        return true;
    }
    if (json_is_number(rule)) {
        return check_number(rule, path, err);
    }
    if (name == NULL) {
        return refuse(err, path, "a rule is a value or an object with one operator");
    }
    if (strcmp(name, "exists") == 0) {
        return json_is_boolean(operand) || refuse(err, path, "\"exists\" takes true or false");
    }
    if (strcmp(name, "prefix") == 0 || strcmp(name, "suffix") == 0) {
        return check_text(operand, path, err);
    }
    if (strcmp(name, "equals-ignore-case") == 0) {
        return json_is_string(operand) || refuse(err, path, "\"equals-ignore-case\" takes a text");
    }
    if (strcmp(name, "numeric") == 0) {
        return check_numeric(operand, path, err);
    }
    if (strcmp(name, "anything-but") == 0) {
        return check_anything_but(operand, path, err);
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "%s: no operator is called \"%.60s\"; there are prefix, suffix, anything-but, "
                   "numeric, exists and equals-ignore-case",
                   path, name);
}

/* ---- matches ---- */

static bool equals(const json_t *rule, const json_t *value)
{
    if (json_is_number(rule) && json_is_number(value)) {
        return json_number_value(rule) == json_number_value(value);
    }
    return json_equal(rule, value) != 0;
}

static bool equals_nocase(const json_t *operand, const json_t *value)
{
    return json_is_string(value) && qn_str_equal_nocase(text_of(operand), text_of(value));
}

/* operand: a text, or {"equals-ignore-case": text}. */
static bool has_edge(const json_t *operand, const json_t *value, bool is_prefix)
{
    json_t *inner;
    bool nocase = operator_of(operand, &inner) != NULL;
    struct qn_str edge = text_of(nocase ? inner : operand);
    struct qn_str text = text_of(value);

    if (!json_is_string(value) || text.len < edge.len) {
        return false;
    }
    struct qn_str part =
        is_prefix ? qn_str_first(text, edge.len) : qn_str_from(text, text.len - edge.len);
    return nocase ? qn_str_equal_nocase(part, edge) : qn_str_equal(part, edge);
}

static bool compares(const char *how, double value, double bound)
{
    switch (how[0]) {
    case '<':
        return how[1] == '=' ? value <= bound : value < bound;
    case '>':
        return how[1] == '=' ? value >= bound : value > bound;
    default:
        return value == bound;
    }
}

static bool is_in_range(const json_t *range, const json_t *value)
{
    if (!json_is_number(value)) {
        return false;
    }
    for (size_t i = 0; i + 1 < json_array_size(range); i += 2) {
        if (!compares(json_string_value(json_array_get(range, i)), json_number_value(value),
                      json_number_value(json_array_get(range, i + 1)))) {
            return false;
        }
    }
    return true;
}

typedef bool test(const json_t *operand, const json_t *value);

static bool has_prefix(const json_t *operand, const json_t *value)
{
    return has_edge(operand, value, true);
}

static bool has_suffix(const json_t *operand, const json_t *value)
{
    return has_edge(operand, value, false);
}

static bool is_any(test *is, const json_t *operand, const json_t *value)
{
    size_t i;
    json_t *each;

    if (!json_is_array(operand)) {
        return is(operand, value);
    }
    json_array_foreach(operand, i, each)
    {
        if (is(each, value)) {
            return true;
        }
    }
    return false;
}

static bool is_excluded(const json_t *operand, const json_t *value)
{
    json_t *inner;
    const char *name = operator_of(operand, &inner);

    if (name == NULL) {
        return is_any(equals, operand, value);
    }
    if (strcmp(name, "prefix") == 0) {
        return is_any(has_prefix, inner, value);
    }
    if (strcmp(name, "suffix") == 0) {
        return is_any(has_suffix, inner, value);
    }
    return is_any(equals_nocase, inner, value);
}

bool qn_lambda_rule_matches(const json_t *rule, const json_t *value)
{
    json_t *operand;
    const char *name = operator_of(rule, &operand);
    bool is_leaf = value != NULL && !json_is_object(value);

    if (name != NULL && strcmp(name, "exists") == 0) {
        return json_is_true(operand) == is_leaf;
    }
    if (!is_leaf) {
        return false;
    }
    if (name == NULL) {
        return equals(rule, value);
    }
    if (strcmp(name, "prefix") == 0) {
        return has_prefix(operand, value);
    }
    if (strcmp(name, "suffix") == 0) {
        return has_suffix(operand, value);
    }
    if (strcmp(name, "equals-ignore-case") == 0) {
        return equals_nocase(operand, value);
    }
    if (strcmp(name, "numeric") == 0) {
        return is_in_range(operand, value);
    }
    return !is_excluded(operand, value);
}
