/* What the files of this folder share: the loop, its connections, and the calls under way. */
#ifndef QN_HTTP_INTERNAL_H
#define QN_HTTP_INTERNAL_H

#include <microhttpd.h>

#include "chaos/assumptions/assumptions.h"
#include "server/actions/actions.h"
#include "server/base/map.h"
#include "server/http/facts.h"
#include "server/http/loop.h"
#include "server/http/record.h"
#include "server/http/restore.h"
#include "server/wire/wire.h"

/* ---- what epoll wakes us for ---- */

enum qn_watch_kind {
    QN_WATCH_HTTP,
    QN_WATCH_LISTENER,
    QN_WATCH_SIGNAL,
    QN_WATCH_SYNC,
    QN_WATCH_CLIENT
};

struct qn_watch {
    enum qn_watch_kind kind;
    struct qn_listener *listener;
};

/* ---- calls ---- */

struct qn_call;

/* One client's connection. */
struct qn_client {
    struct qn_watch watch; /* first */
    struct qn_loop *loop;
    int fd;
    int port;
    int64_t number; /* 0 before its first SQS call */
    bool is_known;  /* the trace has told what program it is */
    bool is_gone;   /* it has closed, or at least sends nothing more */
    bool is_ending;
    struct qn_client *next_ending;
    struct qn_call *call; /* the one under way, or NULL */
    struct qn_stream *stream;
};

enum qn_call_state {
    QN_CALL_NEW,
    QN_CALL_READING,
    QN_CALL_RUNNING,
    QN_CALL_WAITING,  /* suspended: parked, held, delayed, hanging */
    QN_CALL_ANSWERED, /* its response is queued */
    QN_CALL_DROPPED   /* ends without an answer */
};

/* Where a call goes on after it was delayed or held. */
enum qn_call_stage { QN_STAGE_ARRIVED, QN_STAGE_CHECKED, QN_STAGE_COMMITTED, QN_STAGE_REPLYING };

struct qn_call_list {
    struct qn_call *first;
    struct qn_call *last;
    size_t count;
};

/* Members of the input that the loop itself is interested in; SIZE_MAX where there is none. */
struct qn_members {
    size_t queue_url;
    size_t queue_name;
    size_t entries;
    size_t wait;
    size_t max;
};

struct qn_header {
    const char *name;
    const char *value;
};

enum { QN_HEADERS_MAX = 8, QN_HEADER_NAME_MAX = 32 };

/* One HTTP request on its way. Lives from its first line until its answer has left. */
struct qn_call {
    struct qn_loop *loop;
    struct qn_client *client;
    struct MHD_Connection *connection;
    struct qn_request request;
    struct qn_random random;
    enum qn_call_state state;
    bool has_begun;
    bool is_suspended;
    struct qn_call_list *list; /* the one it stands in */
    struct qn_call *previous, *next;

    /* head and body */
    struct qn_buf body;
    int64_t content_length; /* -1: not said */
    size_t reserved;        /* of the ceiling for what is under way */
    size_t wanted;
    size_t discarded;
    bool lengths_differ;
    bool is_chunked;
    bool expects_continue;
    bool is_head;
    struct qn_str content_encoding;
    struct qn_str origin;
    struct qn_str preflight_method;
    struct qn_str preflight_headers;
    enum qn_error_code refusal; /* found in the head, answered when the body is read */

    /* the flow of an SQS call */
    enum qn_call_stage stage;
    struct qn_waiter waiter;
    int64_t deadline_ms; /* of its long poll; -1: has not waited */
    bool wait_is_over;
    bool has_waited_for_room;
    int64_t due_ms;                /* monotonic: its place in a list by end */
    int64_t wait_end_ms;           /* monotonic: end of its long poll in real time */
    uint64_t lsn;                  /* what its answer must wait for */
    struct qn_str rule;            /* the rule that touched it last */
    struct qn_str faults;          /* all that did, for a header, or none */
    bool is_released;              /* what would hold it has ended before */
    const struct qn_verdict *then; /* what is done to it when it goes on, or NULL */
    bool is_decoded;
    bool is_recorded;         /* and its answer is not */
    struct qn_str references; /* what its answer gave to later requests, when it is recorded */
    const struct qn_verdict *verdict; /* what ARRIVE said about entries, or NULL */
    struct qn_pairing *pair;          /* it waits for another receive of its queue, or NULL */
    struct qn_facts *facts;           /* as of PRE_COMMIT, for the later points */
    struct qn_str account;            /* of the queue it names */
    struct qn_str queue;
    int64_t since; /* a reader of the trace */

