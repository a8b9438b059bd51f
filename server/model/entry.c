/* The byte form of journal entries. The numbers of a row lie in one block of fixed size,
 * little-endian; its texts follow, each behind its length. */
#include "server/model/entry.h"

#include <endian.h>

/* Written in place of a length: no value at all, which is not the same as an empty one. */
#define ABSENT UINT32_MAX

enum {
    QUEUE_FIXED = 4 + 4 + 8,
    MESSAGE_FIXED = 8 + 8 + 4 + 1 + 16 + 5 * 8 + 3 * 4 + 8 + 4,
    DEDUPLICATION_FIXED = 8 + 4 + 8 + 16 + 8,
    ATTEMPT_FIXED = 8 + 4 + 8,
    TASK_FIXED = 16 + 8,
    FIXED_MAX = MESSAGE_FIXED
};

/* A block of numbers under way: written or read piece by piece. */
struct block {
    char bytes[FIXED_MAX];
    size_t len;
};

static void put_raw(struct block *block, const void *bytes, size_t len)
{
    memcpy(block->bytes + block->len, bytes, len);
    block->len += len;
}

static void put_u32(struct block *block, uint32_t value)
{
    value = htole32(value);
    put_raw(block, &value, sizeof(value));
}

static void put_i64(struct block *block, int64_t value)
{
    uint64_t bits = htole64((uint64_t)value);
    put_raw(block, &bits, sizeof(bits));
}

static void append_block(struct qn_buf *buf, const struct block *block)
{
    qn_buf_append(buf, block->bytes, block->len);
}

static void append_text(struct qn_buf *buf, struct qn_str text)
{
    if (qn_str_is_none(text)) {
        qn_buf_append_u32(buf, ABSENT);
    } else {
        qn_buf_append_bytes(buf, text);
    }
}

static void append_queue(struct qn_buf *buf, const struct qn_queue_row *row)
{
    struct block block = {.len = 0};
    put_u32(&block, row->number);
    put_u32(&block, row->generation);
    put_i64(&block, row->next_sequence);
    append_block(buf, &block);
    append_text(buf, row->account);
    append_text(buf, row->region);
    append_text(buf, row->name);
    append_text(buf, row->settings);
}

void qn_entry_append_message(struct qn_buf *buf, const struct qn_message_row *row)
{
    struct block block = {.len = 0};
    put_i64(&block, row->key);
    put_i64(&block, row->content_id);
    put_u32(&block, row->generation);
    put_raw(&block, &row->state, sizeof(row->state));
    put_raw(&block, row->id, sizeof(row->id));
    put_i64(&block, row->enqueued_at_ms);
    put_i64(&block, row->hidden_until_ms);
    put_i64(&block, row->first_received_at_ms);
    put_i64(&block, row->received_at_ms);
    put_i64(&block, row->arrived_at_ms);
    put_u32(&block, row->receive_count);
    put_u32(&block, row->total_count);
    put_u32(&block, row->receive_number);
    put_i64(&block, row->service_stamp);
    put_u32(&block, row->content_size);
    append_block(buf, &block);
    append_text(buf, row->group_id);
    append_text(buf, row->source_arn);
}

static void append_deduplication(struct qn_buf *buf, const struct qn_deduplication_row *row)
{
    struct block block = {.len = 0};
    put_i64(&block, row->key);
    put_u32(&block, row->generation);
    put_i64(&block, row->accepted_at_ms);
    put_raw(&block, row->message_id, sizeof(row->message_id));
    put_i64(&block, row->sequence);
    append_block(buf, &block);
    append_text(buf, row->id);
}

static void append_attempt(struct qn_buf *buf, const struct qn_attempt_row *row)
{
    struct block block = {.len = 0};
    put_i64(&block, row->key);
    put_u32(&block, row->generation);
    put_i64(&block, row->received_at_ms);
    append_block(buf, &block);
    append_text(buf, row->id);
    append_text(buf, row->messages);
}

static void append_task(struct qn_buf *buf, const struct qn_task_row *row)
{
    struct block block = {.len = 0};
    put_raw(&block, row->id, sizeof(row->id));
    put_i64(&block, row->started_at_ms);
    append_block(buf, &block);
    append_text(buf, row->task);
}

