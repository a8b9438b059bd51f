/* How the scene follows the events. */
#include "chaos/assumptions/scene.h"

static bool is_fifo(struct qn_str name)
{
    return qn_str_ends_with(name, QN_STR(".fifo"));
}

static struct qn_seen_queue *queue_at(struct qn_scene *scene, struct qn_str key,
                                      struct qn_str account, struct qn_str name)
{
    struct qn_seen_queue *queue = qn_memo_at(&scene->queues, key);

    if (queue->name[0] == '\0') {
        name = qn_str_first(name, sizeof(queue->name) - 1);
        account = qn_str_first(account, sizeof(queue->account) - 1);
        memcpy(queue->name, name.ptr, name.len);
        if (account.len > 0) {
            memcpy(queue->account, account.ptr, account.len);
        }
        queue->is_fifo = is_fifo(name);
        queue->only_conn = QN_SEEN_NOBODY;
    }
    return queue;
}

static struct qn_seen_queue *queue_of_call(struct qn_scene *scene, const struct qn_seen_call *call)
{
    return qn_str_is_none(call->key) ? NULL
                                     : queue_at(scene, call->key, call->account, call->queue);
}

/* ---- queues ---- */

static void set_integer(const struct qn_seen_call *call, const char *name, int64_t *value)
{
    int64_t given;

    if (qn_str_to_int64(qn_seen_attribute_of(call, name), 0, INT32_MAX, &given)) {
        *value = given;
    }
}

static void set_text(const struct qn_seen_call *call, const char *name, bool *has)
{
    struct qn_str given = qn_seen_attribute_of(call, name);

    if (!qn_str_is_none(given)) {
        *has = given.len > 0;
    }
}

static void apply_settings(const struct qn_seen_call *call, struct qn_seen_settings *settings)
{
    struct qn_str by_content = qn_seen_attribute_of(call, "ContentBasedDeduplication");

    set_integer(call, "VisibilityTimeout", &settings->visibility_s);
    set_integer(call, "DelaySeconds", &settings->delay_s);
    set_integer(call, "ReceiveMessageWaitTimeSeconds", &settings->wait_s);
    set_text(call, "RedrivePolicy", &settings->has_redrive);
    set_text(call, "Policy", &settings->has_policy);
    if (!qn_str_is_none(by_content)) {
        settings->deduplicates_by_content = qn_str_equal_nocase(by_content, QN_STR("true"));
    }
}

static void drop_messages(struct qn_scene *scene, struct qn_seen_queue *queue)
{
    while (queue->first != NULL) {
        qn_memo_drop(&scene->messages, queue->first);
    }
}

/* Without a request it is the server's own doing: then nothing is known of it. */
static void create(struct qn_scene *scene, struct qn_seen_call *call)
{
    struct qn_seen_queue *queue = call != NULL ? queue_of_call(scene, call) : NULL;

    if (queue == NULL) {
        return;
    }
    drop_messages(scene, queue);
    queue->is_known = call->action == QN_SEEN_CREATE_QUEUE;
    queue->by_client = queue->is_known && !call->is_ours;
    queue->created = call->in;
    queue->deleted = queue->purged = queue->changed = (struct qn_sight){0};
    queue->only_conn = QN_SEEN_NOBODY;
    queue->settings = (struct qn_seen_settings){.visibility_s = 30};
    apply_settings(call, &queue->settings);
}

/* Without a request the region is not known: all queues of this name. */
static void purge(struct qn_scene *scene, const struct qn_event *event, struct qn_seen_call *call)
{
    if (call != NULL && !qn_str_is_none(call->key)) {
        drop_messages(scene, queue_of_call(scene, call));
        return;
    }
    for (struct qn_memo_item *item = scene->queues.oldest; item != NULL; item = item->newer) {
        struct qn_seen_queue *queue = item->value;
        if (qn_str_equal(qn_str_from_cstr(queue->name), event->queue)) {
            drop_messages(scene, queue);
            queue->is_known = false;
        }
    }
}

/* ---- messages ---- */

static struct qn_seen_message *message_at(struct qn_scene *scene, const struct qn_event *event,
                                          const struct qn_seen_call *call)
{
    struct qn_seen_message *message = qn_memo_at(&scene->messages, event->message_id);

    if (message->is_seen) {
        return message;
    }
    message->is_seen = true;
    struct qn_str id = qn_str_first(event->message_id, sizeof(message->id) - 1);
    memcpy(message->id, id.ptr, id.len);
    message->queue = call != NULL ? queue_of_call(scene, call) : NULL;
    if (message->queue != NULL) {
        message->previous = message->queue->last;
        if (message->previous != NULL) {
            message->previous->next = message;
        } else {
            message->queue->first = message;
        }
        message->queue->last = message;
    }
    return message;
}

