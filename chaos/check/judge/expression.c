/* Expressions over the counts of a history: comparisons and boolean operators.
 *
 *   or    := and { "or" and }                 value := number | CONSTANT | call | "(" or ")"
 *   and   := not { "and" not }                call  := name "(" [ argument ] ")"
 *   not   := "not" not | cmp                  number := digits [ "ms" | "s" | "min" ]
 *   cmp   := sum [ op sum ]                   op    := == != < <= > >=
 *   sum   := value { ("+" | "-" | "*") value }, from left to right
 *
 * Per key: leases attempts effects deletes dead, with a key or inside max() and min(), which go
 * over all keys that were sent. calls(Action) with '*' at the end for any ending; count(kind of
 * event); dlq(). */
#include <ctype.h>

#include "chaos/check/judge/judge.h"

enum { DEPTH_MAX = 50 };

struct parser {
    const struct qn_judge_input *in;
    const struct qn_tally *tally;
    struct qn_str text;
    size_t at;
    int depth;
    bool needs_sink; /* it asked for something that cannot be seen */
    bool failed;
    int64_t left; /* of the last comparison: what stood on its left side */
    struct qn_error *err;
};

static int64_t parse_or(struct parser *p);

static int64_t fail(struct parser *p, const char *what)
{
    if (!p->failed) {
        (void)qn_fail(p->err, QN_ERR_INVALID_PARAMETER_VALUE, "column %zu of \"%.*s\": %s",
                      p->at + 1, QN_STR_ARG(p->text), what);
    }
    p->failed = true;
    return 0;
}

static char peek(struct parser *p)
{
    while (p->at < p->text.len && isspace((unsigned char)p->text.ptr[p->at])) {
        p->at++;
    }
    return p->at < p->text.len ? p->text.ptr[p->at] : '\0';
}

static bool take(struct parser *p, struct qn_str symbol)
{
    (void)peek(p);
    if (!qn_str_starts_with(qn_str_from(p->text, p->at), symbol)) {
        return false;
    }
    p->at += symbol.len;
    return true;
}

/* Letters, digits and what else is allowed. Empty when none stands here. */
static struct qn_str word(struct parser *p, const char *others)
{
    (void)peek(p);
    size_t from = p->at;

    while (p->at < p->text.len && (isalnum((unsigned char)p->text.ptr[p->at]) ||
                                   strchr(others, p->text.ptr[p->at]) != NULL)) {
        p->at++;
    }
    return qn_str_first(qn_str_from(p->text, from), p->at - from);
}

/* Plain, or a time in milliseconds. */
static int64_t number(struct parser *p)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"min", 60000}};
    struct qn_str digits = word(p, "");
    size_t len = 0;
    int64_t value;

    while (len < digits.len && isdigit((unsigned char)digits.ptr[len])) {
        len++;
    }
    if (!qn_str_to_int64(qn_str_first(digits, len), 0, INT32_MAX, &value)) {
        return fail(p, "number too large");
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (qn_str_equal(qn_str_from(digits, len), qn_str_from_cstr(units[i].name))) {
            return value * units[i].ms;
        }
    }
    return fail(p, "a unit is ms, s or min");
}

/* The count of one key, by the name of the function. False when there is no such function. */
static bool per_key(struct parser *p, struct qn_str function, const struct qn_tally_key *key,
                    int64_t *ret_value)
{
    static const struct {
        const char *name;
        size_t offset;
        bool needs_sink;
    } functions[] = {
        {"sent", offsetof(struct qn_tally_key, sent), false},
        {"leases", offsetof(struct qn_tally_key, leases), false},
        {"attempts", offsetof(struct qn_tally_key, attempts), true},
        {"effects", offsetof(struct qn_tally_key, effects), true},
        {"deletes", offsetof(struct qn_tally_key, deletes), false},
        {"dead", offsetof(struct qn_tally_key, dead), false},
    };

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (qn_str_equal(function, qn_str_from_cstr(functions[i].name))) {
            p->needs_sink = p->needs_sink || functions[i].needs_sink;
            *ret_value = *(const int64_t *)(const void *)((const char *)key + functions[i].offset);
            return true;
        }
    }
    return false;
}

/* max(leases): over all keys that were sent. */
static int64_t extreme(struct parser *p, struct qn_str function, bool is_max)
{
    int64_t best = 0;
    bool any = false;

    for (const struct qn_table_item *item = p->tally->keys.first; item != NULL; item = item->next) {
        const struct qn_tally_key *key = item->value;
        int64_t value;
        if (key->sent == 0) {
            continue;
        }
        if (!per_key(p, function, key, &value)) {
            return fail(p, "max and min take sent, leases, attempts, effects, deletes or dead");
        }
        if (!any || (is_max ? value > best : value < best)) {
            best = value;
        }
        any = true;
    }
    return best;
}

/* The sum over the names that fit: all that begin so when it ends in '*'. */
static int64_t sum_of(const struct qn_table *table, struct qn_str name)
{
    bool is_prefix = qn_str_ends_with(name, QN_STR("*"));
    struct qn_str wanted = qn_str_first(name, name.len - (is_prefix ? 1 : 0));
    int64_t sum = 0;

    for (const struct qn_table_item *item = table->first; item != NULL; item = item->next) {
        if (is_prefix ? qn_str_starts_with(item->key, wanted) : qn_str_equal(item->key, wanted)) {
            sum += *(const int64_t *)item->value;
        }
    }
    return sum;
}

