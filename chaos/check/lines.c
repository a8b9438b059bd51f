/* JSON lines as events that still borrow from them. */
#include "chaos/check/lines.h"

enum { FIRST_CAP = 64 };

void qn_check_lines_init(struct qn_check_lines *lines)
{
    *lines = (struct qn_check_lines){0};
    qn_arena_init(&lines->arena, SIZE_MAX / 2);
}

void qn_check_lines_done(struct qn_check_lines *lines)
{
    qn_memory_free(lines->items);
    qn_arena_done(&lines->arena);
    *lines = (struct qn_check_lines){0};
}

static struct qn_check_line *append(struct qn_check_lines *lines)
{
    if (lines->count == lines->cap) {
        lines->cap = lines->cap > 0 ? lines->cap * 2 : FIRST_CAP;
        lines->items = qn_memory_resize(lines->items, lines->cap, sizeof(*lines->items));
    }
    return &lines->items[lines->count++];
}

/* Few events have a detail: one that was not used waits for the next. */
static bool parse_line(struct qn_check_lines *lines, struct qn_str text, struct qn_error *err)
{
    struct qn_check_line *line = append(lines);

    if (lines->spare == NULL) {
        lines->spare = qn_arena_alloc_raw(&lines->arena, sizeof(*lines->spare));
    }
    line->text = text;
    if (!qn_check_event_read(text, &lines->arena, &line->event, lines->spare, &line->missed,
                             &line->is_header, err)) {
        lines->count--;
        return false;
    }
    if (line->event.detail == lines->spare) {
        lines->spare = NULL;
    }
    return true;
}

bool qn_check_lines_parse(struct qn_check_lines *lines, struct qn_str text, struct qn_error *err)
{
    qn_arena_reset(&lines->arena);
    lines->spare = NULL;
    lines->count = 0;
    while (text.len > 0) {
        struct qn_str rest;
        struct qn_str line = qn_str_trim(qn_str_cut(text, '\n', &rest));
        text = rest;
        if (line.len > 0 && !parse_line(lines, line, err)) {
            return false;
        }
    }
    return true;
}
