/* The frame of a picture: the scale of time, the rulers, the lanes of server, faults and processes,
 * and the lines that go across all lanes. */
#include "chaos/check/report/picture.h"

#include "chaos/check/report/template.h"

enum { JUMP_LEAST_MS = 100, GAP_SHARE = 30, TICKS = 8, INSTANCES_MAX = 16, LANE_HEIGHT = 22 };

int64_t qn_picture_instance(struct qn_str name)
{
    int64_t number;

    return qn_str_starts_with(name, QN_STR("QUERN")) &&
                   qn_str_to_int64(qn_str_from(name, 5), 1, 9999, &number)
               ? number
               : 0;
}

/* Milliseconds of the drawing before the instant. */
static int64_t drawn_ms(const struct qn_picture *picture, int64_t at_ms)
{
    int64_t ms = at_ms - picture->from_ms;

    for (size_t i = 0; i < picture->jump_count; i++) {
        int64_t from_ms = picture->jumps[i].from_ms;
        int64_t to_ms = picture->jumps[i].to_ms;
        if (at_ms >= to_ms) {
            ms -= to_ms - from_ms - picture->gap_ms;
        } else if (at_ms > from_ms) {
            ms -= (at_ms - from_ms) - (at_ms - from_ms) * picture->gap_ms / (to_ms - from_ms);
        }
    }
    return ms;
}

bool qn_picture_is_elsewhere(const struct qn_picture *picture, const struct qn_check_event *event)
{
    return qn_judge_is_state(event) && !qn_str_is_none(picture->queues.source) &&
           !qn_str_equal(event->queue, picture->queues.source);
}

double qn_picture_x(const struct qn_picture *picture, int64_t virtual_ms)
{
    int64_t at_ms = virtual_ms < picture->from_ms ? picture->from_ms : virtual_ms;

    at_ms = at_ms > picture->to_ms ? picture->to_ms : at_ms;
    return QN_PICTURE_LEFT + (double)(QN_PICTURE_RIGHT - QN_PICTURE_LEFT) *
                                 (double)drawn_ms(picture, at_ms) /
                                 (double)drawn_ms(picture, picture->to_ms);
}

double qn_picture_seconds(const struct qn_picture *picture, int64_t virtual_ms)
{
    return (double)(virtual_ms - picture->from_ms) / 1000;
}

bool qn_picture_has_room(struct qn_picture *picture)
{
    if (picture->marks >= QN_PICTURE_MARKS_MAX) {
        picture->marks_left_out++;
        return false;
    }
    picture->marks++;
    return true;
}

/* "3.52 s, 55: effect k-002 committed, by #1" */
static void fill_title(struct qn_fill *fill, const struct qn_picture *picture,
                       const struct qn_check_event *event)
{
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_buf_append_format(&text, "%.2f s, %llu: ", qn_picture_seconds(picture, event->vt),
                         (unsigned long long)event->seq);
    qn_report_describe(event, &text);
    qn_fill_text(fill, "title", qn_buf_str(&text));
    qn_buf_done(&text);
}

void qn_picture_mark(struct qn_picture *picture, struct qn_buf *buf, const char *shape,
                     const struct qn_check_event *event, int y)
{
    struct qn_fill fill;

    if (!qn_picture_has_room(picture)) {
        return;
    }
    qn_fill_begin(&fill, "mark");
    qn_fill_format(&fill, "shape", "%s", shape);
    qn_fill_format(&fill, "x", "%.1f", qn_picture_x(picture, event->vt));
    qn_fill_format(&fill, "y", "%d", y);
    fill_title(&fill, picture, event);
    qn_fill_end(&fill, buf);
}

void qn_picture_lane(struct qn_picture *picture, const char *kind, struct qn_str name, int height,
                     struct qn_buf *marks)
{
    struct qn_fill fill;

    qn_fill_begin(&fill, "lane");
    qn_fill_format(&fill, "kind", "%s", kind);
    qn_fill_text(&fill, "name", name);
    qn_fill_text(&fill, "short", qn_str_first(name, 22));
    qn_fill_format(&fill, "width", "%d", QN_PICTURE_WIDTH - 2);
    qn_fill_format(&fill, "y", "%d", picture->y);
    qn_fill_format(&fill, "height", "%d", height);
    qn_fill_format(&fill, "text_y", "%d", picture->y + height / 2 + 4);
    qn_fill_markup(&fill, "marks", qn_buf_str(marks));
    qn_fill_end(&fill, &picture->body);
    picture->y += height;
    qn_buf_clear(marks);
}

static bool is_end(const struct qn_check_event *event)
{
    return event->kind == QN_CHECK_MARK && qn_str_equal(event->detail->reason, QN_STR("end"));
}

