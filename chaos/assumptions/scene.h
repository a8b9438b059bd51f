/* What the detectors know of the run so far: the calls under way, the queues, the messages and
 * their leases. Kept by the pass alone; detectors read it as it was before the event they are
 * shown. */
#ifndef QN_ASSUMPTIONS_SCENE_H
#define QN_ASSUMPTIONS_SCENE_H

#include "chaos/assumptions/memo.h"
#include "server/base/arena.h"
#include "server/model/event.h"

enum {
    QN_SCENE_CALLS_MAX = 4096,
    QN_SCENE_QUEUES_MAX = 4096,
    QN_SCENE_MESSAGES_MAX = 8192,
    QN_SEEN_ENTRIES_MAX = 20, /* as many as the trace shows */
    QN_SEEN_ATTRIBUTES_MAX = 20,
    QN_SEEN_LEASES_MAX = 4
};

/* An event as a finding shows it. seq 0: there was none. */
struct qn_sight {
    uint64_t seq;
    int64_t vt; /* virtual ms */
    int64_t wt; /* wall ms */
    enum qn_event_kind kind;
    int64_t conn;
    char request[40];
    char action[40];
    char instance[40];
    char message_id[40];
};

/* Batches and their single actions are the same here. */
enum qn_seen_action {
    QN_SEEN_OTHER,
    QN_SEEN_SEND,
    QN_SEEN_RECEIVE,
    QN_SEEN_DELETE,
    QN_SEEN_CHANGE,
    QN_SEEN_CREATE_QUEUE,
    QN_SEEN_DELETE_QUEUE,
    QN_SEEN_PURGE,
    QN_SEEN_GET_ATTRIBUTES,
    QN_SEEN_SET_ATTRIBUTES,
    QN_SEEN_ADD_PERMISSION
};

struct qn_seen_entry {
    struct qn_str handle;
    struct qn_str deduplication_id;
    int64_t delay_s; /* integers: QN_EVENT_NO_INT when absent */
    int64_t visibility_s;
};

struct qn_seen_attribute {
    struct qn_str name;
    struct qn_str value;
};

/* What a request asked for. A single action has one entry. */
struct qn_seen_params {
    struct qn_str queue_url;
    int64_t wait_s;
    int64_t max;
    int64_t visibility_s; /* of a receive */
    struct qn_seen_entry entries[QN_SEEN_ENTRIES_MAX];
    size_t entry_count;
    struct qn_seen_attribute attributes[QN_SEEN_ATTRIBUTES_MAX];
    size_t attribute_count;
    bool asks_counts; /* names one of Approximate... */
    bool asks_all;
};

/* A request from api.in to api.out. Texts live as long as it does. */
struct qn_seen_call {
    struct qn_arena arena;
    struct qn_sight in;
    struct qn_sight out;
    enum qn_seen_action action;
    struct qn_str action_name;
    struct qn_str account;
    struct qn_str queue;
    struct qn_str region;
    struct qn_str instance; /* none: not signed */
    struct qn_str key;      /* of the queue: region/account/name; none without a queue */
    bool is_ours;           /* the harness's */
    bool has_params;
    bool ok;
    bool touched; /* by a fault rule */
    struct qn_seen_params params;
    /* What the answer told, and what happened in between. */
    int64_t told_messages;
    int64_t told_count; /* all approximate counts together */
    size_t granted;
    size_t sent;
};

struct qn_seen_settings {
    int64_t visibility_s;
    int64_t delay_s;
    int64_t wait_s;
    bool deduplicates_by_content;
    bool has_redrive;
    bool has_policy;
};

enum { QN_SEEN_NOBODY = -1, QN_SEEN_SEVERAL = -2 };

