/* Expressions over a history: arithmetic, comparisons and boolean operators. The grammar, and all
 * functions, are in README.md; what the functions say is in functions.c.
 *
 *   or    := and { "or" and }              sum     := product { ("+" | "-") product }
 *   and   := not { "and" not }             product := value { ("*" | "/") value }
 *   not   := "not" not | cmp               value   := number | CONSTANT | call | "(" or ")"
 *   cmp   := sum [ op sum ]                call    := name "(" [ argument { "," argument } ] ")"
 *   op    := == != < <= > >=               number  := digits [ "." digits ] [ "ms" | "s" | "min" ]
 */
#include "chaos/check/judge/expression.h"
#include "chaos/check/judge/sentence.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { DEPTH_MAX = 50 };

/* What the first comparison that did not hold saw. */
struct note {
    bool is_set;
    char text[QN_FINDING_TEXT];
};

struct parser {
    struct qn_expression x;
    struct note note;
    struct qn_finding *finding; /* NULL: nobody wants to know */
    bool *has_words;            /* whether all that it compares has; NULL: nobody wants to know */
};

static double parse_or(struct parser *p);

double qn_expression_fail(struct qn_expression *x, size_t at, const char *format, ...)
{
    char what[200];
    va_list args;

    if (!x->failed) {
        va_start(args, format);
        (void)vsnprintf(what, sizeof(what), format, args);
        va_end(args);
        (void)qn_fail(x->err, QN_ERR_INVALID_PARAMETER_VALUE, "column %zu of \"%.*s\": %s", at + 1,
                      QN_STR_ARG(x->text), what);
    }
    x->failed = true;
    return 0;
}

static char peek(struct parser *p)
{
    while (p->x.at < p->x.text.len && isspace((unsigned char)p->x.text.ptr[p->x.at])) {
        p->x.at++;
    }
    return p->x.at < p->x.text.len ? p->x.text.ptr[p->x.at] : '\0';
}

static bool take(struct parser *p, struct qn_str symbol)
{
    (void)peek(p);
    if (!qn_str_starts_with(qn_str_from(p->x.text, p->x.at), symbol)) {
        return false;
    }
    p->x.at += symbol.len;
    return true;
}

/* Letters, digits and what else is allowed. Empty when none stands here. */
static struct qn_str word(struct parser *p, const char *others)
{
    (void)peek(p);
    size_t from = p->x.at;

    while (p->x.at < p->x.text.len && p->x.text.ptr[p->x.at] != '\0' &&
           (isalnum((unsigned char)p->x.text.ptr[p->x.at]) ||
            strchr(others, p->x.text.ptr[p->x.at]) != NULL)) {
        p->x.at++;
    }
    return qn_str_first(qn_str_from(p->x.text, from), p->x.at - from);
}

/* What stands here, for a message. */
static double fail_expected(struct parser *p, const char *expected)
{
    char found = peek(p);

    return found == '\0'
               ? qn_expression_fail(&p->x, p->x.at, "expected %s, found the end", expected)
               : qn_expression_fail(&p->x, p->x.at, "expected %s, found '%c'", expected, found);
}

/* Plain, or a time in milliseconds. */
static double number(struct parser *p)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"min", 60000}};
    size_t from = p->x.at;
    double value = 0;
    double digit = 1;
    bool is_fraction = false;

    for (; p->x.at < p->x.text.len; p->x.at++) {
        char c = p->x.text.ptr[p->x.at];
        if (c == '.' && !is_fraction) {
            is_fraction = true;
        } else if (isdigit((unsigned char)c)) {
            digit = is_fraction ? digit / 10 : digit;
            value = is_fraction ? value + digit * (c - '0') : value * 10 + (c - '0');
        } else {
            break;
        }
    }
    if (value > INT32_MAX) {
        return qn_expression_fail(&p->x, from, "the number is too large");
    }
    size_t unit_from = p->x.at;
    struct qn_str unit =
        unit_from < p->x.text.len && !isspace((unsigned char)p->x.text.ptr[unit_from]) ? word(p, "")
                                                                                       : QN_STR("");
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (qn_str_equal(unit, qn_str_from_cstr(units[i].name))) {
            return value * units[i].ms;
        }
    }
    return qn_expression_fail(&p->x, unit_from, "a unit is ms, s or min, not \"%.*s\"",
                              QN_STR_ARG(unit));
}

