/* Rule text to tokens, and messages with line and column. */
#include "chaos/lex.h"

#include <stdarg.h>
#include <stdio.h>

#include "server/base/buf.h"

enum { FOUND_MAX = 40, LISTED_MAX = 18, SENTENCE_MAX = 1024, CUT_LATER = 2 * QN_ERROR_MESSAGE_MAX };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_sign(char c)
{
    return c != '\0' && strchr("=!<>~(),", c) != NULL;
}

bool qn_lex_fail_at(struct qn_lex *lex, size_t at, const char *format, ...)
{
    char sentence[CUT_LATER]; /* by who cuts between characters */
    va_list args;
    int64_t line = lex->first_line;
    int64_t column = 1;

    if (lex->failed) {
        return false;
    }
    for (size_t i = 0; i < at && i < lex->whole.len; i++) {
        unsigned char c = (unsigned char)lex->whole.ptr[i];
        if (c == '\n') {
            line++;
            column = 1;
        } else if ((c & 0xC0) != 0x80) { /* columns are characters, not bytes */
            column++;
        }
    }
    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    lex->failed = true;
    lex->kind = QN_LEX_END;
    qn_mistakes_add(lex->mistakes, line, column, sentence);
    return false;
}

/* What is wrong with the words themselves: behind it nothing can be read. */
static void break_at(struct qn_lex *lex, size_t at, const char *sentence)
{
    (void)qn_lex_fail_at(lex, at, "%s", sentence);
    lex->is_broken = true;
}

static void read_text(struct qn_lex *lex)
{
    size_t end = lex->from + 1;
    size_t len = 0;

    while (end < lex->whole.len && lex->whole.ptr[end] != '"') {
        end += lex->whole.ptr[end] == '\\' ? 2 : 1;
    }
    if (end >= lex->whole.len) {
        break_at(lex, lex->from, "a quoted text begins here and does not end");
        return;
    }
    char *text = qn_arena_alloc_raw(lex->arena, end - lex->from);
    if (text == NULL) {
        break_at(lex, lex->from, "the rule is too long");
        return;
    }
    for (size_t i = lex->from + 1; i < end; i++) {
        if (lex->whole.ptr[i] == '\\') {
            i++;
            if (strchr("\"\\n", lex->whole.ptr[i]) == NULL || lex->whole.ptr[i] == '\0') {
                break_at(lex, i - 1, "in a quoted text a backslash stands before \", \\ or n");
                return;
            }
            text[len++] = lex->whole.ptr[i] == 'n' ? '\n' : lex->whole.ptr[i];
        } else {
            text[len++] = lex->whole.ptr[i];
        }
    }
    lex->kind = QN_LEX_TEXT;
    lex->text = qn_str(text, len);
    lex->to = end + 1;
}

static void read_sign(struct qn_lex *lex)
{
    const char *at = lex->whole.ptr + lex->from;
    bool has_more = lex->from + 1 < lex->whole.len;
    bool is_double = has_more && at[1] == '=' && (*at == '!' || *at == '<' || *at == '>');

    if (*at == '!' && !is_double) {
        break_at(lex, lex->from, "expected \"!=\", found \"!\"");
        return;
    }
    lex->kind = QN_LEX_SIGN;
    lex->text = qn_str(at, is_double ? 2 : 1);
    lex->to = lex->from + lex->text.len;
}

/* Blanks, and comments to the end of their line. */
static size_t behind_blanks(struct qn_str whole, size_t at)
{
    bool in_comment = false;

    while (at < whole.len && (in_comment || is_blank(whole.ptr[at]) || whole.ptr[at] == '#')) {
        in_comment = whole.ptr[at] != '\n' && (in_comment || whole.ptr[at] == '#');
        at++;
    }
    return at;
}

void qn_lex_next(struct qn_lex *lex)
{
    struct qn_str whole = lex->whole;
    size_t at = lex->to;

    if (lex->failed) {
        return;
    }
    lex->last_to = lex->to;
    at = behind_blanks(whole, at);
    lex->from = lex->to = at;
    lex->kind = QN_LEX_END;
    lex->text = qn_str("", 0);
    if (at == whole.len) {
        return;
    }
    if (whole.ptr[at] == '"') {
        read_text(lex);
    } else if (is_sign(whole.ptr[at])) {
        read_sign(lex);
    } else {
        while (at < whole.len && !is_blank(whole.ptr[at]) && !is_sign(whole.ptr[at]) &&
               whole.ptr[at] != '"') {
            if ((unsigned char)whole.ptr[at] < ' ' || whole.ptr[at] == 0x7F) {
                break_at(lex, at, "a control character is part of no rule");
                return;
            }
            at++;
        }
        lex->kind = QN_LEX_WORD;
        lex->text = qn_str(whole.ptr + lex->from, at - lex->from);
        lex->to = at;
    }
}

