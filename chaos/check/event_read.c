/* One JSON line as an event, in one pass and without a tree: a trace has a million of them. */
#include "chaos/check/event_fields.h"
#include "server/base/json.h"

struct reader {
    struct qn_json json;
    struct qn_arena *arena;
    struct qn_check_event *event;
    struct qn_check_detail *detail;
    struct qn_str kind;
    size_t next_field; /* where the search begins: fields mostly come in the table's order */
};

/* Made when the first member of it is met. */
static struct qn_check_detail *detail_of(struct reader *r)
{
    if (r->event->detail != r->detail) {
        qn_check_detail_init(r->detail);
        r->event->detail = r->detail;
    }
    return r->detail;
}

static enum qn_check_kind kind_of(struct qn_str name)
{
    for (int kind = QN_CHECK_OTHER + 1; kind < QN_CHECK_KIND_COUNT; kind++) {
        const char *known = qn_check_kind_name((enum qn_check_kind)kind);
        if (known[0] == name.ptr[0] && qn_str_equal(qn_str_from_cstr(known), name)) {
            return (enum qn_check_kind)kind;
        }
    }
    return QN_CHECK_OTHER;
}

/* A value of another type counts as none. */
static struct qn_str read_text(struct qn_json *json)
{
    struct qn_str text = QN_STR_NONE;

    if (qn_json_peek(json) != QN_JSON_STRING) {
        (void)qn_json_skip(json);
    } else if (!qn_json_string(json, &text)) {
        text = QN_STR_NONE;
    }
    return text;
}

/* So does a number with a fraction. */
static bool read_number(struct qn_json *json, int64_t *ret_number)
{
    if (qn_json_peek(json) != QN_JSON_NUMBER) {
        (void)qn_json_skip(json);
        return false;
    }
    return qn_json_int64(json, ret_number);
}

/* Query requests carry their numbers as text. */
static void read_parameter(struct qn_json *json, int64_t *number)
{
    struct qn_str text;

    if (qn_json_peek(json) == QN_JSON_STRING) {
        text = read_text(json);
        if (!qn_str_to_int64(text, INT32_MIN, INT32_MAX, number)) {
            *number = QN_EVENT_NO_INT;
        }
    } else {
        (void)read_number(json, number);
    }
}

static void add_handle(struct reader *r, struct qn_str handle)
{
    struct qn_check_detail *detail = detail_of(r);
    size_t count = detail->handle_count;

    if (qn_str_is_none(handle)) {
        return;
    }
    /* Room doubles; most calls have one. */
    if ((count & (count - 1)) == 0) {
        struct qn_str *more =
            qn_arena_alloc(r->arena, (count > 0 ? 2 * count : 1) * sizeof(struct qn_str));
        for (size_t i = 0; i < count; i++) {
            more[i] = detail->handles[i];
        }
        detail->handles = more;
    }
    ((struct qn_str *)(uintptr_t)detail->handles)[count] = handle;
    detail->handle_count++;
}

static void read_entry(struct reader *r)
{
    struct qn_str name;

    if (qn_json_peek(&r->json) != QN_JSON_OBJECT) {
        (void)qn_json_skip(&r->json);
        return;
    }
    (void)qn_json_open_object(&r->json);
    while (qn_json_next_member(&r->json, &name)) {
        if (qn_str_equal(name, QN_STR("ReceiptHandle"))) {
            add_handle(r, read_text(&r->json));
        } else if (qn_str_equal(name, QN_STR("VisibilityTimeout"))) {
            read_parameter(&r->json, &detail_of(r)->visibility);
        } else {
            (void)qn_json_skip(&r->json);
        }
    }
}

/* The names of one list, behind those of others; those of the sender's own begin with '*'. */
static void read_names(struct reader *r, bool are_own)
{
    struct qn_str *asked = &detail_of(r)->asked;

    if (qn_json_peek(&r->json) != QN_JSON_ARRAY) {
        (void)qn_json_skip(&r->json);
        return;
    }
    (void)qn_json_open_array(&r->json);
    while (qn_json_next_element(&r->json)) {
        struct qn_str name = read_text(&r->json);
        if (!qn_str_is_none(name)) {
            *asked =
                qn_arena_format(r->arena, "%.*s%s%s%.*s", QN_STR_ARG(*asked),
                                asked->len > 0 ? "," : "", are_own ? "*" : "", QN_STR_ARG(name));
        }
    }
}