    /* the answer */
    struct qn_buf answer;
    int status;
    enum qn_error_code code; /* QN_ERR_NONE: success */
    struct qn_str reason;    /* of an error: its message, for the trace */
    const char *content_type;
    struct qn_header headers[QN_HEADERS_MAX];
    size_t header_count;
    bool cuts; /* a fault comes amid the body, or at its end */
    size_t cut_at;
    enum qn_verdict_kind cut_by; /* RESET, CLOSE, HANG, TRUNCATE or CRASH */
    uint64_t hit;                /* which messages have their digests spoilt */
    int64_t bytes_per_s;         /* 0: as fast as it goes */
    double slow_fraction;        /* the part that leaves as fast as it goes */
    int64_t slow_since_ms;       /* monotonic; 0: not yet */
    bool effects_wait;           /* of rules at REPLY, until the answer has left so far */
    size_t effects_at;
    bool lingers; /* the connection ends so much later */
    bool has_lingered;
    int64_t linger_ms;
    int64_t restart_ms; /* of CRASH */
};

/* The advance of a virtual clock that somebody waits for, or a rule has begun. */
struct qn_advance {
    struct qn_call_list calls; /* in their order; call->due_ms is the target, virtual */
    int64_t jump_from_ms;      /* of a rule's jump, virtual */
    int64_t jump_to_ms;        /* 0: there is none */
};

struct qn_loop {
    struct qn_loop_parts parts;
    struct qn_loop_options options;
    struct qn_wire_defaults defaults;
    struct MHD_Daemon *daemon;
    int epoll_fd;
    int signal_fd;
    struct qn_watch http_watch, signal_watch, sync_watch;
    struct qn_watch listener_watches[QN_LISTENERS_MAX];
    struct qn_members members[QN_ACTION_COUNT];
    /* Where the known headers with a name of each length begin in the table of head.c. */
    uint8_t headers_of_length[QN_HEADER_NAME_MAX + 2];

    int64_t now_ms; /* of this pass */
    int64_t wall_ms;
    int64_t started_ms;
    uint64_t sequence;   /* of the request that arrived last */
    uint64_t synced_lsn; /* as far as the loop has noticed */
    uint64_t effect_count;
    struct qn_random background; /* of what falls due by itself */
    int64_t client_count;        /* numbers connections, by their first SQS call */
    size_t clients_open;

    struct qn_record *record;   /* NULL: nothing is recorded */
    int64_t recording_since_ms; /* monotonic */

    struct qn_buf entry;
    struct qn_event_list events;
    struct qn_arena scratch; /* of work that belongs to no call */
    bool trace_is_wanted;
    bool has_rules;
    bool sqs_has_begun; /* a request of SQS has come */
    struct qn_restore restore;
    struct qn_assumptions *assumptions; /* NULL: looked for only when somebody asks */
    uint64_t assumptions_seen;          /* the event up to which they were shown */

    struct qn_call_list parked;  /* waiters of the engine, by real end */
    struct qn_call_list crowded; /* until the ring has room, by the end of their patience */
    struct qn_call_list behind;  /* until what is due in their queue is done */
    struct qn_call_list delayed; /* by real end */
    struct qn_call_list held;    /* until a rule is released */
    struct qn_call_list jumping; /* until the clock has jumped */
    struct qn_call_list hanging;
    struct qn_call_list pacing;   /* their answers leave slowly, by real end */
    struct qn_call_list syncing;  /* by LSN */
    struct qn_call_list reading;  /* of the trace, by real end */
    struct qn_call_list starving; /* bodies that wait for room */
    struct qn_call_list resuming; /* answered, to be resumed at the end of the pass */
    struct qn_advance advance;
    struct qn_client *ending; /* gone, and libmicrohttpd may not know */
    struct qn_stream *streams;
    bool streams_resumed;  /* libmicrohttpd has to run for them */
    uint64_t streams_seen; /* the event up to which they were woken */

    size_t under_way;   /* bytes of requests and answers */
    size_t suspended;   /* connections that libmicrohttpd leaves alone */
    size_t calls_begun; /* whole requests that are not answered yet */
    struct qn_call *overshooting;
    struct qn_call *spare; /* ended calls, kept for reuse */
    size_t spare_count;

