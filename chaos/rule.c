/* A rule as a whole: its event, the order of its parts, its name. */
#include "chaos/rule.h"

#include "chaos/parse.h"
#include "chaos/verbs.h"

enum {
    RULE_MAX = 32 * 1024,
    ARENA_MAX = 1024 * 1024,
    FILES_ARENA_MAX = 128 * 1024 * 1024,
    ACTIONS_MAX = 32,
    NAME_MAX_LEN = 80,
    WORDS_MAX = 64,
    HEAD_WORDS = 16
};

static const char *const targets[] = {[QN_TARGET_SQS] = "sqs",
                                      [QN_TARGET_SINK] = "sink",
                                      [QN_TARGET_LAMBDA] = "lambda",
                                      [QN_TARGET_PROC] = "proc",
                                      [QN_TARGET_CLOCK] = "clock"};

static const char *const points[] = {
    [QN_RULE_ANYWHERE] = "anywhere",         [QN_RULE_ARRIVE] = "arrive",
    [QN_RULE_PRE_COMMIT] = "pre-commit",     [QN_RULE_POST_COMMIT] = "post-commit",
    [QN_RULE_MID_RESPONSE] = "mid-response", [QN_RULE_POST_RESPONSE] = "post-response"};

static const struct {
    const char *name;
    enum qn_rule_target target;
} events[] = {
    {"lease.grant", QN_TARGET_SQS}, {"lease.expire", QN_TARGET_SQS},
    {"msg.dlq", QN_TARGET_SQS},     {"msg.delete", QN_TARGET_SQS},
    {"work.begin", QN_TARGET_SINK}, {"work.commit", QN_TARGET_SINK},
    {"reject", QN_TARGET_SINK},     {"reconcile", QN_TARGET_SINK},
    {"lookup", QN_TARGET_SINK},     {"fetch", QN_TARGET_SINK},
    {"ready", QN_TARGET_SINK},      {"invoke", QN_TARGET_LAMBDA},
    {"response", QN_TARGET_LAMBDA}, {"init", QN_TARGET_LAMBDA},
    {"spawn", QN_TARGET_PROC},      {"exit", QN_TARGET_PROC},
    {"tick", QN_TARGET_CLOCK},
};

enum {
    TARGETS = sizeof(targets) / sizeof(targets[0]),
    POINTS = sizeof(points) / sizeof(points[0]),
    EVENTS = sizeof(events) / sizeof(events[0])
};

const char *qn_rule_point_name(enum qn_rule_point point)
{
    return points[point];
}

const char *qn_rule_target_name(enum qn_rule_target target)
{
    return targets[target];
}

/* The beginning of actions, up to a capital letter, that somebody probably meant before his `*`. */
static struct qn_str nearest_beginning(const struct qn_parse *parse, struct qn_str stem)
{
    struct qn_str nearest = QN_STR_NONE;
    size_t fewest = (stem.len + 2) / 3 + 1;

    for (size_t i = 0; parse->names != NULL && i < parse->names->count; i++) {
        struct qn_str action = qn_str_from_cstr(parse->names->actions[i]);
        for (size_t len = 1; len <= action.len; len++) {
            struct qn_str beginning = qn_str_first(action, len);
            bool is_whole = len == action.len || (action.ptr[len] >= 'A' && action.ptr[len] <= 'Z');
            size_t slips = is_whole ? qn_word_slips(stem, beginning) : SIZE_MAX;
            if (slips < fewest && slips < len) {
                fewest = slips;
                nearest = beginning;
            }
        }
    }
    return nearest;
}

