/* The functions of expressions, one row each. */
#include <ctype.h>
#include <stdio.h>

#include "chaos/check/judge/expression.h"
#include "chaos/lex.h"

/* ---- what events are meant */

/* work.begin, lease.*, proc.exit, fault.NAME, or the action of a call: Delete*. */
static bool is_meant(const struct qn_judge_input *in, const struct qn_check_event *event,
                     struct qn_str pattern)
{
    if (!qn_judge_counts(in, event)) {
        return false;
    }
    if (isupper((unsigned char)pattern.ptr[0])) {
        return event->kind == QN_CHECK_API_IN && qn_judge_fits(event->action, pattern);
    }
    if (event->kind == QN_CHECK_PROC && qn_str_starts_with(pattern, QN_STR("proc."))) {
        return qn_judge_fits(event->what, qn_str_from(pattern, 5));
    }
    if (event->kind == QN_CHECK_FAULT && qn_str_starts_with(pattern, QN_STR("fault."))) {
        return qn_judge_fits(event->detail->rule, qn_str_from(pattern, 6)) &&
               !qn_str_starts_with(event->detail->reason, QN_STR("shadowed"));
    }
    return qn_judge_fits(qn_str_from_cstr(qn_check_kind_name(event->kind)), pattern);
}

bool qn_expression_is_about(const struct qn_judge_input *in, const struct qn_check_event *event,
                            struct qn_str selector)
{
    if (qn_str_is_none(selector) || qn_str_equal(selector, QN_STR("all"))) {
        return true;
    }
    for (size_t i = 0; i < event->detail->handle_count; i++) {
        const struct qn_lease *lease = qn_book_lease_of(in->book, event->detail->handles[i]);
        if (lease != NULL && qn_tally_selects(in->tally, selector, lease->grant->k)) {
            return true;
        }
    }
    return !qn_str_is_none(event->k) && qn_tally_selects(in->tally, selector, event->k);
}

void qn_expression_witness(const struct qn_expression *x, struct qn_finding *finding)
{
    if (qn_str_is_none(x->pattern)) {
        return;
    }
    for (size_t i = 0; i < x->in->history->count && finding->witness_count < QN_WITNESS_MAX; i++) {
        const struct qn_check_event *event = &x->in->history->events[i];
        if (is_meant(x->in, event, x->pattern) &&
            qn_expression_is_about(x->in, event, x->selector)) {
            qn_finding_witness(finding, event->seq);
        }
    }
}

/* ---- phases and times */

static const struct qn_check_event *find_mark(const struct qn_judge_input *in, struct qn_str name)
{
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        bool is_ready = event->kind == QN_CHECK_PROC && qn_str_equal(event->what, QN_STR("ready"));
        if (event->kind == QN_CHECK_MARK ? qn_str_equal(event->detail->reason, name)
                                         : is_ready && qn_str_equal(name, QN_STR("ready"))) {
            return event;
        }
    }
    return NULL;
}

/* Times count from the first readiness, or from the first event without one. */
static int64_t origin_ms(const struct qn_judge_input *in)
{
    const struct qn_check_event *ready = find_mark(in, QN_STR("ready"));

    return ready != NULL ? ready->vt : in->history->count > 0 ? in->history->events[0].vt : 0;
}

/* From the mark to the one behind it; without a name from readiness to the end. */
struct phase {
    uint64_t from_seq, to_seq;
    int64_t wall_ms;
    bool is_there;
};

/* Readiness closes nothing: it is told only after the first work may have begun. */
static bool closes(const struct qn_check_event *mark, const struct qn_check_event *from,
                   struct qn_str name)
{
    return qn_str_is_none(name)
               ? qn_str_equal(mark->detail->reason, QN_STR("end"))
               : mark->seq > from->seq && !qn_str_equal(mark->detail->reason, QN_STR("ready"));
}

static struct phase find_phase(struct qn_expression *x, struct qn_str name)
{
    const struct qn_history *history = x->in->history;
    struct qn_str from_name = qn_str_is_none(name) ? QN_STR("ready") : name;
    const struct qn_check_event *from = find_mark(x->in, from_name);
    const struct qn_check_event *to =
        history->count > 0 ? &history->events[history->count - 1] : NULL;

    if (from == NULL && qn_str_is_none(name) && history->count > 0) {
        from = &history->events[0];
    }
    if (from == NULL) {
        x->is_absent = true;
        x->absent = from_name;
        return (struct phase){0};
    }
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (event->kind == QN_CHECK_MARK && closes(event, from, name)) {
            to = event;
            break;
        }
    }
    return (struct phase){from->seq, to->seq, to->wt - from->wt, true};
}