/* A queue that somebody named. */
struct qn_seen_queue {
    char name[84];
    char account[16];
    bool is_fifo;
    bool is_known; /* its creation was seen, so that the rest is its whole life */
    bool by_client;
    struct qn_sight created; /* the call that did it */
    struct qn_sight deleted; /* of the one that had the name before */
    struct qn_sight purged;
    struct qn_sight changed;          /* the last call that changed what it holds */
    int64_t only_conn;                /* that all such calls came from, or one of the above */
    struct qn_seen_settings settings; /* right when is_known */
    struct qn_seen_message *first, *last;
};

struct qn_seen_lease {
    uint64_t handle; /* hash */
    struct qn_sight grant;
    int64_t deadline_ms; /* when it ended, if it has */
    bool is_over;
    bool was_released; /* handed back, not lapsed */
    bool was_extended;
    bool by_queue; /* the receive left its length to the queue */
};

/* A message that is in a queue. */
struct qn_seen_message {
    struct qn_seen_queue *queue;
    struct qn_seen_message *previous, *next; /* in the order in which they were sent */
    bool is_seen;
    char id[40];          /* its beginning, to show */
    struct qn_sight sent; /* seq 0: before we looked */
    int64_t visible_from_ms;
    bool delay_by_queue;
    uint64_t lease_count;
    struct qn_seen_lease leases[QN_SEEN_LEASES_MAX]; /* the last ones; see qn_seen_latest */
    char passed_id[40]; /* the older message that it was handed out before, or empty */
};

struct qn_scene {
    struct qn_memo calls;    /* by request id */
    struct qn_memo queues;   /* by key */
    struct qn_memo messages; /* by message id */
    struct qn_str harness;
    uint64_t last_fault; /* seq */
    struct qn_sight now; /* the event that is looked at */
};

void qn_scene_init(struct qn_scene *scene);
void qn_scene_done(struct qn_scene *scene);
/* Everything but who the harness is. */
void qn_scene_forget(struct qn_scene *scene);

struct qn_sight qn_sight_of(const struct qn_event *event, uint64_t seq, int64_t wall_ms);
/* How long it took from one to the other, by the clock that says more. */
int64_t qn_between_ms(const struct qn_sight *from, const struct qn_sight *to);

/* ---- what detectors ask ---- */

const struct qn_seen_queue *qn_scene_queue(const struct qn_scene *scene, struct qn_str key);
const struct qn_seen_message *qn_scene_message(const struct qn_scene *scene, struct qn_str id);
/* NULL: never handed out, as far as was seen. */
const struct qn_seen_lease *qn_seen_latest(const struct qn_seen_message *message);
/* The lease of this handle, or NULL. */
const struct qn_seen_lease *qn_seen_lease(const struct qn_seen_message *message,
                                          struct qn_str handle);
/* The oldest message that could have been handed out at that instant and never was, or NULL. */
const struct qn_seen_message *qn_seen_left(const struct qn_seen_queue *queue,
                                           const struct qn_sight *at);
bool qn_seen_same_client(const struct qn_sight *a, const struct qn_sight *b);
struct qn_str qn_seen_attribute_of(const struct qn_seen_call *call, const char *name);

/* ---- what the pass does ---- */

struct qn_seen_call *qn_scene_begin(struct qn_scene *scene, const struct qn_event *event);
/* The call under way, or NULL. */
struct qn_seen_call *qn_scene_call(const struct qn_scene *scene, struct qn_str request);
/* Notes what the answer tells. */
void qn_scene_answer(struct qn_scene *scene, struct qn_seen_call *call,
                     const struct qn_event *event);
/* What a state event, or a call as a whole, changed. */
void qn_scene_apply_event(struct qn_scene *scene, const struct qn_event *event,
                          struct qn_seen_call *call);
void qn_scene_apply_call(struct qn_scene *scene, const struct qn_seen_call *call);
void qn_scene_end(struct qn_scene *scene, struct qn_seen_call *call);

/* params.c: reads the parameters of api.in; false when there are none. */
bool qn_seen_read_params(struct qn_str text, struct qn_seen_call *call);
/* params.c: reads those of api.out. */
void qn_seen_read_told(struct qn_str text, struct qn_seen_call *call);

#endif
