/* What the server carries out of the grammar. Everything else is refused when the rule is added: a
 * fault that silently does not happen would pass for a consumer that stood it. */
#include <stdarg.h>
#include <stdio.h>

#include "chaos/lex.h"
#include "chaos/plan.h"
#include "chaos/verbs.h"

enum { SENTENCE_MAX = 512 };

static bool refuse(const struct qn_rule *rule, struct qn_str source, struct qn_error *err,
                   const char *format, ...) QN_PRINTF(4, 5);

static bool refuse(const struct qn_rule *rule, struct qn_str source, struct qn_error *err,
                   const char *format, ...)
{
    struct qn_lex lex = {.whole = rule->whole, .first_line = rule->first_line, .err = err};
    char sentence[SENTENCE_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    return qn_lex_fail_at(&lex, (size_t)(source.ptr - rule->whole.ptr), "%s", sentence);
}

size_t qn_plan_harness_part(const struct qn_rule *rule)
{
    size_t i = 0;

    while (i < rule->action_count &&
           qn_verb_of(rule->actions[i].verb)->carrier != QN_CARRIED_BY_HARNESS) {
        i++;
    }
    return i;
}

/* One action by itself. */
static bool check_action(const struct qn_rule *rule, const struct qn_rule_action *action,
                         struct qn_error *err)
{
    const struct qn_verb *verb = qn_verb_of(action->verb);
    bool can_wait = action->verb == QN_DO_EXPIRE_LEASE || action->verb == QN_DO_RESURRECT ||
                    action->verb == QN_DO_CRASH || verb->carrier == QN_CARRIED_BY_HARNESS;

    if (verb->carrier == QN_CARRIED_BY_NOBODY) {
        return refuse(rule, action->source, err,
                      "action \"%s\" is part of the grammar but this version does not carry it out",
                      verb->word);
    }
    if (action->verb == QN_DO_CRASH && !qn_str_is_none(action->text)) {
        return refuse(rule, action->source, err,
                      "action \"crash server at\" is part of the grammar but this version does not "
                      "carry it out; arm the failpoint instead");
    }
    if (action->after_ms > 0 && !can_wait) {
        return refuse(rule, action->source, err,
                      "\"after\" before \"%s\" is part of the grammar but this version does not "
                      "carry it out; use delay",
                      verb->word);
    }
    return true;
}

/* Whether an action may follow the one before it. The server decides about a request once, and does
 * what else it does at the same time; what the harness does comes last. */
static bool check_order(const struct qn_rule *rule, size_t i, bool has_verdict,
                        struct qn_error *err)
{
    const struct qn_rule_action *action = &rule->actions[i];
    const struct qn_verb *verb = qn_verb_of(action->verb);
    enum qn_rule_verb before = i > 0 ? rule->actions[i - 1].verb : QN_DO_COUNT;

    if (verb->carrier == QN_CARRIED_BY_HARNESS) {
        if (action->verb == QN_DO_AFTER && before != QN_DO_HOLD) {
            return refuse(
                rule, action->source, err,
                "nothing waits here: \"after\" stands before an action or behind \"hold\"");
        }
        return true;
    }
    if (qn_plan_harness_part(rule) < i) {
        return refuse(rule, action->source, err,
                      "\"%s\" is the server's and \"%s\" before it the harness's: this version "
                      "carries out the server's first",
                      verb->word, qn_rule_verb_name(before));
    }
    if (before == QN_DO_HOLD || before == QN_DO_CRASH) {
        return refuse(rule, action->source, err,
                      "behind \"%s\" this version carries out actions of the harness only, such as "
                      "\"kill instance\"",
                      qn_rule_verb_name(before));
    }
    if (has_verdict && (verb->need == QN_NEEDS_REQUEST || action->verb == QN_DO_CRASH)) {
        return refuse(rule, action->source, err,
                      "\"%s\" is a second answer to one request: this version carries out one",
                      verb->word);
    }
    return true;
}

bool qn_plan_carries(const struct qn_rule *rule, struct qn_error *err)
{
    bool has_verdict = false;

    if (rule->target != QN_TARGET_SQS && rule->target != QN_TARGET_CLOCK) {
        const char *target = qn_rule_target_name(rule->target);
        return refuse(rule, rule->event, err,
                      "events of %s are the harness's, the server does not see them; give this "
                      "rule to quern check",
                      target);
    }
    for (size_t i = 0; i < rule->action_count; i++) {
        if (!check_action(rule, &rule->actions[i], err) ||
            !check_order(rule, i, has_verdict, err)) {
            return false;
        }
        has_verdict = has_verdict || qn_verb_of(rule->actions[i].verb)->need == QN_NEEDS_REQUEST;
    }
    return true;
}
