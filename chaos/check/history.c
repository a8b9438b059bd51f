/* The merged list of events of one scenario. */
#include "chaos/check/history.h"

#include <jansson.h>
#include <stdlib.h>

#include "chaos/check/lines.h"

_Static_assert(sizeof(struct qn_check_event) <= 312, "a trace of a million takes 300 MB already");

/* What is known of a message by its id. */
struct message {
    struct qn_str loaded_k; /* what the scenario calls it */
    struct qn_str k;
    struct qn_str grp;
    struct qn_str sn;
};

void qn_history_init(struct qn_history *history)
{
    *history = (struct qn_history){0};
    qn_texts_init(&history->texts);
    qn_arena_init(&history->arena, SIZE_MAX / 2);
}

void qn_history_add_port(struct qn_history *history, int64_t port, const char *instance)
{
    if (history->port_count < QN_HISTORY_PORTS_MAX) {
        struct qn_history_port *item = &history->ports[history->port_count++];
        item->port = port;
        (void)snprintf(item->instance, sizeof(item->instance), "%s", instance);
    }
}

/* Of a trace that was stored. */
static void read_ports(struct qn_history *history, struct qn_str header)
{
    json_t *json = json_loadb(header.ptr, header.len, JSON_ALLOW_NUL, NULL);
    const char *name;
    json_t *port;

    json_object_foreach(json_object_get(json_object_get(json, "run"), "ports"), name, port)
    {
        qn_history_add_port(history, json_integer_value(port), name);
    }
    json_decref(json);
}

/* The instance that has the port; NULL: none, or the access key is one that we gave. */
static const char *by_port(const struct qn_history *history, const struct qn_check_event *event)
{
    if (qn_str_starts_with(event->instance, QN_STR("QUERN"))) {
        return NULL;
    }
    for (size_t i = 0; i < history->port_count; i++) {
        if (history->ports[i].port == event->port) {
            return history->ports[i].instance;
        }
    }
    return NULL;
}

/* Calls say on which port they came, and what they did says by which call. */
static void name_caller(struct qn_history *history, struct qn_check_event *event)
{
    if (history->port_count < 2 || qn_str_is_none(event->req)) {
        return;
    }
    if (history->callers == NULL) {
        history->callers = qn_memory_new(sizeof(*history->callers));
        qn_table_init(history->callers, sizeof(struct qn_str));
    }
    const char *name = event->kind == QN_CHECK_API_IN ? by_port(history, event) : NULL;
    if (name != NULL) {
        *(struct qn_str *)qn_table_at(history->callers, event->req) =
            qn_texts_take(&history->texts, qn_str_from_cstr(name));
    }
    const struct qn_str *caller = qn_table_find(history->callers, event->req);
    if (caller != NULL && !qn_str_is_none(event->instance)) {
        event->instance = *caller;
    }
}

void qn_history_done(struct qn_history *history)
{
    if (history->callers != NULL) {
        qn_table_done(history->callers);
        qn_memory_free(history->callers);
    }
    qn_memory_free(history->events);
    qn_texts_done(&history->texts);
    qn_arena_done(&history->arena);
    *history = (struct qn_history){0};
}

/* The same text as that of the last event that had one, or its place among all. */
static void keep(struct qn_history *history, size_t which, struct qn_str *text)
{
    struct qn_str *recent = &history->recent[which];

    if (qn_str_is_none(*text)) {
        return;
    }
    if (qn_str_is_none(*recent) || !qn_str_equal(*recent, *text)) {
        *recent = qn_texts_take(&history->texts, *text);
    }
    *text = *recent;
}

/* HANDLE: the place of `h` among those of the event. */
enum { HANDLE = 7, EVENT_TEXTS = 12, DETAIL_TEXTS = QN_HISTORY_TEXTS - EVENT_TEXTS };

