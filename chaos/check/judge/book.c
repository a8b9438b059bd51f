/* One pass over the history that ties leases, answers and runs of handlers together. */
#include "chaos/check/judge/busy.h"

#include <signal.h>

enum {
    HALF_SECOND_MS = 500
}; /* a visibility timeout has whole seconds: what is less is no other one */

/* Of an open ReceiveMessage. */
struct request {
    struct qn_lease *first_lease;
    struct qn_book_instance *receiver; /* NULL: no receive, or answered */
};

struct qn_book_instance *qn_book_instance_of(const struct qn_book *book, struct qn_str name)
{
    if (qn_str_equal(name, book->in->self)) {
        return NULL;
    }
    return qn_table_find(&book->instances, qn_str_is_none(book->only) ? name : book->only);
}

static struct qn_book_instance *instance_at(struct qn_book *book, struct qn_str name)
{
    struct qn_str known = qn_str_is_none(book->only) ? name : book->only;

    if (qn_str_is_none(known) || qn_str_equal(name, book->in->self)) {
        return NULL;
    }
    struct qn_book_instance *instance = qn_table_at(&book->instances, known);
    instance->name = known;
    return instance;
}

struct qn_lease *qn_book_lease_of(const struct qn_book *book, struct qn_str handle)
{
    struct qn_lease **found =
        qn_str_is_none(handle) ? NULL : qn_table_find_kept(&book->by_handle, handle);

    return found != NULL ? *found : NULL;
}

int64_t qn_book_most_polls(const struct qn_book *book)
{
    int64_t most = 0;

    for (const struct qn_table_item *item = book->instances.first; item != NULL;
         item = item->next) {
        const struct qn_book_instance *instance = item->value;
        most = instance->pollers > most ? instance->pollers : most;
    }
    return most;
}

struct qn_lease *qn_book_batch_mate(const struct qn_lease *lease)
{
    struct qn_lease *next = lease->next;

    return next != NULL && qn_str_equal(next->grant->req, lease->grant->req) ? next : NULL;
}

static void grant(struct qn_book *book, const struct qn_check_event *event)
{
    struct qn_book_instance *owner = instance_at(book, event->instance);
    struct qn_lease *lease;
    struct qn_lease **newest;

    if (owner == NULL) {
        return;
    }
    lease = qn_arena_alloc(&book->arena, sizeof(*lease));
    lease->grant = event;
    owner->has_received = true;
    owner->held++;
    owner->most_held = owner->held > owner->most_held ? owner->held : owner->most_held;
    lease->owner = owner;
    lease->life = owner->life;
    lease->deadline_ms = event->deadline;
    newest = qn_table_at_kept(&book->by_message, event->mid);
    lease->older = *newest;
    *newest = lease;
    if (!qn_str_is_none(event->k)) {
        newest = qn_table_at_kept(&book->by_key, event->k);
        lease->older_of_key = *newest;
        *newest = lease;
    }
    if (!qn_str_is_none(event->h)) {
        *(struct qn_lease **)qn_table_at_kept(&book->by_handle, event->h) = lease;
    }
    if (!qn_str_is_none(event->req)) {
        struct request *request = qn_table_at_kept(&book->by_request, event->req);
        request->first_lease = request->first_lease != NULL ? request->first_lease : lease;
    }
    if (book->last_lease != NULL) {
        book->last_lease->next = lease;
    } else {
        book->leases = lease;
    }
    book->last_lease = lease;
}

/* The lease that an event is about: by its handle, or the newest open one of its message. */
static struct qn_lease *lease_of(const struct qn_book *book, const struct qn_check_event *event)
{
    struct qn_lease *lease = qn_book_lease_of(book, event->h);
    struct qn_lease **newest;

    if (lease != NULL || qn_str_is_none(event->mid)) {
        return lease;
    }
    newest = qn_table_find_kept(&book->by_message, event->mid);
    for (lease = newest != NULL ? *newest : NULL; lease != NULL; lease = lease->older) {
        if (lease->ended == NULL) {
            return lease;
        }
    }
    return NULL;
}

