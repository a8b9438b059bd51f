/* What the loop itself wants to know of a request: which queue it names, and the facts on which
 * chaos decides. */
#include "server/http/internal.h"

#include "server/model/queue_url.h"

static size_t offset_of(const struct qn_shape *shape, const char *name, enum qn_field_type type)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        if (shape->fields[i].type == type && strcmp(shape->fields[i].name, name) == 0) {
            return shape->fields[i].offset;
        }
    }
    return SIZE_MAX;
}

void qn_members_init(struct qn_loop *loop)
{
    for (size_t i = 0; i < QN_ACTION_COUNT; i++) {
        const struct qn_shape *input = qn_action_at(i)->input;
        loop->members[i] = (struct qn_members){
            .queue_url = offset_of(input, "QueueUrl", QN_STRING),
            .queue_name = offset_of(input, "QueueName", QN_STRING),
            .entries = offset_of(input, "Entries", QN_STRUCT_LIST),
            .wait = offset_of(input, "WaitTimeSeconds", QN_INTEGER),
            .max = offset_of(input, "MaxNumberOfMessages", QN_INTEGER),
        };
    }
}

static const struct qn_members *members_of(const struct qn_call *call)
{
    return &call->loop->members[call->request.action->id];
}

static const void *member(const struct qn_call *call, size_t offset)
{
    return offset == SIZE_MAX || call->request.input == NULL
               ? NULL
               : (const char *)call->request.input + offset;
}

void qn_facts_name_queue(struct qn_call *call)
{
    const struct qn_members *members = members_of(call);
    const struct qn_str *url = member(call, members->queue_url);
    const struct qn_str *name = member(call, members->queue_name);

    call->account = QN_STR_NONE;
    call->queue = QN_STR_NONE;
    if (url != NULL && !qn_str_is_none(*url)) {
        call->account = call->request.address.account;
        call->queue = call->request.address.name;
    } else if (name != NULL) {
        call->queue = *name;
    }
    if (qn_str_is_none(call->account) && !qn_str_is_none(call->queue)) {
        call->account = call->request.caller.account;
    }
}

bool qn_facts_matter(const struct qn_call *call, enum qn_chaos_point point)
{
    return qn_loop_has_rules(call->loop) && call->request.action != NULL &&
           qn_plan_cares_about(call->loop->parts.plan, point, (size_t)call->request.action->id);
}

static int64_t integer(const struct qn_call *call, size_t offset)
{
    const struct qn_integer *value = member(call, offset);

    return value != NULL && value->present ? value->value : -1;
}

/* A check changes nothing, but with --auto-create it makes the queue: asked only when that is
 * there. */
static bool may_check(struct qn_call *call, struct qn_tx *tx)
{
    struct qn_engine *engine = call->loop->parts.engine;
    struct qn_str region = call->request.caller.region;

    return tx->queue != NULL ||
           qn_engine_find_queue(engine, call->account, region, call->queue) != NULL ||
           qn_engine_find_queue(engine, call->request.caller.account, region, call->queue) != NULL;
}

static void fill_request(struct qn_call *call, struct qn_facts *facts)
{
    const struct qn_request *request = &call->request;
    const struct qn_members *members = members_of(call);
    const struct qn_list *entries = member(call, members->entries);

    *facts = (struct qn_facts){
        .arena = &call->request.arena,
        .request_id = qn_str(request->request_id, 36),
        .action = qn_action_name(request->action),
        .account = call->account,
        .region = request->caller.region,
        .queue = call->queue,
        .instance = request->caller.access_key_id,
        .connection = call->client == NULL ? 0 : call->client->number,
        .listener = call->client == NULL ? 0 : call->client->port,
        .sdk_attempt = request->caller.sdk_attempt,
        .size = (int64_t)request->http.body.len,
        .wait_s = integer(call, members->wait),
        .max = integer(call, members->max),
        .entries = entries != NULL && entries->present ? (int64_t)entries->count : -1,
        .now_ms = call->loop->now_ms,
        .is_fifo = qn_str_ends_with(call->queue, QN_STR(".fifo")),
    };
}

static void look(struct qn_call *call, struct qn_tx *tx, struct qn_facts *facts)
{
    const struct qn_request *request = &call->request;
    struct qn_error ignored;

    if (request->action->look != NULL && may_check(call, tx) &&
        (tx->queue != NULL || request->action->check(tx, request->input, &ignored))) {
        request->action->look(tx, request->input, facts);
    }
}

bool qn_facts_gather(struct qn_call *call, struct qn_tx *tx, enum qn_chaos_point from,
                     enum qn_chaos_point to, struct qn_facts *facts)
{
    struct qn_plan *plan = call->loop->parts.plan;
    unsigned found = 0;
    int point = (int)from;

