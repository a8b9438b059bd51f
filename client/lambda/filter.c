/* Event patterns: objects of objects down to leaves, which are lists of rules. */
#include "client/lambda/filter.h"

#include <stdio.h>

#include "client/json_text.h"

enum { PATH_ROOM = 512, NESTED_MAX = 100 };

static const char either[] = "$or";

static bool refuse(struct qn_error *err, const char *path, const char *what)
{
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: %s", path, what);
}

/* ---- checks ---- */

static bool check_leaf(const json_t *leaf, const char *path, struct qn_error *err)
{
    size_t i;
    json_t *rule;

    json_array_foreach(leaf, i, rule)
    {
        if (!qn_lambda_rule_check(rule, path, err)) {
            return false;
        }
    }
    return json_array_size(leaf) > 0 || refuse(err, path, "a list of rules must not be empty");
}

static bool check_object(const json_t *pattern, const char *path, int depth, struct qn_error *err);

static bool check_either(const json_t *list, const char *path, int depth, struct qn_error *err)
{
    size_t i;
    json_t *pattern;

    if (json_array_size(list) < 2) {
        return refuse(err, path, "\"$or\" takes a list of two patterns or more");
    }
    json_array_foreach(list, i, pattern)
    {
        if (!check_object(pattern, path, depth + 1, err)) {
            return false;
        }
    }
    return true;
}

static bool check_object(const json_t *pattern, const char *path, int depth, struct qn_error *err)
{
    const char *key;
    json_t *below;

    if (!json_is_object(pattern) || json_object_size(pattern) == 0) {
        return refuse(err, path, "a pattern is an object with at least one field");
    }
    if (depth > NESTED_MAX) {
        return refuse(err, path, "the pattern is nested too deeply");
    }
    json_object_foreach((json_t *)(uintptr_t)pattern, key, below)
    {
        char at[PATH_ROOM];
        (void)snprintf(at, sizeof(at), "%.400s.%.100s", path, key);
        bool ok = strcmp(key, either) == 0 ? check_either(below, at, depth, err)
                  : json_is_object(below)  ? check_object(below, at, depth + 1, err)
                  : json_is_array(below)   ? check_leaf(below, at, err)
                                           : refuse(err, at,
                                                    "stands alone; a leaf is a list of rules, such "
                                                      "as [\"value\"]");
        if (!ok) {
            return false;
        }
    }
    return true;
}

bool qn_lambda_pattern_check(const json_t *pattern, const char *path, struct qn_error *err)
{
    return check_object(pattern, path, 0, err);
}

static bool read_filter(struct qn_lambda_filters *filters, const json_t *filter,
                        struct qn_error *err)
{
    char path[64];
    json_error_t mistake;
    const json_t *text = json_object_get(filter, "Pattern");

    (void)snprintf(path, sizeof(path), "filter %zu", filters->count + 1);
    if (!json_is_string(text)) {
        return refuse(err, path, "is {\"Pattern\": \"...\"} with the pattern as a text");
    }
    if (json_string_length(text) > QN_LAMBDA_PATTERN_MAX) {
        return refuse(err, path, "the pattern is longer than 4,096 characters");
    }
    json_t *pattern =
        json_loadb(json_string_value(text), json_string_length(text), JSON_ALLOW_NUL, &mistake);
    if (pattern == NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: no JSON: %s", path, mistake.text);
    }
    filters->patterns[filters->count++] = pattern;
    return qn_lambda_pattern_check(pattern, path, err);
}

bool qn_lambda_filters_read(struct qn_lambda_filters *filters, const json_t *criteria,
                            struct qn_error *err)
{
    const json_t *list = json_object_get(criteria, "Filters");
    size_t i;
    json_t *filter;

    *filters = (struct qn_lambda_filters){.count = 0};
    if (criteria == NULL || json_is_null(criteria)) {
        return true;
    }
    if (!json_is_object(criteria) || (list != NULL && !json_is_array(list))) {
        return refuse(err, "FilterCriteria", "is {\"Filters\": [{\"Pattern\": \"...\"}]}");
    }
    if (json_array_size(list) > QN_LAMBDA_FILTERS_MAX) {
        return refuse(err, "FilterCriteria", "has more than 10 filters");
    }
    json_array_foreach(list, i, filter)
    {
        if (!read_filter(filters, filter, err)) {
            qn_lambda_filters_done(filters);
            return false;
        }
    }
    return true;
}

void qn_lambda_filters_done(struct qn_lambda_filters *filters)
{
    for (size_t i = 0; i < filters->count; i++) {
        json_decref(filters->patterns[i]);
    }
    *filters = (struct qn_lambda_filters){.count = 0};
}