static void end(struct qn_book *book, struct qn_lease *lease, enum qn_lease_end how,
                const struct qn_check_event *event)
{
    if (lease == NULL || lease->ended != NULL) {
        return;
    }
    uint64_t since = lease->grant->seq;
    if (book->last_ended_lease != NULL) {
        book->last_ended_lease->next_ended = lease;
    } else {
        book->ended_leases = lease;
    }
    book->last_ended_lease = lease;
    lease->owner->held -= lease->life == lease->owner->life;
    lease->ended = event;
    lease->end = how;
    lease->is_left = lease->life < lease->owner->life;
    lease->is_excused = lease->is_excused || how == QN_LEASE_TAKEN ||
                        lease->owner->disturbed_seq > since || book->disturbed_seq > since;
}

static void end_all_of(struct qn_book *book, const struct qn_check_event *event,
                       enum qn_lease_end how)
{
    struct qn_lease **newest =
        qn_str_is_none(event->mid) ? NULL : qn_table_find_kept(&book->by_message, event->mid);

    for (struct qn_lease *lease = newest != NULL ? *newest : NULL; lease != NULL;
         lease = lease->older) {
        end(book, lease, how, event);
    }
}

static void extend(struct qn_book *book, const struct qn_check_event *event)
{
    struct qn_lease *lease = lease_of(book, event);

    if (lease == NULL) {
        return;
    }
    bool by_fault = qn_str_equal(event->detail->reason, QN_STR("fault"));
    lease->is_excused = lease->is_excused || by_fault;
    if (!by_fault) {
        lease->was_shortened =
            event->deadline < lease->deadline_ms ||
            event->deadline - event->vt + HALF_SECOND_MS < book->in->visibility_ms;
    }
    lease->deadline_ms = event->deadline;
}

static void feed_state(struct qn_book *book, const struct qn_check_event *event)
{
    bool by_fault = qn_str_equal(event->detail->reason, QN_STR("fault"));

    switch (event->kind) {
    case QN_CHECK_LEASE_GRANT:
        grant(book, event);
        break;
    case QN_CHECK_LEASE_EXTEND:
        extend(book, event);
        break;
    case QN_CHECK_LEASE_RELEASE:
        end(book, lease_of(book, event), by_fault ? QN_LEASE_TAKEN : QN_LEASE_RELEASED, event);
        break;
    case QN_CHECK_LEASE_EXPIRE:
        end(book, lease_of(book, event), by_fault ? QN_LEASE_TAKEN : QN_LEASE_LAPSED, event);
        break;
    case QN_CHECK_MSG_DELETE:
        end_all_of(book, event, QN_LEASE_DELETED);
        break;
    case QN_CHECK_MSG_DLQ:
    case QN_CHECK_MSG_MOVE:
    case QN_CHECK_MSG_EXPIRE:
        end_all_of(book, event, QN_LEASE_GONE);
        break;
    default:
        break;
    }
}

/* Newest first: what this process holds or held of messages with the key. */
static void correlate_by_key(struct qn_book *book, struct qn_handler *handler)
{
    struct qn_lease **newest = qn_table_find_kept(&book->by_key, handler->begin->k);
    size_t open = 0;

    for (struct qn_lease *lease = newest != NULL ? *newest : NULL; lease != NULL;
         lease = lease->older_of_key) {
        if (lease->owner != handler->owner || lease->life != handler->life) {
            continue;
        }
        handler->lease = handler->lease != NULL ? handler->lease : lease;
        open += lease->ended == NULL;
    }
    if (open > 1) {
        handler->lease = NULL;
        handler->is_ambiguous = true;
    }
}

static void correlate(struct qn_book *book, struct qn_handler *handler)
{
    const struct qn_check_event *begin = handler->begin;
    struct qn_lease **newest =
        qn_str_is_none(begin->mid) ? NULL : qn_table_find_kept(&book->by_message, begin->mid);

    for (struct qn_lease *lease = newest != NULL ? *newest : NULL;
         lease != NULL && handler->lease == NULL; lease = lease->older) {
        bool is_mine = handler->owner == NULL ||
                       (lease->owner == handler->owner && lease->life == handler->life);
        if (is_mine && (begin->n == QN_EVENT_NO_INT || begin->n == lease->grant->n)) {
            handler->lease = lease;
        }
    }
    if (handler->lease != NULL) {
        return;
    }
    /* One that never received under this name has credentials of its own. */
    if (handler->owner == NULL || !handler->owner->has_received) {
        handler->is_ambiguous = true;
    } else if (newest == NULL) {
        correlate_by_key(book, handler);
    }
}

/* One call at the sink may bring several items: each is a run of its own. */
static struct qn_handler **runs_of(struct qn_book *book, const struct qn_check_event *event)
{
    return qn_table_at(&book->by_run, qn_str((const char *)&event->run, sizeof(event->run)));
}

