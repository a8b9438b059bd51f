/* A row per message: the time it waits, its leases, the work on it, and how both end. */
#include <stdlib.h>

#include "chaos/check/report/picture.h"
#include "chaos/check/report/template.h"

enum {
    ROW_HEIGHT = 30,
    LEASE_Y = 4,
    LEASE_HEIGHT = 12,
    WORK_Y = 19,
    WORK_HEIGHT = 5,
    RUNS_MAX = 8
};
enum { LABEL_LEAST_PX = 20, PATTERNS = 4, LAPSED_PX = 12 };

/* What is open while a row is drawn. */
struct drawing {
    struct qn_picture *picture;
    const struct qn_picture_row *row;
    struct qn_buf bars;
    struct qn_buf marks; /* over the bars */
    size_t count;
    int64_t begin_ms, end_ms; /* of its time in the queue */
    const struct qn_check_event *lease;
    const struct qn_check_event *runs[RUNS_MAX];
    bool has_effect;
};

static void append_box(struct drawing *drawing, struct qn_buf *buf, const char *kind, int y,
                       int height, double x, double width, const char *title)
{
    struct qn_picture *picture = drawing->picture;
    struct qn_fill fill;

    qn_fill_begin(&fill, "bar");
    qn_fill_format(&fill, "kind", "%s", kind);
    qn_fill_format(&fill, "x", "%.1f", x);
    qn_fill_format(&fill, "y", "%d", picture->y + y);
    qn_fill_format(&fill, "width", "%.1f", width > 1 ? width : 1);
    qn_fill_format(&fill, "height", "%d", height);
    qn_fill_format(&fill, "title", "%s", title);
    qn_fill_end(&fill, buf);
}

static void append_bar(struct drawing *drawing, struct qn_buf *buf, const char *kind, int y,
                       int height, int64_t from_ms, int64_t to_ms, const char *title)
{
    double x = qn_picture_x(drawing->picture, from_ms);

    append_box(drawing, buf, kind, y, height, x, qn_picture_x(drawing->picture, to_ms) - x, title);
}

/* Hatches the end of a lease that lapsed: all of a short one. */
static void append_lapsed(struct drawing *drawing, int64_t from_ms, int64_t to_ms)
{
    double left = qn_picture_x(drawing->picture, from_ms);
    double right = qn_picture_x(drawing->picture, to_ms);
    double x = right - left > LAPSED_PX ? right - LAPSED_PX : left;

    append_box(drawing, &drawing->bars, "lapsed", LEASE_Y, LEASE_HEIGHT, x, right - x,
               "the lease lapsed here");
}

/* Sent with a delay, or so much later the queue's own copy. */
static void append_delayed(struct drawing *drawing, const struct qn_check_event *event)
{
    struct qn_picture *picture = drawing->picture;
    char title[64];

    if (event->deadline == QN_EVENT_NO_INT || event->deadline <= event->vt ||
        !qn_picture_has_room(picture)) {
        return;
    }
    (void)snprintf(title, sizeof(title), "delayed until %.2f s",
                   qn_picture_seconds(picture, event->deadline));
    append_bar(drawing, &drawing->bars, "delayed", LEASE_Y + LEASE_HEIGHT / 2 - 3, 6, event->vt,
               event->deadline, title);
}

/* Draws the open lease up to its end. */
static void close_lease(struct drawing *drawing, int64_t to_ms, const char *how)
{
    const struct qn_check_event *lease = drawing->lease;
    struct qn_picture *picture = drawing->picture;
    struct qn_fill fill;
    char kind[32];
    char title[160];

    if (lease == NULL || !qn_picture_has_room(picture)) {
        return;
    }
    int64_t number = qn_picture_instance(lease->instance);
    double x = qn_picture_x(picture, lease->vt);
    double width = qn_picture_x(picture, to_ms) - x;
    (void)snprintf(kind, sizeof(kind), "lease i%lld",
                   (long long)((number > 0 ? number - 1 : 0) % PATTERNS + 1));
    (void)snprintf(title, sizeof(title), "lease %lld, #%lld, from %.2f s to %.2f s, %s",
                   (long long)lease->n, (long long)number, qn_picture_seconds(picture, lease->vt),
                   qn_picture_seconds(picture, to_ms), how);
    append_bar(drawing, &drawing->bars, kind, LEASE_Y, LEASE_HEIGHT, lease->vt, to_ms, title);
    if (width >= LABEL_LEAST_PX) {
        qn_fill_begin(&fill, "bar-label");
        qn_fill_format(&fill, "x", "%.1f", x + 4);
        qn_fill_format(&fill, "y", "%d", picture->y + LEASE_Y + LEASE_HEIGHT - 3);
        qn_fill_format(&fill, "text", "#%lld", (long long)number);
        qn_fill_end(&fill, &drawing->marks);
    }
    drawing->lease = NULL;
}

