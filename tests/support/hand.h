/* A hand for tests of the consumer, and messages to put into it. */
#ifndef TESTS_HAND_H
#define TESTS_HAND_H

#include "client/consumer/hand.h"

/* Two workers, receives of three, a lease of 30 s that is extended every 15 s, no lag. */
void hand_fixture_init(struct quern_hand *hand);
/* Admits one with this id, handle, group (or NULL: none) and receive count. In a group its id is
 * its sequence number, too. */
struct quern_delivery *hand_fixture_admit(struct quern_hand *hand, const char *id,
                                          const char *handle, const char *group, int64_t count,
                                          int64_t now_ms);
/* Picks the next and begins it; NULL when there is none. */
struct quern_delivery *hand_fixture_begin(struct quern_hand *hand, int64_t now_ms);

#endif