static double count_events(struct qn_expression *x, struct qn_str pattern,
                           const struct phase *phase)
{
    double count = 0;

    for (size_t i = 0; i < x->in->history->count; i++) {
        const struct qn_check_event *event = &x->in->history->events[i];
        if ((phase == NULL || (event->seq >= phase->from_seq && event->seq < phase->to_seq)) &&
            is_meant(x->in, event, pattern)) {
            count++;
        }
    }
    return count;
}

/* ---- functions */

struct arguments {
    const struct qn_str *items;
    size_t count;
    size_t from; /* column of the call */
};

static void need_for(struct qn_expression *x, struct qn_str pattern)
{
    bool is_of_sink = qn_str_starts_with(pattern, QN_STR("work")) ||
                      qn_str_starts_with(pattern, QN_STR("re")) ||
                      qn_str_equal(pattern, QN_STR("state"));

    qn_expression_need(x, is_of_sink ? QN_LEVEL_SINK : QN_LEVEL_PROTOCOL);
    x->pattern = pattern;
}

static double calls(struct qn_expression *x, const struct arguments *a)
{
    x->pattern = a->items[0];
    if (a->count == 1) {
        double count = 0;
        for (const struct qn_table_item *item = x->in->tally->calls.first; item != NULL;
             item = item->next) {
            count += qn_judge_fits(item->key, a->items[0]) ? (double)*(int64_t *)item->value : 0;
        }
        return count;
    }
    const struct phase phase = find_phase(x, a->items[1]);
    return phase.is_there ? count_events(x, a->items[0], &phase) : 0;
}

/* Requests that were about these messages, answered well or not. */
static double tried(struct qn_expression *x, const struct arguments *a)
{
    double count = 0;

    x->pattern = a->items[0];
    x->selector = a->items[1];
    for (size_t i = 0; i < x->in->history->count; i++) {
        const struct qn_check_event *event = &x->in->history->events[i];
        count += is_meant(x->in, event, a->items[0]) &&
                 qn_expression_is_about(x->in, event, a->items[1]);
    }
    return count;
}

static double rate(struct qn_expression *x, const struct arguments *a)
{
    const struct phase phase = find_phase(x, a->count > 1 ? a->items[1] : QN_STR_NONE);

    x->pattern = a->items[0];
    return phase.is_there && phase.wall_ms > 0
               ? count_events(x, a->items[0], &phase) * 1000 / (double)phase.wall_ms
               : 0;
}

static double count(struct qn_expression *x, const struct arguments *a)
{
    need_for(x, a->items[0]);
    if (a->count == 1) {
        return count_events(x, a->items[0], NULL);
    }
    const struct phase phase = find_phase(x, a->items[1]);
    return phase.is_there ? count_events(x, a->items[0], &phase) : 0;
}

static double held(struct qn_expression *x, const struct arguments *a)
{
    char name[32] = "";
    double most = 0;

    if (a->count > 0) {
        int64_t number;
        if (qn_str_to_int64(a->items[0], 1, 9999, &number)) {
            (void)snprintf(name, sizeof(name), "QUERN%04d", (int)number);
        }
    }
    for (const struct qn_table_item *item = x->in->book->instances.first; item != NULL;
         item = item->next) {
        const struct qn_book_instance *instance = item->value;
        struct qn_str wanted = name[0] != '\0' ? qn_str_from_cstr(name)
                               : a->count > 0  ? a->items[0]
                                               : item->key;
        if (qn_str_equal(wanted, item->key) && (double)instance->most_held > most) {
            most = (double)instance->most_held;
        }
    }
    return most;
}

/* Between attempt i and the next; without the sink between leases. Virtual: a skipped wait was one.
 */
static double gap(struct qn_expression *x, const struct arguments *a)
{
    bool has_sink = x->in->level >= QN_LEVEL_SINK;
    struct qn_str pattern = has_sink ? QN_STR("work.begin") : QN_STR("lease.grant");
    int64_t wanted;
    int64_t seen = 0;
    int64_t at_ms = 0;

    if (!qn_str_to_int64(a->items[1], 1, INT32_MAX, &wanted)) {
        return qn_expression_fail(x, a->from,
                                  "gap takes a key and the number of an attempt, from 1");
    }
    x->pattern = pattern;
    x->selector = a->items[0];
    for (size_t i = 0; i < x->in->history->count; i++) {
        const struct qn_check_event *event = &x->in->history->events[i];
        if (!is_meant(x->in, event, pattern) ||
            !qn_expression_is_about(x->in, event, a->items[0])) {
            continue;
        }
        if (++seen > wanted) {
            return (double)(event->vt - at_ms);
        }
        at_ms = event->vt;
    }
    x->is_absent = true;
    x->absent = QN_STR("the attempt behind that gap");
    return 0;
}

