/* From a history to a verdict. Everything here is a pure function of the history and of what its
 * header declares: nothing knows which consumer ran. */
#ifndef QN_CHECK_JUDGE_H
#define QN_CHECK_JUDGE_H

#include <jansson.h>

#include "chaos/check/history.h"
#include "chaos/check/table.h"

/* How much of the consumer can be seen. */
enum qn_level {
    QN_LEVEL_PROTOCOL = 0, /* its calls to the queue only */
    QN_LEVEL_COMMAND = 1,  /* how often each effect is there at the end, by the effects command */
    QN_LEVEL_SINK = 2      /* its effects, and when they happen */
};

/* What the consumer is declared to do with a message that it can never work on. */
enum qn_poison {
    QN_POISON_EITHER,
    QN_POISON_DLQ,        /* leave it to the redrive policy */
    QN_POISON_QUARANTINE, /* record it elsewhere, then delete it */
    QN_POISON_DISCARD     /* delete it */
};

/* What makes an effect happen once, as declared. */
enum qn_idempotency { QN_IDEMPOTENCY_KEY, QN_IDEMPOTENCY_MESSAGE_ID, QN_IDEMPOTENCY_NONE };

/* Unless it is declared, work may take so many visibility timeouts. */
enum { QN_WORK_MAX_LEASES = 10 };

/* How the mark begins that says that a scenario was cut off; why stands behind it. */
#define QN_JUDGE_CUT "cut: "

struct qn_book;
struct qn_tally;

/* What a checker is given. */
struct qn_judge_input {
    const struct qn_history *history;
    enum qn_level level;
    struct qn_str queue; /* names; events on other queues are not the consumer's source */
    struct qn_str dlq;   /* none without one */
    struct qn_str self;  /* access key of the harness: its own calls are not the consumer's */
    struct qn_str retry_queue, output_queue; /* of the consumer's own; none without one */
    /* The constants of expressions. */
    int64_t visibility_ms;           /* V */
    int64_t heartbeat_visibility_ms; /* VH: of the scenarios in which a lease is extended */
    int64_t grace_ms;                /* G */
    int64_t slack_ms;                /* what a busy machine adds to bounds in real time */
    int64_t wait_ms;                 /* W: how long the consumer's polls wait */
    int64_t restart_ms;              /* R */
    int64_t concurrency;             /* C: declared or learned; 0: unknown */
    int64_t prefetch;                /* P */
    int64_t max_receive;             /* MRC */
    int64_t soak_ms;                 /* M: how long a soak lasts */
    int64_t work_max_ms;             /* WM: the longest legal work, declared or 10 V */
    const json_t *declared;          /* all that was, as the header of the history has it */
    bool is_concurrency_declared;
    bool is_prefetch_declared;
    bool skips_in_group;    /* FIFO: goes on behind a failure, as declared */
    bool judges_final_stop; /* what comes behind the mark of the end counts too */
    bool tries_heartbeat;   /* it extends again and again, and each time is refused */
    bool is_at_most_once;   /* declared: it deletes before the effect, on purpose */
    enum qn_poison poison;
    enum qn_idempotency idempotency;
    struct qn_str *expected_dead; /* keys that can never succeed */
    size_t expected_dead_count;
    struct qn_str cut;       /* why the scenario ended before its own limit; none: it did not */
    struct qn_str arguments; /* of the invariant at hand: what stands between its brackets */
    /* Made once for all checkers. NULL: made by who needs it. */
    const struct qn_book *book;
    const struct qn_tally *tally;
};

enum qn_severity { QN_MUST, QN_SHOULD, QN_INFO };

enum qn_result { QN_RESULT_PASS, QN_RESULT_FAIL, QN_RESULT_NOT_OBSERVABLE };

enum { QN_WITNESS_MAX = 8, QN_FINDING_TEXT = 320 };

struct qn_finding {
    enum qn_result result;
    enum qn_severity severity; /* of a break: no graver than this, whatever the scenario says */
    uint64_t witness[QN_WITNESS_MAX]; /* sequence numbers, in order */
    size_t witness_count;
    bool is_unexercised; /* not observable because there was no occasion, not for lack of a sink */
    char text[QN_FINDING_TEXT]; /* what was seen; of a pass it may be a figure worth telling, or
                                   empty */
};

