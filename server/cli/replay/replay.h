/* What the files of a replay share: its state, the connections, and what came of each request. */
#ifndef QN_CLI_REPLAY_REPLAY_H
#define QN_CLI_REPLAY_REPLAY_H

#include <pthread.h>

#include "client/internal.h"
#include "server/cli/remote.h"
#include "server/cli/replay/session.h"

enum qn_replay_state {
    QN_REPLAY_UNSENT,
    QN_REPLAY_SENT,
    QN_REPLAY_DONE /* answered, failed or left out */
};

/* One request on its way; belongs to the connection's thread until it comes back. */
struct qn_replay_job {
    uint32_t request;
    char *action;
    json_t *input;
    char *headers[3];
    size_t header_count;
    struct quern_client *client;
    /* what came back */
    bool is_answered; /* with success */
    json_t *output;
    struct quern_error err;
};

/* A connection of the recording, made anew. Its thread runs from its first request to its last. */
struct qn_replay_connection {
    uint32_t next;    /* its next request, or NONE */
    uint32_t waiting; /* requests that are to be sent by now */
    bool is_busy;
    bool has_thread;
    pthread_t thread;
    int jobs[2]; /* a pipe of pointers; NULL ends the thread */
    struct quern_client *client;
    char *access_key; /* of the client; NULL: unsigned */
    char *region;
};

/* A queue of the recording whose counterpart is known. */
struct qn_replay_queue {
    char *account;
    char *name;
    char *replayed_account;
};

struct qn_replay_target {
    bool is_amazon;
    bool is_quern;
    bool clock_moves;       /* it has a virtual clock, which stands still */
    int64_t clock_ms;       /* of it, as far as it was moved */
    int64_t clock_ahead_ms; /* of the recording's */
    int64_t requests_before;
};

struct qn_replay_options {
    double
        speed; /* 0: as fast as it goes, each request when the one before is answered or parked */
    const char *account; /* NULL: the recorded access keys */
    const char *region;  /* NULL: the recorded ones */
    int64_t timeout_ms;
};

/* What came out otherwise than recorded. */
struct qn_replay_difference {
    int64_t n;
    int64_t line;
    char *action;
    char *recorded;
    char *replayed;
    char *rule; /* that touched it in the recording, or NULL */
};

struct qn_replay_tally {
    char *action;
    int64_t requests;
    int64_t same;
    int64_t other;
    int64_t left_out;
    int64_t not_compared; /* the recording has no whole answer */
};

enum { QN_REPLAY_DIFFERENCES = 20 };

struct qn_replay {
    struct qn_remote *remote;
    struct qn_replay_options options;
    struct qn_session session;
    struct qn_replay_target target;
    enum qn_replay_state *states; /* of the requests */
    struct qn_replay_connection *connections;
    int results[2]; /* a pipe of jobs that came back */
    int signals;    /* a signalfd */
    bool is_interrupted;
    bool shows_progress;
    int64_t next_progress_ms;
    size_t sent;
    size_t under_way;
    size_t done;
    struct qn_replay_queue *queues;
    size_t queue_count;
    struct qn_replay_tally *tallies;
    size_t tally_count;
    struct qn_replay_difference differences[QN_REPLAY_DIFFERENCES];
    size_t difference_count;
    int64_t entries_left_out;
    int64_t unsendable; /* requests that were none of SQS */
    int64_t clock_moves_left_out;
    struct qn_buf queues_made; /* their names */
};

/* ---- target.c ---- */

/* Finds out whom we speak to, and makes the queues that the recording found at its start. */
QN_MUST_CHECK bool qn_replay_meet(struct qn_replay *replay, struct quern_error *err);
/* Moves its clock on to where the recording's was, if it can be moved. */
QN_MUST_CHECK bool qn_replay_follow_clock(struct qn_replay *replay,
                                          const struct qn_session_item *item,
                                          struct quern_error *err);
/* The same by a recorded move. */
QN_MUST_CHECK bool qn_replay_move_clock(struct qn_replay *replay, uint32_t item,
                                        struct quern_error *err);
/* Asks a Quern whether all requests that were sent have been taken up ... */
bool qn_replay_is_taken_up(struct qn_replay *replay);
/* ... and whether all that are not answered wait for something else to happen. */
bool qn_replay_is_parked(struct qn_replay *replay);

/* ---- rewrite.c ---- */

enum qn_replay_fitness {
    QN_REPLAY_FITS,
    QN_REPLAY_TOO_EARLY, /* what it names was not given yet */
    QN_REPLAY_HOMELESS   /* what it names has no counterpart */
};

/* Puts what the replayed calls gave in the place of what the recording says. */
enum qn_replay_fitness qn_replay_rewrite(struct qn_replay *replay, json_t *input,
                                         const json_t *answer, const char *region);
/* Notes what the counterpart of a recorded answer gave. */
void qn_replay_note_output(struct qn_replay *replay, const json_t *recorded, const json_t *output);
void qn_replay_note_queue(struct qn_replay *replay, struct qn_str recorded_url,
                          struct qn_str replayed_url);

/* ---- connection.c ---- */

/* Sends the connection's next request, if it is idle and has one that is due and can be sent; a
 * request that cannot be sent any more is left out. False: the replay cannot go on. */
QN_MUST_CHECK bool qn_replay_try(struct qn_replay *replay, struct qn_replay_connection *connection,
                                 struct qn_error *err);
/* Waits for results at most so long (-1: for ever) and takes them. */
QN_MUST_CHECK bool qn_replay_wait(struct qn_replay *replay, int wait_ms, struct qn_error *err);
/* Its client hangs up. */
void qn_replay_hang_up(struct qn_replay *replay, uint32_t request);
void qn_replay_disconnect(struct qn_replay *replay);

/* ---- tally.c ---- */

/* Compares what came back with the recording. */
void qn_replay_compare(struct qn_replay *replay, const json_t *request, const json_t *answer,
                       const struct qn_replay_job *job);
void qn_replay_count_left_out(struct qn_replay *replay, const json_t *request);
/* Prints the table; the exit code. */
int qn_replay_report(struct qn_replay *replay, int64_t took_ms);
void qn_replay_forget_tally(struct qn_replay *replay);

/* ---- pace.c ---- */

/* Sends everything in its time. */
QN_MUST_CHECK bool qn_replay_run(struct qn_replay *replay, struct qn_error *err);

#endif
