/* The lines of a recording: each SQS request and its answer, fired faults, moves of the clock. In
 * the order in which they happened, so an answer that stands behind a later request came when that
 * was there already. */
#include "server/http/record.h"

#include "server/base/failpoint.h"
#include "server/http/internal.h"

/* ---- pieces ---- */

static struct qn_buf *begin_line(struct qn_loop *loop, const char *kind)
{
    struct qn_buf *buf = qn_record_lines(loop->record);

    qn_buf_append_literal(buf, "{\"kind\":\"");
    qn_buf_append(buf, kind, strlen(kind));
    qn_buf_append_char(buf, '"');
    return buf;
}

static void end_line(struct qn_loop *loop)
{
    qn_buf_append_literal(qn_record_lines(loop->record), "}\n");
    if (qn_failpoint_is_any_armed()) {
        qn_record_flush(loop->record); /* this pass may not come to its end */
    } else {
        qn_record_flush_much(loop->record);
    }
}

static void append_name(struct qn_buf *buf, const char *name)
{
    qn_buf_append_literal(buf, ",\"");
    qn_buf_append(buf, name, strlen(name));
    qn_buf_append_literal(buf, "\":");
}

static void append_number(struct qn_buf *buf, const char *name, int64_t value)
{
    append_name(buf, name);
    qn_buf_append_int64(buf, value);
}

/* What is not UTF-8, or absent, is left out. */
static void append_text(struct qn_buf *buf, const char *name, struct qn_str text)
{
    if (!qn_str_is_none(text) && qn_str_is_utf8(text)) {
        append_name(buf, name);
        qn_buf_append_json_string(buf, text);
    }
}

static void append_instants(struct qn_loop *loop, struct qn_buf *buf)
{
    append_number(buf, "at", qn_clock_monotonic_ms() - loop->recording_since_ms);
    append_number(buf, "vt", loop->now_ms);
}

/* ---- calls ---- */

static const char *const protocols[] = {
    [QN_PROTOCOL_JSON] = "json",
    [QN_PROTOCOL_QUERY] = "query",
    [QN_PROTOCOL_QUERY_JSON] = "query-json",
};

/* The input as its last member; without one the request cannot be sent again. */
static void append_input(const struct qn_call *call, struct qn_buf *buf)
{
    size_t end = buf->len;

    qn_buf_append_literal(buf, ",\"input\":");
    if (!qn_wire_write_input(&call->request, call->is_decoded, buf)) {
        buf->len = end;
    }
}

void qn_record_request(struct qn_call *call)
{
    const struct qn_request *request = &call->request;
    struct qn_loop *loop = call->loop;
    struct qn_buf *buf = begin_line(loop, "request");

    call->is_recorded = true;
    append_number(buf, "n", (int64_t)request->sequence);
    append_instants(loop, buf);
    append_number(buf, "conn", call->client->number);
    if (request->action != NULL) {
        append_text(buf, "action", qn_action_name(request->action));
    }
    append_text(buf, "protocol", qn_str_from_cstr(protocols[request->protocol]));
    append_text(buf, "instance", request->caller.access_key_id);
    append_text(buf, "region", request->caller.region);
    append_text(buf, "req", qn_str(request->request_id, 36));
    append_text(buf, "trace_header", request->caller.trace_header);
    append_text(buf, "invocation", request->caller.invocation_id);
    if (request->caller.sdk_attempt > 0) {
        append_number(buf, "attempt", request->caller.sdk_attempt);
    }
    append_number(buf, "size", (int64_t)request->http.body.len);
    append_input(call, buf);
    end_line(loop);
}

void qn_record_take_output(struct qn_call *call)
{
    struct qn_buf buf;

    qn_buf_init(&buf, SIZE_MAX / 2);
    qn_wire_write_references(&call->request, &buf);
    call->references = qn_arena_copy(&call->request.arena, qn_buf_str(&buf));
    qn_buf_done(&buf);
}

static struct qn_buf *begin_answer(struct qn_call *call)
{
    struct qn_buf *buf = begin_line(call->loop, "answer");

    call->is_recorded = false; /* this was the last of it */
    append_number(buf, "n", (int64_t)call->request.sequence);
    append_instants(call->loop, buf);
    return buf;
}

void qn_record_answer(struct qn_call *call)
{
    struct qn_buf *buf = begin_answer(call);
    struct qn_str type;
    struct qn_str code = QN_STR("OK");

    if (call->code != QN_ERR_NONE) {
        type = qn_str_from_cstr(qn_error_info(call->code)->json_type);
        code = qn_str_from(type, qn_str_find_char(type, '#') + 1);
    }
    append_number(buf, "status", call->status);
    append_text(buf, "code", code);
    append_text(buf, "rule", call->rule);
    if (call->cuts) {
        qn_buf_append_literal(buf, ",\"cut\":true");
    }
    if (call->code == QN_ERR_NONE && !qn_str_is_none(call->references)) {
        qn_buf_append_literal(buf, ",\"output\":");
        qn_buf_append_str(buf, call->references);
    }
    end_line(call->loop);
}

void qn_record_lost(struct qn_call *call)
{
    struct qn_buf *buf = begin_answer(call);

    qn_buf_append_literal(buf, ",\"lost\":true");
    append_text(buf, "rule", call->rule);
    end_line(call->loop);
}

/* ---- what happens beside them ---- */

static void write_fault(struct qn_loop *loop, const struct qn_event *event)
{
    struct qn_buf *buf = begin_line(loop, "fault");

    append_instants(loop, buf);
    append_text(buf, "req", event->request);
    append_text(buf, "action", event->action);
    append_text(buf, "queue", event->queue);
    append_text(buf, "rule", event->rule);
    append_number(buf, "match", event->match);
    append_text(buf, "code", event->code);
    append_text(buf, "target", event->target);
    append_text(buf, "reason", event->reason);
    end_line(loop);
    qn_record_flush(loop->record); /* it may end the process */
}

void qn_record_faults(struct qn_loop *loop)
{
    struct qn_reader reader;
    struct qn_event event;

    qn_reader_init(&reader, qn_buf_str(&loop->events.encoded));
    while (reader.at < reader.end) {
        struct qn_reader one;
        qn_reader_init(&one, qn_reader_bytes(&reader));
        if (!qn_event_decode(&one, &event)) {
            break;
        }
        if (event.kind == QN_EVENT_FAULT) {
            write_fault(loop, &event);
        }
    }
}

void qn_record_advance(struct qn_loop *loop, int64_t from_ms, int64_t to_ms, bool keeps_polls)
{
    struct qn_buf *buf = begin_line(loop, "clock");

    append_instants(loop, buf);
    append_number(buf, "from", from_ms);
    append_number(buf, "to", to_ms);
    if (keeps_polls) {
        qn_buf_append_literal(buf, ",\"keep_polls\":true");
    }
    end_line(loop);
}

void qn_record_rate(struct qn_loop *loop, double rate)
{
    struct qn_buf *buf = begin_line(loop, "clock");

    append_instants(loop, buf);
    qn_buf_append_format(buf, ",\"rate\":%g", rate);
    end_line(loop);
}
