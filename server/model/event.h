/* What happened, as the trace tells it: one struct for every kind; fields that do not apply stay
 * absent. */
#ifndef QN_MODEL_EVENT_H
#define QN_MODEL_EVENT_H

#include "server/base/arena.h"
#include "server/base/buf.h"

enum qn_event_kind {
    QN_EVENT_API_IN,        /* "api.in" */
    QN_EVENT_API_OUT,       /* "api.out" */
    QN_EVENT_LEASE_GRANT,   /* "lease.grant" */
    QN_EVENT_LEASE_EXTEND,  /* "lease.extend" */
    QN_EVENT_LEASE_RELEASE, /* "lease.release": visibility set to 0, or by a fault */
    QN_EVENT_LEASE_EXPIRE,  /* "lease.expire" */
    QN_EVENT_MSG_SEND,      /* "msg.send" */
    QN_EVENT_MSG_DELETE,    /* "msg.delete" */
    QN_EVENT_MSG_DLQ,       /* "msg.dlq" */
    QN_EVENT_MSG_MOVE,      /* "msg.move" */
    QN_EVENT_MSG_PURGE,     /* "msg.purge": count in `count`, also for a deleted queue */
    QN_EVENT_MSG_EXPIRE,    /* "msg.expire": retention */
    QN_EVENT_MSG_DUPCOPY,   /* "msg.dupcopy": a fault brought a copy back */
    QN_EVENT_BOOT,          /* "boot" */
    QN_EVENT_FAULT,         /* "fault" */
    QN_EVENT_CLOCK,         /* "clock" */
    QN_EVENT_MARK,          /* "mark" */
    QN_EVENT_QUEUE_CREATE,  /* "queue.create": a queue that was not there before */
    QN_EVENT_KIND_COUNT
};

/* Text is borrowed until the append returns. Integers that are absent are QN_EVENT_NO_INT. */
#define QN_EVENT_NO_INT INT64_MIN

struct qn_event {
    enum qn_event_kind kind;
    int64_t virtual_ms;
    uint64_t lsn;          /* 0: not a state event */
    struct qn_str request; /* id of the request that did it, or none */
    struct qn_str action;
    struct qn_str account;  /* of the queue */
    struct qn_str queue;    /* name */
    struct qn_str instance; /* access key id, as sent */
    int64_t listener;       /* port the request came in on */
    int64_t connection;     /* number of the connection */
    struct qn_str invocation_id;
    int64_t sdk_attempt;
    struct qn_str
        parameters; /* compact JSON object: of api.in the input, of api.out the answer's summary */
    struct qn_str code; /* api.out: "OK" or the error's query code */
    int64_t http_status;
    int64_t bytes;            /* api.out: of the body */
    struct qn_str message_id; /* "mid" */
    struct qn_str key;        /* "k": business key, when the body has one */
    struct qn_str
        payload_id; /* the body's payload.id: fault rules accept it for the key; not rendered */
    struct qn_str handle;  /* "h" */
    int64_t receive_count; /* "n": lease number */
    int64_t deadline_ms;
    struct qn_str group;
    struct qn_str sequence_number;
    struct qn_str reason; /* "cmv0", "timeout", "fault", free text of mark */
    struct qn_str rule;   /* fault: its name; api.*: the rule that touched it */
    int64_t match;        /* fault: match index */
    struct qn_str target; /* fault: what was hit; msg.dlq, msg.move: the other queue */
    int64_t from_ms;      /* clock */
    int64_t to_ms;
    int64_t count;
    struct qn_str region;       /* api.in: the caller's; queue.create: the queue's; else the queue's
                                   where it is not the caller's */
    struct qn_str user_agent;   /* api.in: "agent", with the first call of a connection */
    struct qn_str queue_region; /* of lease.* and msg.*, for fault rules; not rendered */
};

/* A zeroed event with every integer absent. */
void qn_event_init(struct qn_event *event, enum qn_event_kind kind);
/* "api.in" ... */
const char *qn_event_kind_name(enum qn_event_kind kind);
/* lease.* and msg.*: what a store that came back without the journal entry forgets. */
bool qn_event_is_state(enum qn_event_kind kind);

/* The fields beside kind, virtual_ms and lsn, in the order in which they are encoded and rendered.
 */
struct qn_event_field {
    const char *name; /* in JSON; NULL: not rendered */
    bool is_text;     /* struct qn_str, else int64_t */
    size_t offset;
};
enum { QN_EVENT_FIELD_COUNT = 31 };
extern const struct qn_event_field qn_event_fields[QN_EVENT_FIELD_COUNT];

/* The keys by which a message is known outside of SQS: the string members idempotencyKey and
 * payload.id of a JSON body. Absent ones are none, and both are when the body is not a JSON object.
 * Texts lie in the body or in the arena. */
void qn_event_body_keys(struct qn_str body, struct qn_arena *arena, struct qn_str *ret_key,
                        struct qn_str *ret_payload_id);

/* The events of one request, gathered by the engine and the loop before the journal knows the LSN.
 * `wanted` says whether anybody reads: the engine fills nothing otherwise. Events are encoded
 * (qn_event_encode), one behind the other. */
struct qn_event_list {
    bool wanted;
    struct qn_buf encoded; /* length-prefixed */
};

void qn_event_encode(struct qn_buf *buf, const struct qn_event *event);
/* Reads one event; its texts are views into the reader's bytes. */
QN_MUST_CHECK bool qn_event_decode(struct qn_reader *reader, struct qn_event *ret_event);
/* Sets what is known only when the event is appended, in the encoded form that begins at `encoded`.
 */
void qn_event_stamp(char *encoded, int64_t virtual_ms, uint64_t lsn);
/* Adds it, unless nobody reads. At the ceiling of `encoded` the whole event is left out and its
 * `overflow` is set. */
void qn_event_list_add(struct qn_event_list *list, const struct qn_event *event);

#endif
