/* One action of the fault grammar, done now. */
#include "server/http/control/control.h"

static struct qn_str member(const json_t *body, const char *name)
{
    const json_t *value = json_object_get(body, name);

    return json_is_string(value) ? qn_str(json_string_value(value), json_string_length(value))
                                 : QN_STR_NONE;
}

/* What it is done to. */
static struct qn_event event_of(const struct qn_loop *loop, const json_t *body)
{
    const json_t *count = json_object_get(body, "n");
    struct qn_event event;

    qn_event_init(&event, QN_EVENT_MSG_DELETE);
    event.virtual_ms = loop->now_ms;
    event.queue = member(body, "queue");
    event.message_id = member(body, "mid");
    event.handle = member(body, "handle");
    event.instance = member(body, "instance");
    event.receive_count = json_is_integer(count) ? json_integer_value(count) : -1;
    return event;
}

void qn_control_act(struct qn_call *call, struct qn_str rest)
{
    static const char *const members[] = {"do",     "as",       "queue", "mid",
                                          "handle", "instance", "n",     NULL};
    struct qn_mistakes mistakes = {.count = 0};
    json_t *body = qn_control_body(call, members);
    struct qn_error err;

    (void)rest;
    if (body == NULL) {
        return;
    }
    struct qn_event event = event_of(call->loop, body);
    struct qn_str text = member(body, "do");
    struct qn_str name = member(body, "as");
    if (qn_str_is_none(text)) {
        qn_control_fail(call, 400,
                        "say what to do: {\"do\": \"expire-lease\", \"queue\": \"q\", "
                        "\"mid\": \"...\"}");
    } else if (qn_plan_act(call->loop->parts.plan, text,
                           qn_str_is_none(name) ? QN_STR("act") : name, &event, call->loop->now_ms,
                           &mistakes)) {
        qn_keep_refresh(call->loop);
        qn_control_answer(call, 200, json_pack("{s:o}", "do", qn_control_text(text)));
    } else {
        (void)qn_mistakes_fail(&mistakes, &err);
        qn_control_answer(call, 400,
                          json_pack("{s:o, s:o}", "error",
                                    qn_control_text(qn_str_from_cstr(err.message)), "errors",
                                    qn_mistakes_list(&mistakes, false)));
    }
    qn_mistakes_done(&mistakes);
    json_decref(body);
}
