/* A change of attributes that was relied on before it had time to reach every server: only where
 * the old value would have given another answer, and only by the client that made the change. */
#include "chaos/assumptions/detect.h"

/* One attribute that changed. seq 0 in `set`: it has not. */
struct change {
    struct qn_sight set;
    int64_t from;
    int64_t to;
};

struct changes {
    struct change visibility_s;
    struct change delay_s;
    struct change by_content; /* 0 or 1 */
    struct change redrive;    /* 0 or 1 */
};

/* ---- what was changed ---- */

static void note(struct change *change, const struct qn_seen_call *call, int64_t from, int64_t to)
{
    if (from != to) {
        *change = (struct change){call->in, from, to};
    }
}

static void note_integer(struct change *change, const struct qn_seen_call *call, const char *name,
                         int64_t from)
{
    int64_t to;

    if (qn_str_to_int64(qn_seen_attribute_of(call, name), 0, INT32_MAX, &to)) {
        note(change, call, from, to);
    }
}

static void note_changes(struct qn_view *view, const struct qn_seen_call *call,
                         const struct qn_seen_settings *old)
{
    struct changes *changes = qn_memo_at(view->memo, call->key);
    struct qn_str by_content = qn_seen_attribute_of(call, "ContentBasedDeduplication");
    struct qn_str redrive = qn_seen_attribute_of(call, "RedrivePolicy");

    note_integer(&changes->visibility_s, call, "VisibilityTimeout", old->visibility_s);
    note_integer(&changes->delay_s, call, "DelaySeconds", old->delay_s);
    if (!qn_str_is_none(by_content)) {
        note(&changes->by_content, call, old->deduplicates_by_content,
             qn_str_equal_nocase(by_content, QN_STR("true")));
    }
    if (!qn_str_is_none(redrive)) {
        note(&changes->redrive, call, old->has_redrive, redrive.len > 0);
    }
}

/* Whether this came too early behind the change, from the client that made it. */
static bool is_early(const struct change *change, const struct qn_sight *sight)
{
    return change->set.seq != 0 && sight->seq > change->set.seq &&
           qn_seen_same_client(&change->set, sight) &&
           qn_between_ms(&change->set, sight) < QN_PROPAGATION_MS;
}

static struct changes *changes_of(const struct qn_view *view, struct qn_str key)
{
    return qn_str_is_none(key) ? NULL : qn_memo_find(view->memo, key);
}

/* ---- deduplication by content ---- */

static void check_send(struct qn_view *view, const struct qn_seen_call *call,
                       struct changes *changes)
{
    for (size_t i = 0; i < call->params.entry_count; i++) {
        if (!qn_str_is_none(call->params.entries[i].deduplication_id)) {
            return;
        }
    }
    if (changes->by_content.to == 1 && is_early(&changes->by_content, &call->in)) {
        qn_found(view, call, call->queue, QN_SIGHTS(&changes->by_content.set, &call->in),
                 "sent without a deduplication id %lld ms after ContentBasedDeduplication was "
                 "turned on",
                 (long long)qn_between_ms(&changes->by_content.set, &call->in));
        changes->by_content = (struct change){0};
    }
}

static void attribute_at_call(struct qn_view *view, const struct qn_seen_call *call)
{
    const struct qn_seen_queue *queue = qn_scene_queue(view->scene, call->key);
    struct changes *changes;

    if (!call->ok || queue == NULL || !queue->is_known) {
        return;
    }
    if (call->action == QN_SEEN_SET_ATTRIBUTES) {
        note_changes(view, call, &queue->settings);
        return;
    }
    changes = changes_of(view, call->key);
    if (changes != NULL && call->action == QN_SEEN_SEND && queue->is_fifo) {
        check_send(view, call, changes);
    }
}

/* ---- visibility, delay, redrive ---- */

/* A lease by the queue's new timeout. */
static bool is_by_new(const struct change *change, const struct qn_seen_lease *lease)
{
    return lease->by_queue && !lease->was_extended && is_early(change, &lease->grant);
}