    int64_t accept_again_ms; /* monotonic; INT64_MAX: listening goes on */
    bool cannot_accept;      /* and has said so */
    bool refuses;            /* a rule has closed the listeners */
    bool cannot_listen;      /* again, and has said so */
    int64_t listen_again_ms; /* monotonic */
    bool settle_again;       /* more has fallen due than one pass did */
    int settle_budget;       /* steps of it that this pass may still do */
    bool is_stalled;         /* no room in the ring: what falls due waits */
    bool is_stopping;
    bool is_closed;     /* nothing is answered any more */
    int64_t stop_by_ms; /* monotonic */
};

/* Whether rules are asked at all. */
static inline bool qn_loop_has_rules(const struct qn_loop *loop)
{
#ifdef QN_WITHOUT_CHAOS /* a build that shows what asking costs */
    (void)loop;
    return false;
#else
    return loop->has_rules;
#endif
}

/* ---- call.c: life of calls and lists ---- */

struct qn_call *qn_call_new(struct qn_client *client);
void qn_call_end(struct qn_call *call);
void qn_call_join(struct qn_call_list *list, struct qn_call *call);
/* Before the first that is due later. */
void qn_call_join_by_due(struct qn_call_list *list, struct qn_call *call);
/* Accepts one that stands in no list. */
void qn_call_leave(struct qn_call *call);
void qn_calls_free_spare(struct qn_loop *loop);

/* ---- http.c: libmicrohttpd's callbacks ---- */

QN_MUST_CHECK bool qn_http_start(struct qn_loop *loop, struct qn_error *err);
/* Takes what waits on a listener. */
void qn_http_accept(struct qn_loop *loop, struct qn_listener *listener);
/* After a pause for want of files. */
void qn_http_accept_again(struct qn_loop *loop);

/* ---- head.c, body.c ---- */

/* Reads the head into the request. */
void qn_head_init(struct qn_loop *loop);
void qn_head_read(struct qn_call *call, const char *method);
/* Answers what needs no decoding: a preflight, and what the head forbids. */
bool qn_head_refuses(struct qn_call *call);
/* Takes bytes of the body, or suspends the call until there is room. False: give the connection up.
 */
QN_MUST_CHECK bool qn_body_take(struct qn_call *call, const char *data, size_t *len);
/* Whether the head alone is reason enough to answer before the body is read. */
bool qn_body_is_hopeless(const struct qn_call *call);
/* Lets bodies go on for which there is room now. */
void qn_body_feed(struct qn_loop *loop);
void qn_body_release(struct qn_call *call);

/* ---- respond.c ---- */

/* Stops the connection until the call is answered or dropped. */
void qn_call_suspend(struct qn_call *call);
/* Queues what stands in call->answer. */
void qn_call_respond(struct qn_call *call);
/* Queues a response that makes its own body; it is given away. */
void qn_call_respond_with(struct qn_call *call, struct MHD_Response *response_take);
/* Ends the call without an answer. */
void qn_call_drop(struct qn_call *call);
/* Puts the error's body into call->answer. http_status 0: the error's own. */
void qn_call_set_error(struct qn_call *call, const struct qn_error *err, int http_status);
void qn_call_add_header(struct qn_call *call, const char *name, const char *value);
/* Lets those go on that were answered while they were suspended; true when there were any. */
bool qn_calls_resume(struct qn_loop *loop);

/* ---- loop.c: the way of an SQS call ---- */

void qn_loop_begin(struct qn_call *call);
/* Goes on at call->stage. */
void qn_loop_go_on(struct qn_call *call);
void qn_loop_refuse(struct qn_call *call, enum qn_error_code code, const char *message);
void qn_loop_serve_waiters(struct qn_loop *loop);
/* Ends a parked call: empty, unless something is there. */
void qn_loop_end_wait(struct qn_call *call);
/* Lets those go on whose entries are synced. */
void qn_loop_synced(struct qn_loop *loop);

/* ---- room.c ---- */

/* No room in the ring, or more is due in the queue than one slice. True: the call waits and goes on
 * by itself; `asks` says whether before PRE_COMMIT or behind it. */
bool qn_room_waits_for_ring(struct qn_call *call, bool asks);
bool qn_room_waits_for_settling(struct qn_call *call, struct qn_tx *tx, bool asks);
/* Whether the call has to wait until all that was appended so far is synced; then it goes on by
 * itself. */
