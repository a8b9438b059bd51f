/* The calls of the effect sink. */
#include "chaos/check/routes.h"

#include "chaos/check/blobs.h"
#include "chaos/check/routes_call.h"
#include "chaos/check/unit_key.h"

enum {
    ITEMS_MAX = 100,
    TOLD_MAX = 200, /* of a path */
};

/* A call that a rule holds or delays, with the answer that it gets then. */
struct parked {
    struct parked *next;
    int64_t number; /* below 0, so that it is no run of the ledger */
    int64_t due_ms; /* INT64_MAX: when it is released, if ever */
    void *owner;
    struct qn_effect_answer answer; /* its text is a literal, or outlives the routes */
};

struct qn_routes {
    struct qn_routes_options options;
    struct qn_effects *effects;
    struct qn_table versions; /* int64_t by entity */
    struct parked *parked;
    int64_t last_number;
    struct qn_blobs *blobs;
};

struct qn_routes *qn_routes_new(const struct qn_routes_options *options)
{
    struct qn_routes *routes = qn_memory_new(sizeof(*routes));

    routes->options = *options;
    routes->effects = qn_effects_new(&options->effects);
    qn_table_init(&routes->versions, sizeof(int64_t));
    routes->blobs = qn_blobs_new();
    return routes;
}

void qn_routes_free(struct qn_routes *routes)
{
    if (routes == NULL) {
        return;
    }
    qn_effects_free(routes->effects);
    qn_table_done(&routes->versions);
    qn_blobs_free(routes->blobs);
    qn_memory_free(routes);
}

struct qn_effects *qn_routes_effects(struct qn_routes *routes)
{
    return routes->effects;
}

static void answer(const struct qn_call *call, int status, const char *text)
{
    const struct qn_effects_options *o = &call->options->effects;
    const struct qn_effect_answer full = {.status = status, .text = qn_str_from_cstr(text)};

    o->answer(o->state, call->owner, &full);
}

struct qn_str qn_call_instance(const struct qn_call *call, struct qn_str k)
{
    const struct qn_routes_options *o = call->options;

    return o->instance_of != NULL ? o->instance_of(o->effects.state, call->request->instance, k)
                                  : call->request->instance;
}

void qn_call_refuse(const struct qn_call *call, int status, const char *why)
{
    const struct qn_routes_request *request = call->request;
    struct qn_check_event event;
    struct qn_check_detail detail;
    struct qn_buf target;
    struct qn_buf text;

    qn_buf_init(&target, SIZE_MAX / 2);
    qn_buf_init(&text, SIZE_MAX / 2);
    qn_buf_append_format(&target, "%.*s %.*s", QN_STR_ARG(request->method),
                         QN_STR_ARG(qn_str_first(request->path, TOLD_MAX)));
    qn_buf_append_format(&text, "{\"error\":\"%s\"}", why);
    if (!qn_str_equal(request->method, QN_STR("GET"))) {
        qn_check_event_init(&event, &detail, QN_CHECK_REFUSED);
        event.status = status;
        event.instance = qn_call_instance(call, QN_STR_NONE);
        detail.target = qn_buf_str(&target);
        detail.reason = qn_str_from_cstr(why);
        qn_record(call->options->effects.recorder, &event);
    }
    qn_buf_append_char(&text, '\0');
    answer(call, status, text.ptr);
    qn_buf_done(&target);
    qn_buf_done(&text);
}

/* Fills in what the headers tell. */
static void begin(const struct qn_call *call, struct qn_effect_call work)
{
    const struct qn_routes_request *request = call->request;

    work.mid = request->message_id;
    if (!qn_str_to_int64(request->receive_count, 1, INT32_MAX, &work.n)) {
        work.n = QN_EVENT_NO_INT;
    }
    work.instance = qn_call_instance(call, work.items[0].k);
    qn_effects_begin(call->routes->effects, &work, call->now_ms, call->owner);
}

