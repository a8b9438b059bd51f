/* The table of errors.def, and the one way to fill an error. */
#include "server/base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#define NAMESPACE_SQS "com.amazonaws.sqs#"
#define NAMESPACE_CORAL "com.amazon.coral.service#"
#define NAMESPACE_FRAME NAMESPACE_CORAL
#define HEADER_SQS true
#define HEADER_CORAL true
#define HEADER_FRAME false

static const struct qn_error_info table[] = {
#define QN_ERROR(symbol, json_type, query_code, status, sender, namespace)                         \
    [QN_ERR_##symbol] = {NAMESPACE_##namespace json_type, query_code, status, sender,              \
                         HEADER_##namespace},
#include "server/base/errors.def"
#undef QN_ERROR
};

static const char *const symbols[] = {
#define QN_ERROR(symbol, json_type, query_code, status, sender, namespace)                         \
    [QN_ERR_##symbol] = #symbol,
#include "server/base/errors.def"
#undef QN_ERROR
};

const struct qn_error_info *qn_error_info(enum qn_error_code code)
{
    assert(code > QN_ERR_NONE && code < QN_ERR_COUNT);
    return &table[code];
}

static bool is_called(enum qn_error_code code, struct qn_str name)
{
    struct qn_str type = qn_str_from_cstr(table[code].json_type);
    struct qn_str shape;

    qn_str_cut(type, '#', &shape);
    return qn_str_equal_nocase(name, qn_str_from_cstr(table[code].query_code)) ||
           qn_str_equal_nocase(name, shape) || qn_str_equal_nocase(name, type) ||
           qn_str_equal_nocase(name, qn_str_from_cstr(symbols[code]));
}

enum qn_error_code qn_error_code_by_name(struct qn_str name)
{
    for (int code = QN_ERR_NONE + 1; code < QN_ERR_COUNT; code++) {
        if (is_called((enum qn_error_code)code, name)) {
            return (enum qn_error_code)code;
        }
    }
    return QN_ERR_NONE;
}

/* Where a text of len bytes that was cut there may end without half a character. */
static size_t whole_characters(const char *text, size_t len)
{
    size_t start = len;
    size_t needed;
    unsigned char first;

    while (start > 0 && len - start < 4 && ((unsigned char)text[start - 1] & 0xC0) == 0x80) {
        start--;
    }
    if (start == 0) {
        return len;
    }
    first = (unsigned char)text[start - 1];
    needed = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    return len - (start - 1) < needed ? start - 1 : len;
}

bool qn_fail(struct qn_error *err, enum qn_error_code code, const char *format, ...)
{
    /* Not into err at once: an argument may be the message that is there now. */
    char message[QN_ERROR_MESSAGE_MAX];
    va_list args;
    int len;
    size_t kept;

    va_start(args, format);
    len = vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    kept = len < 0 ? 0 : (size_t)len;
    if (kept >= sizeof(message)) {
        kept = whole_characters(message, sizeof(message) - 1);
    }
    err->code = code;
    memcpy(err->message, message, kept);
    err->message[kept] = '\0';
    return false;
}
