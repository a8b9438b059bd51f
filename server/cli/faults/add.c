/* `quern chaos add`: all of the rules that were given, or none and what is wrong with each. */
#include <stdio.h>
#include <unistd.h>

#include "chaos/profiles.h"
#include "client/internal.h"
#include "server/cli/faults/faults.h"
#include "server/cli/settings.h"

static const struct qn_option options[] = {
    QN_REMOTE_OPTIONS,
    {"file", "FILE|-", NULL, NULL, "the rules of a file, one a line; -: of stdin", 0},
    {"profile", "NAME", NULL, NULL, "the rules of a profile (quern chaos profiles lists them)", 0},
};
enum { ADD_FILE = QN_REMOTE_COUNT, ADD_PROFILE, ADD_COUNT };

/* What is sent, and what it is called in messages. */
struct rules {
    const char *source;
    const char *type; /* of the body */
    struct qn_buf body;
    bool are_numbered; /* several words, each a rule */
};

/* ---- what was given ---- */

static void take_words(const struct qn_options *given, struct rules *rules)
{
    json_t *texts = json_array();
    json_t *document;

    for (size_t i = 0; i < given->word_count; i++) {
        json_array_append_new(texts, json_string(given->words[i]));
    }
    document = json_pack("{s:o}", "rules", texts);
    quern_json_write(document, &rules->body);
    json_decref(document);
    rules->source = "rule";
    rules->are_numbered = given->word_count > 1;
}

static bool take_file(const char *path, struct rules *rules, struct qn_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    char *text;
    size_t len;

    if (!(is_stdin ? qn_file_read_open(STDIN_FILENO, "stdin", &text, &len, err)
                   : qn_file_read(path, &text, &len, err))) {
        return false;
    }
    qn_buf_append(&rules->body, text, len);
    qn_memory_free(text);
    rules->source = is_stdin ? "stdin" : path;
    rules->type = "text/plain";
    return true;
}

static bool take_profile(const char *name, struct rules *rules, struct qn_error *err)
{
    const struct qn_embedded *profile = qn_profiles_find(qn_str_from_cstr(name));

    if (profile == NULL) {
        return qn_profiles_fail(name, err);
    }
    qn_buf_append_str(&rules->body, qn_profiles_text(profile));
    rules->source = name;
    rules->type = "text/plain";
    return true;
}

static bool take(const struct qn_options *given, struct rules *rules, struct qn_error *err)
{
    const char *path = qn_options_text(given, ADD_FILE);
    const char *profile = qn_options_text(given, ADD_PROFILE);

    if ((given->word_count > 0) + (path != NULL) + (profile != NULL) != 1) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "say which rules: 'on EVENT do ACTION' (one or more), or --file FILE, or "
                       "--profile NAME");
    }
    if (path != NULL) {
        return take_file(path, rules, err);
    }
    if (profile != NULL) {
        return take_profile(profile, rules, err);
    }
    take_words(given, rules);
    return true;
}

/* ---- what the server says ---- */

static json_int_t figure(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* FILE:LINE:COLUMN: what is wrong there, as of `quern serve`. */
static void tell_mistakes(const struct rules *rules, const json_t *answer)
{
    const json_t *errors = json_object_get(answer, "errors");
    size_t i;
    const json_t *mistake;

    json_array_foreach(errors, i, mistake)
    {
        (void)fputs(rules->source, stderr);
        if (rules->are_numbered) {
            (void)fprintf(stderr, " %lld", (long long)figure(mistake, "index") + 1);
        }
        (void)fprintf(stderr, ":%lld:%lld: %s\n", (long long)figure(mistake, "line"),
                      (long long)figure(mistake, "column"), qn_chaos_text(mistake, "message"));
    }
}

static int tell_added(const struct qn_remote *remote, json_t *answer_take)
{
    if (qn_remote_wants_json(remote)) {
        qn_remote_print_json(answer_take);
        return QN_EXIT_OK;
    }
    qn_chaos_print_rules(json_object_get(answer_take, "rules"),
                         json_object_get(answer_take, "added"));
    json_decref(answer_take);
    return QN_EXIT_OK;
}

static int tell(const struct qn_remote *remote, const struct rules *rules,
                const struct quern_exchange *exchange)
{
    struct quern_error err;
    struct qn_str bytes = qn_buf_str(&exchange->ret_answer);
    json_t *answer = quern_json_read(bytes);
    bool has_list = json_is_array(json_object_get(answer, "errors"));

    if (exchange->ret_status == 200 && answer != NULL) {
        return tell_added(remote, answer);
    }
    if (has_list) {
        tell_mistakes(rules, answer);
    } else {
        quern_json_read_error(bytes, exchange->ret_status, &err);
        (void)qn_remote_fail(remote, &err);
    }
    json_decref(answer);
    return has_list ? QN_EXIT_USAGE : QN_EXIT_FAILED;
}

static int add(struct qn_remote *remote, const struct rules *rules)
{
    struct quern_error err;
    struct quern_exchange exchange = {
        .method = "POST",
        .path = "/_quern/rules",
        .type = rules->type,
        .body = qn_buf_str(&rules->body),
        .timeout_ms = remote->client->timeout_ms,
    };
    int code;

    if (!qn_chaos_check_quern(remote, &err)) {
        return qn_remote_fail(remote, &err);
    }
    if (quern_http_exchange(remote->client, &exchange, &err)) {
        code = tell(remote, rules, &exchange);
    } else {
        code = qn_remote_fail(remote, &err);
    }
    qn_buf_done(&exchange.ret_answer);
    return code;
}

int qn_chaos_add_main(int argc, char **argv)
{
    struct rules rules = {.are_numbered = false};
    struct qn_remote remote;
    struct qn_error err;
    int code;

    if (!qn_remote_open(&remote, "chaos add RULE... | --file FILE | --profile NAME [OPTIONS]",
                        options, ADD_COUNT, 0, SIZE_MAX, argc, argv, &code)) {
        return code;
    }
    qn_buf_init(&rules.body, SIZE_MAX / 2);
    code = take(&remote.options, &rules, &err) ? add(&remote, &rules)
                                               : qn_remote_misuse(&remote, &err);
    qn_buf_done(&rules.body);
    qn_remote_close(&remote);
    return code;
}
