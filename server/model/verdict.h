/* What chaos is told at its four points, and what it answers. The loop acts on the answer. */
#ifndef QN_MODEL_VERDICT_H
#define QN_MODEL_VERDICT_H

#include "server/base/arena.h"
#include "server/base/error.h"

enum qn_chaos_point { QN_POINT_ARRIVE, QN_POINT_PRE_COMMIT, QN_POINT_POST_COMMIT, QN_POINT_REPLY };

/* One message that the request touches or would touch. */
struct qn_fact_message {
    struct qn_str entry_id; /* batch entry, or none */
    int64_t entry_index; /* in the request's Entries, 0 for single actions; of a receive: place in
                            the answer */
    struct qn_str message_id; /* none for a send before it has one */
    struct qn_str group;
    struct qn_str body; /* none when it is not at hand */
    struct qn_str handle;
    int64_t receive_count;    /* after this request for a receive; current otherwise */
    struct qn_str attributes; /* encoded message attributes (model/message.h) */
};

struct qn_facts {
    struct qn_arena *arena;
    struct qn_str request_id;
    struct qn_str action; /* "DeleteMessageBatch" */
    struct qn_str account;
    struct qn_str region;   /* the caller's */
    struct qn_str queue;    /* name, none when there is none */
    struct qn_str instance; /* access key id */
    int64_t connection;
    int64_t listener;
    int64_t sdk_attempt;
    int64_t size;       /* bytes of the request's body */
    int64_t wait_s;     /* WaitTimeSeconds in effect, -1 unknown */
    int64_t max;        /* MaxNumberOfMessages, -1 unknown */
    int64_t entries;    /* batch entries, -1 unknown */
    struct qn_str code; /* of the answer so far, none before execution */
    int64_t now_ms;
    struct qn_fact_message *messages; /* in the arena */
    size_t message_count;
    bool is_fifo;
};

enum qn_verdict_kind {
    QN_VERDICT_PASS,         /* nothing happens */
    QN_VERDICT_ERROR,        /* answer `error` without going on (after execution at POST_COMMIT) */
    QN_VERDICT_FAKE_SUCCESS, /* answer success for the named entries and change nothing for them */
    QN_VERDICT_FAIL_ENTRIES, /* batch: the named entries are answered with `error` and not executed
                              */
    QN_VERDICT_FALSE_EMPTY,  /* receive: empty at once */
    QN_VERDICT_SHORT,        /* receive: at most `count` messages */
    QN_VERDICT_DUP_IN_BATCH, /* receive: the named messages twice in the answer, two handles */
    QN_VERDICT_DELIVER_TO_BOTH, /* receive: the answer waits until another receive of the queue gets
                                   the named messages too */
    QN_VERDICT_BAD_MD5,         /* the digests of the answer are wrong */
    QN_VERDICT_NO_MD5,          /* they are left out */
    QN_VERDICT_GARBAGE,         /* the answer's body is noise of the same length */
    QN_VERDICT_HTML,            /* it is a page as a proxy answers with, under the same status */
    QN_VERDICT_DELAY,           /* go on from here after delay_ms (real time) */
    QN_VERDICT_HOLD,            /* park until released by name over the control API */
    QN_VERDICT_BANDWIDTH,       /* the answer leaves at `count` bytes a second */
    QN_VERDICT_SLOW_CLOSE,      /* the answer says close, and the FIN comes delay_ms later */
    /* These at REPLY only after a part of the answer. */
    QN_VERDICT_HANG,     /* never answer, keep the socket */
    QN_VERDICT_RESET,    /* RST */
    QN_VERDICT_CLOSE,    /* FIN */
    QN_VERDICT_TRUNCATE, /* the whole Content-Length, a part of the body, FIN */
    QN_VERDICT_CRASH     /* SIGKILL of this process, now or at `failpoint` */
};

struct qn_verdict {
    enum qn_verdict_kind kind;
    struct qn_str rule; /* name of the rule that fired, none if none did; lives as long as the rule.
                           With PASS it has nothing but effects */
    uint64_t
        entry_mask; /* bit i: message i of the facts; all bits set when the rule names no message */
    enum qn_error_code error;
    int error_http_status; /* 0: the code's own */
    bool error_sender;
    int64_t delay_ms;
    int64_t count;   /* SHORT: messages; at REPLY: bytes of the answer, -1: fraction counts */
    double fraction; /* 0 to 1 */
    struct qn_str failpoint; /* CRASH: it is armed for its next passage, and the request goes on;
                                none: now */
    struct qn_str failpoint_mode; /* "kill", "abort", "error", "delay 50" */
    int64_t restart_ms;           /* CRASH: real, until a supervisor starts it again; -1: its own */
    uint64_t draw;                /* a random number of its own: by seed, rule and match index */
    const struct qn_verdict *then; /* DELAY, HOLD: what happens when it goes on; in the facts'
                                      arena, or NULL */
};

#endif
