/* The state machine of SQS, in memory: what actions, loop and control API may ask. No I/O, no
 * clock, no threads; inputs are a typed call, tx->now_ms and tx->random, outputs are typed answers,
 * journal rows (tx->entry) and events (tx->events).
 *
 * Every call that changes something either cannot fail or says so; one that fails has changed
 * nothing. */
#ifndef QN_ENGINE_ENGINE_H
#define QN_ENGINE_ENGINE_H

#include "server/base/random.h"
#include "server/model/entry.h"
#include "server/model/event.h"
#include "server/model/message.h"
#include "server/model/queue_settings.h"
#include "server/model/request.h"
#include "server/model/verdict.h"

struct qn_engine;
struct qn_queue;

/* Reads a content that is no longer in memory. */
struct qn_content_source {
    void *state;
    bool (*read)(void *state, int64_t content_id, struct qn_arena *arena,
                 struct qn_str *ret_content, struct qn_error *err);
};

/* How the server was started; fixed while it runs. Texts outlive the engine. */
struct qn_engine_options {
    struct qn_limits limits;
    bool aws_waits;    /* 60 s refusals after a purge and after deleting a name */
    bool stale_delete; /* deleting with an older handle deletes (standard queues) */
    bool one_region;   /* all regions share one set of queues */
    bool auto_create;  /* a queue that is addressed comes into being */
    struct qn_str account;
    struct qn_str region;
    size_t memory_max;     /* bytes of stored messages; sends beyond are refused */
    size_t content_budget; /* bytes of contents kept in memory when there is a source */
    uint8_t handle_key[16];
    uint32_t boot;
    struct qn_content_source source; /* read NULL: everything stays in memory */
    bool keeps_deleted;              /* for faults that bring a deleted message back */
};

/* Where a request must wait: filled by ReceiveMessage, acted on by the loop. */
struct qn_park {
    struct qn_queue *queue; /* NULL: no need to wait */
    int64_t deadline_ms;
};

/* The lease of a message that a fault is for. */
struct qn_leased {
    struct qn_str message_id;
    struct qn_str handle;  /* none: the message is looked for among all in flight */
    int64_t receive_count; /* of this lease; below 0: whichever lasts */
};

/* Everything an action can touch. One per executed request. */
struct qn_tx {
    struct qn_engine *engine;
    int64_t now_ms;
    struct qn_random *random;
    struct qn_arena *arena;
    const struct qn_caller *caller;
    struct qn_str request_id;               /* none: nobody's request */
    int64_t connection;                     /* 0: none */
    const struct qn_queue_address *address; /* the request's, already split; or NULL */
    struct qn_buf *entry;                   /* journal rows; NULL without a journal */
    struct qn_event_list *events;           /* never NULL */
    const struct qn_verdict *verdict;       /* of PRE_COMMIT, when it names entries; else NULL */
    const struct qn_facts *facts;           /* which its mask is about, or NULL */
    const struct qn_leased *shared;         /* leases of another call: a receive gets copies */
    size_t shared_count;
    bool wait_is_over;      /* a parked receive whose time has come: answer now */
    struct qn_queue *queue; /* what the action's check resolved */
    struct qn_park park;
};

struct qn_engine *qn_engine_new(const struct qn_engine_options *options);
void qn_engine_free(struct qn_engine *engine);
const struct qn_engine_options *qn_engine_options_of(const struct qn_engine *engine);
void qn_engine_keep_deleted(struct qn_engine *engine, bool keeps);

/* ---- queues ---- */

/* NULL: no such queue. With one_region the region is ignored. */
struct qn_queue *qn_engine_find_queue(struct qn_engine *engine, struct qn_str account,
                                      struct qn_str region, struct qn_str name);
/* By "arn:aws:sqs:region:account:name"; false only when it is no such text (then *ret_queue is
 * untouched). */
QN_MUST_CHECK bool qn_engine_find_arn(struct qn_engine *engine, struct qn_str arn,
                                      struct qn_queue **ret_queue);
