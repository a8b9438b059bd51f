/* Answers of a receive that were taken to say more than they do: that nothing is there, or that
 * nothing more is. Seen when something was there and was never asked for again. Only fault rules
 * make Quern answer so; AWS may at any time. FIFO queues hold messages back for their own reasons.
 */
#include "chaos/assumptions/detect.h"

struct poll {
    struct qn_sight last;
    char left[40]; /* the message that was there, or empty: nothing is claimed */
    bool says;     /* the answer was such a one */
    bool copes;    /* asked again behind one: it knows better */
    int64_t got;
    int64_t max;
};

/* A long poll asks everywhere; without a word in the request its wait is told by the queue, or by
 * how long it took. */
static bool is_short_poll(const struct qn_seen_call *call, const struct qn_seen_queue *queue)
{
    if (call->params.wait_s != QN_EVENT_NO_INT) {
        return call->params.wait_s == 0;
    }
    if (queue->is_known) {
        return queue->settings.wait_s == 0;
    }
    return !call->touched && qn_between_ms(&call->in, &call->out) < QN_PAUSE_MS;
}

static const struct qn_seen_queue *polled_queue(const struct qn_view *view,
                                                const struct qn_seen_call *call)
{
    const struct qn_seen_queue *queue = qn_scene_queue(view->scene, call->key);

    return call->ok && call->in.conn >= 0 && queue != NULL && !queue->is_fifo ? queue : NULL;
}

static void note_poll(struct qn_view *view, const struct qn_seen_call *call,
                      const struct qn_seen_queue *queue, bool says)
{
    const struct qn_seen_message *left = says ? qn_seen_left(queue, &call->in) : NULL;
    struct qn_pair_key room;
    struct poll *poll = qn_memo_at(view->memo, qn_pair_key(&room, call->in.conn, call->key));

    *poll = (struct poll){.last = call->in,
                          .says = says,
                          .copes = poll->copes || poll->says,
                          .got = call->told_messages,
                          .max = call->params.max == QN_EVENT_NO_INT ? 1 : call->params.max};
    if (left != NULL && !poll->copes) {
        memcpy(poll->left, left->id, sizeof(poll->left));
    }
}

/* The poll behind which this call comes with its message still there, or NULL. */
static const struct poll *believed(const struct qn_view *view, const struct qn_seen_call *call)
{
    struct qn_pair_key room;
    const struct poll *poll =
        qn_memo_find(view->memo, qn_pair_key(&room, call->in.conn, call->key));
    const struct qn_seen_message *message;

    if (poll == NULL || poll->left[0] == '\0') {
        return NULL;
    }
    message = qn_scene_message(view->scene, qn_str_from_cstr(poll->left));
    return message != NULL && message->lease_count == 0 ? poll : NULL;
}

/* The queue is thrown away by the client that asked last. */
static const struct poll *thrown_away(const struct qn_view *view, const struct qn_event *event,
                                      const struct qn_seen_call *call)
{
    if (event->kind != QN_EVENT_MSG_PURGE || call == NULL || qn_str_is_none(call->key)) {
        return NULL;
    }
    return believed(view, call);
}

/* It does something else with the queue, a minute later, and has not asked again. */
static const struct poll *left_alone(const struct qn_view *view, const struct qn_seen_call *call)
{
    const struct poll *poll = qn_str_is_none(call->key) ? NULL : believed(view, call);

    return poll != NULL && qn_between_ms(&poll->last, &call->in) >= QN_PROPAGATION_MS ? poll : NULL;
}

/* Once is enough: the entry is given up. */
static void forget_poll(struct qn_view *view, const struct qn_seen_call *call)
{
    struct qn_pair_key room;

    qn_memo_remove(view->memo, qn_pair_key(&room, call->in.conn, call->key));
}

/* ---- empty-poll ---- */

static void tell_empty(struct qn_view *view, const struct qn_seen_call *call,
                       const struct poll *poll)
{
    struct qn_sight message = poll->last;

    memcpy(message.message_id, poll->left, sizeof(poll->left));
    qn_found(view, call, call->queue, QN_SIGHTS(&message, &call->in),
             "a short poll came back empty while message %s was there; the client never asked "
             "again",
             poll->left);
    forget_poll(view, call);
}

static void empty_at_call(struct qn_view *view, const struct qn_seen_call *call)
{
    const struct qn_seen_queue *queue = polled_queue(view, call);

    if (queue == NULL) {
        return;
    }
    if (call->action == QN_SEEN_RECEIVE) {
        note_poll(view, call, queue, call->told_messages == 0 && is_short_poll(call, queue));
        return;
    }
    const struct poll *poll = left_alone(view, call);
    if (poll != NULL) {
        tell_empty(view, call, poll);
    }
}

static void empty_at_event(struct qn_view *view, const struct qn_event *event,
                           const struct qn_seen_call *call)
{
    const struct poll *poll = thrown_away(view, event, call);

    if (poll != NULL) {
        tell_empty(view, call, poll);
    }
}

const struct qn_detector qn_detect_empty_poll = {
    .entry_size = sizeof(struct poll), .at_call = empty_at_call, .at_event = empty_at_event};

/* ---- full-batch ---- */

static void tell_batch(struct qn_view *view, const struct qn_seen_call *call,
                       const struct poll *poll)
{
    struct qn_sight message = poll->last;

    memcpy(message.message_id, poll->left, sizeof(poll->left));
    qn_found(view, call, call->queue, QN_SIGHTS(&message, &call->in),
             "asked for %lld messages and got %lld while message %s was there; the client never "
             "asked for the rest",
             (long long)poll->max, (long long)poll->got, poll->left);
    forget_poll(view, call);
}

static void batch_at_call(struct qn_view *view, const struct qn_seen_call *call)
{
    const struct qn_seen_queue *queue = polled_queue(view, call);

    if (queue == NULL) {
        return;
    }
    if (call->action == QN_SEEN_RECEIVE) {
        int64_t max = call->params.max == QN_EVENT_NO_INT ? 1 : call->params.max;
        note_poll(view, call, queue, call->told_messages > 0 && call->told_messages < max);
        return;
    }
    const struct poll *poll = left_alone(view, call);
    if (poll != NULL) {
        tell_batch(view, call, poll);
    }
}

static void batch_at_event(struct qn_view *view, const struct qn_event *event,
                           const struct qn_seen_call *call)
{
    const struct poll *poll = thrown_away(view, event, call);

    if (poll != NULL) {
        tell_batch(view, call, poll);
    }
}

const struct qn_detector qn_detect_full_batch = {
    .entry_size = sizeof(struct poll), .at_call = batch_at_call, .at_event = batch_at_event};