QN_MUST_CHECK bool qn_room_waits_for_sync(struct qn_call *call);
/* True: err says what there is no room for. */
bool qn_room_refuses(const struct qn_call *call, struct qn_error *err);

/* ---- keep.c: entries and events ---- */

/* A transaction of the loop's own. */
void qn_tx_init(struct qn_loop *loop, struct qn_tx *tx, struct qn_arena *arena,
                struct qn_random *random);
/* Appends what the transaction left to journal and trace. */
void qn_loop_keep(struct qn_loop *loop);
/* The instant alone: a restart must not go back behind it. */
void qn_keep_instant(struct qn_loop *loop);
void qn_keep_api_in(struct qn_call *call);
void qn_keep_api_out(struct qn_call *call);
void qn_keep_boot(struct qn_loop *loop);
void qn_keep_clock(struct qn_loop *loop, int64_t from_ms, int64_t to_ms);
void qn_keep_mark(struct qn_loop *loop, struct qn_str name);
/* To be called when rules or readers have changed. */
void qn_keep_refresh(struct qn_loop *loop);

/* ---- rule_slips.c ---- */

/* Of the queues of a row of qn_plan_list those that are not there. The caller owns the list. */
json_t *qn_rule_queues_unknown(const struct qn_loop *loop, const json_t *rule);

/* ---- record.c, record_start.c: lines of the recording; only to be called when there is one ----
 */

void qn_record_request(struct qn_call *call);
/* Notes what the output gives to later requests, as long as its texts live. */
void qn_record_take_output(struct qn_call *call);
void qn_record_answer(struct qn_call *call);
/* It ends without an answer. */
void qn_record_lost(struct qn_call *call);
/* The faults among the events that are about to be appended to the trace. */
void qn_record_faults(struct qn_loop *loop);
void qn_record_advance(struct qn_loop *loop, int64_t from_ms, int64_t to_ms, bool keeps_polls);
void qn_record_rate(struct qn_loop *loop, double rate);
/* The rules as they are now. */
void qn_record_rules(struct qn_loop *loop);

/* ---- park.c ---- */

/* Notices when the client goes away. */
void qn_client_watch(struct qn_client *client);
/* Makes sure that libmicrohttpd notices as well, once it has read what came before. */
void qn_client_expect_end(struct qn_client *client);
void qn_clients_end(struct qn_loop *loop);
void qn_client_forget(struct qn_client *client);
bool qn_client_is_gone(const struct qn_client *client);
/* The client closed: whatever waits for it ends. */
void qn_client_gone(struct qn_client *client);
/* Suspends the call in a list by end, unless its client is gone. */
void qn_call_wait(struct qn_call *call, struct qn_call_list *list);
void qn_call_park(struct qn_call *call, const struct qn_park *park);
void qn_call_unpark(struct qn_call *call);

/* ---- fault.c ---- */

/* Carries out a verdict that ends or stops the call; false: it goes on. */
bool qn_fault_stops(struct qn_call *call, const struct qn_verdict *verdict,
                    enum qn_call_stage go_on_at);
/* What comes behind the delay or hold that is over; PASS when nothing does. */
struct qn_verdict qn_fault_take_next(struct qn_call *call);
/* The verdict's error becomes the answer. */
void qn_fault_answer(struct qn_call *call, const struct qn_verdict *verdict);
/* A verdict about entries, kept until they are executed; NULL for PASS. */
const struct qn_verdict *qn_fault_of_entries(struct qn_call *call,
                                             const struct qn_verdict *verdict);
void qn_fault_reset(struct qn_client *client);
/* Lets go what the rule holds; returns how many. */
size_t qn_fault_release(struct qn_loop *loop, struct qn_str rule);
/* Lets go the request of this id; one that is still delayed is then not held when it gets there.
 * Other calls that its rule holds have a chain of their own. False: it is gone. */
bool qn_fault_release_one(struct qn_loop *loop, struct qn_str request);
struct qn_crash {
    struct qn_str rule;
    struct qn_str failpoint; /* at its next passage; none: now */
    struct qn_str mode;      /* of the failpoint */
    int64_t restart_ms;      /* until a supervisor starts it again, -1: its own */
};
/* As kill -9 would: nothing is put in order first. */
void qn_fault_crash(struct qn_loop *loop, const struct qn_crash *crash);

