/* What was done before a purge had time to end. */
#include "chaos/assumptions/detect.h"

/* ---- purge-again ---- */

static void again_at_call(struct qn_view *view, const struct qn_seen_call *call)
{
    const struct qn_seen_queue *queue = qn_scene_queue(view->scene, call->key);

    if (!call->ok || call->action != QN_SEEN_PURGE || queue == NULL || queue->purged.seq == 0) {
        return;
    }
    int64_t waited_ms = qn_between_ms(&queue->purged, &call->in);
    if (waited_ms < QN_PROPAGATION_MS) {
        qn_found(view, call, call->queue, QN_SIGHTS(&queue->purged, &call->in),
                 "purged again after %lld ms", (long long)waited_ms);
    }
}

const struct qn_detector qn_detect_purge_again = {.at_call = again_at_call};

/* ---- send-after-purge ---- */

struct sent {
    uint64_t purged; /* seq of the purge that was named already */
};

static void send_at_call(struct qn_view *view, const struct qn_seen_call *call)
{
    const struct qn_seen_queue *queue = qn_scene_queue(view->scene, call->key);

    /* A producer that goes on while somebody else purges accepts the loss. */
    if (!call->ok || call->action != QN_SEEN_SEND || call->sent == 0 || queue == NULL ||
        queue->purged.seq == 0 || !qn_seen_same_client(&queue->purged, &call->in)) {
        return;
    }
    int64_t waited_ms = qn_between_ms(&queue->purged, &call->in);
    if (waited_ms >= QN_PROPAGATION_MS) {
        return;
    }
    struct sent *sent = qn_memo_at(view->memo, call->key);
    if (sent->purged != queue->purged.seq) {
        sent->purged = queue->purged.seq;
        qn_found(view, call, call->queue, QN_SIGHTS(&queue->purged, &call->in),
                 "sent %lld ms after the same client had purged the queue", (long long)waited_ms);
    }
}

const struct qn_detector qn_detect_send_after_purge = {.entry_size = sizeof(struct sent),
                                                       .at_call = send_at_call};

/* ---- deduplication-after-purge ---- */

enum { DEDUPLICATION_MS = 300000, ID_ROOM = 512 };

struct first_send {
    struct qn_sight call;
};

static void check_id(struct qn_view *view, const struct qn_seen_call *call,
                     const struct qn_seen_queue *queue, struct qn_str id)
{
    char room[ID_ROOM];
    struct qn_buf key = {.ptr = room, .cap = sizeof(room), .max = sizeof(room)};

    qn_buf_append_str(&key, call->key);
    qn_buf_append_char(&key, ' ');
    qn_buf_append_str(&key, id);
    if (key.overflow) {
        return;
    }
    struct first_send *first = qn_memo_find(view->memo, qn_buf_str(&key));
    if (first != NULL && queue != NULL && queue->purged.seq > first->call.seq &&
        qn_seen_same_client(&queue->purged, &call->in) &&
        qn_between_ms(&first->call, &call->in) < DEDUPLICATION_MS) {
        qn_found(view, call, call->queue, QN_SIGHTS(&first->call, &queue->purged, &call->in),
                 "deduplication id %.*s sent again %lld ms after its first message, which was "
                 "purged, and taken for new",
                 QN_STR_ARG(qn_str_first(id, 64)),
                 (long long)qn_between_ms(&first->call, &call->in));
    }
    first = qn_memo_at(view->memo, qn_buf_str(&key));
    first->call = call->in;
}

static void deduplication_at_call(struct qn_view *view, const struct qn_seen_call *call)
{
    /* Only when every entry became a message is it plain which ids were taken for new. */
    if (!call->ok || call->action != QN_SEEN_SEND || call->sent != call->params.entry_count) {
        return;
    }
    for (size_t i = 0; i < call->params.entry_count; i++) {
        struct qn_str id = call->params.entries[i].deduplication_id;
        if (id.len > 0) {
            check_id(view, call, qn_scene_queue(view->scene, call->key), id);
        }
    }
}

const struct qn_detector qn_detect_deduplication_after_purge = {
    .entry_size = sizeof(struct first_send), .at_call = deduplication_at_call};
