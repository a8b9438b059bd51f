/* The fault rules that the options of `quern serve` ask for. */
#include <stdio.h>

#include "server/cli/settings.h"

void qn_rules_tell(const char *source, const struct qn_mistakes *mistakes)
{
    size_t kept = qn_mistakes_kept(mistakes);

    for (size_t i = 0; i < kept; i++) {
        const struct qn_mistake *mistake = &mistakes->kept[i];
        (void)fprintf(stderr, "%s:%lld:%lld: %s\n", source, (long long)mistake->line,
                      (long long)mistake->column, mistake->what.message);
    }
    if (mistakes->count > kept) {
        (void)fprintf(stderr, "%s: and %zu more\n", source, mistakes->count - kept);
    }
}

static bool add_file(struct qn_plan *plan, const char *path, bool *ret_right, struct qn_error *err)
{
    struct qn_mistakes mistakes = {.count = 0};
    char *text;
    size_t len;

    if (!qn_file_read(path, &text, &len, err)) {
        return false;
    }
    if (!qn_plan_add_lines(plan, qn_str(text, len), &mistakes)) {
        qn_rules_tell(path, &mistakes);
        *ret_right = false;
    }
    qn_memory_free(text);
    return true;
}

static void add_faults(struct qn_plan *plan, const struct qn_given *given, bool *ret_right)
{
    for (size_t i = 0; i < given->count; i++) {
        struct qn_mistakes mistakes = {.count = 0};
        struct qn_str text = qn_str_from_cstr(given->texts[i]);
        char source[32] = "--fault";
        if (given->count > 1) {
            (void)snprintf(source, sizeof(source), "--fault %zu", i + 1);
        }
        if (!qn_plan_add_all(plan, &text, 1, &mistakes)) {
            qn_rules_tell(source, &mistakes);
            *ret_right = false;
        }
    }
}

bool qn_rules_add(struct qn_plan *plan, const struct qn_options *options, struct qn_error *err)
{
    const char *path = qn_options_text(options, QN_SERVE_CHAOS);
    bool right = true;

    if (path != NULL && !add_file(plan, path, &right, err)) {
        return false;
    }
    add_faults(plan, &options->given[QN_SERVE_FAULT], &right);
    if (!right) {
        err->message[0] = '\0'; /* it has been said, line by line */
    }
    return right;
}