/* The name must be free. Takes over the settings' texts. */
struct qn_queue *qn_engine_create_queue(struct qn_tx *tx, struct qn_str account,
                                        struct qn_str region, struct qn_str name,
                                        struct qn_queue_settings *settings_take);
void qn_engine_delete_queue(struct qn_tx *tx, struct qn_queue *queue);
void qn_engine_purge_queue(struct qn_tx *tx, struct qn_queue *queue);
/* Does a slice of what is due in the queue; false: more is due. */
bool qn_engine_settle_queue(struct qn_tx *tx, struct qn_queue *queue);
/* Replaces the settings (taken over). What is due under the old ones must have been done before
 * (qn_engine_settle_queue, until it says so) when delay or retention change; what becomes due by
 * the new ones is done at once up to a slice, the rest by qn_engine_settle. */
void qn_engine_change_settings(struct qn_tx *tx, struct qn_queue *queue,
                               struct qn_queue_settings *settings_take);
/* Tags leave LastModifiedTimestamp alone; call the last one once after the others, it tells the
 * journal. */
void qn_engine_set_tag(struct qn_tx *tx, struct qn_queue *queue, struct qn_str key,
                       struct qn_str value);
void qn_engine_remove_tag(struct qn_tx *tx, struct qn_queue *queue, struct qn_str key);
void qn_engine_tags_changed(struct qn_tx *tx, struct qn_queue *queue);
/* When a queue of this name was deleted, or -1 if not within the last minute. */
int64_t qn_engine_deleted_at(struct qn_tx *tx, struct qn_str account, struct qn_str region,
                             struct qn_str name);

const struct qn_queue_settings *qn_queue_settings_of(const struct qn_queue *queue);
struct qn_str qn_queue_name(const struct qn_queue *queue);
struct qn_str qn_queue_account(const struct qn_queue *queue);
struct qn_str qn_queue_region(const struct qn_queue *queue);
struct qn_str qn_queue_arn(const struct qn_queue *queue);
bool qn_queue_is_fifo(const struct qn_queue *queue);

/* The queues of one account and region in byte order of their names: the first whose name is
 * greater than `after` (none: from the start), or NULL. */
struct qn_queue *qn_engine_next_queue(struct qn_engine *engine, struct qn_str account,
                                      struct qn_str region, struct qn_str after);
/* Over all accounts and regions, for the control API: i from 0 until NULL. */
struct qn_queue *qn_engine_queue_at(struct qn_engine *engine, size_t i);
/* Whether the queue's RedrivePolicy names this ARN. */
bool qn_queue_redrives_to(const struct qn_queue *queue, const struct qn_queue *target);

struct qn_queue_counts {
    int64_t visible;
    int64_t in_flight;
    int64_t delayed;
};
struct qn_queue_counts qn_queue_counts_of(const struct qn_queue *queue);

/* ---- messages ---- */

struct qn_send {
    const struct qn_content *content;
    int64_t delay_s;                 /* effective, standard queues; FIFO goes by the queue */
    struct qn_str deduplication_key; /* FIFO: id, with the group in front when the scope says so;
                                        none: no deduplication */
};

struct qn_sent {
    uint8_t message_id[16];
    uint64_t sequence; /* 0 on standard queues */
    bool is_duplicate;
};

/* Whether `bytes` more fit under the memory ceiling. */
bool qn_engine_has_memory(const struct qn_engine *engine, size_t bytes);
/* Stores the message, or answers with the original's ids when it is a duplicate within the window.
 */
void qn_engine_send(struct qn_tx *tx, struct qn_queue *queue, const struct qn_send *send,
                    struct qn_sent *ret_sent);
/* The 20 digits and a NUL. */
void qn_engine_format_sequence(uint64_t sequence, char out[21]);

/* One delivered message; views live until the next engine call or as long as the arena. */
struct qn_delivery {
    uint8_t message_id[16];
    struct qn_content content;
    bool deduplication_is_message_id; /* it came by redrive: its id stands for the deduplication id
                                       */
    uint8_t deduplication_message_id[16];
    int64_t sent_at_ms;
    int64_t first_received_at_ms;
    int64_t deadline_ms;
    uint32_t total_count;
    uint64_t sequence; /* 0 on standard queues */
    struct qn_str source_arn;
    struct qn_str receipt_handle;
};

