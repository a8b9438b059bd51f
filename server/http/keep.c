/* What happened is kept: rows go to the journal, events to the trace, in this order and before
 * anybody is answered. */
#include "server/http/internal.h"

#include "server/actions/batch.h"
#include "server/base/log.h"

enum { PARAMETERS_MAX = 64 * 1024, AGENT_MAX = 300 };

void qn_tx_init(struct qn_loop *loop, struct qn_tx *tx, struct qn_arena *arena,
                struct qn_random *random)
{
    *tx = (struct qn_tx){
        .engine = loop->parts.engine,
        .now_ms = loop->now_ms,
        .random = random,
        .arena = arena,
        .entry = loop->parts.journal == NULL ? NULL : &loop->entry,
        .events = &loop->events,
    };
}

static void observe(void *state, const struct qn_event *event)
{
    struct qn_loop *loop = state;

    qn_plan_observe(loop->parts.plan, event, loop->now_ms);
}

static uint64_t keep_entry(struct qn_loop *loop)
{
    struct qn_journal *journal = loop->parts.journal;
    uint64_t lsn;

    if (journal == NULL) {
        return 0;
    }
    if (loop->entry.len == 0) {
        return qn_journal_last_lsn(journal);
    }
    lsn = qn_journal_append(journal, qn_buf_str(&loop->entry), loop->now_ms);
    qn_engine_entry_appended(loop->parts.engine, lsn);
    qn_buf_clear(&loop->entry);
    return lsn;
}

static void append_events(struct qn_loop *loop, uint64_t lsn, bool observed)
{
    if (loop->record != NULL) {
        qn_record_faults(loop);
    }
    qn_trace_append_list(loop->parts.trace, &loop->events, lsn, loop->now_ms, loop->wall_ms,
                         observed ? observe : NULL, loop);
}

void qn_loop_keep(struct qn_loop *loop)
{
    uint64_t lsn = keep_entry(loop);

    if (loop->events.encoded.len == 0) {
        return;
    }
    append_events(loop, lsn, qn_loop_has_rules(loop));
    if (qn_loop_has_rules(loop)) {
        qn_plan_take_events(loop->parts.plan, &loop->events);
        append_events(loop, lsn, false);
    }
}

void qn_keep_instant(struct qn_loop *loop)
{
    struct qn_journal *journal = loop->parts.journal;

    if (journal != NULL && qn_journal_has_room(journal)) {
        (void)qn_journal_append(journal, QN_STR(""), loop->now_ms);
    }
}

void qn_keep_refresh(struct qn_loop *loop)
{
    struct qn_legacy *legacy = loop->parts.legacy;

    loop->has_rules = qn_plan_has_work(loop->parts.plan);
    loop->events.wanted = loop->trace_is_wanted || qn_plan_wants_events(loop->parts.plan);
    qn_engine_keep_deleted(loop->parts.engine, qn_plan_resurrects(loop->parts.plan));
    qn_restore_refresh(loop);
    if (legacy != NULL) {
        legacy->trace_is_wanted = loop->trace_is_wanted;
        if (!qn_legacy_save_rules(legacy, loop->parts.plan, loop->now_ms)) {
            qn_log(QN_LOG_WARN, "chaos",
                   "more rules than outlive a crash, it will bring the ones "
                   "from before the last change");
        }
    }
}

static void append(struct qn_loop *loop, const struct qn_event *event)
{
    (void)qn_trace_append(loop->parts.trace, event, loop->wall_ms);
    /* Rules that come later count from a mark that was before them. */
    if (event->kind == QN_EVENT_MARK) {
        observe(loop, event);
        qn_plan_take_events(loop->parts.plan, &loop->events);
        if (loop->events.encoded.len > 0) {
            append_events(loop, 0, false);
        }
    }
}

/* What both events of a call have in common. */
static void init_api(const struct qn_call *call, struct qn_event *event, enum qn_event_kind kind)
{
    const struct qn_request *request = &call->request;

    qn_event_init(event, kind);
    event->virtual_ms = call->loop->now_ms;
    event->request = qn_str(request->request_id, 36);
    if (request->action != NULL) {
        event->action = qn_action_name(request->action);
    }
    event->account = call->account;
    event->queue = call->queue;
    event->instance = request->caller.access_key_id;
    event->listener = call->client->port;
    event->connection = call->client->number;
}

void qn_keep_api_in(struct qn_call *call)
{
    const struct qn_caller *caller = &call->request.caller;
    struct qn_event event;
    struct qn_buf parameters;

    init_api(call, &event, QN_EVENT_API_IN);
    event.invocation_id = caller->invocation_id;
    if (caller->sdk_attempt > 0) {
        event.sdk_attempt = caller->sdk_attempt;
    }
    qn_buf_init(&parameters, PARAMETERS_MAX);
    if (call->loop->events.wanted) {
        event.region = caller->region;
        if (!call->client->is_known) {
            event.user_agent = qn_str_first(caller->user_agent, AGENT_MAX);
        }
        call->client->is_known = true;
    }
    if (call->loop->events.wanted && call->request.input != NULL) {
        qn_wire_describe_input(&call->request, &parameters);
        if (!parameters.overflow) {
            event.parameters = qn_buf_str(&parameters);
        }
    }
    append(call->loop, &event);
    qn_buf_done(&parameters);
    if (call->loop->record != NULL) {
        qn_record_request(call);
    }
}

