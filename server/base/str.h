/* Borrowed text: a pointer and a length, not NUL-terminated. */
#ifndef QN_BASE_STR_H
#define QN_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "server/base/memory.h"

/* ptr == NULL means "no value at all"; ptr != NULL with len == 0 is the empty text. */
struct qn_str {
    const char *ptr;
    size_t len;
};

#define QN_STR(literal) ((struct qn_str){("" literal), sizeof(literal) - 1})
#define QN_STR_NONE ((struct qn_str){NULL, 0})
/* For printf("%.*s"). */
#define QN_STR_ARG(s) ((int)(s).len), ((s).ptr != NULL ? (s).ptr : "")

static inline struct qn_str qn_str(const char *ptr, size_t len)
{
    return (struct qn_str){ptr, len};
}

/* NULL gives QN_STR_NONE. */
struct qn_str qn_str_from_cstr(const char *text);

static inline bool qn_str_is_none(struct qn_str s)
{
    return s.ptr == NULL;
}

static inline bool qn_str_equal(struct qn_str a, struct qn_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

extern const bool qn_char_alphanumeric[256];

/* An ASCII letter or digit. */
static inline bool qn_char_is_alphanumeric(char c)
{
    return qn_char_alphanumeric[(unsigned char)c];
}

/* ASCII letters without regard to case. */
bool qn_str_equal_nocase(struct qn_str a, struct qn_str b);
/* By bytes, like memcmp; a prefix sorts first. */
int qn_str_compare(struct qn_str a, struct qn_str b);

static inline bool qn_str_starts_with(struct qn_str s, struct qn_str prefix)
{
    return s.len >= prefix.len && qn_str_equal(qn_str(s.ptr, prefix.len), prefix);
}

bool qn_str_starts_with_nocase(struct qn_str s, struct qn_str prefix);
bool qn_str_ends_with(struct qn_str s, struct qn_str suffix);

/* Index of the first byte, or s.len if it is not there. */
static inline size_t qn_str_find_char(struct qn_str s, char byte)
{
    const char *found = s.len > 0 ? (const char *)memchr(s.ptr, byte, s.len) : NULL;

    return found != NULL ? (size_t)(found - s.ptr) : s.len;
}

/* Index of the first occurrence of part, or s.len. */
size_t qn_str_find(struct qn_str s, struct qn_str part);

/* Everything from `from` on, and the first `len` bytes; both are clamped to the text. */
static inline struct qn_str qn_str_from(struct qn_str s, size_t from)
{
    if (from > s.len) {
        from = s.len;
    }
    return from > 0 ? qn_str(s.ptr + from, s.len - from) : s;
}

static inline struct qn_str qn_str_first(struct qn_str s, size_t len)
{
    return qn_str(s.ptr, len < s.len ? len : s.len);
}

/* Without blanks and tabs at both ends. */
struct qn_str qn_str_trim(struct qn_str s);

/* Cuts at the first `byte`: returns what stands before it and leaves in *rest what stands behind it
 * (none if the byte does not occur: then all of it is returned). */
static inline struct qn_str qn_str_cut(struct qn_str s, char byte, struct qn_str *ret_rest)
{
    size_t at = qn_str_find_char(s, byte);

    *ret_rest = at < s.len ? qn_str_from(s, at + 1) : QN_STR_NONE;
    return qn_str_first(s, at);
}

/* The whole text as a decimal integer (optional '-', no blanks, no '+', no leading-zero rule)
 * within [min, max], or false. */
QN_MUST_CHECK bool qn_str_to_int64(struct qn_str s, int64_t min, int64_t max, int64_t *ret_value);

/* Well-formed UTF-8 (no surrogates, no overlong forms, at most U+10FFFF). */
bool qn_str_is_utf8(struct qn_str s);

/* Whether XML 1.0 can carry the UTF-8 text (its production Char): of the control characters below
 * U+0020 only tab, line feed and carriage return, and neither U+FFFE nor U+FFFF. */
bool qn_str_is_xml_text(struct qn_str s);

/* Decodes the code point at byte *at and moves *at behind it. The text must be valid UTF-8. */
uint32_t qn_str_next_code_point(struct qn_str s, size_t *at);

/* Appends up to 4 bytes of UTF-8 to out, returns how many. */
size_t qn_str_encode_code_point(uint32_t code_point, char out[4]);

/* FNV-like or better 64-bit hash of the bytes; the same on every run. */
uint64_t qn_str_hash(struct qn_str s);

#endif
