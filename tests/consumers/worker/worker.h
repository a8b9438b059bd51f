/* The consumer that the suite is tested with: what its files share.
 *
 * One thread receives, N threads work, one extends leases, one deletes in batches if asked to, and
 * the first one waits for SIGTERM. `struct worker` is theirs together, under its lock; a `hand` is
 * what one thread needs for itself. What the worker decides is written as functions of
 * `struct rules`: without a bug they are the right ones, and a bug puts a wrong one in their place.
 */
#ifndef WORKER_H
#define WORKER_H

#include <pthread.h>
#include <stdio.h>

#include "client/quern.h"
#include "server/base/buf.h"
#include "server/base/random.h"

enum { BATCH_MAX = 10, LEASE_MARGIN_MS = 300, FIRST_PAUSE_MS = 500, LAST_PAUSE_MS = 4000 };

/* How the work of one message ended. */
enum outcome {
    OUTCOME_DONE,
    OUTCOME_REPLAYED, /* it had been done before */
    OUTCOME_RETRY,
    OUTCOME_UNKNOWN, /* nobody answered: it may have been done */
    OUTCOME_REFUSED, /* can never succeed */
    OUTCOME_INVALID, /* not a message that we know */
};

enum stage { STAGE_WAITING, STAGE_RUNNING, STAGE_DELETING };

/* A message that is ours for a while. */
struct job {
    struct job *next;
    json_t *message;
    const char *id;
    const char *group; /* NULL on a standard queue */
    char *handle;      /* the newest */
    int64_t receive_count;
    int64_t answer; /* number of the answer that it came with */
    enum stage stage;
    int64_t lease_end_ms; /* of the monotonic clock */
    int64_t next_beat_ms;
    int64_t next_delete_ms;
    int delete_attempts;
    bool beats;
    bool is_beating;  /* an extension is under way */
    bool is_lost;     /* the queue says that the lease is over */
    bool is_given_up; /* handed back at the end of the process, though its work goes on */
    bool is_aside;    /* a bug has put it aside: it holds up nobody */
    char *note;       /* what a bug remembers with it, or NULL; freed with it */
};

struct settings {
    const char *queue_url;
    const char *dlq_url;
    const char *sink_url;
    const char *output_url; /* NULL: publishes nothing */
    const char *retry_url;  /* NULL: a failed message comes back by its lease */
    const char *step;       /* a keyed step before the effect, or NULL */
    int64_t workers;
    int64_t max_messages;
    int64_t prefetch; /* messages that wait for a worker; below 0: max_messages - 1 */
    int64_t wait_s;
    int64_t receive_visibility_s; /* below 0: that of the queue */
    int64_t grace_ms;
    int64_t exit_code;
    bool leaves_poison;      /* to the dead-letter queue; else it is quarantined */
    bool deletes_in_batches; /* else one by one */
    int64_t linger_ms;       /* how long a batch of deletions waits for more */
    bool waits_for_poll;     /* at SIGTERM; else it is ended */
    bool keeps_state;        /* of entities, by version */
    bool is_at_most_once;
    bool no_heartbeat;
    int64_t work_ms; /* the longest that the sink may take; below 0: some leases */
    int64_t call_ms; /* the longest that a call may take; below 0: some seconds */
};

struct worker;
struct hand;

struct rules {
    /* Receiving. room is asked under the lock: how many messages may be asked for now. */
    bool (*may_poll)(const struct worker *w); /* under the lock: before each receive */
    int64_t (*room)(struct worker *w);
    void (*admit)(struct worker *w, json_t *messages);
    void (*on_empty)(struct worker *w);
    /* A receive failed for the nth time in a row (from 1). False: receive no more. */
    bool (*on_receive_error)(struct worker *w, const struct quern_error *err, int nth);
    /* Any other call failed. */
    void (*on_call_error)(struct worker *w, const struct quern_error *err);

