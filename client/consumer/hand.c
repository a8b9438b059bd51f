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

static void free_delivery(struct quern_hand *hand, struct quern_delivery *d)
{
    leave(&hand->groups, d->group);
    leave(&hand->tenants, d->tenant);
    json_decref(d->message);
    qn_memory_free(d->handle);
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

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
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

static int64_t told_count(const json_t *message)
{
    const char *told = text_of(json_object_get(message, "Attributes"), "ApproximateReceiveCount");
    int64_t count;

    return qn_str_to_int64(qn_str_from_cstr(told), 1, INT64_MAX, &count) ? count : 1;
}

static struct quern_delivery *new_delivery(struct quern_hand *hand, json_t *message_take,
                                           const char *id)
{
    struct quern_delivery *d = qn_memory_new(sizeof(*d));

    d->message = message_take;
    d->id = id;
    d->cancel_fd = -1;
    d->beats = hand->beat_interval_ms > 0;
    const char *group = text_of(json_object_get(message_take, "Attributes"), "MessageGroupId");
    d->group = hand->is_fifo ? enter(&hand->groups, group) : NULL;
    const char *tenant = hand->is_fifo ? NULL : group;
    if (hand->tenant != NULL) {
        tenant = hand->tenant(hand->state, d);
    }
    d->tenant = enter(&hand->tenants, tenant);
    return d;
}

struct quern_delivery *quern_hand_admit_take(struct quern_hand *hand, json_t *message_take,
                                             int64_t now_ms, bool *ret_is_new)
{
    const char *id = text_of(message_take, "MessageId");
    const char *handle = text_of(message_take, "ReceiptHandle");

    if (id == NULL || handle == NULL) {
        json_decref(message_take);
        return NULL;
    }
    struct qn_map_node *known = qn_map_find(&hand->by_id, hash_of(id), id);
    struct quern_delivery *d =
        known != NULL ? QN_CONTAINER(known, struct quern_delivery, node) : NULL;
    *ret_is_new = d == NULL;
    hand->counters.received++;
    if (d != NULL) {
        set_handle(d, handle);
        d->receive_count = told_count(message_take);
        hand->counters.redelivered++;
        json_decref(message_take);
    } else {
        d = new_delivery(hand, message_take, id);
        set_handle(d, handle);
        d->receive_count = told_count(message_take);
        qn_map_insert(&hand->by_id, &d->node, hash_of(id));
        TAILQ_INSERT_TAIL(&hand->all, d, all);
        TAILQ_INSERT_TAIL(&hand->waiting, d, waiting);
        hand->counters.in_hand++;
        hand->counters.waiting++;
    }
    begin_lease(hand, d, now_ms);
    if (*ret_is_new && (hand->is_draining || (d->group != NULL && d->group->returning > 0))) {
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

void quern_delivery_cancel(struct quern_delivery *d)
{
    const uint64_t one = 1;

    d->is_cancelled = true;
    if (d->cancel_fd >= 0) {
        (void)!write(d->cancel_fd, &one, sizeof(one));
    }
}
