/* The table of SQS actions and what all of them share. One row in actions.def and one file each. */
#ifndef QN_ACTIONS_ACTIONS_H
#define QN_ACTIONS_ACTIONS_H

#include "server/engine/engine.h"
#include "server/model/request.h"

enum qn_action_id {
#define QN_ACTION(symbol, wire_name, input, output, flags) QN_ACTION_##symbol,
#include "server/actions/actions.def"
#undef QN_ACTION
    QN_ACTION_COUNT
};

enum {
    QN_ACTION_ACCOUNT_SCOPE = 1, /* not accepted on a queue's path in the query protocol */
    QN_ACTION_CHANGES = 2,       /* needs room in the journal */
    QN_ACTION_SENDS = 4,         /* refused at the memory ceiling */
    QN_ACTION_LOOKS = 8,         /* has a look function: touches messages */
    QN_ACTION_SETTLES = 16 /* waits until nothing is due in its queue: moves instants, counts */
};

struct qn_facts;

struct qn_action {
    enum qn_action_id id;
    const char *name; /* "SendMessage" */
    size_t name_len;
    const struct qn_shape *input;
    const struct qn_shape *output;
    unsigned flags;
    /* Resolves the queue into tx->queue and refuses what AWS refuses. Changes nothing (but with
     * --auto-create the queue comes into being here). */
    bool (*check)(struct qn_tx *tx, const void *input, struct qn_error *err);
    /* After a successful check in the same transaction. */
    bool (*execute)(struct qn_tx *tx, const void *input, void *ret_output, struct qn_error *err);
    /* Lists the messages that execute would touch; changes nothing. NULL without QN_ACTION_LOOKS.
     */
    void (*look)(struct qn_tx *tx, const void *input, struct qn_facts *ret_facts);
};

static inline struct qn_str qn_action_name(const struct qn_action *action)
{
    return qn_str(action->name, action->name_len);
}

/* The functions and shapes of each row; look functions exist only with QN_ACTION_LOOKS. */
#define QN_ACTION(symbol, wire_name, input, output, flags)                                         \
    extern const struct qn_shape input;                                                            \
    extern const struct qn_shape output;                                                           \
    bool qn_##symbol##_check(struct qn_tx *tx, const void *in, struct qn_error *err);              \
    bool qn_##symbol##_execute(struct qn_tx *tx, const void *in, void *ret_output,                 \
                               struct qn_error *err);                                              \
    void qn_##symbol##_look(struct qn_tx *tx, const void *in, struct qn_facts *ret_facts);
#include "server/actions/actions.def"
#undef QN_ACTION

/* By wire name (case matters), or NULL. */
const struct qn_action *qn_action_find(struct qn_str name);
/* The i-th row, 0 <= i < QN_ACTION_COUNT. */
const struct qn_action *qn_action_at(size_t i);

#endif
