/* A growing byte buffer with a hard ceiling. Hitting the ceiling sets `overflow` and drops the
 * rest: the owner asks once at the end instead of after each append. */
#ifndef QN_BASE_BUF_H
#define QN_BASE_BUF_H

#include <stdarg.h>

#include "server/base/str.h"

struct qn_buf {
    char *ptr;
    size_t len;
    size_t cap;
    size_t max;
    bool overflow;
};

/* An empty buffer that will not grow beyond max bytes. Allocates nothing yet. */
void qn_buf_init(struct qn_buf *buf, size_t max);
/* Frees; accepts a zeroed buffer. */
void qn_buf_done(struct qn_buf *buf);
/* Empties, keeps the memory, forgets an overflow. */
void qn_buf_clear(struct qn_buf *buf);

/* What qn_buf_reserve does when the memory at hand is not enough. */
bool qn_buf_make_room(struct qn_buf *buf, size_t len);

/* Makes room for len more bytes behind the end (not counted in len). False at the ceiling. */
static inline bool qn_buf_reserve(struct qn_buf *buf, size_t len)
{
    return (len <= buf->cap - buf->len && buf->ptr != NULL && !buf->overflow) ||
           qn_buf_make_room(buf, len);
}

static inline void qn_buf_append(struct qn_buf *buf, const void *bytes, size_t len)
{
    if (len > 0 && qn_buf_reserve(buf, len)) {
        memcpy(buf->ptr + buf->len, bytes, len);
        buf->len += len;
    }
}

static inline void qn_buf_append_str(struct qn_buf *buf, struct qn_str s)
{
    qn_buf_append(buf, s.ptr, s.len);
}

static inline void qn_buf_append_char(struct qn_buf *buf, char byte)
{
    if (qn_buf_reserve(buf, 1)) {
        buf->ptr[buf->len++] = byte;
    }
}

#define qn_buf_append_literal(buf, literal) qn_buf_append((buf), ("" literal), sizeof(literal) - 1)
void qn_buf_append_int64(struct qn_buf *buf, int64_t value);
void qn_buf_append_uint64(struct qn_buf *buf, uint64_t value);
void qn_buf_append_format(struct qn_buf *buf, const char *format, ...) QN_PRINTF(2, 3);
/* s as a JSON string with quotes; s must be UTF-8. */
void qn_buf_append_json_string(struct qn_buf *buf, struct qn_str s);

/* Little-endian integers and length-prefixed bytes (uint32 length, then the bytes), for binary
 * records. */
void qn_buf_append_u8(struct qn_buf *buf, uint8_t value);
void qn_buf_append_u32(struct qn_buf *buf, uint32_t value);
void qn_buf_append_u64(struct qn_buf *buf, uint64_t value);
void qn_buf_append_bytes(struct qn_buf *buf, struct qn_str s);

static inline struct qn_str qn_buf_str(const struct qn_buf *buf)
{
    return (struct qn_str){buf->ptr != NULL ? buf->ptr : "", buf->len};
}

/* Gives the heap block (NUL-terminated, may hold NULs inside) to the caller, who frees it with
 * qn_memory_free, and leaves an empty buffer. Never NULL. */
char *qn_buf_take(struct qn_buf *buf, size_t *ret_len);

/* Reads what the functions above wrote. After a short read `failed` stays set and everything reads
 * as 0. */
struct qn_reader {
    const char *at;
    const char *end;
    bool failed;
};

void qn_reader_init(struct qn_reader *reader, struct qn_str bytes);
uint8_t qn_reader_u8(struct qn_reader *reader);
uint32_t qn_reader_u32(struct qn_reader *reader);
uint64_t qn_reader_u64(struct qn_reader *reader);
/* A view into the bytes given to init. */
struct qn_str qn_reader_bytes(struct qn_reader *reader);
struct qn_str qn_reader_raw(struct qn_reader *reader, size_t len);

#endif
