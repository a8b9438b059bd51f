/* Bodies from the user's files, and rules that are about them. */
#include "chaos/check/bodies.h"

#include <stdio.h>

#include "chaos/check/files.h"
#include "server/model/limits.h"

enum { SLOW_FROM_MS = 1000 };

static const char *const kinds[QN_BODY_KINDS] = {
    [QN_BODY_GOOD] = "good",
    [QN_BODY_POISON] = "poison",
    [QN_BODY_SLOW] = "slow",
};

static bool kind_of(struct qn_str name, size_t *ret_kind)
{
    for (size_t i = 0; i < QN_BODY_KINDS; i++) {
        if (qn_str_equal(name, qn_str_from_cstr(kinds[i]))) {
            *ret_kind = i;
            return true;
        }
    }
    return false;
}

static bool load_one(struct qn_check_options *options, size_t kind, const char *path,
                     struct qn_error *err)
{
    struct qn_error reason;
    struct qn_buf text;
    bool ok = true;

    qn_buf_init(&text, SIZE_MAX / 2);
    if (!qn_files_read(path, &text, &reason)) {
        ok = qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--body %s: %s", kinds[kind],
                     reason.message);
    } else if (text.len == 0 || text.len > QN_MESSAGE_SIZE_MAX - 1024) {
        ok = qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                     "--body %s: %s is %s, and a message has 1 byte to 1 MiB", kinds[kind], path,
                     text.len == 0 ? "empty" : "too long");
    } else if (!qn_str_is_xml_text(qn_buf_str(&text))) {
        ok = qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                     "--body %s: %s has bytes that SQS takes in no message (it takes UTF-8)",
                     kinds[kind], path);
    } else {
        options->body_texts[kind] = qn_arena_copy(options->texts, qn_buf_str(&text));
    }
    qn_buf_done(&text);
    return ok;
}

static bool has_blank(struct qn_str text, const char *blank)
{
    struct qn_str wanted = qn_str_from_cstr(blank);

    return qn_str_find(text, wanted) < text.len;
}

static bool load_pair(struct qn_check_options *options, const char *pair, struct qn_error *err)
{
    struct qn_str path;
    struct qn_str name = qn_str_cut(qn_str_from_cstr(pair), '=', &path);
    size_t kind;

    if (!kind_of(name, &kind)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--body takes good=FILE, poison=FILE or slow=FILE, not \"%s\"", pair);
    }
    return load_one(options, kind, path.ptr, err);
}

bool qn_bodies_check(const char *pair, struct qn_error *err)
{
    struct qn_arena texts;
    struct qn_check_options options = {.texts = &texts};

    qn_arena_init(&texts, SIZE_MAX / 2);
    bool ok = load_pair(&options, pair, err);
    qn_arena_done(&texts);
    return ok;
}

bool qn_bodies_load(struct qn_check_options *options, struct qn_error *err)
{
    for (size_t i = 0; i < options->bodies.count; i++) {
        if (!load_pair(options, options->bodies.items[i], err)) {
            return false;
        }
    }
    if (options->bodies.count > 0 && qn_str_is_none(options->body_texts[QN_BODY_GOOD])) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--body good=FILE is needed beside the other bodies");
    }
    if (options->bodies.count > 0 && options->effects_command != NULL &&
        !has_blank(options->body_texts[QN_BODY_GOOD], "{{id}}")) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "the body good needs {{id}} somewhere: by it --effects-cmd tells effects "
                       "apart");
    }
    return true;
}

struct qn_str qn_bodies_tag(const char *run_id, struct qn_str scenario, int64_t now_ms,
                            struct qn_arena *arena)
{
    struct qn_str seen =
        qn_arena_format(arena, "%s %.*s %lld", run_id, QN_STR_ARG(scenario), (long long)now_ms);

    return qn_arena_format(arena, "quern-%08llx",
                           (unsigned long long)(qn_str_hash(seen) & 0xffffffffU));
}

static struct qn_str body_of(const struct qn_check_options *options,
                             const struct qn_load_message *message)
{
    bool is_poison = message->outcome == QN_LOAD_PERM || message->outcome == QN_LOAD_BADJSON ||
                     message->outcome == QN_LOAD_SCHEMA99;
    struct qn_str poison = options->body_texts[QN_BODY_POISON];
    struct qn_str slow = options->body_texts[QN_BODY_SLOW];

    if (is_poison && !qn_str_is_none(poison)) {
        return poison;
    }
    return message->script.work_ms >= SLOW_FROM_MS && !qn_str_is_none(slow)
               ? slow
               : options->body_texts[QN_BODY_GOOD];
}

struct qn_str qn_bodies_make(const struct qn_check_options *options,
                             const struct qn_load_message *message, struct qn_arena *arena)
{
    struct qn_str rest = body_of(options, message);
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    while (rest.len > 0) {
        if (qn_str_starts_with(rest, QN_STR("{{id}}"))) {
            qn_buf_append_str(&text, message->id);
            rest = qn_str_from(rest, strlen("{{id}}"));
        } else if (qn_str_starts_with(rest, QN_STR("{{n}}"))) {
            qn_buf_append_format(&text, "%zu", message->number + 1);
            rest = qn_str_from(rest, strlen("{{n}}"));
        } else {
            qn_buf_append_char(&text, rest.ptr[0]);
            rest = qn_str_from(rest, 1);
        }
    }
    struct qn_str body = qn_arena_copy(arena, qn_buf_str(&text));
    qn_buf_done(&text);
    return body;
}

static size_t word_length(struct qn_str text)
{
    size_t len = 0;

    while (len < text.len && (qn_char_is_alphanumeric(text.ptr[len]) || text.ptr[len] == '-' ||
                              text.ptr[len] == '_')) {
        len++;
    }
    return len;
}

/* Copies up to the end of the comparison behind "key": one value, or a list in parentheses. */
static struct qn_str replace_values(const struct qn_load *load, struct qn_str rest,
                                    struct qn_buf *text)
{
    bool is_list = false;
    bool is_over = false;

    while (rest.len > 0 && !is_over) {
        size_t len = word_length(rest);
        struct qn_str word = qn_str_first(rest, len > 0 ? len : 1);
        const struct qn_load_message *message = len > 0 ? qn_load_find(load, word) : NULL;
        bool is_value = len > 0 && !qn_str_equal(word, QN_STR("in"));
        if (message != NULL && !qn_str_is_none(message->mid)) {
            qn_buf_append_format(text, "\"%.*s\"", QN_STR_ARG(message->mid));
        } else {
            qn_buf_append_str(text, word);
        }
        is_list = is_list || word.ptr[0] == '(';
        is_over = is_list ? word.ptr[0] == ')' : is_value;
        rest = qn_str_from(rest, word.len);
    }
    return rest;
}

struct qn_str qn_bodies_rule(const struct qn_load *load, struct qn_str rule, struct qn_arena *arena)
{
    struct qn_str rest = rule;
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    while (rest.len > 0) {
        size_t len = word_length(rest);
        struct qn_str word = qn_str_first(rest, len > 0 ? len : 1);
        rest = qn_str_from(rest, word.len);
        if (!qn_str_equal(word, QN_STR("key"))) {
            qn_buf_append_str(&text, word);
            continue;
        }
        qn_buf_append_literal(&text, "mid");
        rest = replace_values(load, rest, &text);
    }
    struct qn_str replaced = qn_arena_copy(arena, qn_buf_str(&text));
    qn_buf_done(&text);
    return replaced;
}
