/* When a window opens and when it is over, by the calls that fail in it. */
#include "chaos/check/windows.h"

struct call {
    struct qn_str instance;
    struct qn_str action;
    struct qn_str invocation; /* none: its client gives no ids */
    int64_t at_ms;            /* wall */
    bool has_failed;          /* by the rule of a window */
};

/* An invocation, from its first failure to its last one so far. */
struct
try {
    struct qn_str instance;
    int64_t first_ms;
    int64_t last_ms;
};

/* Times are wall; 0: never. */
struct caller {
    int64_t calls;      /* those that failed */
    int64_t anonymous;  /* of them without ids */
    int64_t enough_ms;  /* when there were enough of those */
    int64_t exited_ms;  /* the last end of its process */
    int64_t gave_up_ms; /* the first end after a failure */
    int64_t at_once;    /* most invocations that were tried side by side */
};

enum { LOOKED_AT_MAX = 200 }; /* who makes more invocations in a window has given up some */

void qn_windows_init(struct qn_windows *windows, const struct qn_faults *faults,
                     const struct qn_terms *terms)
{
    *windows = (struct qn_windows){.may_open = true, .pollers = 1};
    windows->items = qn_memory_new_array(faults->count, sizeof(*windows->items));
    for (size_t i = 0; i < faults->count; i++) {
        const struct qn_fault *fault = &faults->items[i];
        if (!qn_str_is_none(fault->from->window)) {
            windows->items[windows->count++] =
                (struct qn_window){fault, qn_terms_ms(terms, fault->from->window)};
        }
    }
    qn_table_init(&windows->calls, sizeof(struct call));
    qn_table_init(&windows->tries, sizeof(struct try));
    qn_table_init(&windows->callers, sizeof(struct caller));
}

void qn_windows_done(struct qn_windows *windows)
{
    if (windows->items == NULL) {
        return;
    }
    qn_table_done(&windows->calls);
    qn_table_done(&windows->tries);
    qn_table_done(&windows->callers);
    qn_memory_free(windows->items);
    *windows = (struct qn_windows){0};
}

static int64_t earlier_of(int64_t a_ms, int64_t b_ms)
{
    return a_ms == 0 || (b_ms != 0 && b_ms < a_ms) ? b_ms : a_ms;
}

/* What is known of pollers is of no account for other calls. */
static bool is_of_receives(const struct qn_windows *windows)
{
    return qn_str_equal(windows->action, QN_STR("ReceiveMessage"));
}

static int64_t alive_at(const struct qn_windows *windows, struct qn_str instance, int64_t at_ms)
{
    int64_t count = 0;

    for (const struct qn_table_item *item = windows->tries.first; item != NULL; item = item->next) {
        const struct try *one = item->value;
        count += qn_str_equal(one->instance, instance) && one->first_ms <= at_ms &&
                 one->last_ms >= at_ms;
    }
    return count;
}

/* One that is tried again was alive since its last failure, beside others that were. */
static void note_again(const struct qn_windows *windows, struct caller *caller,
                       struct qn_str instance, int64_t since_ms)
{
    int64_t most = alive_at(windows, instance, since_ms);

    for (const struct qn_table_item *item = windows->tries.first; item != NULL; item = item->next) {
        const struct try *one = item->value;
        int64_t count = one->first_ms > since_ms ? alive_at(windows, instance, one->first_ms) : 0;
        most = count > most ? count : most;
    }
    caller->at_once = most > caller->at_once ? most : caller->at_once;
}

static void note_try(struct qn_windows *windows, const struct call *call, struct caller *caller,
                     int64_t at_ms)
{
    struct try *one = qn_table_at(&windows->tries, call->invocation);
    bool is_again = one->first_ms != 0;
    int64_t since_ms = one->last_ms;

    one->instance = call->instance;
    one->first_ms = is_again ? one->first_ms : at_ms;
    one->last_ms = at_ms;
    if (is_again && windows->tries.count <= LOOKED_AT_MAX) {
        note_again(windows, caller, call->instance, since_ms);
    }
}

/* With several pollers so many invocations may fail side by side and all be tried again: the first
 * failure of one more shows that one of them was given up. 0: none was. */
static int64_t one_too_many_ms(const struct qn_windows *windows, const struct caller *caller,
                               struct qn_str instance)
{
    int64_t known = is_of_receives(windows) ? windows->pollers : 1;
    int64_t left = known > caller->at_once ? known : caller->at_once;

    for (const struct qn_table_item *item = windows->tries.first; item != NULL; item = item->next) {
        const struct try *one = item->value;
        if (qn_str_equal(one->instance, instance) && left-- == 0) {
            return one->first_ms;
        }
    }
    return 0;
}

/* What looked given up may be tried again all the same: then there is none again. */
static void find_final(struct qn_windows *windows)
{
    windows->final_ms = 0;
    for (const struct qn_table_item *item = windows->callers.first; item != NULL;
         item = item->next) {
        const struct caller *caller = item->value;
        int64_t at_ms = one_too_many_ms(windows, caller, item->key);
        at_ms = earlier_of(at_ms, earlier_of(caller->enough_ms, caller->gave_up_ms));
        windows->final_ms = earlier_of(windows->final_ms, at_ms);
    }
}

