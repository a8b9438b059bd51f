/* One UTF-8 sequence at a time, shared by the text functions and the JSON reader. Not for use
 * outside base. */
#ifndef QN_BASE_UTF8_H
#define QN_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool qn_utf8_is_tail(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* The length of the well-formed sequence at `at`, whose first byte is 0x80 or above; 0 if it is
 * broken. The second byte's range rules out overlong forms, surrogates and what lies beyond
 * U+10FFFF (Unicode, table 3-7). */
static inline size_t qn_utf8_sequence(const char *at, const char *end)
{
    const unsigned char *p = (const unsigned char *)at;
    size_t left = (size_t)(end - at);

    if (p[0] >= 0xE0 && p[0] <= 0xEF) {
        unsigned char low = p[0] == 0xE0 ? 0xA0 : 0x80;
        unsigned char high = p[0] == 0xED ? 0x9F : 0xBF;
        return left >= 3 && p[1] >= low && p[1] <= high && qn_utf8_is_tail(p[2]) ? 3 : 0;
    }
    if (p[0] >= 0xC2 && p[0] <= 0xDF) {
        return left >= 2 && qn_utf8_is_tail(p[1]) ? 2 : 0;
    }
    if (p[0] >= 0xF0 && p[0] <= 0xF4) {
        unsigned char low = p[0] == 0xF0 ? 0x90 : 0x80;
        unsigned char high = p[0] == 0xF4 ? 0x8F : 0xBF;
        return left >= 4 && p[1] >= low && p[1] <= high && qn_utf8_is_tail(p[2]) &&
                       qn_utf8_is_tail(p[3])
                   ? 4
                   : 0;
    }
    return 0;
}

#endif