static bool fail_event(struct qn_parse *parse, const char *expected)
{
    struct qn_str text = parse->lex.text;
    const char *words[WORDS_MAX + EVENTS + 1] = {"any"};
    size_t count = 1;

    if (parse->lex.kind == QN_LEX_WORD && qn_str_ends_with(text, QN_STR("*"))) {
        struct qn_str nearest = nearest_beginning(parse, qn_str_first(text, text.len - 1));
        if (!qn_str_is_none(nearest)) {
            return qn_lex_fail_at(&parse->lex, parse->lex.from,
                                  "expected %s, found \"%.*s\"; did you mean \"%.*s*\"?", expected,
                                  QN_STR_ARG(text), QN_STR_ARG(nearest));
        }
    }
    for (size_t i = 0; i < EVENTS; i++) {
        words[count++] = events[i].name;
    }
    for (size_t i = 0; parse->names != NULL && i < parse->names->count && i < WORDS_MAX; i++) {
        words[count++] = parse->names->actions[i];
    }
    return qn_lex_fail_words(&parse->lex, expected, words, count);
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* The name of an API action, perhaps with wildcards. Without a list every capitalized word may be
 * one. */
static bool is_api_action(const struct qn_parse *parse, struct qn_str name)
{
    if (name.ptr[0] != '*' && name.ptr[0] != '?' && !(name.ptr[0] >= 'A' && name.ptr[0] <= 'Z')) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        if (!is_letter(name.ptr[i]) && name.ptr[i] != '*' && name.ptr[i] != '?') {
            return false;
        }
    }
    if (parse->names == NULL) {
        return true;
    }
    for (size_t i = 0; i < parse->names->count; i++) {
        if (qn_rule_glob(name, qn_str_from_cstr(parse->names->actions[i]))) {
            return true;
        }
    }
    return false;
}

static bool parse_name(struct qn_parse *parse, struct qn_str name, bool has_target)
{
    struct qn_rule *rule = parse->rule;
    enum qn_rule_target said = rule->target;

    for (size_t i = 0; i < EVENTS; i++) {
        if (!qn_str_equal(name, qn_str_from_cstr(events[i].name))) {
            continue;
        }
        if (has_target && said != events[i].target) {
            return qn_lex_fail_at(&parse->lex, parse->lex.from, "%s is an event of %s, not of %s",
                                  events[i].name, targets[events[i].target], targets[said]);
        }
        rule->target = events[i].target;
        rule->is_internal = rule->target == QN_TARGET_SQS;
        rule->event = name;
        return true;
    }
    if (said == QN_TARGET_SQS &&
        (qn_str_equal(name, QN_STR("any")) || is_api_action(parse, name))) {
        rule->event = qn_str_equal(name, QN_STR("any")) ? QN_STR("*") : name;
        return true;
    }
    return fail_event(parse, said == QN_TARGET_SQS ? "an event or an API action"
                                                   : "an event of this target");
}

static bool parse_event(struct qn_parse *parse)
{
    struct qn_lex *lex = &parse->lex;
    struct qn_str rest;
    bool has_target = false;

    if (lex->kind != QN_LEX_WORD) {
        return fail_event(parse, "an event or an API action");
    }
    struct qn_str head = qn_str_cut(lex->text, '.', &rest);
    for (size_t i = 0; i < TARGETS && !qn_str_is_none(rest) && rest.len > 0; i++) {
        if (qn_str_equal(head, qn_str_from_cstr(targets[i]))) {
            parse->rule->target = (enum qn_rule_target)i;
            has_target = true;
        }
    }
    if (!parse_name(parse, has_target ? rest : lex->text, has_target)) {
        return false;
    }
    qn_lex_next(lex);
    if (parse->rule->target != QN_TARGET_CLOCK) {
        return !lex->failed;
    }
    size_t at = lex->from;
    if (!qn_parse_duration(parse, &parse->rule->tick_ms)) {
        return false;
    }
    return parse->rule->tick_ms > 0 || qn_lex_fail_at(lex, at, "a tick of 0 never ends");
}

static bool parse_point(struct qn_parse *parse)
{
    for (size_t i = QN_RULE_ARRIVE; i < POINTS; i++) {
        if (qn_lex_take(&parse->lex, points[i])) {
            parse->rule->point = (enum qn_rule_point)i;
            return !parse->lex.failed;
        }
    }
    return qn_lex_fail_words(&parse->lex, "a point", points + QN_RULE_ARRIVE,
                             POINTS - QN_RULE_ARRIVE);
}

/* Behind a mistake: goes on at the next of these words that is no value, so that what else is wrong
 * is found as well. False: there is none. */