struct qn_receive {
    int64_t max; /* 1 to QN_RECEIVE_MAX */
    int64_t visibility_timeout_s;
    struct qn_str attempt_id; /* FIFO, or none */
    /* What faults add, within max. */
    const uint8_t (*doubled)[16]; /* messages that come twice, under two handles */
    size_t doubled_count;
    bool doubles_all;
    const struct qn_leased *shared; /* of each of these leases a copy comes first */
    size_t shared_count;
};

enum qn_receive_result {
    QN_RECEIVED,          /* 0 or more messages */
    QN_RECEIVE_GOES_ON,   /* no message yet, but more to look at: receive again before others do */
    QN_RECEIVE_FAILED,    /* err is set: content unreadable, attempt not retryable */
    QN_RECEIVE_OVER_LIMIT /* standard queue at its in-flight limit */
};

/* Leases up to max messages; ret_deliveries has room for QN_RECEIVE_MAX. */
enum qn_receive_result qn_engine_receive(struct qn_tx *tx, struct qn_queue *queue,
                                         const struct qn_receive *receive,
                                         struct qn_delivery *ret_deliveries, size_t *ret_count,
                                         struct qn_error *err);
/* The messages that this receive would deliver now, as facts; changes nothing. */
void qn_engine_look_receive(struct qn_tx *tx, struct qn_queue *queue,
                            const struct qn_receive *receive, struct qn_facts *facts);
/* Counts an empty answer in the queue's figures. */
void qn_engine_count_empty_receive(struct qn_queue *queue);

enum qn_handle_state {
    QN_HANDLE_MALFORMED,
    QN_HANDLE_OTHER_QUEUE,
    QN_HANDLE_GONE,   /* the message is deleted, purged, expired or moved */
    QN_HANDLE_LATEST, /* of the latest receive */
    QN_HANDLE_OLDER
};

struct qn_lease {
    uint32_t slot;
    bool is_in_flight; /* else visible again */
    int64_t received_at_ms;
    int64_t deadline_ms;
};

/* What the handle names; ret_lease is filled for LATEST and OLDER. */
enum qn_handle_state qn_engine_find_lease(struct qn_tx *tx, struct qn_queue *queue,
                                          struct qn_str receipt_handle, struct qn_lease *ret_lease);
void qn_engine_delete_message(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot,
                              struct qn_str receipt_handle);
/* Counts a delete that was answered with success and had nothing to delete. */
void qn_engine_count_vain_delete(struct qn_queue *queue);
/* Sets the instant at which the message is visible (again); now or earlier makes it visible at
 * once. */
void qn_engine_set_visible_at(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot,
                              int64_t visible_at_ms, struct qn_str receipt_handle);
/* The message of a lease as a fact. */
void qn_engine_look_lease(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot,
                          struct qn_fact_message *ret_message);

/* ---- move tasks ---- */

enum qn_task_status {
    QN_TASK_RUNNING,
    QN_TASK_COMPLETED,
    QN_TASK_CANCELLING,
    QN_TASK_CANCELLED,
    QN_TASK_FAILED
};

struct qn_task_view {
    uint8_t id[16];
    enum qn_task_status status;
    struct qn_str source_arn;
    struct qn_str destination_arn; /* none: back to where each came from */
    int64_t per_second;            /* 0: as fast as possible */
    int64_t moved;
    int64_t to_move;
    int64_t started_at_ms;
    struct qn_str failure; /* none unless FAILED */
};

bool qn_engine_task_is_active(struct qn_engine *engine, const struct qn_queue *source);
size_t qn_engine_active_tasks(struct qn_engine *engine, struct qn_str account);
void qn_engine_start_task(struct qn_tx *tx, struct qn_queue *source, struct qn_queue *destination,
                          int64_t per_second, uint8_t ret_id[16]);
/* The i-th newest task of the source, false when there are no more. */
QN_MUST_CHECK bool qn_engine_task_at(struct qn_engine *engine, const struct qn_queue *source,
                                     size_t i, struct qn_task_view *ret_task);
