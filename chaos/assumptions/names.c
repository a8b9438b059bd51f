/* The life of names: used again too early, used too early, or never made. */
#include "chaos/assumptions/detect.h"

/* ---- name-reused ---- */

static void reused_at_event(struct qn_view *view, const struct qn_event *event,
                            const struct qn_seen_call *call)
{
    const struct qn_seen_queue *queue;

    if (event->kind != QN_EVENT_QUEUE_CREATE || call == NULL ||
        call->action != QN_SEEN_CREATE_QUEUE) {
        return;
    }
    queue = qn_scene_queue(view->scene, call->key);
    if (queue == NULL || queue->deleted.seq == 0) {
        return;
    }
    int64_t waited_ms = qn_between_ms(&queue->deleted, &call->in);
    if (waited_ms < QN_PROPAGATION_MS) {
        qn_found(view, call, call->queue, QN_SIGHTS(&queue->deleted, &call->in),
                 "created again %lld ms after it was deleted", (long long)waited_ms);
    }
}

const struct qn_detector qn_detect_name_reused = {.at_event = reused_at_event};

/* ---- use-after-create ---- */

struct used {
    uint64_t created; /* seq of the creation that was named already */
};

static void used_at_call(struct qn_view *view, const struct qn_seen_call *call)
{
    const struct qn_seen_queue *queue = qn_scene_queue(view->scene, call->key);

    /* Reading attributes is how one finds out whether it is there. */
    if (!call->ok || queue == NULL || !queue->is_known || !queue->by_client ||
        (call->action != QN_SEEN_SEND && call->action != QN_SEEN_RECEIVE &&
         call->action != QN_SEEN_PURGE)) {
        return;
    }
    /* Another client may not even know that the queue is new. */
    int64_t waited_ms = qn_between_ms(&queue->created, &call->in);
    if (waited_ms >= QN_PAUSE_MS || !qn_seen_same_client(&queue->created, &call->in)) {
        return;
    }
    struct used *used = qn_memo_at(view->memo, call->key);
    if (used->created != queue->created.seq) {
        used->created = queue->created.seq;
        qn_found(view, call, call->queue, QN_SIGHTS(&queue->created, &call->in),
                 "%.*s %lld ms after the queue was created", QN_STR_ARG(call->action_name),
                 (long long)waited_ms);
    }
}

const struct qn_detector qn_detect_use_after_create = {.entry_size = sizeof(struct used),
                                                       .at_call = used_at_call};

/* ---- queue-not-created ---- */

static void missing_at_event(struct qn_view *view, const struct qn_event *event,
                             const struct qn_seen_call *call)
{
    if (event->kind == QN_EVENT_QUEUE_CREATE && call != NULL &&
        call->action != QN_SEEN_CREATE_QUEUE) {
        qn_found(view, call, call->queue, QN_SIGHTS(&call->in),
                 "%.*s of a queue that nobody had created", QN_STR_ARG(call->action_name));
    }
}

const struct qn_detector qn_detect_queue_not_created = {.at_event = missing_at_event};