static const struct qn_check_detail *copy_detail(struct qn_history *history,
                                                 const struct qn_check_detail *detail)
{
    struct qn_check_detail *copy = qn_arena_alloc(&history->arena, sizeof(*copy));
    struct qn_str *handles =
        qn_arena_alloc(&history->arena, detail->handle_count * sizeof(struct qn_str));

    *copy = *detail;
    struct qn_str *const texts[DETAIL_TEXTS] = {&copy->invocation, &copy->reason, &copy->rule,
                                                &copy->step,       &copy->target, &copy->agent,
                                                &copy->asked,      &copy->tenant};
    for (size_t i = 0; i < DETAIL_TEXTS; i++) {
        keep(history, EVENT_TEXTS + i, texts[i]);
    }
    for (size_t i = 0; i < detail->handle_count; i++) {
        handles[i] = detail->handles[i];
        keep(history, HANDLE, &handles[i]);
    }
    copy->handles = handles;
    struct qn_check_failure *failures =
        qn_arena_alloc(&history->arena, detail->failure_count * sizeof(struct qn_check_failure));
    for (size_t i = 0; i < detail->failure_count; i++) {
        failures[i] = (struct qn_check_failure){
            .code = qn_texts_take(&history->texts, detail->failures[i].code),
            .message = qn_texts_take(&history->texts, detail->failures[i].message),
        };
    }
    copy->failures = failures;
    return copy;
}

static struct qn_check_event *append(struct qn_history *history)
{
    if (history->count == history->cap) {
        history->cap = history->cap > 0 ? history->cap * 2 : 256;
        history->events = qn_memory_resize(history->events, history->cap, sizeof(*history->events));
    }
    return &history->events[history->count++];
}

void qn_history_add(struct qn_history *history, const struct qn_check_event *event)
{
    struct qn_check_event *copy = append(history);
    struct qn_str *const texts[EVENT_TEXTS] = {
        &copy->req, &copy->action, &copy->queue, &copy->instance, &copy->code, &copy->mid,
        &copy->k,   &copy->h,      &copy->grp,   &copy->sn,       &copy->ik,   &copy->what,
    };

    *copy = *event;
    for (size_t i = 0; i < EVENT_TEXTS; i++) {
        keep(history, i, texts[i]);
    }
    if (!qn_check_detail_is_none(event->detail)) {
        copy->detail = copy_detail(history, event->detail);
    }
}

void qn_history_map_keys(struct qn_history *history, const struct qn_table *map)
{
    struct qn_check_event *events = history->events;
    size_t count = history->count;

    history->events = NULL;
    history->count = history->cap = 0;
    for (size_t i = 0; i < count; i++) {
        struct qn_check_event event = events[i];
        bool is_work = event.kind >= QN_CHECK_WORK_BEGIN && event.kind <= QN_CHECK_WORK_ABORT;
        const struct qn_history_keys *keys =
            is_work && !qn_str_is_none(event.k) ? qn_table_find(map, event.k) : NULL;
        size_t copies = keys == NULL ? 0 : event.kind == QN_CHECK_WORK_REPLY ? 1 : keys->count;
        for (size_t j = 0; j < copies; j++) {
            event.k = qn_texts_take(&history->texts, keys->items[j]);
            *append(history) = event;
        }
        if (copies == 0) {
            *append(history) = event;
        }
    }
    qn_memory_free(events);
}

static void add_line(struct qn_history *history, struct qn_check_line *line)
{
    history->missed += line->missed;
    if (line->is_header) {
        history->header = qn_arena_copy(&history->arena, line->text);
        read_ports(history, line->text);
    } else if (line->missed == 0) {
        name_caller(history, &line->event);
        line->event.raw =
            history->keeps_lines ? qn_arena_copy(&history->arena, line->text).ptr : NULL;
        qn_history_add(history, &line->event);
    }
}

void qn_history_add_lines(struct qn_history *history, struct qn_check_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        add_line(history, &lines->items[i]);
    }
}

bool qn_history_read(struct qn_history *history, struct qn_str text, struct qn_error *err)
{
    struct qn_check_lines lines;

    qn_check_lines_init(&lines);
    bool ok = qn_check_lines_parse(&lines, text, err);
    qn_history_add_lines(history, &lines);
    qn_check_lines_done(&lines);
    return ok;
}

