/* Queues as rows of numbers that fit a terminal. */
#include "server/cli/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/memory.h"

enum {
    CELL_BYTES = 32,
    NAME_LEAST = 10,
    COLUMNS = 8,
    LAST = COLUMNS - 1, /* the dead letters */
    VISIBLE = 0,
};

static const struct {
    const char *head;
    int width; /* with the gap before it */
} columns[COLUMNS] = {
    {"VISIBLE", 8}, {"FLIGHT", 7}, {"DELAYED", 8}, {"OLDEST", 7},
    {"SENT/s", 7},  {"RECV/s", 7}, {"DEL/s", 7},   {"DEAD", 6},
};

static const char red[] = "\033[31m";
static const char bold[] = "\033[1m";
static const char plain[] = "\033[0m";

/* ---- from the figures ---- */

static const char *text_in(const json_t *queue, const char *name)
{
    const char *text = json_string_value(json_object_get(queue, name));

    return text == NULL ? "" : text;
}

static int64_t number_in(const json_t *object, const char *name)
{
    const json_t *number = json_object_get(object, name);

    return json_is_integer(number) ? json_integer_value(number) : QN_TOP_UNKNOWN;
}

/* A counter that went back is that of another run of the server. */
static double rate_of(const json_t *now, const json_t *before, const char *name, int64_t elapsed_ms)
{
    int64_t last = number_in(json_object_get(before, "metrics"), name);
    int64_t count = number_in(json_object_get(now, "metrics"), name);

    return last < 0 || count < last || elapsed_ms <= 0
               ? QN_TOP_UNKNOWN
               : (double)(count - last) * 1000 / (double)elapsed_ms;
}

/* By ARN, or name where there is none. */
static json_t *index_of(const json_t *queues)
{
    json_t *index = json_object();
    size_t i;
    json_t *queue;

    json_array_foreach(queues, i, queue)
    {
        const char *arn = text_in(queue, "arn");
        json_object_set(index, arn[0] != '\0' ? arn : text_in(queue, "name"), queue);
    }
    return index;
}

static const json_t *find(const json_t *index, const json_t *queue)
{
    const char *arn = text_in(queue, "arn");

    return json_object_get(index, arn[0] != '\0' ? arn : text_in(queue, "name"));
}

static int64_t messages_in(const json_t *queue)
{
    return queue == NULL ? QN_TOP_UNKNOWN
                         : json_integer_value(json_object_get(queue, "visible")) +
                               json_integer_value(json_object_get(queue, "in_flight")) +
                               json_integer_value(json_object_get(queue, "delayed"));
}

static struct qn_top_row row_of(const json_t *queue, const json_t *before, const json_t *dead,
                                int64_t elapsed_ms)
{
    return (struct qn_top_row){
        .name = text_in(queue, "name"),
        .visible = number_in(queue, "visible"),
        .in_flight = number_in(queue, "in_flight"),
        .delayed = number_in(queue, "delayed"),
        .oldest_s = messages_in(queue) == 0 ? QN_TOP_UNKNOWN : number_in(queue, "oldest_age_s"),
        .sent = rate_of(queue, before, "NumberOfMessagesSent", elapsed_ms),
        .received = rate_of(queue, before, "NumberOfMessagesReceived", elapsed_ms),
        .deleted = rate_of(queue, before, "NumberOfMessagesDeleted", elapsed_ms),
        .dead = messages_in(dead),
    };
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct qn_top_row *)a)->name, ((const struct qn_top_row *)b)->name);
}

static int falling(int64_t a, int64_t b, const void *left, const void *right)
{
    return a != b ? (a < b) - (a > b) : by_name(left, right);
}

static int by_visible(const void *a, const void *b)
{
    return falling(((const struct qn_top_row *)a)->visible, ((const struct qn_top_row *)b)->visible,
                   a, b);
}

static int by_oldest(const void *a, const void *b)
{
    return falling(((const struct qn_top_row *)a)->oldest_s,
                   ((const struct qn_top_row *)b)->oldest_s, a, b);
}

