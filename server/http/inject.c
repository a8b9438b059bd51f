/* Effects that send messages and change queues: what anybody could do over the API, by the same
 * checks and within the same limits, each in an entry of its own. Only the wait between two purges
 * does not hold: it is for clients. */
#include "server/http/effect.h"

#include <jansson.h>

#include "server/actions/message_input.h"
#include "server/base/json.h"

enum { ARENA_ROOM = 64 * 1024 * 1024 };

static bool fail_as_said(struct qn_work *work)
{
    return qn_work_fail(work, work->err.message);
}

/* ---- through an action ---- */

static struct qn_str url_of(struct qn_work *work)
{
    return qn_arena_format(work->tx.arena, "http://localhost/%.*s/%.*s",
                           QN_STR_ARG(qn_queue_account(work->queue)),
                           QN_STR_ARG(qn_queue_name(work->queue)));
}

static json_t *text_of(struct qn_str text)
{
    return json_stringn(text.ptr, text.len);
}

/* The caller is the queue's own account, in its region. */
static void name_caller(const struct qn_work *work, struct qn_caller *caller)
{
    const struct qn_loop *loop = work->loop;
    struct qn_str account = work->effect->account;

    caller->account = account.len > 0 ? account : loop->defaults.account;
    caller->region = work->effect->region.len > 0 ? work->effect->region : loop->defaults.region;
    if (work->queue != NULL) {
        caller->account = qn_queue_account(work->queue);
        caller->region = qn_queue_region(work->queue);
    }
    caller->url_base = QN_STR("http://localhost");
}

static bool execute(struct qn_work *work, struct qn_request *request)
{
    struct qn_tx *tx = &work->tx;
    void *output;

    name_caller(work, &request->caller);
    tx->caller = &request->caller;
    tx->address = &request->address;
    tx->wait_is_over = true;
    output = qn_arena_alloc(&request->arena, request->action->output->size);
    return output != NULL && request->action->check(tx, request->input, &work->err) &&
           request->action->execute(tx, request->input, output, &work->err);
}

/* The call as it would come over AWS JSON. */
static bool call(struct qn_work *work, const char *action, json_t *input_take)
{
    struct qn_request request = {.http = {.method = QN_STR("POST"),
                                          .path = QN_STR("/"),
                                          .query = QN_STR_NONE,
                                          .content_type = QN_STR("application/x-amz-json-1.0"),
                                          .accept = QN_STR_NONE,
                                          .authorization = QN_STR_NONE,
                                          .host = QN_STR_NONE}};
    char *text = json_dumps(input_take, JSON_COMPACT);
    struct qn_arena *arena = work->tx.arena;
    bool ok;

    json_decref(input_take);
    (void)qn_fail(&work->err, QN_ERR_INTERNAL, "The request needs too much memory.");
    qn_arena_init(&request.arena, ARENA_ROOM);
    request.http.target = qn_arena_format(&request.arena, "AmazonSQS.%s", action);
    request.http.body = qn_str_from_cstr(text != NULL ? text : "");
    work->tx.arena = &request.arena;
    ok = text != NULL && qn_wire_decode(&request, &work->loop->defaults, &work->err) &&
         execute(work, &request);
    work->tx.arena = arena;
    work->tx.caller = NULL;
    work->tx.address = NULL;
    qn_arena_done(&request.arena);
    qn_memory_free(text);
    return ok || fail_as_said(work);
}

/* ---- messages ---- */

static struct qn_str fresh_id(struct qn_work *work)
{
    uint8_t id[16];
    char text[37];

    qn_random_uuid(work->tx.random, id);
    qn_random_format_uuid(id, text);
    return qn_arena_copy(work->tx.arena, qn_str(text, 36));
}

static bool send_one(struct qn_work *work, struct qn_str line)
{
    const struct qn_journal *journal = work->loop->parts.journal;
    json_t *input;

    if (journal != NULL && !qn_journal_has_room(journal)) {
        return qn_work_fail(work, "the database does not keep up or cannot be written");
    }
    input = json_loadb(line.ptr, line.len, 0, NULL);
    json_object_set_new(input, "QueueUrl", text_of(url_of(work)));
    if (!qn_queue_is_fifo(work->queue)) {
        (void)json_object_del(input, "MessageDeduplicationId"); /* as a FIFO queue was exported */
    } else if (json_object_get(input, "MessageDeduplicationId") == NULL) {
        json_object_set_new(input, "MessageDeduplicationId", text_of(fresh_id(work)));
    }
    return call(work, "SendMessage", input);
}

bool qn_inject_send(struct qn_work *work)
{
    struct qn_str rest = work->effect->text;
    bool ok = true;

    if (work->queue == NULL) {
        return qn_work_fail_queue(work);
    }
    while (ok && !qn_str_is_none(rest)) {
        ok = send_one(work, qn_str_cut(rest, '\n', &rest));
        qn_loop_keep(work->loop);
    }
    return ok;
}

/* The attributes of a stored message as they were sent. */
static bool read_attributes(struct qn_work *work, struct qn_str encoded, struct qn_list *ret_list)
{
    struct qn_message_attribute *items;
    struct qn_reader reader;

    *ret_list = (struct qn_list){.present = true};
    items = qn_arena_alloc(work->tx.arena, QN_MESSAGE_ATTRIBUTES_MAX * sizeof(*items));
    if (items == NULL) {
        return false;
    }
    ret_list->items = items;
    qn_reader_init(&reader, encoded);
    while (ret_list->count < QN_MESSAGE_ATTRIBUTES_MAX &&
           qn_content_next_attribute(&reader, &items[ret_list->count])) {
        ret_list->count++;
    }
    return true;
}