void qn_entry_append(struct qn_buf *entry, const struct qn_row *row)
{
    qn_buf_append_u8(entry, (uint8_t)row->kind);
    switch (row->kind) {
    case QN_ROW_QUEUE_PUT:
        append_queue(entry, &row->queue);
        break;
    case QN_ROW_QUEUE_DROP:
        qn_buf_append_u32(entry, row->queue_number);
        break;
    case QN_ROW_MESSAGE_INSERT:
        qn_entry_append_message(entry, &row->message);
        append_text(entry, row->content);
        break;
    case QN_ROW_MESSAGE_PUT:
        qn_entry_append_message(entry, &row->message);
        break;
    case QN_ROW_MESSAGE_DELETE:
        qn_buf_append_u64(entry, (uint64_t)row->key);
        qn_buf_append_u64(entry, (uint64_t)row->content_id);
        break;
    case QN_ROW_MESSAGE_MOVE:
        qn_buf_append_u64(entry, (uint64_t)row->key);
        qn_entry_append_message(entry, &row->message);
        break;
    case QN_ROW_DEDUPLICATION_PUT:
        append_deduplication(entry, &row->deduplication);
        break;
    case QN_ROW_ATTEMPT_PUT:
        append_attempt(entry, &row->attempt);
        break;
    case QN_ROW_DEDUPLICATION_TRIM:
    case QN_ROW_ATTEMPT_TRIM:
        qn_buf_append_u64(entry, (uint64_t)row->key);
        break;
    case QN_ROW_TASK_PUT:
        append_task(entry, &row->task);
        break;
    case QN_ROW_TASK_DROP:
        qn_buf_append(entry, row->task.id, sizeof(row->task.id));
        break;
    case QN_ROW_NAME_PUT:
        append_text(entry, row->name.name);
        qn_buf_append_u64(entry, (uint64_t)row->name.deleted_at_ms);
        break;
    case QN_ROW_NAME_DROP:
        append_text(entry, row->name.name);
        break;
    }
}

/* Takes a block of this size off the reader; zeros after a short read, which the reader remembers.
 */
static struct block read_block(struct qn_reader *reader, size_t size)
{
    struct block block = {.len = 0};
    struct qn_str raw = qn_reader_raw(reader, size);
    if (raw.len == size) {
        memcpy(block.bytes, raw.ptr, size);
    }
    return block;
}

static void get_raw(struct block *block, void *ret_bytes, size_t len)
{
    memcpy(ret_bytes, block->bytes + block->len, len);
    block->len += len;
}

static uint32_t get_u32(struct block *block)
{
    uint32_t value;
    get_raw(block, &value, sizeof(value));
    return le32toh(value);
}

static int64_t get_i64(struct block *block)
{
    uint64_t bits;
    get_raw(block, &bits, sizeof(bits));
    return (int64_t)le64toh(bits);
}

static struct qn_str read_text(struct qn_reader *reader)
{
    uint32_t len = qn_reader_u32(reader);
    if (reader->failed || len == ABSENT) {
        return QN_STR_NONE;
    }
    struct qn_str text = qn_reader_raw(reader, len);
    return len == 0 ? QN_STR("") : text;
}

static void read_queue(struct qn_reader *reader, struct qn_queue_row *row)
{
    struct block block = read_block(reader, QUEUE_FIXED);
    row->number = get_u32(&block);
    row->generation = get_u32(&block);
    row->next_sequence = get_i64(&block);
    row->account = read_text(reader);
    row->region = read_text(reader);
    row->name = read_text(reader);
    row->settings = read_text(reader);
}