static int by_dead(const void *a, const void *b)
{
    return falling(((const struct qn_top_row *)a)->dead, ((const struct qn_top_row *)b)->dead, a,
                   b);
}

void qn_top_rows_init(struct qn_top_rows *rows, const json_t *queues, const json_t *before,
                      int64_t elapsed_ms, enum qn_top_sort sort)
{
    static int (*const orders[])(const void *, const void *) = {
        [QN_TOP_BY_NAME] = by_name,
        [QN_TOP_BY_VISIBLE] = by_visible,
        [QN_TOP_BY_OLDEST] = by_oldest,
        [QN_TOP_BY_DEAD] = by_dead,
    };
    json_t *targets = json_object();
    json_t *index = index_of(queues);
    json_t *earlier = index_of(before);
    size_t i;
    const json_t *queue;

    json_array_foreach(queues, i, queue)
    {
        json_object_set_new(targets, text_in(queue, "dead_letter_arn"), json_true());
    }
    *rows = (struct qn_top_rows){
        .items = qn_memory_new_array(json_array_size(queues) + 1, sizeof(*rows->items))};
    json_array_foreach(queues, i, queue)
    {
        const char *arn = text_in(queue, "arn");
        struct qn_top_row *row = &rows->items[rows->count++];
        *row = row_of(queue, find(earlier, queue),
                      json_object_get(index, text_in(queue, "dead_letter_arn")), elapsed_ms);
        row->is_dead_letter_queue = arn[0] != '\0' && json_object_get(targets, arn) != NULL;
    }
    json_decref(targets);
    json_decref(index);
    json_decref(earlier);
    qsort(rows->items, rows->count, sizeof(rows->items[0]), orders[sort]);
}

void qn_top_rows_done(struct qn_top_rows *rows)
{
    qn_memory_free(rows->items);
    *rows = (struct qn_top_rows){0};
}

/* ---- on a page ---- */

static void format_count(int64_t count, char out[CELL_BYTES])
{
    static const char units[] = " kMGT";
    size_t unit = 0;

    if (count < 0) {
        (void)snprintf(out, CELL_BYTES, "-");
        return;
    }
    while (count >= 100000 && unit + 2 < sizeof(units)) {
        count /= 1000;
        unit++;
    }
    (void)snprintf(out, CELL_BYTES, "%" PRId64 "%.*s", count, unit > 0, &units[unit]);
}

static void format_rate(double rate, char out[CELL_BYTES])
{
    if (rate >= 0 && rate < 100) {
        (void)snprintf(out, CELL_BYTES, "%.1f", rate);
    } else {
        format_count((int64_t)rate, out);
    }
}

static void format_age(int64_t age_s, char out[CELL_BYTES])
{
    static const struct {
        int64_t seconds;
        char unit;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (age_s >= 2 * units[i].seconds) {
            (void)snprintf(out, CELL_BYTES, "%" PRId64 "%c", age_s / units[i].seconds,
                           units[i].unit);
            return;
        }
    }
    (void)snprintf(out, CELL_BYTES, age_s < 0 ? "-" : "%" PRId64 "s", age_s);
}

static void format_row(const struct qn_top_row *row, char cells[COLUMNS][CELL_BYTES])
{
    format_count(row->visible, cells[0]);
    format_count(row->in_flight, cells[1]);
    format_count(row->delayed, cells[2]);
    format_age(row->oldest_s, cells[3]);
    format_rate(row->sent, cells[4]);
    format_rate(row->received, cells[5]);
    format_rate(row->deleted, cells[6]);
    if (row->is_dead_letter_queue) {
        (void)snprintf(cells[LAST], CELL_BYTES, "DLQ");
    } else {
        format_count(row->dead, cells[LAST]);
    }
}

