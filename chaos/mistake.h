/* What is wrong in a text of rules, and where: all of it at once, so that a file is mended in one
 * go. */
#ifndef QN_CHAOS_MISTAKE_H
#define QN_CHAOS_MISTAKE_H

#include <jansson.h>

#include "server/base/error.h"

enum { QN_MISTAKES_KEPT = 20 };

struct qn_mistake {
    size_t text;          /* of several texts the one that it is in, from 0 */
    int64_t line;         /* from 1 */
    int64_t column;       /* in characters, from 1 */
    struct qn_error what; /* without the place */
};

/* Zeroed at first. */
struct qn_mistakes {
    struct qn_mistake kept[QN_MISTAKES_KEPT];
    size_t count; /* of all; those beyond the kept ones are only counted */
    size_t text;  /* the text that is read now */
};

void qn_mistakes_add(struct qn_mistakes *mistakes, int64_t line, int64_t column,
                     const char *message);
/* Of those that were counted how many were kept. */
size_t qn_mistakes_kept(const struct qn_mistakes *mistakes);
/* Where there is room for one sentence: the first mistake with its place, and how many more there
 * are. Returns false. */
bool qn_mistakes_fail(const struct qn_mistakes *mistakes, struct qn_error *err);
/* [{"line","column","message"}], with the number of the text as "index" if they are several; the
 * caller owns the reference. */
json_t *qn_mistakes_list(const struct qn_mistakes *mistakes, bool has_texts);

#endif
