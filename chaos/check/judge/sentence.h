/* What a comparison of an expression says in words. */
#ifndef QN_CHECK_JUDGE_SENTENCE_H
#define QN_CHECK_JUDGE_SENTENCE_H

#include "server/base/buf.h"

/* A comparison that was made: "leases(k-000)", "<=", and the values on both sides. */
struct qn_compared {
    struct qn_str left;
    const char *comparator;
    double left_value;
    double right_value;
    struct qn_str extreme; /* of max(leases) or min(...): the message that has it; none: another */
};

/* "message k-000 was received 2 times; it should be exactly once". Of a left side without words of
 * its own the text stands as it is. */
void qn_sentence_append(const struct qn_compared *compared, struct qn_buf *buf);

/* Whether the left side of a comparison has words of its own. */
bool qn_sentence_is_known(struct qn_str left);

/* What never happened: "there was no effect", of the kind of an event or the name of a mark. */
void qn_sentence_append_absent(struct qn_str absent, struct qn_buf *buf);

#endif
