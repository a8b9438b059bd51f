/* What a consumer needs from one message to the next, beside the work. */
#ifndef QN_CHECK_JUDGE_PACE_H
#define QN_CHECK_JUDGE_PACE_H

#include "chaos/check/judge/book.h"

/* The median in ms of what one that works on a single message at a time needs from the end of its
 * work, over the delete, to the beginning of the next; without the sink from the delete to the next
 * lease. 0: it works on several at once, or there are too few of them to say. What it waits behind
 * a failure is no part of it. */
int64_t qn_pace_ms(const struct qn_judge_input *in);
/* How many messages it began to work on between two events; without the sink, were leased to it. */
int64_t qn_pace_count(const struct qn_judge_input *in, uint64_t from_seq, uint64_t to_seq);

#endif