static void close_run(struct drawing *drawing, const struct qn_check_event *event)
{
    for (size_t i = 0; i < RUNS_MAX; i++) {
        const struct qn_check_event *begin = drawing->runs[i];
        if (begin != NULL && begin->run == event->run && begin->run != QN_EVENT_NO_INT) {
            drawing->runs[i] = NULL;
            if (qn_picture_has_room(drawing->picture)) {
                append_bar(drawing, &drawing->bars, "work", WORK_Y, WORK_HEIGHT, begin->vt,
                           event->vt, "work at the sink");
            }
        }
    }
}

static void open_run(struct drawing *drawing, const struct qn_check_event *event)
{
    for (size_t i = 0; i < RUNS_MAX; i++) {
        if (drawing->runs[i] == NULL) {
            drawing->runs[i] = event;
            return;
        }
    }
}

static void mark(struct drawing *drawing, const char *shape, const struct qn_check_event *event,
                 int y)
{
    qn_picture_mark(drawing->picture, &drawing->marks, shape, event, drawing->picture->y + y);
}

/* Who does not call the sink shows no effect that a delete could have come before. */
static bool is_early(const struct drawing *drawing)
{
    return !drawing->has_effect && drawing->picture->judgement->level >= QN_LEVEL_SINK;
}

/* A copy that the consumer puts aside is its record of the message. */
static bool is_put_aside(const struct qn_picture *picture, const struct qn_check_event *event)
{
    const struct qn_report_queues *queues = &picture->queues;

    return event->kind == QN_CHECK_MSG_SEND && !qn_str_equal(event->instance, queues->self) &&
           ((queues->dlq.len > 0 && qn_str_equal(event->queue, queues->dlq)) ||
            (queues->retry.len > 0 && qn_str_equal(event->queue, queues->retry)));
}

static void draw_lease_event(struct drawing *drawing, const struct qn_check_event *event)
{
    const int middle = LEASE_Y + LEASE_HEIGHT / 2;

    switch (event->kind) {
    case QN_CHECK_LEASE_GRANT:
        close_lease(drawing, event->vt, "replaced by the next");
        drawing->lease = event;
        break;
    case QN_CHECK_LEASE_EXTEND:
        mark(drawing, "extend", event, middle);
        break;
    case QN_CHECK_LEASE_RELEASE:
        close_lease(drawing, event->vt, "released");
        mark(drawing, "release", event, middle);
        break;
    case QN_CHECK_LEASE_EXPIRE:
        if (drawing->lease != NULL && qn_picture_has_room(drawing->picture)) {
            int64_t from_ms = drawing->lease->vt;
            close_lease(drawing, event->vt, "lapsed");
            append_lapsed(drawing, from_ms, event->vt);
        }
        mark(drawing, "lapse", event, middle);
        break;
    case QN_CHECK_MSG_DELETE:
        close_lease(drawing, event->vt, "deleted");
        mark(drawing, is_early(drawing) ? "early" : "delete", event, middle);
        drawing->end_ms = event->vt;
        break;
    case QN_CHECK_MSG_DLQ:
        close_lease(drawing, event->vt, "dead-lettered");
        mark(drawing, "dead", event, middle);
        drawing->end_ms = event->vt;
        break;
    default:
        break;
    }
}

static void draw_event(struct drawing *drawing, const struct qn_check_event *event)
{
    const int middle = WORK_Y + WORK_HEIGHT / 2;

    if (qn_picture_is_elsewhere(drawing->picture, event)) {
        if (is_put_aside(drawing->picture, event)) {
            mark(drawing, "reject", event, middle);
            drawing->has_effect = true;
        }
        return;
    }
    switch (event->kind) {
    case QN_CHECK_MSG_SEND:
        append_delayed(drawing, event);
        break;
    case QN_CHECK_WORK_BEGIN:
        open_run(drawing, event);
        break;
    case QN_CHECK_WORK_COMMIT:
        close_run(drawing, event);
        mark(drawing, event->replayed ? "replay" : "commit", event, middle);
        drawing->has_effect = true;
        break;
    case QN_CHECK_WORK_ABORT:
        close_run(drawing, event);
        mark(drawing, "abort", event, middle);
        break;
    case QN_CHECK_FAULT:
        if (qn_str_starts_with(event->detail->reason, QN_STR("fake-success")) &&
            (qn_str_is_none(event->action) ||
             qn_str_starts_with(event->action, QN_STR("DeleteMessage")))) {
            mark(drawing, "unmade", event, LEASE_Y + LEASE_HEIGHT / 2);
        }
        break;
    case QN_CHECK_REJECT:
    case QN_CHECK_RECONCILE:
        mark(drawing, "reject", event, middle);
        drawing->has_effect = true;
        break;
    case QN_CHECK_MSG_DUPCOPY:
        append_delayed(drawing, event);
        mark(drawing, "again", event, LEASE_Y + LEASE_HEIGHT / 2);
        drawing->end_ms = drawing->picture->to_ms;
        break;
    default:
        draw_lease_event(drawing, event);
        break;
    }
}

