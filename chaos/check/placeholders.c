/* The names of placeholders, and which words in braces are a slip of the pen. Braces have other
 * uses, in JSON, in awk and in templates, so a word that is not like a name passes. */
#include "chaos/check/placeholders.h"

#include "chaos/lex.h"
#include "server/base/buf.h"

/* A short name has many neighbours that are words of their own: {post} is one letter from {port},
 * {sum} two from {run}. */
enum { SHORT_LENGTH = 5, SLIPS_MAX_SHORT = 1, SLIPS_MAX = 2 };

static const char *const names[QN_PLACEHOLDER_COUNT] = {
    [QN_PLACEHOLDER_QUEUE_URL] = "queue_url",
    [QN_PLACEHOLDER_QUEUE_NAME] = "queue_name",
    [QN_PLACEHOLDER_DLQ_URL] = "dlq_url",
    [QN_PLACEHOLDER_OUTPUT_QUEUE_URL] = "output_queue_url",
    [QN_PLACEHOLDER_RETRY_QUEUE_URL] = "retry_queue_url",
    [QN_PLACEHOLDER_ENDPOINT] = "endpoint",
    [QN_PLACEHOLDER_HOST] = "host",
    [QN_PLACEHOLDER_PORT] = "port",
    [QN_PLACEHOLDER_SINK] = "sink",
    [QN_PLACEHOLDER_INSTANCE] = "instance",
    [QN_PLACEHOLDER_SCENARIO] = "scenario",
    [QN_PLACEHOLDER_RUN] = "run",
    [QN_PLACEHOLDER_ENV_FILE] = "env_file",
};

/* The word in the braces that open at this place; none when they hold something else. */
static struct qn_str word_at(struct qn_str text, size_t open)
{
    struct qn_str rest = qn_str_from(text, open + 1);
    size_t len = 0;

    while (len < rest.len && (qn_char_is_alphanumeric(rest.ptr[len]) || rest.ptr[len] == '_' ||
                              rest.ptr[len] == '-')) {
        len++;
    }
    bool is_shells = open > 0 && text.ptr[open - 1] == '$';
    bool is_closed = len > 0 && len < rest.len && rest.ptr[len] == '}';
    return is_closed && !is_shells ? qn_str_first(rest, len) : QN_STR_NONE;
}

static enum qn_placeholder find(struct qn_str word)
{
    size_t i = 0;

    while (i < QN_PLACEHOLDER_COUNT && !qn_str_equal(word, qn_str_from_cstr(names[i]))) {
        i++;
    }
    return (enum qn_placeholder)i;
}

static size_t next_brace(struct qn_str text, size_t from)
{
    return from + qn_str_find_char(qn_str_from(text, from), '{');
}

enum qn_placeholder qn_placeholder_next(struct qn_str text, size_t *ret_from, size_t *ret_len)
{
    for (size_t at = next_brace(text, 0); at < text.len; at = next_brace(text, at + 1)) {
        struct qn_str word = word_at(text, at);
        enum qn_placeholder found = find(word);
        if (found != QN_PLACEHOLDER_COUNT) {
            *ret_from = at;
            *ret_len = word.len + 2;
            return found;
        }
    }
    *ret_from = text.len;
    *ret_len = 0;
    return QN_PLACEHOLDER_COUNT;
}

/* {dlq}, {output_queue}: whole parts of a name, but not all of them. */
static bool is_beginning(struct qn_str word, struct qn_str name)
{
    return name.len > word.len && qn_str_starts_with_nocase(name, word) &&
           name.ptr[word.len] == '_';
}

/* The index of the name that was probably meant; QN_PLACEHOLDER_COUNT: none was. */
static size_t meant_by(struct qn_str word)
{
    size_t meant = QN_PLACEHOLDER_COUNT;
    size_t fewest = SIZE_MAX;

    for (size_t i = 0; i < QN_PLACEHOLDER_COUNT; i++) {
        struct qn_str name = qn_str_from_cstr(names[i]);
        size_t allowed = name.len <= SHORT_LENGTH ? SLIPS_MAX_SHORT : SLIPS_MAX;
        size_t slips = is_beginning(word, name) ? allowed : qn_word_slips(word, name);
        if (slips <= allowed && slips < fewest) {
            fewest = slips;
            meant = i;
        }
    }
    return meant;
}

static bool refuse(const char *called, struct qn_str word, size_t meant, struct qn_error *err)
{
    struct qn_buf others;

    qn_buf_init(&others, QN_ERROR_MESSAGE_MAX);
    for (size_t i = 0; i < QN_PLACEHOLDER_COUNT; i++) {
        if (i != meant) {
            qn_buf_append_format(&others, " {%s}", names[i]);
        }
    }
    (void)qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                  "%s: there is no {%.*s}; did you mean {%s}? The others are%.*s (if it is meant "
                  "as it stands, write { %.*s })",
                  called, QN_STR_ARG(word), names[meant], QN_STR_ARG(qn_buf_str(&others)),
                  QN_STR_ARG(word));
    qn_buf_done(&others);
    return false;
}

bool qn_placeholders_check(const char *called, const char *text, struct qn_error *err)
{
    struct qn_str all = qn_str_from_cstr(text);

    for (size_t at = next_brace(all, 0); at < all.len; at = next_brace(all, at + 1)) {
        struct qn_str word = word_at(all, at);
        bool is_templates = at > 0 && all.ptr[at - 1] == '{'; /* {{name}} of Go, Jinja and others */
        if (qn_str_is_none(word) || find(word) != QN_PLACEHOLDER_COUNT || is_templates) {
            continue;
        }
        size_t meant = meant_by(word);
        if (meant < QN_PLACEHOLDER_COUNT) {
            return refuse(called, word, meant, err);
        }
    }
    return true;
}