static int by_number(const void *a, const void *b)
{
    const struct qn_check_event *x = a;
    const struct qn_check_event *y = b;

    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static bool is_in_order(const struct qn_history *history)
{
    for (size_t i = 1; i < history->count; i++) {
        if (history->events[i].seq < history->events[i - 1].seq) {
            return false;
        }
    }
    return true;
}

/* A start of the server names the last entry that its store came back to. What it did beyond that
 * was forgotten. */
static void mark_undone(struct qn_history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *boot = &history->events[i];
        if (boot->kind != QN_CHECK_BOOT) {
            continue;
        }
        for (size_t j = 0; j < i; j++) {
            struct qn_check_event *event = &history->events[j];
            bool is_state =
                event->kind >= QN_CHECK_LEASE_GRANT && event->kind <= QN_CHECK_MSG_DUPCOPY;
            event->undone = event->undone || (is_state && event->lsn > boot->lsn);
        }
    }
}

static void fill(struct qn_str *known, struct qn_str *text)
{
    if (qn_str_is_none(*known)) {
        *known = *text;
    } else if (qn_str_is_none(*text)) {
        *text = *known;
    }
}

/* names: the keys that the load has. */
static void complete(struct qn_table *messages, struct qn_table *names,
                     struct qn_check_event *event)
{
    if (!qn_str_is_none(event->mid)) {
        struct message *message = qn_table_at_kept(messages, event->mid);
        bool is_ours = event->kind == QN_CHECK_LOAD || event->kind == QN_CHECK_LETTER;
        if (is_ours && !qn_str_is_none(event->k)) {
            message->loaded_k = event->k;
            (void)qn_table_at_kept(names, event->k);
        }
        fill(&message->k, &event->k);
        fill(&message->grp, &event->grp);
        fill(&message->sn, &event->sn);
    }
}

/* A body of the user's may have a key of its own, which the server told. But who took one message
 * of the load for another has done the work of that other one. */
static void take_name(struct qn_table *messages, struct qn_table *names,
                      struct qn_check_event *event)
{
    const struct message *message =
        qn_str_is_none(event->mid) ? NULL : qn_table_find(messages, event->mid);

    if (message != NULL && !qn_str_is_none(message->loaded_k) &&
        (qn_str_is_none(event->k) || qn_table_find_kept(names, event->k) == NULL)) {
        event->k = message->loaded_k;
    }
}

static void complete_messages(struct qn_history *history)
{
    struct qn_table messages;
    struct qn_table names;
    bool has_groups = false;

    qn_table_init_for(&messages, sizeof(struct message), &history->texts);
    qn_table_init_for(&names, 1, &history->texts);
    for (size_t i = 0; i < history->count; i++) {
        complete(&messages, &names, &history->events[i]);
        has_groups = has_groups || !qn_str_is_none(history->events[i].grp);
    }
    /* An event may stand before the one that tells its key. */
    for (size_t i = 0; i < history->count; i++) {
        struct qn_check_event *event = &history->events[i];
        if (qn_str_is_none(event->k) ||
            (has_groups && (qn_str_is_none(event->grp) || qn_str_is_none(event->sn)))) {
            complete(&messages, &names, event);
        }
        take_name(&messages, &names, event);
    }
    qn_table_done(&messages);
    qn_table_done(&names);
}

void qn_history_settle(struct qn_history *history)
{
    if (!is_in_order(history)) {
        qsort(history->events, history->count, sizeof(*history->events), by_number);
    }
    mark_undone(history);
    complete_messages(history);
}

void qn_history_write(const struct qn_history *history, FILE *file)
{
    struct qn_buf buf;

    qn_buf_init(&buf, SIZE_MAX / 2);
    if (!qn_str_is_none(history->header)) {
        qn_buf_append_str(&buf, history->header);
        qn_buf_append_char(&buf, '\n');
    }
    for (size_t i = 0; i < history->count; i++) {
        qn_check_event_write(&history->events[i], &buf);
    }
    (void)fwrite(buf.len > 0 ? buf.ptr : "", 1, buf.len, file);
    qn_buf_done(&buf);
}

int64_t qn_history_virtual_length_ms(const struct qn_history *history)
{
    for (size_t i = history->count; i > 0; i--) {
        const struct qn_check_event *event = &history->events[i - 1];
        if (event->kind == QN_CHECK_MARK && qn_str_equal(event->detail->reason, QN_STR("end"))) {
            return event->vt - history->events[0].vt;
        }
    }
    return 0;
}