static void begin_work(const struct qn_call *call, struct qn_str step)
{
    const struct qn_routes_request *request = call->request;
    struct qn_effect_item items[ITEMS_MAX];
    bool is_bulk = json_is_array(call->body) && json_array_size(call->body) > 0;
    size_t count = is_bulk ? json_array_size(call->body) : 1;

    if (count > ITEMS_MAX) {
        qn_call_refuse(call, 413, "at most 100 units in one call");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *unit = is_bulk ? json_array_get(call->body, i) : call->body;
        items[i] = qn_unit_item(call->options, request, unit);
    }
    begin(call,
          (struct qn_effect_call){
              .ik = request->idempotency_key, .step = step, .items = items, .item_count = count});
}

static void post_effect(const struct qn_call *call)
{
    begin_work(call, QN_STR_NONE);
}

static void post_step(const struct qn_call *call)
{
    begin_work(call, call->rest);
}

static void park(const struct qn_call *call, int64_t number, int64_t due_ms,
                 const struct qn_effect_answer *answer)
{
    struct parked *parked = qn_memory_new(sizeof(*parked));

    *parked = (struct parked){.next = call->routes->parked,
                              .number = number,
                              .due_ms = due_ms,
                              .owner = call->owner,
                              .answer = *answer};
    call->routes->parked = parked;
}

/* Asks the rules about a call that is answered at once, and records it unless a rule keeps it from
 * being carried out. */
static void conclude_with(const struct qn_call *call, struct qn_check_event *event,
                          struct qn_effect_answer answer)
{
    const struct qn_effects_options *o = &call->options->effects;
    struct qn_effect_verdict verdict = {.fate = QN_EFFECT_GO_ON};
    int64_t number = --call->routes->last_number;
    int64_t due_ms = call->now_ms + verdict.delay_ms;

    event->run = number;
    if (o->at_event != NULL) {
        verdict = o->at_event(o->state, event);
    }
    event->run = QN_EVENT_NO_INT;
    if (verdict.fate == QN_EFFECT_STATUS) {
        answer = (struct qn_effect_answer){.status = verdict.status,
                                           .text = QN_STR("{\"error\":\"a fault\"}")};
    } else if (verdict.fate == QN_EFFECT_BREAK) {
        answer.end = verdict.end;
    }
    if (verdict.fate == QN_EFFECT_GO_ON || verdict.fate == QN_EFFECT_HELD || verdict.commits) {
        qn_record(o->recorder, event);
    }
    due_ms += verdict.delay_ms;
    if (verdict.fate == QN_EFFECT_HELD || verdict.fate == QN_EFFECT_HUNG) {
        park(call, verdict.fate == QN_EFFECT_HELD ? number : 0, INT64_MAX, &answer);
    } else if (verdict.delay_ms > 0) {
        park(call, number, due_ms, &answer);
    } else {
        o->answer(o->state, call->owner, &answer);
    }
}

void qn_call_conclude(const struct qn_call *call, struct qn_check_event *event, const char *text)
{
    conclude_with(
        call, event,
        (struct qn_effect_answer){.status = (int)event->status, .text = qn_str_from_cstr(text)});
}

static void get_effect(const struct qn_call *call)
{
    bool is_applied = qn_effects_is_applied(call->routes->effects, call->rest);
    struct qn_check_event event;

    qn_check_event_init(&event, NULL, QN_CHECK_LOOKUP);
    event.k = qn_unit_key_of_id(call->options, call->rest);
    event.status = is_applied ? 200 : 404;
    event.instance = qn_call_instance(call, event.k);
    qn_call_conclude(call, &event, is_applied ? "{\"applied\":true}" : "{\"applied\":false}");
}

/* A record that the consumer keeps of a message that it will not, or cannot, carry out. */
static void post_record(const struct qn_call *call, enum qn_check_kind kind)
{
    struct qn_check_event event;
    struct qn_check_detail detail;
    struct qn_str key = qn_unit_member(call->body, "key");
    struct qn_str id = qn_unit_member(call->body, "id");

    if (qn_str_is_none(key) && qn_str_is_none(id)) {
        key = qn_unit_key_of_body(call->options, call->request->body);
    }
    if (qn_str_is_none(key) && qn_str_is_none(id)) {
        qn_call_refuse(call, 400,
                       "expected a JSON object with id, or the body of a message as it came");
        return;
    }
    qn_check_event_init(&event, &detail, kind);
    event.k = qn_str_is_none(id) ? key : qn_unit_key_of_id(call->options, id);
    detail.reason = qn_unit_member(call->body, "reason");
    event.instance = qn_call_instance(call, event.k);
    event.status = 200;
    qn_call_conclude(call, &event, "{\"recorded\":true}");
}