static void measure(struct qn_picture *picture)
{
    const struct qn_history *history = picture->history;
    int64_t jumped_ms = 0;

    picture->from_ms = history->events[0].vt;
    picture->wall_from_ms = history->events[0].wt;
    picture->to_ms = picture->from_ms + 1;
    for (picture->end = 0; picture->end < history->count; picture->end++) {
        const struct qn_check_event *event = &history->events[picture->end];
        int64_t length_ms = event->detail->to - event->detail->from;
        picture->to_ms = event->vt > picture->to_ms ? event->vt : picture->to_ms;
        if (is_end(event)) {
            break;
        }
        if (event->kind == QN_CHECK_CLOCK && length_ms >= JUMP_LEAST_MS &&
            picture->jump_count < QN_PICTURE_JUMPS_MAX) {
            picture->jumps[picture->jump_count].from_ms = event->detail->from;
            picture->jumps[picture->jump_count].to_ms = event->detail->to;
            picture->jump_count++;
            picture->to_ms =
                event->detail->to > picture->to_ms ? event->detail->to : picture->to_ms;
            jumped_ms += length_ms;
        }
    }
    picture->gap_ms = (picture->to_ms - picture->from_ms - jumped_ms) / GAP_SHARE + 1;
}

/* Wall milliseconds at a virtual instant, by the last event before it. */
static int64_t wall_at(const struct qn_picture *picture, int64_t virtual_ms)
{
    const struct qn_check_event *last = &picture->history->events[0];

    for (size_t i = 0; i < picture->end; i++) {
        if (picture->history->events[i].vt <= virtual_ms) {
            last = &picture->history->events[i];
        }
    }
    return last->wt + (virtual_ms - last->vt) - picture->wall_from_ms;
}

static void append_tick(struct qn_picture *picture, int64_t at_ms, int64_t wall_ms, int bottom)
{
    struct qn_fill fill;

    qn_fill_begin(&fill, "tick");
    qn_fill_format(&fill, "x", "%.1f", qn_picture_x(picture, at_ms));
    qn_fill_format(&fill, "bottom", "%d", bottom);
    qn_fill_format(&fill, "y", "%d", bottom + 14);
    qn_fill_format(&fill, "wall_y", "%d", bottom + 28);
    qn_fill_format(&fill, "virtual", "%.1f s", qn_picture_seconds(picture, at_ms));
    qn_fill_format(&fill, "wall", "%.1f s", (double)wall_ms / 1000);
    qn_fill_end(&fill, &picture->body);
}

/* Ticks at even distances of the drawing, so that none stands on another. */
static void append_rulers(struct qn_picture *picture)
{
    int64_t length_ms = drawn_ms(picture, picture->to_ms);
    int64_t at_ms = picture->from_ms;
    struct qn_fill fill;
    int bottom = picture->y;

    for (int64_t i = 0; i <= TICKS; i++) {
        while (at_ms < picture->to_ms && drawn_ms(picture, at_ms) < length_ms * i / TICKS) {
            at_ms += 1 + length_ms / 2000;
        }
        append_tick(picture, at_ms, wall_at(picture, at_ms), bottom);
    }
    qn_fill_begin(&fill, "rulers");
    qn_fill_format(&fill, "y", "%d", bottom + 14);
    qn_fill_format(&fill, "wall_y", "%d", bottom + 28);
    qn_fill_end(&fill, &picture->body);
    picture->y = bottom + 36;
}

/* What hits everybody: kills and other signals, crashes and starts of the server, jumps. */
static const char *kind_across(const struct qn_check_event *event)
{
    if (event->kind == QN_CHECK_BOOT) {
        return "boot";
    }
    if (event->kind == QN_CHECK_PROC && qn_str_equal(event->what, QN_STR("signal"))) {
        return event->detail->signal == 9 ? "kill" : "signal";
    }
    return NULL;
}

static void append_zone(struct qn_picture *picture, int64_t from_ms, int64_t to_ms, size_t count,
                        int bottom)
{
    double x = qn_picture_x(picture, from_ms);
    double width = qn_picture_x(picture, to_ms) - x;
    struct qn_fill fill;

    if (count < 2 || !qn_picture_has_room(picture)) {
        return; /* one alone has no length */
    }
    qn_fill_begin(&fill, "zone");
    qn_fill_format(&fill, "x", "%.1f", x);
    qn_fill_format(&fill, "width", "%.1f", width > 1 ? width : 1);
    qn_fill_format(&fill, "bottom", "%d", bottom);
    qn_fill_format(&fill, "title", "no receive succeeds from %.2f s to %.2f s: %zu fail",
                   qn_picture_seconds(picture, from_ms), qn_picture_seconds(picture, to_ms), count);
    qn_fill_end(&fill, &picture->body);
}

