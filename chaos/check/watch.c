/* The live picture, kept event by event. */
#include "chaos/check/watch.h"

/* A poll that has been parked this long is a long poll. */
enum { PARKED_AFTER_MS = 60 };

struct call {
    struct qn_watch_instance *instance;
    int64_t epoch;
    bool is_receive;
    bool is_open;
    bool got_messages;
};

void qn_watch_init(struct qn_watch *watch, struct qn_str queue, struct qn_str self,
                   struct qn_str only)
{
    *watch = (struct qn_watch){.queue = queue, .self = self, .only = only};
    qn_table_init(&watch->instances, sizeof(struct qn_watch_instance));
    qn_table_init(&watch->leases, sizeof(struct qn_watch_lease));
    qn_table_init(&watch->calls, sizeof(struct call));
    qn_table_init(&watch->invocations, sizeof(struct call *));
    qn_table_init(&watch->in_queue, sizeof(bool));
    qn_table_init(&watch->delayed, sizeof(int64_t));
}

void qn_watch_done(struct qn_watch *watch)
{
    qn_table_done(&watch->instances);
    qn_table_done(&watch->leases);
    qn_table_done(&watch->calls);
    qn_table_done(&watch->invocations);
    qn_table_done(&watch->in_queue);
    qn_table_done(&watch->delayed);
}

struct qn_str qn_watch_name(const struct qn_watch *watch, struct qn_str access_key)
{
    return qn_str_is_none(watch->only) ? access_key : watch->only;
}

struct qn_watch_instance *qn_watch_instance_at(struct qn_watch *watch, struct qn_str access_key)
{
    return qn_table_at(&watch->instances, qn_watch_name(watch, access_key));
}

void qn_watch_replace(struct qn_watch *watch, struct qn_str access_key)
{
    struct qn_watch_instance *instance = qn_watch_instance_at(watch, access_key);

    *instance = (struct qn_watch_instance){.epoch = instance->epoch + 1};
}

/* It is not under way any more. False: it was not before. */
static bool close_call(struct call *call)
{
    if (call == NULL || !call->is_open) {
        return false;
    }
    call->is_open = false;
    if (call->epoch != call->instance->epoch) {
        return false;
    }
    if (call->is_receive) {
        call->instance->open_receives--;
    } else {
        call->instance->open_others--;
    }
    return true;
}

/* It ends without an answer, of which the trace has no event of its own. */
static void cut_call(struct call *call)
{
    if (close_call(call)) {
        call->instance->last_was_empty = false; /* it may be pausing before the next attempt */
    }
}

/* An SDK that tries again has given up the attempt before, whatever became of it. */
static void take_invocation(struct qn_watch *watch, struct qn_str invocation, struct call *call)
{
    if (!qn_str_is_none(invocation)) {
        struct call **newest = qn_table_at(&watch->invocations, invocation);
        cut_call(*newest);
        *newest = call;
    }
}

static void begin_call(struct qn_watch *watch, const struct qn_check_event *event)
{
    struct call *call = qn_table_at(&watch->calls, event->req);
    struct qn_watch_instance *instance = qn_watch_instance_at(watch, event->instance);

    take_invocation(watch, event->detail->invocation, call);
    *call = (struct call){
        .instance = instance,
        .epoch = instance->epoch,
        .is_receive = qn_str_equal(event->action, QN_STR("ReceiveMessage")),
        .is_open = true,
    };
    if (call->is_receive) {
        instance->open_receives++;
        instance->newest_receive_ms = event->wt;
        instance->has_called = instance->has_called || qn_str_equal(event->queue, watch->queue);
    } else {
        instance->open_others++;
    }
}

static void end_call(struct qn_watch *watch, const struct qn_check_event *event)
{
    struct call *call = qn_table_find(&watch->calls, event->req);

    if (close_call(call)) {
        call->instance->last_was_empty = call->is_receive && !call->got_messages;
    }
}

/* A rule may end the connection instead of an answer. */
static void feed_fault(struct qn_watch *watch, const struct qn_check_event *event)
{
    bool is_cut =
        qn_str_equal(event->code, QN_STR("reset")) || qn_str_equal(event->code, QN_STR("close"));

    if (is_cut && !qn_str_is_none(event->req)) {
        cut_call(qn_table_find(&watch->calls, event->req));
    }
}

static void grant(struct qn_watch *watch, const struct qn_check_event *event)
{
    struct qn_watch_lease *lease = qn_table_at(&watch->leases, event->mid);
    struct call *call =
        qn_str_is_none(event->req) ? NULL : qn_table_find(&watch->calls, event->req);
    struct qn_watch_instance *owner = qn_watch_instance_at(watch, event->instance);

    *lease = (struct qn_watch_lease){true, event->deadline, owner, owner->epoch};
    owner->last_was_empty = false;
    if (call != NULL) {
        call->got_messages = true;
        return;
    }
    /* The event does not name its request: the open receives of the owner may all have got it. */
    for (struct qn_table_item *item = watch->calls.first; item != NULL; item = item->next) {
        struct call *open = item->value;
        if (open->is_open && open->is_receive && open->instance == owner) {
            open->got_messages = true;
        }
    }
}