    /* Working. pick is asked under the lock: what to begin now, or NULL; is_live: whether it may
     * still be begun. */
    void (*on_start)(struct worker *w, struct hand *hand);
    struct job *(*pick)(struct worker *w);
    bool (*is_live)(const struct job *job);
    enum outcome (*work)(struct hand *hand, struct job *job);
    bool (*is_valid)(const struct hand *hand, const json_t *body);
    const char *(*text)(struct hand *hand, const struct job *job, size_t *ret_len);
    enum outcome (*effect)(struct hand *hand, struct job *job, const json_t *body);
    /* The idempotency key, or "" for none. */
    void (*key)(struct hand *hand, struct job *job, const json_t *body, struct qn_buf *key);
    bool (*keep_state)(struct hand *hand, const json_t *body);
    bool (*publish)(struct hand *hand, const json_t *body);

    /* Settling: what follows from an outcome. */
    void (*settle)(struct hand *hand, struct job *job, enum outcome outcome);
    void (*acknowledge)(struct hand *hand, struct job *job);
    void (*failed)(struct hand *hand, struct job *job);
    void (*resend)(struct hand *hand, struct job *job); /* when there is a retry queue */
    void (*reject)(struct hand *hand, struct job *job, const char *reason);
    void (*delete_batch)(struct worker *w, struct hand *hand);

    /* Leases. may_beat is asked under the lock. */
    bool (*may_beat)(const struct worker *w, const struct job *job);
    int64_t (*beat_every_ms)(const struct worker *w);
    void (*on_beat_error)(struct worker *w, struct job *job, const struct quern_error *err);
    /* An answer brought a message that is in hand already (under the lock). */
    void (*again)(struct worker *w, struct job *job, json_t *message);
    void (*over)(struct worker *w, struct job *job); /* under the lock: it leaves the hand */

    /* The end. */
    void (*on_term)(struct worker *w);
    void (*drain)(struct worker *w);
};

struct worker {
    struct settings settings;
    struct rules rules;
    int64_t visibility_ms; /* of the queue */
    bool is_fifo;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job *jobs; /* in the order of their arrival */
    int64_t answers;
    bool is_stopping;
    bool is_polling;     /* the receiver has not ended */
    bool is_over;        /* the threads that serve the workers may end */
    int64_t deadline_ms; /* when stopping: by then it must have ended */
    struct quern_client *poller;
    struct qn_random random; /* under the lock */
    json_t *memory;          /* what a bug remembers, under the lock; or NULL */
};

/* What one thread has for itself. */
struct hand {
    struct worker *worker;
    struct quern_client *sqs;
    struct world *world;
    pthread_t thread;
};

/* start.c */
bool hand_open(struct worker *w, struct hand *hand, int64_t timeout_ms);
void hand_close(struct hand *hand);
int worker_run(struct worker *w);
int64_t worker_pause_ms(struct worker *w, int nth); /* grows with n, with jitter */
/* Waits, at most until the worker stops. */
void worker_sleep(struct worker *w, int64_t ms);
void worker_nap(int64_t ms);
void worker_log(const char *format, ...) QN_PRINTF(1, 2);
bool worker_is_stopping(struct worker *w);
bool worker_is_polling(struct worker *w);

/* settings.c: environment and command line; false when the program is to end with ret_code. */
bool settings_read(int argc, char **argv, struct worker *w, int *ret_code);

/* jobs.c: all under the lock, but job_free. */
struct job *jobs_add(struct worker *w, json_t *message);
struct job *jobs_find(const struct worker *w, const char *id);
int64_t jobs_count(const struct worker *w, enum stage stage);
int64_t jobs_held(const struct worker *w);
bool jobs_may_begin(const struct worker *w, const struct job *job);
void jobs_remove(struct worker *w, struct job *job);
/* No extension after this; waits for one that is under way. */
void jobs_stop_beat(struct worker *w, struct job *job);
bool job_is_live(const struct job *job);
void job_free(struct job *job);
const char *message_text(const json_t *message, const char *name);
const char *message_attribute(const json_t *message, const char *name);

/* The rules of a worker without a bug, by file. receive.c */
void *receive_loop(void *worker);
bool receive_may_poll(const struct worker *w);
int64_t receive_room(struct worker *w);
void receive_admit(struct worker *w, json_t *messages);
void receive_on_empty(struct worker *w);
bool receive_on_error(struct worker *w, const struct quern_error *err, int nth);
void receive_on_call_error(struct worker *w, const struct quern_error *err);

