/* The strips over the rows: how many polls of each instance are open, leases held and messages
 * waiting, and how old the oldest message is, as steps over time. */
#include "chaos/check/report/picture.h"
#include "chaos/check/report/template.h"

enum { STRIP_HEIGHT = 26, COLUMNS = 164, COLUMN_PX = 5 };

enum strip { HELD, BACKLOG, OLDEST, POLLS, POLLERS_MAX = 4, STRIP_COUNT = POLLS + POLLERS_MAX };

static const struct {
    const char *name;
    const char *unit;
} strips[POLLS + 1] = {
    [POLLS] = {"open polls", ""},
    [HELD] = {"leases held", ""},
    [BACKLOG] = {"waiting", ""},
    [OLDEST] = {"oldest", " s"},
};

/* The greatest value in each column. */
struct figures {
    int64_t now[STRIP_COUNT];
    int64_t columns[STRIP_COUNT][COLUMNS];
    const struct qn_table_item *oldest;
    size_t pollers; /* the greatest number of an instance, as far as each has a strip */
};

static int column_at(const struct qn_picture *picture, int64_t virtual_ms)
{
    int column = (int)(qn_picture_x(picture, virtual_ms) - QN_PICTURE_LEFT) / COLUMN_PX;

    return column < COLUMNS ? column : COLUMNS - 1;
}

static struct qn_picture_row *row_at(struct qn_picture *picture, const struct qn_check_event *event)
{
    bool is_new = qn_table_find(&picture->rows, event->k) == NULL;
    struct qn_picture_row *row = qn_table_at(&picture->rows, event->k);

    if (is_new) {
        row->k = picture->rows.last->key;
        row->order = picture->rows.count;
        row->sent_ms = event->vt;
    }
    if (qn_str_is_none(row->grp)) {
        row->grp = event->grp;
    }
    return row;
}

static void count_message(struct qn_picture *picture, struct figures *figures,
                          const struct qn_check_event *event)
{
    struct qn_picture_row *row = row_at(picture, event);
    bool was_in = !row->is_done;
    bool was_held = row->is_held;

    switch (event->kind) {
    case QN_CHECK_LEASE_GRANT:
        row->is_held = true;
        row->is_done = false;
        break;
    case QN_CHECK_LEASE_EXPIRE:
    case QN_CHECK_LEASE_RELEASE:
        row->is_held = false;
        break;
    case QN_CHECK_MSG_DELETE:
    case QN_CHECK_MSG_DLQ:
    case QN_CHECK_MSG_EXPIRE:
        row->is_held = false;
        row->is_done = true;
        break;
    case QN_CHECK_MSG_SEND:
        figures->now[BACKLOG]++; /* by a redrive it may be a message that was done */
        row->is_done = false;
        return;
    case QN_CHECK_MSG_DUPCOPY:
        row->is_done = false;
        break;
    default:
        return;
    }
    figures->now[HELD] += row->is_held - was_held;
    figures->now[BACKLOG] += (!row->is_done && !row->is_held) - (was_in && !was_held);
}

/* Of instances beyond those that have strips, the last strip has all. */
static size_t poller_of(const struct qn_check_event *event)
{
    int64_t number = qn_picture_instance(event->instance);

    return number <= 0 ? 0 : number < POLLERS_MAX ? (size_t)number : POLLERS_MAX;
}

static void count_poll(struct figures *figures, const struct qn_check_event *event)
{
    size_t poller = poller_of(event);
    int64_t *open = &figures->now[POLLS + poller - 1];

    figures->pollers = poller > figures->pollers ? poller : figures->pollers;
    if (event->kind == QN_CHECK_API_IN) {
        (*open)++;
    } else if (*open > 0) {
        (*open)--;
    }
}

static void count_event(struct qn_picture *picture, struct figures *figures,
                        const struct qn_check_event *event)
{
    bool is_call = event->kind == QN_CHECK_API_IN || event->kind == QN_CHECK_API_OUT;

    if (is_call && poller_of(event) > 0 && qn_str_equal(event->action, QN_STR("ReceiveMessage"))) {
        count_poll(figures, event);
    } else if (event->kind == QN_CHECK_BOOT) {
        for (size_t i = 0; i < POLLERS_MAX; i++) {
            figures->now[POLLS + i] = 0; /* whoever waited was cut off */
        }
    } else if (!event->undone && !qn_str_is_none(event->k) && event->k.len > 0 &&
               !qn_picture_is_elsewhere(picture, event)) {
        count_message(picture, figures, event);
    }
}

static void look_at_oldest(struct qn_picture *picture, struct figures *figures, int64_t now_ms)
{
    const struct qn_table_item *item =
        figures->oldest != NULL ? figures->oldest : picture->rows.first;

    while (item != NULL && ((const struct qn_picture_row *)item->value)->is_done &&
           item->next != NULL) {
        item = item->next;
    }
    figures->oldest = item;
    const struct qn_picture_row *row = item != NULL ? item->value : NULL;
    figures->now[OLDEST] = row != NULL && !row->is_done ? (now_ms - row->sent_ms) / 1000 : 0;
}