static double edge(struct qn_expression *x, const struct arguments *a, bool is_last)
{
    struct qn_str selector = a->count > 1 ? a->items[1] : QN_STR_NONE;
    const struct qn_check_event *found = NULL;

    need_for(x, a->items[0]);
    x->selector = selector;
    for (size_t i = 0; i < x->in->history->count && (is_last || found == NULL); i++) {
        const struct qn_check_event *event = &x->in->history->events[i];
        if (is_meant(x->in, event, a->items[0]) && qn_expression_is_about(x->in, event, selector)) {
            found = event;
        }
    }
    if (found == NULL) {
        x->is_absent = true;
        x->absent = a->items[0];
        return 0;
    }
    return (double)(found->vt - origin_ms(x->in));
}

static double first(struct qn_expression *x, const struct arguments *a)
{
    return edge(x, a, false);
}

static double last(struct qn_expression *x, const struct arguments *a)
{
    return edge(x, a, true);
}

static double dlq(struct qn_expression *x, const struct arguments *a)
{
    if (a->count > 0) {
        return qn_expression_sum(x, QN_STR("dead"), a->items[0]);
    }
    x->pattern = QN_STR("msg.dlq");
    return count_events(x, QN_STR("msg.dlq"), NULL);
}

static double dlq_left(struct qn_expression *x, const struct arguments *a)
{
    (void)a;
    return qn_expression_dlq_left(x);
}

/* What the projection of the entity had at last; 0: it was never written. */
static double version(struct qn_expression *x, const struct arguments *a)
{
    double newest = 0;

    need_for(x, QN_STR("state"));
    for (size_t i = 0; i < x->in->history->count; i++) {
        const struct qn_check_event *event = &x->in->history->events[i];
        if (event->kind == QN_CHECK_STATE && qn_str_equal(event->detail->target, a->items[0])) {
            newest = (double)event->n;
        }
    }
    return newest;
}

static double canaries(struct qn_expression *x, const struct arguments *a)
{
    (void)a;
    return qn_expression_canaries(x);
}

static double printed(struct qn_expression *x, const struct arguments *a)
{
    return qn_expression_printed(x, a->items[0]);
}

static double short_polls(struct qn_expression *x, const struct arguments *a)
{
    const struct phase phase = find_phase(x, a->count > 0 ? a->items[0] : QN_STR_NONE);

    x->pattern = QN_STR("ReceiveMessage");
    return phase.is_there ? qn_expression_short_polls(x, phase.from_seq, phase.to_seq) : 0;
}

static double unnamed(struct qn_expression *x, const struct arguments *a)
{
    double count = 0;

    (void)a;
    for (size_t i = 0; i < x->in->history->count; i++) {
        count += qn_judge_is_unnamed(x->in, &x->in->history->events[i]);
    }
    return count;
}

static double exits(struct qn_expression *x, const struct arguments *a)
{
    struct qn_finding ignored = {0};

    (void)a;
    x->pattern = QN_STR("proc.exit");
    return (double)qn_judge_own_exits(x->in, &ignored);
}

/* Only the sink tells what was in work. */
static double left(struct qn_expression *x, const struct arguments *a)
{
    bool is_done = qn_str_equal(a->items[0], QN_STR("done"));

    if (!is_done && !qn_str_equal(a->items[0], QN_STR("begun"))) {
        return qn_expression_fail(x, a->from, "expected left(begun) or left(done)");
    }
    qn_expression_need(x, QN_LEVEL_SINK);
    x->pattern = QN_STR("proc.exit");
    return (double)qn_judge_left(x->in, is_done);
}

static double time_of(struct qn_expression *x, const struct arguments *a)
{
    const struct qn_check_event *mark = find_mark(x->in, a->items[0]);

    if (mark == NULL) {
        x->is_absent = true;
        x->absent = a->items[0];
        return 0;
    }
    return (double)(mark->vt - origin_ms(x->in));
}

/* As their members are called in quern.json. */
static bool is_declarable(struct qn_str name)
{
    static const char *const names[] = {"concurrency",  "prefetch",        "work_max",
                                        "grace",        "heartbeat",       "idempotency",
                                        "poison",       "fifo_on_failure", "retry_queue",
                                        "output_queue", "restart",         "at_most_once"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (qn_str_equal(name, qn_str_from_cstr(names[i]))) {
            return true;
        }
    }
    return false;
}