/* A receive whose connection was ended has no answer that could be seen. */
static bool has_failed(const struct qn_check_event *event)
{
    if (event->kind == QN_CHECK_FAULT) {
        return qn_str_equal(event->code, QN_STR("reset")) ||
               qn_str_equal(event->code, QN_STR("close"));
    }
    return event->kind == QN_CHECK_API_OUT && !qn_str_equal(event->code, QN_STR("OK"));
}

/* From the first receive that fails to the last one before one succeeds. */
static void append_zones(struct qn_picture *picture, int bottom)
{
    int64_t from_ms = 0;
    int64_t to_ms = 0;
    size_t failed = 0;

    for (size_t i = 0; i < picture->end; i++) {
        const struct qn_check_event *event = &picture->history->events[i];
        if (qn_picture_instance(event->instance) == 0 ||
            !qn_str_equal(event->action, QN_STR("ReceiveMessage"))) {
            continue;
        }
        if (has_failed(event)) {
            from_ms = failed == 0 ? event->vt : from_ms;
            to_ms = event->vt;
            failed++;
        } else if (event->kind == QN_CHECK_API_OUT) {
            append_zone(picture, from_ms, to_ms, failed, bottom);
            failed = 0;
        }
    }
    append_zone(picture, from_ms, to_ms, failed, bottom);
}

static void append_across(struct qn_picture *picture, int bottom)
{
    struct qn_fill fill;

    append_zones(picture, bottom);

    for (size_t i = 1; i < picture->end; i++) {
        const struct qn_check_event *event = &picture->history->events[i];
        const char *kind = kind_across(event);
        if (kind != NULL && qn_picture_has_room(picture)) {
            qn_fill_begin(&fill, "across");
            qn_fill_format(&fill, "kind", "%s", kind);
            qn_fill_format(&fill, "x", "%.1f", qn_picture_x(picture, event->vt));
            qn_fill_format(&fill, "bottom", "%d", bottom);
            fill_title(&fill, picture, event);
            qn_fill_end(&fill, &picture->body);
        }
    }
    for (size_t i = 0; i < picture->jump_count; i++) {
        double x = qn_picture_x(picture, picture->jumps[i].from_ms);
        qn_fill_begin(&fill, "jump");
        qn_fill_format(&fill, "x", "%.1f", x);
        qn_fill_format(&fill, "width", "%.1f", qn_picture_x(picture, picture->jumps[i].to_ms) - x);
        qn_fill_format(&fill, "bottom", "%d", bottom);
        qn_fill_format(&fill, "title", "the clock jumps by %.1f s",
                       (double)(picture->jumps[i].to_ms - picture->jumps[i].from_ms) / 1000);
        qn_fill_end(&fill, &picture->body);
    }
}

/* Faults, and starts of the server. */
static void append_faults(struct qn_picture *picture)
{
    struct qn_buf marks;

    qn_buf_init(&marks, SIZE_MAX / 2);
    for (size_t i = 0; i < picture->end; i++) {
        const struct qn_check_event *event = &picture->history->events[i];
        if (event->kind == QN_CHECK_FAULT) {
            qn_picture_mark(picture, &marks, "fault", event, picture->y + LANE_HEIGHT / 2);
        }
    }
    qn_picture_lane(picture, "faults", QN_STR("faults"), LANE_HEIGHT, &marks);
    for (size_t i = 0; i < picture->end; i++) {
        const struct qn_check_event *event = &picture->history->events[i];
        if (event->kind == QN_CHECK_BOOT) {
            qn_picture_mark(picture, &marks, "start", event, picture->y + LANE_HEIGHT / 2);
        }
    }
    qn_picture_lane(picture, "server", QN_STR("server"), LANE_HEIGHT, &marks);
    qn_buf_done(&marks);
}

static void append_life(struct qn_picture *picture, struct qn_buf *marks, int64_t from_ms,
                        int64_t to_ms)
{
    struct qn_fill fill;
    double x = qn_picture_x(picture, from_ms);

    if (!qn_picture_has_room(picture)) {
        return;
    }
    qn_fill_begin(&fill, "bar");
    qn_fill_format(&fill, "kind", "life");
    qn_fill_format(&fill, "x", "%.1f", x);
    qn_fill_format(&fill, "y", "%d", picture->y + LANE_HEIGHT / 2 - 3);
    qn_fill_format(&fill, "width", "%.1f", qn_picture_x(picture, to_ms) - x);
    qn_fill_format(&fill, "height", "6");
    qn_fill_format(&fill, "title", "runs from %.2f s to %.2f s",
                   qn_picture_seconds(picture, from_ms), qn_picture_seconds(picture, to_ms));
    qn_fill_end(&fill, marks);
}

