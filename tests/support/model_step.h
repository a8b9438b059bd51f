/* Steps of a random test, as data: drawn from a seed, printed, replayed whole or in part. A step
 * names what others brought by their numbers, so that each makes sense without the rest. */
#ifndef QN_TESTS_MODEL_STEP_H
#define QN_TESTS_MODEL_STEP_H

#include <stdio.h>

#include "server/base/random.h"
#include "tests/support/reference.h"

enum { MODEL_STEPS_MAX = 20000, MODEL_ENTRIES = 6, MODEL_RECENT = 24 };

enum model_queue {
    MODEL_STANDARD,
    MODEL_STANDARD_DEAD,
    MODEL_FIFO,
    MODEL_FIFO_DEAD,
    MODEL_DELAYING,
    MODEL_BY_CONTENT,
    MODEL_BY_GROUP,
    MODEL_TENANTS,
};

enum model_action {
    MODEL_SEND,
    MODEL_SEND_BATCH,
    MODEL_RECEIVE,
    MODEL_POLL,
    MODEL_POLL_GOES,
    MODEL_DELETE,
    MODEL_DELETE_BATCH,
    MODEL_CHANGE,
    MODEL_CHANGE_BATCH,
    MODEL_ADVANCE,
    MODEL_SET_VISIBILITY,
    MODEL_SET_DELAY,
    MODEL_SET_RETENTION,
    MODEL_SET_REDRIVE,
    MODEL_SET_CONTENT_BASED,
    MODEL_PURGE,
    MODEL_DELETE_QUEUE,
    MODEL_CREATE_QUEUE,
    MODEL_MOVE,
    MODEL_CANCEL_MOVE,
    MODEL_LIST_MOVES,
    MODEL_RESTART,
};

/* One message to be sent, or one handle and what is done with it. */
struct model_entry {
    int delay_s, group, deduplication, content; /* as in struct reference_send */
    int from, place;                            /* the handle: number of its receive, and where */
    int visibility_s;
};

struct model_step {
    int number;
    enum model_action action;
    int queue;
    int max, visibility_s, attempt, wait_s; /* receives and polls */
    int span_ms;
    bool leaps;
    int value;  /* of an attribute, or a rate */
    int target; /* of a move */
    int from;   /* the poll or the move that this one ends */
    int entry_count;
    struct model_entry entries[MODEL_ENTRIES];
};

/* What drawing goes by. */
struct model_draw {
    struct qn_random random;
    int weights[REFERENCE_QUEUES];
    int recent[MODEL_RECENT]; /* receives and polls that may have brought something */
    int recent_count;
    int latest_poll, latest_move;
    int gone;   /* a queue that was deleted, -1 for none */
    int stored; /* so many messages are stored now; whoever runs the steps says it */
    bool polls;
};

struct model_options {
    unsigned seed;
    int steps;
    enum reference_fault fault;
};

const char *model_queue_name(int queue);
bool model_queue_is_fifo(int queue);

void model_draw_init(struct model_draw *draw, unsigned seed);
struct model_step model_draw_step(struct model_draw *draw, int number);
void model_print_step(FILE *out, const struct model_step *step);

/* ---- model_run.c ---- */

/* Plays steps against the engine and the reference; without steps it draws them, into `steps`, with
 * *ret_count always telling how many there are. False when the two differ: ret_problem says how. */
bool model_run(const struct model_options *options, struct model_step *steps, int count,
               int *ret_count, char *ret_problem, size_t problem_size);

#endif
