/* What is wrong in a text of rules, and where: all of it at once, so that a file is mended in one
 * go. */
#ifndef QN_CHAOS_MISTAKE_H
#define QN_CHAOS_MISTAKE_H

#include <jansson.h>

#include "server/base/error.h"

struct qn_mistake {
    size_t text;    /* of several texts the one that it is in, from 0 */
    int64_t line;   /* from 1 */
    int64_t column; /* in characters, from 1 */
    char *what;     /* without the place */
};

/* Zeroed at first; qn_mistakes_done() frees. */
struct qn_mistakes {
    struct qn_mistake *all;
    size_t count, cap;
    size_t text; /* the text that is read now */
};

void qn_mistakes_add(struct qn_mistakes *mistakes, int64_t line, int64_t column,
                     const char *message);
/* Empty again; also for one that is zeroed. */
void qn_mistakes_done(struct qn_mistakes *mistakes);
/* Where there is room for one sentence: the first mistake with its place, and how many more there
 * are. There must be one. Returns false. */
bool qn_mistakes_fail(const struct qn_mistakes *mistakes, struct qn_error *err);
/* [{"line","column","message"}], with the number of the text as "index" if they are several; the
 * caller owns the reference. */
json_t *qn_mistakes_list(const struct qn_mistakes *mistakes, bool has_texts);

#endif
