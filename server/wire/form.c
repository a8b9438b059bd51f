/* Takes key=value pairs apart: the form body and the query string of the query protocol. */
#include "server/wire/codec.h"

bool qn_wire_form_next(struct qn_str *rest, struct qn_str *ret_key, struct qn_str *ret_value)
{
    while (rest->len > 0) {
        struct qn_str pair = qn_str_cut(*rest, '&', rest);
        size_t equals;
        if (pair.len == 0) {
            continue;
        }
        equals = qn_str_find_char(pair, '=');
        *ret_key = qn_str_first(pair, equals);
        *ret_value = qn_str_from(pair, equals + 1);
        return true;
    }
    return false;
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* Decodes the byte at *at and moves behind it; -1 if it is a broken escape. */
static int next_byte(struct qn_str encoded, size_t *at)
{
    char byte = encoded.ptr[*at];
    int high;
    int low;

    if (byte != '%') {
        *at += 1;
        return byte == '+' ? ' ' : (unsigned char)byte;
    }
    if (encoded.len - *at < 3) {
        return -1;
    }
    high = hex_digit(encoded.ptr[*at + 1]);
    low = hex_digit(encoded.ptr[*at + 2]);
    *at += 3;
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static bool key_is(struct qn_str encoded, const char *key)
{
    size_t at = 0;

    for (; *key != '\0'; key++) {
        if (at == encoded.len || next_byte(encoded, &at) != (unsigned char)*key) {
            return false;
        }
    }
    return at == encoded.len;
}

struct qn_str qn_wire_form_find(struct qn_str pairs, const char *key)
{
    struct qn_str found = QN_STR_NONE;
    struct qn_str pair_key;
    struct qn_str pair_value;

    while (qn_wire_form_next(&pairs, &pair_key, &pair_value)) {
        if (key_is(pair_key, key)) {
            found = pair_value;
        }
    }
    return found;
}

static bool has_escapes(struct qn_str encoded)
{
    return qn_str_find_char(encoded, '%') < encoded.len ||
           qn_str_find_char(encoded, '+') < encoded.len;
}

/* The decoded bytes in the arena; none at its ceiling or, with *ret_broken, at a broken escape. */
static struct qn_str resolve(struct qn_arena *arena, struct qn_str encoded, bool *ret_broken)
{
    char *text = qn_arena_alloc_raw(arena, encoded.len);
    size_t len = 0;
    size_t at = 0;

    *ret_broken = false;
    if (text == NULL) {
        return QN_STR_NONE;
    }
    while (at < encoded.len) {
        int byte = next_byte(encoded, &at);
        if (byte < 0) {
            *ret_broken = true;
            return QN_STR_NONE;
        }
        text[len++] = (char)byte;
    }
    qn_arena_shrink(arena, text, encoded.len, len);
    return qn_str(text, len);
}

bool qn_wire_form_decode(struct qn_arena *arena, struct qn_str encoded, enum qn_error_code broken,
                         struct qn_str *ret_text, struct qn_error *err)
{
    struct qn_str text = encoded;

    if (has_escapes(encoded)) {
        bool is_broken;
        text = resolve(arena, encoded, &is_broken);
        if (is_broken) {
            return qn_fail(err, broken,
                           "A percent sign must be followed by two hexadecimal digits.");
        }
        if (qn_str_is_none(text)) {
            return qn_wire_fail_too_large(err);
        }
    }
    if (!qn_str_is_utf8(text)) {
        return qn_fail(err, QN_ERR_MALFORMED_INPUT, "The parameters of the request are not UTF-8.");
    }
    *ret_text = text;
    return true;
}

bool qn_wire_form_get(struct qn_arena *arena, const struct qn_wire_form *form, const char *key,
                      struct qn_str *ret_value, struct qn_error *err)
{
    struct qn_str encoded = qn_wire_form_find(form->body, key);
    enum qn_error_code broken = QN_ERR_MALFORMED_INPUT;

    if (qn_str_is_none(encoded)) {
        encoded = qn_wire_form_find(form->query, key);
        broken = QN_ERR_MALFORMED_QUERY_STRING;
    }
    if (qn_str_is_none(encoded)) {
        *ret_value = QN_STR_NONE;
        return true;
    }
    return qn_wire_form_decode(arena, encoded, broken, ret_value, err);
}