static bool skip_to(struct qn_parse *parse, const char *const *words, size_t count)
{
    struct qn_lex *lex = &parse->lex;
    bool is_value = false;

    for (bool ok = qn_lex_resume(lex); ok && lex->kind != QN_LEX_END; qn_lex_next(lex)) {
        for (size_t i = 0; i < count; i++) {
            if (lex->kind == QN_LEX_WORD && !is_value && qn_lex_is(lex, words[i])) {
                return true;
            }
        }
        is_value = lex->kind == QN_LEX_SIGN && strchr("()", lex->text.ptr[0]) == NULL;
    }
    return false;
}

/* One of where, when and at. */
static bool parse_condition(struct qn_parse *parse, size_t *ret_point_at, bool *ret_taken)
{
    struct qn_lex *lex = &parse->lex;
    struct qn_rule *rule = parse->rule;
    size_t at = lex->from;

    *ret_taken = true;
    if (qn_lex_take(lex, "where")) {
        if (rule->where != NULL) {
            return qn_lex_fail_at(lex, at, "\"where\" is said already; join with `and`");
        }
        return qn_parse_predicate(parse, &rule->where);
    }
    if (qn_lex_take(lex, "at")) {
        if (rule->point != QN_RULE_ANYWHERE) {
            return qn_lex_fail_at(lex, at, "\"at\" is said already");
        }
        *ret_point_at = at;
        return parse_point(parse);
    }
    return qn_parse_when(parse, ret_taken);
}

/* In any order, up to `do`. */
static bool parse_conditions(struct qn_parse *parse, size_t *ret_point_at)
{
    const char *words[HEAD_WORDS] = {"do", "where", "at"};
    size_t count = 3;

    for (size_t i = 0; i < qn_when_word_count; i++) {
        words[count++] = qn_when_words[i];
    }
    if (parse->lex.failed && !skip_to(parse, words, count)) { /* the event was wrong */
        return false;
    }
    while (!qn_lex_take(&parse->lex, "do")) {
        bool taken;
        bool ok = parse_condition(parse, ret_point_at, &taken);
        if (ok && !taken) {
            ok = qn_lex_fail_words(&parse->lex, "\"do\" or a condition before it", words, count);
        }
        if (!ok && !skip_to(parse, words, count)) {
            return false;
        }
    }
    return !parse->lex.failed;
}

static bool parse_actions(struct qn_parse *parse)
{
    static const char *const behind[] = {"then", "unsound", "as"};
    struct qn_rule_action actions[ACTIONS_MAX];
    struct qn_rule *rule = parse->rule;
    size_t count = 0;

    do {
        if (count == ACTIONS_MAX) {
            return qn_lex_fail_at(&parse->lex, parse->lex.from, "a chain has %d actions at most",
                                  ACTIONS_MAX);
        }
        if (qn_parse_action(parse, &actions[count])) {
            count++;
        } else if (!skip_to(parse, behind, sizeof(behind) / sizeof(behind[0]))) {
            return false;
        }
    } while (qn_lex_take(&parse->lex, "then"));
    if (!qn_parse_alloc(parse, count, sizeof(actions[0]), &rule->actions)) {
        return false;
    }
    memcpy(rule->actions, actions, count * sizeof(actions[0]));
    rule->action_count = count;
    return !parse->lex.failed;
}

/* Names stand in paths of the control API and in reports. */
static bool parse_as(struct qn_parse *parse)
{
    struct qn_str name = parse->lex.text;
    size_t at = parse->lex.from;

    if (!qn_parse_value(parse, "a name", &name)) {
        return false;
    }
    bool ok = name.len > 0 && name.len <= NAME_MAX_LEN;
    for (size_t i = 0; ok && i < name.len; i++) {
        char c = name.ptr[i];
        ok = is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    }
    if (!ok) {
        return qn_lex_fail_at(&parse->lex, at,
                              "a rule's name has 1 to %d letters, digits, dots, - or _",
                              NAME_MAX_LEN);
    }
    parse->rule->name = name;
    parse->rule->name_at = at;
    return true;
}

