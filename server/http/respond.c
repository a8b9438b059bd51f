/* Answers: from the bytes in call->answer to libmicrohttpd. */
#include "server/http/internal.h"

enum { REASON_MAX = 300 /* of an error's message, in the trace */ };

void qn_call_suspend(struct qn_call *call)
{
    if (!call->is_suspended) {
        MHD_suspend_connection(call->connection);
        call->is_suspended = true;
        call->loop->suspended++;
    }
}

void qn_call_add_header(struct qn_call *call, const char *name, const char *value)
{
    if (call->header_count < QN_HEADERS_MAX) {
        call->headers[call->header_count++] = (struct qn_header){name, value};
    }
}

/* Whole characters of it. */
static struct qn_str shortened(struct qn_str message)
{
    size_t len = message.len < REASON_MAX ? message.len : REASON_MAX;

    while (len < message.len && len > 0 && ((unsigned char)message.ptr[len] & 0xC0) == 0x80) {
        len--;
    }
    return qn_str_first(message, len);
}

void qn_call_set_error(struct qn_call *call, const struct qn_error *err, int http_status)
{
    const struct qn_error_info *info = qn_error_info(err->code);
    struct qn_str code;

    call->status = http_status != 0 ? http_status : info->http_status;
    call->code = err->code;
    call->reason = qn_arena_copy(&call->request.arena, shortened(qn_str_from_cstr(err->message)));
    call->content_type = qn_wire_content_type(&call->request);
    call->header_count = 0;
    qn_buf_clear(&call->answer);
    qn_wire_encode_error(&call->request, err, &call->answer);
    if (call->request.protocol == QN_PROTOCOL_JSON && info->has_query_header) {
        code = qn_arena_format(&call->request.arena, "%s;%s", info->query_code,
                               info->sender ? "Sender" : "Receiver");
        qn_call_add_header(call, "x-amzn-query-error", qn_str_is_none(code) ? "" : code.ptr);
    }
}

/* Browsers hide an answer from the page unless it says otherwise. The control API never does. */
static void add_common_headers(struct qn_call *call)
{
    if (call->request.request_id[0] == '\0') {
        return;
    }
    qn_call_add_header(call, "x-amzn-RequestId", call->request.request_id);
    if (!qn_str_is_none(call->faults)) {
        qn_call_add_header(call, "x-quern-fault", call->faults.ptr);
    }
    if (!qn_str_is_none(call->origin)) {
        qn_call_add_header(call, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        qn_call_add_header(call, "Access-Control-Expose-Headers",
                           "x-amzn-RequestId, x-amzn-query-error, x-quern-fault, Date");
    }
    if (call->lengths_differ || call->lingers || (call->cuts && call->cut_by == QN_VERDICT_CLOSE)) {
        qn_call_add_header(call, MHD_HTTP_HEADER_CONNECTION, "close");
    }
}

static struct MHD_Response *response_of(struct qn_call *call)
{
    struct qn_str body = qn_buf_str(&call->answer);

    if (qn_damage_is_noted(call)) {
        return qn_damage_response(call);
    }
    /* The call outlives its response, and with it these bytes. */
    return MHD_create_response_from_buffer(body.len, (void *)(uintptr_t)body.ptr,
                                           MHD_RESPMEM_PERSISTENT);
}

static void queue(struct qn_call *call, struct MHD_Response *response)
{
    if (call->content_type != NULL) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, call->content_type);
    }
    for (size_t i = 0; i < call->header_count; i++) {
        (void)MHD_add_response_header(response, call->headers[i].name, call->headers[i].value);
    }
    call->state = MHD_queue_response(call->connection, (unsigned)call->status, response) == MHD_YES
                      ? QN_CALL_ANSWERED
                      : QN_CALL_DROPPED;
    MHD_destroy_response(response);
}

void qn_call_respond_with(struct qn_call *call, struct MHD_Response *response_take)
{
    add_common_headers(call);
    if (response_take == NULL) {
        call->state = QN_CALL_DROPPED;
    } else {
        queue(call, response_take);
    }
    if (call->is_suspended) {
        qn_call_join(&call->loop->resuming, call);
    }
}

void qn_call_respond(struct qn_call *call)
{
    call->reserved += call->answer.len;
    call->loop->under_way += call->answer.len;
    qn_call_respond_with(call, response_of(call));
}

void qn_call_drop(struct qn_call *call)
{
    call->state = QN_CALL_DROPPED;
    if (call->is_suspended) {
        qn_call_join(&call->loop->resuming, call);
    }
}

bool qn_calls_resume(struct qn_loop *loop)
{
    bool any = loop->resuming.first != NULL || loop->streams_resumed;
    struct qn_call *call;

    loop->streams_resumed = false;
    while ((call = loop->resuming.first) != NULL) {
        qn_call_leave(call);
        call->is_suspended = false;
        loop->suspended--;
        MHD_resume_connection(call->connection);
    }
    return any;
}