/* Who tried it has a heartbeat, even one that does not work; but who says that he has none has
 * none. */
static bool has_tried(const struct qn_expression *x, struct qn_str name, const json_t *said)
{
    const char *text = json_string_value(said);

    return x->in->tries_heartbeat && qn_str_equal(name, QN_STR("heartbeat")) &&
           (text == NULL || strcmp(text, "auto") == 0);
}

/* A duration in ms. */
static double declared(struct qn_expression *x, const struct arguments *a)
{
    if (!is_declarable(a->items[0])) {
        return qn_expression_fail(x, a->from, "nothing is declared by the name \"%.*s\"",
                                  QN_STR_ARG(a->items[0]));
    }
    const json_t *value = qn_declaration(x->in->declared, a->items[0]);

    if (a->count > 1 && has_tried(x, a->items[0], value)) {
        return qn_str_equal(a->items[1], QN_STR("yes"));
    }
    if (a->count > 1) {
        return json_is_string(value) &&
               qn_str_equal(a->items[1], qn_str_from_cstr(json_string_value(value)));
    }
    return json_is_true(value) ? 1 : (double)json_integer_value(value);
}

static const struct function {
    const char *name;
    size_t min, max; /* arguments */
    double (*call)(struct qn_expression *x, const struct arguments *a);
    const char *usage;
} functions[] = {
    {"calls", 1, 2, calls, "calls(ACTION) or calls(ACTION, MARK)"},
    {"tried", 2, 2, tried, "tried(ACTION, KEY)"},
    {"rate", 1, 2, rate, "rate(ACTION) or rate(ACTION, MARK)"},
    {"count", 1, 2, count, "count(EVENT) or count(EVENT, MARK)"},
    {"held", 0, 1, held, "held() or held(INSTANCE)"},
    {"gap", 2, 2, gap, "gap(KEY, NUMBER)"},
    {"first", 1, 2, first, "first(EVENT) or first(EVENT, KEY)"},
    {"last", 1, 2, last, "last(EVENT) or last(EVENT, KEY)"},
    {"dlq", 0, 1, dlq, "dlq() or dlq(KEY)"},
    {"dlq_left", 0, 0, dlq_left, "dlq_left()"},
    {"version", 1, 1, version, "version(ENTITY)"},
    {"canaries", 0, 0, canaries, "canaries()"},
    {"printed", 1, 1, printed, "printed(KEY)"},
    {"short_polls", 0, 1, short_polls, "short_polls() or short_polls(MARK)"},
    {"unnamed", 0, 0, unnamed, "unnamed()"},
    {"exits", 0, 0, exits, "exits()"},
    {"left", 1, 1, left, "left(begun) or left(done)"},
    {"time", 1, 1, time_of, "time(MARK)"},
    {"declared", 1, 2, declared, "declared(NAME) or declared(NAME, WORD)"},
};

enum { FUNCTION_COUNT = sizeof(functions) / sizeof(functions[0]) };

static double fail_unknown(struct qn_expression *x, size_t from, struct qn_str name)
{
    const char *names[2 + FUNCTION_COUNT + QN_EXPRESSION_PER_KEY_MAX] = {"max", "min"};

    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        names[2 + i] = functions[i].name;
    }
    size_t count = 2 + FUNCTION_COUNT + qn_expression_per_key_names(&names[2 + FUNCTION_COUNT]);
    const char *nearest = qn_nearest_word(name, names, count);
    return qn_expression_fail(x, from, "there is no function \"%.*s\"%s%s", QN_STR_ARG(name),
                              nearest != NULL ? ", perhaps " : "", nearest != NULL ? nearest : "");
}

double qn_expression_call(struct qn_expression *x, size_t from, struct qn_str name,
                          const struct qn_str *arguments, size_t count_given)
{
    const struct arguments a = {arguments, count_given, from};

    if (qn_expression_is_per_key(name)) {
        return count_given == 1
                   ? qn_expression_sum(x, name, arguments[0])
                   : qn_expression_fail(x, from, "expected %.*s(KEY)", QN_STR_ARG(name));
    }
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        const struct function *function = &functions[i];
        if (!qn_str_equal(name, qn_str_from_cstr(function->name))) {
            continue;
        }
        return count_given >= function->min && count_given <= function->max
                   ? function->call(x, &a)
                   : qn_expression_fail(x, from, "expected %s", function->usage);
    }
    return fail_unknown(x, from, name);
}