static void post_reject(const struct qn_call *call)
{
    post_record(call, QN_CHECK_REJECT);
}

/* All that a handler has to do with the body of a message: an adapter needs no other call. */
static void post_handle(const struct qn_call *call)
{
    struct qn_effect_item item;
    struct qn_str ik;

    switch (qn_unit_read(call->options, call->request, call->body, &item, &ik)) {
    case QN_UNIT_WORK:
        begin(call,
              (struct qn_effect_call){.ik = ik, .items = &item, .item_count = 1, .rejects = true});
        return;
    case QN_UNIT_UNREADABLE:
        post_reject(call);
        return;
    case QN_UNIT_NEWER:
        answer(call, 501, "{\"error\":\"a schemaVersion that this build does not know\"}");
        return;
    case QN_UNIT_UNKNOWN:
        qn_call_refuse(call, 400, "not the body of a message of this run, as it came");
        return;
    }
}

static void post_reconciliation(const struct qn_call *call)
{
    post_record(call, QN_CHECK_RECONCILE);
}

static void put_state(const struct qn_call *call)
{
    const struct qn_effects_options *o = &call->options->effects;
    struct qn_check_event event;
    struct qn_check_detail detail;
    int64_t version = json_integer_value(json_object_get(call->body, "version"));
    bool is_conditional = !qn_str_is_none(call->request->if_version_lower);

    if (version == 0) {
        version =
            json_integer_value(json_object_get(json_object_get(call->body, "payload"), "version"));
    }
    if (is_conditional &&
        !qn_str_to_int64(call->request->if_version_lower, 0, INT64_MAX, &version)) {
        qn_call_refuse(call, 400, "If-Version-Lower is a number");
        return;
    }
    int64_t *stored = qn_table_at(&call->routes->versions, call->rest);
    if (is_conditional && *stored >= version) {
        answer(call, 412, "{\"error\":\"a newer version is there\"}");
        return;
    }
    *stored = version;
    qn_check_event_init(&event, &detail, QN_CHECK_STATE);
    detail.target = call->rest;
    event.n = version;
    event.instance = qn_call_instance(call, QN_STR_NONE);
    qn_record(o->recorder, &event);
    answer(call, 200, "{\"stored\":true}");
}

static void post_ready(const struct qn_call *call)
{
    const struct qn_effects_options *o = &call->options->effects;
    struct qn_check_event event;

    qn_check_event_init(&event, NULL, QN_CHECK_PROC);
    event.what = QN_STR("ready");
    event.instance = qn_call_instance(call, QN_STR_NONE);
    qn_record(o->recorder, &event);
    if (o->at_event != NULL) {
        (void)o->at_event(o->state, &event);
    }
    answer(call, 204, "");
}

static void post_event(const struct qn_call *call)
{
    struct qn_check_event event;
    struct qn_check_detail detail;

    qn_check_event_init(&event, &detail, QN_CHECK_MARK);
    detail.reason = qn_unit_member(call->body, "name");
    if (qn_str_is_none(detail.reason)) {
        detail.reason = QN_STR("event");
    }
    event.instance = qn_call_instance(call, QN_STR_NONE);
    qn_record(call->options->effects.recorder, &event);
    answer(call, 204, "");
}

static void put_blob(const struct qn_call *call)
{
    if (qn_blobs_put(call->routes->blobs, call->rest, call->request->body)) {
        answer(call, 200, "{\"stored\":true}");
    } else {
        qn_call_refuse(call, 422, "the name is not the SHA-256 of the body");
    }
}

/* Of a message of the load. */
static void get_object(const struct qn_call *call, int status, struct qn_str k,
                       struct qn_str content)
{
    struct qn_effect_answer full = {.status = status, .text = content};
    struct qn_check_event event;

    full.type = status == 200 ? "application/octet-stream" : NULL;
    qn_check_event_init(&event, NULL, QN_CHECK_FETCH);
    event.k = k;
    event.status = status;
    event.instance = qn_call_instance(call, k);
    conclude_with(call, &event, full);
}

