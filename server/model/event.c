/* The byte form of events, and the two keys by which the outside world knows a message.
 *
 * Form: kind (1 byte), virtual_ms (8), lsn (8), mask (4), then each field whose bit is set in the
 * mask, in the order of the table: a text as length and bytes, an integer as 8 bytes. The instant
 * and the LSN stand at fixed places because they are known last. */
#include "server/model/event.h"

#include <endian.h>

#include "server/base/json.h"

enum { VIRTUAL_AT = 1, LSN_AT = 9, FIELDS_AT = 21 };

static const char *const kind_names[QN_EVENT_KIND_COUNT] = {
    [QN_EVENT_API_IN] = "api.in",
    [QN_EVENT_API_OUT] = "api.out",
    [QN_EVENT_LEASE_GRANT] = "lease.grant",
    [QN_EVENT_LEASE_EXTEND] = "lease.extend",
    [QN_EVENT_LEASE_RELEASE] = "lease.release",
    [QN_EVENT_LEASE_EXPIRE] = "lease.expire",
    [QN_EVENT_MSG_SEND] = "msg.send",
    [QN_EVENT_MSG_DELETE] = "msg.delete",
    [QN_EVENT_MSG_DLQ] = "msg.dlq",
    [QN_EVENT_MSG_MOVE] = "msg.move",
    [QN_EVENT_MSG_PURGE] = "msg.purge",
    [QN_EVENT_MSG_EXPIRE] = "msg.expire",
    [QN_EVENT_MSG_DUPCOPY] = "msg.dupcopy",
    [QN_EVENT_BOOT] = "boot",
    [QN_EVENT_FAULT] = "fault",
    [QN_EVENT_CLOCK] = "clock",
    [QN_EVENT_MARK] = "mark",
    [QN_EVENT_QUEUE_CREATE] = "queue.create",
};

#define QN_EVENT_TEXT(name, member) {(name), true, offsetof(struct qn_event, member)},
#define QN_EVENT_NUMBER(name, member) {(name), false, offsetof(struct qn_event, member)},
const struct qn_event_field qn_event_fields[QN_EVENT_FIELD_COUNT] = {
#include "server/model/event.def"
};
#undef QN_EVENT_TEXT
#undef QN_EVENT_NUMBER

static const struct qn_str *text_at(const struct qn_event *event, size_t i)
{
    return (const struct qn_str *)(const void *)((const char *)event + qn_event_fields[i].offset);
}

static const int64_t *number_at(const struct qn_event *event, size_t i)
{
    return (const int64_t *)(const void *)((const char *)event + qn_event_fields[i].offset);
}

void qn_event_init(struct qn_event *event, enum qn_event_kind kind)
{
    *event = (struct qn_event){.kind = kind,
                               .listener = QN_EVENT_NO_INT,
                               .connection = QN_EVENT_NO_INT,
                               .sdk_attempt = QN_EVENT_NO_INT,
                               .http_status = QN_EVENT_NO_INT,
                               .bytes = QN_EVENT_NO_INT,
                               .receive_count = QN_EVENT_NO_INT,
                               .deadline_ms = QN_EVENT_NO_INT,
                               .match = QN_EVENT_NO_INT,
                               .from_ms = QN_EVENT_NO_INT,
                               .to_ms = QN_EVENT_NO_INT,
                               .count = QN_EVENT_NO_INT};
}

const char *qn_event_kind_name(enum qn_event_kind kind)
{
    return kind_names[kind];
}

bool qn_event_is_state(enum qn_event_kind kind)
{
    return kind >= QN_EVENT_LEASE_GRANT && kind <= QN_EVENT_MSG_DUPCOPY;
}

enum field_bit {
#define QN_EVENT_TEXT(name, member) BIT_##member,
#define QN_EVENT_NUMBER(name, member) BIT_##member,
#include "server/model/event.def"
#undef QN_EVENT_TEXT
#undef QN_EVENT_NUMBER
};

/* Which fields are there, and how many bytes they take. Two events come with every request, so this
 * is spelled out for the compiler, without a loop and without branches. */
static uint32_t measure(const struct qn_event *event, size_t *ret_size)
{
    uint32_t mask = 0;
    size_t size = FIELDS_AT;

#define QN_EVENT_TEXT(name, member)                                                                \
    mask |= (uint32_t)(event->member.ptr != NULL) << BIT_##member;                                 \
    size += event->member.ptr != NULL ? sizeof(uint32_t) + event->member.len : 0;
#define QN_EVENT_NUMBER(name, member)                                                              \
    mask |= (uint32_t)(event->member != QN_EVENT_NO_INT) << BIT_##member;                          \
    size += event->member != QN_EVENT_NO_INT ? sizeof(int64_t) : 0;
#include "server/model/event.def"
#undef QN_EVENT_TEXT
#undef QN_EVENT_NUMBER
    *ret_size = size;
    return mask;
}

static char *put_u32(char *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof(value));
    return at + sizeof(value);
}