/* Sends what the event's message is, under a body of its own perhaps. */
static bool send_again(struct qn_work *work, const struct qn_content *content, struct qn_str body)
{
    bool is_fifo = qn_queue_is_fifo(work->queue);
    struct qn_str group = work->effect->value;
    struct qn_message_input message = {
        .body = body,
        .group_id = qn_str_is_none(group) ? content->group_id : group,
        .deduplication_id = is_fifo ? fresh_id(work) : QN_STR_NONE,
    };
    struct qn_message_output output = {.body_md5 = QN_STR_NONE};
    struct qn_caller caller = {.trace_header = content->trace_header};
    bool ok;

    if (!read_attributes(work, content->attributes, &message.attributes)) {
        return qn_work_fail(work, "the message needs too much memory");
    }
    name_caller(work, &caller);
    work->tx.caller = &caller;
    work->tx.queue = work->queue;
    ok = qn_message_check(&work->tx, &message, false, &work->err) &&
         qn_message_send(&work->tx, &message, false, &output, &work->err);
    work->tx.caller = NULL;
    return ok || fail_as_said(work);
}

/* Its content, in the arena: the engine is called again before it is used. */
static bool read_message(struct qn_work *work, struct qn_content *ret_content)
{
    struct qn_leased leased = qn_work_leased(work);
    struct qn_arena *arena = work->tx.arena;

    if (work->queue == NULL) {
        return qn_work_fail_queue(work);
    }
    if (!qn_engine_read_message(&work->tx, work->queue, &leased, ret_content)) {
        return qn_work_fail(work, "the message is gone");
    }
    ret_content->body = qn_arena_copy(arena, ret_content->body);
    ret_content->attributes = qn_arena_copy(arena, ret_content->attributes);
    ret_content->group_id = qn_arena_copy(arena, ret_content->group_id);
    ret_content->trace_header = qn_arena_copy(arena, ret_content->trace_header);
    return !qn_str_is_none(ret_content->body) ||
           qn_work_fail(work, "the message needs too much memory");
}

bool qn_inject_dup_send(struct qn_work *work)
{
    struct qn_content content;

    return read_message(work, &content) && send_again(work, &content, content.body);
}

static bool is_json(struct qn_work *work, struct qn_str text)
{
    struct qn_json json;

    qn_json_init(&json, text, work->tx.arena);
    return qn_json_skip(&json) && qn_json_finish(&json);
}

/* The first half of the body, cut between two characters, and at least one of them. What still
 * reads as JSON (a number, or the blanks behind a short object) gets a bracket that nothing closes.
 */
static struct qn_str poisoned(struct qn_work *work, struct qn_str body)
{
    size_t len = (body.len + 1) / 2;

    while (len < body.len && ((unsigned char)body.ptr[len] & 0xC0) == 0x80) {
        len++;
    }
    struct qn_str half = qn_str_first(body, len);
    return is_json(work, half) ? qn_arena_format(work->tx.arena, "%.*s{", QN_STR_ARG(half)) : half;
}

bool qn_inject_poison_body(struct qn_work *work)
{
    struct qn_content content;

    return read_message(work, &content) && send_again(work, &content, poisoned(work, content.body));
}

/* ---- queues ---- */

bool qn_inject_redrive(struct qn_work *work)
{
    if (work->queue == NULL) {
        return qn_work_fail_queue(work);
    }
    return call(work, "StartMessageMoveTask",
                json_pack("{s:o}", "SourceArn", text_of(qn_queue_arn(work->queue))));
}

bool qn_inject_purge(struct qn_work *work)
{
    if (work->queue == NULL) {
        return qn_work_fail_queue(work);
    }
    qn_engine_purge_queue(&work->tx, work->queue);
    return true;
}

bool qn_inject_delete_queue(struct qn_work *work)
{
    if (work->queue == NULL) {
        return qn_work_fail_queue(work);
    }
    return call(work, "DeleteQueue", json_pack("{s:o}", "QueueUrl", text_of(url_of(work))));
}

bool qn_inject_create_queue(struct qn_work *work)
{
    struct qn_str name = work->effect->queue;
    json_t *attributes = json_object();

    if (work->queue != NULL) {
        json_decref(attributes);
        return qn_work_fail(work, "there is a queue of this name");
    }
    if (qn_str_ends_with(name, QN_STR(".fifo"))) {
        json_object_set_new(attributes, "FifoQueue", json_string("true"));
    }
    return call(work, "CreateQueue",
                json_pack("{s:o, s:o}", "QueueName", text_of(name), "Attributes", attributes));
}

/* What is due under the old attributes comes first, slice by slice. */
static void settle(struct qn_work *work)
{
    while (!qn_engine_settle_queue(&work->tx, work->queue)) {
        qn_loop_keep(work->loop);
    }
    qn_loop_keep(work->loop);
}

bool qn_inject_set_attr(struct qn_work *work)
{
    const struct qn_effect *effect = work->effect;
    json_t *attributes;

    if (work->queue == NULL) {
        return qn_work_fail_queue(work);
    }
    settle(work);
    attributes = json_object();
    json_object_setn_new(attributes, effect->text.ptr, effect->text.len, text_of(effect->value));
    return call(
        work, "SetQueueAttributes",
        json_pack("{s:o, s:o}", "QueueUrl", text_of(url_of(work)), "Attributes", attributes));
}