static void add_failure(struct reader *r, struct qn_check_failure failure)
{
    struct qn_check_detail *detail = detail_of(r);
    size_t count = detail->failure_count;
    struct qn_check_failure *more =
        qn_arena_alloc(r->arena, (count + 1) * sizeof(struct qn_check_failure)); /* 10 at most */

    for (size_t i = 0; i < count; i++) {
        more[i] = detail->failures[i];
    }
    more[count] = failure;
    detail->failures = more;
    detail->failure_count++;
}

static void read_failure(struct reader *r)
{
    struct qn_check_failure failure = {.code = QN_STR(""), .message = QN_STR("")};
    struct qn_str name;

    if (qn_json_peek(&r->json) != QN_JSON_OBJECT) {
        (void)qn_json_skip(&r->json);
        return;
    }
    (void)qn_json_open_object(&r->json);
    while (qn_json_next_member(&r->json, &name)) {
        if (qn_str_equal(name, QN_STR("Code"))) {
            failure.code = read_text(&r->json);
        } else if (qn_str_equal(name, QN_STR("Message"))) {
            failure.message = read_text(&r->json);
        } else {
            (void)qn_json_skip(&r->json);
        }
    }
    if (failure.code.len > 0 && !qn_str_is_none(failure.message)) {
        add_failure(r, failure);
    }
}

static void read_answer(struct reader *r)
{
    struct qn_str name;

    (void)qn_json_open_object(&r->json);
    while (qn_json_next_member(&r->json, &name)) {
        if (qn_str_equal(name, QN_STR("FailedEntries")) &&
            qn_json_peek(&r->json) == QN_JSON_ARRAY) {
            (void)qn_json_open_array(&r->json);
            while (qn_json_next_element(&r->json)) {
                read_failure(r);
            }
        } else {
            (void)qn_json_skip(&r->json);
        }
    }
}

static void read_parameters(struct reader *r)
{
    struct qn_check_event *event = r->event;
    struct qn_str name;

    if (event->kind == QN_CHECK_API_OUT && qn_json_peek(&r->json) == QN_JSON_OBJECT) {
        read_answer(r);
        return;
    }
    if (event->kind != QN_CHECK_API_IN || qn_json_peek(&r->json) != QN_JSON_OBJECT) {
        (void)qn_json_skip(&r->json);
        return;
    }
    (void)qn_json_open_object(&r->json);
    while (qn_json_next_member(&r->json, &name)) {
        if (qn_str_equal(name, QN_STR("ReceiptHandle"))) {
            add_handle(r, read_text(&r->json));
        } else if (qn_str_equal(name, QN_STR("MaxNumberOfMessages"))) {
            read_parameter(&r->json, &detail_of(r)->max);
        } else if (qn_str_equal(name, QN_STR("WaitTimeSeconds"))) {
            read_parameter(&r->json, &detail_of(r)->wait);
        } else if (qn_str_equal(name, QN_STR("VisibilityTimeout"))) {
            read_parameter(&r->json, &detail_of(r)->visibility);
        } else if (qn_str_equal(name, QN_STR("AttributeNames")) ||
                   qn_str_equal(name, QN_STR("MessageSystemAttributeNames"))) {
            read_names(r, false);
        } else if (qn_str_equal(name, QN_STR("MessageAttributeNames"))) {
            read_names(r, true);
        } else if (qn_str_equal(name, QN_STR("Entries")) &&
                   qn_json_peek(&r->json) == QN_JSON_ARRAY) {
            (void)qn_json_open_array(&r->json);
            while (qn_json_next_element(&r->json)) {
                read_entry(r);
            }
        } else {
            (void)qn_json_skip(&r->json);
        }
    }
}

