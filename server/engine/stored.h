/* The engine's own structures of stored messages, and of what may be received. */
#ifndef QN_ENGINE_STORED_H
#define QN_ENGINE_STORED_H

#include "server/base/heap.h"
#include "server/base/map.h"
#include "server/engine/engine.h"

#define SLOT_NONE UINT32_MAX
#define NEVER_MS INT64_MAX

enum message_state { MESSAGE_FREE, MESSAGE_DELAYED, MESSAGE_VISIBLE, MESSAGE_IN_FLIGHT };

enum message_flag {
    MESSAGE_REDRIVEN =
        1, /* came by dead-lettering: older enqueue time, in the list of redriven ones */
    MESSAGE_CHANGED =
        2, /* its visibility was changed after the latest receive: no replay by attempt id */
    MESSAGE_ID_IS_DEDUPLICATION =
        4, /* FIFO dead-letter queue: the message's id stands for the deduplication id */
    MESSAGE_IN_READY_HEAP = 8, /* came back, so it waits in the heap and not in the list */
    MESSAGE_RANKED = 16,       /* standard: a fault gave it another place than its sequence's */
    MESSAGE_RESERVED = 32      /* delayed for all but some: see struct reserved */
};
/* What of the flags is kept in the store, beside the state. */
#define MESSAGE_STORED_FLAGS (MESSAGE_REDRIVEN | MESSAGE_CHANGED | MESSAGE_ID_IS_DEDUPLICATION)

/* One stored message, in the slab. */
struct message {
    int64_t enqueued_at_ms;
    int64_t hidden_until_ms; /* delayed: due; in flight: deadline */
    int64_t first_received_at_ms;
    int64_t received_at_ms;
    int64_t arrived_at_ms;
    uint64_t sequence;
    int64_t content_id;
    char *content; /* encoded; NULL: read it by content_id */
    union {
        struct group *group;   /* FIFO */
        struct tenant *tenant; /* standard, with a group id; else NULL */
    };
    uint8_t id[16];
    uint32_t content_size;
    uint32_t queue_number;
    uint32_t generation;
    uint32_t receive_count;
    uint32_t total_count;
    uint32_t receive_number;
    uint32_t previous, next; /* arrival order in the queue */
    union {
        struct {
            uint32_t ready_previous, ready_next; /* standard: never received; FIFO: all of the group
                                                  */
        };
        uint64_t rank; /* MESSAGE_RANKED: its place among sequences */
    };
    uint32_t position;     /* in the heap of hidden or of returned messages */
    uint32_t age_position; /* redriven: in the heap of ages */
    uint32_t source;       /* dead-letter source, index of an interned ARN; 0: none */
    uint8_t state;
    uint8_t flags;
};

enum { SLAB_CHUNK = 4096 };

struct slab {
    struct message **chunks;
    uint32_t chunk_count;
    uint32_t used; /* slots ever handed out */
    uint32_t free; /* list through message.next */
    size_t in_use;
};

/* Messages that may be received: those never received in arrival order, and those that came back,
 * by sequence. */
struct ready {
    uint32_t first, last;
    struct qn_heap returned;
    uint32_t count;
};

/* A message group of a FIFO queue: all its stored messages in order. */
struct group {
    struct qn_map_node node;
    struct qn_str name;
    uint32_t index; /* in messages.named */
    uint32_t first, last;
    uint32_t count;
    uint32_t in_flight;
    uint32_t open_position; /* in the heap of open groups */
    int64_t stamp;          /* service order */
    bool was_served;        /* not every stored row knows the stamp */
};

enum { BUSY_SLICES = 10, BUSY_SLICE_MS = 30000 };

/* A tenant of a fair queue. */
struct tenant {
    struct qn_map_node node;
    struct qn_str name;
    uint32_t index;
    struct ready ready;
    uint32_t stored;
    uint32_t in_flight;
    uint32_t delayed;
    uint32_t position; /* in the heap of quiet or of noisy tenants */
    bool is_noisy;
    int64_t last_sent_ms;
    int64_t busy_ms[BUSY_SLICES];
    int64_t busy_at[BUSY_SLICES]; /* number of the slice that busy_ms holds */
};

/* A copy that a fault made for certain consumers: until its delay ends nobody else gets it. A
 * restart forgets for whom it was. */
struct reserved {
    uint32_t slot;
    bool is_for_others; /* than this one */
    struct qn_str instance;
    int64_t connection; /* counts when there is no instance */
};

/* All messages of a queue and what it remembers of sends and receives; a purge replaces it whole.
 */
struct messages {
    bool is_fifo;
    uint32_t first, last;                   /* sent here, by arrival (so by enqueue time) */
    uint32_t redriven_first, redriven_last; /* came by dead-lettering, by arrival */
    uint32_t first_delayed; /* FIFO: from here on messages of the first list are delayed */
    struct qn_heap redriven_ages;
    struct qn_heap hidden; /* by the instant they become visible */
    struct ready ready;    /* standard: without a tenant */
    struct qn_map by_name; /* groups or tenants */
    void **named;          /* struct group or struct tenant, by index; NULL: free */
    uint32_t named_count, named_cap;
    uint32_t *free_named;
    uint32_t free_named_count, free_named_cap;
    uint32_t idle_at;             /* tenants: where the look for idle ones goes on */
    struct qn_heap open;          /* FIFO: groups whose first message is visible, by stamp */
    struct qn_heap quiet;         /* tenants with something ready, by its sequence */
    struct qn_heap noisy;         /* by number in flight */
    int64_t busy_ms[BUSY_SLICES]; /* of all consumers of the queue */
    int64_t busy_at[BUSY_SLICES];
    struct qn_map deduplications; /* FIFO; in time order, and by key */
    struct deduplication *oldest_deduplication, *newest_deduplication;
    struct qn_map attempts;
    struct attempt *oldest_attempt, *newest_attempt;
    struct reserved *reserved; /* few, as they were made */
    uint32_t reserved_count, reserved_cap;
    struct messages *next_dead;
    size_t dead_index; /* how far freeing of groups has come */
};

/* By what a message of a standard queue is handed out: its sequence, unless a fault said
 * otherwise. */
static inline uint64_t message_order(const struct message *message)
{
    return (message->flags & MESSAGE_RANKED) != 0 ? message->rank : message->sequence;
}

#endif