static size_t name_width(const struct qn_top_rows *rows, const struct qn_top_page *page)
{
    size_t others = 0;
    size_t width = NAME_LEAST;

    for (size_t i = 0; i < COLUMNS; i++) {
        others += (size_t)columns[i].width;
    }
    for (size_t i = 0; i < rows->count; i++) {
        size_t len = strlen(rows->items[i].name);
        width = len > width ? len : width;
    }
    if (page->columns > 0 && width + others > page->columns) {
        width = page->columns > others + NAME_LEAST ? page->columns - others : NAME_LEAST;
    }
    return width;
}

/* A name that is cut ends in '~'. */
static void print_name(const char *name, size_t width)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < width; i++) {
        char c = i < len ? name[i] : ' ';
        c = len > width && i == width - 1 ? '~' : c;
        (void)putchar((unsigned char)c < 0x20 || c == 0x7F ? ' ' : c);
    }
}

/* What does not fit into the page is left out, column by column. */
static void print_cells(const struct qn_top_page *page, size_t used,
                        char cells[COLUMNS][CELL_BYTES], size_t marked)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        bool is_marked = page->has_colours && i == marked;
        used += (size_t)columns[i].width;
        if (page->columns == 0 || used <= page->columns) {
            (void)printf("%s%*s%s", is_marked ? red : "", columns[i].width, cells[i],
                         is_marked ? plain : "");
        }
    }
}

static void print_head(const struct qn_top_page *page, size_t width)
{
    char cells[COLUMNS][CELL_BYTES];

    for (size_t i = 0; i < COLUMNS; i++) {
        (void)snprintf(cells[i], CELL_BYTES, "%s", columns[i].head);
    }
    (void)fputs(page->has_colours ? bold : "", stdout);
    print_name("QUEUE", width);
    print_cells(page, width, cells, COLUMNS);
    (void)printf("%s%s", page->has_colours ? plain : "", page->end_of_line);
}

/* Red is what lies in a dead-letter queue, and nothing else. */
static size_t marked_cell(const struct qn_top_row *row)
{
    if (row->is_dead_letter_queue) {
        return row->visible > 0 ? VISIBLE : COLUMNS;
    }
    return row->dead > 0 ? LAST : COLUMNS;
}

void qn_top_rows_print(const struct qn_top_rows *rows, const struct qn_top_page *page)
{
    size_t width = name_width(rows, page);
    size_t shown = rows->count;
    char cells[COLUMNS][CELL_BYTES];

    if (page->lines > 0 && rows->count + 1 > page->lines) {
        shown = page->lines > 2 ? page->lines - 2 : 0;
    }
    print_head(page, width);
    for (size_t i = 0; i < shown; i++) {
        format_row(&rows->items[i], cells);
        print_name(rows->items[i].name, width);
        print_cells(page, width, cells, marked_cell(&rows->items[i]));
        (void)fputs(page->end_of_line, stdout);
    }
    if (shown < rows->count) {
        (void)printf("and %zu more%s", rows->count - shown, page->end_of_line);
    }
}

/* ---- as JSON ---- */

static json_t *integer_or_null(int64_t number)
{
    return number < 0 ? json_null() : json_integer(number);
}

static json_t *real_or_null(double number)
{
    return number < 0 ? json_null() : json_real(number);
}

json_t *qn_top_rows_json(const struct qn_top_rows *rows)
{
    json_t *list = json_array();

    for (size_t i = 0; i < rows->count; i++) {
        const struct qn_top_row *row = &rows->items[i];
        json_array_append_new(
            list,
            json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "name", row->name,
                      "visible", integer_or_null(row->visible), "in_flight",
                      integer_or_null(row->in_flight), "delayed", integer_or_null(row->delayed),
                      "oldest_age_s", integer_or_null(row->oldest_s), "sent_per_second",
                      real_or_null(row->sent), "received_per_second", real_or_null(row->received),
                      "deleted_per_second", real_or_null(row->deleted), "dead",
                      integer_or_null(row->dead), "is_dead_letter_queue",
                      row->is_dead_letter_queue));
    }
    return list;
}
