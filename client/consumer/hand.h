/* The messages in hand: which may begin, which are to be deleted, how many more there is room for.
 * No thread, no clock and no call: instants are given, and one lock of the owner keeps it all. */
#ifndef QUERN_CONSUMER_HAND_H
#define QUERN_CONSUMER_HAND_H

#include <sys/queue.h>

#include "client/consumer/limits.h"
#include "client/quern_consumer.h"
#include "client/quern_envelope.h"
#include "server/base/map.h"

enum { QUERN_DELETE = -1 };

/* Those of one group, or of one tenant, that are in hand. */
struct quern_lane {
    struct qn_map_node node;
    char *name;
    int64_t members;
    int64_t running;
    int64_t returning; /* waiting to be given back: on a FIFO queue nothing behind it may begin */
    int64_t in_call;   /* being deleted or given back right now */
    uint64_t passed;   /* number of the collection in which one of them was left out */
};

/* An answer to a receive; freed with the last message of it that is in hand. */
struct quern_arrivals {
    struct quern_messages *messages;
    size_t users;
};

enum quern_stage { QUERN_WAITING, QUERN_AT_WORK, QUERN_SETTLING };

struct quern_delivery {
    struct qn_map_node node; /* by message id */
    TAILQ_ENTRY(quern_delivery) all;
    TAILQ_ENTRY(quern_delivery) waiting;
    TAILQ_ENTRY(quern_delivery) settling;
    struct quern_consumer *consumer; /* for its lock; NULL in tests without one */
    const struct quern_received *received;
    struct quern_arrivals *arrivals; /* what it lies in */
    const char *id;
    struct quern_lane *group;  /* of a FIFO queue, or NULL */
    struct quern_lane *tenant; /* or NULL */
    char *handle;              /* the newest */
    uint64_t handle_number;    /* one more with each new handle */
    int64_t receive_count;
    enum quern_stage stage;
    bool is_running;  /* in a handler, whatever else has become of it */
    bool is_given_up; /* the process ends: its handler is not waited for */
    bool is_cancelled;
    int cancel_fd;                  /* -1: nobody asked for one */
    struct quern_envelope envelope; /* of whoever works on it; without a document: not read */

    /* Its lease. */
    int64_t lease_end_ms;
    int64_t next_beat_ms;
    int64_t begun_at_ms;
    bool beats;
    bool is_beating; /* an extension is under way */
    bool is_lost;
    int beat_failures;

    /* How it is settled. */
    struct quern_result result;
    int64_t visible_in_s; /* QUERN_DELETE, or given back in so many seconds */
    int64_t settled_at_ms;
    int64_t due_ms; /* not before this instant */
    int attempts;
    bool is_in_call;
};

TAILQ_HEAD(quern_deliveries, quern_delivery);

struct quern_hand {
    bool is_fifo;
    int64_t workers;
    int64_t max_messages;
    int64_t tenant_workers; /* 0: all */
    int64_t delete_lag_ms;
    int64_t visibility_ms;
    int64_t beat_interval_ms; /* 0: no extensions */
    const char *(*tenant)(void *state, const struct quern_delivery *delivery);
    void *state;
    void (*on_lapse)(struct quern_delivery *delivery); /* NULL: nobody is told */
    struct quern_bucket bucket;
    struct quern_circuit circuit;

    struct qn_map by_id;
    struct qn_map groups;
    struct qn_map tenants;
    struct quern_deliveries all;      /* in the order of their arrival */
    struct quern_deliveries waiting;  /* likewise */
    struct quern_deliveries settling; /* in the order in which they were settled */
    int64_t promised;                 /* messages asked for by receives under way */
    int64_t settling_count;
    uint64_t passes;
    bool is_draining;
    struct quern_counters counters;
};

/* The fields up to `state` are the caller's to set, before. */
void quern_hand_init(struct quern_hand *hand);
/* Frees all that is in hand. */
void quern_hand_done(struct quern_hand *hand);

/* How many messages to ask for in one more receive; 0: none now. A worker must be free that no
 * receive under way works for, and nothing waits that could begin. */
int64_t quern_hand_ask(struct quern_hand *hand, int64_t now_ms);
/* A message that arrived. One that is in hand already gets the new handle, and its lease begins
 * anew. */
struct quern_delivery *quern_hand_admit(struct quern_hand *hand,
                                        const struct quern_received *received,
                                        struct quern_arrivals *arrivals, int64_t now_ms);
/* Puts it among those that wait: in its group by sequence number, else at the end. */
void quern_hand_queue(struct quern_hand *hand, struct quern_delivery *delivery);
/* Who made the arrivals was their first user, and is so no longer. */
void quern_arrivals_leave(struct quern_arrivals *arrivals);
/* What to begin now, or NULL: then *ret_wait_ms says when to ask again (below 0: when something has
 * changed). What waited for too long, so that its lease is over, is dropped; what has to go back
 * for its tenant's sake is settled. */
struct quern_delivery *quern_hand_pick(struct quern_hand *hand, int64_t now_ms,
                                       int64_t *ret_wait_ms);
void quern_hand_begin(struct quern_hand *hand, struct quern_delivery *delivery, int64_t now_ms);
/* The handler has returned. */
void quern_hand_end(struct quern_hand *hand, struct quern_delivery *delivery);
/* It is to be deleted (QUERN_DELETE) or given back. Its extensions end. */
void quern_hand_settle(struct quern_hand *hand, struct quern_delivery *delivery,
                       int64_t visible_in_s, int64_t now_ms);
/* Gives back all of a group that wait: nothing may overtake what has failed. */
void quern_hand_release_group(struct quern_hand *hand, const struct quern_lane *group,
                              int64_t now_ms);
void quern_hand_release_waiting(struct quern_hand *hand, int64_t now_ms);
/* What may go in one call now, all to be deleted or all to be given back, in order; count. In a
 * group nothing passes what was settled before it. *ret_wait_ms as above. */
size_t quern_hand_collect(struct quern_hand *hand, int64_t now_ms,
                          struct quern_delivery *ret_batch[QUERN_BATCH_MAX], int64_t *ret_wait_ms);
/* Those of the batch are on their way, and back. */
void quern_hand_call(struct quern_delivery *const *batch, size_t count);
void quern_hand_return(struct quern_hand *hand, struct quern_delivery *delivery);
/* It was on its way back and has come again before that was answered: a new lease, to be worked on
 * from the start. */
void quern_hand_restore(struct quern_hand *hand, struct quern_delivery *delivery, int64_t now_ms);
/* It leaves the hand: now, or when its handler, or the extension under way, comes back. */
void quern_hand_remove(struct quern_hand *hand, struct quern_delivery *delivery);
/* Takes out one that was only waiting for that. */
void quern_hand_bury(struct quern_hand *hand, struct quern_delivery *delivery);

/* Its lease is lost. */
void quern_hand_lapse(struct quern_hand *hand, struct quern_delivery *delivery);

/* Sets the flag, and wakes who waits at the descriptor. */
void quern_delivery_cancel(struct quern_delivery *delivery);

#endif
