/* A trace as JSON lines, back into events. */
#include "chaos/assumptions/pass.h"

static json_int_t integer(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* Views into the document. */
static struct qn_str text_value(const json_t *value)
{
    return json_is_string(value) ? qn_str(json_string_value(value), json_string_length(value))
                                 : QN_STR_NONE;
}

static bool find_kind(const char *name, enum qn_event_kind *ret_kind)
{
    for (int kind = 0; kind < QN_EVENT_KIND_COUNT; kind++) {
        if (strcmp(name, qn_event_kind_name((enum qn_event_kind)kind)) == 0) {
            *ret_kind = (enum qn_event_kind)kind;
            return true;
        }
    }
    return false;
}

/* Parameters become text again; free it with qn_memory_free. */
static char *fill(const json_t *object, struct qn_event *event)
{
    char *parameters = NULL;

    for (size_t i = 0; i < QN_EVENT_FIELD_COUNT; i++) {
        const struct qn_event_field *field = &qn_event_fields[i];
        char *member = (char *)event + field->offset;
        const json_t *value =
            field->name != NULL ? json_object_get(object, field->name) : (const json_t *)NULL;
        if (!field->is_text && json_is_integer(value)) {
            *(int64_t *)(void *)member = json_integer_value(value);
        } else if (field->is_text && json_is_object(value)) {
            size_t len = json_dumpb(value, NULL, 0, JSON_COMPACT);
            qn_memory_free(parameters);
            parameters = qn_memory_new(len + 1);
            (void)json_dumpb(value, parameters, len, JSON_COMPACT);
            *(struct qn_str *)(void *)member = qn_str(parameters, len);
        } else if (field->is_text) {
            *(struct qn_str *)(void *)member = text_value(value);
        }
    }
    return parameters;
}

static void read_header(struct qn_assumptions *self, const json_t *object)
{
    struct qn_str harness = text_value(json_object_get(json_object_get(object, "run"), "self"));

    if (harness.len > 0 && harness.len < sizeof(self->harness)) {
        memcpy(self->harness, harness.ptr, harness.len);
        self->scene.harness = qn_str(self->harness, harness.len);
    }
}

/* False: the line is no event. */
static bool read_line(struct qn_assumptions *self, struct qn_str line)
{
    json_t *object = json_loadb(line.ptr, line.len, JSON_ALLOW_NUL, NULL);
    const char *name = json_string_value(json_object_get(object, "kind"));
    enum qn_event_kind kind;

    if (name == NULL) {
        json_decref(object);
        return false;
    }
    if (strcmp(name, "gap") == 0 || strcmp(name, "missed") == 0) {
        json_int_t count = integer(object, "count");
        qn_assumptions_gap(self, count > 0 ? (uint64_t)count : 0);
    } else if (strcmp(name, "header") == 0) {
        read_header(self, object);
    } else if (find_kind(name, &kind)) {
        struct qn_event event;
        qn_event_init(&event, kind);
        event.virtual_ms = integer(object, "vt");
        event.lsn = (uint64_t)integer(object, "lsn");
        char *parameters = fill(object, &event);
        qn_assumptions_observe(self, &event, (uint64_t)integer(object, "seq"),
                               integer(object, "wt"));
        qn_memory_free(parameters);
    }
    json_decref(object);
    return true;
}

bool qn_assumptions_read(struct qn_assumptions *self, struct qn_str lines, struct qn_error *err)
{
    struct qn_str rest = lines;

    for (size_t number = 1; rest.len > 0; number++) {
        struct qn_str line = qn_str_cut(rest, '\n', &rest);
        if (qn_str_trim(line).len > 0 && !read_line(self, line)) {
            return qn_fail(err, QN_ERR_MALFORMED_INPUT, "line %zu is no event", number);
        }
    }
    return true;
}
