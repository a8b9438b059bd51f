/* What happened in one scenario, in one order: the server's trace and the harness's own events
 * together. */
#ifndef QN_CHECK_HISTORY_H
#define QN_CHECK_HISTORY_H

#include <stdio.h>

#include "chaos/check/table.h"
#include "chaos/check/texts.h"
#include "server/base/error.h"
#include "server/model/event.h"

/* The k of an effect of which nobody knows whose it is. */
#define QN_CHECK_NO_KEY "(no key)"

enum qn_check_kind {
    QN_CHECK_OTHER, /* a kind that no checker knows; kept for readers */
    QN_CHECK_API_IN,
    QN_CHECK_API_OUT,
    QN_CHECK_LEASE_GRANT,
    QN_CHECK_LEASE_EXTEND,
    QN_CHECK_LEASE_RELEASE,
    QN_CHECK_LEASE_EXPIRE,
    QN_CHECK_MSG_SEND,
    QN_CHECK_MSG_DELETE,
    QN_CHECK_MSG_DLQ,
    QN_CHECK_MSG_MOVE,
    QN_CHECK_MSG_PURGE,
    QN_CHECK_MSG_EXPIRE,
    QN_CHECK_MSG_DUPCOPY,
    QN_CHECK_BOOT,
    QN_CHECK_FAULT,
    QN_CHECK_CLOCK,
    QN_CHECK_MARK,
    /* The harness's own. */
    QN_CHECK_LOAD, /* a message was offered to the queue: k, grp, mid; code "OK" when the send was
                      answered so */
    QN_CHECK_WORK_BEGIN,  /* a unit of work reached the sink: k, run, instance, attempt, ik, step */
    QN_CHECK_WORK_COMMIT, /* its effect is there; replayed: it was there before */
    QN_CHECK_WORK_REPLY,  /* status: what the consumer was answered */
    QN_CHECK_WORK_LEFT,   /* the client hung up on its call, and nobody will read the answer */
    QN_CHECK_WORK_ABORT,  /* ended without an effect, reason */
    QN_CHECK_REJECT,      /* the consumer recorded that it will not work on k */
    QN_CHECK_RECONCILE,   /* the consumer recorded that it does not know what became of k */
    QN_CHECK_STATE,       /* a versioned projection was written */
    QN_CHECK_LOOKUP,      /* the consumer asked whether there is an effect for k: status */
    QN_CHECK_FETCH,       /* the consumer asked for what the message of k points to: status */
    QN_CHECK_REFUSED, /* the sink could not take a call: status, target (method and path), reason */
    QN_CHECK_PROC,    /* what: spawn, ready, signal, stop, cont, exit; instance, pid */
    QN_CHECK_BUSY,    /* since the event of this kind before it, a thread of the consumer, or of
                         the server, was ready to run for n ms and had no processor */
    QN_CHECK_EFFECT_COUNT, /* at the end, by the effects command: k, count */
    QN_CHECK_LOG,          /* the consumer printed a line: instance, reason */
    QN_CHECK_LETTER, /* at the end, a message mid in the dead-letter queue: the message k that it is
                        about, n receives, and the beginning of its body as reason */
    /* Of `quern lambda`: a function was given a batch of n messages, and what became of it; req is
     * the invocation, count how many of its messages come again. */
    QN_CHECK_LAMBDA_INVOKE,
    QN_CHECK_LAMBDA_RETURN,
    QN_CHECK_LAMBDA_WRONG,    /* its answer cannot be read, which fails all: reason */
    QN_CHECK_LAMBDA_WRONG_ID, /* it names a message that was not in the batch, likewise */
    QN_CHECK_LAMBDA_ERROR,    /* reason */
    QN_CHECK_LAMBDA_TIMEOUT,
    QN_CHECK_LAMBDA_AUDIT,       /* what AWS advises against: reason */
    QN_CHECK_LAMBDA_INIT,        /* an environment is about to be started */
    QN_CHECK_LAMBDA_STARTED,     /* the function in it has asked for its first event */
    QN_CHECK_LAMBDA_NOT_STARTED, /* it ended, or took too long, before it did: reason */
    QN_CHECK_LAMBDA_THROTTLED,   /* no invocation for n messages, which have used up a receive */
    QN_CHECK_LAMBDA_FILTERED,    /* a message is deleted unseen */
    QN_CHECK_KIND_COUNT
};

struct qn_check_failure {
    struct qn_str code, message;
};

/* What few events have, so that the others need no room for it. */
struct qn_check_detail {
    struct qn_str invocation, reason, rule, target, step;
    struct qn_str agent;  /* of api.in, the first of a connection: User-Agent */
    struct qn_str asked;  /* of api.in: names of attributes that it asks for, with commas */
    struct qn_str tenant; /* of load, where the scenario has several */
    int64_t match, from, to, count;
    int64_t pid, exit_code, signal;
    int64_t visible, in_flight, delayed; /* of mark end */
    /* Out of the parameters of api.in. */
    int64_t max, wait, visibility;
    const struct qn_str *handles;
    size_t handle_count;
    /* Out of those of api.out: the entries of a batch that were not done. */
    const struct qn_check_failure *failures;
    size_t failure_count;
};

