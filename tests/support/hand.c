#include "tests/support/hand.h"

#include <stdio.h>

void hand_fixture_init(struct quern_hand *hand)
{
    *hand = (struct quern_hand){
        .workers = 2, .max_messages = 3, .visibility_ms = 30000, .beat_interval_ms = 15000};
    quern_bucket_init(&hand->bucket, 0, 1, 0);
    quern_hand_init(hand);
}

struct quern_delivery *hand_fixture_admit(struct quern_hand *hand, const char *id,
                                          const char *handle, const char *group, int64_t count,
                                          int64_t now_ms)
{
    char number[24];
    bool is_new;

    (void)snprintf(number, sizeof(number), "%lld", (long long)count);
    json_t *message =
        json_pack("{s:s, s:s, s:s, s:{s:s}}", "MessageId", id, "ReceiptHandle", handle, "Body", "b",
                  "Attributes", "ApproximateReceiveCount", number);
    if (group != NULL) {
        json_object_set_new(json_object_get(message, "Attributes"), "MessageGroupId",
                            json_string(group));
    }
    return quern_hand_admit_take(hand, message, now_ms, &is_new);
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
