/* The fault rules that the options of `quern serve` ask for. */
#include <stdio.h>
#include <unistd.h>

#include "chaos/profiles.h"
#include "server/cli/settings.h"

void qn_rules_tell(const char *source, const struct qn_mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->count; i++) {
        const struct qn_mistake *mistake = &mistakes->all[i];
        (void)fprintf(stderr, "%s:%lld:%lld: %s\n", source, (long long)mistake->line,
                      (long long)mistake->column, mistake->what);
    }
}

static void add_text(struct qn_plan *plan, const char *source, struct qn_str text, bool *ret_right)
{
    struct qn_mistakes mistakes = {.count = 0};

    if (!qn_plan_add_lines(plan, text, &mistakes)) {
        qn_rules_tell(source, &mistakes);
        *ret_right = false;
    }
    qn_mistakes_done(&mistakes);
}

static bool fail_unknown(const char *word, struct qn_error *err)
{
    struct qn_buf buf;

    qn_buf_init(&buf, QN_ERROR_MESSAGE_MAX);
    qn_buf_append_format(&buf, "--chaos %s: there is no such file and no such profile", word);
    qn_profiles_suggest(&buf, qn_str_from_cstr(word));
    qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%.*s", QN_STR_ARG(qn_buf_str(&buf)));
    qn_buf_done(&buf);
    return false;
}

/* A profile by its name, the same wherever the server is started, or else a file. */
static bool add_chaos(struct qn_plan *plan, const char *word, bool *ret_right, struct qn_error *err)
{
    const struct qn_embedded *profile = qn_profiles_find(qn_str_from_cstr(word));
    char *text;
    size_t len;

    if (profile != NULL) {
        add_text(plan, word, qn_profiles_text(profile), ret_right);
        return true;
    }
    if (strchr(word, '/') == NULL && access(word, F_OK) != 0) {
        return fail_unknown(word, err);
    }
    if (!qn_file_read(word, &text, &len, err)) {
        return false;
    }
    add_text(plan, word, qn_str(text, len), ret_right);
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
        qn_mistakes_done(&mistakes);
    }
}

bool qn_rules_add(struct qn_plan *plan, const struct qn_options *options, struct qn_error *err)
{
    const struct qn_given *chaos = &options->given[QN_SERVE_CHAOS];
    bool right = true;

    for (size_t i = 0; i < chaos->count; i++) {
        if (!add_chaos(plan, chaos->texts[i], &right, err)) {
            return false;
        }
    }
    add_faults(plan, &options->given[QN_SERVE_FAULT], &right);
    if (!qn_shorthands_add(plan, options, &right, err)) {
        return false;
    }
    if (!right) {
        err->message[0] = '\0'; /* it has been said, line by line */
    }
    return right;
}
