/* A growing byte buffer under a hard ceiling, and the reader for what was written as binary. */
#include "server/base/buf.h"

#include <endian.h>
#include <stdio.h>

#include "server/base/scan.h"

enum { CAP_MIN = 256 };

void qn_buf_init(struct qn_buf *buf, size_t max)
{
    *buf = (struct qn_buf){.max = max};
}

void qn_buf_done(struct qn_buf *buf)
{
    qn_memory_free(buf->ptr);
    *buf = (struct qn_buf){.max = buf->max};
}

void qn_buf_clear(struct qn_buf *buf)
{
    buf->len = 0;
    buf->overflow = false;
}

static void grow(struct qn_buf *buf, size_t needed)
{
    size_t cap = buf->cap > 0 ? buf->cap : CAP_MIN;

    while (cap < needed && cap <= SIZE_MAX / 2) {
        cap *= 2;
    }
    if (cap > buf->max) {
        cap = buf->max;
    }
    if (cap < needed) {
        cap = needed;
    }
    /* One byte more, so that qn_buf_take can always end the text. */
    buf->ptr = qn_memory_resize(buf->ptr, cap + 1, 1);
    buf->cap = cap;
}

bool qn_buf_make_room(struct qn_buf *buf, size_t len)
{
    if (buf->overflow) {
        return false;
    }
    if (len > buf->max - buf->len) {
        buf->overflow = true;
        return false;
    }
    grow(buf, buf->len + len);
    return true;
}

void qn_buf_append_uint64(struct qn_buf *buf, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    qn_buf_append(buf, digits + at, sizeof(digits) - at);
}

void qn_buf_append_int64(struct qn_buf *buf, int64_t value)
{
    if (value >= 0) {
        qn_buf_append_uint64(buf, (uint64_t)value);
    } else if (qn_buf_reserve(buf, 2)) {
        qn_buf_append_char(buf, '-');
        qn_buf_append_uint64(buf, 0 - (uint64_t)value);
    }
}

void qn_buf_append_format(struct qn_buf *buf, const char *format, ...)
{
    va_list args;
    char small[256];
    int len;

    va_start(args, format);
    len = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    if (len < 0) {
        buf->overflow = true;
        return;
    }
    if ((size_t)len < sizeof(small)) {
        qn_buf_append(buf, small, (size_t)len);
        return;
    }
    if (!qn_buf_reserve(buf, (size_t)len)) {
        return;
    }
    /* The byte behind cap is there for this NUL. */
    va_start(args, format);
    vsnprintf(buf->ptr + buf->len, (size_t)len + 1, format, args);
    va_end(args);
    buf->len += (size_t)len;
}

static void append_escape(struct qn_buf *buf, unsigned char byte)
{
    static const char short_forms[32] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    char escape[2] = {'\\', (char)byte};

    if (byte >= sizeof(short_forms)) {
        qn_buf_append(buf, escape, sizeof(escape));
    } else if (short_forms[byte] != 0) {
        escape[1] = short_forms[byte];
        qn_buf_append(buf, escape, sizeof(escape));
    } else {
        const char *hex = "0123456789abcdef";
        char coded[6] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
        qn_buf_append(buf, coded, sizeof(coded));
    }
}

void qn_buf_append_json_string(struct qn_buf *buf, struct qn_str s)
{
    const char *at = s.ptr;
    const char *end = s.len > 0 ? s.ptr + s.len : s.ptr;

    /* Most texts need no escape: room is made once. */
    (void)qn_buf_reserve(buf, s.len + 2);
    qn_buf_append_char(buf, '"');
    while (at < end) {
        const char *special = qn_scan_plain(at, end, false);
        qn_buf_append(buf, at, (size_t)(special - at));
        at = special;
        if (at < end) {
            append_escape(buf, (unsigned char)*at);
            at++;
        }
    }
    qn_buf_append_char(buf, '"');
}

void qn_buf_append_u8(struct qn_buf *buf, uint8_t value)
{
    qn_buf_append(buf, &value, 1);
}

void qn_buf_append_u32(struct qn_buf *buf, uint32_t value)
{
    uint32_t bytes = htole32(value);

    qn_buf_append(buf, &bytes, sizeof(bytes));
}

void qn_buf_append_u64(struct qn_buf *buf, uint64_t value)
{
    uint64_t bytes = htole64(value);

    qn_buf_append(buf, &bytes, sizeof(bytes));
}

void qn_buf_append_bytes(struct qn_buf *buf, struct qn_str s)
{
    if (s.len > UINT32_MAX) {
        buf->overflow = true;
        return;
    }
    if (qn_buf_reserve(buf, sizeof(uint32_t) + s.len)) {
        uint32_t len = htole32((uint32_t)s.len);
        memcpy(buf->ptr + buf->len, &len, sizeof(len));
        buf->len += sizeof(len);
        qn_buf_append_str(buf, s);
    }
}

char *qn_buf_take(struct qn_buf *buf, size_t *ret_len)
{
    char *bytes = buf->ptr != NULL ? buf->ptr : qn_memory_new_raw(1);

    bytes[buf->len] = '\0';
    if (ret_len != NULL) {
        *ret_len = buf->len;
    }
    *buf = (struct qn_buf){.max = buf->max};
    return bytes;
}

void qn_reader_init(struct qn_reader *reader, struct qn_str bytes)
{
    const char *at = bytes.ptr != NULL ? bytes.ptr : "";

    *reader = (struct qn_reader){.at = at, .end = at + bytes.len};
}

struct qn_str qn_reader_raw(struct qn_reader *reader, size_t len)
{
    struct qn_str bytes;

    if (reader->failed || len > (size_t)(reader->end - reader->at)) {
        reader->failed = true;
        return QN_STR("");
    }
    bytes = qn_str(reader->at, len);
    reader->at += len;
    return bytes;
}

/* Reads into an integer of the size of the field; on failure it stays 0. */
static void read_little_endian(struct qn_reader *reader, void *out, size_t size)
{
    struct qn_str bytes = qn_reader_raw(reader, size);

    if (bytes.len == size) {
        memcpy(out, bytes.ptr, size);
    }
}

uint8_t qn_reader_u8(struct qn_reader *reader)
{
    uint8_t value = 0;

    read_little_endian(reader, &value, sizeof(value));
    return value;
}

uint32_t qn_reader_u32(struct qn_reader *reader)
{
    uint32_t value = 0;

    read_little_endian(reader, &value, sizeof(value));
    return le32toh(value);
}

uint64_t qn_reader_u64(struct qn_reader *reader)
{
    uint64_t value = 0;

    read_little_endian(reader, &value, sizeof(value));
    return le64toh(value);
}

struct qn_str qn_reader_bytes(struct qn_reader *reader)
{
    return qn_reader_raw(reader, qn_reader_u32(reader));
}
