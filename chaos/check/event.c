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
    [QN_CHECK_WORK_ABORT] = "work.abort",
    [QN_CHECK_REJECT] = "reject",
    [QN_CHECK_RECONCILE] = "reconcile",
    [QN_CHECK_STATE] = "state",
    [QN_CHECK_LOOKUP] = "lookup",
    [QN_CHECK_PROC] = "proc",
    [QN_CHECK_EFFECT_COUNT] = "effect.count",
    [QN_CHECK_LOG] = "log",
};

#define TEXT(name, member)                                                                         \
    {                                                                                              \
        {(name), sizeof(name) - 1}, true, offsetof(struct qn_check_event, member)                  \
    }
#define NUMBER(name, member)                                                                       \
    {                                                                                              \
        {(name), sizeof(name) - 1}, false, offsetof(struct qn_check_event, member)                 \
    }

/* The server's names are those of server/model/event.h. */
const struct qn_check_field qn_check_fields[QN_CHECK_FIELD_COUNT] = {
    TEXT("what", what),
    TEXT("req", req),
    TEXT("action", action),
    TEXT("queue", queue),
    TEXT("instance", instance),
    TEXT("invocation", invocation),
    TEXT("code", code),
    TEXT("mid", mid),
    TEXT("k", k),
    TEXT("ik", ik),
    TEXT("step", step),
    TEXT("h", h),
    TEXT("grp", grp),
    TEXT("sn", sn),
    TEXT("reason", reason),
    TEXT("rule", rule),
    TEXT("target", target),
    NUMBER("conn", conn),
    NUMBER("port", port),
    NUMBER("attempt", attempt),
    NUMBER("status", status),
    NUMBER("n", n),
    NUMBER("run", run),
    NUMBER("deadline", deadline),
    NUMBER("match", match),
    NUMBER("from", from),
    NUMBER("to", to),
    NUMBER("count", count),
    NUMBER("pid", pid),
    NUMBER("exit", exit_code),
    NUMBER("signal", signal),
    NUMBER("work_ms", work_ms),
    NUMBER("visible", visible),
    NUMBER("in_flight", in_flight),
    NUMBER("delayed", delayed),
    NUMBER("digest", digest),
};

struct qn_str *qn_check_field_text(struct qn_check_event *event, size_t field)
{
    return (struct qn_str *)(void *)((char *)event + qn_check_fields[field].offset);
}

int64_t *qn_check_field_number(struct qn_check_event *event, size_t field)
{
    return (int64_t *)(void *)((char *)event + qn_check_fields[field].offset);
}

const char *qn_check_kind_name(enum qn_check_kind kind)
{
    return kind_names[kind];
}

void qn_check_event_init(struct qn_check_event *event, enum qn_check_kind kind)
{
    *event = (struct qn_check_event){.kind = kind};
    for (size_t i = 0; i < QN_CHECK_FIELD_COUNT; i++) {
        if (!qn_check_fields[i].is_text) {
            *qn_check_field_number(event, i) = QN_EVENT_NO_INT;
        }
    }
    event->max = QN_EVENT_NO_INT;
    event->wait = QN_EVENT_NO_INT;
    event->visibility = QN_EVENT_NO_INT;
}

void qn_check_event_write(const struct qn_check_event *event, struct qn_buf *buf)
{
    struct qn_check_event copy = *event;

    if (!qn_str_is_none(event->raw)) {
        qn_buf_append_str(buf, event->raw);
        qn_buf_append_char(buf, '\n');
        return;
    }
    qn_buf_append_format(buf, "{\"seq\":%llu,\"vt\":%lld,\"wt\":%lld,\"kind\":\"%s\"",
                         (unsigned long long)event->seq, (long long)event->vt, (long long)event->wt,
                         kind_names[event->kind]);
    for (size_t i = 0; i < QN_CHECK_FIELD_COUNT; i++) {
        if (qn_check_fields[i].is_text && !qn_str_is_none(*qn_check_field_text(&copy, i))) {
            qn_buf_append_format(buf, ",\"%s\":", qn_check_fields[i].name.ptr);
            qn_buf_append_json_string(buf, *qn_check_field_text(&copy, i));
        } else if (!qn_check_fields[i].is_text &&
                   *qn_check_field_number(&copy, i) != QN_EVENT_NO_INT) {
            qn_buf_append_format(buf, ",\"%s\":%lld", qn_check_fields[i].name.ptr,
                                 (long long)*qn_check_field_number(&copy, i));
        }
    }
    if (event->replayed) {
        qn_buf_append_literal(buf, ",\"replayed\":true");
    }
    qn_buf_append_literal(buf, "}\n");
}