typedef void qn_checker(const struct qn_judge_input *in, struct qn_finding *ret_finding);

/* One per file, named as in the list of invariants (README.md). The finding comes in zeroed: a
 * pass. */
qn_checker qn_judge_no_loss;
qn_checker qn_judge_no_phantom;
qn_checker qn_judge_once;
qn_checker qn_judge_ack_after_effect;
qn_checker qn_judge_drained;
qn_checker qn_judge_extend_margin;
qn_checker qn_judge_dlq_exact;
qn_checker qn_judge_group_serial;
qn_checker qn_judge_group_order;
qn_checker qn_judge_survives;
qn_checker qn_judge_no_ack_on_fail;
qn_checker qn_judge_lease_cover;
qn_checker qn_judge_start_live;
qn_checker qn_judge_newest_handle;
qn_checker qn_judge_no_ghost_extend;
qn_checker qn_judge_bounded;
qn_checker qn_judge_no_gap_ack;
qn_checker qn_judge_backoff;
qn_checker qn_judge_quiet;
qn_checker qn_judge_exit_in_grace;
qn_checker qn_judge_no_strand;
qn_checker qn_judge_progress;
qn_checker qn_judge_recovery;
qn_checker qn_judge_distinct_ids;
qn_checker qn_judge_idle_hold;

/* One entry of must, should or info: an invariant with or without arguments, or an expression, and
 * before either a name of its own and a colon. The views are into `text`. */
struct qn_judge_rule {
    struct qn_str name;      /* what reports call it */
    qn_checker *checker;     /* NULL: an expression */
    struct qn_str arguments; /* of the checker, none without brackets */
    struct qn_str expression;
    struct qn_str condition; /* none: it always has the weight of its list */
};
/* Fails when it cannot be read: err says at which column and what was expected. */
QN_MUST_CHECK bool qn_judge_rule_read(struct qn_str text, struct qn_judge_rule *ret_rule,
                                      struct qn_error *err);
QN_MUST_CHECK bool qn_judge_rule_apply(const struct qn_judge_input *in,
                                       const struct qn_judge_rule *rule,
                                       struct qn_finding *ret_finding, struct qn_error *err);
/* Without a condition, or when that is true. Otherwise what it finds is just information. */
QN_MUST_CHECK bool qn_judge_rule_has_weight(const struct qn_judge_input *in,
                                            const struct qn_judge_rule *rule, bool *ret_has,
                                            struct qn_error *err);
/* A member of what was declared, by its name in quern.json; NULL: not said. */
const json_t *qn_declaration(const json_t *declared, struct qn_str name);
/* How often an instance ended without being told to; the finding names them. */
size_t qn_judge_own_exits(const struct qn_judge_input *in, struct qn_finding *ret_finding);
/* Whether the message is meant by one of "k-001, perm, group=A" (qn_tally_selects). */
bool qn_judge_list_has(const struct qn_judge_input *in, struct qn_str list, struct qn_str key);
/* The arguments except this message. */
bool qn_judge_is_excepted(const struct qn_judge_input *in, struct qn_str key);
/* The names of the invariants, one after the other; NULL behind the last. */
const char *qn_judge_checker_name(size_t index);

/* Helpers of the checkers. */
void qn_finding_set(struct qn_finding *finding, enum qn_result result, const char *format, ...)
    QN_PRINTF(3, 4);
/* There was no occasion for it. */
void qn_finding_set_unexercised(struct qn_finding *finding, const char *what);
/* Notes a break, unless one at least as grave was noted: then false. */
bool qn_finding_break(struct qn_finding *finding, enum qn_severity severity, const char *format,
                      ...) QN_PRINTF(3, 4);
/* Beyond the room the event is not named. */
void qn_finding_witness(struct qn_finding *finding, uint64_t seq);
/* Not a state event that a crash took back, and not a call of the harness itself. */
bool qn_judge_counts(const struct qn_judge_input *in, const struct qn_check_event *event);
/* Counts, and is about the source queue. */
bool qn_judge_on_source(const struct qn_judge_input *in, const struct qn_check_event *event);
/* lease.* and msg.*: what the state of the queue is made of. */
bool qn_judge_is_state(const struct qn_check_event *event);
/* A call of the consumer's, of this action (all that begin so when it ends in a star). */
bool qn_judge_is_call(const struct qn_judge_input *in, const struct qn_check_event *event,
                      struct qn_str action);
