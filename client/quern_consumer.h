/* quern_consumer: a consumer of one SQS queue that does what a right consumer has to do, so that
 * the program brings only the work itself.
 *
 * What it promises, whatever the handler does:
 * - a message is deleted after its handler has said that it is done, never before;
 * - a lease is extended while its message waits or is worked on, and no longer: extensions end
 *   before the deletion is asked for;
 * - at most `workers` messages are worked on and at most `max_messages - 1` wait for a worker; a
 *   receive is made only when a worker is free and nothing waits that it could begin, and asks for
 *   no more than there is room for; so nobody else's work is held here;
 * - on a FIFO queue the messages of a group are worked on one by one and in their order, groups
 *   beside each other; the first failure in a group ends the group until it is back;
 * - every call that fails is repeated with growing pauses, or left to the lease;
 * - told to stop, it receives no more, finishes what is begun within the grace, gives back the rest
 *   and sends every deletion that is due.
 *
 * What it cannot promise is that a message comes once: SQS does not. The handler must bear being
 * called twice for one message, or the effect goes through an inbox.
 *
 * A message passes these stages, of which only the handler has to be there:
 *
 *   envelope    `kinds`: the body is one of ours              no: permanent
 *   validation  `validate`: what it says makes sense          no: permanent
 *   gate        `inbox`, `identify`: its key is not done yet  done: deleted, and not done again
 *   work        `handler`, and with an inbox `apply`          what they say
 *   decision    delete, give back, or put aside and delete
 *
 * Threads. The runtime starts its own: `workers` of them call the handler, and a few receive,
 * extend and delete. Handlers of several messages run at the same time and share only what the
 * program gives them. Functions of this header that take a consumer may be called from any thread,
 * except quern_consumer_new and _free; those that take a delivery, from the handler or callback
 * that was given it. */
#ifndef QUERN_CONSUMER_H
#define QUERN_CONSUMER_H

#include "quern.h"

