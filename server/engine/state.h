/* The engine's own structures; nobody outside server/engine sees them. */
#ifndef QN_ENGINE_STATE_H
#define QN_ENGINE_STATE_H

#include "server/base/digest.h"
#include "server/engine/stored.h"

struct deduplication {
    struct qn_map_node node;
    struct deduplication *newer;
    int64_t accepted_at_ms;
    uint64_t counter;
    uint64_t sequence;
    uint8_t message_id[16];
    struct qn_str key;
};

/* Where the message lay when a handle was made; the handle says so. */
struct handle_origin {
    uint32_t slot;
    uint32_t boot;
};

struct attempt_message {
    uint64_t sequence;
    uint32_t slot;
    uint32_t receive_number;
    struct handle_origin origin; /* a replay gives the same handle, also after a restart */
};

struct attempt {
    struct qn_map_node node;
    struct attempt *newer, *older;
    int64_t received_at_ms;
    uint64_t counter;
    struct qn_str id;
    struct attempt_message messages[QN_RECEIVE_MAX];
    size_t count;
};

/* A message that had a handle when the store was loaded. */
struct loaded {
    uint64_t sequence;
    uint32_t slot;
};

struct move_task {
    struct move_task *older; /* list of all, newest first */
    uint8_t id[16];
    uint64_t number; /* in the order of starts */
    enum qn_task_status status;
    struct qn_str source_arn, destination_arn;
    struct qn_queue *source; /* NULL once it is gone or the task has ended */
    uint32_t source_number;  /* tasks are forgotten with their queue */
    int64_t per_second, moved, to_move, started_at_ms, next_at_ms;
    uint32_t cursor, redriven_cursor; /* where the walk over the source's two lists stands */
    struct qn_str failure;            /* static text, none unless FAILED */
    uint32_t index;                   /* in engine.active_tasks, SLOT_NONE when ended */
    uint32_t position;
};

struct qn_queue {
    struct qn_map_node node;
    struct qn_str account, region, name, arn;
    uint32_t number;
    uint32_t generation;
    uint32_t index; /* in engine.queues */
    uint32_t event_position;
    bool is_fifo;
    bool has_news; /* a waiter might be served */
    bool goes_on;  /* the last receive stopped on its way to what it may hand out */
    struct qn_queue *next_with_news;
    struct qn_queue_settings settings;
    struct messages *messages;
    struct qn_queue_counts counts;
    uint64_t next_sequence, reserved_sequence;
    int64_t next_stamp;
    struct qn_waiter *first_waiter, *last_waiter;
    size_t waiter_count;
    struct qn_waiter *next_waiter; /* what came is not for those before it; NULL: the first */
    uint64_t next_deduplication, next_attempt;
    struct loaded *loaded;
    size_t loaded_count;
    struct move_task *task; /* active, with this queue as its source */
    int64_t sent, received, deleted, empty_receives, deduplicated, sent_bytes;
    uint32_t groups_in_flight;
};

/* A name that was in use within the last minute. */
struct deleted_name {
    struct qn_map_node node;
    struct deleted_name *newer;
    struct qn_str key;
    int64_t deleted_at_ms;
    bool is_superseded; /* the name was deleted again meanwhile */
};

/* A deleted message that a fault may bring back. */
struct deleted_message {
    struct qn_queue *queue;
    uint32_t generation;
    char *content;
    uint32_t content_size;
    uint8_t id[16];
    int64_t enqueued_at_ms, first_received_at_ms;
    uint32_t receive_count, total_count;
    uint32_t source;
};

enum { DELETED_KEPT = 1024 };

/* A content that leaves memory once its entry is written. */
struct eviction {
    int64_t content_id;
    uint64_t lsn;
    uint32_t slot;
};

/* numbers.c; pages are NULL where no queue has such a number. */
struct number_page;
struct number_table {
    struct number_page **pages;
    uint32_t page_count;
};

