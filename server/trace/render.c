/* Reading the ring: event by event, and as JSON lines. */
#include <stdatomic.h>

#include "server/base/arena.h"
#include "server/base/json.h"
#include "server/trace/ring.h"

static uint64_t first_of(const struct qn_trace *trace)
{
    return atomic_load(&trace->header->first);
}

/* How many events between `since` and the oldest one that is left, whose number is oldest. */
static uint64_t missed(const struct qn_trace *trace, uint64_t since, uint64_t oldest)
{
    uint64_t dropped = atomic_load(&trace->header->dropped);

    if (dropped == 0 || since >= atomic_load(&trace->header->last_dropped_seq) ||
        oldest <= since + 1) {
        return 0;
    }
    return oldest - since - 1 < dropped ? oldest - since - 1 : dropped;
}

/* Copies the record at *position, so that a writer in another process cannot change it under the
 * reader. False: nothing left. When the writer was faster, *position moves to the oldest record. */
static bool copy_record(const struct qn_trace *trace, uint64_t *position, struct qn_buf *copy,
                        struct qn_trace_record *ret_record)
{
    for (;;) {
        uint64_t tail = atomic_load_explicit(&trace->header->tail, memory_order_acquire);
        uint64_t first = first_of(trace);
        if (*position < first) {
            *position = first;
        }
        if (*position >= tail) {
            return false;
        }
        struct qn_trace_record record = qn_trace_record_at(trace, *position);
        bool sound = qn_trace_record_is_sound(trace, *position, tail, record);
        qn_buf_clear(copy);
        if (sound && record.event_size != QN_TRACE_FILLER) {
            qn_buf_append(copy, qn_trace_at(trace, *position) + sizeof(record), record.event_size);
        }
        atomic_thread_fence(memory_order_acquire);
        if (first_of(trace) > *position) {
            continue;
        }
        *ret_record = record;
        return sound;
    }
}

void qn_trace_each(const struct qn_trace *trace, uint64_t since,
                   bool (*visit)(void *state, const struct qn_event *event, uint64_t seq,
                                 int64_t wall_ms),
                   void *state, uint64_t *ret_missed)
{
    struct qn_trace_cursor *cursor = trace->cursor;
    bool resumes = cursor->seq != 0 && since >= cursor->seq && cursor->position >= first_of(trace);
    uint64_t position = resumes ? cursor->position : first_of(trace);
    uint64_t lost = 0;
    bool is_first = true;
    struct qn_trace_record record;
    struct qn_buf copy;

    qn_buf_init(&copy, trace->ring_bytes);
    while (copy_record(trace, &position, &copy, &record)) {
        struct qn_reader reader;
        struct qn_event event;
        if (record.event_size == QN_TRACE_FILLER || record.seq <= since) {
            position += record.size;
            continue;
        }
        if (is_first) {
            is_first = false;
            lost = missed(trace, since, record.seq);
        }
        qn_reader_init(&reader, qn_buf_str(&copy));
        if (qn_event_decode(&reader, &event) && !visit(state, &event, record.seq, record.wall_ms)) {
            break;
        }
        position += record.size;
        *cursor = (struct qn_trace_cursor){record.seq, position};
    }
    *ret_missed = lost;
    qn_buf_done(&copy);
}

static void append_name(struct qn_buf *buf, const char *name)
{
    qn_buf_append_literal(buf, ",\"");
    qn_buf_append_str(buf, qn_str_from_cstr(name));
    qn_buf_append_literal(buf, "\":");
}

static void append_number(struct qn_buf *buf, const char *name, int64_t value)
{
    append_name(buf, name);
    qn_buf_append_int64(buf, value);
}

