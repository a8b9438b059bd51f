/* Receipt handles and leases that were over. A fault rule since the receive excuses everything: the
 * client cannot know what was done to its lease. FIFO queues refuse such handles, as AWS does. */
#include "chaos/assumptions/detect.h"

static bool is_standard(struct qn_str queue)
{
    return !qn_str_ends_with(queue, QN_STR(".fifo"));
}

/* The lease had been over for a while when the request came. */
static bool is_late(const struct qn_view *view, const struct qn_seen_lease *lease,
                    const struct qn_seen_call *call)
{
    return call->in.vt > lease->deadline_ms + QN_PAUSE_MS &&
           view->scene->last_fault < lease->grant.seq;
}

/* The message that a request acted on, and the lease of the handle that it used. False: nothing
 * that could be judged. */
static bool find_lease(const struct qn_view *view, const struct qn_event *event,
                       const struct qn_seen_call *call, enum qn_seen_action action,
                       const struct qn_seen_message **ret_message,
                       const struct qn_seen_lease **ret_lease)
{
    if (call == NULL || call->action != action || !is_standard(call->queue)) {
        return false;
    }
    *ret_message = qn_scene_message(view->scene, event->message_id);
    *ret_lease = *ret_message == NULL || qn_str_is_none(event->handle)
                     ? NULL
                     : qn_seen_lease(*ret_message, event->handle);
    return *ret_lease != NULL;
}

/* ---- expired-handle ---- */

static void expired_at_event(struct qn_view *view, const struct qn_event *event,
                             const struct qn_seen_call *call)
{
    const struct qn_seen_message *message;
    const struct qn_seen_lease *lease;

    if (event->kind == QN_EVENT_MSG_DELETE &&
        find_lease(view, event, call, QN_SEEN_DELETE, &message, &lease) &&
        lease == qn_seen_latest(message) && is_late(view, lease, call)) {
        qn_found(view, call, call->queue, QN_SIGHTS(&lease->grant, &call->in),
                 "deleted message %s %lld ms after its lease had ended", message->id,
                 (long long)(call->in.vt - lease->deadline_ms));
    }
}

const struct qn_detector qn_detect_expired_handle = {.at_event = expired_at_event};

/* ---- lapsed-extension ---- */

static void lapsed_at_event(struct qn_view *view, const struct qn_event *event,
                            const struct qn_seen_call *call)
{
    const struct qn_seen_message *message;
    const struct qn_seen_lease *lease;

    if (event->kind == QN_EVENT_LEASE_EXTEND &&
        find_lease(view, event, call, QN_SEEN_CHANGE, &message, &lease) &&
        lease == qn_seen_latest(message) && is_late(view, lease, call)) {
        qn_found(view, call, call->queue, QN_SIGHTS(&lease->grant, &call->in),
                 "extended the lease of message %s %lld ms after it had ended", message->id,
                 (long long)(call->in.vt - lease->deadline_ms));
    }
}

const struct qn_detector qn_detect_lapsed_extension = {.at_event = lapsed_at_event};

/* ---- older-handle-change ---- */

static void change_at_event(struct qn_view *view, const struct qn_event *event,
                            const struct qn_seen_call *call)
{
    const struct qn_seen_message *message;
    const struct qn_seen_lease *lease;

    if ((event->kind == QN_EVENT_LEASE_EXTEND || event->kind == QN_EVENT_LEASE_RELEASE) &&
        find_lease(view, event, call, QN_SEEN_CHANGE, &message, &lease) &&
        lease != qn_seen_latest(message) && is_late(view, lease, call)) {
        qn_found(view, call, call->queue,
                 QN_SIGHTS(&lease->grant, &qn_seen_latest(message)->grant, &call->in),
                 "changed the visibility of message %s with the handle of a lease that was over, "
                 "while a newer receive held it",
                 message->id);
    }
}

const struct qn_detector qn_detect_older_handle_change = {.at_event = change_at_event};

/* ---- older-handle-delete: such a delete leaves no event, so the handles are remembered. ---- */

struct handle {
    char message_id[40];
};

/* Not when two receives crossed: the client had the newer answer before it sent the older handle.
 */
static void check_handle(struct qn_view *view, const struct qn_seen_call *call, struct qn_str text)
{
    const struct handle *handle = qn_memo_find(view->memo, text);
    const struct qn_seen_message *message =
        handle == NULL ? NULL : qn_scene_message(view->scene, qn_str_from_cstr(handle->message_id));
    const struct qn_seen_lease *lease = message == NULL ? NULL : qn_seen_lease(message, text);

    if (lease == NULL || lease == qn_seen_latest(message)) {
        return;
    }
    const struct qn_seen_lease *newer = qn_seen_latest(message);
    if (qn_seen_same_client(&newer->grant, &call->in) && newer->grant.seq < call->in.seq &&
        view->scene->last_fault < lease->grant.seq) {
        qn_found(view, call, call->queue, QN_SIGHTS(&lease->grant, &newer->grant, &call->in),
                 "deleted message %s with an older handle than the newest that the same client had",
                 message->id);
    }
}

static void older_at_event(struct qn_view *view, const struct qn_event *event,
                           const struct qn_seen_call *call)
{
    if (event->handle.len == 0 || event->message_id.len == 0 || !is_standard(event->queue)) {
        return;
    }
    if (event->kind == QN_EVENT_LEASE_GRANT) {
        struct handle *handle = qn_memo_at(view->memo, event->handle);
        struct qn_str id = qn_str_first(event->message_id, sizeof(handle->message_id) - 1);
        memset(handle, 0, sizeof(*handle));
        memcpy(handle->message_id, id.ptr, id.len);
    } else if (event->kind == QN_EVENT_MSG_DELETE && call != NULL) {
        check_handle(view, call, event->handle); /* with --stale-delete delete */
        qn_memo_remove(view->memo, event->handle);
    }
}

static void older_at_call(struct qn_view *view, const struct qn_seen_call *call)
{
    if (!call->ok || call->action != QN_SEEN_DELETE) {
        return;
    }
    for (size_t i = 0; i < call->params.entry_count; i++) {
        if (call->params.entries[i].handle.len > 0) {
            check_handle(view, call, call->params.entries[i].handle);
        }
    }
}

const struct qn_detector qn_detect_older_handle_delete = {
    .entry_size = sizeof(struct handle), .at_call = older_at_call, .at_event = older_at_event};
