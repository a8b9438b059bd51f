/* Finds the bytes of a text that JSON or XML treats specially, 16 at a time where the machine can,
 * else 8 or one. Shared by the JSON reader, the string writer and the text functions. Not for use
 * outside base. */
#ifndef QN_BASE_SCAN_H
#define QN_BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline bool qn_scan_is_special(unsigned char byte, bool stop_at_high)
{
    return byte < 0x20 || byte == '"' || byte == '\\' || (stop_at_high && byte >= 0x80);
}

#ifndef __SSE2__
/* The high bit of each byte that is below `limit` (at most 0x80), exact for the lowest such byte.
 */
static inline uint64_t qn_scan_bytes_below(uint64_t word, unsigned char limit)
{
    const uint64_t ones = UINT64_MAX / 255;
    return (word - ones * limit) & ~word & (ones * 0x80);
}

static inline bool qn_scan_word_is_plain(uint64_t word, bool stop_at_high)
{
    const uint64_t ones = UINT64_MAX / 255;
    uint64_t found = qn_scan_bytes_below(word, 0x20) | qn_scan_bytes_below(word ^ (ones * '"'), 1) |
                     qn_scan_bytes_below(word ^ (ones * '\\'), 1);
    return (found | (stop_at_high ? word & (ones * 0x80) : 0)) == 0;
}
#endif

/* The first control character, quote or backslash (or, if asked for, byte above ASCII); `end` if
 * there is none. */
static inline const char *qn_scan_plain(const char *at, const char *end, bool stop_at_high)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i last_control = _mm_set1_epi8(0x1F);
    bool has_block = end - at >= 16;

    while (has_block && at < end) {
        /* The last block overlaps the one before it, in which nothing was found. */
        at = end - at >= 16 ? at : end - 16;
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash));
        /* Compared as signed, bytes above ASCII are the smallest. */
        __m128i low = stop_at_high ? _mm_cmplt_epi8(v, _mm_set1_epi8(0x20))
                                   : _mm_cmpeq_epi8(_mm_min_epu8(v, last_control), v);
        unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(hit, low));
        if (mask != 0) {
            return at + __builtin_ctz(mask);
        }
        at += 16;
    }
#else
    while (end - at >= 8) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        if (!qn_scan_word_is_plain(word, stop_at_high)) {
            break;
        }
        at += 8;
    }
#endif
    while (at < end && !qn_scan_is_special((unsigned char)*at, stop_at_high)) {
        at++;
    }
    return at;
}

/* The first control character or `other` byte (not a control character); `end` if there is none. */
static inline const char *qn_scan_control_or(const char *at, const char *end, unsigned char other)
{
#ifdef __SSE2__
    const __m128i wanted = _mm_set1_epi8((char)other);
    const __m128i last_control = _mm_set1_epi8(0x1F);
    bool has_block = end - at >= 16;

    while (has_block && at < end) {
        at = end - at >= 16 ? at : end - 16;
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, last_control), v);
        unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(low, _mm_cmpeq_epi8(v, wanted)));
        if (mask != 0) {
            return at + __builtin_ctz(mask);
        }
        at += 16;
    }
#endif
    while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at != other) {
        at++;
    }
    return at;
}

/* Copies up to the first backslash or the end; returns how much. `out` has room for all of the
 * text, of which what lies behind the result may be overwritten: a whole block is stored before it
 * is known how much of it counts. */
static inline size_t qn_scan_copy_to_backslash(const char *at, const char *end, char *out)
{
    const char *begin = at;

#ifdef __SSE2__
    const __m128i backslash = _mm_set1_epi8('\\');

    while (end - at >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
        unsigned mask = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, backslash));
        _mm_storeu_si128((__m128i *)(void *)out, v);
        if (mask != 0) {
            return (size_t)(at - begin) + (size_t)__builtin_ctz(mask);
        }
        at += 16;
        out += 16;
    }
#endif
    while (at < end && *at != '\\') {
        *out++ = *at++;
    }
    return (size_t)(at - begin);
}

#endif