QN_MUST_CHECK bool qn_engine_find_task(struct qn_engine *engine, const uint8_t id[16],
                                       struct qn_task_view *ret_task);
/* The task must be RUNNING. Returns how many were moved. */
int64_t qn_engine_cancel_task(struct qn_tx *tx, const uint8_t id[16]);

/* ---- time ---- */

/* The earliest instant at which something falls due (lease, delay, retention, window, task step,
 * parked poll), INT64_MAX for never. */
int64_t qn_engine_next_event_ms(const struct qn_engine *engine);
/* Whether something that a client can notice is due. */
bool qn_engine_is_due(const struct qn_engine *engine, int64_t now_ms);

enum qn_settle_result {
    QN_SETTLED,       /* nothing more is due */
    QN_SETTLE_WAITER, /* a waiter may be served: ask qn_engine_next_waiter, then settle again */
    QN_SETTLE_MORE    /* the budget is used up, more is due */
};

/* Does what has fallen due by tx->now_ms, in the order of its instants, at most *budget steps
 * (counted down). Also frees what purged and deleted queues left behind. */
enum qn_settle_result qn_engine_settle(struct qn_tx *tx, int *budget);

/* ---- long polls ---- */

/* One parked receive; lies in the loop's request. */
struct qn_waiter {
    struct qn_waiter *previous, *next; /* arrival order on the queue */
    struct qn_queue *queue;            /* NULL: not parked */
    int64_t deadline_ms;
    uint32_t index; /* in the engine's table */
    bool is_over;   /* deadline reached, or the queue is gone: run it a last time */
    bool queue_is_gone;
};

/* A waiter that is parked already keeps its place. */
void qn_engine_park(struct qn_engine *engine, struct qn_waiter *waiter, struct qn_queue *queue,
                    int64_t deadline_ms);
/* Accepts one that is not parked. */
void qn_engine_unpark(struct qn_engine *engine, struct qn_waiter *waiter);
/* The next waiter whose receive should run now, before any other request, or NULL. The loop runs
 * it: answered, it is unparked; still empty-handed, it says so with qn_engine_waiter_stays. */
struct qn_waiter *qn_engine_next_waiter(struct qn_engine *engine);
void qn_engine_waiter_stays(struct qn_engine *engine, struct qn_waiter *waiter);
/* Any parked waiter, for stopping; NULL when there is none. */
struct qn_waiter *qn_engine_any_waiter(struct qn_engine *engine);
size_t qn_engine_waiter_count(const struct qn_engine *engine);
/* Moves the deadlines of all parked polls by this much: for an idle skip of the clock. */
void qn_engine_shift_waiters(struct qn_engine *engine, int64_t by_ms);

/* ---- journal ---- */

/* The entry that the last calls produced has this LSN: contents sent with it may leave memory once
 * it is written. */
void qn_engine_entry_appended(struct qn_engine *engine, uint64_t lsn);
/* Gives memory of contents back down to the budget, of entries written so far. A bounded number per
 * call. */
void qn_engine_evict(struct qn_engine *engine, uint64_t written_lsn);

/* Restores one row while the store is loaded (in the order of journal.h). now_ms: the first instant
 * of this run. */
void qn_engine_restore(struct qn_engine *engine, const struct qn_row *row, int64_t now_ms);
/* After the last row. */
void qn_engine_restored(struct qn_engine *engine, int64_t now_ms);

/* ---- faults ---- */

/* Who may receive a copy. */
enum qn_audience { QN_FOR_ANYBODY, QN_FOR_ONE, QN_FOR_OTHERS };
/* A consumer: by its access key, and when it has none by its connection. */
struct qn_party {
    struct qn_str instance;
    int64_t connection;
};

/* False: no such message was deleted. */
bool qn_engine_resurrect(struct qn_tx *tx, struct qn_queue *queue, struct qn_str message_id);
/* Each false: the lease is over. The consumer is told nothing. */
bool qn_engine_expire_lease(struct qn_tx *tx, struct qn_queue *queue,
                            const struct qn_leased *leased);