/* What the consumer may hold, declared or learned; 0: nobody said or saw. */
static int64_t limit_of(const struct qn_picture *picture)
{
    const json_t *run = json_object_get(picture->queues.header, "run");
    int64_t concurrency = json_integer_value(json_object_get(run, "concurrency"));
    int64_t prefetch = json_integer_value(json_object_get(run, "prefetch"));

    return concurrency > 0 ? concurrency + prefetch : 0;
}

static void name_strip(const struct figures *figures, int strip, char name[32])
{
    if (strip >= POLLS && figures->pollers > 1) {
        (void)snprintf(name, 32, "#%d open polls", strip - POLLS + 1);
    } else {
        (void)snprintf(name, 32, "%s", strips[strip < POLLS ? strip : POLLS].name);
    }
}

static double height_of(int64_t value, int64_t most)
{
    return (double)value * (STRIP_HEIGHT - 6) / (double)most;
}

static void append_limit(struct qn_buf *lane, int64_t limit, double y)
{
    struct qn_fill fill;

    qn_fill_begin(&fill, "limit");
    qn_fill_format(&fill, "left", "%d", QN_PICTURE_LEFT);
    qn_fill_format(&fill, "right", "%d", QN_PICTURE_RIGHT);
    qn_fill_format(&fill, "y", "%.1f", y);
    qn_fill_format(&fill, "title", "concurrency and prefetch together: %lld", (long long)limit);
    qn_fill_end(&fill, lane);
}

static void append_steps(struct qn_buf *path, const int64_t *columns, int64_t most, int bottom)
{
    qn_buf_append_format(path, "M%d %d", QN_PICTURE_LEFT, bottom);
    for (int i = 0; i < COLUMNS; i++) {
        if (i == 0 || columns[i] != columns[i - 1]) {
            qn_buf_append_format(path, "H%d V%.1f", QN_PICTURE_LEFT + i * COLUMN_PX,
                                 bottom - height_of(columns[i], most));
        }
    }
    qn_buf_append_format(path, "H%d V%d Z", QN_PICTURE_RIGHT, bottom);
}

static void append_strip(struct qn_picture *picture, const struct figures *figures, int strip)
{
    const int64_t *columns = figures->columns[strip];
    const char *unit = strips[strip < POLLS ? strip : POLLS].unit;
    int64_t limit = strip == HELD ? limit_of(picture) : 0;
    struct qn_buf path;
    struct qn_buf lane;
    struct qn_fill fill;
    char name[32];
    int64_t most = 0;
    int bottom = picture->y + STRIP_HEIGHT - 3;

    for (int i = 0; i < COLUMNS; i++) {
        most = columns[i] > most ? columns[i] : most;
    }
    int64_t top = most > limit ? most : limit;
    top = top > 0 ? top : 1;
    name_strip(figures, strip, name);
    qn_buf_init(&path, SIZE_MAX / 2);
    qn_buf_init(&lane, SIZE_MAX / 2);
    append_steps(&path, columns, top, bottom);
    qn_fill_begin(&fill, "strip");
    qn_fill_text(&fill, "path", qn_buf_str(&path));
    qn_fill_format(&fill, "title", "%s, at most %lld%s", name, (long long)most, unit);
    qn_fill_end(&fill, &lane);
    if (limit > 0) {
        append_limit(&lane, limit, bottom - height_of(limit, top));
    }
    qn_buf_clear(&path);
    qn_buf_append_format(&path, "%s (max %lld%s)", name, (long long)most, unit);
    qn_picture_lane(picture, "strip", qn_buf_str(&path), STRIP_HEIGHT, &lane);
    qn_buf_done(&lane);
    qn_buf_done(&path);
}

void qn_picture_append_strips(struct qn_picture *picture)
{
    struct figures *figures = qn_memory_new(sizeof(*figures));
    int column = 0;

    for (size_t i = 0; i < picture->end; i++) {
        const struct qn_check_event *event = &picture->history->events[i];
        int to = column_at(picture, event->vt);
        /* Columns in which nothing happened keep what was. */
        for (; column < to; column++) {
            for (int strip = 0; strip < STRIP_COUNT; strip++) {
                figures->columns[strip][column + 1] = figures->now[strip];
            }
        }
        look_at_oldest(picture, figures, event->vt);
        count_event(picture, figures, event);
        for (int strip = 0; strip < STRIP_COUNT; strip++) {
            int64_t *at = &figures->columns[strip][column];
            *at = figures->now[strip] > *at ? figures->now[strip] : *at;
        }
    }
    for (int strip = 0; strip < STRIP_COUNT; strip++) {
        for (int rest = column + 1; rest < COLUMNS; rest++) {
            figures->columns[strip][rest] = figures->now[strip];
        }
    }
    size_t pollers = figures->pollers > 0 ? figures->pollers : 1;
    for (size_t i = 0; i < pollers; i++) {
        append_strip(picture, figures, (int)(POLLS + i));
    }
    for (int strip = HELD; strip < POLLS; strip++) {
        append_strip(picture, figures, strip);
    }
    qn_memory_free(figures);
}
