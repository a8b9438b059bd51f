/* The messages that `send` puts into a queue, as inputs of SendMessage: of a text in the rule, or
 * of a file with one JSON object a line, which is read once, when the rule is added. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chaos/lex.h"
#include "chaos/plan.h"
#include "server/model/limits.h"

enum {
    FILE_MAX = 32 * 1024 * 1024,
    INPUTS_MAX = 64 * 1024 * 1024,
    LINES_MAX = 10000,
    SENTENCE_MAX = 300,
    SHOWN_MAX = 100
};

struct loading {
    struct qn_rule *rule;
    struct qn_rule_action *action;
    struct qn_mistakes *mistakes;
    int64_t line; /* of the file; 0: not there yet */
    int count;    /* of messages */
    struct qn_buf inputs;
};

static bool fail(const struct loading *loading, const char *format, ...) QN_PRINTF(2, 3);

static bool fail(const struct loading *loading, const char *format, ...)
{
    const struct qn_rule *rule = loading->rule;
    struct qn_lex lex = {
        .whole = rule->whole, .first_line = rule->first_line, .mistakes = loading->mistakes};
    size_t at = (size_t)(loading->action->source.ptr - rule->whole.ptr);
    struct qn_str path = qn_str_first(loading->action->text, SHOWN_MAX);
    char sentence[SENTENCE_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    if (loading->line > 0) {
        return qn_lex_fail_at(&lex, at, "%.*s, line %lld: %s", QN_STR_ARG(path),
                              (long long)loading->line, sentence);
    }
    return qn_lex_fail_at(&lex, at, "%.*s: %s", QN_STR_ARG(path), sentence);
}

/* ---- one message ---- */

static bool is_text(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) > 0;
}

static bool add_id(const struct loading *loading, const json_t *line, const char *member,
                   const char *name, json_t *input)
{
    json_t *value = json_object_get(line, member);

    if (value == NULL || json_is_null(value)) {
        return true;
    }
    if (!is_text(value) || json_string_length(value) > QN_FIFO_ID_MAX) {
        return fail(loading, "\"%s\" is a text of 1 to %d characters", member, QN_FIFO_ID_MAX);
    }
    return json_object_set(input, name, value) == 0;
}

static bool add_attributes(const struct loading *loading, const json_t *line, json_t *input)
{
    json_t *attributes = json_object_get(line, "attributes");
    const char *name;
    json_t *value;

    if (attributes == NULL || json_is_null(attributes) || json_object_size(attributes) == 0) {
        return attributes == NULL || json_is_null(attributes) || json_is_object(attributes) ||
               fail(loading, "\"attributes\" is an object");
    }
    if (json_object_size(attributes) > QN_MESSAGE_ATTRIBUTES_MAX) {
        return fail(loading, "a message has %d attributes at most", QN_MESSAGE_ATTRIBUTES_MAX);
    }
    json_object_foreach(attributes, name, value)
    {
        if (!is_text(json_object_get(value, "DataType")) ||
            (!json_is_string(json_object_get(value, "StringValue")) &&
             !json_is_string(json_object_get(value, "BinaryValue")))) {
            return fail(loading,
                        "an attribute is {\"DataType\": ..., \"StringValue\": ...} or has a "
                        "BinaryValue in base64");
        }
    }
    return json_object_set(input, "MessageAttributes", attributes) == 0;
}

static bool check_body(const struct loading *loading, const json_t *body)
{
    struct qn_str text;

    if (!is_text(body)) {
        return fail(loading, "\"body\" is missing, or no text");
    }
    text = qn_str(json_string_value(body), json_string_length(body));
    if (text.len > QN_MESSAGE_SIZE_MAX) {
        return fail(loading, "a body has %d bytes at most", QN_MESSAGE_SIZE_MAX);
    }
    return qn_str_is_xml_text(text) ||
           fail(loading, "the body has a character that SQS does not take");
}

static int append_piece(const char *piece, size_t len, void *state)
{
    qn_buf_append(state, piece, len);
    return 0;
}

static bool add_input(struct loading *loading, const json_t *input)
{
    if (loading->count > 0) {
        qn_buf_append_char(&loading->inputs, '\n');
    }
    loading->count++;
    return json_dump_callback(input, append_piece, &loading->inputs, JSON_COMPACT) == 0 ||
           fail(loading, "the messages need too much memory");
}

static bool add_message(struct loading *loading, const json_t *line)
{
    const struct qn_rule_action *action = loading->action;
    json_t *input = json_object();
    json_t *body = json_object_get(line, "body");
    bool ok;

    ok = check_body(loading, body) && json_object_set(input, "MessageBody", body) == 0 &&
         add_attributes(loading, line, input) &&
         add_id(loading, line, "groupId", "MessageGroupId", input) &&
         add_id(loading, line, "dedupId", "MessageDeduplicationId", input);
    if (ok && !qn_str_is_none(action->value)) {
        json_object_set_new(input, "MessageGroupId",
                            json_stringn(action->value.ptr, action->value.len));
    }
    if (ok && qn_str_ends_with(action->queue, QN_STR(".fifo")) &&
        json_object_get(input, "MessageGroupId") == NULL) {
        ok = fail(loading, "a message to a FIFO queue needs a \"groupId\"; or say \"group G\" in "
                           "the rule");
    }
    ok = ok && add_input(loading, input);
    json_decref(input);
    return ok;
}

