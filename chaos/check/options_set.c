/* Keeping the value of one option, from the command line or from quern.json. */
#include <stdio.h>

#include "chaos/check/options_rows.h"

bool qn_options_duration(struct qn_str text, int64_t *ret_ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {"", 1000}};
    size_t digits = 0;
    int64_t number;

    while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9') {
        digits++;
    }
    if (!qn_str_to_int64(qn_str_first(text, digits), 0, INT32_MAX, &number)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (qn_str_equal(qn_str_from(text, digits), qn_str_from_cstr(units[i].unit))) {
            *ret_ms = number * units[i].ms;
            return true;
        }
    }
    return false;
}

static bool set_choice(const struct qn_option_row *row, const char *called, const char *text,
                       void *at, struct qn_error *err)
{
    char legal[80] = "";
    size_t len = 0;

    for (size_t i = 0; row->choices[i] != NULL; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            *(const char **)at = row->choices[i];
            return true;
        }
        len += (size_t)snprintf(legal + len, sizeof(legal) - len, "%s%s", i > 0 ? ", " : "",
                                row->choices[i]);
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s is one of %s, not \"%s\"", called,
                   legal, text);
}

static bool add(const char *called, const char *text, struct qn_text_list *list,
                struct qn_error *err)
{
    if (list->count == QN_OPTIONS_LIST_MAX) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s is given at most %d times", called,
                       QN_OPTIONS_LIST_MAX);
    }
    list->items[list->count++] = text;
    return true;
}

/* The last one of a name counts. */
static bool set_pair(const struct qn_option_row *row, const char *called, const char *text,
                     struct qn_text_list *list, struct qn_error *err)
{
    struct qn_str value;
    struct qn_str name = qn_str_cut(qn_str_from_cstr(text), '=', &value);

    if (name.len == 0 || qn_str_is_none(value)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s takes %s, not \"%s\"", called,
                       row->argument, text);
    }
    for (size_t i = 0; i < list->count; i++) {
        struct qn_str ignored;
        if (qn_str_equal(qn_str_cut(qn_str_from_cstr(list->items[i]), '=', &ignored), name)) {
            list->items[i] = text;
            return true;
        }
    }
    return add(called, text, list, err);
}

static bool set_code(const char *called, const char *text, struct qn_text_list *list,
                     struct qn_error *err)
{
    int64_t code;

    if (!qn_str_to_int64(qn_str_from_cstr(text), 0, 255, &code)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "%s takes an exit code from 0 to 255, not \"%s\"", called, text);
    }
    return add(called, text, list, err);
}

static bool set_duration(const struct qn_option_row *row, const char *called, const char *text,
                         int64_t *at, struct qn_error *err)
{
    int64_t ms;

    if (qn_options_duration(qn_str_from_cstr(text), &ms) && ms >= row->min && ms <= row->max) {
        *at = ms;
        return true;
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "%s takes a time such as 500ms or 10s, up to %lldh, not \"%s\"", called,
                   (long long)(row->max / 3600000), text);
}

/* "2", "0.5" */
static bool set_minutes(const struct qn_option_row *row, const char *called, const char *text,
                        int64_t *at, struct qn_error *err)
{
    enum { DECIMALS = 3, MINUTE_MS = 60000 };
    struct qn_str fraction;
    struct qn_str whole = qn_str_cut(qn_str_from_cstr(text), '.', &fraction);
    int64_t minutes = 0;
    int64_t parts = 0;
    int64_t scale = 1;
    bool ok = qn_str_to_int64(whole, 0, INT32_MAX, &minutes);

    if (ok && !qn_str_is_none(fraction)) {
        ok = fraction.len <= DECIMALS && qn_str_to_int64(fraction, 0, INT32_MAX, &parts);
    }
    for (size_t i = 0; ok && i < fraction.len; i++) {
        scale *= 10;
    }
    int64_t ms = minutes * MINUTE_MS + parts * MINUTE_MS / scale;
    if (ok && ms >= row->min && ms <= row->max) {
        *at = ms;
        return true;
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "%s takes minutes from %.1f to %lld, not \"%s\"", called,
                   (double)row->min / MINUTE_MS, (long long)(row->max / MINUTE_MS), text);
}

bool qn_options_set(const struct qn_option_row *row, const char *called, const char *text,
                    struct qn_check_options *options, struct qn_error *err)
{
    void *at = (char *)options + row->offset;

    switch (row->kind) {
    case QN_OPTION_FLAG:
        *(bool *)at = true;
        return true;
    case QN_OPTION_TEXT:
        *(const char **)at = text;
        return true;
    case QN_OPTION_LIST:
        return add(called, text, at, err);
    case QN_OPTION_PAIRS:
        return set_pair(row, called, text, at, err);
    case QN_OPTION_CODES:
        return set_code(called, text, at, err);
    case QN_OPTION_CHOICE:
        return set_choice(row, called, text, at, err);
    case QN_OPTION_DURATION:
        return set_duration(row, called, text, at, err);
    case QN_OPTION_MINUTES:
        return set_minutes(row, called, text, at, err);
    case QN_OPTION_NUMBER:
        break;
    }
    if (qn_str_to_int64(qn_str_from_cstr(text), row->min, row->max, (int64_t *)at)) {
        return true;
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "%s takes a number from %lld to %lld, not \"%s\"", called, (long long)row->min,
                   (long long)row->max, text);
}