/* Names of actions and access keys come as clients sent them: any bytes. */
static void append_text(struct qn_buf *buf, struct qn_str text)
{
    struct qn_buf clean;

    if (qn_str_is_utf8(text)) {
        qn_buf_append_json_string(buf, text);
        return;
    }
    qn_buf_init(&clean, 3 * text.len + 1);
    for (size_t at = 0; at < text.len;) {
        size_t len = 1;
        while (len <= 4 && len <= text.len - at && !qn_str_is_utf8(qn_str(text.ptr + at, len))) {
            len++;
        }
        if (len > 4 || len > text.len - at) {
            qn_buf_append_literal(&clean, "\xEF\xBF\xBD");
            len = 1;
        } else {
            qn_buf_append(&clean, text.ptr + at, len);
        }
        at += len;
    }
    qn_buf_append_json_string(buf, qn_buf_str(&clean));
    qn_buf_done(&clean);
}

/* Parameters are embedded, once they are known to be one JSON value on one line. */
static void append_object(struct qn_buf *buf, struct qn_str text)
{
    struct qn_arena arena;
    struct qn_json json;

    qn_arena_init(&arena, 2 * text.len + 4096);
    qn_json_init(&json, text, &arena);
    if (qn_str_find_char(text, '\n') == text.len && qn_json_skip(&json) && qn_json_finish(&json)) {
        qn_buf_append_str(buf, text);
    } else {
        append_text(buf, text);
    }
    qn_arena_done(&arena);
}

static void append_field(struct qn_buf *buf, const struct qn_event *event,
                         const struct qn_event_field *field)
{
    const char *member = (const char *)event + field->offset;

    if (field->name == NULL) {
        return;
    }
    if (!field->is_text) {
        int64_t value = *(const int64_t *)(const void *)member;
        if (value != QN_EVENT_NO_INT) {
            append_number(buf, field->name, value);
        }
        return;
    }
    struct qn_str text = *(const struct qn_str *)(const void *)member;
    if (qn_str_is_none(text)) {
        return;
    }
    append_name(buf, field->name);
    if (field->offset == offsetof(struct qn_event, parameters)) {
        append_object(buf, text);
    } else {
        append_text(buf, text);
    }
}

void qn_trace_render_event(const struct qn_event *event, uint64_t seq, int64_t wall_ms,
                           struct qn_buf *buf)
{
    qn_buf_append_literal(buf, "{\"seq\":");
    qn_buf_append_uint64(buf, seq);
    append_number(buf, "vt", event->virtual_ms);
    append_number(buf, "wt", wall_ms);
    append_name(buf, "kind");
    append_text(buf, qn_str_from_cstr(qn_event_kind_name(event->kind)));
    if (event->lsn != 0 || event->kind == QN_EVENT_BOOT) {
        append_name(buf, "lsn");
        qn_buf_append_uint64(buf, event->lsn);
    }
    for (size_t i = 0; i < QN_EVENT_FIELD_COUNT; i++) {
        append_field(buf, event, &qn_event_fields[i]);
    }
    qn_buf_append_literal(buf, "}\n");
}

struct rendering {
    struct qn_buf *buf;
    size_t enough; /* length of buf at which to stop */
    uint64_t last;
};

static bool render_one(void *state, const struct qn_event *event, uint64_t seq, int64_t wall_ms)
{
    struct rendering *rendering = state;
    struct qn_buf *buf = rendering->buf;
    size_t start = buf->len;

    if (start >= rendering->enough) {
        return false;
    }
    qn_trace_render_event(event, seq, wall_ms, buf);
    if (buf->overflow) { /* half a line is none */
        buf->len = start;
        buf->overflow = false;
        return false;
    }
    rendering->last = seq;
    return true;
}

void qn_trace_render(const struct qn_trace *trace, uint64_t since, size_t max_bytes,
                     struct qn_buf *buf, uint64_t *ret_last, uint64_t *ret_missed)
{
    struct rendering rendering = {.buf = buf, .last = since};

    rendering.enough = max_bytes > SIZE_MAX - buf->len ? SIZE_MAX : buf->len + max_bytes;
    qn_trace_each(trace, since, render_one, &rendering, ret_missed);
    *ret_last = rendering.last;
}
