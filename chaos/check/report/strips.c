/* The strips over the rows: how many polls are open, leases held and messages waiting, and how old
 * the oldest message is, as steps over time. */
#include "chaos/check/report/picture.h"
#include "chaos/check/report/template.h"

enum { STRIP_HEIGHT = 26, COLUMNS = 164, COLUMN_PX = 5 };

enum strip { POLLS, HELD, BACKLOG, OLDEST, STRIP_COUNT };

static const struct {
    const char *name;
    const char *unit;
} strips[STRIP_COUNT] = {
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
    bool has_begun;
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
        figures->now[BACKLOG]++;
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

static void count_event(struct qn_picture *picture, struct figures *figures,
                        const struct qn_check_event *event)
{
    bool is_poll = qn_str_equal(event->action, QN_STR("ReceiveMessage")) &&
                   qn_picture_instance(event->instance) > 0;

    if (event->kind == QN_CHECK_API_IN && is_poll) {
        figures->now[POLLS]++;
    } else if (event->kind == QN_CHECK_API_OUT && is_poll && figures->now[POLLS] > 0) {
        figures->now[POLLS]--;
    } else if (event->kind == QN_CHECK_BOOT) {
        figures->now[POLLS] = 0; /* whoever waited was cut off */
    } else if (!event->undone && !qn_str_is_none(event->k) && event->k.len > 0) {
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

static void append_strip(struct qn_picture *picture, const struct figures *figures,
                         enum strip strip)
{
    const int64_t *columns = figures->columns[strip];
    struct qn_buf path;
    struct qn_buf lane;
    struct qn_fill fill;
    int64_t most = 1;
    int bottom = picture->y + STRIP_HEIGHT - 3;

    for (int i = 0; i < COLUMNS; i++) {
        most = columns[i] > most ? columns[i] : most;
    }
    qn_buf_init(&path, SIZE_MAX / 2);
    qn_buf_append_format(&path, "M%d %d", QN_PICTURE_LEFT, bottom);
    for (int i = 0; i < COLUMNS; i++) {
        if (i == 0 || columns[i] != columns[i - 1]) {
            qn_buf_append_format(&path, "H%d V%.1f", QN_PICTURE_LEFT + i * COLUMN_PX,
                                 bottom - (double)columns[i] * (STRIP_HEIGHT - 6) / (double)most);
        }
    }
    qn_buf_append_format(&path, "H%d V%d Z", QN_PICTURE_RIGHT, bottom);
    qn_fill_begin(&fill, "strip");
    qn_fill_text(&fill, "path", qn_buf_str(&path));
    qn_fill_format(&fill, "title", "%s, at most %lld%s", strips[strip].name, (long long)most,
                   strips[strip].unit);
    qn_buf_init(&lane, SIZE_MAX / 2);
    qn_fill_end(&fill, &lane);
    qn_buf_clear(&path);
    qn_buf_append_format(&path, "%s (max %lld%s)", strips[strip].name, (long long)most,
                         strips[strip].unit);
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
        append_strip(picture, figures, (enum strip)strip);
    }
    qn_memory_free(figures);
}