static void read_message(struct qn_reader *reader, struct qn_message_row *row)
{
    struct block block = read_block(reader, MESSAGE_FIXED);
    row->key = get_i64(&block);
    row->content_id = get_i64(&block);
    row->generation = get_u32(&block);
    get_raw(&block, &row->state, sizeof(row->state));
    get_raw(&block, row->id, sizeof(row->id));
    row->enqueued_at_ms = get_i64(&block);
    row->hidden_until_ms = get_i64(&block);
    row->first_received_at_ms = get_i64(&block);
    row->received_at_ms = get_i64(&block);
    row->arrived_at_ms = get_i64(&block);
    row->receive_count = get_u32(&block);
    row->total_count = get_u32(&block);
    row->receive_number = get_u32(&block);
    row->service_stamp = get_i64(&block);
    row->content_size = get_u32(&block);
    row->group_id = read_text(reader);
    row->source_arn = read_text(reader);
}

static void read_deduplication(struct qn_reader *reader, struct qn_deduplication_row *row)
{
    struct block block = read_block(reader, DEDUPLICATION_FIXED);
    row->key = get_i64(&block);
    row->generation = get_u32(&block);
    row->accepted_at_ms = get_i64(&block);
    get_raw(&block, row->message_id, sizeof(row->message_id));
    row->sequence = get_i64(&block);
    row->id = read_text(reader);
}

static void read_attempt(struct qn_reader *reader, struct qn_attempt_row *row)
{
    struct block block = read_block(reader, ATTEMPT_FIXED);
    row->key = get_i64(&block);
    row->generation = get_u32(&block);
    row->received_at_ms = get_i64(&block);
    row->id = read_text(reader);
    row->messages = read_text(reader);
}

static void read_task(struct qn_reader *reader, struct qn_task_row *row)
{
    struct block block = read_block(reader, TASK_FIXED);
    get_raw(&block, row->id, sizeof(row->id));
    row->started_at_ms = get_i64(&block);
    row->task = read_text(reader);
}

/* Reads what stands behind the kind. False: no such kind. */
static bool read_row(struct qn_reader *reader, struct qn_row *row)
{
    switch (row->kind) {
    case QN_ROW_QUEUE_PUT:
        read_queue(reader, &row->queue);
        return true;
    case QN_ROW_QUEUE_DROP:
        row->queue_number = qn_reader_u32(reader);
        return true;
    case QN_ROW_MESSAGE_INSERT:
        read_message(reader, &row->message);
        row->content = read_text(reader);
        return true;
    case QN_ROW_MESSAGE_PUT:
        read_message(reader, &row->message);
        return true;
    case QN_ROW_MESSAGE_DELETE:
        row->key = (int64_t)qn_reader_u64(reader);
        row->content_id = (int64_t)qn_reader_u64(reader);
        return true;
    case QN_ROW_MESSAGE_MOVE:
        row->key = (int64_t)qn_reader_u64(reader);
        read_message(reader, &row->message);
        return true;
    case QN_ROW_DEDUPLICATION_PUT:
        read_deduplication(reader, &row->deduplication);
        return true;
    case QN_ROW_ATTEMPT_PUT:
        read_attempt(reader, &row->attempt);
        return true;
    case QN_ROW_DEDUPLICATION_TRIM:
    case QN_ROW_ATTEMPT_TRIM:
        row->key = (int64_t)qn_reader_u64(reader);
        return true;
    case QN_ROW_TASK_PUT:
        read_task(reader, &row->task);
        return true;
    case QN_ROW_TASK_DROP: {
        struct block block = read_block(reader, sizeof(row->task.id));
        get_raw(&block, row->task.id, sizeof(row->task.id));
        return true;
    }
    case QN_ROW_NAME_PUT:
        row->name.name = read_text(reader);
        row->name.deleted_at_ms = (int64_t)qn_reader_u64(reader);
        return true;
    case QN_ROW_NAME_DROP:
        row->name.name = read_text(reader);
        return true;
    }
    return false;
}

bool qn_entry_next(struct qn_reader *reader, struct qn_row *ret_row)
{
    if (reader->failed || reader->at == reader->end) {
        return false;
    }
    struct qn_row row;
    memset(&row, 0, sizeof(row));
    row.kind = (enum qn_row_kind)qn_reader_u8(reader);
    if (!read_row(reader, &row) || reader->failed) {
        reader->failed = true;
        return false;
    }
    *ret_row = row;
    return true;
}