static void get_blob(const struct qn_call *call)
{
    const struct qn_routes_options *options = call->options;
    const struct qn_effects_options *o = &options->effects;
    struct qn_effect_answer full = {.status = 200, .type = "application/octet-stream"};
    struct qn_str content = QN_STR("{\"error\":\"there is no such blob\"}");
    struct qn_str k;
    int status =
        options->object_of != NULL ? options->object_of(o->state, call->rest, &k, &content) : 0;

    if (status != 0) {
        get_object(call, status, k, content);
    } else if (qn_blobs_get(call->routes->blobs, call->rest, &full.text)) {
        o->answer(o->state, call->owner, &full);
    } else {
        answer(call, 404, content.ptr);
    }
}

static const struct {
    const char *method;
    const char *path; /* one that ends in '/' is a prefix */
    void (*handle)(const struct qn_call *call);
} calls[] = {
    {"POST", "/v1/effects", post_effect},   {"GET", "/v1/effects/", get_effect},
    {"POST", "/v1/rejects", post_reject},   {"POST", "/v1/reconciliations", post_reconciliation},
    {"PUT", "/v1/state/", put_state},       {"POST", "/v1/steps/", post_step},
    {"POST", "/v1/ready", post_ready},      {"POST", "/v1/event", post_event},
    {"POST", "/v1/lambda", qn_call_lambda}, {"PUT", "/v1/blobs/", put_blob},
    {"GET", "/v1/blobs/", get_blob},        {"POST", "/v1/handle", post_handle},
};

void qn_routes_handle(struct qn_routes *self, const struct qn_routes_request *request,
                      int64_t now_ms, void *owner)
{
    struct qn_call call = {.routes = self,
                           .options = &self->options,
                           .request = request,
                           .now_ms = now_ms,
                           .owner = owner};
    bool path_exists = false;

    if (request->is_too_large) {
        qn_call_refuse(&call, 413, "at most 8 MiB in one call");
        return;
    }
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct qn_str path = qn_str_from_cstr(calls[i].path);
        bool is_prefix = qn_str_ends_with(path, QN_STR("/"));
        bool fits = is_prefix
                        ? qn_str_starts_with(request->path, path) && request->path.len > path.len
                        : qn_str_equal(request->path, path);
        path_exists = path_exists || fits;
        if (fits && qn_str_equal(request->method, qn_str_from_cstr(calls[i].method))) {
            call.rest = qn_str_from(request->path, path.len);
            call.body = json_loadb(request->body.ptr != NULL ? request->body.ptr : "",
                                   request->body.len, JSON_ALLOW_NUL, NULL);
            calls[i].handle(&call);
            json_decref(call.body);
            return;
        }
    }
    qn_call_refuse(&call, path_exists ? 405 : 404, "no such call");
}

/* Takes out and answers those that fit: the one with this number, or all that are due. */
static void answer_parked(struct qn_routes *routes, int64_t number, int64_t now_ms)
{
    const struct qn_effects_options *o = &routes->options.effects;
    struct parked **at = &routes->parked;

    while (*at != NULL) {
        struct parked *parked = *at;
        if (parked->due_ms > now_ms && (number == 0 || parked->number != number)) {
            at = &parked->next;
            continue;
        }
        *at = parked->next;
        o->answer(o->state, parked->owner, &parked->answer);
        qn_memory_free(parked);
    }
}

void qn_routes_run(struct qn_routes *routes, int64_t now_ms)
{
    qn_effects_run(routes->effects, now_ms);
    answer_parked(routes, 0, now_ms);
}

int64_t qn_routes_next_ms(const struct qn_routes *routes)
{
    int64_t next_ms = qn_effects_next_ms(routes->effects);

    for (const struct parked *parked = routes->parked; parked != NULL; parked = parked->next) {
        next_ms = parked->due_ms < next_ms ? parked->due_ms : next_ms;
    }
    return next_ms;
}

void qn_routes_release(struct qn_routes *routes, int64_t run, int64_t now_ms)
{
    if (run > 0) {
        (void)qn_effects_release(routes->effects, run, now_ms);
    } else {
        answer_parked(routes, run, INT64_MIN);
    }
}

void qn_routes_close_all(struct qn_routes *routes)
{
    qn_effects_close_all(routes->effects);
    answer_parked(routes, 0, INT64_MAX);
}