/* work.c */
void work_on_start(struct worker *w, struct hand *hand);
void work_one(struct hand *hand, struct job *job); /* works on it and settles it */
void *work_loop(void *hand);
struct job *work_pick(struct worker *w);
enum outcome work_do(struct hand *hand, struct job *job);
bool work_is_valid(const struct hand *hand, const json_t *body);
const char *work_text(struct hand *hand, const struct job *job, size_t *ret_len);
enum outcome work_effect(struct hand *hand, struct job *job, const json_t *body);
/* Posts the effect with this key ("" for none). */
enum outcome work_post(struct hand *hand, struct job *job, const char *path, const char *key);
void work_key(struct hand *hand, struct job *job, const json_t *body, struct qn_buf *key);
/* The status of the answer, 0 for none; 200 where there is no entity to keep. */
int work_put_state(struct hand *hand, const json_t *body, bool if_newer);
bool work_keep_state(struct hand *hand, const json_t *body);
bool work_publish(struct hand *hand, const json_t *body);
const char *body_key(const json_t *body);  /* "" when it has none */
const char *body_name(const json_t *body); /* the id of the payload, "" */

/* settle.c */
void settle_outcome(struct hand *hand, struct job *job, enum outcome outcome);
void settle_acknowledge(struct hand *hand, struct job *job);
void settle_failed(struct hand *hand, struct job *job);
void settle_reject(struct hand *hand, struct job *job, const char *reason);
void settle_by_retry_queue(struct hand *hand, struct job *job);
bool settle_resend(struct hand *hand, struct job *job);
/* At most once: the deletion comes first, and nothing after the work. */
enum outcome settle_before_work(struct hand *hand, struct job *job);
void settle_nothing(struct hand *hand, struct job *job, enum outcome outcome);
void settle_forget(struct hand *hand, struct job *job); /* it leaves the hand, whatever it is */
/* Writes a quarantine record. */
bool settle_record(struct hand *hand, struct job *job, const char *reason);
bool settle_delete(struct hand *hand,
                   struct job *job); /* one deletion, repeated while it may help */
bool settle_make_visible(struct hand *hand, struct job *job, int64_t in_s);
void settle_release_group(struct hand *hand, const char *group);
bool settle_is_final(const struct quern_error *err); /* the same call would only be refused again */

/* batch.c */
void *batch_loop(void *hand);
void batch_delete(struct worker *w, struct hand *hand);
/* How a call is put together, and read. */
enum { FLUSH_MAX = 100 };
struct flush {
    size_t most; /* entries in a call */
    bool id_is_message_id;
    bool ignores_failed;
    bool never_gives_up;
    bool waits_when_stopping;
};
/* Under the lock, which is free during the call. */
void batch_flush(struct worker *w, struct hand *hand, const struct flush *flush);
void batch_give(struct worker *w, struct job *job);

/* beat.c */
void *beat_loop(void *hand);
bool beat_may(const struct worker *w, const struct job *job);
int64_t beat_every_ms(const struct worker *w);
void beat_on_error(struct worker *w, struct job *job, const struct quern_error *err);
void beat_again(struct worker *w, struct job *job, json_t *message);
void beat_over(struct worker *w, struct job *job);

/* stop.c */
void stop_on_term(struct worker *w);
void stop_drain(struct worker *w);

/* world.c: the effect sink, over libcurl. */
struct world;
struct call {
    const char *method;
    const char *path;
    const char *body;
    size_t body_len;
    const char *key; /* NULL or "": none */
    const char *message_id;
    int64_t receive_count;    /* 0: not told */
    int64_t if_version_lower; /* below 0: not asked */
    int cancel_fd;            /* readable: the answer is not waited for; 0: none */
    int ret_status;           /* 0: nobody answered */
    bool ret_is_replayed;
};
struct world *world_open(const char *url, int64_t timeout_ms);
void world_close(struct world *world);
void world_set_timeout(struct world *world, int64_t timeout_ms); /* 0: for ever */
void world_call(struct world *world, struct call *call);

/* bugs.c: makes the worker the mutant of that name; false when there is none. */
bool bugs_set(struct worker *w, const char *name);
void bugs_list(FILE *file);

#endif
