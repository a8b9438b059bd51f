/* Actions and engine in process: a clock that moves only when told to, a fixed seed, no socket.
 * Requests go the way of the loop: what is due is settled first, then the request runs, then the
 * waiters that it woke.
 *
 * JSON in this interface is written with ' for ". Texts that a function returns live until
 * fixture_close. What must not happen in a test's set-up ends the test with one line. */
#ifndef QN_TESTS_FIXTURE_H
#define QN_TESTS_FIXTURE_H

#include <jansson.h>

#include "server/actions/actions.h"
#include "tests/support/journal_fixture.h"

/* What the last receive of a body brought. */
struct fixture_seen {
    struct fixture_seen *older;
    const char *body;
    const char *id;
    const char *handle;
    int64_t at_ms;
};

/* A ReceiveMessage that may wait. */
struct fixture_poll {
    struct fixture_poll *next;
    struct qn_waiter waiter;
    struct qn_request request;
    bool is_answered;
    enum qn_error_code code;
    const char *bodies; /* NULL until it is answered without an error */
    json_t *answer;     /* the same */
    int64_t answered_at_ms;
};

struct fixture {
    struct qn_engine_options options; /* change them before the first call, then fixture_restart */
    struct qn_engine *engine;
    struct qn_caller caller;
    int64_t now_ms;
    uint64_t seed;
    uint64_t sequence;                /* of the last request */
    bool looks;                       /* each request is preceded by its look */
    bool evicts;                      /* contents leave memory as soon as they may */
    int slice;                        /* budget of one settle, 1000 */
    bool is_behind;                   /* requests run although something is due */
    bool is_unreadable;               /* contents that left memory cannot be read */
    const struct qn_verdict *verdict; /* for the next requests */
    struct qn_event_list events;      /* with events.wanted: of all that happened */

    bool has_store; /* rows are kept, else there is no journal at all */
    struct row_set rows;
    struct journal_fixture *file; /* a real journal instead of the rows */
    uint64_t lsn;

    struct qn_error err; /* of the last call; code NONE after success */
    json_t *answer;      /* of the last call that succeeded */
    struct qn_facts facts;
    struct fixture_poll *polls;
    struct fixture_seen *seen;
    struct qn_arena arena;
    struct qn_request request; /* the last one */
    uint64_t next_id;
};

/* Starts at FIXTURE_START_MS with AWS's limits, and keeps rows for restarts. */
#define FIXTURE_START_MS INT64_C(1700000000000)
void fixture_open(struct fixture *f);
void fixture_close(struct fixture *f);
/* A new engine from what the store holds; polls end. */
void fixture_restart(struct fixture *f);
/* From here on the store is a database with its ring. Before the first call. */
void fixture_use_file(struct fixture *f);
/* From here on there is no store. Before the first call. */
void fixture_use_no_store(struct fixture *f);

/* Does what is due now, then serves the waiters. */
void fixture_settle(struct fixture *f);
/* Moves the clock from one instant at which something falls due to the next. */
void fixture_advance_ms(struct fixture *f, int64_t by_ms);
void fixture_advance_s(struct fixture *f, int64_t by_s);
/* Moves it in one leap. */
void fixture_leap_ms(struct fixture *f, int64_t by_ms);

/* One request; true when it succeeded. The input's members stand in one text, without the outer
 * braces. */
bool fixture_call(struct fixture *f, const char *action, const char *format, ...) QN_PRINTF(3, 4);
/* The same, and what it answers: NONE or the error. */
enum qn_error_code fixture_code(struct fixture *f, const char *action, const char *format, ...)
    QN_PRINTF(3, 4);
/* The same, and it must succeed. */
void fixture_must(struct fixture *f, const char *action, const char *format, ...) QN_PRINTF(3, 4);
/* A text of the last answer, by a path like "Messages.0.Attributes.SentTimestamp"; numbers and
 * booleans as text. NULL when it is not there. */
const char *fixture_get(struct fixture *f, const char *path);
int64_t fixture_get_integer(struct fixture *f, const char *path);
/* Length of a list or number of members, 0 when it is not there. */
size_t fixture_count(struct fixture *f, const char *path);

/* ---- for requests that go another way ---- */

/* A transaction with a random stream of its own, and its end: what it wrote is kept. */
void fixture_begin(struct fixture *f, struct qn_tx *tx, struct qn_arena *arena,
                   struct qn_random *random, struct qn_buf *entry);
void fixture_commit(struct fixture *f, struct qn_buf *entry);
/* The same with all that it takes. */
struct fixture_change {
    struct qn_tx tx;
    struct qn_arena arena;
    struct qn_random random;
    struct qn_buf entry;
};
struct qn_tx *fixture_change_begin(struct fixture *f, struct fixture_change *change);
void fixture_change_end(struct fixture *f, struct fixture_change *change);
/* Polls that were woken are answered. */
void fixture_serve_waiters(struct fixture *f);

/* ---- words for what tests do all the time ---- */

/* attributes: members of the map, "" for none. A .fifo name asks for a FIFO queue. */
void fixture_create(struct fixture *f, const char *queue, const char *attributes);
void fixture_set(struct fixture *f, const char *queue, const char *attributes);
/* One attribute of the queue, NULL when it has none. */
const char *fixture_attribute(struct fixture *f, const char *queue, const char *name);
const char *fixture_arn(struct fixture *f, const char *queue);
/* Names `target` as the dead-letter queue of `source`. */
void fixture_redrive(struct fixture *f, const char *source, const char *target,
                     int max_receive_count);
/* "visible in-flight delayed". */
const char *fixture_counts(struct fixture *f, const char *queue);

/* Sends bodies divided by blanks, one request each. To a FIFO queue each goes to the group that is
 * its text without digits, under a fresh deduplication id. */
void fixture_send(struct fixture *f, const char *queue, const char *bodies);
/* One body with further members; the message's id. */
const char *fixture_send_with(struct fixture *f, const char *queue, const char *body,
                              const char *members);
/* The bodies received, divided by blanks; "" for none. On an error NULL. */
const char *fixture_receive(struct fixture *f, const char *queue, int max);
const char *fixture_receive_with(struct fixture *f, const char *queue, int max,
                                 const char *members);
/* Of the last receive of this body by the functions above or by a poll. */
const char *fixture_handle(struct fixture *f, const char *body);
const char *fixture_id(struct fixture *f, const char *body);
enum qn_error_code fixture_delete(struct fixture *f, const char *queue, const char *handle);
enum qn_error_code fixture_change(struct fixture *f, const char *queue, const char *handle,
                                  int visibility_s);
/* Deletes what was received last under each of these bodies. */
void fixture_delete_all(struct fixture *f, const char *queue, const char *bodies);

/* Begins a receive that waits up to wait_s. */
struct fixture_poll *fixture_poll(struct fixture *f, const char *queue, int max, int wait_s,
                                  const char *members);
/* Its client is gone. */
void fixture_poll_cancel(struct fixture *f, struct fixture_poll *poll);

/* How many messages and groups operations have looked at. */
uint64_t fixture_looked_at(const struct fixture *f);
struct qn_queue *fixture_queue(struct fixture *f, const char *name);
/* Of all events so far, those of this kind. */
size_t fixture_event_count(const struct fixture *f, enum qn_event_kind kind);

/* Remembers the messages of an answer; their bodies divided by blanks. */
const char *fixture_note_messages(struct fixture *f, const json_t *answer);
const char *fixture_format(struct fixture *f, const char *format, ...) QN_PRINTF(2, 3);

#endif