static char *put_u64(char *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof(value));
    return at + sizeof(value);
}

static char *put_text(char *at, struct qn_str text)
{
    at = put_u32(at, (uint32_t)text.len);
    memcpy(at, text.ptr, text.len);
    return at + text.len;
}

void qn_event_encode(struct qn_buf *buf, const struct qn_event *event)
{
    size_t size;
    uint32_t mask = measure(event, &size);

    if (size > UINT32_MAX || !qn_buf_reserve(buf, size)) {
        buf->overflow = true;
        return;
    }
    char *at = buf->ptr + buf->len;
    *at = (char)event->kind;
    at = put_u64(at + VIRTUAL_AT, (uint64_t)event->virtual_ms);
    at = put_u64(at, event->lsn);
    at = put_u32(at, mask);
    for (; mask != 0; mask &= mask - 1) {
        size_t i = (size_t)__builtin_ctz(mask);
        at = qn_event_fields[i].is_text ? put_text(at, *text_at(event, i))
                                        : put_u64(at, (uint64_t)*number_at(event, i));
    }
    buf->len += size;
}

bool qn_event_decode(struct qn_reader *reader, struct qn_event *ret_event)
{
    struct qn_event event;
    uint8_t kind = qn_reader_u8(reader);

    if (reader->failed || kind >= QN_EVENT_KIND_COUNT) {
        return false;
    }
    qn_event_init(&event, (enum qn_event_kind)kind);
    event.virtual_ms = (int64_t)qn_reader_u64(reader);
    event.lsn = qn_reader_u64(reader);
    uint32_t mask = qn_reader_u32(reader);
    if (mask >> QN_EVENT_FIELD_COUNT != 0) {
        return false;
    }
    for (size_t i = 0; i < QN_EVENT_FIELD_COUNT; i++) {
        char *member = (char *)&event + qn_event_fields[i].offset;
        if ((mask >> i & 1U) == 0) {
            continue;
        }
        if (qn_event_fields[i].is_text) {
            *(struct qn_str *)(void *)member = qn_reader_bytes(reader);
        } else {
            *(int64_t *)(void *)member = (int64_t)qn_reader_u64(reader);
        }
    }
    if (reader->failed) {
        return false;
    }
    *ret_event = event;
    return true;
}

void qn_event_stamp(char *encoded, int64_t virtual_ms, uint64_t lsn)
{
    (void)put_u64(encoded + VIRTUAL_AT, (uint64_t)virtual_ms);
    (void)put_u64(encoded + LSN_AT, lsn);
}

void qn_event_list_add(struct qn_event_list *list, const struct qn_event *event)
{
    struct qn_buf *buf = &list->encoded;
    size_t start = buf->len;
    bool overflow_before = buf->overflow;

    if (!list->wanted) {
        return;
    }
    buf->overflow = false;
    qn_buf_append_u32(buf, 0);
    qn_event_encode(buf, event);
    if (buf->overflow) { /* half an event would spoil those behind it */
        buf->len = start;
        return;
    }
    (void)put_u32(buf->ptr + start, (uint32_t)(buf->len - start - sizeof(uint32_t)));
    buf->overflow = overflow_before;
}

static struct qn_str string_or_none(struct qn_json *json)
{
    struct qn_str text;

    if (qn_json_peek(json) != QN_JSON_STRING) {
        (void)qn_json_skip(json);
        return QN_STR_NONE;
    }
    return qn_json_string(json, &text) ? text : QN_STR_NONE;
}

static struct qn_str id_of_payload(struct qn_json *json)
{
    struct qn_str name;
    struct qn_str id = QN_STR_NONE;

    if (qn_json_peek(json) != QN_JSON_OBJECT) {
        (void)qn_json_skip(json);
        return id;
    }
    if (qn_json_open_object(json)) {
        while (qn_json_next_member(json, &name)) {
            struct qn_str value = string_or_none(json);
            if (qn_str_equal(name, QN_STR("id"))) {
                id = value;
            }
        }
    }
    return id;
}

void qn_event_body_keys(struct qn_str body, struct qn_arena *arena, struct qn_str *ret_key,
                        struct qn_str *ret_payload_id)
{
    struct qn_json json;
    struct qn_str name;
    struct qn_str key = QN_STR_NONE;
    struct qn_str payload_id = QN_STR_NONE;

    qn_json_init(&json, body, arena);
    if (qn_json_peek(&json) == QN_JSON_OBJECT && qn_json_open_object(&json)) {
        while (qn_json_next_member(&json, &name)) {
            if (qn_str_equal(name, QN_STR("payload"))) {
                payload_id = id_of_payload(&json);
                continue;
            }
            struct qn_str value = string_or_none(&json);
            if (qn_str_equal(name, QN_STR("idempotencyKey"))) {
                key = value;
            }
        }
        if (!qn_json_finish(&json)) {
            key = payload_id = QN_STR_NONE;
        }
    }
    *ret_key = key;
    *ret_payload_id = payload_id;
}