static void place(struct qn_watch *watch, struct qn_str mid, bool in_queue)
{
    bool *known = qn_table_at(&watch->in_queue, mid);

    if (*known != in_queue) {
        *known = in_queue;
        watch->left += in_queue ? 1 : -1;
    }
}

static void end_lease(struct qn_watch *watch, struct qn_str mid)
{
    struct qn_watch_lease *lease = qn_table_find(&watch->leases, mid);

    if (lease != NULL) {
        lease->is_live = false;
    }
}

static void feed_state(struct qn_watch *watch, const struct qn_check_event *event)
{
    struct qn_watch_lease *lease;

    switch (event->kind) {
    case QN_CHECK_LEASE_GRANT:
        grant(watch, event);
        break;
    case QN_CHECK_LEASE_EXTEND:
        lease = qn_table_at(&watch->leases, event->mid);
        lease->deadline_ms = event->deadline;
        break;
    case QN_CHECK_LEASE_RELEASE:
    case QN_CHECK_LEASE_EXPIRE:
        end_lease(watch, event->mid);
        break;
    case QN_CHECK_MSG_SEND:
    case QN_CHECK_MSG_DUPCOPY:
        place(watch, event->mid, true);
        if (event->deadline != QN_EVENT_NO_INT) {
            *(int64_t *)qn_table_at(&watch->delayed, event->mid) = event->deadline;
        }
        break;
    case QN_CHECK_MSG_DELETE:
    case QN_CHECK_MSG_DLQ:
    case QN_CHECK_MSG_MOVE:
    case QN_CHECK_MSG_EXPIRE:
        place(watch, event->mid, false);
        end_lease(watch, event->mid);
        *(int64_t *)qn_table_at(&watch->delayed, event->mid) = 0;
        break;
    default:
        break;
    }
}

/* The server was started anew: nobody's call is open any more. */
static void void_calls(struct qn_watch *watch)
{
    for (struct qn_table_item *item = watch->calls.first; item != NULL; item = item->next) {
        struct call *call = item->value;
        call->is_open = false;
    }
    for (struct qn_table_item *item = watch->instances.first; item != NULL; item = item->next) {
        struct qn_watch_instance *instance = item->value;
        instance->open_receives = 0;
        instance->open_others = 0;
        instance->last_was_empty = false;
    }
}

void qn_watch_feed(struct qn_watch *watch, const struct qn_check_event *event)
{
    bool is_own = qn_str_equal(event->instance, watch->self);

    if (event->kind == QN_CHECK_BOOT) {
        void_calls(watch);
    } else if (event->kind == QN_CHECK_API_IN && !is_own) {
        begin_call(watch, event);
    } else if (event->kind == QN_CHECK_API_OUT && !is_own) {
        end_call(watch, event);
    } else if (event->kind == QN_CHECK_FAULT) {
        feed_fault(watch, event);
    } else if (!event->undone && qn_str_equal(event->queue, watch->queue)) {
        feed_state(watch, event);
    }
}

bool qn_watch_is_held(const struct qn_watch *watch)
{
    for (const struct qn_table_item *item = watch->leases.first; item != NULL; item = item->next) {
        const struct qn_watch_lease *lease = item->value;
        if (lease->is_live && lease->owner != NULL && lease->epoch == lease->owner->epoch) {
            return true;
        }
    }
    return false;
}

bool qn_watch_is_idle(const struct qn_watch_instance *instance, int64_t now_ms)
{
    if (instance->open_others > 0) {
        return false;
    }
    if (instance->open_receives > 0) {
        return now_ms - instance->newest_receive_ms >= PARKED_AFTER_MS;
    }
    return instance->last_was_empty;
}

int64_t qn_watch_next_deadline_ms(const struct qn_watch *watch)
{
    int64_t next = INT64_MAX;

    for (const struct qn_table_item *item = watch->leases.first; item != NULL; item = item->next) {
        const struct qn_watch_lease *lease = item->value;
        if (lease->is_live && lease->deadline_ms < next) {
            next = lease->deadline_ms;
        }
    }
    return next;
}

int64_t qn_watch_next_delay_ms(const struct qn_watch *watch, int64_t now_ms)
{
    int64_t next = INT64_MAX;

    for (const struct qn_table_item *item = watch->delayed.first; item != NULL; item = item->next) {
        const int64_t *end_ms = item->value;
        if (*end_ms > now_ms && *end_ms < next) {
            next = *end_ms;
        }
    }
    return next;
}

struct qn_str qn_watch_owner_of(const struct qn_history *history, const struct qn_watch *watch,
                                struct qn_str k)
{
    for (size_t i = history->count; i > 0; i--) {
        const struct qn_check_event *event = &history->events[i - 1];
        if (event->kind == QN_CHECK_LEASE_GRANT && qn_str_equal(event->k, k)) {
            return qn_watch_name(watch, event->instance);
        }
    }
    return QN_STR_NONE;
}