static double constant(struct parser *p, size_t from, struct qn_str name)
{
    static const struct {
        const char *name;
        size_t offset;
    } constants[] = {
        {"V", offsetof(struct qn_judge_input, visibility_ms)},
        {"VH", offsetof(struct qn_judge_input, heartbeat_visibility_ms)},
        {"G", offsetof(struct qn_judge_input, grace_ms)},
        {"W", offsetof(struct qn_judge_input, wait_ms)},
        {"R", offsetof(struct qn_judge_input, restart_ms)},
        {"C", offsetof(struct qn_judge_input, concurrency)},
        {"P", offsetof(struct qn_judge_input, prefetch)},
        {"MRC", offsetof(struct qn_judge_input, max_receive)},
        {"M", offsetof(struct qn_judge_input, soak_ms)},
        {"WM", offsetof(struct qn_judge_input, work_max_ms)},
    };

    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        if (qn_str_equal(name, qn_str_from_cstr(constants[i].name))) {
            const char *base = (const char *)p->x.in;
            return (double)*(const int64_t *)(const void *)(base + constants[i].offset);
        }
    }
    p->x.at = from;
    if (name.len > 0) {
        return qn_expression_fail(&p->x, from,
                                  "\"%.*s\" is no constant (V, VH, G, W, R, C, P, MRC, M, WM); a "
                                  "function has brackets",
                                  QN_STR_ARG(name));
    }
    return fail_expected(p, "a number, V, VH, G, W, R, C, P, MRC, M, WM, a function or '('");
}

/* Behind the bracket: expressions for max and min of values. */
static double extreme_of_values(struct parser *p, bool is_max)
{
    double best = parse_or(p);

    while (!p->x.failed && take(p, QN_STR(","))) {
        double value = parse_or(p);
        best = (is_max ? value > best : value < best) ? value : best;
    }
    return take(p, QN_STR(")")) ? best : fail_expected(p, "',' or ')'");
}

/* max(leases), max(leases, ok), max(2*V, 5s). */
static double extreme(struct parser *p, bool is_max)
{
    size_t from = p->x.at;
    struct qn_str name = word(p, "_");
    struct qn_str selector = QN_STR("all");

    if (name.len == 0 || peek(p) == '(' || !qn_expression_is_per_key(name)) {
        p->x.at = from;
        return extreme_of_values(p, is_max);
    }
    if (take(p, QN_STR(","))) {
        selector = word(p, "_-.*=");
    }
    return take(p, QN_STR(")")) ? qn_expression_extreme(&p->x, name, selector, is_max)
                                : fail_expected(p, "')'");
}

static double call(struct parser *p, size_t from, struct qn_str name)
{
    struct qn_str arguments[QN_EXPRESSION_ARGUMENTS_MAX];
    size_t count = 0;

    if (qn_str_equal(name, QN_STR("max")) || qn_str_equal(name, QN_STR("min"))) {
        return extreme(p, name.ptr[1] == 'a');
    }
    if (take(p, QN_STR(")"))) {
        return qn_expression_call(&p->x, from, name, arguments, 0);
    }
    do {
        struct qn_str argument = word(p, "_-.*=");
        if (argument.len == 0 || count == QN_EXPRESSION_ARGUMENTS_MAX) {
            return fail_expected(p, argument.len == 0 ? "an argument" : "')'");
        }
        arguments[count++] = argument;
    } while (take(p, QN_STR(",")));
    return take(p, QN_STR(")")) ? qn_expression_call(&p->x, from, name, arguments, count)
                                : fail_expected(p, "',' or ')'");
}

static double value(struct parser *p)
{
    char next = peek(p);
    size_t from = p->x.at;

    if (isdigit((unsigned char)next)) {
        return number(p);
    }
    if (take(p, QN_STR("("))) {
        if (++p->x.depth > DEPTH_MAX) {
            return qn_expression_fail(&p->x, from, "too many brackets");
        }
        double inner = parse_or(p);
        p->x.depth--;
        return take(p, QN_STR(")")) ? inner : fail_expected(p, "')'");
    }
    struct qn_str name = word(p, "_");
    if (name.len > 0 && take(p, QN_STR("("))) {
        return call(p, from, name);
    }
    return constant(p, from, name);
}

static double product(struct parser *p)
{
    double left = value(p);

    while (!p->x.failed) {
        if (take(p, QN_STR("*"))) {
            left *= value(p);
        } else if (take(p, QN_STR("/"))) {
            double right = value(p);
            left = right != 0 ? left / right : 0;
        } else {
            break;
        }
    }
    return left;
}

static double sum(struct parser *p)
{
    double left = product(p);

    while (!p->x.failed) {
        if (take(p, QN_STR("+"))) {
            left += product(p);
        } else if (take(p, QN_STR("-"))) {
            left -= product(p);
        } else {
            break;
        }
    }
    return left;
}

static struct qn_str span(const struct parser *p, size_t from)
{
    return qn_str_trim(qn_str_first(qn_str_from(p->x.text, from), p->x.at - from));
}

/* Behind the sentence: the comparison, or all of it where another part might have held instead. */
static void append_formula(const struct parser *p, struct qn_str comparison, struct qn_buf *buf)
{
    const char *word = " or ";
    bool is_choice = memmem(p->x.text.ptr, p->x.text.len, word, strlen(word)) != NULL;

    qn_buf_append_format(buf, " (%.*s)", QN_STR_ARG(is_choice ? p->x.text : comparison));
}