static int64_t call(struct parser *p, struct qn_str function)
{
    static const struct qn_tally_key nothing = {0};
    struct qn_str argument = word(p, "_-.*");
    int64_t value;

    if (!take(p, QN_STR(")"))) {
        return fail(p, "expected ')'");
    }
    if (qn_str_equal(function, QN_STR("max")) || qn_str_equal(function, QN_STR("min"))) {
        return extreme(p, argument, function.ptr[1] == 'a');
    }
    if (qn_str_equal(function, QN_STR("calls"))) {
        return sum_of(&p->tally->calls, argument);
    }
    if (qn_str_equal(function, QN_STR("count"))) {
        return sum_of(&p->tally->kinds, argument);
    }
    if (qn_str_equal(function, QN_STR("dlq"))) {
        return sum_of(&p->tally->kinds, QN_STR("msg.dlq"));
    }
    const struct qn_tally_key *key = qn_table_find(&p->tally->keys, argument);
    if (per_key(p, function, key != NULL ? key : &nothing, &value)) {
        return value;
    }
    return fail(p, "no such function");
}

static int64_t constant(struct parser *p, struct qn_str name)
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
    };

    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        if (qn_str_equal(name, qn_str_from_cstr(constants[i].name))) {
            return *(const int64_t *)(const void *)((const char *)p->in + constants[i].offset);
        }
    }
    return fail(p, "expected a number, V, VH, G, W, R, C, P, MRC or a function");
}

static int64_t value(struct parser *p)
{
    char next = peek(p);

    if (isdigit((unsigned char)next)) {
        return number(p);
    }
    if (take(p, QN_STR("("))) {
        if (++p->depth > DEPTH_MAX) {
            return fail(p, "too many brackets");
        }
        int64_t inner = parse_or(p);
        p->depth--;
        return take(p, QN_STR(")")) ? inner : fail(p, "expected ')'");
    }
    struct qn_str name = word(p, "_");
    if (name.len > 0 && take(p, QN_STR("("))) {
        return call(p, name);
    }
    return constant(p, name);
}

static int64_t sum(struct parser *p)
{
    int64_t left = value(p);

    while (!p->failed) {
        if (take(p, QN_STR("+"))) {
            left += value(p);
        } else if (take(p, QN_STR("-"))) {
            left -= value(p);
        } else if (take(p, QN_STR("*"))) {
            left *= value(p);
        } else {
            break;
        }
    }
    return left;
}

static int64_t comparison(struct parser *p)
{
    int64_t left = sum(p);

    if (take(p, QN_STR("=="))) {
        p->left = left;
        return left == sum(p);
    }
    if (take(p, QN_STR("!="))) {
        p->left = left;
        return left != sum(p);
    }
    if (take(p, QN_STR("<="))) {
        p->left = left;
        return left <= sum(p);
    }
    if (take(p, QN_STR(">="))) {
        p->left = left;
        return left >= sum(p);
    }
    if (take(p, QN_STR("<"))) {
        p->left = left;
        return left < sum(p);
    }
    if (take(p, QN_STR(">"))) {
        p->left = left;
        return left > sum(p);
    }
    return left;
}

/* A whole word, so that "order" is not read as "or". */
static bool take_word(struct parser *p, struct qn_str wanted)
{
    (void)peek(p);
    size_t at = p->at;

    if (qn_str_equal(word(p, "_"), wanted)) {
        return true;
    }
    p->at = at;
    return false;
}

static int64_t negation(struct parser *p)
{
    bool is_negated = false;

    while (take_word(p, QN_STR("not"))) {
        is_negated = !is_negated;
    }
    int64_t truth = comparison(p);
    return is_negated ? truth == 0 : truth;
}

static int64_t conjunction(struct parser *p)
{
    int64_t left = negation(p);

    while (!p->failed && take_word(p, QN_STR("and"))) {
        bool right = negation(p) != 0;
        left = left != 0 && right;
    }
    return left;
}

static int64_t parse_or(struct parser *p)
{
    int64_t left = conjunction(p);

    while (!p->failed && take_word(p, QN_STR("or"))) {
        bool right = conjunction(p) != 0;
        left = left != 0 || right;
    }
    return left;
}

/* The whole text. */
static int64_t evaluate(struct parser *p)
{
    int64_t value = parse_or(p);

    if (!p->failed && peek(p) != '\0') {
        (void)fail(p, "expected an operator or the end");
    }
    return value;
}

bool qn_judge_expression(const struct qn_judge_input *in, struct qn_str text,
                         struct qn_finding *ret_finding, struct qn_error *err)
{
    struct qn_tally tally;
    struct parser p = {.in = in, .tally = &tally, .text = text, .err = err};

    qn_tally_init(&tally, in);
    int64_t truth = evaluate(&p);
    if (!p.failed && p.needs_sink && in->level < QN_LEVEL_SINK) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE, "needs the effect sink");
    } else if (!p.failed && truth == 0) {
        qn_finding_set(ret_finding, QN_RESULT_FAIL, "it was %lld", (long long)p.left);
    }
    qn_tally_done(&tally);
    return !p.failed;
}

bool qn_judge_number(const struct qn_judge_input *in, struct qn_str text, int64_t *ret_value,
                     struct qn_error *err)
{
    struct qn_tally tally;
    struct parser p = {.in = in, .tally = &tally, .text = text, .err = err};

    qn_tally_init(&tally, in);
    int64_t value = evaluate(&p);
    qn_tally_done(&tally);
    if (!p.failed) {
        *ret_value = value;
    }
    return !p.failed;
}
