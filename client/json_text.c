/* Texts of JSON, made such that jansson can hold what they say. */
#include "client/json_text.h"

#include <string.h>

#include "server/base/buf.h"

enum { ESCAPE_LEN = 6 /* \uXXXX */ };

static const char replacement[] = "\\ufffd";
static const char greatest[] = "1.7976931348623157e308";

/* What is left of the text, and what it becomes. */
struct rewriting {
    struct qn_str rest;
    struct qn_buf out;
};

static void pass(struct rewriting *r, size_t len)
{
    qn_buf_append(&r->out, r->rest.ptr, len);
    r->rest = qn_str_from(r->rest, len);
}

static bool is_one_of(char c, const char *these)
{
    return c != '\0' && strchr(these, c) != NULL;
}

/* ---- numbers ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t number_len(struct qn_str text)
{
    size_t len = 0;

    while (len < text.len && (is_digit(text.ptr[len]) || is_one_of(text.ptr[len], "+-.eE"))) {
        len++;
    }
    return len;
}

static size_t digits_at(struct qn_str text, size_t at)
{
    size_t count = 0;

    while (at + count < text.len && is_digit(text.ptr[at + count])) {
        count++;
    }
    return count;
}

/* RFC 8259, 6. *ret_is_whole: it has no fraction and no exponent. */
static bool is_number(struct qn_str text, bool *ret_is_whole)
{
    size_t at = text.len > 0 && text.ptr[0] == '-' ? 1 : 0;
    size_t count = digits_at(text, at);

    if (count == 0 || (count > 1 && text.ptr[at] == '0')) {
        return false;
    }
    at += count;
    *ret_is_whole = at == text.len;
    if (at < text.len && text.ptr[at] == '.') {
        count = digits_at(text, at + 1);
        if (count == 0) {
            return false;
        }
        at += 1 + count;
    }
    if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
        at++;
        at += at < text.len && (text.ptr[at] == '+' || text.ptr[at] == '-') ? 1 : 0;
        count = digits_at(text, at);
        if (count == 0) {
            return false;
        }
        at += count;
    }
    return at == text.len;
}

static bool can_hold(struct qn_str number, const char *behind)
{
    struct qn_buf text;

    qn_buf_init(&text, number.len + 8);
    qn_buf_append_str(&text, number);
    qn_buf_append(&text, behind, strlen(behind));
    json_t *value = json_loadb(text.ptr, text.len, JSON_DECODE_ANY, NULL);
    bool can = value != NULL;
    json_decref(value);
    qn_buf_done(&text);
    return can;
}

static void rewrite_number(struct rewriting *r)
{
    size_t len = number_len(r->rest);
    struct qn_str number = qn_str_first(r->rest, len);
    bool is_whole = false;

    if (!is_number(number, &is_whole) || can_hold(number, "")) {
        pass(r, len);
    } else if (is_whole && can_hold(number, ".0")) {
        pass(r, len);
        qn_buf_append_literal(&r->out, ".0");
    } else {
        if (number.ptr[0] == '-') {
            qn_buf_append_char(&r->out, '-');
        }
        qn_buf_append(&r->out, greatest, sizeof(greatest) - 1);
        r->rest = qn_str_from(r->rest, len);
    }
}

/* ---- texts ---- */

/* Of the quotation mark that ends the text which begins the string; its length when none does. */
static size_t end_of_text(struct qn_str text)
{
    size_t at = 1;

    while (at < text.len && text.ptr[at] != '"') {
        at += text.ptr[at] == '\\' ? 2 : 1;
    }
    return at < text.len ? at : text.len;
}

static bool is_name(struct qn_str text, size_t end)
{
    for (size_t at = end + 1; at < text.len; at++) {
        if (!is_one_of(text.ptr[at], " \t\r\n")) {
            return text.ptr[at] == ':';
        }
    }
    return false;
}

/* The unit of \uXXXX at the beginning; -1: it does not begin so. */
static long unit_at(struct qn_str text)
{
    long unit = 0;

    if (text.len < ESCAPE_LEN || text.ptr[0] != '\\' || text.ptr[1] != 'u') {
        return -1;
    }
    for (size_t i = 2; i < ESCAPE_LEN; i++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *found = memchr(digits, text.ptr[i], sizeof(digits) - 1);
        if (found == NULL) {
            return -1;
        }
        unit = unit * 16 + (found - digits) % 16;
    }
    return unit;
}

static void rewrite_escape(struct rewriting *r, bool is_name)
{
    long unit = unit_at(r->rest);
    long next = r->rest.len > ESCAPE_LEN ? unit_at(qn_str_from(r->rest, ESCAPE_LEN)) : -1;

    if (unit >= 0xd800 && unit <= 0xdbff && next >= 0xdc00 && next <= 0xdfff) {
        pass(r, (size_t)2 * ESCAPE_LEN);
    } else if ((unit >= 0xd800 && unit <= 0xdfff) || (unit == 0 && is_name)) {
        qn_buf_append(&r->out, replacement, sizeof(replacement) - 1);
        r->rest = qn_str_from(r->rest, ESCAPE_LEN);
    } else {
        pass(r, r->rest.len < 2 ? r->rest.len : 2);
    }
}

static void rewrite_text(struct rewriting *r)
{
    size_t end = end_of_text(r->rest);
    size_t behind = r->rest.len - end;
    bool names = is_name(r->rest, end);

    pass(r, 1);
    while (r->rest.len > behind) {
        if (r->rest.ptr[0] == '\\') {
            rewrite_escape(r, names);
        } else {
            pass(r, 1);
        }
    }
    pass(r, r->rest.len > 0 ? 1 : 0);
}

/* ---- all of it ---- */

static void rewrite(struct rewriting *r)
{
    while (r->rest.len > 0) {
        if (r->rest.ptr[0] == '"') {
            rewrite_text(r);
        } else if (number_len(r->rest) > 0 && (is_digit(r->rest.ptr[0]) || r->rest.ptr[0] == '-')) {
            rewrite_number(r);
        } else {
            pass(r, 1);
        }
    }
}

json_t *quern_json_text_read(struct qn_str text, size_t flags, json_error_t *ret_mistake)
{
    json_error_t mistake;
    struct rewriting r = {.rest = text};
    json_t *value = json_loadb(text.ptr, text.len, flags | JSON_ALLOW_NUL, &mistake);

    if (value == NULL && text.len > 0) {
        /* At most 1e999, which is written so short, becomes the greatest. */
        qn_buf_init(&r.out, sizeof(greatest) * (text.len / 5 + 1) + text.len);
        rewrite(&r);
        if (!r.out.overflow && !qn_str_equal(qn_buf_str(&r.out), text)) {
            value = json_loadb(r.out.ptr, r.out.len, flags | JSON_ALLOW_NUL, &mistake);
        }
        qn_buf_done(&r.out);
    }
    if (ret_mistake != NULL) {
        *ret_mistake = mistake;
    }
    return value;
}

bool quern_json_text_is_too_deep(const json_error_t *mistake)
{
    return json_error_code(mistake) == json_error_stack_overflow;
}
