/* One event as a JSON line and back. */
#include <jansson.h>

#include "chaos/check/history.h"

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
        (name), true, offsetof(struct qn_check_event, member)                                      \
    }
#define NUMBER(name, member)                                                                       \
    {                                                                                              \
        (name), false, offsetof(struct qn_check_event, member)                                     \
    }

/* The server's names are those of server/model/event.h. */
static const struct {
    const char *name;
    bool is_text;
    size_t offset;
} fields[] = {
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
};

enum { FIELD_COUNT = sizeof(fields) / sizeof(fields[0]) };

static struct qn_str *text_at(struct qn_check_event *event, size_t i)
{
    return (struct qn_str *)(void *)((char *)event + fields[i].offset);
}

static int64_t *number_at(struct qn_check_event *event, size_t i)
{
    return (int64_t *)(void *)((char *)event + fields[i].offset);
}

const char *qn_check_kind_name(enum qn_check_kind kind)
{
    return kind_names[kind];
}

void qn_check_event_init(struct qn_check_event *event, enum qn_check_kind kind)
{
    *event = (struct qn_check_event){.kind = kind};
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (!fields[i].is_text) {
            *number_at(event, i) = QN_EVENT_NO_INT;
        }
    }
    event->max = QN_EVENT_NO_INT;
    event->wait = QN_EVENT_NO_INT;
    event->visibility = QN_EVENT_NO_INT;
}

static struct qn_str copy_text(struct qn_arena *arena, const json_t *value)
{
    return json_is_string(value)
               ? qn_arena_copy(arena, qn_str(json_string_value(value), json_string_length(value)))
               : QN_STR_NONE;
}

static enum qn_check_kind kind_of(const char *name)
{
    for (int kind = QN_CHECK_OTHER + 1; kind < QN_CHECK_KIND_COUNT; kind++) {
        if (strcmp(kind_names[kind], name) == 0) {
            return (enum qn_check_kind)kind;
        }
    }
    return QN_CHECK_OTHER;
}

/* Query requests carry their numbers as text. */
static int64_t parameter(const json_t *parameters, const char *name)
{
    const json_t *value = json_object_get(parameters, name);
    int64_t number;

    if (json_is_integer(value)) {
        return json_integer_value(value);
    }
    if (json_is_string(value) && qn_str_to_int64(qn_str_from_cstr(json_string_value(value)),
                                                 INT32_MIN, INT32_MAX, &number)) {
        return number;
    }
    return QN_EVENT_NO_INT;
}

static void read_parameters(const json_t *parameters, struct qn_arena *arena,
                            struct qn_check_event *event)
{
    const json_t *single = json_object_get(parameters, "ReceiptHandle");
    const json_t *entries = json_object_get(parameters, "Entries");
    size_t i;
    const json_t *entry;

    event->max = parameter(parameters, "MaxNumberOfMessages");
    event->wait = parameter(parameters, "WaitTimeSeconds");
    event->visibility = parameter(parameters, "VisibilityTimeout");
    size_t room = json_array_size(entries) + 1;
    struct qn_str *handles = qn_arena_alloc(arena, room * sizeof(*handles));
    event->handles = handles;
    if (json_is_string(single)) {
        handles[event->handle_count++] = copy_text(arena, single);
    }
    json_array_foreach(entries, i, entry)
    {
        const json_t *handle = json_object_get(entry, "ReceiptHandle");
        if (json_is_string(handle)) {
            handles[event->handle_count++] = copy_text(arena, handle);
        }
    }
}

bool qn_check_event_read(struct qn_str line, struct qn_arena *arena,
                         struct qn_check_event *ret_event, uint64_t *ret_missed,
                         bool *ret_is_header, struct qn_error *err)
{
    json_error_t where;
    json_t *object = json_loadb(line.ptr, line.len, JSON_ALLOW_NUL, &where);
    const char *kind = json_string_value(json_object_get(object, "kind"));

    if (kind == NULL) {
        json_decref(object);
        return qn_fail(err, QN_ERR_MALFORMED_INPUT, "not an event: %.*s",
                       QN_STR_ARG(qn_str_first(line, 120)));
    }
    qn_check_event_init(ret_event, kind_of(kind));
    *ret_is_header = strcmp(kind, "header") == 0;
    *ret_missed = 0;
    if (strcmp(kind, "gap") == 0 || strcmp(kind, "missed") == 0) {
        *ret_missed = (uint64_t)json_integer_value(json_object_get(object, "count"));
    }
    ret_event->seq = (uint64_t)json_integer_value(json_object_get(object, "seq"));
    ret_event->lsn = (uint64_t)json_integer_value(json_object_get(object, "lsn"));
    ret_event->vt = json_integer_value(json_object_get(object, "vt"));
    ret_event->wt = json_integer_value(json_object_get(object, "wt"));
    ret_event->replayed = json_is_true(json_object_get(object, "replayed"));
    ret_event->raw = qn_arena_copy(arena, line);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const json_t *value = json_object_get(object, fields[i].name);
        if (fields[i].is_text) {
            *text_at(ret_event, i) = copy_text(arena, value);
        } else if (json_is_integer(value)) {
            *number_at(ret_event, i) = json_integer_value(value);
        }
    }
    if (ret_event->kind == QN_CHECK_API_IN) {
        read_parameters(json_object_get(object, "params"), arena, ret_event);
    }
    json_decref(object);
    return true;
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
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (fields[i].is_text && !qn_str_is_none(*text_at(&copy, i))) {
            qn_buf_append_format(buf, ",\"%s\":", fields[i].name);
            qn_buf_append_json_string(buf, *text_at(&copy, i));
        } else if (!fields[i].is_text && *number_at(&copy, i) != QN_EVENT_NO_INT) {
            qn_buf_append_format(buf, ",\"%s\":%lld", fields[i].name,
                                 (long long)*number_at(&copy, i));
        }
    }
    if (event->replayed) {
        qn_buf_append_literal(buf, ",\"replayed\":true");
    }
    qn_buf_append_literal(buf, "}\n");
}
