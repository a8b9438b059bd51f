/* Which broken invariants are about time. */
#include "chaos/check/again.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "chaos/check/report/report.h"

static const char *const timed_invariants[] = {
    "BACKOFF",    "QUIET",           "EXIT-IN-GRACE", "NO-STRAND",     "PROGRESS", "LEASE-COVER",
    "START-LIVE", "NO-GHOST-EXTEND", "IDLE-HOLD",     "EXTEND-MARGIN", "RECOVERY",
};
/* In an expression: terms that are instants, lengths or rates, durations, and units. */
static const char *const timed_words[] = {"gap", "rate", "time", "first", "last", "V", "VH",
                                          "G",   "W",    "R",    "WM",    "s",    "ms"};

static bool is_one_of(struct qn_str word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (qn_str_equal(word, qn_str_from_cstr(words[i]))) {
            return true;
        }
    }
    return false;
}

/* A count in a phase, which is as long as something takes. */
static bool is_count_in_phase(struct qn_str text)
{
    struct qn_str rest;
    struct qn_str arguments = qn_str_cut(text, ')', &rest);

    return arguments.len > 0 && arguments.ptr[0] == '(' &&
           memchr(arguments.ptr, ',', arguments.len) != NULL;
}

static bool is_timed(struct qn_str text)
{
    struct qn_str rest;
    struct qn_str name = qn_str_trim(qn_str_cut(text, '(', &rest));

    if (is_one_of(name, timed_invariants, sizeof(timed_invariants) / sizeof(timed_invariants[0]))) {
        return true;
    }
    for (size_t i = 0; i < text.len;) {
        size_t end = i;
        while (end < text.len && isalpha((unsigned char)text.ptr[end]) != 0) {
            end++;
        }
        struct qn_str word = qn_str(text.ptr + i, end - i);
        if (is_one_of(word, timed_words, sizeof(timed_words) / sizeof(timed_words[0])) ||
            (qn_str_equal(word, QN_STR("count")) && is_count_in_phase(qn_str_from(text, end)))) {
            return true;
        }
        i = end > i ? end : i + 1;
    }
    return false;
}

/* The expression that the scenario calls by this name; without one it is the name itself. */
static struct qn_str text_of(const struct qn_scenario *scenario, const char *name)
{
    static const char *const lists[] = {"must", "should"};
    struct qn_str wanted = qn_str_from_cstr(name);
    size_t i;
    const json_t *item;

    for (size_t list = 0; list < 2; list++) {
        json_array_foreach(json_object_get(scenario->json, lists[list]), i, item)
        {
            struct qn_str expression;
            struct qn_str head =
                qn_str_cut(qn_str_from_cstr(json_string_value(item)), ':', &expression);
            if (qn_str_equal(qn_str_trim(head), wanted) && !qn_str_is_none(expression)) {
                return expression;
            }
        }
    }
    return wanted;
}

bool qn_again_is_due(const struct qn_scenario *scenario, const struct qn_judgement *judgement)
{
    bool any = false;

    if (judgement->outcome == QN_OUTCOME_ERROR) {
        return true; /* the harness's own: a call, say, that met the server's crash */
    }
    if (judgement->outcome != QN_OUTCOME_WARN) {
        return false;
    }
    for (size_t i = 0; i < judgement->invariant_count; i++) {
        const struct qn_invariant *invariant = &judgement->invariants[i];
        if (invariant->severity != QN_SHOULD || invariant->finding.result != QN_RESULT_FAIL) {
            continue;
        }
        if (!is_timed(text_of(scenario, invariant->name))) {
            return false;
        }
        any = true;
    }
    return any;
}

bool qn_again_is_due_alone(const struct qn_run_result *result)
{
    return result->process.kept_from[0] != '\0' && !qn_report_is_fine(result->judgement.outcome);
}

bool qn_again_is_due_without_sink(const struct qn_scenario *scenario,
                                  const struct qn_scenario *form,
                                  const struct qn_run_result *result)
{
    /* Who asked for no message, or never got going, has not shown what it calls. */
    bool has_shown =
        !result->never_got_going && result->profile.is_known && result->profile.batch > 0;

    return form == scenario && scenario->without_sink != NULL && has_shown &&
           !result->is_interrupted && result->profile.level < QN_LEVEL_SINK;
}

void qn_again_conclude(const struct qn_run_result *first, struct qn_run_result *second)
{
    char text[QN_FINDING_TEXT];

    if (first->judgement.outcome == QN_OUTCOME_ERROR &&
        second->judgement.outcome == QN_OUTCOME_ERROR) {
        second->wall_ms += first->wall_ms;
        return;
    }
    if (first->process.kept_from[0] != '\0') {
        (void)snprintf(text, sizeof(text),
                       "%.130s%sin a process of its own; in one that was kept: "
                       "%s %.100s",
                       second->judgement.text, second->judgement.text[0] != '\0' ? ", " : "",
                       qn_outcome_name(first->judgement.outcome), first->judgement.text);
        (void)snprintf(second->process.started, sizeof(second->process.started),
                       "its verdict in the one kept from %s was %s", first->process.kept_from,
                       qn_outcome_name(first->judgement.outcome));
    } else if (second->judgement.outcome == QN_OUTCOME_WARN) {
        (void)snprintf(text, sizeof(text), "%.280s (in two runs)", second->judgement.text);
    } else {
        (void)snprintf(text, sizeof(text), "%.150s%sin a second run; the first one: %.120s",
                       second->judgement.text, second->judgement.text[0] != '\0' ? ", " : "",
                       first->judgement.text);
    }
    (void)snprintf(second->judgement.text, sizeof(second->judgement.text), "%s", text);
    second->wall_ms += first->wall_ms;
}
