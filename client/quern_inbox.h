/* quern_inbox: what makes a message that comes twice take effect once, on SQLite. Three tables
 * beside the program's own, in its database:
 *
 * - the inbox says which business keys are done. It is written in the transaction of the effect, so
 *   there is never one without the other.
 * - the ledger says which external calls were begun and what they answered, for effects that no
 *   transaction can hold: a payment, a mail.
 * - the outbox holds messages to be sent; they are written in the transaction of the effect, and a
 *   relay sends them afterwards, perhaps twice.
 *
 * An inbox may be used by any number of threads; each call takes a connection of its own. Functions
 * that get a transaction belong to the callback that was given it. */
#ifndef QUERN_INBOX_H
#define QUERN_INBOX_H

#include "quern_consumer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sqlite3;
struct quern_inbox;

struct quern_inbox_options {
    const char *path;     /* the program's database; made when it is not there */
    const char *consumer; /* whose keys these are: two consumers of one database do the same message
                             once each */
    int64_t stale_ms; /* a claim is renewed three times in this while its work goes on, so one that
                         is older is of a process that died; 0: 20,000 */
    int64_t busy_ms;  /* how long to wait for another writer; 0: 5,000 */
    int64_t (*now_ms)(void *state); /* for tests: the wall clock; NULL: the system's */
    void *state;
};

/* Opens the database, makes it if need be, and the three tables in it; those of an older version
 * are extended in place. Texts of the options are copied. The database is set to WAL, and stays so.
 * Several processes may open it at the same time.
 * Errors: DatabaseError, is_retryable: the file cannot be opened or written, is no database, or
 * another writer kept it for longer than busy_ms. */
bool quern_inbox_open(const struct quern_inbox_options *options, struct quern_inbox **ret_inbox,
                      struct quern_error *err);
/* No call may be under way. Accepts NULL. */
void quern_inbox_close(struct quern_inbox *inbox);

/* One piece of work. */
struct quern_inbox_work {
    const char *key; /* the business key, not the message id: a producer may send twice */
    /* What the key stands for: the same key with another payload is a mistake of the sender, and
     * permanent. */
    const void *payload;
    size_t payload_len;
    /* Slow work and external calls, outside of any transaction; NULL: none. While it runs the key
     * is claimed: another that has it gets a retry. */
    struct quern_result (*prepare)(void *state, struct quern_delivery *delivery);
    /* The effect, in the open transaction, which it neither commits nor rolls back. Only with
     * QUERN_DONE is it committed, together with the note that the key is done. */
    struct quern_result (*apply)(void *state, struct quern_delivery *delivery,
                                 struct sqlite3 *transaction);
    void *state;
};

/* For a handler that finds key and effect itself; `inbox` and `apply` of the consumer's options do
 * it before a handler and for it. To be returned: QUERN_DONE also when the key was done before
 * (*ret_was_done, which may be NULL); QUERN_RETRY when the database fails, and when somebody else
 * is at it: for when that claim is stale unless it is renewed, so a message whose worker died comes
 * once in vain. */
struct quern_result quern_inbox_do(struct quern_inbox *inbox, struct quern_delivery *delivery,
                                   const struct quern_inbox_work *work, bool *ret_was_done);

/* ---- ledger ---- */

enum quern_ledger_state {
    QUERN_LEDGER_NEW,     /* never tried: noted now, make the call */
    QUERN_LEDGER_UNKNOWN, /* begun before, and nobody knows how it ended: ask the other side, or
                             repeat with the same idempotency key */
    QUERN_LEDGER_DONE     /* *ret_answer is what was noted; quern_text_free takes it */
};

/* Before an external call, named by the business key and the step; what it notes is durable when it
 * returns. *ret_answer is set with QUERN_LEDGER_DONE only. Errors: DatabaseError, is_retryable;
 * then nothing is known, and the call must not be made. */
bool quern_ledger_begin(struct quern_inbox *inbox, const char *key, const char *step,
                        enum quern_ledger_state *ret_state, char **ret_answer,
                        struct quern_error *err);
/* After it: notes the answer, which must not be NULL, in place of one noted before. Errors:
 * DatabaseError, is_retryable; then the call counts as begun, QUERN_LEDGER_UNKNOWN. */
bool quern_ledger_finish(struct quern_inbox *inbox, const char *key, const char *step,
                         const char *answer, struct quern_error *err);

/* ---- outbox ---- */

/* Within `apply`: to be sent when the transaction is committed, with all that the message says;
 * delay_s counts from when the relay sends it. A FIFO queue gets an id of the entry when the
 * message has no deduplication id, unlike that of any other entry of any database, so that what the
 * relay sends twice is there once. What the queue itself refuses is found by the relay. Errors:
 * InvalidText, DatabaseError. */
bool quern_outbox_add(struct sqlite3 *transaction, const char *queue_url,
                      const struct quern_message *message, struct quern_error *err);

/* Sends what is there, oldest first, up to `most`; each is forgotten once it is sent. A message
 * that cannot be sent holds up what is behind it for the same queue, so that its order is kept, and
 * nothing else: the relay goes on with the other queues. It is tried again by each call, the first
 * of its queue. One relay at a time keeps the order.
 * False: err is of the first queue that is stuck, with its URL before the message, and
 * quern_outbox_list_stuck has all of them; or it is DatabaseError or Cancelled, which end the call
 * at once. *ret_sent counts in any case. */
bool quern_outbox_relay(struct quern_inbox *inbox, struct quern_client *client, int64_t most,
                        int64_t *ret_sent, struct quern_error *err);

/* A message that could not be sent when the relay last tried. */
struct quern_outbox_entry {
    int64_t id; /* within this database; never used again */
    const char *queue_url;
    struct quern_message message; /* as it is sent */
    const char *error_code;       /* as in struct quern_error */
    const char *error_message;
    bool is_retryable;      /* the queue may take it later; else somebody has to see to it */
    int64_t stuck_since_ms; /* when this error was met first, since the epoch */
};

struct quern_outbox_entries {
    const struct quern_outbox_entry *items; /* oldest first */
    size_t count;
};

/* Lists what holds up its queue: one message of each queue that is stuck. quern_answer_free takes
 * the list. Errors: DatabaseError. */
bool quern_outbox_list_stuck(struct quern_inbox *inbox, struct quern_outbox_entries **ret_entries,
                             struct quern_error *err);
/* The way past one that can never be sent: forgets it, sent or not, and the next call of the relay
 * goes on behind it. Who wants to keep it writes it down first. One that is not there is no error.
 * Errors: DatabaseError. */
bool quern_outbox_drop(struct quern_inbox *inbox, int64_t id, struct quern_error *err);

#ifdef __cplusplus
}
#endif

#endif