/* It ends then, if that is earlier. */
bool qn_engine_shorten_lease(struct qn_tx *tx, struct qn_queue *queue,
                             const struct qn_leased *leased, int64_t end_ms);
/* A copy beside the live lease, to be received at once under the next count: by anybody, by this
 * party only, or by others only. Who may not have it gets it when the queue's visibility timeout
 * has passed. False as well: there is no memory for it. */
bool qn_engine_deliver_again(struct qn_tx *tx, struct qn_queue *queue,
                             const struct qn_leased *leased, enum qn_audience audience,
                             const struct qn_party *party);
/* It ends so much later, but within the longest time that SQS allows. */
bool qn_engine_extend_lease(struct qn_tx *tx, struct qn_queue *queue,
                            const struct qn_leased *leased, int64_t by_ms);

/* The content of a message that is stored in the queue, was deleted from it of late, or went to its
 * dead-letter queue. Views live until the next engine call. */
QN_MUST_CHECK bool qn_engine_read_message(struct qn_tx *tx, struct qn_queue *queue,
                                          const struct qn_leased *which,
                                          struct qn_content *ret_content);
enum qn_order { QN_ORDER_REVERSE, QN_ORDER_SHUFFLE };
/* The next messages that may be received, at most `window` of them, change places; in a FIFO queue
 * within their groups. How many they were. */
size_t qn_engine_reorder(struct qn_tx *tx, struct qn_queue *queue, enum qn_order order,
                         size_t window, uint64_t draw);
/* The messages with this key (of their JSON bodies: idempotencyKey or payload.id) that may be
 * received are hidden until then; of long queues the oldest are looked at. How many they were; on a
 * FIFO queue none. */
size_t qn_engine_delay_key(struct qn_tx *tx, struct qn_queue *queue, struct qn_str key,
                           int64_t until_ms);

/* ---- looking ---- */

/* The metrics of SQS for one queue (CloudWatch names). */
struct qn_queue_figures {
    struct qn_queue_counts counts;
    int64_t oldest_age_s; /* ApproximateAgeOfOldestMessage */
    int64_t sent, received, deleted, empty_receives, deduplicated;
    int64_t sent_bytes;
    int64_t groups_in_flight; /* FIFO */
    int64_t groups;           /* FIFO: with stored messages */
    int64_t noisy_groups;     /* fair queues */
    struct qn_queue_counts quiet;
    int64_t oldest_quiet_age_s;
    int64_t waiters;
};
void qn_engine_figures(struct qn_engine *engine, const struct qn_queue *queue, int64_t now_ms,
                       struct qn_queue_figures *ret_figures);

/* One stored message without a lease or a count. */
struct qn_peeked {
    uint64_t sequence;
    uint8_t message_id[16];
    const char *state;         /* "visible", "in-flight", "delayed" */
    struct qn_content content; /* in the arena or borrowed until the next engine call */
    int64_t sent_at_ms, first_received_at_ms, hidden_until_ms;
    uint32_t receive_count, total_count;
    struct qn_str source_arn;
};
/* The stored message with the smallest sequence above `after`; false when there is none. Costs a
 * walk over the queue. */
QN_MUST_CHECK bool qn_engine_peek(struct qn_tx *tx, struct qn_queue *queue, uint64_t after,
                                  struct qn_peeked *ret_message);
/* The same for many in a row, which costs one walk. The place is good until the queue changes. */
struct qn_peek_place {
    uint32_t slot;
    uint32_t redriven;
};
struct qn_peek_place qn_engine_peek_place(const struct qn_tx *tx, const struct qn_queue *queue,
                                          uint64_t after);
QN_MUST_CHECK bool qn_engine_peek_next(struct qn_tx *tx, struct qn_peek_place *place,
                                       struct qn_peeked *ret_message);

struct qn_engine_figures {
    size_t messages;
    size_t memory_bytes;
    size_t content_bytes;
    size_t queues;
    size_t parked;
    uint64_t looked_at; /* messages and groups that operations have looked at, ever: what an
                           operation costs */
};
void qn_engine_total_figures(const struct qn_engine *engine, struct qn_engine_figures *ret_figures);

#endif