struct qn_engine {
    struct qn_engine_options options;
    struct qn_seal seal;
    struct slab slab;
    struct qn_map queues_by_name;
    struct qn_queue **queues; /* in use: [0, queue_count), in no particular order */
    uint32_t queue_count, queue_cap;
    struct qn_queue **sorted; /* by account, region, name */
    struct number_table by_number;
    uint32_t next_queue_number, reserved_queue_number;
    struct qn_heap events;    /* queues by their next event; item: queue index */
    struct qn_heap deadlines; /* of parked polls; item: index in waiters */
    struct qn_waiter **waiters;
    uint32_t *free_waiters;
    uint32_t *waiter_positions; /* in deadlines */
    uint64_t park_count;
    size_t parked;
    uint32_t waiter_count, waiter_cap, free_waiter_count;
    struct qn_queue *first_with_news, *last_with_news;
    struct qn_waiter *first_over, *last_over; /* waiters that run a last time */
    struct move_task *newest_task;
    uint64_t last_task_number;
    struct move_task **active_tasks;
    uint32_t active_count, active_cap;
    struct qn_heap task_times;
    struct messages *dead; /* left behind by purges and deleted queues */
    struct qn_map names;
    struct deleted_name *oldest_name, *newest_name;
    struct qn_str *arns; /* interned dead-letter sources, from 1 */
    uint32_t arn_count, arn_cap;
    size_t content_bytes;
    size_t fixed_bytes;
    struct eviction *evictions; /* ring */
    size_t eviction_first, eviction_count, eviction_cap, eviction_unstamped;
    struct deleted_message *deleted;
    size_t deleted_next;
    uint64_t looked_at;
};

static inline struct message *message_at(const struct qn_engine *engine, uint32_t slot)
{
    return &engine->slab.chunks[slot / SLAB_CHUNK][slot % SLAB_CHUNK];
}

/* slab.c: slots and contents */
uint32_t qn_slab_take(struct qn_engine *engine);
void qn_slab_give(struct qn_engine *engine, uint32_t slot); /* frees the content too */
void qn_content_forget(struct qn_engine *engine, struct message *message);
/* In place of what the message held; the texts of content may be views into that. */
void qn_content_set(struct qn_engine *engine, struct message *message,
                    const struct qn_content *content);
bool qn_content_get(struct qn_tx *tx, const struct message *message, struct qn_str *ret_content,
                    struct qn_error *err);
void qn_eviction_add(struct qn_engine *engine, uint32_t slot);
uint32_t qn_source_intern(struct qn_engine *engine, struct qn_str arn);

/* messages.c: the lists and heaps of one queue */
struct messages *qn_messages_new(struct qn_engine *engine, bool is_fifo);
void qn_messages_free_slice(struct qn_engine *engine, int *budget);
void qn_messages_free_now(struct qn_engine *engine, struct messages *messages);
void qn_arrival_add(struct qn_engine *engine, struct qn_queue *queue, uint32_t slot);
void qn_arrival_remove(struct qn_engine *engine, struct qn_queue *queue, uint32_t slot);
/* A message that is stored takes part in receiving according to its state, and stops doing so. */
void qn_message_enter(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot, bool is_new);
void qn_message_leave(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot);
/* Leaves the queue for good: lists, counts, group; the slot stays taken. */
void qn_message_remove(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot);
void qn_message_set_state(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot,
                          enum message_state state, int64_t hidden_until_ms);

/* Places in messages.named. */
uint32_t qn_named_add(struct messages *messages, void *named);
void qn_named_remove(struct messages *messages, uint32_t index);
static inline struct group *group_at(const struct messages *messages, uint32_t index)
{
    return messages->named[index];
}
static inline struct tenant *tenant_at(const struct messages *messages, uint32_t index)
{
    return messages->named[index];
}

/* send.c */
/* Puts a filled-in message into the queue's lists; group_id none on a standard queue without
 * tenant. */
void qn_message_place(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot,
                      struct qn_str group_id, bool is_new);
/* How a message that is sent or moved to the queue with this delay begins. */
enum message_state qn_message_first_state(const struct qn_queue *queue, int64_t delay_s);

/* ready.c */
void qn_ready_init(struct ready *ready, struct qn_engine *engine);
void qn_ready_done(struct ready *ready);
void qn_ready_add_new(struct qn_engine *engine, struct ready *ready, uint32_t slot);
void qn_ready_add_returned(struct qn_engine *engine, struct ready *ready, uint32_t slot);
void qn_ready_remove(struct qn_engine *engine, struct ready *ready, uint32_t slot);
/* Where a message of a standard queue waits to be received. */
struct ready *qn_ready_of(struct qn_queue *queue, uint32_t slot, const struct qn_engine *engine);
/* The oldest, SLOT_NONE when empty. */
uint32_t qn_ready_oldest(const struct qn_engine *engine, const struct ready *ready);

