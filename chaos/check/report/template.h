/* Filling in the pieces of the HTML report. The files of html/ consist of pieces, each begun by a
 * line "<!--# name -->"; in a piece {{name}} stands for a value. */
#ifndef QN_CHECK_TEMPLATE_H
#define QN_CHECK_TEMPLATE_H

#include "server/base/buf.h"

enum { QN_FILL_MAX = 20 };

/* A piece with the values it gets. Values are copied in; names must outlive the fill. */
struct qn_fill {
    const char *piece;
    struct {
        const char *name;
        size_t from;
        size_t len;
    } values[QN_FILL_MAX];
    size_t count;
    struct qn_buf room;
};

void qn_fill_begin(struct qn_fill *fill, const char *piece);
/* A text of anybody: escaped. */
void qn_fill_text(struct qn_fill *fill, const char *name, struct qn_str text);
/* Markup that other pieces gave: as it is. */
void qn_fill_markup(struct qn_fill *fill, const char *name, struct qn_str markup);
/* A text of ours, escaped too. */
void qn_fill_format(struct qn_fill *fill, const char *name, const char *format, ...)
    QN_PRINTF(3, 4);
/* Appends the piece and forgets the values. Each value of the piece must have been given. */
void qn_fill_end(struct qn_fill *fill, struct qn_buf *buf);

#endif
