/* Texts, each kept once and numbered: a trace says the same ids and names over and over. */
#ifndef QN_CHECK_TEXTS_H
#define QN_CHECK_TEXTS_H

#include "server/base/arena.h"

struct qn_texts_slot;

struct qn_texts {
    struct qn_texts_slot *slots;
    size_t slot_count; /* power of two, 0 before the first */
    uint32_t count;
    struct qn_arena arena;
};

void qn_texts_init(struct qn_texts *texts);
/* Accepts a zeroed one. */
void qn_texts_done(struct qn_texts *texts);
/* The copy of this text, NUL-terminated behind its end; none for none. Equal texts get the same
 * one. */
struct qn_str qn_texts_take(struct qn_texts *texts, struct qn_str text);
/* The same, or none when it was never taken. */
struct qn_str qn_texts_find(const struct qn_texts *texts, struct qn_str text);
/* Of a copy, and of no other text: 1 for the first that was taken, 2 for the next. 0 for none. */
uint32_t qn_text_number(struct qn_str kept);

#endif
