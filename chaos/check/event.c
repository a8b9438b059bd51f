/* The members of an event, and an event as a JSON line. Reading: event_read.c. */
#include "chaos/check/event_fields.h"

static const char *const kind_names[QN_CHECK_KIND_COUNT] = {
    [QN_CHECK_OTHER] = "",
    [QN_CHECK_API_IN] = "api.in",
    [QN_CHECK_API_OUT] = "api.out",
    [QN_CHECK_LEASE_GRANT] = "lease.grant",
    [QN_CHECK_LEASE_EXTEND] = "lease.extend",
    [QN_CHECK_LEASE_RELEASE] = "lease.release",
    [QN_CHECK_LEASE_EXPIRE] = "lease.expire",
    [QN_CHECK_MSG_SEND] = "msg.send",
    [QN_CHECK_MSG_DELETE] = "msg.delete",
    [QN_CHECK_MSG_DLQ] = "msg.dlq",
    [QN_CHECK_MSG_MOVE] = "msg.move",
    [QN_CHECK_MSG_PURGE] = "msg.purge",
    [QN_CHECK_MSG_EXPIRE] = "msg.expire",
    [QN_CHECK_MSG_DUPCOPY] = "msg.dupcopy",
    [QN_CHECK_BOOT] = "boot",
    [QN_CHECK_FAULT] = "fault",
    [QN_CHECK_CLOCK] = "clock",
    [QN_CHECK_MARK] = "mark",
    [QN_CHECK_LOAD] = "load",
    [QN_CHECK_WORK_BEGIN] = "work.begin",
    [QN_CHECK_WORK_COMMIT] = "work.commit",
    [QN_CHECK_WORK_REPLY] = "work.reply",
    [QN_CHECK_WORK_LEFT] = "work.left",
    [QN_CHECK_WORK_ABORT] = "work.abort",
    [QN_CHECK_REJECT] = "reject",
    [QN_CHECK_RECONCILE] = "reconcile",
    [QN_CHECK_STATE] = "state",
    [QN_CHECK_LOOKUP] = "lookup",
    [QN_CHECK_FETCH] = "fetch",
    [QN_CHECK_REFUSED] = "refused",
    [QN_CHECK_PROC] = "proc",
    [QN_CHECK_BUSY] = "busy",
    [QN_CHECK_EFFECT_COUNT] = "effect.count",
    [QN_CHECK_LOG] = "log",
    [QN_CHECK_LETTER] = "letter",
    [QN_CHECK_LAMBDA_INVOKE] = "lambda.invoke",
    [QN_CHECK_LAMBDA_RETURN] = "lambda.return",
    [QN_CHECK_LAMBDA_WRONG] = "lambda.wrong",
    [QN_CHECK_LAMBDA_WRONG_ID] = "lambda.wrong_id",
    [QN_CHECK_LAMBDA_ERROR] = "lambda.error",
    [QN_CHECK_LAMBDA_TIMEOUT] = "lambda.timeout",
    [QN_CHECK_LAMBDA_AUDIT] = "lambda.audit",
    [QN_CHECK_LAMBDA_INIT] = "lambda.init",
    [QN_CHECK_LAMBDA_STARTED] = "lambda.started",
    [QN_CHECK_LAMBDA_NOT_STARTED] = "lambda.not_started",
    [QN_CHECK_LAMBDA_THROTTLED] = "lambda.throttled",
    [QN_CHECK_LAMBDA_FILTERED] = "lambda.filtered",
};

#define FIELD(name, type, is_detail, at)                                                           \
    {                                                                                              \
        {(name), sizeof(name) - 1}, (type), (is_detail), (at)                                      \
    }
#define EVENT_AT(member) offsetof(struct qn_check_event, member)
#define DETAIL_AT(member) offsetof(struct qn_check_detail, member)
#define TEXT(name, member) FIELD(name, QN_CHECK_FIELD_TEXT, false, EVENT_AT(member))
#define NUMBER(name, member) FIELD(name, QN_CHECK_FIELD_NUMBER, false, EVENT_AT(member))
#define DETAIL_TEXT(name, member) FIELD(name, QN_CHECK_FIELD_TEXT, true, DETAIL_AT(member))
#define DETAIL_NUMBER(name, member) FIELD(name, QN_CHECK_FIELD_NUMBER, true, DETAIL_AT(member))
#define UNREAD(name) FIELD(name, QN_CHECK_FIELD_UNREAD, false, 0)

/* The server's names are those of server/model/event.h, in the order in which it writes them: a
 * reader finds each one right behind the one before it. */
