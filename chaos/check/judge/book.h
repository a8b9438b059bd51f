/* Leases and runs of handlers as one story: who held which message from when to when, and which run
 * belonged to which lease. Made once per history, for all checkers that ask about leases. */
#ifndef QN_CHECK_JUDGE_BOOK_H
#define QN_CHECK_JUDGE_BOOK_H

#include "chaos/check/judge/judge.h"

enum qn_lease_end {
    QN_LEASE_OPEN,
    QN_LEASE_DELETED,
    QN_LEASE_RELEASED, /* visibility 0, by the consumer */
    QN_LEASE_LAPSED,   /* its time was over */
    QN_LEASE_TAKEN,    /* by a fault */
    QN_LEASE_GONE      /* the message left the queue in another way */
};

/* One instance of the consumer. It has several lives when it is started again. */
struct qn_book_instance {
    struct qn_str name;
    int64_t life;
    int64_t held; /* leases, by the process that is alive */
    int64_t most_held;
    int64_t open_receives;
    bool has_received;      /* it was granted a lease */
    bool is_down;           /* its process has ended, and the next one is not there yet */
    int64_t pollers;        /* most receives open at once */
    struct qn_stop *stop;   /* it was told to end; NULL: not in this life */
    uint64_t disturbed_seq; /* it was last stopped or let go on here; 0: never */
};

struct qn_lease {
    const struct qn_check_event *grant;
    const struct qn_check_event *delivered; /* the answer that carried it; NULL: none did */
    const struct qn_check_event *ended;     /* NULL: open to the end */
    enum qn_lease_end end;
    bool is_kept_away; /* a rule broke the answer with it: no client can read that */
    struct qn_book_instance *owner;
    int64_t life; /* of the owner */
    int64_t deadline_ms;
    bool was_shortened; /* by the consumer, below what was left or what a lease lasts: given back */
    bool is_left;       /* its process had ended before it did */
    bool is_excused;    /* that it ended when it did was the scenario's doing, not the consumer's */
    struct qn_lease *older; /* of the same message */
    struct qn_lease *older_of_key;
    struct qn_lease *next;       /* in order of grants */
    struct qn_lease *next_ended; /* in order of ends */
};

/* One unit of work at the sink. */
struct qn_handler {
    const struct qn_check_event *begin;
    const struct qn_check_event *end;  /* commit or abort; NULL: open to the end */
    const struct qn_check_event *left; /* its client hung up; NULL: it waited */
    struct qn_book_instance *owner;    /* NULL: unknown */
    int64_t life;
    struct qn_lease *lease; /* NULL: it had none in this life, or it cannot be told */
    bool is_ambiguous;      /* it cannot be told */
    struct qn_handler *next_of_run;
    struct qn_handler *next;       /* in order of begins */
    struct qn_handler *next_ended; /* in order of ends */
};

/* A SIGTERM and what came of it. */
struct qn_stop {
    struct qn_book_instance *owner;
    int64_t life;
    const struct qn_check_event *told;   /* the SIGTERM */
    const struct qn_check_event *killed; /* SIGKILL by the harness; NULL: none was needed */
    const struct qn_check_event *exit;   /* NULL: it did not end */
    bool is_judged;                      /* false: it is only the end of the scenario */
    struct qn_stop *next;
};

struct qn_book {
    const struct qn_judge_input *in;
    struct qn_arena arena;
    struct qn_table instances; /* struct qn_book_instance */
    struct qn_lease *leases;
    struct qn_lease *last_lease;
    struct qn_lease *ended_leases;
    struct qn_lease *last_ended_lease;
    struct qn_handler *handlers;
    struct qn_handler *last_handler;
    struct qn_handler *ended_handlers;
    struct qn_handler *last_ended_handler;
    struct qn_stop *stops;
    struct qn_stop *last_stop;
    bool is_ended;                      /* the mark of the end was seen */
    struct qn_table by_handle;          /* struct qn_lease * */
    struct qn_table by_message;         /* struct qn_lease *: the newest */
    struct qn_table by_key;             /* struct qn_lease *: the newest */
    struct qn_table by_request;         /* struct qn_lease *: the first that it granted */
    struct qn_table by_run;             /* struct qn_handler * */
    const struct qn_check_event **busy; /* in order: busy.h */
    size_t busy_count;
    struct qn_str only;     /* the only instance, none when there are several */
    uint64_t disturbed_seq; /* the server was away here; 0: never */
};

/* in must live as long as the book. */
void qn_book_init(struct qn_book *book, const struct qn_judge_input *in);
void qn_book_done(struct qn_book *book);
/* NULL when the name is unknown or the harness's own. */
struct qn_book_instance *qn_book_instance_of(const struct qn_book *book, struct qn_str name);
/* NULL when it was never granted. */
struct qn_lease *qn_book_lease_of(const struct qn_book *book, struct qn_str handle);
/* How many receives an instance had open at once: who keeps so many open works on as many. */
int64_t qn_book_most_polls(const struct qn_book *book);
/* The next lease granted by the same request, or NULL. */
struct qn_lease *qn_book_batch_mate(const struct qn_lease *lease);
/* Of the messages that a process worked on when it was told to end, those that it left at its end:
 * hidden from others, as NO-STRAND has it; or, if is_done, with their effect and not deleted. */
size_t qn_judge_left(const struct qn_judge_input *in, bool is_done);

#endif