/* The request, not the answer, of a DeleteMessage or DeleteMessageBatch of the consumer's. */
bool qn_judge_asks_to_delete(const struct qn_judge_input *in, const struct qn_check_event *event);
/* From here on there is something to show for the message k: an effect, a record of the consumer's,
 * or a copy that it sent to the dead-letter queue or to its own retry queue. A step is on the way
 * to an effect: it is enough only of a consumer that has steps alone. */
bool qn_judge_settles(const struct qn_judge_input *in, const struct qn_check_event *event);
/* Whether any instance was ready. */
bool qn_judge_is_ready(const struct qn_history *history);
/* Whether a function was started and never asked for an event; ret_text, of `size` bytes, says why
 * it did not, and what it printed last. */
bool qn_judge_never_started(const struct qn_judge_input *in, char *ret_text, size_t size);
/* What the scenario needs and this consumer does not do at all, in words; NULL: nothing. */
const char *qn_judge_lacks(const struct qn_judge_input *in, const json_t *needs);
/* Why a scenario about effects is a SKIP at this level: takes_counts when the effects command would
 * do for it. */
void qn_judge_say_unseen(enum qn_level level, bool takes_counts, struct qn_buf *reason);
/* Of at least one value; of an even number of them the higher of the two in the middle. */
int64_t qn_judge_median(const int64_t *values, size_t count);
/* What is about extensions says nothing about a consumer that makes none, unless it said so. */
bool qn_judge_never_extends(const struct qn_judge_input *in, const json_t *needs);
/* Without the effect sink the work of a message that kills lasts as long as the consumer's own:
 * whether it was over, and the message deleted. Then nothing was there to be killed. */
bool qn_judge_was_done_before_kill(const struct qn_judge_input *in);
/* A message of the consumer to its output or retry queue that nobody can tell from the others: it
 * has no idempotencyKey. */
bool qn_judge_is_unnamed(const struct qn_judge_input *in, const struct qn_check_event *event);
/* The fault leaves no answer that a client can read. */
bool qn_judge_spoils_answer(const struct qn_check_event *fault);
/* The message can never succeed, as the load says. */
bool qn_judge_is_poison(const struct qn_judge_input *in, struct qn_str key);
/* Whether a text fits a pattern in which * at the end stands for any ending. */
bool qn_judge_fits(struct qn_str text, struct qn_str pattern);
/* What a report calls the message of an event: its key, or its id where nobody knows the key (a
 * body without one that the consumer sent itself, or that was moved and got a new id). */
struct qn_str qn_judge_message_name(const struct qn_check_event *event);
/* By value, as numbers of many digits. */
int qn_judge_compare_sn(struct qn_str a, struct qn_str b);

/* An expression over the history, for example "leases(k-002) >= 2". Fails only when it cannot be
 * read. */
QN_MUST_CHECK bool qn_judge_expression(const struct qn_judge_input *in, struct qn_str text,
                                       struct qn_finding *ret_finding, struct qn_error *err);

/* Whether a sentence tells of each comparison that it makes, when it does not hold; of others their
 * text is shown. */
bool qn_judge_expression_has_words(struct qn_str text);

/* The value of one without comparison, for example "3*V+10s" in milliseconds. */
QN_MUST_CHECK bool qn_judge_number(const struct qn_judge_input *in, struct qn_str text,
                                   int64_t *ret_value, struct qn_error *err);

/* What an expression counts, per business key and over all. */
struct qn_tally_key {
    struct qn_str outcome; /* of the load, none when the history does not tell */
    struct qn_str grp;
    int64_t sent, leases, attempts, effects, deletes, rejects, dead;
    int64_t outputs;                /* what the consumer sent to its output queue */
    int64_t resent, resent_at_once; /* to its retry queue; those without a delay */
    int64_t changed;                /* runs with another payload than what was sent */
    int64_t digest;                 /* of that; 0: not told */
};
struct qn_tally {
    struct qn_table keys;  /* struct qn_tally_key */
    struct qn_table calls; /* int64_t per action */
    struct qn_table names; /* struct qn_str: keys by another name that the load gives them */
    bool has_effect;       /* a handler called for one, be it in the end or instead of steps */
};
void qn_tally_init(struct qn_tally *tally, const struct qn_judge_input *in);
/* Whether the message with this key is meant by: an outcome of the load, group=NAME, all, or a key,
 * where * at the end stands for any ending. */
