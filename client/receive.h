/* Which received messages are what their MD5 says: for those who receive and must tell of the
 * others.
 */
#ifndef QUERN_RECEIVE_H
#define QUERN_RECEIVE_H

#include <jansson.h>

#include "client/quern.h"

enum quern_arrival_state {
    QUERN_ARRIVAL_WHOLE,
    QUERN_ARRIVAL_DAMAGED, /* its body or its attributes have another MD5 than was told */
    /* Whole, of a FIFO queue, and behind a damaged one of its group: taken now it would come before
     * that one. */
    QUERN_ARRIVAL_BEHIND,
};

/* One state for each message of an answer of ReceiveMessage, in their order. False when the answer
 * is not one. */
bool quern_receive_sift(const json_t *answer, bool is_fifo, enum quern_arrival_state *ret_states,
                        struct quern_error *err);

/* quern_receive_message that appends the ids of damaged messages to the array, those of attempts
 * that were repeated and of a call that failed as well. */
bool quern_receive_noting(struct quern_client *client, const char *queue_url,
                          const struct quern_receive_options *options, json_t *damaged_ids,
                          struct quern_messages **ret_messages, struct quern_error *err);

#endif
