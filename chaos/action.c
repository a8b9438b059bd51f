/* One action of a rule, and the table of all. */
#include "chaos/parse.h"
#include "chaos/verbs.h"

#define BIT(point) (1U << QN_RULE_##point)

enum {
    POINT_ANYWHERE = QN_RULE_ANYWHERE,
    POINT_ARRIVE = QN_RULE_ARRIVE,
    POINT_PRE_COMMIT = QN_RULE_PRE_COMMIT,
    POINT_POST_COMMIT = QN_RULE_POST_COMMIT,
    POINT_MID_RESPONSE = QN_RULE_MID_RESPONSE,
    POINT_POST_RESPONSE = QN_RULE_POST_RESPONSE,

    NEED_REQUEST = QN_NEEDS_REQUEST,
    NEED_FREE = QN_NEEDS_NOTHING,
    CARRIER_SERVER = QN_CARRIED_BY_SERVER,
    CARRIER_HARNESS = QN_CARRIED_BY_HARNESS,

    PRE_COMMIT_ONLY = BIT(PRE_COMMIT),
    POST_COMMIT_ONLY = BIT(POST_COMMIT),
    MID_RESPONSE_ONLY = BIT(MID_RESPONSE),
    UNTIL_PRE_COMMIT = BIT(ARRIVE) | BIT(PRE_COMMIT),
    UNTIL_COMMIT = UNTIL_PRE_COMMIT | BIT(POST_COMMIT),
    UNTIL_RESPONSE = UNTIL_COMMIT | BIT(MID_RESPONSE),
    EVERYWHERE = UNTIL_RESPONSE | BIT(POST_RESPONSE),

    SQS = 1 << QN_TARGET_SQS,
    SINK = 1 << QN_TARGET_SINK,
    LAMBDA = 1 << QN_TARGET_LAMBDA,
    REQUESTS = SQS | SINK | LAMBDA,
    ANY = REQUESTS | 1 << QN_TARGET_PROC | 1 << QN_TARGET_CLOCK
};

static const struct qn_verb verbs[QN_DO_COUNT] = {
#define QN_RULE_ACTION(symbol, word, arguments, need, carrier, point, points, targets)             \
    [QN_DO_##symbol] = {word,                                                                      \
                        (enum qn_verb_need)NEED_##need,                                            \
                        (enum qn_verb_carrier)CARRIER_##carrier,                                   \
                        (enum qn_rule_point)POINT_##point,                                         \
                        (points),                                                                  \
                        (targets)},
#include "chaos/actions.def"
#undef QN_RULE_ACTION
};

const struct qn_verb *qn_verb_of(enum qn_rule_verb verb)
{
    return &verbs[verb];
}

const char *qn_rule_verb_name(enum qn_rule_verb verb)
{
    return verbs[verb].word;
}

static bool parse_verb(struct qn_parse *parse, struct qn_rule_action *action)
{
    const char *words[QN_DO_COUNT];

    for (size_t i = 0; i < QN_DO_COUNT; i++) {
        words[i] = verbs[i].word;
        if (qn_lex_take(&parse->lex, words[i])) {
            action->verb = (enum qn_rule_verb)i;
            return !parse->lex.failed;
        }
    }
    return qn_lex_fail_words(&parse->lex, "an action", words, QN_DO_COUNT);
}

/* after D [then] ACTION waits before the action; alone, at the end of a chain, it is an action
 * itself. */
static bool parse_pauses(struct qn_parse *parse, struct qn_rule_action *action, bool *ret_alone)
{
    struct qn_lex *lex = &parse->lex;
    int64_t pause_ms;

    *ret_alone = false;
    while (qn_lex_take(lex, "after")) {
        if (!qn_parse_duration(parse, &pause_ms)) {
            return false;
        }
        action->after_ms += pause_ms;
        *ret_alone = lex->kind == QN_LEX_END || qn_lex_is(lex, "as") || qn_lex_is(lex, "unsound");
        if (!*ret_alone) {
            (void)qn_lex_take(lex, "then");
        }
    }
    return !lex->failed;
}

bool qn_parse_action(struct qn_parse *parse, struct qn_rule_action *ret_action)
{
    struct qn_lex *lex = &parse->lex;
    struct qn_rule_action action = {.http_status = -1,
                                    .count = -1,
                                    .duration_ms = -1,
                                    .jitter_ms = -1,
                                    .fraction = -1,
                                    .bytes = -1};
    size_t from = lex->from;
    bool is_pause;

    if (!parse_pauses(parse, &action, &is_pause)) {
        return false;
    }
    if (is_pause) {
        action.verb = QN_DO_AFTER;
        action.duration_ms = action.after_ms;
        action.after_ms = 0;
    } else {
        size_t verb_at = lex->from;
        if (!parse_verb(parse, &action)) {
            return false;
        }
        const struct qn_verb *verb = &verbs[action.verb];
        if (parse->event_is_known && (verb->targets >> parse->rule->target & 1U) == 0) {
            return qn_lex_fail_at(lex, verb_at, "%s is no action for an event of %s", verb->word,
                                  qn_rule_target_name(parse->rule->target));
        }
        if (!qn_parse_arguments(parse, &action)) {
            return false;
        }
    }
    action.source = qn_str(lex->whole.ptr + from, lex->last_to - from);
    *ret_action = action;
    return !lex->failed;
}