static void append_instance(struct qn_picture *picture, int64_t number)
{
    struct qn_buf bars;
    struct qn_buf marks;
    int64_t since_ms = -1;
    char name[32];
    int y = picture->y + LANE_HEIGHT / 2;

    qn_buf_init(&bars, SIZE_MAX / 2);
    qn_buf_init(&marks, SIZE_MAX / 2);
    for (size_t i = 0; i < picture->end; i++) {
        const struct qn_check_event *event = &picture->history->events[i];
        if (event->kind != QN_CHECK_PROC || qn_picture_instance(event->instance) != number) {
            continue;
        }
        if (qn_str_equal(event->what, QN_STR("spawn")) ||
            qn_str_equal(event->what, QN_STR("keep"))) {
            since_ms = event->vt;
            qn_picture_mark(picture, &marks, "start", event, y);
        } else if (qn_str_equal(event->what, QN_STR("exit"))) {
            append_life(picture, &bars, since_ms >= 0 ? since_ms : event->vt, event->vt);
            since_ms = -1;
            qn_picture_mark(picture, &marks, "exit", event, y);
        } else if (qn_str_equal(event->what, QN_STR("ready"))) {
            qn_picture_mark(picture, &marks, "ready", event, y);
        }
    }
    if (since_ms >= 0) {
        append_life(picture, &bars, since_ms, picture->to_ms);
    }
    qn_buf_append_str(&bars, qn_buf_str(&marks));
    (void)snprintf(name, sizeof(name), "instance #%lld", (long long)number);
    qn_picture_lane(picture, "instance", qn_str_from_cstr(name), LANE_HEIGHT, &bars);
    qn_buf_done(&marks);
    qn_buf_done(&bars);
}

static void append_instances(struct qn_picture *picture)
{
    int64_t most = 0;

    for (size_t i = 0; i < picture->end; i++) {
        const struct qn_check_event *event = &picture->history->events[i];
        int64_t number = event->kind == QN_CHECK_PROC ? qn_picture_instance(event->instance) : 0;
        most = number > most ? number : most;
    }
    for (int64_t number = 1; number <= most && number <= INSTANCES_MAX; number++) {
        append_instance(picture, number);
    }
}

static void append_frame(struct qn_picture *picture, size_t drawn, const char *id,
                         struct qn_buf *buf)
{
    struct qn_fill fill;

    qn_fill_begin(&fill, "picture");
    qn_fill_format(&fill, "width", "%d", QN_PICTURE_WIDTH);
    qn_fill_format(&fill, "height", "%d", picture->y);
    qn_fill_format(&fill, "label",
                   "Timeline of %.100s: %.1f virtual seconds, %zu of %zu messages drawn. The table "
                   "of events below says the same in words.",
                   id, qn_picture_seconds(picture, picture->to_ms), drawn, picture->rows.count);
    qn_fill_markup(&fill, "body", qn_buf_str(&picture->body));
    qn_fill_end(&fill, buf);
    if (drawn < picture->rows.count) {
        qn_fill_begin(&fill, "left-out");
        qn_fill_format(&fill, "text",
                       "%zu of %zu messages are drawn: those of broken invariants, and a sample "
                       "of the others.",
                       drawn, picture->rows.count);
        qn_fill_end(&fill, buf);
    }
    if (picture->marks_left_out > 0) {
        qn_fill_begin(&fill, "left-out");
        qn_fill_format(&fill, "text", "%zu marks are left out: too many for one picture.",
                       picture->marks_left_out);
        qn_fill_end(&fill, buf);
    }
}

void qn_picture_append(const struct qn_report_entry *entry, struct qn_buf *buf)
{
    struct qn_picture picture = {.history = &entry->result.history,
                                 .judgement = &entry->result.judgement};
    bool is_fine = qn_report_is_fine(picture.judgement->outcome);
    struct qn_buf lanes;
    size_t drawn = 0;

    if (picture.history->count == 0) {
        return;
    }
    qn_report_queues(entry, &picture.queues);
    qn_table_init(&picture.rows, sizeof(struct qn_picture_row));
    qn_buf_init(&picture.body, SIZE_MAX / 2);
    picture.y = 4;
    measure(&picture);
    append_faults(&picture);
    append_instances(&picture);
    qn_picture_append_strips(&picture);
    qn_picture_append_rows(&picture, is_fine ? QN_PICTURE_ROWS_OF_PASS : QN_PICTURE_ROWS_MAX,
                           &drawn);
    /* What goes across stands behind the lanes, but its height is known only now. */
    lanes = picture.body;
    qn_buf_init(&picture.body, SIZE_MAX / 2);
    append_across(&picture, picture.y);
    qn_buf_append_str(&picture.body, qn_buf_str(&lanes));
    append_rulers(&picture);
    append_frame(&picture, drawn, entry->scenario->id.ptr, buf);
    qn_buf_done(&lanes);
    qn_buf_done(&picture.body);
    qn_table_done(&picture.rows);
    qn_report_queues_done(&picture.queues);
}