    while (point <= (int)to && !qn_facts_matter(call, (enum qn_chaos_point)point)) {
        point++;
    }
    if (point > (int)to) {
        return false;
    }
    fill_request(call, facts);
    for (; point <= (int)to; point++) {
        if (qn_facts_matter(call, (enum qn_chaos_point)point)) {
            found |= qn_plan_may_apply(plan, (enum qn_chaos_point)point, facts, point == (int)from);
        }
    }
    /* Whether a poll goes on waiting depends on what there is. */
    if ((found & QN_PLAN_NEEDS_MESSAGES) != 0 ||
        (found != 0 && call->request.action->id == QN_ACTION_receive_message)) {
        look(call, tx, facts);
    }
    return found != 0;
}

static void keep_text(struct qn_call *call, struct qn_str *text)
{
    *text = qn_arena_copy(&call->request.arena, *text);
}

void qn_facts_remember(struct qn_call *call, const struct qn_facts *facts)
{
    call->facts = qn_arena_alloc(&call->request.arena, sizeof(*facts));
    if (call->facts == NULL) {
        return;
    }
    *call->facts = *facts;
    for (size_t i = 0; i < facts->message_count; i++) {
        struct qn_fact_message *message = &facts->messages[i];
        keep_text(call, &message->entry_id);
        keep_text(call, &message->message_id);
        keep_text(call, &message->group);
        keep_text(call, &message->body);
        keep_text(call, &message->handle);
        keep_text(call, &message->attributes);
    }
}

/* A member of a struct of the shape, or NULL. */
static const void *member_of(const void *object, const struct qn_shape *shape, const char *name,
                             enum qn_field_type type)
{
    size_t offset = offset_of(shape, name, type);

    return offset == SIZE_MAX ? NULL : (const char *)object + offset;
}

static void learn_sent(struct qn_facts *facts, struct qn_str entry_id, const struct qn_str *id)
{
    for (size_t i = 0; id != NULL && i < facts->message_count; i++) {
        if (qn_str_equal(facts->messages[i].entry_id, entry_id)) {
            facts->messages[i].message_id = *id;
        }
    }
}

/* The entries that were stored, by their ids. */
static void learn_sent_entries(struct qn_facts *facts, const struct qn_list *successful,
                               const struct qn_shape *shape)
{
    for (size_t i = 0; i < successful->count; i++) {
        const void *entry = (const char *)successful->items + i * shape->size;
        const struct qn_str *entry_id = member_of(entry, shape, "Id", QN_STRING);
        if (entry_id != NULL) {
            learn_sent(facts, *entry_id, member_of(entry, shape, "MessageId", QN_STRING));
        }
    }
}

static void learn_received(struct qn_call *call, struct qn_tx *tx, const struct qn_list *received,
                           const struct qn_shape *shape)
{
    struct qn_facts *facts = call->facts;

    facts->message_count = 0;
    facts->messages = qn_arena_alloc(tx->arena, received->count * sizeof(*facts->messages));
    for (size_t i = 0; facts->messages != NULL && i < received->count; i++) {
        const void *message = (const char *)received->items + i * shape->size;
        const struct qn_str *handle = member_of(message, shape, "ReceiptHandle", QN_STRING);
        struct qn_fact_message *fact = &facts->messages[facts->message_count];
        struct qn_lease lease;
        if (handle == NULL ||
            qn_engine_find_lease(tx, tx->queue, *handle, &lease) != QN_HANDLE_LATEST) {
            continue;
        }
        qn_engine_look_lease(tx, tx->queue, lease.slot, fact);
        fact->group = qn_arena_copy(tx->arena, fact->group);
        fact->entry_index = (int64_t)facts->message_count++;
        fact->handle = *handle;
    }
}

/* The shape of a list's elements. */
static const struct qn_shape *element_of(const struct qn_shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        if (strcmp(shape->fields[i].name, name) == 0) {
            return shape->fields[i].element;
        }
    }
    return NULL;
}

void qn_facts_learn(struct qn_call *call, struct qn_tx *tx)
{
    const struct qn_action *action = call->request.action;
    const void *output = call->request.output;
    const struct qn_shape *shape = action->output;

    if (call->facts == NULL) {
        return;
    }
    if (action->id == QN_ACTION_send_message) {
        learn_sent(call->facts, QN_STR_NONE, member_of(output, shape, "MessageId", QN_STRING));
    } else if (action->id == QN_ACTION_send_message_batch) {
        learn_sent_entries(call->facts, member_of(output, shape, "Successful", QN_STRUCT_LIST),
                           element_of(shape, "Successful"));
    } else if (action->id == QN_ACTION_receive_message) {
        learn_received(call, tx, member_of(output, shape, "Messages", QN_STRUCT_LIST),
                       element_of(shape, "Messages"));
    }
}

const struct qn_facts *qn_facts_after(struct qn_call *call)
{
    static const struct qn_facts none;

    if (call->facts == NULL) {
        call->facts = qn_arena_alloc(&call->request.arena, sizeof(*call->facts));
        if (call->facts == NULL) {
            return &none;
        }
        fill_request(call, call->facts);
    }
    call->facts->code = call->code == QN_ERR_NONE
                            ? QN_STR("OK")
                            : qn_str_from_cstr(qn_error_info(call->code)->query_code);
    return call->facts;
}