void qn_lex_init(struct qn_lex *lex, struct qn_str whole, int64_t first_line,
                 struct qn_arena *arena, struct qn_mistakes *mistakes)
{
    *lex = (struct qn_lex){.whole = qn_str(whole.ptr != NULL ? whole.ptr : "", whole.len),
                           .first_line = first_line,
                           .arena = arena,
                           .mistakes = mistakes};
    if (!qn_str_is_utf8(lex->whole)) {
        break_at(lex, 0, "the rule is not UTF-8");
        return;
    }
    qn_lex_next(lex);
}

bool qn_lex_resume(struct qn_lex *lex)
{
    if (lex->is_broken) {
        return false;
    }
    lex->failed = false;
    lex->to = lex->from;
    qn_lex_next(lex);
    return !lex->failed;
}

bool qn_lex_is(const struct qn_lex *lex, const char *text)
{
    return (lex->kind == QN_LEX_WORD || lex->kind == QN_LEX_SIGN) &&
           qn_str_equal(lex->text, qn_str_from_cstr(text));
}

bool qn_lex_take(struct qn_lex *lex, const char *text)
{
    if (!qn_lex_is(lex, text)) {
        return false;
    }
    qn_lex_next(lex);
    return true;
}

bool qn_lex_expect(struct qn_lex *lex, const char *text)
{
    char expected[FOUND_MAX];

    if (qn_lex_take(lex, text)) {
        return true;
    }
    snprintf(expected, sizeof(expected), "\"%s\"", text);
    return qn_lex_fail_words(lex, expected, &text, 1);
}

/* What stands there instead, for the message. */
static void describe(const struct qn_lex *lex, char out[FOUND_MAX * 4])
{
    struct qn_str shown = lex->text;

    if (lex->kind == QN_LEX_END) {
        snprintf(out, FOUND_MAX * 4, "the end");
        return;
    }
    if (shown.len > FOUND_MAX) { /* not in the middle of a character */
        shown.len = FOUND_MAX;
        while (shown.len > 0 && ((unsigned char)shown.ptr[shown.len] & 0xC0) == 0x80) {
            shown.len--;
        }
    }
    snprintf(out, FOUND_MAX * 4, "\"%.*s%s\"", QN_STR_ARG(shown),
             shown.len < lex->text.len ? "..." : "");
}

bool qn_lex_fail_expected(struct qn_lex *lex, const char *expected)
{
    char found[FOUND_MAX * 4];

    describe(lex, found);
    return qn_lex_fail_at(lex, lex->from, "expected %s, found %s", expected, found);
}

bool qn_lex_fail_words(struct qn_lex *lex, const char *expected, const char *const *words,
                       size_t count)
{
    char found[FOUND_MAX * 4];
    struct qn_buf list;
    const char *nearest =
        lex->kind == QN_LEX_WORD ? qn_nearest_word(lex->text, words, count) : NULL;

    describe(lex, found);
    if (nearest != NULL) {
        return qn_lex_fail_at(lex, lex->from, "expected %s, found %s; did you mean \"%s\"?",
                              expected, found, nearest);
    }
    if (count < 2 || count > LISTED_MAX) {
        return qn_lex_fail_at(lex, lex->from, "expected %s, found %s", expected, found);
    }
    qn_buf_init(&list, SENTENCE_MAX);
    for (size_t i = 0; i < count; i++) {
        qn_buf_append_str(&list, qn_str_from_cstr(i == 0 ? "" : i + 1 < count ? ", " : " or "));
        qn_buf_append_str(&list, qn_str_from_cstr(words[i]));
    }
    qn_lex_fail_at(lex, lex->from, "expected %s (%.*s), found %s", expected,
                   QN_STR_ARG(qn_buf_str(&list)), found);
    qn_buf_done(&list);
    return false;
}