/* ---- matches ---- */

static bool leaf_matches(const json_t *leaf, const json_t *value)
{
    size_t i;
    json_t *rule;

    json_array_foreach(leaf, i, rule)
    {
        if (qn_lambda_rule_matches(rule, value)) {
            return true;
        }
    }
    return false;
}

/* A list in the event: one of its values is enough. */
static bool any_matches(bool (*matches)(const json_t *, const json_t *), const json_t *below,
                        const json_t *value)
{
    size_t i;
    json_t *each;

    if (!json_is_array(value)) {
        return matches(below, value);
    }
    json_array_foreach(value, i, each)
    {
        if (any_matches(matches, below, each)) {
            return true;
        }
    }
    return json_array_size(value) == 0 && matches(below, NULL);
}

static bool either_matches(const json_t *list, const json_t *event)
{
    size_t i;
    json_t *pattern;

    json_array_foreach(list, i, pattern)
    {
        if (qn_lambda_pattern_matches(pattern, event)) {
            return true;
        }
    }
    return false;
}

bool qn_lambda_pattern_matches(const json_t *pattern, const json_t *event)
{
    const char *key;
    json_t *below;

    json_object_foreach((json_t *)(uintptr_t)pattern, key, below)
    {
        const json_t *value = json_object_get(event, key); /* NULL when event is no object */
        bool ok = strcmp(key, either) == 0 ? either_matches(below, event)
                  : json_is_object(below)  ? any_matches(qn_lambda_pattern_matches, below, value)
                                           : any_matches(leaf_matches, below, value);
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* A body as the patterns for it see it. */
struct body {
    json_t *value; /* NULL: it was not read */
    bool is_too_deep;
};

static struct body read_body(const json_t *record)
{
    const json_t *text = json_object_get(record, "body");
    json_error_t mistake;
    struct body body = {
        .value = quern_json_text_read(qn_str(json_string_value(text), json_string_length(text)), 0,
                                      &mistake)};

    body.is_too_deep = body.value == NULL && quern_json_text_is_too_deep(&mistake);
    return body;
}

enum fit { NO, UNKNOWN, YES };

static enum fit fit_of(bool matches)
{
    return matches ? YES : NO;
}

/* A pattern for values is for a body that is JSON, one of texts for any other. */
static enum fit body_fits(const json_t *below, const json_t *record, const struct body *body)
{
    if (body->is_too_deep) {
        return UNKNOWN;
    }
    if ((body->value != NULL) != json_is_object(below)) {
        return NO;
    }
    return fit_of(body->value != NULL
                      ? any_matches(qn_lambda_pattern_matches, below, body->value)
                      : any_matches(leaf_matches, below, json_object_get(record, "body")));
}

static enum fit record_fits(const json_t *pattern, const json_t *record, const struct body *body);

static enum fit either_fits(const json_t *list, const json_t *record, const struct body *body)
{
    enum fit best = NO;
    size_t i;
    json_t *pattern;

    json_array_foreach(list, i, pattern)
    {
        enum fit fit = record_fits(pattern, record, body);
        best = fit > best ? fit : best;
    }
    return best;
}

/* A pattern for the record as a whole: the body may stand in it, and in each "$or" of it. */
static enum fit record_fits(const json_t *pattern, const json_t *record, const struct body *body)
{
    enum fit worst = YES;
    const char *key;
    json_t *below;

    json_object_foreach((json_t *)(uintptr_t)pattern, key, below)
    {
        const json_t *value = json_object_get(record, key);
        enum fit fit = strcmp(key, either) == 0   ? either_fits(below, record, body)
                       : strcmp(key, "body") == 0 ? body_fits(below, record, body)
                       : json_is_object(below)
                           ? fit_of(any_matches(qn_lambda_pattern_matches, below, value))
                           : fit_of(any_matches(leaf_matches, below, value));
        worst = fit < worst ? fit : worst;
    }
    return worst;
}

bool qn_lambda_filters_match(const struct qn_lambda_filters *filters, const json_t *record,
                             bool *ret_is_too_deep)
{
    struct body body = filters->count > 0 ? read_body(record) : (struct body){.value = NULL};
    enum fit best = fit_of(filters->count == 0);

    for (size_t i = 0; i < filters->count && best != YES; i++) {
        enum fit fit = record_fits(filters->patterns[i], record, &body);
        best = fit > best ? fit : best;
    }
    json_decref(body.value);
    *ret_is_too_deep = best == UNKNOWN;
    return best != NO;
}
