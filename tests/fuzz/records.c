/* Records of an input, and mutations that keep them whole. */
#include "tests/fuzz/records.h"

#include "server/base/buf.h"

#define DIVIDER "\n~\n"
enum { DIVIDER_LEN = 3, RECORDS_MAX = 256 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

struct qn_str records_cut(struct qn_str *rest)
{
    size_t at = qn_str_find(*rest, QN_STR(DIVIDER));
    struct qn_str record = qn_str_first(*rest, at);

    *rest = at < rest->len ? qn_str_from(*rest, at + DIVIDER_LEN) : QN_STR("");
    return record;
}

static void append(struct qn_buf *buf, struct qn_str record)
{
    if (buf->len > 0) {
        qn_buf_append_str(buf, QN_STR(DIVIDER));
    }
    qn_buf_append_str(buf, record);
}

/* Three kinds of change at one place; false when what comes out does not fit. */
static bool change(struct qn_str input, size_t max_size, unsigned seed, struct qn_str record,
                   struct qn_buf *ret)
{
    struct qn_str records[RECORDS_MAX];
    size_t count = 0;

    while (count < RECORDS_MAX && input.len > 0) {
        records[count++] = records_cut(&input);
    }
    size_t place = seed / 64 % (count + 1);
    unsigned kind = seed / 8 % 4;
    for (size_t i = 0; i <= count; i++) {
        if (i == place && kind < 2) {
            append(ret, record);
        } else if (i == place && kind == 2 && count > 0) {
            append(ret, records[seed / 4096 % count]);
        }
        if (i < count && !(i == place && kind == 3)) {
            append(ret, records[i]);
        }
    }
    return ret->len > 0 && ret->len <= max_size;
}

size_t records_mutate(uint8_t *data, size_t size, size_t max_size, unsigned seed,
                      const char *const *templates, size_t template_count)
{
    struct qn_buf buf;
    struct qn_str record = qn_str_from_cstr(templates[seed / 16384 % template_count]);

    if (seed % 8 > 2) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    qn_buf_init(&buf, SIZE_MAX);
    if (change(qn_str((const char *)data, size), max_size, seed, record, &buf)) {
        size = buf.len;
        memcpy(data, buf.ptr, size);
    }
    qn_buf_done(&buf);
    return size;
}
