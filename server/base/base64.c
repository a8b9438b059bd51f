/* Base64 in the standard alphabet, with padding. */
#include "server/base/digest.h"

static const char alphabet[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of each character plus one, so that what is not named here is 0. */
#define V(c, value) [(unsigned char)(c)] = (value) + 1
static const uint8_t values[256] = {
    V('A', 0),  V('B', 1),  V('C', 2),  V('D', 3),  V('E', 4),  V('F', 5),  V('G', 6),  V('H', 7),
    V('I', 8),  V('J', 9),  V('K', 10), V('L', 11), V('M', 12), V('N', 13), V('O', 14), V('P', 15),
    V('Q', 16), V('R', 17), V('S', 18), V('T', 19), V('U', 20), V('V', 21), V('W', 22), V('X', 23),
    V('Y', 24), V('Z', 25), V('a', 26), V('b', 27), V('c', 28), V('d', 29), V('e', 30), V('f', 31),
    V('g', 32), V('h', 33), V('i', 34), V('j', 35), V('k', 36), V('l', 37), V('m', 38), V('n', 39),
    V('o', 40), V('p', 41), V('q', 42), V('r', 43), V('s', 44), V('t', 45), V('u', 46), V('v', 47),
    V('w', 48), V('x', 49), V('y', 50), V('z', 51), V('0', 52), V('1', 53), V('2', 54), V('3', 55),
    V('4', 56), V('5', 57), V('6', 58), V('7', 59), V('8', 60), V('9', 61), V('+', 62), V('/', 63),
};
#undef V

static size_t encoded_len(size_t len)
{
    return (len / 3 + (len % 3 != 0)) * 4;
}

static void encode(const uint8_t *in, size_t len, char *out)
{
    for (; len >= 3; in += 3, len -= 3, out += 4) {
        uint32_t bits = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
        out[0] = alphabet[bits >> 18];
        out[1] = alphabet[bits >> 12 & 63];
        out[2] = alphabet[bits >> 6 & 63];
        out[3] = alphabet[bits & 63];
    }
    if (len > 0) {
        uint32_t bits = (uint32_t)in[0] << 16 | (len > 1 ? (uint32_t)in[1] << 8 : 0);
        out[0] = alphabet[bits >> 18];
        out[1] = alphabet[bits >> 12 & 63];
        out[2] = len > 1 ? alphabet[bits >> 6 & 63] : '=';
        out[3] = '=';
    }
}

void qn_digest_append_base64(struct qn_buf *buf, struct qn_str bytes)
{
    size_t len = encoded_len(bytes.len);

    if (len > 0 && qn_buf_reserve(buf, len)) {
        encode((const uint8_t *)bytes.ptr, bytes.len, buf->ptr + buf->len);
        buf->len += len;
    }
}

struct qn_str qn_digest_base64(struct qn_arena *arena, struct qn_str bytes)
{
    size_t len = encoded_len(bytes.len);
    char *text;

    if (qn_str_is_none(bytes)) {
        return QN_STR_NONE;
    }
    text = qn_arena_alloc_raw(arena, len + 1);
    if (text == NULL) {
        return QN_STR_NONE;
    }
    encode((const uint8_t *)bytes.ptr, bytes.len, text);
    text[len] = '\0';
    return qn_str(text, len);
}

/* Four characters without padding. */
static bool decode_group(const uint8_t *in, uint8_t *out)
{
    uint32_t a = values[in[0]], b = values[in[1]], c = values[in[2]], d = values[in[3]];
    uint32_t bits;

    if (a == 0 || b == 0 || c == 0 || d == 0) {
        return false;
    }
    bits = (a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6 | (d - 1);
    out[0] = (uint8_t)(bits >> 16);
    out[1] = (uint8_t)(bits >> 8);
    out[2] = (uint8_t)bits;
    return true;
}

/* The last group: the missing characters count as zeros, and what they leave over must be zero, so
 * that each byte string has one spelling only. */
static bool decode_padded(const uint8_t *in, size_t padding, uint8_t *out)
{
    uint8_t group[4] = {in[0], in[1], 'A', 'A'};
    uint8_t decoded[3];

    if (padding == 1) {
        group[2] = in[2];
    }
    if (!decode_group(group, decoded) || decoded[3 - padding] != 0) {
        return false;
    }
    memcpy(out, decoded, 3 - padding);
    return true;
}

bool qn_digest_decode_base64(struct qn_arena *arena, struct qn_str text, struct qn_str *ret_bytes)
{
    const uint8_t *in = (const uint8_t *)text.ptr;
    size_t padding = 0;
    size_t whole; /* characters in groups without padding */
    uint8_t *bytes;
    size_t len;

    if (qn_str_is_none(text) || text.len % 4 != 0) {
        return false;
    }
    if (text.len > 0 && in[text.len - 1] == '=') {
        padding = in[text.len - 2] == '=' ? 2 : 1;
    }
    whole = text.len - (padding > 0 ? 4 : 0);
    len = text.len / 4 * 3 - padding;
    bytes = qn_arena_alloc_raw(arena, len + 1);
    if (bytes == NULL) {
        return false;
    }
    for (size_t i = 0; i < whole; i += 4) {
        if (!decode_group(in + i, bytes + i / 4 * 3)) {
            return false;
        }
    }
    if (padding > 0 && !decode_padded(in + whole, padding, bytes + whole / 4 * 3)) {
        return false;
    }
    bytes[len] = 0;
    *ret_bytes = qn_str((const char *)bytes, len);
    return true;
}
