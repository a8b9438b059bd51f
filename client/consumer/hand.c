/* What arrives, what is known, what leaves. */
#include <string.h>
#include <unistd.h>

#include "client/consumer/hand.h"

static bool same_id(const struct qn_map_node *node, const void *key)
{
    return strcmp(QN_CONTAINER(node, const struct quern_delivery, node)->id, key) == 0;
}

static bool same_name(const struct qn_map_node *node, const void *key)
{
    return strcmp(QN_CONTAINER(node, const struct quern_lane, node)->name, key) == 0;
}

void quern_hand_init(struct quern_hand *hand)
{
    qn_map_init(&hand->by_id, same_id);
    qn_map_init(&hand->groups, same_name);
    qn_map_init(&hand->tenants, same_name);
    TAILQ_INIT(&hand->all);
    TAILQ_INIT(&hand->waiting);
    TAILQ_INIT(&hand->settling);
}

static uint64_t hash_of(const char *text)
{
    return qn_str_hash(qn_str_from_cstr(text));
}

static struct quern_lane *enter(struct qn_map *lanes, const char *name)
{
    if (name == NULL) {
        return NULL;
    }
    struct qn_map_node *found = qn_map_find(lanes, hash_of(name), name);
    struct quern_lane *lane = found != NULL ? QN_CONTAINER(found, struct quern_lane, node) : NULL;
    if (lane == NULL) {
        lane = qn_memory_new(sizeof(*lane));
        lane->name = qn_memory_copy_text(name, strlen(name));
        qn_map_insert(lanes, &lane->node, hash_of(name));
    }
    lane->members++;
    return lane;
}

static void leave(struct qn_map *lanes, struct quern_lane *lane)
{
    if (lane != NULL && --lane->members == 0) {
        qn_map_remove(lanes, &lane->node);
        qn_memory_free(lane->name);
        qn_memory_free(lane);
    }
}

void quern_arrivals_leave(struct quern_arrivals *arrivals)
{
    if (--arrivals->users == 0) {
        quern_answer_free(arrivals->messages);
        qn_memory_free(arrivals);
    }
}

static void free_delivery(struct quern_hand *hand, struct quern_delivery *d)
{
    leave(&hand->groups, d->group);
    leave(&hand->tenants, d->tenant);
    quern_arrivals_leave(d->arrivals);
    qn_memory_free(d->handle);
    quern_envelope_done(&d->envelope);
    if (d->cancel_fd >= 0) {
        (void)close(d->cancel_fd);
    }
    qn_memory_free(d);
}

void quern_hand_done(struct quern_hand *hand)
{
    struct quern_delivery *d;

    while ((d = TAILQ_FIRST(&hand->all)) != NULL) {
        d->is_running = false;
        d->is_beating = false;
        quern_hand_remove(hand, d);
    }
    qn_map_done(&hand->by_id);
    qn_map_done(&hand->groups);
    qn_map_done(&hand->tenants);
}

static void set_handle(struct quern_delivery *d, const char *handle)
{
    qn_memory_free(d->handle);
    d->handle = qn_memory_copy_text(handle, strlen(handle));
    d->handle_number++;
}

static void begin_lease(const struct quern_hand *hand, struct quern_delivery *d, int64_t now_ms)
{
    d->lease_end_ms = now_ms + hand->visibility_ms;
    d->next_beat_ms = now_ms + hand->beat_interval_ms;
    d->beat_failures = 0;
    d->is_lost = false;
}

static int64_t told_count(const struct quern_received *received)
{
    int64_t count = quern_received_number(received, "ApproximateReceiveCount");

    return count > 0 ? count : 1;
}

static struct quern_delivery *new_delivery(struct quern_hand *hand,
                                           const struct quern_received *received,
                                           struct quern_arrivals *arrivals)
{
    struct quern_delivery *d = qn_memory_new(sizeof(*d));
    const char *group = quern_received_system(received, "MessageGroupId");
    const char *tenant = hand->is_fifo ? NULL : group;

