/* What is going on now, as far as the trace tells: who holds what until when, who polls, what is
 * left. */
#ifndef QN_CHECK_WATCH_H
#define QN_CHECK_WATCH_H

#include "chaos/check/history.h"
#include "chaos/check/table.h"

/* Of one instance, by its access key. */
struct qn_watch_instance {
    int64_t epoch;   /* how often it was replaced: leases of an older epoch belong to the dead */
    bool has_called; /* ReceiveMessage on the source queue, in this epoch */
    int64_t open_receives;
    int64_t open_others;
    int64_t newest_receive_ms; /* wall time of the newest open or last receive */
    bool last_was_empty;       /* the last call that ended was a receive without messages */
};

struct qn_watch_lease {
    bool is_live;
    int64_t deadline_ms;
    struct qn_watch_instance *owner; /* NULL: unknown */
    int64_t epoch;
};

struct qn_watch {
    struct qn_str queue;
    struct qn_str self; /* access key of the harness */
    struct qn_str only; /* the only instance: calls with other keys are its own; none when there are
                           several */
    struct qn_table instances;   /* struct qn_watch_instance */
    struct qn_table leases;      /* struct qn_watch_lease, by message id */
    struct qn_table calls;       /* open and past requests, by id */
    struct qn_table invocations; /* the newest request of each, by the id that the SDK gives it */
    struct qn_table in_queue;    /* bool, by message id */
    struct qn_table delayed;     /* int64_t, by message id: when it can be received, 0: it can */
    int64_t left;                /* messages in the queue */
    size_t read_count;           /* events of the history that were fed */
};

void qn_watch_init(struct qn_watch *watch, struct qn_str queue, struct qn_str self,
                   struct qn_str only);
void qn_watch_done(struct qn_watch *watch);
/* The access key by which an instance is known here. */
struct qn_str qn_watch_name(const struct qn_watch *watch, struct qn_str access_key);
struct qn_watch_instance *qn_watch_instance_at(struct qn_watch *watch, struct qn_str access_key);
/* The instance has ended: its calls are void, its leases belong to nobody alive. */
void qn_watch_replace(struct qn_watch *watch, struct qn_str access_key);
void qn_watch_feed(struct qn_watch *watch, const struct qn_check_event *event);

/* Whether a live instance holds a lease. */
bool qn_watch_is_held(const struct qn_watch *watch);
/* The instance waits for messages and has nothing else to do, as of wall time now_ms. */
bool qn_watch_is_idle(const struct qn_watch_instance *instance, int64_t now_ms);
/* The earliest deadline of a lease whose owner is dead; INT64_MAX when there is none. */
int64_t qn_watch_next_deadline_ms(const struct qn_watch *watch);
/* The earliest end of a delay after now_ms (virtual); INT64_MAX when there is none. */
int64_t qn_watch_next_delay_ms(const struct qn_watch *watch, int64_t now_ms);
/* The instance with the newest lease of the message with this key, among the events seen; none:
 * unknown. */
struct qn_str qn_watch_owner_of(const struct qn_history *history, const struct qn_watch *watch,
                                struct qn_str k);

#endif