static void send(struct qn_scene *scene, const struct qn_event *event, struct qn_seen_call *call)
{
    qn_memo_remove(&scene->messages, event->message_id);
    struct qn_seen_message *message = message_at(scene, event, call);

    message->sent = scene->now;
    message->visible_from_ms =
        event->deadline_ms != QN_EVENT_NO_INT ? event->deadline_ms : event->virtual_ms;
    if (call != NULL) {
        message->sent.conn = call->in.conn;
        message->delay_by_queue = call->params.entry_count == 1 && call->has_params &&
                                  call->params.entries[0].delay_s == QN_EVENT_NO_INT;
        call->sent++;
    }
}

static void grant(struct qn_scene *scene, const struct qn_event *event, struct qn_seen_call *call)
{
    struct qn_seen_message *message = message_at(scene, event, call);
    struct qn_seen_lease *lease = &message->leases[message->lease_count % QN_SEEN_LEASES_MAX];

    if (message->lease_count == 0 && message->sent.seq != 0 && message->queue != NULL) {
        const struct qn_seen_message *left = qn_seen_left(message->queue, &message->sent);
        if (left != NULL) {
            memcpy(message->passed_id, left->id, sizeof(message->passed_id));
        }
    }
    *lease = (struct qn_seen_lease){
        .handle = qn_str_hash(event->handle),
        .grant = scene->now,
        .deadline_ms = event->deadline_ms,
        .by_queue =
            call != NULL && call->has_params && call->params.visibility_s == QN_EVENT_NO_INT,
    };
    message->lease_count++;
    if (call != NULL) {
        lease->grant.conn = call->in.conn;
        call->granted++;
    }
}

/* NULL when it was not seen. */
static struct qn_seen_lease *latest(struct qn_scene *scene, const struct qn_event *event)
{
    const struct qn_seen_message *message = qn_scene_message(scene, event->message_id);

    return message != NULL ? (struct qn_seen_lease *)(uintptr_t)qn_seen_latest(message) : NULL;
}

static void extend(struct qn_scene *scene, const struct qn_event *event)
{
    struct qn_seen_lease *lease = latest(scene, event);

    if (lease != NULL) {
        lease->deadline_ms = event->deadline_ms;
        lease->was_extended = true;
        lease->is_over = false;
    }
}

static void end_lease(struct qn_scene *scene, const struct qn_event *event)
{
    struct qn_seen_lease *lease = latest(scene, event);

    if (lease != NULL) {
        lease->is_over = true;
        lease->was_released = event->kind == QN_EVENT_LEASE_RELEASE;
        if (lease->deadline_ms > event->virtual_ms) {
            lease->deadline_ms = event->virtual_ms;
        }
    }
}

/* ---- all ---- */

void qn_scene_apply_event(struct qn_scene *scene, const struct qn_event *event,
                          struct qn_seen_call *call)
{
    bool has_message = event->message_id.len > 0;

    if (event->kind == QN_EVENT_QUEUE_CREATE) {
        create(scene, call);
    } else if (event->kind == QN_EVENT_MSG_PURGE) {
        purge(scene, event, call);
    } else if (!has_message) {
        return;
    } else if (event->kind == QN_EVENT_MSG_SEND || event->kind == QN_EVENT_MSG_DUPCOPY) {
        send(scene, event, call);
    } else if (event->kind == QN_EVENT_LEASE_GRANT) {
        grant(scene, event, call);
    } else if (event->kind == QN_EVENT_LEASE_EXTEND) {
        extend(scene, event);
    } else if (event->kind == QN_EVENT_LEASE_RELEASE || event->kind == QN_EVENT_LEASE_EXPIRE) {
        end_lease(scene, event);
    } else { /* deleted, expired, moved: no more in this queue */
        qn_memo_remove(&scene->messages, event->message_id);
    }
}

/* A receive that found nothing and a deduplicated send change nothing. */
static bool changes_messages(const struct qn_seen_call *call)
{
    switch (call->action) {
    case QN_SEEN_SEND:
        return call->sent > 0;
    case QN_SEEN_RECEIVE:
        return call->granted > 0;
    case QN_SEEN_DELETE:
    case QN_SEEN_CHANGE:
    case QN_SEEN_PURGE:
        return true;
    default:
        return false;
    }
}

void qn_scene_apply_call(struct qn_scene *scene, const struct qn_seen_call *call)
{
    struct qn_seen_queue *queue;

    if (!call->ok || qn_str_is_none(call->key)) {
        return;
    }
    queue = queue_of_call(scene, call);
    if (changes_messages(call)) {
        queue->changed = call->in;
        queue->only_conn = queue->only_conn == QN_SEEN_NOBODY || queue->only_conn == call->in.conn
                               ? call->in.conn
                               : QN_SEEN_SEVERAL;
    }
    if (call->action == QN_SEEN_PURGE) {
        queue->purged = call->in;
    } else if (call->action == QN_SEEN_DELETE_QUEUE) {
        queue->deleted = call->in;
        queue->is_known = false;
    } else if (call->action == QN_SEEN_SET_ATTRIBUTES) {
        apply_settings(call, &queue->settings);
    } else if (call->action == QN_SEEN_ADD_PERMISSION) {
        queue->settings.has_policy = true;
    }
}