/* Stops the call in a list; it goes on at its stage, with the verdict if there is one. */
void qn_fault_wait(struct qn_call *call, struct qn_call_list *list, enum qn_call_stage go_on_at,
                   const struct qn_verdict *then);
/* The call is touched by the rule of the verdict. */
void qn_fault_note_rule(struct qn_call *call, const struct qn_verdict *verdict);

/* ---- damage.c ---- */

/* A verdict about the answer: changes it, or notes what happens as it leaves; false: another one.
 */
bool qn_damage_note(struct qn_call *call, const struct qn_verdict *verdict);
/* At REPLY: notes where in the answer the effects of the rule come. */
void qn_damage_note_effects(struct qn_call *call, const struct qn_verdict *verdict);
/* Lets them come, if they have not yet. */
void qn_damage_do_effects(struct qn_call *call);
/* At REPLY: notes how much of the answer leaves; false: none of it, or another verdict. */
bool qn_damage_cuts(struct qn_call *call, const struct qn_verdict *verdict);
/* What was noted, when all of the answer has left. */
void qn_damage_behind_answer(struct qn_call *call);
/* Whether the answer leaves in another way than at once and whole; then this is its response. */
bool qn_damage_is_noted(const struct qn_call *call);
struct MHD_Response *qn_damage_response(struct qn_call *call);
/* Lets slow answers go on whose time has come; INT64_MAX: all. */
void qn_damage_go_on(struct qn_loop *loop, int64_t monotonic_ms);

/* ---- effect.c ---- */

/* Carries out the next effect that is due; false: there is none, or no room in the ring. Waiters
 * that it wakes are to be served by the caller. */
bool qn_effect_run_next(struct qn_loop *loop);

/* ---- process.c ---- */

/* Closes the listeners for a while of real time; connections go on. */
void qn_process_refuse(struct qn_loop *loop, int64_t for_ms);
/* Opens them again when the time has come. */
void qn_process_listen_again(struct qn_loop *loop, int64_t monotonic_ms);
/* Returns after a while of real time, or at a signal. */
void qn_process_freeze(struct qn_loop *loop, int64_t for_ms);

/* ---- advance.c ---- */

/* Whether the clock is being moved, and the instant at which that ends (now, if it is not). */
bool qn_advance_is_on(const struct qn_loop *loop);
bool qn_advance_is_jumping(const struct qn_loop *loop);
int64_t qn_advance_end_ms(const struct qn_loop *loop);
/* To the next instant at which something is due; false: none is left on the way, and who waited for
 * the end of it is served. */
bool qn_advance_step(struct qn_loop *loop);
/* A rule moves the clock; false: it does not, and *ret_why says why. */
bool qn_advance_jump(struct qn_loop *loop, int64_t by_ms, bool force, const char **ret_why);
/* Whether the call has to wait until the clock has jumped; then it goes on with the verdict. */
bool qn_advance_holds(struct qn_call *call, enum qn_call_stage go_on_at,
                      const struct qn_verdict *verdict);

/* ---- lifecycle.c ---- */

QN_MUST_CHECK bool qn_loop_watch_listeners(struct qn_loop *loop, struct qn_error *err);

/* ---- pass.c ---- */

void qn_pass_set_now(struct qn_loop *loop, int64_t now_ms);
/* Reads the clock into now_ms. */
void qn_pass_read_clock(struct qn_loop *loop);
/* Does what is due in the engine, up to where a waiter's turn comes: that one is served later. */
void qn_pass_settle(struct qn_loop *loop);
/* Does what a call made due at once: the next one finds it done, whether or not it comes in the
 * same pass. */
void qn_pass_catch_up(struct qn_loop *loop);

/* ---- control/ ---- */

/* Whether the path belongs to the control API (and the pages of LocalStack). */
bool qn_control_owns(struct qn_str path);
void qn_control_call(struct qn_call *call);
/* Shows the detectors the events that have been added. */
void qn_control_feed_assumptions(struct qn_loop *loop);
/* Events have been added: readers that wait get theirs. */
void qn_control_wake_readers(struct qn_loop *loop);
void qn_control_stop_readers(struct qn_loop *loop);
void qn_control_answer_reader(struct qn_call *call);
void qn_control_end_stream(struct qn_stream *stream);
void qn_control_answer_clock(struct qn_call *call);

#endif