bool qn_tally_selects(const struct qn_tally *tally, struct qn_str which, struct qn_str key);
void qn_tally_done(struct qn_tally *tally);

enum qn_outcome {
    QN_OUTCOME_PASS,
    QN_OUTCOME_WARN,
    QN_OUTCOME_INFO,
    QN_OUTCOME_FAIL,
    QN_OUTCOME_SKIP,
    QN_OUTCOME_INCONCLUSIVE,
    QN_OUTCOME_ERROR,
    QN_OUTCOME_COUNT
};
/* "PASS"... */
const char *qn_outcome_name(enum qn_outcome outcome);

struct qn_invariant {
    const char *name; /* lies in the judgement's arena */
    enum qn_severity severity;
    bool is_weightless;      /* the condition behind its `if` does not hold */
    bool may_follow_an_exit; /* a process that ends by itself may break it, too */
    struct qn_finding finding;
};

struct qn_planned_fault {
    const char *rule;
    int64_t planned;
    int64_t fired;   /* with an effect */
    int64_t vain;    /* without: what it wanted to do could not be done any more */
    const char *why; /* of the last of those; NULL: there is none */
};

/* In the multisets of the end-of-run accounting: sizes, and the keys where they matter. */
struct qn_accounting {
    int64_t attempts, acked, applied;
    json_t *lost, *unexpected, *duplicated, *recovered, *orphaned, *premature; /* arrays of keys */
};

/* Calls that the server could not take, by the consumer's own mistake: no rule had a hand in it. */
struct qn_refusal {
    struct qn_str action, code, message; /* the message of the first one, or none */
    int64_t count;
    bool is_of_entries; /* of a batch, which was answered as a whole */
};
enum { QN_REFUSALS_MAX = 4 };

struct qn_judgement {
    enum qn_outcome outcome;
    bool never_got_going; /* the consumer, or the function: there is nothing to judge */
    enum qn_level level;
    char text[QN_FINDING_TEXT]; /* the one line beside the verdict */
    struct qn_invariant *invariants;
    size_t invariant_count;
    struct qn_planned_fault *faults;
    size_t fault_count;
    struct qn_accounting accounting;
    struct qn_refusal refusals[QN_REFUSALS_MAX]; /* by action and code */
    size_t refusal_count;
    struct qn_arena arena;
};

/* Judges a settled history by its header. Fails when the header is missing or unreadable. */
QN_MUST_CHECK bool qn_judge(const struct qn_history *history, struct qn_judgement *ret_judgement,
                            struct qn_error *err);
/* Fills the judgement's refusals, and tells the input whether they were to be a heartbeat. */
void qn_judge_refused(struct qn_judge_input *in, struct qn_judgement *judgement);
/* Fills the judgement's faults; run: of the header. */
void qn_judge_count_faults(struct qn_judgement *judgement, const struct qn_history *history,
                           const json_t *run);
/* The text beside a PASS: the figure of an invariant that has one, else how many messages there
 * were and what happened to them. */
void qn_judge_facts(const struct qn_judge_input *in, struct qn_judgement *judgement);
/* The first of the list that is broken and has this severity; NULL: none. */
const struct qn_invariant *qn_judgement_first_broken(const struct qn_judgement *judgement,
                                                     enum qn_severity severity);
/* The invariant that makes the outcome a FAIL or a WARN; NULL: none is broken. */
const struct qn_invariant *qn_judgement_decider(const struct qn_judgement *judgement);
/* What is told first of a broken scenario: the decider, or SURVIVES where a process that ended by
 * itself before is the likely cause of it. */
const struct qn_invariant *qn_judgement_lead(const struct qn_judgement *judgement);
/* Accepts a zeroed judgement. */
void qn_judgement_done(struct qn_judgement *judgement);
void qn_accounting_init(struct qn_accounting *accounting, const struct qn_judge_input *in);
void qn_accounting_done(struct qn_accounting *accounting);

#endif
