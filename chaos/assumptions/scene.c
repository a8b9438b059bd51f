/* Calls under way, and what detectors ask of the scene. */
#include "chaos/assumptions/scene.h"

enum {
    CALL_ROOM = 256 * 1024, /* bytes of a call's texts; the trace shows at most a quarter of it */
    LEFT_LOOK = 256         /* messages of a queue that are looked at */
};

/* ---- life ---- */

static void drop_call(void *value)
{
    struct qn_seen_call *call = value;

    qn_arena_done(&call->arena);
}

/* The messages stay without a queue. */
static void drop_queue(void *value)
{
    struct qn_seen_queue *queue = value;

    while (queue->first != NULL) {
        struct qn_seen_message *message = queue->first;
        queue->first = message->next;
        message->queue = NULL;
        message->previous = message->next = NULL;
    }
    queue->last = NULL;
}

static void drop_message(void *value)
{
    struct qn_seen_message *message = value;
    struct qn_seen_queue *queue = message->queue;

    if (queue == NULL) {
        return;
    }
    if (message->previous != NULL) {
        message->previous->next = message->next;
    } else {
        queue->first = message->next;
    }
    if (message->next != NULL) {
        message->next->previous = message->previous;
    } else {
        queue->last = message->previous;
    }
}

void qn_scene_init(struct qn_scene *scene)
{
    *scene = (struct qn_scene){.harness = QN_STR_NONE};
    qn_memo_init(&scene->calls, sizeof(struct qn_seen_call), QN_SCENE_CALLS_MAX, drop_call);
    qn_memo_init(&scene->queues, sizeof(struct qn_seen_queue), QN_SCENE_QUEUES_MAX, drop_queue);
    qn_memo_init(&scene->messages, sizeof(struct qn_seen_message), QN_SCENE_MESSAGES_MAX,
                 drop_message);
}

void qn_scene_forget(struct qn_scene *scene)
{
    qn_memo_clear(&scene->calls);
    qn_memo_clear(&scene->messages);
    qn_memo_clear(&scene->queues);
    scene->last_fault = 0;
}

void qn_scene_done(struct qn_scene *scene)
{
    qn_memo_done(&scene->calls);
    qn_memo_done(&scene->messages);
    qn_memo_done(&scene->queues);
}

/* ---- sights ---- */

static void copy_text(char *room, size_t size, struct qn_str text)
{
    size_t len = text.len < size - 1 ? text.len : size - 1;

    if (len > 0) {
        memcpy(room, text.ptr, len);
    }
    room[len] = '\0';
}

struct qn_sight qn_sight_of(const struct qn_event *event, uint64_t seq, int64_t wall_ms)
{
    struct qn_sight sight = {.seq = seq,
                             .vt = event->virtual_ms,
                             .wt = wall_ms,
                             .kind = event->kind,
                             .conn = event->connection};

    copy_text(sight.request, sizeof(sight.request), event->request);
    copy_text(sight.action, sizeof(sight.action), event->action);
    copy_text(sight.instance, sizeof(sight.instance), event->instance);
    copy_text(sight.message_id, sizeof(sight.message_id), event->message_id);
    return sight;
}

int64_t qn_between_ms(const struct qn_sight *from, const struct qn_sight *to)
{
    int64_t virtual_ms = to->vt - from->vt;
    int64_t wall_ms = to->wt - from->wt;

    return virtual_ms > wall_ms ? virtual_ms : wall_ms;
}

bool qn_seen_same_client(const struct qn_sight *a, const struct qn_sight *b)
{
    return a->conn == b->conn && a->conn != QN_EVENT_NO_INT;
}

/* ---- calls ---- */

static enum qn_seen_action action_of(struct qn_str name)
{
    static const struct {
        const char *name;
        enum qn_seen_action action;
    } known[] = {
        {"SendMessage", QN_SEEN_SEND},
        {"SendMessageBatch", QN_SEEN_SEND},
        {"ReceiveMessage", QN_SEEN_RECEIVE},
        {"DeleteMessage", QN_SEEN_DELETE},
        {"DeleteMessageBatch", QN_SEEN_DELETE},
        {"ChangeMessageVisibility", QN_SEEN_CHANGE},
        {"ChangeMessageVisibilityBatch", QN_SEEN_CHANGE},
        {"CreateQueue", QN_SEEN_CREATE_QUEUE},
        {"DeleteQueue", QN_SEEN_DELETE_QUEUE},
        {"PurgeQueue", QN_SEEN_PURGE},
        {"GetQueueAttributes", QN_SEEN_GET_ATTRIBUTES},
        {"SetQueueAttributes", QN_SEEN_SET_ATTRIBUTES},
        {"AddPermission", QN_SEEN_ADD_PERMISSION},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (qn_str_equal(name, qn_str_from_cstr(known[i].name))) {
            return known[i].action;
        }
    }
    return QN_SEEN_OTHER;
}

