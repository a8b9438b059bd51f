#include "tests/support/hand.h"

#include <stdio.h>

#include "client/codec.h"

void hand_fixture_init(struct quern_hand *hand)
{
    *hand = (struct quern_hand){
        .workers = 2, .max_messages = 3, .visibility_ms = 30000, .beat_interval_ms = 15000};
    quern_bucket_init(&hand->bucket, 0, 1, 0);
    quern_hand_init(hand);
}

/* All that is told of a message, in one piece. */
struct told {
    struct quern_messages messages;
    struct quern_received received;
    struct quern_pair system[3];
    char id[32];
    char count[24];
};

struct quern_delivery *hand_fixture_admit(struct quern_hand *hand, const char *id,
                                          const char *handle, const char *group, int64_t count,
                                          int64_t now_ms)
{
    struct told *told = quern_answer_new(sizeof(*told));
    struct quern_arrivals *arrivals = qn_memory_new(sizeof(*arrivals));

    (void)snprintf(told->id, sizeof(told->id), "%s", id);
    (void)snprintf(told->count, sizeof(told->count), "%lld", (long long)count);
    told->system[0] = (struct quern_pair){"ApproximateReceiveCount", told->count};
    told->system[1] = (struct quern_pair){"MessageGroupId", group};
    told->system[2] = (struct quern_pair){"SequenceNumber", told->id};
    told->received = (struct quern_received){.message_id = told->id,
                                             .receipt_handle = handle,
                                             .body = "b",
                                             .body_len = 1,
                                             .system = {told->system, group != NULL ? 3 : 1}};
    *arrivals = (struct quern_arrivals){&told->messages, 1};
    struct quern_delivery *d = quern_hand_admit(hand, &told->received, arrivals, now_ms);
    quern_arrivals_leave(arrivals);
    return d;
}

struct quern_delivery *hand_fixture_begin(struct quern_hand *hand, int64_t now_ms)
{
    int64_t wait_ms;
    struct quern_delivery *d = quern_hand_pick(hand, now_ms, &wait_ms);

    if (d != NULL) {
        quern_hand_begin(hand, d, now_ms);
    }
    return d;
}
