/* The pull reader. Where the text stands is its whole state: behind an opening bracket `at` is left
 * right there, and no value ends in one, so the byte before `at` tells the first member or element
 * from the others. */
#include "server/base/json.h"

#include "server/base/scan.h"
#include "server/base/utf8.h"

static bool fail(struct qn_json *json)
{
    json->failed = true;
    json->at = json->end;
    return false;
}

static void skip_blanks(struct qn_json *json)
{
    const char *at = json->at;

    while (at < json->end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
        at++;
    }
    json->at = at;
}

/* Takes this byte, behind blanks, or leaves everything from the next token on. */
static bool take(struct qn_json *json, char byte)
{
    skip_blanks(json);
    if (json->at == json->end || *json->at != byte) {
        return false;
    }
    json->at++;
    return true;
}

void qn_json_init(struct qn_json *json, struct qn_str text, struct qn_arena *arena)
{
    const char *start = text.ptr != NULL ? text.ptr : "";

    *json = (struct qn_json){.start = start, .at = start, .end = start + text.len, .arena = arena};
}

enum qn_json_type qn_json_peek(struct qn_json *json)
{
    const char *at = json->at;

    while (at < json->end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
        at++;
    }
    if (json->failed || at == json->end) {
        return QN_JSON_END;
    }
    switch (*at) {
    case '{':
        return QN_JSON_OBJECT;
    case '[':
        return QN_JSON_ARRAY;
    case '"':
        return QN_JSON_STRING;
    case 't':
    case 'f':
        return QN_JSON_BOOLEAN;
    case 'n':
        return QN_JSON_NULL;
    default:
        return *at == '-' || (*at >= '0' && *at <= '9') ? QN_JSON_NUMBER : QN_JSON_END;
    }
}

static bool open_bracket(struct qn_json *json, char bracket)
{
    if (json->failed || !take(json, bracket) || json->depth == QN_JSON_DEPTH_MAX) {
        return fail(json);
    }
    json->depth++;
    return true;
}

/* True if another member or element follows, false behind the closing bracket or on failure. */
static bool next_item(struct qn_json *json, char opening, char closing)
{
    bool first;

    if (json->failed || json->at == json->start) {
        return fail(json);
    }
    first = json->at[-1] == opening;
    if (take(json, closing)) {
        json->depth--;
        return false;
    }
    return first || take(json, ',') || fail(json);
}

bool qn_json_open_object(struct qn_json *json)
{
    return open_bracket(json, '{');
}

bool qn_json_open_array(struct qn_json *json)
{
    return open_bracket(json, '[');
}

bool qn_json_next_element(struct qn_json *json)
{
    return next_item(json, '[', ']');
}

/* The value of each hexadecimal digit plus one; 0 for what is none. */
static const uint8_t hex_values[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* What each short escape stands for; 0 for what is none. */
static const char short_escapes[256] = {
    ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};

/* The code unit of "\uXXXX" at `at`, or -1. */
static int32_t code_unit(const char *at, const char *end)
{
    int32_t unit = 0;

    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') {
        return -1;
    }
    for (int i = 2; i < 6; i++) {
        int32_t digit = hex_values[(unsigned char)at[i]];
        if (digit == 0) {
            return -1;
        }
        unit = unit << 4 | (digit - 1);
    }
    return unit;
}

/* The length of the escape at `at` (a surrogate pair is one), 0 if it is malformed. */
static inline size_t escape_length(const char *at, const char *end, uint32_t *ret_code_point)
{
    int32_t unit;
    int32_t low;

    if (end - at < 2) {
        return 0;
    }
    *ret_code_point = (unsigned char)short_escapes[(unsigned char)at[1]];
    if (*ret_code_point != 0) {
        return 2;
    }
    unit = code_unit(at, end);
    if (unit < 0xD800 || unit > 0xDFFF) {
        *ret_code_point = (uint32_t)unit;
        return unit >= 0 ? 6 : 0;
    }
    low = unit < 0xDC00 ? code_unit(at + 6, end) : -1;
    if (low < 0xDC00 || low > 0xDFFF) {
        return 0;
    }
    *ret_code_point = 0x10000 + ((uint32_t)(unit - 0xD800) << 10 | (uint32_t)(low - 0xDC00));
    return 12;
}

