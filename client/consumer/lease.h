/* Leases: how often they are extended, which are due, what a failure means. Pure. */
#ifndef QUERN_CONSUMER_LEASE_H
#define QUERN_CONSUMER_LEASE_H

#include "client/consumer/hand.h"

/* The interval between two extensions (0: none), or an error that says what is wrong with what was
 * asked for. */
bool quern_lease_interval(const struct quern_consumer_options *options, int64_t visibility_ms,
                          int64_t *ret_interval_ms, struct quern_error *err);
/* Looks after all leases: cancels the work whose lease is over or that takes too long, and gives
 * the messages to extend now (at most ten; count) and, below 0 for never, when to look again. */
size_t quern_lease_due(struct quern_hand *hand, int64_t work_max_ms, int64_t now_ms,
                       struct quern_delivery *ret_batch[QUERN_BATCH_MAX], int64_t *ret_wait_ms);
/* An extension asked for at asked_at_ms, with the handle of that number, was granted. */
void quern_lease_extended(struct quern_hand *hand, struct quern_delivery *delivery,
                          uint64_t handle_number, int64_t asked_at_ms);
/* It failed: it is tried again soon, unless the queue says that there is nothing to extend. */
void quern_lease_failed(struct quern_hand *hand, struct quern_delivery *delivery,
                        uint64_t handle_number, const struct quern_error *err, int64_t now_ms);

#endif
