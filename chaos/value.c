/* Values in a rule: numbers, durations, lists. */
#include <math.h>
#include <stdlib.h>

#include "chaos/parse.h"

enum { NUMBER_MAX = 40, LIST_MAX = 1000 };

#define DURATION_MAX_MS (INT64_C(1000) * 86400 * 36500) /* a hundred years */

bool qn_value_number(struct qn_str text, double *ret_value)
{
    char copy[NUMBER_MAX + 1];
    bool has_digit = false;

    if (text.len == 0 || text.len > NUMBER_MAX) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) { /* strtod alone would take "inf", "0x1" and blanks */
        bool is_digit = text.ptr[i] >= '0' && text.ptr[i] <= '9';
        has_digit = has_digit || is_digit;
        if (!is_digit && text.ptr[i] != '.' && !(text.ptr[i] == '-' && i == 0)) {
            return false;
        }
        copy[i] = text.ptr[i];
    }
    copy[text.len] = '\0';
    char *end;
    double value = strtod(copy, &end);
    if (!has_digit || *end != '\0') {
        return false;
    }
    *ret_value = value;
    return true;
}

bool qn_value_duration(struct qn_str text, int64_t *ret_ms)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    size_t digits = 0;
    double number;

    while (digits < text.len &&
           ((text.ptr[digits] >= '0' && text.ptr[digits] <= '9') || text.ptr[digits] == '.')) {
        digits++;
    }
    if (!qn_value_number(qn_str_first(text, digits), &number)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (qn_str_equal(qn_str_from(text, digits), qn_str_from_cstr(units[i].unit))) {
            double ms = number * units[i].ms;
            if (ms > (double)DURATION_MAX_MS) {
                return false;
            }
            *ret_ms = (int64_t)llround(ms);
            return true;
        }
    }
    return false;
}

bool qn_parse_alloc(struct qn_parse *parse, size_t count, size_t size, void *ret_ptr)
{
    void *ptr = qn_arena_alloc(&parse->rule->arena, count * size);

    if (ptr == NULL) {
        return qn_lex_fail_at(&parse->lex, parse->lex.from, "the rule is too long");
    }
    memcpy(ret_ptr, &ptr, sizeof(ptr));
    return true;
}

bool qn_parse_value(struct qn_parse *parse, const char *what, struct qn_str *ret_text)
{
    struct qn_lex *lex = &parse->lex;

    if (lex->kind != QN_LEX_WORD && lex->kind != QN_LEX_TEXT) {
        return qn_lex_fail_expected(lex, what);
    }
    *ret_text = lex->text;
    qn_lex_next(lex);
    return !lex->failed;
}

bool qn_parse_integer(struct qn_parse *parse, const char *what, int64_t min, int64_t max,
                      int64_t *ret_value)
{
    int64_t value;

    if (parse->lex.kind != QN_LEX_WORD || !qn_str_to_int64(parse->lex.text, min, max, &value)) {
        return qn_lex_fail_expected(&parse->lex, what);
    }
    *ret_value = value;
    qn_lex_next(&parse->lex);
    return !parse->lex.failed;
}

bool qn_parse_duration(struct qn_parse *parse, int64_t *ret_ms)
{
    int64_t ms;

    if (parse->lex.kind != QN_LEX_WORD || !qn_value_duration(parse->lex.text, &ms)) {
        return qn_lex_fail_expected(&parse->lex, "a duration such as 300ms, 2s, 5m or 1h");
    }
    *ret_ms = ms;
    qn_lex_next(&parse->lex);
    return !parse->lex.failed;
}

bool qn_parse_list(struct qn_parse *parse, const char *what, struct qn_str **ret_list,
                   size_t *ret_count)
{
    struct qn_str items[LIST_MAX];
    size_t count = 0;
    bool in_brackets = qn_lex_take(&parse->lex, "(");

    do {
        if (count == LIST_MAX) {
            return qn_lex_fail_at(&parse->lex, parse->lex.from, "a list holds %d values at most",
                                  LIST_MAX);
        }
        if (!qn_parse_value(parse, what, &items[count])) {
            return false;
        }
        count++;
    } while (qn_lex_take(&parse->lex, ","));
    if (in_brackets && !qn_lex_take(&parse->lex, ")")) {
        return qn_lex_fail_expected(&parse->lex, "\",\" or \")\"");
    }
    if (!qn_parse_alloc(parse, count, sizeof(items[0]), ret_list)) {
        return false;
    }
    memcpy(*ret_list, items, count * sizeof(items[0]));
    *ret_count = count;
    return !parse->lex.failed;
}
