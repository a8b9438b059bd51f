/* What the machine took from a consumer: bounds in real time are longer by it. */
#ifndef QN_CHECK_JUDGE_BUSY_H
#define QN_CHECK_JUDGE_BUSY_H

#include "chaos/check/judge/book.h"

/* Finds the events that tell of it, once for each book. */
void qn_busy_collect(struct qn_book *book);
/* How long, between two events, the consumer or the server was kept waiting for a processor, in ms;
 * at most limit_ms. */
int64_t qn_busy_ms(const struct qn_judge_input *in, uint64_t from_seq, uint64_t to_seq,
                   int64_t limit_ms);
/* By how much, at most, a busy machine prolongs the time that a stop has. */
int64_t qn_busy_grace_limit_ms(int64_t grace_ms);

#endif