/* Texts are none and integers QN_EVENT_NO_INT when they are absent. Names in JSON: the table in
 * event.c. There may be millions: in a history each text is there once, however many have it. */
struct qn_check_event {
    /* Together, what nearly each checker asks of each event: there may be millions. */
    enum qn_check_kind kind;
    bool undone;   /* of a journal entry that a crash took back */
    bool replayed; /* work.commit */
    bool is_read;  /* from a line: not one of the harness's own */
    uint64_t seq;
    int64_t vt; /* virtual ms */
    struct qn_str k, queue, instance, action;
    const struct qn_check_detail *detail; /* never NULL: of all absent when there is none */
    struct qn_str mid, grp, req, h, code, what;
    int64_t n, deadline, run;
    uint64_t lsn;
    int64_t wt; /* wall ms */
    struct qn_str sn, ik;
    int64_t port, attempt, status, work_ms;
    int64_t digest;  /* of the payload, as qn_body_digest() has it */
    const char *raw; /* the line it was read from, where it is kept (qn_history.keeps_lines) */
};

/* The listener that an instance was given: who has fixed credentials is known by it. */
struct qn_history_port {
    int64_t port;
    char instance[32]; /* its access key */
};

enum { QN_HISTORY_PORTS_MAX = 16 };

enum { QN_HISTORY_TEXTS = 20 }; /* of an event, with those of its detail */

struct qn_history {
    struct qn_check_event *events;
    size_t count;
    size_t cap;
    struct qn_texts texts;
    struct qn_str recent[QN_HISTORY_TEXTS]; /* the last of each: the next one is often the same */
    struct qn_arena arena;                  /* of details, lines and the header */
    /* The lines that were read are written again as they were, with what no checker knows of. Set
     * it before reading, where they will be written. */
    bool keeps_lines;
    struct qn_str header; /* the line of kind "header", none without one */
    uint64_t missed;      /* events that were gone before they could be read */
    /* Also in the header, as run.ports. */
    struct qn_history_port ports[QN_HISTORY_PORTS_MAX];
    size_t port_count;
    struct qn_table *callers; /* struct qn_str by request: whose it is, where a port has told */
};

bool qn_check_detail_is_none(const struct qn_check_detail *detail);
void qn_check_detail_init(struct qn_check_detail *detail);
/* detail may be NULL: nothing of it will be set. */
void qn_check_event_init(struct qn_check_event *event, struct qn_check_detail *detail,
                         enum qn_check_kind kind);
const char *qn_check_kind_name(enum qn_check_kind kind);
/* The parts of reading and writing that know the fields: event.c. What is read borrows from the
 * line and from the arena; ret_detail is touched only when the event has one. */
QN_MUST_CHECK bool qn_check_event_read(struct qn_str line, struct qn_arena *arena,
                                       struct qn_check_event *ret_event,
                                       struct qn_check_detail *ret_detail, uint64_t *ret_missed,
                                       bool *ret_is_header, struct qn_error *err);
void qn_check_event_write(const struct qn_check_event *event, struct qn_buf *buf);

void qn_history_init(struct qn_history *history);
/* From here on, calls on this port are this instance's, unless their access key is known. */
void qn_history_add_port(struct qn_history *history, int64_t port, const char *instance);
void qn_history_done(struct qn_history *history);
/* Copies the event, its detail and its texts. */
void qn_history_add(struct qn_history *history, const struct qn_check_event *event);
struct qn_check_lines;
/* What was parsed: lines.h. Names who called, where a port tells it. */
void qn_history_add_lines(struct qn_history *history, struct qn_check_lines *lines);
/* Any number of JSON lines. Fails at the first that is none, with those before it added. */
QN_MUST_CHECK bool qn_history_read(struct qn_history *history, struct qn_str text,
                                   struct qn_error *err);
/* The keys that one stands for. */
struct qn_history_keys {
    struct qn_str *items;
    size_t count;
};
/* Work on a key that is in the map (struct qn_history_keys) becomes work on each of those that it
 * stands for, under the same number. */
void qn_history_map_keys(struct qn_history *history, const struct qn_table *map);
/* Once everything is there: puts the events in order, marks what a crash took back, and completes
 * k, grp and sn of events that name only their message. May be called again after more was added.
 */
void qn_history_settle(struct qn_history *history);
/* From the first event to the mark of the end: what comes then is only the stopping. 0 without one.
 */
int64_t qn_history_virtual_length_ms(const struct qn_history *history);
/* All events as JSON lines, the header first. */
void qn_history_write(const struct qn_history *history, FILE *file);

#endif