/* The counts among the attributes that were told: what clients may take for exact. */
static void describe_counts(const struct qn_list *attributes, struct qn_buf *buf)
{
    const struct qn_pair *pairs = attributes->items;

    for (size_t i = 0; i < attributes->count; i++) {
        if (qn_str_starts_with(pairs[i].key, QN_STR("Approximate"))) {
            qn_buf_append_char(buf, buf->len == 0 ? '{' : ',');
            qn_buf_append_json_string(buf, pairs[i].key);
            qn_buf_append_char(buf, ':');
            qn_buf_append_str(buf, pairs[i].value);
        }
    }
}

/* What became of the entries that were not done: the answer as a whole is OK. */
static void describe_failures(const struct qn_list *failed, struct qn_buf *buf)
{
    const struct qn_batch_failure *failures = failed->items;

    for (size_t i = 0; i < failed->count; i++) {
        qn_buf_append_str(buf,
                          i == 0 ? QN_STR(",\"FailedEntries\":[{\"Id\":") : QN_STR(",{\"Id\":"));
        qn_buf_append_json_string(buf, failures[i].id);
        qn_buf_append_literal(buf, ",\"Code\":");
        qn_buf_append_json_string(buf, failures[i].code);
        qn_buf_append_literal(buf, ",\"Message\":");
        qn_buf_append_json_string(buf, failures[i].message);
        qn_buf_append_str(buf, i + 1 < failed->count ? QN_STR("}") : QN_STR("}]"));
    }
}

/* How many of each list the answer has. */
static void describe_output(const struct qn_call *call, struct qn_buf *buf)
{
    const struct qn_shape *output = call->request.action->output;

    for (size_t i = 0; i < output->field_count; i++) {
        const struct qn_field *field = &output->fields[i];
        const struct qn_list *list =
            (const void *)((const char *)call->request.output + field->offset);
        if (field->type == QN_STRUCT_LIST || field->type == QN_STRING_LIST) {
            qn_buf_append_format(buf, "%s\"%s\":%zu", buf->len == 0 ? "{" : ",", field->name,
                                 list->count);
            if (field->element == &qn_batch_failure_shape) {
                describe_failures(list, buf);
            }
        } else if (field->type == QN_STRING_MAP && strcmp(field->name, "Attributes") == 0) {
            describe_counts(list, buf);
        }
    }
    if (buf->len > 0) {
        qn_buf_append_char(buf, '}');
    }
}

void qn_keep_api_out(struct qn_call *call)
{
    struct qn_event event;
    struct qn_buf parameters;

    init_api(call, &event, QN_EVENT_API_OUT);
    event.code = call->code == QN_ERR_NONE
                     ? QN_STR("OK")
                     : qn_str_from_cstr(qn_error_info(call->code)->query_code);
    event.reason = call->code == QN_ERR_NONE ? QN_STR_NONE : call->reason;
    event.http_status = call->status;
    event.bytes = (int64_t)call->answer.len;
    event.rule = call->rule;
    qn_buf_init(&parameters, PARAMETERS_MAX);
    if (call->loop->events.wanted && call->code == QN_ERR_NONE && call->request.output != NULL) {
        describe_output(call, &parameters);
        if (parameters.len > 0 && !parameters.overflow) {
            event.parameters = qn_buf_str(&parameters);
        }
    }
    append(call->loop, &event);
    qn_buf_done(&parameters);
    if (call->is_recorded) {
        qn_record_answer(call);
    }
}

void qn_keep_boot(struct qn_loop *loop)
{
    struct qn_event event;

    qn_event_init(&event, QN_EVENT_BOOT);
    event.virtual_ms = loop->now_ms;
    event.lsn = loop->options.boot_lsn;
    event.count = (int64_t)loop->options.boot;
    append(loop, &event);
}

void qn_keep_clock(struct qn_loop *loop, int64_t from_ms, int64_t to_ms)
{
    struct qn_event event;

    qn_event_init(&event, QN_EVENT_CLOCK);
    event.virtual_ms = from_ms;
    event.from_ms = from_ms;
    event.to_ms = to_ms;
    append(loop, &event);
}

void qn_keep_mark(struct qn_loop *loop, struct qn_str name)
{
    struct qn_event event;

    qn_event_init(&event, QN_EVENT_MARK);
    event.virtual_ms = loop->now_ms;
    event.reason = name;
    append(loop, &event);
}
