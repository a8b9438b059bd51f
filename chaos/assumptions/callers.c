/* Who asks, and by what name: things that Quern does not check and AWS does. */
#include "chaos/assumptions/detect.h"

static struct qn_str client_key(struct qn_pair_key *room, const struct qn_seen_call *call)
{
    return qn_pair_key(room, call->in.conn, call->key);
}

/* False: this client was named for this queue already. */
static bool is_first(struct qn_view *view, const struct qn_seen_call *call)
{
    struct qn_pair_key room;
    bool *named = qn_memo_at(view->memo, client_key(&room, call));
    bool is = !*named;

    *named = true;
    return is;
}

/* ---- bare-queue-name ---- */

static void bare_at_call(struct qn_view *view, const struct qn_seen_call *call)
{
    struct qn_str url = call->params.queue_url;

    if (call->ok && url.len > 0 && qn_str_find(url, QN_STR("://")) == url.len &&
        is_first(view, call)) {
        qn_found(view, call, call->queue, QN_SIGHTS(&call->in),
                 "%.*s with QueueUrl \"%.*s\", which is no URL", QN_STR_ARG(call->action_name),
                 QN_STR_ARG(qn_str_first(url, 100)));
    }
}

const struct qn_detector qn_detect_bare_queue_name = {.entry_size = sizeof(bool),
                                                      .at_call = bare_at_call};

/* ---- unsigned-request ---- */

/* What no policy can open to others: a request without a signature has no owner. */
static bool is_for_owners(struct qn_str action)
{
    static const char *const names[] = {
        "AddPermission",
        "CancelMessageMoveTask",
        "CreateQueue",
        "DeleteQueue",
        "ListMessageMoveTasks",
        "ListQueues",
        "ListQueueTags",
        "RemovePermission",
        "SetQueueAttributes",
        "StartMessageMoveTask",
        "TagQueue",
        "UntagQueue",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (qn_str_equal(action, qn_str_from_cstr(names[i]))) {
            return true;
        }
    }
    return false;
}

static void unsigned_at_call(struct qn_view *view, const struct qn_seen_call *call)
{
    if (call->ok && qn_str_is_none(call->instance) && is_for_owners(call->action_name) &&
        is_first(view, call)) {
        qn_found(view, call, call->queue, QN_SIGHTS(&call->in), "%.*s without a signature",
                 QN_STR_ARG(call->action_name));
    }
}

const struct qn_detector qn_detect_unsigned_request = {.entry_size = sizeof(bool),
                                                       .at_call = unsigned_at_call};

/* ---- other-account: an access key of 12 digits is its account. ---- */

static bool is_account(struct qn_str text)
{
    int64_t number;

    return text.len == 12 && qn_str_to_int64(text, 0, INT64_MAX, &number);
}

static void account_at_call(struct qn_view *view, const struct qn_seen_call *call)
{
    const struct qn_seen_queue *queue = qn_scene_queue(view->scene, call->key);

    if (!call->ok || queue == NULL || !queue->is_known || !is_account(call->instance) ||
        qn_str_equal(call->instance, qn_str_from_cstr(queue->account)) ||
        (queue->settings.has_policy && !is_for_owners(call->action_name)) ||
        !is_first(view, call)) {
        return;
    }
    qn_found(view, call, call->queue, QN_SIGHTS(&queue->created, &call->in),
             "%.*s by account %.*s on a queue of account %s, which gave no permission",
             QN_STR_ARG(call->action_name), QN_STR_ARG(call->instance), queue->account);
}

const struct qn_detector qn_detect_other_account = {.entry_size = sizeof(bool),
                                                    .at_call = account_at_call};

/* ---- other-region: with --region any a queue answers to every region. ---- */

struct home {
    struct qn_sight created;
    char region[64];
    char named[64]; /* the foreign region that was named last */
    bool is_shared; /* the server does not tell regions apart: the queue's is not its creator's */
};

static void copy_region(char *room, struct qn_str region)
{
    region = qn_str_first(region, sizeof(((struct home *)0)->region) - 1);
    memset(room, 0, sizeof(((struct home *)0)->region));
    if (region.len > 0) {
        memcpy(room, region.ptr, region.len);
    }
}

static struct qn_str home_key(struct qn_pair_key *room, const struct qn_event *event)
{
    /* Account and name only: the number in front keeps the form. */
    struct qn_pair_key joined;
    struct qn_buf key = {
        .ptr = joined.text, .cap = sizeof(joined.text), .max = sizeof(joined.text)};

    qn_buf_append_str(&key, event->account);
    qn_buf_append_char(&key, '/');
    qn_buf_append_str(&key, event->queue);
    return qn_pair_key(room, 0, qn_buf_str(&key));
}

static void region_at_event(struct qn_view *view, const struct qn_event *event,
                            const struct qn_seen_call *call)
{
    struct qn_pair_key room;
    struct home *home;

    if (event->kind == QN_EVENT_QUEUE_CREATE) {
        if (call == NULL || call->is_ours || call->region.len == 0) {
            qn_memo_remove(view->memo, home_key(&room, event));
            return;
        }
        home = qn_memo_at(view->memo, home_key(&room, event));
        *home = (struct home){.created = call->in,
                              .is_shared = !qn_str_equal(event->region, call->region)};
        copy_region(home->region, call->region);
        return;
    }
    home = qn_memo_find(view->memo, home_key(&room, event));
    if (home == NULL || call == NULL || call->region.len == 0 ||
        qn_str_equal(call->region, qn_str_from_cstr(home->region)) ||
        qn_str_equal(call->region, qn_str_from_cstr(home->named)) ||
        !(home->is_shared || event->region.len > 0)) {
        return;
    }
    copy_region(home->named, call->region);
    qn_found(view, call, call->queue, QN_SIGHTS(&home->created, &call->in),
             "%.*s in region %s on a queue that was created in %s", QN_STR_ARG(call->action_name),
             home->named, home->region);
}

const struct qn_detector qn_detect_other_region = {.entry_size = sizeof(struct home),
                                                   .at_event = region_at_event};
