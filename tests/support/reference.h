/* A second SQS, as slow and plain as can be: every message in one array, every question answered
 * by looking at all of them. Random tests hold the engine against it. */
#ifndef QN_TESTS_REFERENCE_H
#define QN_TESTS_REFERENCE_H

#include "server/base/error.h"
#include "server/base/memory.h"
#include "server/model/limits.h"

enum { REFERENCE_QUEUES = 4, REFERENCE_GROUPS = 4, REFERENCE_IDS = 6, REFERENCE_MESSAGES = 4096 };

enum reference_state { REFERENCE_DELAYED, REFERENCE_VISIBLE, REFERENCE_IN_FLIGHT };

struct reference_message {
    int queue;     /* -1: gone */
    int64_t order; /* in its queue */
    int group;     /* FIFO */
    enum reference_state state;
    int64_t enqueued_at_ms, hidden_until_ms, received_at_ms;
    int receive_count, total_count;
    int handle; /* number of the latest receive in this queue */
    bool was_changed, is_redriven;
    int source; /* dead-letter source, -1 for none */
    char id[37];
};

/* What a receipt handle names. */
struct reference_handle {
    int message, queue, serial, handle;
    int64_t order;
};

struct reference_attempt {
    bool is_known;
    int64_t received_at_ms;
    struct reference_handle handles[QN_RECEIVE_MAX];
    size_t count;
};

struct reference_queue {
    bool is_fifo;
    int serial; /* another one each time the queue is created */
    int64_t visibility_s, delay_s, retention_s;
    int max_receive_count; /* 0: no dead-letter queue */
    int target;
    int64_t next_order, next_stamp;
    int64_t stamps[REFERENCE_GROUPS];
    int64_t accepted_at_ms[REFERENCE_IDS]; /* deduplication, -1: never */
    char accepted_id[REFERENCE_IDS][37];
    struct reference_attempt attempts[REFERENCE_IDS];
};

struct reference {
    int64_t now_ms;
    int64_t in_flight_max;
    int next_serial;
    struct reference_queue queues[REFERENCE_QUEUES];
    struct reference_message messages[REFERENCE_MESSAGES];
    int message_count;
};

struct reference_receive {
    int queue, max;
    int64_t visibility_s; /* -1: the queue's */
    int attempt;          /* -1: none */
};

void reference_init(struct reference *reference, int64_t now_ms, int64_t in_flight_max);
void reference_create_queue(struct reference *reference, int queue, bool is_fifo);
/* What is due by now. Before each of the calls below. */
void reference_settle(struct reference *reference);

/* The id under which the message is known when it is a duplicate, else NULL and the message is
 * stored; fill in its id. */
const char *reference_send(struct reference *reference, int queue, int64_t delay_s, int group,
                           int deduplication);
/* Handles of what is received; an error or NONE. */
enum qn_error_code reference_receive(struct reference *reference,
                                     const struct reference_receive *receive,
                                     struct reference_handle ret_handles[QN_RECEIVE_MAX],
                                     size_t *ret_count);
enum qn_error_code reference_delete(struct reference *reference, int queue,
                                    const struct reference_handle *handle);
enum qn_error_code reference_change(struct reference *reference, int queue,
                                    const struct reference_handle *handle, int64_t visibility_s);
void reference_purge(struct reference *reference, int queue);
/* All that is visible goes to the target, or where it came from (-1), until one has no source. */
void reference_move_all(struct reference *reference, int queue, int target);
void reference_counts(const struct reference *reference, int queue, int64_t ret_counts[3]);

#endif
