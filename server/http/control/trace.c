/* Reading the trace: what is there, what comes within a time, or for as long as the reader stays.
 */
#include "server/http/control/control.h"

enum {
    ANSWER_MAX = 32 * 1024 * 1024, /* the reader asks again from where this ended */
    STREAM_BYTES = 64 * 1024,
    WAIT_MAX_MS = 600000
};

/* One reader that stays: the body of its answer is made as events come. */
struct qn_stream {
    struct qn_stream *previous, *next;
    struct qn_loop *loop;
    struct qn_client *client;
    struct MHD_Connection *connection;
    uint64_t since;
    struct qn_buf lines;
    size_t given; /* of lines */
    bool is_suspended;
    bool is_over;
};

static const char content_type[] = "application/x-ndjson";

/* The lines of events behind since; a first line tells of events that are gone. */
static void render(struct qn_loop *loop, uint64_t *since, size_t max_bytes, struct qn_buf *lines)
{
    uint64_t from = *since;
    uint64_t missed = 0;
    size_t at = lines->len;

    qn_trace_render(loop->parts.trace, from, max_bytes, lines, since, &missed);
    if (missed > 0 && from > 0 && lines->len > at) {
        struct qn_buf gap;
        qn_buf_init(&gap, SIZE_MAX / 2);
        qn_buf_append_format(&gap, "{\"kind\":\"gap\",\"count\":%llu}\n",
                             (unsigned long long)missed);
        qn_buf_append_str(&gap, qn_buf_str(lines));
        qn_buf_clear(lines);
        qn_buf_append_str(lines, qn_buf_str(&gap));
        qn_buf_done(&gap);
    }
}

void qn_control_answer_reader(struct qn_call *call)
{
    uint64_t since = (uint64_t)call->since;

    qn_call_leave(call);
    qn_buf_clear(&call->answer);
    render(call->loop, &since, ANSWER_MAX, &call->answer);
    call->status = 200;
    call->content_type = content_type;
    qn_call_respond(call);
}

/* ---- streams ---- */

static ssize_t read_stream(void *state, uint64_t position, char *out, size_t max)
{
    struct qn_stream *stream = state;
    size_t left = stream->lines.len - stream->given;

    (void)position;
    if (left == 0) {
        qn_buf_clear(&stream->lines);
        stream->given = 0;
        render(stream->loop, &stream->since, STREAM_BYTES, &stream->lines);
        left = stream->lines.len;
    }
    if (left == 0 && (stream->is_over || stream->client->is_gone || stream->loop->is_stopping)) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (left == 0) {
        MHD_suspend_connection(stream->connection);
        stream->is_suspended = true;
        return 0;
    }
    left = left < max ? left : max;
    memcpy(out, stream->lines.ptr + stream->given, left);
    stream->given += left;
    return (ssize_t)left;
}

static void free_stream(void *state)
{
    struct qn_stream *stream = state;

    if (stream->previous == NULL) {
        stream->loop->streams = stream->next;
    } else {
        stream->previous->next = stream->next;
    }
    if (stream->next != NULL) {
        stream->next->previous = stream->previous;
    }
    stream->client->stream = NULL;
    qn_buf_done(&stream->lines);
    qn_memory_free(stream);
}

static void start_stream(struct qn_call *call)
{
    struct qn_loop *loop = call->loop;
    struct qn_stream *stream = qn_memory_new(sizeof(*stream));
    struct MHD_Response *response;

    stream->loop = loop;
    stream->client = call->client;
    stream->connection = call->connection;
    stream->since = (uint64_t)call->since;
    stream->next = loop->streams;
    qn_buf_init(&stream->lines, SIZE_MAX / 2);
    if (stream->next != NULL) {
        stream->next->previous = stream;
    }
    loop->streams = stream;
    call->client->stream = stream;
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BYTES, read_stream,
                                                 stream, free_stream);
    call->status = 200;
    call->content_type = content_type;
    qn_call_respond_with(call, response);
}

static void resume(struct qn_stream *stream)
{
    if (stream->is_suspended) {
        stream->is_suspended = false;
        MHD_resume_connection(stream->connection);
        stream->loop->streams_resumed = true;
    }
}

void qn_control_end_stream(struct qn_stream *stream)
{
    stream->is_over = true;
    resume(stream);
}

/* ---- waking ---- */

void qn_control_wake_readers(struct qn_loop *loop)
{
    uint64_t last = qn_trace_last_seq(loop->parts.trace);

    if (last == loop->streams_seen) {
        return;
    }
    loop->streams_seen = last;
    while (loop->reading.first != NULL) {
        qn_control_answer_reader(loop->reading.first);
    }
    for (struct qn_stream *stream = loop->streams; stream != NULL; stream = stream->next) {
        resume(stream);
    }
}

void qn_control_stop_readers(struct qn_loop *loop)
{
    while (loop->reading.first != NULL) {
        qn_control_answer_reader(loop->reading.first);
    }
    for (struct qn_stream *stream = loop->streams; stream != NULL; stream = stream->next) {
        qn_control_end_stream(stream);
    }
}

/* ---- the page ---- */

static void wait_for_events(struct qn_call *call, int64_t wait_ms)
{
    call->due_ms = qn_clock_monotonic_ms() + wait_ms;
    qn_call_wait(call, &call->loop->reading);
}

void qn_control_trace(struct qn_call *call, struct qn_str rest)
{
    struct qn_loop *loop = call->loop;
    struct qn_str stream = QN_STR("");
    int64_t wait_ms;

    (void)rest;
    if (!qn_control_integer(call, "since", 0, INT64_MAX, &call->since) ||
        !qn_control_integer(call, "wait_ms", 0, WAIT_MAX_MS, &wait_ms)) {
        return;
    }
    if (!loop->trace_is_wanted) {
        loop->trace_is_wanted = true; /* from now on in full */
        qn_keep_refresh(loop);
    }
    if (qn_control_parameter(call, "stream", &stream) && qn_str_equal(stream, QN_STR("1"))) {
        start_stream(call);
    } else if (wait_ms > 0 && (uint64_t)call->since >= qn_trace_last_seq(loop->parts.trace) &&
               !loop->is_stopping) {
        wait_for_events(call, wait_ms);
    } else {
        qn_control_answer_reader(call);
    }
}