static void begin_run(struct qn_book *book, const struct qn_check_event *event)
{
    struct qn_handler *handler = qn_arena_alloc(&book->arena, sizeof(*handler));
    struct qn_handler **first = runs_of(book, event);

    handler->begin = event;
    handler->owner = instance_at(book, event->instance);
    handler->life = handler->owner != NULL ? handler->owner->life : 0;
    handler->life -= handler->owner != NULL && handler->owner->is_down; /* sent before it ended */
    handler->next_of_run = *first;
    *first = handler;
    if (book->last_handler != NULL) {
        book->last_handler->next = handler;
    } else {
        book->handlers = handler;
    }
    book->last_handler = handler;
    correlate(book, handler);
}

static void end_run(struct qn_book *book, const struct qn_check_event *event)
{
    for (struct qn_handler *handler = *runs_of(book, event); handler != NULL;
         handler = handler->next_of_run) {
        if (handler->end == NULL && qn_str_equal(handler->begin->k, event->k)) {
            handler->end = event;
            if (book->last_ended_handler != NULL) {
                book->last_ended_handler->next_ended = handler;
            } else {
                book->ended_handlers = handler;
            }
            book->last_ended_handler = handler;
            return;
        }
    }
}

static void leave_run(struct qn_book *book, const struct qn_check_event *event)
{
    for (struct qn_handler *handler = *runs_of(book, event); handler != NULL;
         handler = handler->next_of_run) {
        if (handler->end == NULL && qn_str_equal(handler->begin->k, event->k)) {
            handler->left = event;
        }
    }
}

static void feed_call(struct qn_book *book, const struct qn_check_event *event)
{
    if (!qn_judge_is_call(book->in, event, QN_STR("ReceiveMessage")) ||
        qn_str_is_none(event->req)) {
        return;
    }
    struct request *request = qn_table_at_kept(&book->by_request, event->req);
    struct qn_book_instance *instance = instance_at(book, event->instance);
    if (instance == NULL) {
        return;
    }
    if (event->kind == QN_CHECK_API_IN) {
        request->receiver = instance;
        instance->open_receives++;
        if (instance->open_receives > instance->pollers) {
            instance->pollers = instance->open_receives;
        }
        return;
    }
    instance->open_receives -= request->receiver != NULL && instance->open_receives > 0;
    request->receiver = NULL;
    for (struct qn_lease *lease = request->first_lease;
         lease != NULL && qn_str_equal(event->code, QN_STR("OK"));
         lease = qn_book_batch_mate(lease)) {
        lease->delivered = lease->is_kept_away ? NULL : event;
    }
}

static void tell(struct qn_book *book, struct qn_book_instance *instance,
                 const struct qn_check_event *event)
{
    struct qn_stop *stop = qn_arena_alloc(&book->arena, sizeof(*stop));

    *stop = (struct qn_stop){.owner = instance,
                             .life = instance->life,
                             .told = event,
                             .is_judged = !book->is_ended || book->in->judges_final_stop};
    if (book->last_stop != NULL) {
        book->last_stop->next = stop;
    } else {
        book->stops = stop;
    }
    book->last_stop = stop;
    instance->stop = stop;
}

static void feed_signal(struct qn_book *book, struct qn_book_instance *instance,
                        const struct qn_check_event *event)
{
    struct qn_stop *stop = instance->stop;

    if (event->detail->signal == SIGSTOP || event->detail->signal == SIGCONT) {
        instance->disturbed_seq = event->seq;
    } else if (event->detail->signal == SIGTERM && stop == NULL) {
        tell(book, instance, event);
    } else if (event->detail->signal == SIGKILL && stop != NULL && stop->killed == NULL) {
        stop->killed = event;
    }
}

static void feed_process(struct qn_book *book, const struct qn_check_event *event)
{
    struct qn_book_instance *instance = instance_at(book, event->instance);

    if (instance == NULL) {
        return;
    }
    if (qn_str_equal(event->what, QN_STR("exit"))) {
        if (instance->stop != NULL) {
            instance->stop->exit = event;
        }
        instance->stop = NULL;
        instance->life++;
        instance->is_down = true;
        instance->held = 0;
        instance->open_receives = 0;
    } else if (qn_str_equal(event->what, QN_STR("spawn"))) {
        instance->is_down = false;
    } else if (qn_str_equal(event->what, QN_STR("signal"))) {
        feed_signal(book, instance, event);
    } else if (qn_str_equal(event->what, QN_STR("stop")) ||
               qn_str_equal(event->what, QN_STR("cont"))) {
        instance->disturbed_seq = event->seq;
    }
}