/* fifo.c */
struct group *qn_group_of(struct qn_engine *engine, struct qn_queue *queue, struct qn_str name);
void qn_group_add(struct qn_engine *engine, struct qn_queue *queue, uint32_t slot);
void qn_group_remove(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot);
/* Moves a message of the group before all others. */
void qn_group_put_first(struct qn_engine *engine, struct qn_queue *queue, uint32_t slot);
/* Puts the group into or takes it out of the heap of open ones, as its first message says. */
void qn_group_settle(struct qn_engine *engine, struct qn_queue *queue, struct group *group);

/* fair.c */
struct tenant *qn_tenant_of(struct qn_engine *engine, struct qn_queue *queue, struct qn_str name);
void qn_tenant_settle(struct qn_engine *engine, struct qn_queue *queue, struct tenant *tenant);
void qn_tenant_drop_if_idle(struct qn_engine *engine, struct qn_queue *queue, struct tenant *tenant,
                            int64_t now_ms);
void qn_fair_note_busy(struct qn_queue *queue, struct tenant *tenant, int64_t from_ms,
                       int64_t to_ms);
/* By what it has in flight and has used of late; tenant.is_noisy says what the last receive saw. */
bool qn_fair_is_noisy(const struct qn_queue *queue, const struct tenant *tenant, int64_t now_ms);
void qn_fair_refresh(struct qn_engine *engine, struct qn_queue *queue, int64_t now_ms);
/* The message that a standard queue hands out next, SLOT_NONE for none. */
uint32_t qn_fair_next(struct qn_engine *engine, struct qn_queue *queue, int64_t now_ms);

/* lease.c */
/* The slot of a message that had a handle when the store was loaded, SLOT_NONE if there was none.
 */
uint32_t qn_loaded_slot(const struct qn_queue *queue, uint64_t sequence);
struct qn_str qn_handle_make(struct qn_tx *tx, const struct qn_queue *queue,
                             const struct message *message, struct handle_origin origin);

/* copy.c */
/* The same message a second time: id, content and counts; in its state, and before all that may be
 * received later than the original. SLOT_NONE: no memory, or the content cannot be read now. */
uint32_t qn_copy_make(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot,
                      enum message_state state, int64_t hidden_until_ms);
/* The first reserved message from place *at on that tx's caller may have, and its place. SLOT_NONE:
 * there is none. */
uint32_t qn_reserved_next(const struct qn_tx *tx, const struct qn_queue *queue, uint32_t *at);
/* The message is not reserved any more. */
void qn_reserved_drop(struct messages *messages, struct message *message, uint32_t slot);
void qn_reserved_done(struct messages *messages);

/* fault.c */
/* The slot of a message in flight, SLOT_NONE if the lease is over. */
uint32_t qn_leased_slot(struct qn_tx *tx, struct qn_queue *queue, const struct qn_leased *leased);

/* receive.c */
bool qn_message_is_expired(const struct qn_queue *queue, const struct message *message,
                           int64_t now_ms);

/* redrive.c */
/* How many dead-lettered or expired messages one receive walks past at most. */
enum { WALK_MAX = 1000 };
/* Where the message must go instead of being received again, or NULL. */
struct qn_queue *qn_redrive_target(struct qn_engine *engine, const struct qn_queue *queue,
                                   const struct message *message);
void qn_redrive_move(struct qn_tx *tx, struct qn_queue *queue, struct qn_queue *target,
                     uint32_t slot);

/* expiry.c */
void qn_message_expire(struct qn_tx *tx, struct qn_queue *queue, uint32_t slot);

/* dedup.c */
bool qn_deduplication_find(struct qn_tx *tx, struct qn_queue *queue, struct qn_str key,
                           struct qn_sent *ret_sent);
void qn_deduplication_add(struct qn_tx *tx, struct qn_queue *queue, struct qn_str key,
                          const struct qn_sent *sent);
void qn_deduplication_trim(struct qn_tx *tx, struct qn_queue *queue, int64_t now_ms, int *budget);
void qn_deduplication_init(struct messages *messages);
/* Frees some of what was left behind; true when nothing is left. */
bool qn_deduplication_free_some(struct messages *messages, int *budget);
void qn_deduplication_restore(struct qn_queue *queue, const struct qn_deduplication_row *row);

/* attempt.c */
enum attempt_answer { ATTEMPT_NEW, ATTEMPT_REPLAY, ATTEMPT_SPOILT };
enum attempt_answer qn_attempt_find(struct qn_tx *tx, struct qn_queue *queue, struct qn_str id,
                                    const struct attempt **ret_attempt);
void qn_attempt_add(struct qn_tx *tx, struct qn_queue *queue, struct qn_str id,
                    const uint32_t *slots, size_t count);