static void read_unsigned(struct qn_json *json, uint64_t *ret_value)
{
    int64_t value;

    if (read_number(json, &value)) {
        *ret_value = (uint64_t)value;
    }
}

/* What every event has. False when the member is none of these. */
static bool read_common(struct reader *r, struct qn_str name)
{
    struct qn_check_event *event = r->event;

    if (qn_str_equal(name, QN_STR("seq"))) {
        read_unsigned(&r->json, &event->seq);
    } else if (qn_str_equal(name, QN_STR("lsn"))) {
        read_unsigned(&r->json, &event->lsn);
    } else if (qn_str_equal(name, QN_STR("vt"))) {
        (void)read_number(&r->json, &event->vt);
    } else if (qn_str_equal(name, QN_STR("wt"))) {
        (void)read_number(&r->json, &event->wt);
    } else if (qn_str_equal(name, QN_STR("kind"))) {
        r->kind = read_text(&r->json);
        event->kind = r->kind.len > 0 ? kind_of(r->kind) : QN_CHECK_OTHER;
    } else if (qn_str_equal(name, QN_STR("params"))) {
        read_parameters(r);
    } else if (qn_str_equal(name, QN_STR("replayed")) &&
               qn_json_peek(&r->json) == QN_JSON_BOOLEAN) {
        (void)qn_json_boolean(&r->json, &event->replayed);
    } else {
        return false;
    }
    return true;
}

/* QN_CHECK_FIELD_COUNT: a member of no meaning here. */
static size_t find_field(const struct reader *r, struct qn_str name)
{
    for (size_t i = 0; i < QN_CHECK_FIELD_COUNT; i++) {
        size_t field = r->next_field + i;
        field = field < QN_CHECK_FIELD_COUNT ? field : field - QN_CHECK_FIELD_COUNT;
        if (qn_str_equal(qn_check_fields[field].name, name)) {
            return field;
        }
    }
    return QN_CHECK_FIELD_COUNT;
}

static void read_member(struct reader *r, struct qn_str name)
{
    if (read_common(r, name)) {
        return;
    }
    size_t field = find_field(r, name);
    if (field == QN_CHECK_FIELD_COUNT) {
        (void)qn_json_skip(&r->json);
        return;
    }
    r->next_field = field + 1;
    struct qn_check_detail *detail = qn_check_fields[field].is_detail ? detail_of(r) : r->detail;
    switch (qn_check_fields[field].type) {
    case QN_CHECK_FIELD_TEXT:
        *qn_check_field_text(r->event, detail, field) = read_text(&r->json);
        break;
    case QN_CHECK_FIELD_NUMBER:
        (void)read_number(&r->json, qn_check_field_number(r->event, detail, field));
        break;
    case QN_CHECK_FIELD_UNREAD:
        (void)qn_json_skip(&r->json);
        break;
    }
}

bool qn_check_event_read(struct qn_str line, struct qn_arena *arena,
                         struct qn_check_event *ret_event, struct qn_check_detail *ret_detail,
                         uint64_t *ret_missed, bool *ret_is_header, struct qn_error *err)
{
    struct reader r = {.arena = arena, .event = ret_event, .detail = ret_detail};
    struct qn_str name;

    qn_check_event_init(ret_event, NULL, QN_CHECK_OTHER);
    ret_event->is_read = true;
    qn_json_init(&r.json, line, arena);
    bool ok = qn_json_open_object(&r.json);
    while (qn_json_next_member(&r.json, &name)) {
        read_member(&r, name);
    }
    if (!ok || !qn_json_finish(&r.json) || qn_str_is_none(r.kind)) {
        return qn_fail(err, QN_ERR_MALFORMED_INPUT, "not an event: %.*s",
                       QN_STR_ARG(qn_str_first(line, 120)));
    }
    bool is_gap = qn_str_equal(r.kind, QN_STR("gap")) || qn_str_equal(r.kind, QN_STR("missed"));
    int64_t count = ret_event->detail->count;
    *ret_is_header = qn_str_equal(r.kind, QN_STR("header"));
    *ret_missed = is_gap && count > 0 ? (uint64_t)count : 0;
    return true;
}