static bool fail_escape(struct qn_json *json, const char *at)
{
    int32_t unit = code_unit(at, json->end);
    /* Half a pair before an escape that is no escape is malformed text, nothing better. */
    bool is_malformed =
        json->end - at >= 8 && at[6] == '\\' && at[7] == 'u' && code_unit(at + 6, json->end) < 0;

    json->lone_surrogate = unit >= 0xD800 && unit <= 0xDFFF && !is_malformed;
    return fail(json);
}

/* Takes a string and checks all of it. Gives what stands between the quotes, still with its
 * escapes. */
static bool scan_string(struct qn_json *json, struct qn_str *ret_raw, bool *ret_has_escapes)
{
    const char *end = json->end;
    const char *begin;
    const char *at;
    bool has_escapes = false;
    uint32_t code_point;

    if (json->failed || !take(json, '"')) {
        return fail(json);
    }
    begin = json->at;
    at = qn_scan_plain(begin, end, true);
    while (at < end && *at != '"') {
        size_t len;
        if (*at == '\\') {
            len = escape_length(at, end, &code_point);
            has_escapes = true;
        } else {
            len = (unsigned char)*at >= 0x80 ? qn_utf8_sequence(at, end) : 0;
        }
        if (len == 0) {
            return fail_escape(json, at);
        }
        at += len;
        /* Text that is not ASCII seldom comes in single characters. */
        while (at < end && (unsigned char)*at >= 0x80 && (len = qn_utf8_sequence(at, end)) > 0) {
            at += len;
        }
        at = qn_scan_plain(at, end, true);
    }
    if (at == end) {
        return fail(json);
    }
    *ret_raw = qn_str(begin, (size_t)(at - begin));
    *ret_has_escapes = has_escapes;
    json->at = at + 1;
    return true;
}

/* Writes the text with its escapes resolved, which never makes it longer. The escapes are known to
 * be good. */
static size_t unescape(struct qn_str raw, char *out)
{
    const char *at = raw.ptr;
    const char *end = raw.ptr + raw.len;
    char *start = out;
    uint32_t code_point = 0;

    while (at < end) {
        size_t plain = qn_scan_copy_to_backslash(at, end, out);
        at += plain;
        out += plain;
        if (at < end) {
            at += escape_length(at, end, &code_point);
            if (code_point < 0x80) {
                *out++ = (char)code_point; /* nearly all; saves the call */
            } else {
                out += qn_str_encode_code_point(code_point, out);
            }
        }
    }
    return (size_t)(out - start);
}

static bool resolve(struct qn_json *json, struct qn_str raw, struct qn_str *ret_text)
{
    char *text = qn_arena_alloc_raw(json->arena, raw.len);
    size_t len;

    if (text == NULL) {
        json->out_of_memory = true;
        return fail(json);
    }
    len = unescape(raw, text);
    qn_arena_shrink(json->arena, text, raw.len, len);
    *ret_text = qn_str(text, len);
    return true;
}

bool qn_json_string(struct qn_json *json, struct qn_str *ret_text)
{
    struct qn_str raw;
    bool has_escapes;

    if (!scan_string(json, &raw, &has_escapes)) {
        return false;
    }
    if (has_escapes) {
        return resolve(json, raw, ret_text);
    }
    *ret_text = raw;
    return true;
}

bool qn_json_next_member(struct qn_json *json, struct qn_str *ret_name)
{
    struct qn_str raw;
    bool has_escapes;

    if (!next_item(json, '{', '}') || !scan_string(json, &raw, &has_escapes)) {
        return false;
    }
    *ret_name = raw;
    /* No name of ours holds a NUL, and common readers refuse it too. Only an escape can make one.
     */
    if (has_escapes &&
        (!resolve(json, raw, ret_name) || qn_str_find_char(*ret_name, '\0') < ret_name->len)) {
        return fail(json);
    }
    return take(json, ':') || fail(json);
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9') {
        at++;
    }
    return at;
}