/* Remembers the first comparison that does not hold, with what it compared. */
static void note_false(struct parser *p, const struct qn_compared *compared, struct qn_str text)
{
    struct qn_buf said;

    if (p->note.is_set || p->x.failed) {
        return;
    }
    p->note.is_set = true;
    qn_buf_init(&said, SIZE_MAX / 2);
    if (p->x.is_absent) {
        qn_sentence_append_absent(p->x.absent, &said);
    } else {
        qn_sentence_append(compared, &said);
    }
    append_formula(p, text, &said);
    (void)snprintf(p->note.text, sizeof(p->note.text), "%.*s", QN_STR_ARG(qn_buf_str(&said)));
    qn_buf_done(&said);
    if (p->finding != NULL) {
        qn_expression_witness(&p->x, p->finding);
    }
}

static double comparison(struct parser *p)
{
    static const char *const operators[] = {"==", "!=", "<=", ">=", "<", ">"};

    (void)peek(p);
    size_t left_from = p->x.at;
    p->x.is_absent = false;
    p->x.pattern = QN_STR_NONE;
    p->x.selector = QN_STR_NONE;
    struct qn_compared compared = {.left_value = sum(p)};
    compared.left = span(p, left_from);
    compared.extreme = p->x.selector;
    (void)peek(p);
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (!take(p, qn_str_from_cstr(operators[i]))) {
            continue;
        }
        double left = compared.left_value;
        double right = sum(p);
        const bool results[] = {left == right, left != right, left <= right, left >= right,
                                left<right, left> right};
        bool holds = results[i] && !p->x.is_absent;
        compared.comparator = operators[i];
        compared.right_value = right;
        if (!holds) {
            note_false(p, &compared, span(p, left_from));
        }
        if (p->has_words != NULL) {
            *p->has_words = *p->has_words && qn_sentence_is_known(compared.left);
        }
        return holds;
    }
    return compared.left_value;
}

/* A whole word, so that "order" is not read as "or". */
static bool take_word(struct parser *p, struct qn_str wanted)
{
    (void)peek(p);
    size_t at = p->x.at;

    if (qn_str_equal(word(p, "_"), wanted)) {
        return true;
    }
    p->x.at = at;
    return false;
}

static double negation(struct parser *p)
{
    bool is_negated = false;

    while (take_word(p, QN_STR("not"))) {
        is_negated = !is_negated;
    }
    double truth = comparison(p);
    return is_negated ? truth == 0 : truth;
}

static double conjunction(struct parser *p)
{
    double left = negation(p);

    while (!p->x.failed && take_word(p, QN_STR("and"))) {
        bool right = negation(p) != 0;
        left = left != 0 && right;
    }
    return left;
}

static double parse_or(struct parser *p)
{
    double left = conjunction(p);

    while (!p->x.failed && take_word(p, QN_STR("or"))) {
        bool right = conjunction(p) != 0;
        left = left != 0 || right;
    }
    return left;
}

/* The whole text, with what its functions need. */
static double evaluate(struct parser *p, const struct qn_judge_input *in, struct qn_str text)
{
    struct qn_judge_input with = *in;
    struct qn_tally tally;
    struct qn_book book;

    if (in->tally == NULL) {
        qn_tally_init(&tally, &with);
        with.tally = &tally;
    }
    if (in->book == NULL) {
        qn_book_init(&book, &with);
        with.book = &book;
    }
    p->x.in = &with;
    p->x.text = text;
    double value = parse_or(p);
    if (!p->x.failed && peek(p) != '\0') {
        (void)fail_expected(p, "an operator or the end");
    }
    if (in->book == NULL) {
        qn_book_done(&book);
    }
    if (in->tally == NULL) {
        qn_tally_done(&tally);
    }
    return value;
}

bool qn_judge_expression(const struct qn_judge_input *in, struct qn_str text,
                         struct qn_finding *ret_finding, struct qn_error *err)
{
    struct qn_finding seen = {0};
    struct parser p = {.x = {.err = err}, .finding = &seen};
    double truth = evaluate(&p, in, text);

    if (p.x.failed) {
        return false;
    }
    if (p.x.needs > in->level) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE,
                       p.x.needs == QN_LEVEL_COMMAND ? "needs the effect sink or an effects command"
                                                     : "needs the effect sink");
    } else if (truth == 0) {
        *ret_finding = seen;
        if (p.note.is_set) {
            qn_finding_set(ret_finding, QN_RESULT_FAIL, "%s", p.note.text);
        } else {
            qn_finding_set(ret_finding, QN_RESULT_FAIL, "it does not hold that %.*s",
                           QN_STR_ARG(text));
        }
    }
    return true;
}

bool qn_judge_expression_has_words(struct qn_str text)
{
    static const struct qn_history nothing = {0};
    const struct qn_judge_input in = {.history = &nothing, .level = QN_LEVEL_SINK};
    bool has_words = true;
    struct qn_error ignored;
    struct parser p = {.x = {.err = &ignored}, .has_words = &has_words};

    (void)evaluate(&p, &in, text);
    return has_words && !p.x.failed;
}

bool qn_judge_number(const struct qn_judge_input *in, struct qn_str text, int64_t *ret_value,
                     struct qn_error *err)
{
    struct parser p = {.x = {.err = err}};
    double value = evaluate(&p, in, text);

    if (p.x.failed) {
        return false;
    }
    *ret_value = fabs(value) < 9e15 ? (int64_t)llround(value) : INT64_MAX;
    return true;
}
