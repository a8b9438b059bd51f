/* What the threads of a consumer share. */
#ifndef QUERN_CONSUMER_INTERNAL_H
#define QUERN_CONSUMER_INTERNAL_H

#include <pthread.h>

#include "client/consumer/hand.h"
#include "client/quern_consumer.h"
#include "server/base/random.h"

enum { QUERN_RECEIVERS_MAX = 16 };

/* A thread that makes calls. */
struct quern_caller {
    struct quern_consumer *consumer;
    struct quern_client *client;
    pthread_t thread;
    int64_t number;
    bool is_started;
};

struct quern_consumer {
    struct quern_consumer_options options; /* without zeros */
    bool is_fifo;
    int stop_fd; /* readable once it is to stop */

    pthread_mutex_t lock;  /* of all below */
    pthread_cond_t work;   /* a worker may find something to begin */
    pthread_cond_t room;   /* a receiver may find room */
    pthread_cond_t acks;   /* something was settled */
    pthread_cond_t leases; /* the one that extends is to look again */
    pthread_cond_t idle;   /* something ended: for the one that drains */
    struct quern_hand hand;
    enum quern_state state;
    struct qn_random random;
    int64_t receive_failures; /* in a row */
    int64_t receive_after_ms; /* not before this instant */
    bool last_was_full;       /* the last answer: one more receive beside is worth while */
    int64_t receiving;        /* receivers that have not ended */
    bool is_over;             /* all threads are to end */
    bool is_queue_gone;       /* and that ends this consumer */
    struct quern_error gone;  /* what was answered then */
    bool has_started;
    bool is_ready_told;
    int64_t turned_at_ms; /* when something last began or was answered */
    json_t *noted;        /* lines for when the lock is free; NULL: none */

    pthread_mutex_t log_lock;
    struct quern_caller receivers[QUERN_RECEIVERS_MAX];
    struct quern_caller ackers[QUERN_RECEIVERS_MAX];
    struct quern_caller beater;
    struct quern_caller *workers; /* without a client */
};

int64_t quern_consumer_now_ms(const struct quern_consumer *consumer);
/* Under the lock. Below 0: until it is signalled. */
void quern_consumer_wait(struct quern_consumer *consumer, pthread_cond_t *condition,
                         int64_t wait_ms);
/* Under the lock: the pause after the nth failure in a row, with jitter. */
int64_t quern_consumer_pause_ms(struct quern_consumer *consumer, int64_t first_ms, int64_t last_ms,
                                int64_t nth);

/* The threads: each gets its caller. */
void *quern_receive_loop(void *caller);
void *quern_work_loop(void *caller);
void *quern_ack_loop(void *caller);
void *quern_beat_loop(void *caller);

/* Makes an error of an entry that failed. */
void quern_entry_error(const struct quern_batch_entry *entry, struct quern_error *err);

/* What the handler, and what stands around it, says of a message; *ret_deletes: whether it is to be
 * deleted. */
struct quern_result quern_work_on(struct quern_consumer *consumer, struct quern_delivery *delivery,
                                  bool *ret_deletes);
/* Under the lock: what follows from it. */
void quern_settle(struct quern_consumer *consumer, struct quern_delivery *delivery,
                  const struct quern_result *result, bool deletes);
/* Under the lock: wakes whoever may have something to do after a change in the hand. */
void quern_consumer_wake(struct quern_consumer *consumer);

/* Whether the answer says that there is no queue, for a consumer that needs one. */
bool quern_consumer_lacks_queue(const struct quern_consumer *consumer,
                                const struct quern_error *err);
/* Learns what must be known before the threads begin, and opens the last caller. */
bool quern_consumer_prepare(struct quern_consumer *consumer, struct quern_error *err);
void quern_consumer_join_workers(struct quern_consumer *consumer);

/* The end, from the word to stop on. */
void quern_drain(struct quern_consumer *consumer);

/* One line of JSON. `fields` is taken and may be NULL. Not under the lock, which counts are read
 * with. */
void quern_tell(struct quern_consumer *consumer, const char *level, const char *event,
                json_t *fields_take);
/* The ids of a message, for a line about it: those of the queue, and of its envelope once that is
 * read. */
json_t *quern_tell_ids(const struct quern_delivery *delivery);
/* What went wrong, after the fields. */
void quern_tell_failure(struct quern_consumer *consumer, const char *event, json_t *fields_take,
                        const struct quern_error *err);
void quern_tell_error(struct quern_consumer *consumer, const char *event,
                      const struct quern_error *err);
/* Under the lock: a line about a message, told by the next quern_tell_noted. err may be NULL. */
void quern_note(struct quern_consumer *consumer, const char *event,
                const struct quern_delivery *delivery, const struct quern_error *err);
/* A lease was lost: a line about it. */
void quern_note_lapse(struct quern_delivery *delivery);
/* Under the lock, which is free meanwhile. Whether there was anything to tell. */
bool quern_tell_noted(struct quern_consumer *consumer);
void quern_tell_metrics(struct quern_consumer *consumer);

#endif