/* Moves behind the digits at *at; false if there is none. */
static bool take_digits(const char **at, const char *end)
{
    const char *behind = skip_digits(*at, end);
    bool any = behind > *at;

    *at = behind;
    return any;
}

/* Takes a number; ret_is_integer: written without fraction and exponent. */
static bool scan_number(struct qn_json *json, struct qn_str *ret_number, bool *ret_is_integer)
{
    const char *end = json->end;
    const char *begin;
    const char *at;
    bool is_integer = true;

    skip_blanks(json);
    begin = json->at;
    at = begin < end && *begin == '-' ? begin + 1 : begin;
    if (json->failed || at == end) {
        return fail(json);
    }
    if (*at == '0') {
        at++; /* nothing but a fraction or exponent may follow; a digit is refused as the next token
               */
    } else if (!take_digits(&at, end)) {
        return fail(json);
    }
    if (at < end && *at == '.') {
        at++;
        is_integer = false;
        if (!take_digits(&at, end)) {
            return fail(json);
        }
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        is_integer = false;
        at += at < end && (*at == '+' || *at == '-') ? 1 : 0;
        if (!take_digits(&at, end)) {
            return fail(json);
        }
    }
    *ret_number = qn_str(begin, (size_t)(at - begin));
    *ret_is_integer = is_integer;
    json->at = at;
    return true;
}

bool qn_json_int64(struct qn_json *json, int64_t *ret_value)
{
    struct qn_str number;
    bool is_integer;

    if (!scan_number(json, &number, &is_integer)) {
        return false;
    }
    if (!is_integer || !qn_str_to_int64(number, INT64_MIN, INT64_MAX, ret_value)) {
        return fail(json);
    }
    return true;
}

static bool take_word(struct qn_json *json, struct qn_str word)
{
    struct qn_str left;

    skip_blanks(json);
    left = qn_str(json->at, (size_t)(json->end - json->at));
    if (!qn_str_starts_with(left, word)) {
        return false;
    }
    json->at += word.len;
    return true;
}

bool qn_json_boolean(struct qn_json *json, bool *ret_value)
{
    bool is_true = take_word(json, QN_STR("true"));

    if (!is_true && !take_word(json, QN_STR("false"))) {
        return fail(json);
    }
    *ret_value = is_true;
    return true;
}

bool qn_json_null(struct qn_json *json)
{
    return take_word(json, QN_STR("null")) || fail(json);
}

static bool skip_array(struct qn_json *json)
{
    if (!qn_json_open_array(json)) {
        return false;
    }
    while (qn_json_next_element(json)) {
        qn_json_skip(json);
    }
    return !json->failed;
}

static bool skip_object(struct qn_json *json)
{
    struct qn_str name;

    if (!qn_json_open_object(json)) {
        return false;
    }
    while (qn_json_next_member(json, &name)) {
        qn_json_skip(json);
    }
    return !json->failed;
}

bool qn_json_skip(struct qn_json *json)
{
    struct qn_str text;
    bool flag;

    switch (qn_json_peek(json)) {
    case QN_JSON_OBJECT:
        return skip_object(json); /* as deep as QN_JSON_DEPTH_MAX at most */
    case QN_JSON_ARRAY:
        return skip_array(json);
    case QN_JSON_STRING:
        return scan_string(json, &text, &flag);
    case QN_JSON_NUMBER:
        return scan_number(json, &text, &flag);
    case QN_JSON_BOOLEAN:
        return qn_json_boolean(json, &flag);
    case QN_JSON_NULL:
        return qn_json_null(json);
    case QN_JSON_END:
        break;
    }
    return fail(json);
}

bool qn_json_finish(struct qn_json *json)
{
    skip_blanks(json);
    return (!json->failed && json->at == json->end && json->depth == 0) || fail(json);
}
