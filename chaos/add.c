/* Adding rules: all of a text or of a list of texts, or none. */
#include <stdio.h>

#include "chaos/lex.h"
#include "chaos/plan.h"

enum { RULES_MAX = 10000, NAME_BYTES = 32 };

/* Rules that wait until all others are known to be right. */
struct adding {
    struct qn_plan *plan;
    struct qn_rule **rules;
    size_t count;
    size_t cap;
    bool is_full; /* one was too many: what comes behind it is not looked at */
    struct qn_mistakes *mistakes;
};

static bool is_taken(const struct adding *adding, struct qn_str name)
{
    for (size_t i = 0; i < adding->count; i++) {
        if (!qn_str_is_none(adding->rules[i]->name) && qn_str_equal(adding->rules[i]->name, name)) {
            return true;
        }
    }
    return qn_plan_find(adding->plan, name) != NULL;
}

static bool check_place(struct adding *adding, const struct qn_rule *rule)
{
    struct qn_lex lex = {
        .whole = rule->whole, .first_line = rule->first_line, .mistakes = adding->mistakes};

    if (qn_plan_rule_count(adding->plan) + adding->count >= RULES_MAX) {
        adding->is_full = true;
        return qn_lex_fail_at(&lex, 0, "a server has %d rules at most", RULES_MAX);
    }
    if (!qn_str_is_none(rule->name) && is_taken(adding, rule->name)) {
        return qn_lex_fail_at(&lex, rule->name_at, "there is a rule with the name \"%.*s\" already",
                              QN_STR_ARG(rule->name));
    }
    return true;
}

static void read_rule(struct adding *adding, struct qn_str text, int64_t line)
{
    const struct qn_rule_names *names = &adding->plan->names;
    struct qn_rule *rule;

    if (!qn_rule_read(text, line, names->actions != NULL ? names : NULL, &rule, adding->mistakes)) {
        return;
    }
    if (!qn_plan_carries(&adding->plan->options, rule, adding->mistakes) ||
        !qn_sends_load(rule, adding->mistakes) || !check_place(adding, rule)) {
        qn_rule_free(rule);
        return;
    }
    if (adding->count == adding->cap) {
        adding->cap = adding->cap > 0 ? 2 * adding->cap : 8;
        adding->rules = qn_memory_resize(adding->rules, adding->cap, sizeof(adding->rules[0]));
    }
    adding->rules[adding->count++] = rule;
}

static void add_one(struct adding *adding, struct qn_rule *rule_take)
{
    struct qn_plan *plan = adding->plan;
    struct qn_str name = rule_take->name;
    char given[NAME_BYTES];

    while (qn_str_is_none(name) || (qn_str_is_none(rule_take->name) && is_taken(adding, name))) {
        (void)snprintf(given, sizeof(given), "rule-%llu", (unsigned long long)++plan->names_given);
        name = qn_str_from_cstr(given);
    }
    qn_plan_append(plan, rule_take, name);
}

/* Takes what was read, if all of it was right. */
static bool finish(struct adding *adding, size_t mistakes_before)
{
    bool ok = adding->mistakes->count == mistakes_before;

    for (size_t i = 0; i < adding->count; i++) {
        if (ok) {
            add_one(adding, adding->rules[i]);
        } else {
            qn_rule_free(adding->rules[i]);
        }
    }
    qn_memory_free(adding->rules);
    if (adding->count > 0) {
        qn_plan_reindex(adding->plan);
    }
    return ok;
}

bool qn_plan_add_lines(struct qn_plan *plan, struct qn_str text, struct qn_mistakes *mistakes)
{
    struct adding adding = {.plan = plan, .mistakes = mistakes};
    size_t mistakes_before = mistakes->count;
    bool is_marked = qn_str_starts_with(text, QN_STR("\xEF\xBB\xBF")); /* by an editor: UTF-8 */
    struct qn_str rest = is_marked ? qn_str_from(text, 3) : text;

    for (int64_t line = 1; !qn_str_is_none(rest) && !adding.is_full; line++) {
        struct qn_str one = qn_str_cut(rest, '\n', &rest);
        if (one.len > 0 && one.ptr[one.len - 1] == '\r') {
            one.len--;
        }
        struct qn_str trimmed = qn_str_trim(one);
        if (trimmed.len > 0 && trimmed.ptr[0] != '#') {
            read_rule(&adding, one, line);
        }
    }
    return finish(&adding, mistakes_before);
}

bool qn_plan_add_all(struct qn_plan *plan, const struct qn_str *texts, size_t count,
                     struct qn_mistakes *mistakes)
{
    struct adding adding = {.plan = plan, .mistakes = mistakes};
    size_t mistakes_before = mistakes->count;

    for (size_t i = 0; i < count && !adding.is_full; i++) {
        mistakes->text = i;
        read_rule(&adding, texts[i], 1);
    }
    return finish(&adding, mistakes_before);
}

bool qn_plan_add(struct qn_plan *plan, struct qn_str text, struct qn_error *err)
{
    struct qn_mistakes mistakes = {.count = 0};

    bool ok = qn_plan_add_all(plan, &text, 1, &mistakes) || qn_mistakes_fail(&mistakes, err);
    qn_mistakes_done(&mistakes);
    return ok;
}
