/* Moving messages from queue to queue: what the run and its single steps share. */
#ifndef QN_CLI_MOVE_H
#define QN_CLI_MOVE_H

#include "server/cli/progress.h"
#include "server/cli/remote.h"

/* A message on its way. */
struct qn_move_item {
    const struct quern_received *message;
    bool is_sent;
    int unsure;         /* sends that may have stored it although they failed */
    bool had_no_answer; /* the last of those */
    char unsure_reason[QUERN_MESSAGE_MAX + QUERN_CODE_MAX + 2];
    bool is_refused;
    char code[QUERN_CODE_MAX]; /* why it stays */
    char reason[QUERN_MESSAGE_MAX];
};

struct qn_move {
    struct qn_remote *remote;
    /* Sends without retries of the library's own: of a send without an answer we want to know. */
    struct quern_client *sender;
    char *from;
    char *to;
    const char *group; /* of messages that have none */
    bool is_from_fifo;
    bool is_to_fifo;
    struct qn_progress progress;
    int64_t visibility_s;
    int64_t max; /* 0: all */
    int64_t moved;
    int64_t left;   /* about so many were not there to be received */
    json_t *stayed; /* [{"message_id", "code", "message"}] */
    json_t *twice;  /* likewise, and how often at most in the target ("copies"): those that may be
                     * there more than once, or in both queues */
    char **returns; /* receipt handles of what stays, to be given back at the end */
    size_t return_count;
    bool is_given_up;
};

/* move_batch.c: sends the items, and deletes those that are sent from where they were. Whatever
 * fails is noted in the items and in the move. */
void qn_move_batch(struct qn_move *move, struct qn_move_item *items, size_t count);

#endif