static void draw_row(struct qn_picture *picture, const struct qn_picture_row *row)
{
    struct drawing drawing = {
        .picture = picture, .row = row, .begin_ms = row->sent_ms, .end_ms = picture->to_ms};
    struct qn_buf all;
    struct qn_buf name;

    qn_buf_init(&drawing.bars, SIZE_MAX / 2);
    qn_buf_init(&drawing.marks, SIZE_MAX / 2);
    qn_buf_init(&all, SIZE_MAX / 2);
    qn_buf_init(&name, SIZE_MAX / 2);
    for (size_t i = 0; i < picture->end; i++) {
        const struct qn_check_event *event = &picture->history->events[i];
        if (!event->undone && qn_str_equal(event->k, row->k)) {
            size_t before = picture->marks;
            if (drawing.count >= QN_PICTURE_ROW_MARKS_MAX) {
                picture->marks_left_out++;
                continue;
            }
            draw_event(&drawing, event);
            drawing.count += picture->marks - before;
        }
    }
    close_lease(&drawing, picture->to_ms, "still held at the end");
    append_bar(&drawing, &all, "wait", LEASE_Y + LEASE_HEIGHT / 2 - 1, 2, drawing.begin_ms,
               drawing.end_ms, "in the queue");
    qn_buf_append_str(&all, qn_buf_str(&drawing.bars));
    qn_buf_append_str(&all, qn_buf_str(&drawing.marks));
    if (!qn_str_is_none(row->grp)) {
        qn_buf_append_format(&name, "%.*s / ", QN_STR_ARG(row->grp));
    }
    qn_buf_append_str(&name, row->k);
    qn_picture_lane(picture, row->is_witness ? "message witness" : "message", qn_buf_str(&name),
                    ROW_HEIGHT, &all);
    qn_buf_done(&name);
    qn_buf_done(&all);
    qn_buf_done(&drawing.marks);
    qn_buf_done(&drawing.bars);
}

static int by_importance(const void *a, const void *b)
{
    const struct qn_picture_row *x = *(const struct qn_picture_row *const *)a;
    const struct qn_picture_row *y = *(const struct qn_picture_row *const *)b;

    if (x->is_witness != y->is_witness) {
        return x->is_witness ? -1 : 1;
    }
    int by_group = qn_str_compare(x->grp, y->grp);
    return by_group != 0 ? by_group : (x->order < y->order ? -1 : x->order > y->order);
}

static void find_witnesses(struct qn_picture *picture)
{
    for (size_t i = 0; i < picture->judgement->invariant_count; i++) {
        const struct qn_finding *finding = &picture->judgement->invariants[i].finding;
        for (size_t w = 0; finding->result == QN_RESULT_FAIL && w < finding->witness_count; w++) {
            for (size_t j = 0; j < picture->history->count; j++) {
                const struct qn_check_event *event = &picture->history->events[j];
                struct qn_picture_row *row = event->seq == finding->witness[w]
                                                 ? qn_table_find(&picture->rows, event->k)
                                                 : NULL;
                if (row != NULL) {
                    row->is_witness = true;
                }
            }
        }
    }
}

void qn_picture_append_rows(struct qn_picture *picture, size_t most, size_t *ret_drawn)
{
    size_t count = picture->rows.count;
    struct qn_picture_row **rows = qn_memory_new_array(count + 1, sizeof(struct qn_picture_row *));
    size_t witnesses = 0;
    size_t i = 0;

    find_witnesses(picture);
    for (const struct qn_table_item *item = picture->rows.first; item != NULL; item = item->next) {
        rows[i++] = item->value;
        witnesses += rows[i - 1]->is_witness;
    }
    qsort(rows, count, sizeof(struct qn_picture_row *), by_importance);
    witnesses = witnesses < most ? witnesses : most;
    size_t others = count - witnesses < most - witnesses ? count - witnesses : most - witnesses;
    for (i = 0; i < witnesses + others; i++) {
        size_t at = i < witnesses ? i : witnesses + (i - witnesses) * (count - witnesses) / others;
        draw_row(picture, rows[at]);
    }
    *ret_drawn = witnesses + others;
    qn_memory_free(rows);
}