static void note_call(struct qn_windows *windows, const struct qn_check_event *event,
                      struct qn_str instance)
{
    struct call *call = qn_table_at(&windows->calls, event->req);

    *call = (struct call){
        .instance = instance,
        .action = event->action,
        .invocation = event->detail->invocation,
        .at_ms = event->wt,
    };
}

static bool is_of_window(const struct qn_windows *windows, const struct qn_check_event *event)
{
    return !qn_str_is_none(event->req) &&
           !qn_str_starts_with(event->detail->reason, QN_STR("shadowed")) &&
           qn_str_equal(event->detail->rule, windows->items[windows->now].fault->from->name);
}

static void note_failure(struct qn_windows *windows, const struct qn_check_event *event)
{
    struct call *call =
        is_of_window(windows, event) ? qn_table_find(&windows->calls, event->req) : NULL;

    if (call == NULL) {
        return;
    }
    struct caller *caller = qn_table_at(&windows->callers, call->instance);
    call->has_failed = true;
    windows->action = call->action;
    windows->first_ms = windows->first_ms == 0 ? event->wt : windows->first_ms;
    caller->calls++;
    if (!qn_str_is_none(call->invocation)) {
        note_try(windows, call, caller, event->wt);
    } else if (++caller->anonymous >= QN_WINDOW_CALLS && caller->anonymous > windows->pollers) {
        caller->enough_ms = earlier_of(caller->enough_ms, event->wt);
    }
    if (caller->exited_ms >= event->wt) { /* the end was told before the failure */
        caller->gave_up_ms = earlier_of(caller->gave_up_ms, caller->exited_ms);
    }
    find_final(windows);
}

/* A process that ends gives up what it was trying. */
static void note_exit(struct qn_windows *windows, const struct qn_check_event *event,
                      struct qn_str instance)
{
    struct caller *caller = qn_table_at(&windows->callers, instance);

    caller->exited_ms = event->wt;
    if (caller->calls > 0) {
        caller->gave_up_ms = earlier_of(caller->gave_up_ms, event->wt);
    }
    find_final(windows);
}

/* Only one that came since then: a poll that was parked all the time has seen nothing. */
static void note_answer(struct qn_windows *windows, const struct qn_check_event *event)
{
    const struct call *call = qn_table_find(&windows->calls, event->req);

    if (call != NULL && !call->has_failed && call->at_ms >= windows->ended_ms &&
        qn_str_equal(call->action, windows->action) && qn_str_equal(event->code, QN_STR("OK"))) {
        windows->may_open = true;
    }
}

void qn_windows_feed(struct qn_windows *windows, const struct qn_check_event *event,
                     struct qn_str instance)
{
    if (windows->now == windows->count) {
        return;
    }
    if (event->kind == QN_CHECK_API_IN) {
        note_call(windows, event, instance);
    } else if (event->kind == QN_CHECK_FAULT && windows->is_open) {
        note_failure(windows, event);
    } else if (event->kind == QN_CHECK_API_OUT && !windows->is_open) {
        note_answer(windows, event);
    } else if (event->kind == QN_CHECK_PROC && qn_str_equal(event->what, QN_STR("exit")) &&
               windows->is_open) {
        note_exit(windows, event, instance);
    }
}

enum qn_windows_step qn_windows_step(const struct qn_windows *windows, int64_t now_ms)
{
    if (windows->now == windows->count) {
        return QN_WINDOWS_WAIT;
    }
    if (!windows->is_open) {
        return windows->may_open ? QN_WINDOWS_OPEN : QN_WINDOWS_WAIT;
    }
    const struct qn_window *window = &windows->items[windows->now];
    bool is_over = windows->final_ms != 0
                       ? now_ms >= windows->final_ms + window->length_ms
                       : windows->first_ms != 0 && now_ms >= windows->first_ms + QN_WINDOW_MOST_MS;
    return is_over ? QN_WINDOWS_END : QN_WINDOWS_WAIT;
}

void qn_windows_opened(struct qn_windows *windows)
{
    windows->is_open = true;
    windows->may_open = false;
    windows->first_ms = 0;
    windows->final_ms = 0;
    qn_table_done(&windows->tries);
    qn_table_init(&windows->tries, sizeof(struct try));
    qn_table_done(&windows->callers);
    qn_table_init(&windows->callers, sizeof(struct caller));
}

void qn_windows_ended(struct qn_windows *windows, int64_t now_ms)
{
    for (const struct qn_table_item *item = windows->callers.first; item != NULL;
         item = item->next) {
        const struct caller *caller = item->value;
        int64_t at_once = is_of_receives(windows) ? caller->at_once : 0;
        windows->pollers = at_once > windows->pollers ? at_once : windows->pollers;
    }
    windows->is_open = false;
    windows->first_ms = 0;
    windows->ended_ms = now_ms;
    windows->now++;
}

bool qn_windows_is_last(const struct qn_windows *windows)
{
    return windows->now + 1 == windows->count;
}

bool qn_windows_is_noticed(const struct qn_windows *windows)
{
    return windows->is_open && windows->first_ms != 0;
}

bool qn_windows_are_over(const struct qn_windows *windows)
{
    return windows->now == windows->count;
}