struct qn_seen_call *qn_scene_begin(struct qn_scene *scene, const struct qn_event *event)
{
    if (qn_str_is_none(event->request)) {
        return NULL;
    }
    qn_memo_remove(&scene->calls, event->request);
    struct qn_seen_call *call = qn_memo_at(&scene->calls, event->request);
    qn_arena_init(&call->arena, CALL_ROOM);
    call->in = scene->now;
    call->action = action_of(event->action);
    call->action_name = qn_arena_copy(&call->arena, event->action);
    call->account = qn_arena_copy(&call->arena, event->account);
    call->queue = qn_arena_copy(&call->arena, event->queue);
    call->region = qn_arena_copy(&call->arena, event->region);
    call->instance = qn_arena_copy(&call->arena, event->instance);
    call->is_ours =
        !qn_str_is_none(event->instance) && qn_str_equal(event->instance, scene->harness);
    if (event->queue.len > 0) {
        call->key = qn_arena_format(&call->arena, "%.*s/%.*s/%.*s", QN_STR_ARG(call->region),
                                    QN_STR_ARG(call->account), QN_STR_ARG(call->queue));
    }
    call->has_params = qn_seen_read_params(event->parameters, call);
    return call;
}

struct qn_seen_call *qn_scene_call(const struct qn_scene *scene, struct qn_str request)
{
    return qn_str_is_none(request) ? NULL : qn_memo_find(&scene->calls, request);
}

void qn_scene_answer(struct qn_scene *scene, struct qn_seen_call *call,
                     const struct qn_event *event)
{
    call->out = scene->now;
    call->ok = qn_str_equal(event->code, QN_STR("OK"));
    call->touched = !qn_str_is_none(event->rule);
    qn_seen_read_told(event->parameters, call);
}

void qn_scene_end(struct qn_scene *scene, struct qn_seen_call *call)
{
    qn_memo_drop(&scene->calls, call);
}

struct qn_str qn_seen_attribute_of(const struct qn_seen_call *call, const char *name)
{
    for (size_t i = 0; i < call->params.attribute_count; i++) {
        if (qn_str_equal(call->params.attributes[i].name, qn_str_from_cstr(name))) {
            return call->params.attributes[i].value;
        }
    }
    return QN_STR_NONE;
}

/* ---- queues and messages ---- */

const struct qn_seen_queue *qn_scene_queue(const struct qn_scene *scene, struct qn_str key)
{
    return qn_str_is_none(key) ? NULL : qn_memo_find(&scene->queues, key);
}

const struct qn_seen_message *qn_scene_message(const struct qn_scene *scene, struct qn_str id)
{
    return qn_str_is_none(id) ? NULL : qn_memo_find(&scene->messages, id);
}

const struct qn_seen_lease *qn_seen_latest(const struct qn_seen_message *message)
{
    return message->lease_count == 0
               ? NULL
               : &message->leases[(message->lease_count - 1) % QN_SEEN_LEASES_MAX];
}

const struct qn_seen_lease *qn_seen_lease(const struct qn_seen_message *message,
                                          struct qn_str handle)
{
    uint64_t hash = qn_str_hash(handle);

    for (uint64_t i = 0; i < message->lease_count && i < QN_SEEN_LEASES_MAX; i++) {
        if (message->leases[i].handle == hash) {
            return &message->leases[i];
        }
    }
    return NULL;
}

const struct qn_seen_message *qn_seen_left(const struct qn_seen_queue *queue,
                                           const struct qn_sight *at)
{
    const struct qn_seen_message *message = queue->first;

    for (int looked = 0; message != NULL && looked < LEFT_LOOK; looked++, message = message->next) {
        if (message->lease_count == 0 && message->sent.seq != 0 && message->sent.seq < at->seq &&
            message->visible_from_ms <= at->vt) {
            return message;
        }
    }
    return NULL;
}
