/* Borrowed text: searching, cutting, numbers, UTF-8. */
#include "server/base/str.h"

#include "server/base/scan.h"
#include "server/base/utf8.h"

const bool qn_char_alphanumeric[256] = {
    ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1, ['7'] = 1,
    ['8'] = 1, ['9'] = 1, ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1, ['F'] = 1,
    ['G'] = 1, ['H'] = 1, ['I'] = 1, ['J'] = 1, ['K'] = 1, ['L'] = 1, ['M'] = 1, ['N'] = 1,
    ['O'] = 1, ['P'] = 1, ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1, ['U'] = 1, ['V'] = 1,
    ['W'] = 1, ['X'] = 1, ['Y'] = 1, ['Z'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1, ['d'] = 1,
    ['e'] = 1, ['f'] = 1, ['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1, ['k'] = 1, ['l'] = 1,
    ['m'] = 1, ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1, ['t'] = 1,
    ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1,
};

static char lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte;
}

struct qn_str qn_str_from_cstr(const char *text)
{
    return text != NULL ? qn_str(text, strlen(text)) : QN_STR_NONE;
}

bool qn_str_equal_nocase(struct qn_str a, struct qn_str b)
{
    return a.len == b.len && (qn_str_equal(a, b) || qn_str_starts_with_nocase(a, b));
}

int qn_str_compare(struct qn_str a, struct qn_str b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common > 0 ? memcmp(a.ptr, b.ptr, common) : 0;

    if (order != 0) {
        return order;
    }
    return (a.len > b.len) - (a.len < b.len);
}

bool qn_str_starts_with_nocase(struct qn_str s, struct qn_str prefix)
{
    if (s.len < prefix.len) {
        return false;
    }
    for (size_t i = 0; i < prefix.len; i++) {
        if (lower(s.ptr[i]) != lower(prefix.ptr[i])) {
            return false;
        }
    }
    return true;
}

bool qn_str_ends_with(struct qn_str s, struct qn_str suffix)
{
    return s.len >= suffix.len && qn_str_equal(qn_str_from(s, s.len - suffix.len), suffix);
}

size_t qn_str_find(struct qn_str s, struct qn_str part)
{
    size_t at = 0;

    if (part.len == 0) {
        return 0;
    }
    /* The texts searched here are short, and memmem first makes a table. */
    while (at < s.len) {
        at += qn_str_find_char(qn_str_from(s, at), part.ptr[0]);
        if (qn_str_starts_with(qn_str_from(s, at), part)) {
            return at;
        }
        at++;
    }
    return s.len;
}

struct qn_str qn_str_trim(struct qn_str s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
        s = qn_str_from(s, 1);
    }
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t')) {
        s.len--;
    }
    return s;
}

/* So many overflow nothing, with a sign among them or not. */
enum { SAFE_DIGITS = 18 };

bool qn_str_to_int64(struct qn_str s, int64_t min, int64_t max, int64_t *ret_value)
{
    bool negative = s.len > 0 && s.ptr[0] == '-';
    size_t i = negative ? 1 : 0;
    int64_t value = 0;

    if (i == s.len) {
        return false;
    }
    for (; i < s.len && i < SAFE_DIGITS; i++) { /* most numbers end here */
        int digit = s.ptr[i] - '0';
        if (digit < 0 || digit > 9) {
            return false;
        }
        value = value * 10 + (negative ? -digit : digit);
    }
    for (; i < s.len; i++) {
        int digit = s.ptr[i] - '0';
        /* Built up with its sign, because the smallest number has no positive twin. */
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_add_overflow(value, (int64_t)(negative ? -digit : digit), &value)) {
            return false;
        }
    }
    if (value < min || value > max) {
        return false;
    }
    *ret_value = value;
    return true;
}

bool qn_str_is_utf8(struct qn_str s)
{
    const char *at = s.ptr;
    const char *end = s.len > 0 ? s.ptr + s.len : s.ptr;

    while (at < end) {
        size_t len;
        uint64_t word;
        if (end - at >= 8) {
            memcpy(&word, at, sizeof(word));
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                at += 8;
                continue;
            }
        }
        if ((unsigned char)*at < 0x80) {
            at++;
            continue;
        }
        len = qn_utf8_sequence(at, end);
        if (len == 0) {
            return false;
        }
        at += len;
    }
    return true;
}

bool qn_str_is_xml_text(struct qn_str s)
{
    const char *end = s.len > 0 ? s.ptr + s.len : s.ptr;

    for (const char *at = s.ptr; at < end; at++) {
        at = qn_scan_control_or(at, end, 0xEF);
        if (at == end) {
            break;
        }
        if ((unsigned char)*at < 0x20 && *at != '\t' && *at != '\n' && *at != '\r') {
            return false;
        }
        /* U+FFFE and U+FFFF */
        if ((unsigned char)*at == 0xEF && end - at > 2 && (unsigned char)at[1] == 0xBF &&
            (unsigned char)at[2] >= 0xBE) {
            return false;
        }
    }
    return true;
}

uint32_t qn_str_next_code_point(struct qn_str s, size_t *at)
{
    const unsigned char *p = (const unsigned char *)s.ptr + *at;

    if (p[0] < 0x80) {
        *at += 1;
        return p[0];
    }
    if (p[0] < 0xE0) {
        *at += 2;
        return (uint32_t)(p[0] & 0x1F) << 6 | (p[1] & 0x3F);
    }
    if (p[0] < 0xF0) {
        *at += 3;
        return (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
    }
    *at += 4;
    return (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 |
           (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
}

size_t qn_str_encode_code_point(uint32_t code_point, char out[4])
{
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (char)(0xC0 | code_point >> 6);
        out[1] = (char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (char)(0xE0 | code_point >> 12);
        out[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code_point >> 18);
    out[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code_point & 0x3F));
    return 4;
}

/* The 128-bit product folded to 64 bits: every input bit reaches every output bit. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t qn_str_hash(struct qn_str s)
{
    const uint64_t k0 = UINT64_C(0xA0761D6478BD642F);
    const uint64_t k1 = UINT64_C(0xE7037ED1A0B428DB);
    uint64_t hash = k0 ^ s.len;
    size_t i = 0;
    uint64_t word;

    for (; s.len - i >= 8; i += 8) {
        memcpy(&word, s.ptr + i, 8);
        hash = fold(hash ^ word, k1);
    }
    if (i < s.len) {
        word = 0;
        if (i > 0) { /* the last eight, some of them once more */
            memcpy(&word, s.ptr + s.len - 8, 8);
        } else {
            memcpy(&word, s.ptr, s.len);
        }
        hash = fold(hash ^ word, k1);
    }
    return fold(hash ^ k1, k0);
}
