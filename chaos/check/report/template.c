/* Pieces of HTML with values in them. */
#include "chaos/check/report/template.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>

#include "chaos/check/report/report.h"
#include "chaos/embedded.h"

#define PIECE_BEGIN "<!--# "
#define PIECE_END " -->\n"

/* What stands between the line that names the piece and the next such line. */
static struct qn_str find_piece(const char *name)
{
    struct qn_str begin = QN_STR_NONE;
    char line[128];

    (void)snprintf(line, sizeof(line), PIECE_BEGIN "%s" PIECE_END, name);
    for (size_t i = 0; i < qn_embedded_page_count; i++) {
        struct qn_str file = qn_str(qn_embedded_pages[i].data, qn_embedded_pages[i].size);
        size_t at = qn_str_find(file, qn_str_from_cstr(line));
        if (at < file.len) {
            begin = qn_str_from(file, at + strlen(line));
        }
    }
    assert(!qn_str_is_none(begin));
    struct qn_str piece = qn_str_first(begin, qn_str_find(begin, QN_STR(PIECE_BEGIN)));
    return qn_str_first(piece, piece.len - 1); /* the newline ends its last line only */
}

void qn_fill_begin(struct qn_fill *fill, const char *piece)
{
    *fill = (struct qn_fill){.piece = piece};
    qn_buf_init(&fill->room, SIZE_MAX / 2);
}

static void end_value(struct qn_fill *fill, const char *name, size_t from)
{
    assert(fill->count < QN_FILL_MAX);
    fill->values[fill->count].name = name;
    fill->values[fill->count].from = from;
    fill->values[fill->count].len = fill->room.len - from;
    fill->count++;
}

void qn_fill_text(struct qn_fill *fill, const char *name, struct qn_str text)
{
    size_t from = fill->room.len;

    qn_report_escape(&fill->room, text);
    end_value(fill, name, from);
}

void qn_fill_markup(struct qn_fill *fill, const char *name, struct qn_str markup)
{
    size_t from = fill->room.len;

    qn_buf_append_str(&fill->room, markup);
    end_value(fill, name, from);
}

void qn_fill_format(struct qn_fill *fill, const char *name, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    qn_fill_text(fill, name, qn_str_from_cstr(text));
}

static void append_value(const struct qn_fill *fill, struct qn_str name, struct qn_buf *buf)
{
    for (size_t i = 0; i < fill->count; i++) {
        if (qn_str_equal(name, qn_str_from_cstr(fill->values[i].name))) {
            if (fill->values[i].len > 0) {
                qn_buf_append(buf, fill->room.ptr + fill->values[i].from, fill->values[i].len);
            }
            return;
        }
    }
    assert(false); /* a value of the piece is missing */
}

void qn_fill_end(struct qn_fill *fill, struct qn_buf *buf)
{
    struct qn_str rest = find_piece(fill->piece);

    while (rest.len > 0) {
        size_t open = qn_str_find(rest, QN_STR("{{"));
        qn_buf_append_str(buf, qn_str_first(rest, open));
        rest = qn_str_from(rest, open + 2);
        if (rest.len > 0) {
            size_t close = qn_str_find(rest, QN_STR("}}"));
            append_value(fill, qn_str_first(rest, close), buf);
            rest = qn_str_from(rest, close + 2);
        }
    }
    qn_buf_done(&fill->room);
}
