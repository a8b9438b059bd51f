/* Something a rule wants done apart from the verdict on a request: to stored messages, to queues,
 * to the clock, to the process. The loop carries it out. */
#ifndef QN_MODEL_EFFECT_H
#define QN_MODEL_EFFECT_H

#include "server/base/str.h"

enum qn_effect_kind {
#define QN_EFFECT(symbol, ...) QN_EFFECT_##symbol,
#include "server/model/effect.def"
#undef QN_EFFECT
    QN_EFFECT_KIND_COUNT
};

/* Texts that do not apply are none, numbers 0. */
struct qn_effect {
    enum qn_effect_kind kind;
    const char *word; /* of the action */
    struct qn_str rule;
    struct qn_str request;    /* the id of that at which the rule fired, or none */
    int64_t due_ms;           /* virtual */
    struct qn_str account;    /* of the event's queue, or none */
    struct qn_str region;     /* the same */
    struct qn_str queue;      /* the one that the rule names, else the event's; none for a tick */
    struct qn_str message_id; /* EACH */
    struct qn_str handle;     /* EACH: of the lease, or none when the event has none */
    int64_t receive_count;    /* EACH: of that lease; below 0: not known */
    struct qn_str instance;   /* an access key: DELIVER_AGAIN: the event's for same and other */
    int64_t connection;       /* the event's, 0 for none: who had no access key */
    struct qn_str text;
    struct qn_str value;
    int64_t amount_ms;
    int64_t count;      /* REORDER: the window, -1 for the default */
    int64_t restart_ms; /* CRASH, RESTORE: real, until a supervisor starts it again; -1: its own */
    uint64_t draw;      /* a random number of its own: by seed, rule and match index */
    bool force;         /* JUMP */
};

#endif