/* ---- the file ---- */

static bool add_line(struct loading *loading, struct qn_str line)
{
    json_error_t cause;
    json_t *object;
    bool ok;

    if (loading->count == LINES_MAX) {
        return fail(loading, "a file has %d messages at most", LINES_MAX);
    }
    object = json_loadb(line.ptr, line.len, JSON_REJECT_DUPLICATES, &cause);
    /* What stands there is not shown: the file need not be meant for who reads the answer. */
    ok = json_is_object(object) ? add_message(loading, object)
                                : fail(loading, "a message is a JSON object on a line of its own, "
                                                "with a \"body\"");
    json_decref(object);
    return ok;
}

static bool add_lines(struct loading *loading, struct qn_str text)
{
    struct qn_str rest = text;
    bool ok = true;

    while (ok && !qn_str_is_none(rest)) {
        struct qn_str line = qn_str_trim(qn_str_cut(rest, '\n', &rest));
        loading->line++;
        ok = line.len == 0 || add_line(loading, line);
    }
    if (ok && loading->count == 0) {
        loading->line = 0;
        return fail(loading, "the file has no messages");
    }
    return ok;
}

static bool read_all(const struct loading *loading, int fd, char *text, size_t size)
{
    size_t len = 0;

    while (len < size) {
        ssize_t got = read(fd, text + len, size - len);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return fail(loading, "%s", got < 0 ? strerror(errno) : "the file became shorter");
        }
        len += (size_t)got;
    }
    return true;
}

static bool read_file(struct loading *loading, int fd)
{
    struct stat status;

    if (fstat(fd, &status) != 0) {
        return fail(loading, "%s", strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return fail(loading, "that is no file");
    }
    if (status.st_size > FILE_MAX) {
        return fail(loading, "the file has more than %d bytes", FILE_MAX);
    }
    size_t size = (size_t)status.st_size;
    char *text = qn_memory_new_array(size + 1, 1);
    bool ok = read_all(loading, fd, text, size) && add_lines(loading, qn_str(text, size));
    qn_memory_free(text);
    return ok;
}

static bool load_file(struct loading *loading)
{
    struct qn_str path = qn_arena_copy(&loading->rule->files, loading->action->text);
    int fd = qn_str_is_none(path) ? -1 : open(path.ptr, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool ok;

    if (fd < 0) {
        return fail(loading, "%s", strerror(errno));
    }
    ok = read_file(loading, fd);
    (void)close(fd);
    return ok;
}

static bool load_text(struct loading *loading)
{
    struct qn_str body = loading->action->text;
    json_t *line = json_pack("{s:o}", "body", json_stringn(body.ptr, body.len));
    bool ok = add_message(loading, line);

    json_decref(line);
    return ok;
}

static bool load(struct qn_rule *rule, struct qn_rule_action *action, struct qn_mistakes *mistakes)
{
    struct loading loading = {.rule = rule, .action = action, .mistakes = mistakes};
    bool ok;

    qn_buf_init(&loading.inputs, INPUTS_MAX);
    ok = action->is_file ? load_file(&loading) : load_text(&loading);
    if (ok) {
        action->inputs = qn_arena_copy(&rule->files, qn_buf_str(&loading.inputs));
        ok = !loading.inputs.overflow && !qn_str_is_none(action->inputs);
        ok = ok || fail(&loading, "the messages need too much memory");
    }
    qn_buf_done(&loading.inputs);
    return ok;
}

void qn_sends_save(const struct qn_rule *rule, struct qn_buf *ret_saved)
{
    for (size_t i = 0; i < rule->action_count; i++) {
        if (rule->actions[i].is_file) {
            qn_buf_append_bytes(ret_saved, rule->actions[i].inputs);
        }
    }
}

bool qn_sends_restore(struct qn_rule *rule, struct qn_reader *saved, struct qn_mistakes *mistakes)
{
    bool ok = true;

    for (size_t i = 0; i < rule->action_count && ok; i++) {
        struct qn_rule_action *action = &rule->actions[i];
        if (action->is_file) {
            action->inputs = qn_arena_copy(&rule->files, qn_reader_bytes(saved));
            ok = !saved->failed && !qn_str_is_none(action->inputs);
        } else if (action->verb == QN_DO_SEND) {
            ok = load(rule, action, mistakes);
        }
    }
    return ok;
}

bool qn_sends_load(struct qn_rule *rule, struct qn_mistakes *mistakes)
{
    bool ok = true;

    for (size_t i = 0; i < rule->action_count && ok; i++) {
        ok = rule->actions[i].verb != QN_DO_SEND || load(rule, &rule->actions[i], mistakes);
    }
    return ok;
}
