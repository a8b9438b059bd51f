/* `quern chaos remove`, `clear`, `enable`, `disable`, `release`: all of the rules that are named,
 * or none. */
#include <stdio.h>

#include "chaos/lex.h"
#include "server/cli/faults/faults.h"

static const struct qn_option options[] = {QN_REMOTE_OPTIONS};

enum { PATH_MAX_BYTES = 256 };

/* One call for one rule. The answer lists all rules, or says how many calls go on. */
typedef bool change(const struct qn_remote *remote, const char *name, json_t **ret_answer,
                    struct quern_error *err);

static bool remove_rule(const struct qn_remote *remote, const char *name, json_t **ret_answer,
                        struct quern_error *err)
{
    char path[PATH_MAX_BYTES];

    (void)snprintf(path, sizeof(path), "/_quern/rules?name=%s", name);
    return quern_http_delete(remote->client, path, ret_answer, err);
}

static bool post(const struct qn_remote *remote, const char *name, const char *verb,
                 json_t **ret_answer, struct quern_error *err)
{
    char path[PATH_MAX_BYTES];

    (void)snprintf(path, sizeof(path), "/_quern/rules/%s/%s", name, verb);
    return quern_http_post(remote->client, path, NULL, ret_answer, err);
}

static bool enable(const struct qn_remote *remote, const char *name, json_t **ret_answer,
                   struct quern_error *err)
{
    return post(remote, name, "enable", ret_answer, err);
}

static bool disable(const struct qn_remote *remote, const char *name, json_t **ret_answer,
                    struct quern_error *err)
{
    return post(remote, name, "disable", ret_answer, err);
}

static bool release(const struct qn_remote *remote, const char *name, json_t **ret_answer,
                    struct quern_error *err)
{
    return post(remote, name, "release", ret_answer, err);
}

/* ---- names ---- */

static bool is_known(const char *word, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void tell_unknown(const struct qn_remote *remote, const char *word, const char *const *names,
                         size_t count)
{
    const char *nearest = qn_nearest_word(qn_str_from_cstr(word), names, count);

    (void)fprintf(stderr, "quern %s: there is no rule %s%s%s%s (quern chaos list shows all)\n",
                  remote->word, word, nearest != NULL ? "; did you mean " : "",
                  nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
}

/* Says which of the words name no rule. What is known can stand in a path: names are letters,
 * digits, dots, - and _. */
static bool check_names(const struct qn_remote *remote, const json_t *rules)
{
    size_t count = json_array_size(rules);
    const char **names = qn_memory_new_array(count, sizeof(names[0]));
    bool ok = true;
    size_t i;
    const json_t *rule;

    json_array_foreach(rules, i, rule)
    {
        names[i] = qn_chaos_text(rule, "name");
    }
    for (i = 0; i < remote->options.word_count; i++) {
        const char *word = remote->options.words[i];
        if (!is_known(word, names, count)) {
            tell_unknown(remote, word, names, count);
            ok = false;
        }
    }
    qn_memory_free(names);
    return ok;
}

/* ---- the commands ---- */

static int change_each(const struct qn_remote *remote, change *one)
{
    struct quern_error err;
    json_t *answer = NULL;

    for (size_t i = 0; i < remote->options.word_count; i++) {
        json_decref(answer);
        answer = NULL;
        if (!one(remote, remote->options.words[i], &answer, &err)) {
            return qn_remote_fail(remote, &err);
        }
    }
    if (qn_remote_wants_json(remote)) {
        qn_remote_print_json(answer);
    } else {
        json_decref(answer);
    }
    return QN_EXIT_OK;
}

static int change_named(const char *usage, change *one, int argc, char **argv)
{
    struct qn_remote remote;
    struct quern_error err;
    json_t *rules;
    int code;

    if (!qn_remote_open(&remote, usage, options, QN_REMOTE_COUNT, 1, SIZE_MAX, argc, argv, &code)) {
        return code;
    }
    if (!qn_chaos_get_rules(&remote, &rules, &err)) {
        code = qn_remote_fail(&remote, &err);
    } else {
        code = check_names(&remote, rules) ? change_each(&remote, one) : QN_EXIT_USAGE;
        json_decref(rules);
    }
    qn_remote_close(&remote);
    return code;
}

int qn_chaos_remove_main(int argc, char **argv)
{
    return change_named("chaos remove NAME... [OPTIONS]", remove_rule, argc, argv);
}

int qn_chaos_enable_main(int argc, char **argv)
{
    return change_named("chaos enable NAME... [OPTIONS]", enable, argc, argv);
}

int qn_chaos_disable_main(int argc, char **argv)
{
    return change_named("chaos disable NAME... [OPTIONS]", disable, argc, argv);
}

int qn_chaos_release_main(int argc, char **argv)
{
    return change_named("chaos release NAME... [OPTIONS]", release, argc, argv);
}

int qn_chaos_clear_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct quern_error err;
    json_t *answer;
    int code = QN_EXIT_OK;

    if (!qn_remote_open(&remote, "chaos clear [OPTIONS]", options, QN_REMOTE_COUNT, 0, 0, argc,
                        argv, &code)) {
        return code;
    }
    if (!qn_chaos_check_quern(&remote, &err) ||
        !quern_http_delete(remote.client, "/_quern/rules", &answer, &err)) {
        code = qn_remote_fail(&remote, &err);
    } else if (qn_remote_wants_json(&remote)) {
        qn_remote_print_json(answer);
    } else {
        json_decref(answer);
    }
    qn_remote_close(&remote);
    return code;
}
