/* The when-clauses of a rule: their parser. How they count is in count.c. */
#include "chaos/parse.h"

#define COUNT_MAX (INT64_C(1) << 50)

static const char *const per_words[] = {[QN_PER_MESSAGE] = "message",
                                        [QN_PER_GROUP] = "group",
                                        [QN_PER_INSTANCE] = "instance",
                                        [QN_PER_QUEUE] = "queue",
                                        [QN_PER_CONNECTION] = "connection"};

enum { PER_WORDS = sizeof(per_words) / sizeof(per_words[0]) };

static bool parse_nth(struct qn_parse *parse)
{
    struct qn_rule_when *when = &parse->rule->when;
    struct qn_str *list;
    size_t at = parse->lex.from;

    if (!qn_parse_list(parse, "a number such as 1, or a list such as 1,2,4", &list,
                       &when->nth_count) ||
        !qn_parse_alloc(parse, when->nth_count, sizeof(when->nth[0]), &when->nth)) {
        return false;
    }
    for (size_t i = 0; i < when->nth_count; i++) {
        if (!qn_str_to_int64(list[i], 1, COUNT_MAX, &when->nth[i])) {
            return qn_lex_fail_at(&parse->lex, at,
                                  "nth counts from 1: \"%.*s\" is not such a number",
                                  QN_STR_ARG(list[i]));
        }
    }
    return true;
}

static bool parse_prob(struct qn_parse *parse)
{
    struct qn_lex *lex = &parse->lex;
    struct qn_rule_when *when = &parse->rule->when;
    int64_t seed;

    if (lex->kind != QN_LEX_WORD || !qn_value_number(lex->text, &when->prob) || when->prob <= 0 ||
        when->prob > 1) {
        return qn_lex_fail_expected(lex, "a probability above 0 and up to 1, such as 0.02");
    }
    qn_lex_next(lex);
    if (qn_lex_take(lex, "seed")) {
        if (!qn_parse_integer(parse, "a seed (an integer)", INT64_MIN, INT64_MAX, &seed)) {
            return false;
        }
        when->has_seed = true;
        when->seed = (uint64_t)seed;
    }
    return !lex->failed;
}

static bool parse_between(struct qn_parse *parse)
{
    struct qn_rule_when *when = &parse->rule->when;

    if (!qn_parse_duration(parse, &when->from_ms)) {
        return false;
    }
    size_t at = parse->lex.from;
    if (!qn_parse_duration(parse, &when->to_ms)) {
        return false;
    }
    if (when->to_ms <= when->from_ms) {
        return qn_lex_fail_at(&parse->lex, at, "between ends before it begins");
    }
    return true;
}

static bool parse_for(struct qn_parse *parse)
{
    size_t at = parse->lex.from;

    if (!qn_parse_duration(parse, &parse->rule->when.for_ms)) {
        return false;
    }
    if (parse->rule->when.for_ms == 0) {
        return qn_lex_fail_at(&parse->lex, at, "for 0 is never");
    }
    return true;
}

static bool parse_per(struct qn_parse *parse)
{
    for (size_t i = QN_PER_MESSAGE; i < PER_WORDS; i++) {
        if (qn_lex_take(&parse->lex, per_words[i])) {
            parse->rule->when.per = (enum qn_rule_per)i;
            return !parse->lex.failed;
        }
    }
    return qn_lex_fail_words(&parse->lex, "what to count by", per_words + QN_PER_MESSAGE,
                             PER_WORDS - QN_PER_MESSAGE);
}

static bool parse_every(struct qn_parse *parse)
{
    return qn_parse_integer(parse, "a number from 1 on", 1, COUNT_MAX, &parse->rule->when.every);
}

static bool parse_first(struct qn_parse *parse)
{
    return qn_parse_integer(parse, "a number from 1 on", 1, COUNT_MAX, &parse->rule->when.first);
}

static bool parse_after(struct qn_parse *parse)
{
    return qn_parse_integer(parse, "a number of matches from 1 on (a pause is written behind `do`)",
                            1, COUNT_MAX, &parse->rule->when.after);
}

static bool parse_times(struct qn_parse *parse)
{
    return qn_parse_integer(parse, "a number from 1 on", 1, COUNT_MAX, &parse->rule->when.times);
}

static bool parse_once(struct qn_parse *parse)
{
    parse->rule->when.times = 1;
    return !parse->lex.failed;
}

const char *const qn_when_words[] = {"nth",   "every", "first",   "after", "once",
                                     "times", "prob",  "between", "for",   "per"};
const size_t qn_when_word_count = sizeof(qn_when_words) / sizeof(qn_when_words[0]);

static bool (*const parsers[])(struct qn_parse *parse) = {
    parse_nth,   parse_every, parse_first,   parse_after, parse_once,
    parse_times, parse_prob,  parse_between, parse_for,   parse_per};

/* once is times 1, so the two share a place. */
static bool is_set(const struct qn_rule_when *when, size_t clause)
{
    const bool set[] = {when->nth_count > 0, when->every > 0,
                        when->first > 0,     when->after > 0,
                        when->times > 0,     when->times > 0,
                        when->prob > 0,      when->to_ms > 0,
                        when->for_ms > 0,    when->per != QN_PER_NOTHING};
    return set[clause];
}

bool qn_parse_when(struct qn_parse *parse, bool *ret_taken)
{
    *ret_taken = false;
    for (size_t i = 0; i < qn_when_word_count; i++) {
        size_t at = parse->lex.from;
        if (!qn_lex_take(&parse->lex, qn_when_words[i])) {
            continue;
        }
        if (is_set(&parse->rule->when, i)) {
            return qn_lex_fail_at(&parse->lex, at, "\"%s\" is said already", qn_when_words[i]);
        }
        *ret_taken = true;
        return parsers[i](parse);
    }
    return !parse->lex.failed;
}