/* A connection that a rule cuts, or that ends with its server, has no call open any more. */
static void cut_call(struct qn_book *book, const struct qn_check_event *event)
{
    struct request *request =
        qn_str_is_none(event->req) ? NULL : qn_table_find(&book->by_request, event->req);

    for (struct qn_lease *lease = request != NULL ? request->first_lease : NULL; lease != NULL;
         lease = qn_book_batch_mate(lease)) {
        lease->is_kept_away = lease->is_kept_away || qn_judge_spoils_answer(event);
    }
    if (request != NULL && request->receiver != NULL &&
        (qn_str_equal(event->code, QN_STR("reset")) ||
         qn_str_equal(event->code, QN_STR("close")))) {
        request->receiver->open_receives -= request->receiver->open_receives > 0;
        request->receiver = NULL;
    }
}

static void close_receives(struct qn_book *book)
{
    for (struct qn_table_item *item = book->instances.first; item != NULL; item = item->next) {
        struct qn_book_instance *instance = item->value;
        instance->open_receives = 0;
    }
}

static void feed(struct qn_book *book, const struct qn_check_event *event)
{
    switch (event->kind) {
    case QN_CHECK_API_IN:
    case QN_CHECK_API_OUT:
        feed_call(book, event);
        break;
    case QN_CHECK_WORK_BEGIN:
        begin_run(book, event);
        break;
    case QN_CHECK_WORK_LEFT:
        leave_run(book, event);
        break;
    case QN_CHECK_WORK_COMMIT:
    case QN_CHECK_WORK_ABORT:
        end_run(book, event);
        break;
    case QN_CHECK_PROC:
        feed_process(book, event);
        break;
    case QN_CHECK_BOOT:
        book->disturbed_seq = event->seq;
        close_receives(book);
        break;
    case QN_CHECK_MARK:
        book->is_ended = book->is_ended || qn_str_equal(event->detail->reason, QN_STR("end"));
        break;
    case QN_CHECK_FAULT:
        if (qn_str_starts_with(event->detail->reason, QN_STR("freeze"))) {
            book->disturbed_seq = event->seq;
        }
        cut_call(book, event);
        break;
    default:
        if (qn_judge_is_state(event) && !event->undone) {
            feed_state(book, event);
        }
        break;
    }
}

/* Consumers with credentials of their own are known when there is but one instance. */
static struct qn_str only_instance(const struct qn_judge_input *in)
{
    struct qn_str only = QN_STR_NONE;

    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind != QN_CHECK_PROC || (!qn_str_equal(event->what, QN_STR("spawn")) &&
                                             !qn_str_equal(event->what, QN_STR("keep")))) {
            continue;
        }
        if (!qn_str_is_none(only) && !qn_str_equal(only, event->instance)) {
            return QN_STR_NONE;
        }
        only = event->instance;
    }
    return only;
}

void qn_book_init(struct qn_book *book, const struct qn_judge_input *in)
{
    *book = (struct qn_book){.in = in, .only = only_instance(in)};
    qn_arena_init(&book->arena, SIZE_MAX / 2);
    qn_table_init(&book->instances, sizeof(struct qn_book_instance));
    qn_table_init_for(&book->by_handle, sizeof(struct qn_lease *), &in->history->texts);
    qn_table_init_for(&book->by_message, sizeof(struct qn_lease *), &in->history->texts);
    qn_table_init_for(&book->by_key, sizeof(struct qn_lease *), &in->history->texts);
    qn_table_init_for(&book->by_request, sizeof(struct request), &in->history->texts);
    qn_table_init(&book->by_run, sizeof(struct qn_handler *));
    qn_busy_collect(book);
    for (size_t i = 0; i < in->history->count; i++) {
        feed(book, &in->history->events[i]);
    }
}

void qn_book_done(struct qn_book *book)
{
    qn_table_done(&book->instances);
    qn_table_done(&book->by_handle);
    qn_table_done(&book->by_message);
    qn_table_done(&book->by_key);
    qn_table_done(&book->by_request);
    qn_table_done(&book->by_run);
    qn_arena_done(&book->arena);
}