const struct qn_check_field qn_check_fields[QN_CHECK_FIELD_COUNT] = {
    TEXT("what", what),
    TEXT("req", req),
    TEXT("action", action),
    UNREAD("account"),
    TEXT("queue", queue),
    TEXT("instance", instance),
    NUMBER("port", port),
    UNREAD("conn"),
    DETAIL_TEXT("invocation", invocation),
    NUMBER("attempt", attempt),
    TEXT("code", code),
    NUMBER("status", status),
    UNREAD("bytes"),
    TEXT("mid", mid),
    TEXT("k", k),
    TEXT("ik", ik),
    DETAIL_TEXT("step", step),
    TEXT("h", h),
    NUMBER("n", n),
    NUMBER("run", run),
    NUMBER("deadline", deadline),
    TEXT("grp", grp),
    TEXT("sn", sn),
    DETAIL_TEXT("reason", reason),
    DETAIL_TEXT("rule", rule),
    DETAIL_NUMBER("match", match),
    DETAIL_TEXT("target", target),
    DETAIL_NUMBER("from", from),
    DETAIL_NUMBER("to", to),
    DETAIL_NUMBER("count", count),
    UNREAD("region"),
    DETAIL_TEXT("agent", agent),
    DETAIL_TEXT("tenant", tenant),
    DETAIL_NUMBER("pid", pid),
    DETAIL_NUMBER("exit", exit_code),
    DETAIL_NUMBER("signal", signal),
    NUMBER("work_ms", work_ms),
    DETAIL_NUMBER("visible", visible),
    DETAIL_NUMBER("in_flight", in_flight),
    DETAIL_NUMBER("delayed", delayed),
    NUMBER("digest", digest),
};

static void *place(struct qn_check_event *event, struct qn_check_detail *detail, size_t field)
{
    char *start = qn_check_fields[field].is_detail ? (char *)detail : (char *)event;

    return start + qn_check_fields[field].offset;
}

struct qn_str *qn_check_field_text(struct qn_check_event *event, struct qn_check_detail *detail,
                                   size_t field)
{
    return place(event, detail, field);
}

int64_t *qn_check_field_number(struct qn_check_event *event, struct qn_check_detail *detail,
                               size_t field)
{
    return place(event, detail, field);
}

const char *qn_check_kind_name(enum qn_check_kind kind)
{
    return kind_names[kind];
}

/* Of the events that have none. */
static const struct qn_check_detail no_detail = {
    .match = QN_EVENT_NO_INT,
    .from = QN_EVENT_NO_INT,
    .to = QN_EVENT_NO_INT,
    .count = QN_EVENT_NO_INT,
    .pid = QN_EVENT_NO_INT,
    .exit_code = QN_EVENT_NO_INT,
    .signal = QN_EVENT_NO_INT,
    .visible = QN_EVENT_NO_INT,
    .in_flight = QN_EVENT_NO_INT,
    .delayed = QN_EVENT_NO_INT,
    .max = QN_EVENT_NO_INT,
    .wait = QN_EVENT_NO_INT,
    .visibility = QN_EVENT_NO_INT,
};

bool qn_check_detail_is_none(const struct qn_check_detail *detail)
{
    return detail == &no_detail;
}

void qn_check_detail_init(struct qn_check_detail *detail)
{
    *detail = no_detail;
}

void qn_check_event_init(struct qn_check_event *event, struct qn_check_detail *detail,
                         enum qn_check_kind kind)
{
    *event = (struct qn_check_event){
        .kind = kind,
        .port = QN_EVENT_NO_INT,
        .attempt = QN_EVENT_NO_INT,
        .status = QN_EVENT_NO_INT,
        .n = QN_EVENT_NO_INT,
        .deadline = QN_EVENT_NO_INT,
        .run = QN_EVENT_NO_INT,
        .work_ms = QN_EVENT_NO_INT,
        .digest = QN_EVENT_NO_INT,
        .detail = &no_detail,
    };
    if (detail != NULL) {
        qn_check_detail_init(detail);
        event->detail = detail;
    }
}

void qn_check_event_write(const struct qn_check_event *event, struct qn_buf *buf)
{
    struct qn_check_event copy = *event;
    struct qn_check_detail detail = *event->detail;

    if (event->raw != NULL) {
        qn_buf_append_str(buf, qn_str_from_cstr(event->raw));
        qn_buf_append_char(buf, '\n');
        return;
    }
    qn_buf_append_format(buf, "{\"seq\":%llu,\"vt\":%lld,\"wt\":%lld,\"kind\":\"%s\"",
                         (unsigned long long)event->seq, (long long)event->vt, (long long)event->wt,
                         kind_names[event->kind]);
    for (size_t i = 0; i < QN_CHECK_FIELD_COUNT; i++) {
        const struct qn_check_field *field = &qn_check_fields[i];
        if (field->type == QN_CHECK_FIELD_TEXT &&
            !qn_str_is_none(*qn_check_field_text(&copy, &detail, i))) {
            qn_buf_append_format(buf, ",\"%s\":", field->name.ptr);
            qn_buf_append_json_string(buf, *qn_check_field_text(&copy, &detail, i));
        } else if (field->type == QN_CHECK_FIELD_NUMBER &&
                   *qn_check_field_number(&copy, &detail, i) != QN_EVENT_NO_INT) {
            qn_buf_append_format(buf, ",\"%s\":%lld", field->name.ptr,
                                 (long long)*qn_check_field_number(&copy, &detail, i));
        }
    }
    if (event->replayed) {
        qn_buf_append_literal(buf, ",\"replayed\":true");
    }
    qn_buf_append_literal(buf, "}\n");
}
