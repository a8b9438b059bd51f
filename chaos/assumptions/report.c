/* The findings as a document.
 *
 *   {"assumptions": [{"name", "title", "count", "first", "last", "examples": [{"queue", "says",
 *      "requests": [id], "events": [{"seq", "at", "kind", "action", "req", "instance", "conn",
 *      "mid"}]}], "promise", "source", "fix"}],
 *    "watched": 21, "events": N, "from": instant or null, "until": instant or null,
 *    "missed": N, "undetailed": N, "forgotten": N}
 *
 * Instants are those of the server's clock. `from` is where the unbroken part of the trace begins;
 * `missed` events were gone before they were looked at, `undetailed` calls came when nobody wanted
 * the trace, `forgotten` entries made room for newer ones. */
#include "chaos/assumptions/pass.h"
#include "server/base/clock.h"

static json_t *text_of(const char *text)
{
    struct qn_str s = qn_str_from_cstr(text);

    return qn_str_is_utf8(s) ? json_stringn(s.ptr, s.len) : json_string("?");
}

static json_t *instant(const struct qn_sight *sight)
{
    char text[32];

    if (sight->seq == 0) {
        return json_null();
    }
    qn_clock_format_instant(sight->vt, text);
    return json_string(text);
}

static void set_text(json_t *object, const char *name, const char *text)
{
    if (text[0] != '\0') {
        json_object_set_new(object, name, text_of(text));
    }
}

static json_t *event_of(const struct qn_sight *sight)
{
    json_t *event = json_pack("{s:I, s:o, s:s}", "seq", (json_int_t)sight->seq, "at",
                              instant(sight), "kind", qn_event_kind_name(sight->kind));

    set_text(event, "action", sight->action);
    set_text(event, "req", sight->request);
    set_text(event, "instance", sight->instance);
    if (sight->conn != QN_EVENT_NO_INT) {
        json_object_set_new(event, "conn", json_integer(sight->conn));
    }
    set_text(event, "mid", sight->message_id);
    return event;
}

static bool has_text(const json_t *list, const char *text)
{
    size_t i;
    const json_t *item;

    json_array_foreach(list, i, item)
    {
        if (strcmp(json_string_value(item), text) == 0) {
            return true;
        }
    }
    return false;
}

static json_t *example_of(const struct qn_example *example)
{
    json_t *requests = json_array();
    json_t *events = json_array();

    for (size_t i = 0; i < example->sight_count; i++) {
        const struct qn_sight *sight = &example->sights[i];
        json_array_append_new(events, event_of(sight));
        if (sight->request[0] != '\0' && qn_str_is_utf8(qn_str_from_cstr(sight->request)) &&
            !has_text(requests, sight->request)) {
            json_array_append_new(requests, json_string(sight->request));
        }
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "queue", text_of(example->queue), "says",
                     text_of(example->text), "requests", requests, "events", events);
}

static json_t *describe(enum qn_assumption assumption)
{
    const struct qn_assumption_info *info = qn_assumption_info(assumption);

    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", info->name, "title", info->title,
                     "promise", info->promise, "source", info->source, "fix", info->fix);
}

static json_t *finding_of(enum qn_assumption assumption, const struct qn_finding *finding)
{
    json_t *object = describe(assumption);
    json_t *examples = json_array();

    for (size_t i = 0; i < finding->example_count; i++) {
        json_array_append_new(examples, example_of(&finding->examples[i]));
    }
    json_object_set_new(object, "count", json_integer((json_int_t)finding->count));
    json_object_set_new(object, "first", instant(&finding->first));
    json_object_set_new(object, "last", instant(&finding->last));
    json_object_set_new(object, "examples", examples);
    return object;
}

json_t *qn_assumptions_report(const struct qn_assumptions *self)
{
    struct qn_finding *findings = qn_assumptions_decide(self);
    json_t *list = json_array();
    uint64_t forgotten =
        self->scene.calls.forgotten + self->scene.queues.forgotten + self->scene.messages.forgotten;

    for (int i = 0; i < QN_ASSUMPTION_COUNT; i++) {
        if (findings[i].count > 0) {
            json_array_append_new(list, finding_of((enum qn_assumption)i, &findings[i]));
        }
        forgotten += self->memos[i].forgotten;
    }
    qn_memory_free(findings);
    return json_pack("{s:o, s:i, s:I, s:o, s:o, s:I, s:I, s:I}", "assumptions", list, "watched",
                     (int)QN_ASSUMPTION_COUNT, "events", (json_int_t)self->events, "from",
                     instant(&self->from), "until", instant(&self->until), "missed",
                     (json_int_t)self->missed, "undetailed", (json_int_t)self->undetailed,
                     "forgotten", (json_int_t)forgotten);
}

json_t *qn_assumptions_list(void)
{
    json_t *list = json_array();

    for (int i = 0; i < QN_ASSUMPTION_COUNT; i++) {
        json_array_append_new(list, describe((enum qn_assumption)i));
    }
    return list;
}
