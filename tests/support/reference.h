/* A second SQS, as slow and plain as can be: every message in one array, every question answered
 * by looking at all of them. Random tests hold the engine against it. It is written from the
 * documentation of SQS; it shares no idea and no code with the engine. */
#ifndef QN_TESTS_REFERENCE_H
#define QN_TESTS_REFERENCE_H

#include "server/base/error.h"
#include "server/base/memory.h"
#include "server/model/limits.h"

enum {
    REFERENCE_QUEUES = 8,
    REFERENCE_GROUPS = 4,
    REFERENCE_IDS = 6,                    /* deduplication ids, bodies, attempt ids */
    REFERENCE_KEYS = 2 * 6 * (4 + 1),     /* an id or a body, in one of the groups or in none */
    REFERENCE_MESSAGES = 600,             /* stored at a time */
    REFERENCE_WAITERS = 12,               /* waiting at a time */
    REFERENCE_TASKS = QN_MOVE_TASKS_KEPT, /* remembered of a queue */
    REFERENCE_BODY = 16,
    REFERENCE_ID = 37,
};

/* Rules of the reference that a test may spoil, to see that it is noticed. */
enum reference_fault {
    REFERENCE_IS_RIGHT,
    REFERENCE_DUPLICATES_EXTEND_THE_WINDOW,
    REFERENCE_ONE_RECEIVE_MORE_BEFORE_THE_DLQ,
    REFERENCE_LAPSED_MESSAGES_GO_TO_THE_END,
    REFERENCE_A_GROUP_IS_NEVER_BLOCKED,
    REFERENCE_OLD_HANDLES_DELETE,
    REFERENCE_MOVED_MESSAGES_KEEP_THEIR_COUNT,
};

enum reference_state { REFERENCE_DELAYED, REFERENCE_VISIBLE, REFERENCE_IN_FLIGHT };

struct reference_message {
    int uid;
    int queue;
    int64_t order; /* in its queue */
    int group;     /* -1: none */
    enum reference_state state;
    int64_t enqueued_at_ms, hidden_until_ms, received_at_ms;
    int64_t first_received_at_ms; /* -1: never */
    int receive_count, total_count;
    int handle; /* number of the latest receive in this queue */
    bool was_changed;
    int source; /* dead-letter source, -1 for none */
    char body[REFERENCE_BODY];
    char id[REFERENCE_ID]; /* filled in by whoever knows it, "" until then */
};

/* What a receipt handle names. */
struct reference_handle {
    int uid, queue, serial, handle;
    int64_t order;
};

struct reference_attempt {
    bool is_known;
    int64_t received_at_ms;
    struct reference_handle handles[QN_RECEIVE_MAX];
    size_t count;
};

enum reference_status {
    REFERENCE_RUNNING,
    REFERENCE_CANCELLING,
    REFERENCE_CANCELLED,
    REFERENCE_COMPLETED,
    REFERENCE_FAILED_SOURCE,
    REFERENCE_FAILED_QUEUE,
};

struct reference_task {
    int id;
    enum reference_status status;
    int target; /* -1: where each message came from */
    int per_second;
    int moved, to_move;
    int64_t started_at_ms;
};

struct reference_queue {
    bool exists, is_fifo, is_content_based, has_group_scope;
    int serial; /* another one each time the queue is created */
    int64_t visibility_s, delay_s, retention_s;
    int max_receive_count; /* 0: no dead-letter queue */
    int target;
    int64_t next_order, next_stamp;
    int64_t stamps[REFERENCE_GROUPS];
    int64_t accepted_at_ms[REFERENCE_KEYS]; /* deduplication, -1: never */
    char accepted_id[REFERENCE_KEYS][REFERENCE_ID];
    struct reference_attempt attempts[REFERENCE_IDS];
    struct reference_task tasks[REFERENCE_TASKS]; /* newest first */
    int task_count;
};

struct reference_receive {
    int queue, max;
    int64_t visibility_s; /* -1: the queue's */
    int attempt;          /* -1: none */
    bool may_wait;        /* a long poll: no error at the quota */
};

struct reference_got {
    enum qn_error_code code;
    size_t count;
    struct reference_handle handles[QN_RECEIVE_MAX];
};