    d->received = received;
    d->arrivals = arrivals;
    d->id = received->message_id;
    d->cancel_fd = -1;
    d->beats = hand->beat_interval_ms > 0;
    arrivals->users++;
    d->group = hand->is_fifo ? enter(&hand->groups, group) : NULL;
    if (hand->tenant != NULL) {
        tenant = hand->tenant(hand->state, d);
    }
    d->tenant = enter(&hand->tenants, tenant);
    return d;
}

/* Sequence numbers are of 20 digits, and may grow. Source: API reference, SendMessage. */
static bool is_before(const struct quern_delivery *a, const struct quern_delivery *b)
{
    struct qn_str left = qn_str_from_cstr(quern_received_system(a->received, "SequenceNumber"));
    struct qn_str right = qn_str_from_cstr(quern_received_system(b->received, "SequenceNumber"));

    return left.len != right.len ? left.len < right.len : qn_str_compare(left, right) < 0;
}

void quern_hand_queue(struct quern_hand *hand, struct quern_delivery *d)
{
    struct quern_delivery *behind;

    hand->counters.waiting++;
    TAILQ_FOREACH(behind, &hand->waiting, waiting)
    {
        if (d->group != NULL && behind->group == d->group && is_before(d, behind)) {
            TAILQ_INSERT_BEFORE(behind, d, waiting);
            return;
        }
    }
    TAILQ_INSERT_TAIL(&hand->waiting, d, waiting);
}

struct quern_delivery *quern_hand_admit(struct quern_hand *hand,
                                        const struct quern_received *received,
                                        struct quern_arrivals *arrivals, int64_t now_ms)
{
    const char *id = received->message_id;
    struct qn_map_node *known = qn_map_find(&hand->by_id, hash_of(id), id);
    struct quern_delivery *d =
        known != NULL ? QN_CONTAINER(known, struct quern_delivery, node) : NULL;

    hand->counters.received++;
    if (d != NULL) {
        hand->counters.redelivered++;
    } else {
        d = new_delivery(hand, received, arrivals);
        qn_map_insert(&hand->by_id, &d->node, hash_of(id));
        TAILQ_INSERT_TAIL(&hand->all, d, all);
        quern_hand_queue(hand, d);
        hand->counters.in_hand++;
    }
    set_handle(d, received->receipt_handle);
    d->receive_count = told_count(received);
    begin_lease(hand, d, now_ms);
    bool goes_back = hand->is_draining || (d->group != NULL && d->group->returning > 0);
    if (known == NULL && goes_back) {
        quern_hand_settle(hand, d, 0, now_ms);
    }
    return d;
}

void quern_hand_remove(struct quern_hand *hand, struct quern_delivery *d)
{
    if (d->stage == QUERN_WAITING) {
        TAILQ_REMOVE(&hand->waiting, d, waiting);
        hand->counters.waiting--;
    } else if (d->stage == QUERN_SETTLING) {
        TAILQ_REMOVE(&hand->settling, d, settling);
        hand->settling_count--;
        if (d->group != NULL && d->visible_in_s != QUERN_DELETE) {
            d->group->returning--;
        }
    }
    d->stage = QUERN_AT_WORK;
    d->beats = false;
    if (d->is_running || d->is_beating) {
        d->is_given_up = true; /* who holds it takes it out when it comes back */
        return;
    }
    qn_map_remove(&hand->by_id, &d->node);
    TAILQ_REMOVE(&hand->all, d, all);
    hand->counters.in_hand--;
    free_delivery(hand, d);
}

void quern_hand_bury(struct quern_hand *hand, struct quern_delivery *d)
{
    if (d->is_given_up && !d->is_running && !d->is_beating && d->stage != QUERN_SETTLING) {
        quern_hand_remove(hand, d);
    }
}

void quern_hand_lapse(struct quern_hand *hand, struct quern_delivery *d)
{
    d->is_lost = true;
    hand->counters.lapses++;
    if (hand->on_lapse != NULL) {
        hand->on_lapse(d);
    }
}

void quern_delivery_cancel(struct quern_delivery *d)
{
    const uint64_t one = 1;

    d->is_cancelled = true;
    if (d->cancel_fd >= 0) {
        (void)!write(d->cancel_fd, &one, sizeof(one));
    }
}
