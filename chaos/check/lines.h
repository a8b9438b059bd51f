/* JSON lines as events that still borrow from them: the half of reading that needs no history, so
 * that another thread may be at it. */
#ifndef QN_CHECK_LINES_H
#define QN_CHECK_LINES_H

#include "chaos/check/history.h"

struct qn_check_line {
    struct qn_str text;
    struct qn_check_event event;
    uint64_t missed; /* events that were gone here, and this is none */
    bool is_header;
};

struct qn_check_lines {
    struct qn_check_line *items;
    size_t count;
    size_t cap;
    struct qn_arena arena; /* of details and of texts that had escapes */
    struct qn_check_detail *spare;
};

void qn_check_lines_init(struct qn_check_lines *lines);
/* Accepts a zeroed one. */
void qn_check_lines_done(struct qn_check_lines *lines);
/* Forgets what was there, and reads all lines of the text, which must outlive them. Fails at the
 * first that is no event; those before it are there. */
QN_MUST_CHECK bool qn_check_lines_parse(struct qn_check_lines *lines, struct qn_str text,
                                        struct qn_error *err);

#endif