void qn_attempt_trim(struct qn_tx *tx, struct qn_queue *queue, int64_t now_ms, int *budget);
void qn_attempt_init(struct messages *messages);
bool qn_attempt_free_some(struct messages *messages, int *budget);
void qn_attempt_restore(struct qn_queue *queue, const struct qn_attempt_row *row);

/* move_task.c, move_step.c */
enum task_failure { FAILURE_SOURCE, FAILURE_QUEUE, FAILURE_TIME };
struct qn_str qn_task_failure(enum task_failure failure);
void qn_task_emit(struct qn_tx *tx, const struct move_task *task);
void qn_task_end(struct qn_tx *tx, struct move_task *task, enum qn_task_status status,
                 struct qn_str failure);
void qn_task_step(struct qn_tx *tx, struct move_task *task, int *budget);
void qn_tasks_init(struct qn_engine *engine);
void qn_task_queue_gone(struct qn_tx *tx, struct qn_queue *queue);
/* A message is about to leave the lists of an active task's source. */
void qn_task_skip(struct qn_engine *engine, struct qn_queue *queue, uint32_t slot);
/* A message of the source has become visible: one in front of the walk is the next to go. */
void qn_task_meet(struct qn_engine *engine, struct qn_queue *queue, uint32_t slot);
void qn_task_restart_walk(struct qn_queue *queue);
void qn_task_free(struct move_task *task);
void qn_task_restore(struct qn_engine *engine, const struct qn_task_row *row);

/* names.c */
void qn_names_init(struct qn_engine *engine);
void qn_names_done(struct qn_engine *engine);
void qn_names_trim(struct qn_tx *tx, int *budget);
void qn_name_deleted(struct qn_tx *tx, struct qn_str account, struct qn_str region,
                     struct qn_str name);
uint32_t qn_queue_number_draw(struct qn_tx *tx);
void qn_name_restore(struct qn_engine *engine, const struct qn_name_row *row);

/* queue.c */
void qn_queues_init(struct qn_engine *engine);
struct qn_queue *qn_queue_restore(struct qn_engine *engine, const struct qn_queue_row *row);
void qn_queue_emit(struct qn_tx *tx, const struct qn_queue *queue);
uint64_t qn_queue_draw_sequence(struct qn_tx *tx, struct qn_queue *queue);
/* Frees a queue that has left every table. */
void qn_queue_free(struct qn_engine *engine, struct qn_queue *queue);

/* numbers.c */
void qn_numbers_put(struct qn_engine *engine, struct qn_queue *queue);
void qn_numbers_drop(struct qn_engine *engine, const struct qn_queue *queue);
/* NULL: there is none, or no longer. */
struct qn_queue *qn_queue_by_number(const struct qn_engine *engine, uint32_t number);
void qn_numbers_done(struct qn_engine *engine);

/* timers.c */
/* The queue's earliest instant has perhaps changed. */
void qn_queue_touch(struct qn_engine *engine, struct qn_queue *queue);

/* waiters.c */
void qn_waiters_init(struct qn_engine *engine);
/* Something became available: the queue's waiters may be served. */
void qn_waiters_wake(struct qn_engine *engine, struct qn_queue *queue);
void qn_waiters_queue_gone(struct qn_engine *engine, struct qn_queue *queue);
void qn_waiter_deadline(struct qn_engine *engine);

/* emit.c: rows and events */
/* An entry has a largest size (journal.h): what goes on in the background stops well before it. */
bool qn_entry_is_full(const struct qn_tx *tx);
void qn_emit_message(struct qn_tx *tx, enum qn_row_kind kind, const struct message *message,
                     int64_t old_key, struct qn_str content);
void qn_emit_delete(struct qn_tx *tx, const struct message *message);
/* An event about one message, with ids filled in; the caller adds the rest and passes it to
 * emit_event. */
void qn_event_of(struct qn_tx *tx, struct qn_event *event, enum qn_event_kind kind,
                 const struct qn_queue *queue, const struct message *message, char id_text[37],
                 char sequence_text[21]);
void qn_emit_event(struct qn_tx *tx, const struct qn_event *event);
/* The business key of a JSON body (idempotencyKey), when the content is in memory. */
void qn_event_add_key(struct qn_tx *tx, struct qn_event *event, const struct message *message);
void qn_fill_fact(struct qn_tx *tx, const struct qn_queue *queue, const struct message *message,
                  struct qn_fact_message *ret_fact);

static inline int64_t message_key(const struct message *message)
{
    return QN_MESSAGE_KEY(message->queue_number, message->sequence);
}

#endif