#ifdef __cplusplus
extern "C" {
#endif

struct quern_consumer;
struct quern_envelope;      /* quern_envelope.h */
struct quern_envelope_kind; /* quern_envelope.h */
struct quern_inbox;         /* quern_inbox.h */
struct sqlite3;

/* ---- one message in hand ---- */

/* Lives until its message is deleted or given back. Texts belong to it. */
struct quern_delivery;

/* The queue's id of the message: the same each time that it comes, another when it is sent again.
 */
const char *quern_delivery_message_id(const struct quern_delivery *delivery);
/* UTF-8, NUL-terminated; ret_len may be NULL. */
const char *quern_delivery_body(const struct quern_delivery *delivery, size_t *ret_len);
/* The message as it came, with all attributes. Its receipt handle is that of its first arrival,
 * which may not be the newest. */
const struct quern_received *quern_delivery_received(const struct quern_delivery *delivery);
/* What the envelope says; NULL before the envelope was read, and without `kinds`. */
const struct quern_envelope *quern_delivery_envelope(const struct quern_delivery *delivery);
/* MessageGroupId, or NULL. */
const char *quern_delivery_group(const struct quern_delivery *delivery);
/* How often it has been received, this time included; at least 1. It may grow meanwhile. */
int64_t quern_delivery_receive_count(const struct quern_delivery *delivery);
/* The work is to end now, done or not: its lease is lost, it takes longer than `work_max_ms`, or
 * the process ends. What is returned afterwards is heard all the same. */
bool quern_delivery_is_cancelled(const struct quern_delivery *delivery);
/* Becomes readable when the work is to end, for poll(2); -1 when the process has no descriptor
 * left. Belongs to the delivery: never read from it or close it. */
int quern_delivery_cancel_fd(struct quern_delivery *delivery);

/* ---- what a handler says ---- */

enum quern_outcome {
    QUERN_DONE,      /* the effect is durable: the message is deleted */
    QUERN_RETRY,     /* not now: it comes back after a delay */
    QUERN_PERMANENT, /* never: it is put in quarantine and deleted; without a quarantine it comes
                        back until the queue's redrive policy takes it away */
    QUERN_AMBIGUOUS  /* nobody knows: it is deleted once that is on record, and else comes back; the
                        key says what to look for */
};

enum { QUERN_REASON_MAX = 256 };

struct quern_result {
    enum quern_outcome outcome;
    int64_t delay_s;               /* of QUERN_RETRY; below 0: the runtime's own, which grows */
    char reason[QUERN_REASON_MAX]; /* why, or the key; it is logged: nothing of the payload */
    bool is_no_failure; /* of QUERN_RETRY: it waits for somebody else, as for the claim of another
                           worker, and tells nothing of what stands behind the consumer; the circuit
                           does not count it */
};

/* QUERN_DONE: the effect is durable or, said by `apply`, will be when its transaction is committed.
 */
struct quern_result quern_done(void);
/* QUERN_RETRY after delay_s, 0 to 43,200; below 0: the runtime's own pause, which grows. */
struct quern_result quern_retry(int64_t delay_s);
/* Copied, and cut if need be. */
struct quern_result quern_permanent(const char *reason);
struct quern_result quern_ambiguous(const char *key);

/* ---- the life of a consumer ---- */

enum quern_state {
    QUERN_STARTING, /* asks the queue for its visibility timeout, again until it answers */
    QUERN_RUNNING,
    QUERN_DRAINING, /* receives no more */
    QUERN_STOPPED
};
/* "starting", "running", "draining" or "stopped", as in the log. */
const char *quern_state_name(enum quern_state state);

/* Since the start, except in_hand, running, waiting and newest_age_ms. */
struct quern_counters {
    int64_t receives;       /* calls that were answered */
    int64_t empty_receives; /* of them, without a message */
    int64_t receive_failures;
    int64_t received;    /* messages, copies included */
    int64_t redelivered; /* came again while in hand: the newest handle counts */
    int64_t succeeded;
    int64_t duplicates; /* of them, those that the inbox found done before */
    int64_t retried;
    int64_t permanent;
    int64_t ambiguous;
    int64_t quarantined;
    int64_t deleted;
    int64_t delete_failures;
    int64_t released; /* given back before their time */
    int64_t deferred; /* given back unbegun, for their tenant had enough at work */
    int64_t extensions;
    int64_t extension_failures;
    int64_t lapses; /* leases lost while the message was in hand */
    int64_t circuit_opens;
    int64_t in_hand;       /* messages that are ours now */
    int64_t running;       /* of them, at work */
    int64_t waiting;       /* of them, waiting for a worker */
    int64_t newest_age_ms; /* how old the message received last was */
    int64_t damaged; /* messages left for their lease: their MD5 is another than they were told */
};

/* What an inbox knows a message by. */
enum { QUERN_KEY_MAX = 256 };
struct quern_identity {
    char key[QUERN_KEY_MAX]; /* the business key, not the message id: a producer may send twice */
    /* What the key stands for, borrowed from the delivery; the body unless it is set. The same key
     * with another payload is a mistake of the sender, and permanent. */
    const void *payload;
    size_t payload_len;
};

/* Zeroed, with the first four set, it is a right consumer. Texts are borrowed for the life of the
 * consumer; so is what `state` points to, which every function below is given. */
struct quern_consumer_options {
    const char *queue_url;
    struct quern_options client; /* its time limits and attempts are the runtime's affair */
    /* Does the work, in one of the worker threads. With an inbox: the slow part of it, outside of
     * any transaction, and only QUERN_DONE leads on to `apply`; NULL: there is none. */
    struct quern_result (*handler)(void *state, struct quern_delivery *delivery);
    void *state;

    int64_t workers;      /* messages at work at a time, up to 1,024; 0: 4 */
    int64_t max_messages; /* of one receive, 1 to 10; 0: workers, at most 10. With 1 nothing ever
                             waits here: right for long work and several processes. */
    int64_t receivers; /* receives under way at a time at most; 0: what workers need, at most 4 */
    int64_t wait_s;    /* of a long poll, 1 to 20; 0: 20 */
    bool needs_queue;  /* a queue that does not exist ends it with QueueDoesNotExist, in
                          quern_consumer_new or, deleted later, in quern_consumer_run. Else it is
                          asked again until it is there. */

    /* Leases. */
    int64_t visibility_s;          /* asked for with each receive; 0: the queue's own */
    int64_t heartbeat_interval_ms; /* 0: half of the visibility timeout, or 5 s less than it, what
                                      is less; below 0: no extensions */
    bool allows_short_leases; /* the interval may be up to half of the visibility timeout. Else it
                                 must be at least 5 s less, and there is none for 5 s and below. */
    int64_t work_max_ms; /* longest work on a message, then it is cancelled and no longer extended;
                            0: ten times the visibility timeout */

    /* Failures. A retry waits retry_base_s, twice that, and so on by receive count, with jitter. */
    int64_t retry_base_s; /* 0: 1 */
    int64_t retry_max_s;  /* 0: the visibility timeout, which is how long doing nothing waits */

    /* Load. */
    double rate_per_s;        /* messages begun in a second at most; 0: any number */
    int64_t rate_burst;       /* so many at once; 0: workers */
    int64_t circuit_failures; /* so many QUERN_RETRY and QUERN_AMBIGUOUS in a row open the circuit:
                                 nothing is received or begun, what is in hand is extended; 0:
                                 never. QUERN_DONE and QUERN_PERMANENT end the row. */
    int64_t circuit_open_ms;  /* then one message is tried, and closes it or not; 0: 5,000 */
    int64_t tenant_workers; /* workers that one tenant may have; 0: all. What waits beyond is given
                               back for a moment when a worker is free for somebody else. */
    /* Whose a message is, borrowed from it; NULL: nobody's. Without it: MessageGroupId on a
     * standard queue. */
    const char *(*tenant)(void *state, const struct quern_delivery *delivery);

    /* The end. */
    int64_t grace_ms;      /* from the word to stop to the end; 0: 10,000 */
    int64_t delete_lag_ms; /* how long a deletion waits for others to share its call, while there is
                              other work; 0: 20; below 0: not at all */

    /* The envelopes that are ours; NULL: bodies are not read. */
    const struct quern_envelope_kind *kinds;
    size_t kind_count;
    /* Before the handler: whether this is a message of ours. False: it is permanent, for the reason
     * written. */
    bool (*validate)(void *state, const struct quern_delivery *delivery,
                     char reason[QUERN_REASON_MAX]);
    /* The gate: what is done under a key is not done again. NULL: none. Borrowed. */
    struct quern_inbox *inbox;
    /* Writes the effect into the open transaction, in which the note is made that the key is done;
     * it neither commits nor rolls back. Only QUERN_DONE is committed. Must be there with an
     * inbox. */
    struct quern_result (*apply)(void *state, struct quern_delivery *delivery,
                                 struct sqlite3 *transaction);
    /* Finds the key of a message; false: it has none, which is permanent. NULL: idempotencyKey of
     * the envelope, which stands for its payload alone. */
    bool (*identify)(void *state, const struct quern_delivery *delivery,
                     struct quern_identity *ret_identity);
    /* Keeps a message that can never succeed. True: it is safe there, durably, and is deleted. */
    bool (*quarantine)(void *state, const struct quern_delivery *delivery, const char *reason);
    /* Keeps a record that the result under this key is unknown. True: durably, delete. */
    bool (*reconcile)(void *state, const struct quern_delivery *delivery, const char *key);
    /* After the deletion of a message that was done, once for each: for what may be cleaned up. It
     * cannot undo the deletion. */
    void (*on_finished)(void *state, const struct quern_delivery *delivery);
    void (*on_state)(void *state, enum quern_state from, enum quern_state to);
    /* The first receive was answered: once. For who tells others that it is ready. With it that
     * receive waits for 1 s at most, so that an empty queue does not hold up the news. */
    void (*on_ready)(void *state);
    /* Every metrics_interval_ms (0: 10,000), and once at the end. */
    void (*on_metrics)(void *state, const struct quern_counters *counters);
    int64_t metrics_interval_ms;
    /* A line of JSON without a line feed: ids and numbers, never a payload. NULL: stderr. From
     * several threads, never two at a time. The guide lists the events. */
    void (*on_log)(void *state, const char *line);
    bool is_quiet; /* no lines at all */

    /* For tests: the clock of all decisions, in milliseconds that never go back (NULL: the
     * monotonic clock), and the seed of the jitter (0: a fresh one). */
    int64_t (*now_ms)(void *state);
    uint64_t seed;
};

/* Checks the options, and asks the queue for its visibility timeout when none is given; a queue
 * that does not answer is asked again by quern_consumer_run, and the heartbeat checked there.
 * Mistakes have the code "InvalidParameterValue". */
bool quern_consumer_new(const struct quern_consumer_options *options,
                        struct quern_consumer **ret_consumer, struct quern_error *err);
/* Consumes until it is stopped; once. False: it could not begin. */
bool quern_consumer_run(struct quern_consumer *consumer, struct quern_error *err);
/* Makes quern_consumer_run end: at once returns, and may be called from a signal handler. */
void quern_consumer_stop(struct quern_consumer *consumer);
/* Handlers that have not returned although they were cancelled; their messages were given back. A
 * process that wants to be gone just ends. */
int64_t quern_consumer_unfinished(struct quern_consumer *consumer);
/* Waits for handlers that have not returned. Accepts NULL. */
void quern_consumer_free(struct quern_consumer *consumer);

/* Where it is now; on_state tells of each change. */
enum quern_state quern_consumer_state(struct quern_consumer *consumer);
/* Receiving, or able to: false while starting, stopping, or when receives fail. */
bool quern_consumer_is_ready(struct quern_consumer *consumer);
/* Milliseconds since something last happened: a receive or an extension was answered, well or not,
 * or a handler began or ended; before, since quern_consumer_new. For a liveness probe. One that
 * works as it should stays below the longest of these: 10 s more than wait_s, the heartbeat
 * interval, circuit_open_ms and, without extensions, the visibility timeout. One whose handlers all
 * hang goes past it, work_max_ms after they began. Twice that is a good limit. */
int64_t quern_consumer_turn_age_ms(struct quern_consumer *consumer);
/* The counters of one instant, also after the end. */
void quern_consumer_count(struct quern_consumer *consumer, struct quern_counters *ret_counters);

/* ---- how many workers ---- */

/* What bounds the work, each in its own terms; a bound that is 0 is none. */
struct quern_capacity {
    int64_t threads;
    int64_t connections; /* of the database */
    int64_t reserved;    /* of those, for others than the consumer, such as the API */
    double calls_per_s;  /* that the downstream takes */
    double calls_per_message;
    double work_s; /* of one message */
    double cpu_cores;
    double cpu_s_per_message;
    int64_t memory_bytes;
    int64_t memory_bytes_per_message;
    int64_t tenant_limit;
};
/* The most messages at work at a time that no bound forbids, at least 1. */
int64_t quern_capacity_workers(const struct quern_capacity *capacity);

#ifdef __cplusplus
}
#endif

#endif