/* Deleted when the old timeout would have run out and the new one had not. */
static void check_delete(struct qn_view *view, const struct qn_seen_message *message,
                         const struct qn_seen_call *call, struct changes *changes)
{
    const struct change *change = &changes->visibility_s;
    const struct qn_seen_lease *lease = qn_seen_latest(message);

    if (lease != NULL && !lease->is_over && is_by_new(change, lease) && change->to > change->from &&
        qn_seen_same_client(&lease->grant, &call->in) &&
        call->in.vt > lease->grant.vt + change->from * 1000 + QN_PAUSE_MS) {
        qn_found(view, call, call->queue, QN_SIGHTS(&change->set, &lease->grant, &call->in),
                 "a lease outlived the old VisibilityTimeout of %lld s; the new one of %lld s was "
                 "%lld ms old",
                 (long long)change->from, (long long)change->to,
                 (long long)qn_between_ms(&change->set, &lease->grant));
        changes->visibility_s = (struct change){0};
    }
}

/* Received again when the old timeout would still have hidden it. */
static void check_again(struct qn_view *view, const struct qn_seen_message *message,
                        const struct qn_seen_call *call, struct changes *changes)
{
    const struct change *change = &changes->visibility_s;
    const struct qn_seen_lease *lease = qn_seen_latest(message);

    if (lease->is_over && !lease->was_released && is_by_new(change, lease) &&
        view->scene->last_fault < lease->grant.seq && change->to < change->from &&
        qn_seen_same_client(&lease->grant, &call->in) &&
        view->scene->now.vt < lease->grant.vt + change->from * 1000 - QN_PAUSE_MS) {
        qn_found(view, call, call->queue, QN_SIGHTS(&change->set, &lease->grant, &call->in),
                 "a message came back before the old VisibilityTimeout of %lld s had run out; the "
                 "new one of %lld s was %lld ms old",
                 (long long)change->from, (long long)change->to,
                 (long long)qn_between_ms(&change->set, &lease->grant));
        changes->visibility_s = (struct change){0};
    }
}

/* Received for the first time when the old delay would still have held it back. */
static void check_first(struct qn_view *view, const struct qn_seen_message *message,
                        const struct qn_seen_call *call, struct changes *changes)
{
    const struct change *change = &changes->delay_s;

    if (message->sent.seq != 0 && message->delay_by_queue && is_early(change, &message->sent) &&
        change->to < change->from && qn_seen_same_client(&message->sent, &call->in) &&
        view->scene->now.vt < message->sent.vt + change->from * 1000 - QN_PAUSE_MS) {
        qn_found(view, call, call->queue, QN_SIGHTS(&change->set, &message->sent, &call->in),
                 "a message came before the old DelaySeconds of %lld had passed; the new value "
                 "of %lld was %lld ms old",
                 (long long)change->from, (long long)change->to,
                 (long long)qn_between_ms(&change->set, &message->sent));
        changes->delay_s = (struct change){0};
    }
}

static void check_redrive(struct qn_view *view, const struct qn_seen_call *call,
                          struct changes *changes)
{
    if (changes->redrive.to == 1 && is_early(&changes->redrive, &call->in)) {
        qn_found(view, call, call->queue, QN_SIGHTS(&changes->redrive.set, &call->in),
                 "a message went to the dead-letter queue %lld ms after RedrivePolicy was set",
                 (long long)qn_between_ms(&changes->redrive.set, &call->in));
        changes->redrive = (struct change){0};
    }
}

static void attribute_at_event(struct qn_view *view, const struct qn_event *event,
                               const struct qn_seen_call *call)
{
    struct changes *changes = call == NULL ? NULL : changes_of(view, call->key);
    const struct qn_seen_message *message = qn_scene_message(view->scene, event->message_id);

    if (changes == NULL) {
        return;
    }
    if (event->kind == QN_EVENT_QUEUE_CREATE) {
        *changes = (struct changes){0};
    } else if (event->kind == QN_EVENT_MSG_DLQ) {
        check_redrive(view, call, changes);
    } else if (message == NULL) {
        return;
    } else if (event->kind == QN_EVENT_MSG_DELETE) {
        check_delete(view, message, call, changes);
    } else if (event->kind == QN_EVENT_LEASE_GRANT && message->lease_count > 0) {
        check_again(view, message, call, changes);
    } else if (event->kind == QN_EVENT_LEASE_GRANT) {
        check_first(view, message, call, changes);
    }
}

const struct qn_detector qn_detect_attribute_at_once = {.entry_size = sizeof(struct changes),
                                                        .at_call = attribute_at_call,
                                                        .at_event = attribute_at_event};
