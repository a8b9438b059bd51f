/* What the server carries out of the grammar. Everything else is refused when the rule is added: a
 * fault that silently does not happen would pass for a consumer that stood it. */
#include <stdarg.h>
#include <stdio.h>

#include "chaos/lex.h"
#include "chaos/plan.h"
#include "chaos/verbs.h"

enum { SENTENCE_MAX = 1024 };

static bool refuse(const struct qn_rule *rule, struct qn_str source, struct qn_mistakes *mistakes,
                   const char *format, ...) QN_PRINTF(4, 5);

static bool refuse(const struct qn_rule *rule, struct qn_str source, struct qn_mistakes *mistakes,
                   const char *format, ...)
{
    struct qn_lex lex = {
        .whole = rule->whole, .first_line = rule->first_line, .mistakes = mistakes};
    char sentence[SENTENCE_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    return qn_lex_fail_at(&lex, (size_t)(source.ptr - rule->whole.ptr), "%s", sentence);
}

size_t qn_plan_harness_part(const struct qn_rule *rule)
{
    size_t pause = rule->action_count; /* the first of the pauses right before */

    for (size_t i = 0; i < rule->action_count; i++) {
        enum qn_rule_verb verb = rule->actions[i].verb;
        if (verb == QN_DO_AFTER) {
            pause = pause < i ? pause : i;
        } else if (qn_verb_of(verb)->carrier == QN_CARRIED_BY_HARNESS) {
            return pause < i ? pause : i; /* who acts behind a pause waits for it */
        } else {
            pause = rule->action_count;
        }
    }
    return rule->action_count;
}

static bool check_failpoint(const struct qn_plan_options *options, const struct qn_rule *rule,
                            const struct qn_rule_action *action, struct qn_mistakes *mistakes)
{
    struct qn_error cause;

    if (qn_failpoints_is_point(action->text)) {
        return refuse(rule, action->source, mistakes,
                      "%.*s is a point of requests: write a rule for them, \"on ACTION at POINT do "
                      "crash server\"",
                      QN_STR_ARG(action->text));
    }
    return qn_failpoints_can_meet(action->text, &options->failpoints, &cause) ||
           refuse(rule, action->source, mistakes, "%.*s", SENTENCE_MAX - 1, cause.message);
}

/* One action by itself. */
static bool check_action(const struct qn_plan_options *options, const struct qn_rule *rule,
                         const struct qn_rule_action *action, struct qn_mistakes *mistakes)
{
    const struct qn_verb *verb = qn_verb_of(action->verb);
    if (action->verb == QN_DO_RESTORE && !options->can_restore) {
        return refuse(rule, action->source, mistakes,
                      "restore goes back to an earlier state of a database, and needs somebody who "
                      "starts the server on it: run with --db FILE and --supervise");
    }
    if (action->verb == QN_DO_CRASH && !qn_str_is_none(action->text) &&
        !check_failpoint(options, rule, action, mistakes)) {
        return false;
    }
    if (action->verb == QN_DO_JUMP && !options->clock_is_virtual) {
        return refuse(rule, action->source, mistakes,
                      "a real clock cannot jump: start the server with --clock virtual");
    }
    if (action->after_ms > 0 && verb->need == QN_NEEDS_REQUEST) {
        return refuse(rule, action->source, mistakes,
                      "the request would not wait for \"%s\": write \"delay D then %s\"",
                      verb->word, verb->word);
    }
    if (action->after_ms > 0 && action->verb == QN_DO_MARK) {
        return refuse(rule, action->source, mistakes,
                      "a mark is set when the rule fires, not later");
    }
    return true;
}

/* Whether an action may follow those before it. A request can wait, more than once, and then one
 * thing is done to it, before the harness does its part. What is left behind that is the harness's
 * too: it does it, or asks the server to. */
static bool check_order(const struct qn_rule *rule, size_t i, enum qn_rule_verb verdict,
                        struct qn_mistakes *mistakes)
{
    const struct qn_rule_action *action = &rule->actions[i];
    const struct qn_verb *verb = qn_verb_of(action->verb);
    enum qn_rule_verb before = i > 0 ? rule->actions[i - 1].verb : QN_DO_COUNT;

    if (action->verb == QN_DO_AFTER && before != QN_DO_HOLD) {
        return refuse(rule, action->source, mistakes,
                      "nothing waits here: \"after\" stands before an action or behind \"hold\"");
    }
    if (verb->carrier == QN_CARRIED_BY_HARNESS || action->verb == QN_DO_AFTER) {
        return true;
    }
    if (qn_plan_harness_part(rule) < i && verb->need == QN_NEEDS_REQUEST) {
        return refuse(
            rule, action->source, mistakes,
            "\"%s\" is done to the request and \"%s\" before it by the harness: the server "
            "does its part first",
            verb->word, qn_rule_verb_name(before));
    }
    if (before == QN_DO_RESTART) { /* who starts the server again does only that */
        return refuse(rule, action->source, mistakes,
                      "behind \"restart\" nothing more can be done: \"%s\" stands in a rule of its "
                      "own",
                      verb->word);
    }
    if (before == QN_DO_CRASH || before == QN_DO_RESTORE) {
        return refuse(rule, action->source, mistakes,
                      "behind \"%s\" there is no server that could do \"%s\"",
                      qn_rule_verb_name(before), verb->word);
    }
    bool decides =
        verb->need == QN_NEEDS_REQUEST || (action->verb == QN_DO_CRASH && action->after_ms == 0);
    if (decides && verdict != QN_DO_COUNT && verdict != QN_DO_DELAY && verdict != QN_DO_HOLD) {
        return refuse(rule, action->source, mistakes,
                      "behind \"%s\" nothing more can be done to the request: \"%s\" stands before "
                      "it or in a rule of its own",
                      qn_rule_verb_name(verdict), verb->word);
    }
    return true;
}

bool qn_plan_carries(const struct qn_plan_options *options, const struct qn_rule *rule,
                     struct qn_mistakes *mistakes)
{
    enum qn_rule_verb verdict = QN_DO_COUNT; /* the last one so far */
    bool ok = true;

    if (rule->target != QN_TARGET_SQS && rule->target != QN_TARGET_CLOCK) {
        const char *target = qn_rule_target_name(rule->target);
        return refuse(rule, rule->event, mistakes,
                      "events of %s are the harness's, the server does not see them; give this "
                      "rule to quern check",
                      target);
    }
    for (size_t i = 0; i < rule->action_count; i++) {
        ok = check_action(options, rule, &rule->actions[i], mistakes) &&
             check_order(rule, i, verdict, mistakes) && ok;
        if (qn_verb_of(rule->actions[i].verb)->need == QN_NEEDS_REQUEST) {
            verdict = rule->actions[i].verb;
        }
    }
    return ok;
}