struct reference_waiter {
    int id;
    int serial;
    struct reference_receive receive;
    int64_t deadline_ms;
};

/* What a waiter got, and when. */
struct reference_served {
    int id;
    int64_t at_ms;
    struct reference_got got;
    struct reference_message messages[QN_RECEIVE_MAX]; /* as they were then */
};

struct reference {
    enum reference_fault fault;
    int64_t now_ms;
    int64_t in_flight_max;
    int last_serial, last_uid;
    int dead_letters; /* so many ever */
    struct reference_queue queues[REFERENCE_QUEUES];
    struct reference_message messages[REFERENCE_MESSAGES];
    int message_count;
    struct reference_waiter waiters[REFERENCE_WAITERS]; /* as they came */
    int waiter_count;
    struct reference_served served[REFERENCE_WAITERS]; /* since the caller set the count to 0 */
    int served_count;
};

struct reference_send {
    int queue;
    int64_t delay_s;   /* -1: the queue's */
    int group;         /* -1: none */
    int deduplication; /* -1: none given */
    int content;       /* which of few bodies, -1: a body of its own */
};

/* The message a send has stored, or the id of the one whose duplicate it is. */
struct reference_sent {
    enum qn_error_code code;
    struct reference_message *message;
    char *accepted_id; /* to be filled in, or what it is; NULL on standard queues */
    bool is_duplicate;
};

/* ---- reference.c: queues and messages ---- */

void reference_init(struct reference *reference, int64_t now_ms, int64_t in_flight_max);
/* With the defaults of SQS. */
void reference_create_queue(struct reference *reference, int queue, bool is_fifo);
void reference_delete_queue(struct reference *reference, int queue);
void reference_purge(struct reference *reference, int queue);
/* Expiries, ends of delays and of visibility that are due by now. */
void reference_settle_messages(struct reference *reference);
struct reference_sent reference_send(struct reference *reference, const struct reference_send *send,
                                     const char *body);
enum qn_error_code reference_delete(struct reference *reference, int queue,
                                    const struct reference_handle *handle);
enum qn_error_code reference_change(struct reference *reference, int queue,
                                    const struct reference_handle *handle, int64_t visibility_s);
/* Visible, in flight, delayed. */
void reference_counts(const struct reference *reference, int queue, int64_t ret_counts[3]);
/* The stored message of the queue that comes next behind `order`, of one group or of all (-1);
 * NULL for none. */
struct reference_message *reference_next(struct reference *reference, int queue, int group,
                                         int64_t order);
/* What the handle names; NULL when it is gone. */
struct reference_message *reference_find(struct reference *reference,
                                         const struct reference_handle *handle);
struct reference_message *reference_by_uid(struct reference *reference, int uid);
/* At the end of a queue, as a send, or as a dead letter. */
void reference_store(struct reference *reference, struct reference_message *message, int queue,
                     int64_t delay_s);
void reference_dead_letter(struct reference *reference, struct reference_message *message);

/* ---- reference_receive.c ---- */

/* `chosen`, on a queue with tenants, are the messages that the other side took: which of those that
 * wait is not foreseen, only what may be taken. NULL elsewhere. */
struct reference_got reference_receive(struct reference *reference,
                                       const struct reference_receive *receive,
                                       const int *chosen_uids, size_t chosen_count);
/* Waits when there is nothing. */
void reference_wait(struct reference *reference, int id, const struct reference_receive *receive,
                    int64_t wait_s);
void reference_stop_waiting(struct reference *reference, int id);
/* Gives to those that wait what there is. */
void reference_serve(struct reference *reference);

/* ---- reference_move.c: move tasks, and time ---- */

enum qn_error_code reference_start_task(struct reference *reference, int id, int source, int target,
                                        int per_second);
enum qn_error_code reference_cancel_task(struct reference *reference, int id, int *ret_moved);
bool reference_has_active_task(const struct reference *reference);
/* All that is due now. */
void reference_settle(struct reference *reference);
/* To an instant, stopping wherever something is due, or in one leap. */
void reference_advance(struct reference *reference, int64_t to_ms, bool in_one_leap);

#endif
