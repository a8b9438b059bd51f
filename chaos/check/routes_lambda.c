/* What `quern lambda` tells the sink of its invocations. */
#include "chaos/check/routes_call.h"
#include "chaos/check/unit_key.h"

/* An event for each message that no filter fits; the last one is still to be recorded. */
static void name_filtered(const struct qn_call *call, const json_t *ids,
                          struct qn_check_event *event)
{
    size_t i;
    const json_t *id;

    json_array_foreach(ids, i, id)
    {
        if (!json_is_string(id)) {
            continue;
        }
        if (!qn_str_is_none(event->mid)) {
            qn_record(call->options->effects.recorder, event);
        }
        event->mid = qn_str(json_string_value(id), json_string_length(id));
        event->k = qn_unit_key_of_id(call->options, event->mid);
        event->n = 1;
    }
}

void qn_call_lambda(const struct qn_call *call)
{
    static const struct {
        const char *what;
        enum qn_check_kind kind;
    } kinds[] = {
        {"invoke", QN_CHECK_LAMBDA_INVOKE},     {"return", QN_CHECK_LAMBDA_RETURN},
        {"wrong", QN_CHECK_LAMBDA_WRONG},       {"error", QN_CHECK_LAMBDA_ERROR},
        {"wrong_id", QN_CHECK_LAMBDA_WRONG_ID}, {"timeout", QN_CHECK_LAMBDA_TIMEOUT},
        {"audit", QN_CHECK_LAMBDA_AUDIT},       {"init", QN_CHECK_LAMBDA_INIT},
        {"filtered", QN_CHECK_LAMBDA_FILTERED}, {"throttled", QN_CHECK_LAMBDA_THROTTLED},
        {"started", QN_CHECK_LAMBDA_STARTED},   {"not_started", QN_CHECK_LAMBDA_NOT_STARTED},
    };
    const json_t *ids = json_object_get(call->body, "ids");
    const json_t *failed = json_object_get(call->body, "failed");
    struct qn_check_event event;
    struct qn_check_detail detail;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!qn_str_equal(qn_unit_member(call->body, "what"), qn_str_from_cstr(kinds[i].what))) {
            continue;
        }
        qn_check_event_init(&event, &detail, kinds[i].kind);
        event.req = qn_unit_member(call->body, "request");
        detail.reason = qn_unit_member(call->body, "why");
        event.n = ids != NULL ? (int64_t)json_array_size(ids) : QN_EVENT_NO_INT;
        detail.count = failed != NULL ? (int64_t)json_array_size(failed) : QN_EVENT_NO_INT;
        event.instance = qn_call_instance(call, QN_STR_NONE);
        event.status = 200;
        if (event.kind == QN_CHECK_LAMBDA_FILTERED) {
            name_filtered(call, ids, &event);
        }
        qn_call_conclude(call, &event, "{}");
        return;
    }
    qn_call_refuse(call, 400,
                   "what is one of init, started, not_started, invoke, return, wrong, "
                   "wrong_id, error, timeout, "
                   "throttled, filtered, audit");
}