/* The right word at the wrong place is told where it belongs. */
static bool fail_behind(struct qn_parse *parse)
{
    static const char *const words[] = {"then", "as", "unsound"};
    struct qn_lex *lex = &parse->lex;
    bool is_condition = qn_lex_is(lex, "where") || qn_lex_is(lex, "at");

    for (size_t i = 0; i < qn_when_word_count; i++) {
        is_condition = is_condition || qn_lex_is(lex, qn_when_words[i]);
    }
    if (is_condition) {
        return qn_lex_fail_at(lex, lex->from, "\"%.*s\" stands before `do`", QN_STR_ARG(lex->text));
    }
    if (qn_lex_is(lex, "unsound") && parse->rule->unsound) {
        return qn_lex_fail_at(lex, lex->from, "\"unsound\" is said already");
    }
    if (!qn_str_is_none(parse->rule->name)) {
        return qn_lex_fail_expected(lex, "the end of the rule behind its name");
    }
    return qn_lex_fail_words(lex, "the end of the rule or one of", words,
                             sizeof(words) / sizeof(words[0]));
}

static bool parse_end(struct qn_parse *parse)
{
    struct qn_lex *lex = &parse->lex;

    if (!parse->rule->unsound) {
        parse->rule->unsound = qn_lex_take(lex, "unsound");
    }
    if (qn_lex_take(lex, "as") && !parse_as(parse)) {
        return false;
    }
    if (lex->kind != QN_LEX_END) {
        return fail_behind(parse);
    }
    return !lex->failed;
}

static bool parse_rule(struct qn_parse *parse, size_t *ret_from)
{
    struct qn_lex *lex = &parse->lex;
    size_t mistakes_before = lex->mistakes->count;
    size_t event_at;
    size_t point_at = 0;

    parse->rule->is_disabled = qn_lex_take(lex, "disabled");
    *ret_from = lex->from;
    parse->rule->unsound = qn_lex_take(lex, "unsound");
    if (!qn_lex_expect(lex, "on")) {
        return false;
    }
    event_at = lex->from;
    parse->event_is_known = parse_event(parse);
    return parse_conditions(parse, &point_at) && parse_actions(parse) && parse_end(parse) &&
           lex->mistakes->count == mistakes_before && qn_parse_finish(parse, event_at, point_at);
}

bool qn_rule_read(struct qn_str text, int64_t first_line, const struct qn_rule_names *names,
                  struct qn_rule **ret_rule, struct qn_mistakes *mistakes)
{
    struct qn_rule *rule;
    struct qn_parse parse = {.names = names};

    if (text.len > RULE_MAX) {
        struct qn_lex lex = {.first_line = first_line, .mistakes = mistakes};
        return qn_lex_fail_at(&lex, 0, "a rule has %d bytes at most", RULE_MAX);
    }
    rule = qn_memory_new(sizeof(*rule));
    qn_arena_init(&rule->arena, ARENA_MAX);
    qn_arena_init(&rule->files, FILES_ARENA_MAX);
    parse.rule = rule;
    rule->whole = qn_arena_copy(&rule->arena, text); /* the values are views into it */
    rule->first_line = first_line;
    qn_lex_init(&parse.lex, rule->whole, first_line, &rule->arena, mistakes);
    size_t from;
    if (parse.lex.failed || !parse_rule(&parse, &from)) {
        qn_rule_free(rule);
        return false;
    }
    rule->text = qn_str(parse.lex.whole.ptr + from, parse.lex.last_to - from);
    *ret_rule = rule;
    return true;
}

bool qn_rule_parse(struct qn_str text, int64_t first_line, const struct qn_rule_names *names,
                   struct qn_rule **ret_rule, struct qn_error *err)
{
    struct qn_mistakes mistakes = {.count = 0};

    bool ok = qn_rule_read(text, first_line, names, ret_rule, &mistakes) ||
              qn_mistakes_fail(&mistakes, err);
    qn_mistakes_done(&mistakes);
    return ok;
}

void qn_rule_free(struct qn_rule *rule)
{
    if (rule == NULL) {
        return;
    }
    qn_arena_done(&rule->arena);
    qn_arena_done(&rule->files);
    qn_memory_free(rule);
}
