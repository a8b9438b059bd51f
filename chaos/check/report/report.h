/* What the user is shown: the console while it runs, the files of the report at the end. */
#ifndef QN_CHECK_REPORT_H
#define QN_CHECK_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "chaos/check/run.h"

/* One scenario with what became of it. */
struct qn_report_entry {
    const struct qn_scenario *scenario;
    struct qn_run_result result;
    struct qn_run_progress progress; /* while it runs */
    bool is_begun;
    bool is_running;
    bool is_done;
    bool is_held; /* its line on the console waits: all of its family may be skipped alike */
    char trace_path[1024]; /* empty: not kept */
    const char *waiver;    /* the reason for which it is waived; NULL: it is not */
    /* Of a failure with many rules: see shrink.h. */
    size_t shrink_runs; /* the number of the run under way; 0: it is an ordinary one */
    size_t shrink_left; /* rules of the smallest failing set so far */
    json_t *shrunk;     /* what was found in the end; NULL: nothing was looked for */
    bool is_of_profile; /* false: skipped because it is about another kind of queue */
};

struct qn_report {
    const struct qn_check_options *options;
    uint64_t seed;
    struct qn_profile profile;
    struct qn_report_entry *entries;
    size_t count;   /* of those that are done, when all is over */
    size_t planned; /* how many entries there are while it runs */
    size_t running; /* of them */
    size_t done;    /* of them */
    size_t total;   /* scenarios of the profile that there are; 0: not known */
    FILE *console;
    bool streams_tap;  /* to stdout, as scenarios end */
    bool colours;      /* words say the same */
    bool is_live;      /* a line may be drawn over */
    bool has_progress; /* such a line is there now */
    unsigned frame;    /* of the spinner */
};

/* progress.c: what is seen on a terminal while scenarios run; nothing anywhere else. */
/* Whether the console is a terminal, and what it may be given: NO_COLOR and TERM=dumb count. */
void qn_report_look_at_console(struct qn_report *report);
void qn_report_progress(struct qn_report *report);
void qn_report_progress_clear(struct qn_report *report);

void qn_report_begin(const struct qn_report *report);
/* The line of one scenario, and below it, on trouble, what was seen. */
void qn_report_entry_print(struct qn_report *report, struct qn_report_entry *entry);
/* The lines that still wait for the rest of their family, when there will be no more. */
void qn_report_entries_end(struct qn_report *report);
void qn_report_profile_print(const struct qn_report *report);
void qn_report_end(const struct qn_report *report);

/* output.c: the files that the options name. */
/* Whether one of them is "-": the console then goes to stderr. */
bool qn_report_takes_stdout(const struct qn_check_options *options);
/* Whether all can be written, found out before the minutes that a run takes. Leaves nothing behind.
 */
QN_MUST_CHECK bool qn_report_check_outputs(const struct qn_check_options *options,
                                           struct qn_error *err);
/* Writes all of them, also when one fails. */
/* shows_paths: names on the console each file that was written. */
QN_MUST_CHECK bool qn_report_write(const struct qn_report *report, bool shows_paths,
                                   struct qn_error *err);
/* One form each, appended whole. */
void qn_report_json(const struct qn_report *report, struct qn_buf *buf);
void qn_report_junit(const struct qn_report *report, struct qn_buf *buf);
void qn_report_tap(const struct qn_report *report, struct qn_buf *buf);
void qn_report_html(const struct qn_report *report, struct qn_buf *buf);
void qn_report_badge(const struct qn_report *report, struct qn_buf *buf);
/* The level and the counts, as the badge has them: "partial: 12 of 47 pass, 1 warn". */
void qn_report_standing(const struct qn_report *report, struct qn_buf *text);
/* With "--tap -" each test is told when it ends, numbered as they end; entry NULL: the head. */
void qn_report_tap_stream(const struct qn_report *report, const struct qn_report_entry *entry);
void qn_report_tap_bail_out(const struct qn_report *report, const char *reason);
/* checklists.c: the three lists of the HTML report on the console. */
void qn_report_checklists_print(const struct qn_report *report);

/* words.c: what the forms say alike. */
/* How often each outcome occurred. */
void qn_report_count(const struct qn_report *report, size_t counts[QN_OUTCOME_COUNT]);
/* How much of the suite is passed: every must, and every should as well. Partial: nothing was
 * broken, but not all of the suite's scenarios were run. */
enum qn_report_level { QN_REPORT_NONE, QN_REPORT_PARTIAL, QN_REPORT_CORE, QN_REPORT_STRICT };
enum qn_report_level qn_report_level(const struct qn_report *report);
/* "failed", "partial", "core", "strict". */
const char *qn_report_level_name(enum qn_report_level level);
/* What everybody who reads a verdict must know first: " (declared at most once)", or nothing. */
const char *qn_report_declared(const struct qn_report *report);
/* audit.c: what kind of consumer was seen, and whether that fits together. */
enum qn_audit_result { QN_AUDIT_FITS, QN_AUDIT_ADVICE, QN_AUDIT_MISFIT };
struct qn_audit {
    const char *name;
    enum qn_audit_result result;
    bool is_duration; /* one of those that must fit each other */
    char seen[QN_PROFILE_ASKED];
    char text[200]; /* empty: nothing to say */
};
enum { QN_AUDIT_MAX = 8 };
struct qn_card {
    struct qn_audit rows[QN_AUDIT_MAX];
    size_t count; /* 0: nobody asked for a message */
};
/* "fits", "advice", "DOES NOT FIT". */
const char *qn_report_audit_name(enum qn_audit_result result);
void qn_report_audit_card(const struct qn_report *report, struct qn_card *card);
/* Whether lease, work, heartbeat and grace fit each other, in one line. */
void qn_report_audit(const struct qn_report *report, struct qn_buf *buf);
/* tenants.c: how long the messages of each tenant took, from when they could be had. */
struct qn_tenant {
    struct qn_str name; /* of the history */
    size_t sent, done;
    int64_t p50_ms, p95_ms; /* virtual, of those that are done */
};
enum { QN_TENANTS_MAX = 26 };
struct qn_tenants {
    struct qn_tenant items[QN_TENANTS_MAX];
    size_t count; /* 0: there are not several, or it is a FIFO queue */
};
void qn_report_tenants(const struct qn_report_entry *entry, struct qn_tenants *tenants);
/* counts.c: what is counted beside the verdict. */
/* The names that the header of the trace gives to queues and to the harness; none without one. */
struct qn_report_queues {
    json_t *header; /* the texts are in it */
    struct qn_str source, self;
    struct qn_str dlq, retry; /* where the consumer may put a copy aside; none without one */
    int64_t visibility_ms;    /* of the source queue; 0: not told */
};
void qn_report_queues(const struct qn_report_entry *entry, struct qn_report_queues *queues);
void qn_report_queues_done(struct qn_report_queues *queues);
/* A line for each instance that SIGTERM did not bring to a proper end, as declared. */
void qn_report_exits(const struct qn_report_entry *entry, const char *indent, struct qn_buf *buf);
struct qn_counts {
    int64_t sent, deleted, applied; /* messages, messages, effects */
    bool sees_effects;              /* else applied says nothing */
    int64_t over_capacity;          /* calls that the sink answered 429: more open than it takes */
    int64_t unavailable;            /* 503: a fault */
    int64_t not_taken;              /* 400 and the like: no call that it knows */
};
void qn_report_counts(const struct qn_report_entry *entry, struct qn_counts *counts);
/* Over all scenarios. */
void qn_report_total_counts(const struct qn_report *report, struct qn_counts *sum);
/* All calls that the sink refused. */
int64_t qn_report_refusals(const struct qn_counts *counts);
/* "the sink refused 3 calls: 3 beyond its capacity (429)"; nothing when it refused none. */
void qn_report_sink_refusals(const struct qn_counts *counts, struct qn_buf *buf);
/* "6 messages sent, 6 deleted, 6 effects applied", and the refusals. */
void qn_report_counts_text(const struct qn_counts *counts, struct qn_buf *buf);
/* dead_letters.c: what lies in the dead-letter queue at the end, the first of it. */
struct qn_dead_letter {
    struct qn_str mid, k;  /* k: none where nobody knows which message it is about */
    int64_t receives;      /* of the message, in the source queue */
    int64_t sent_at_ms;    /* the first time, by the server's clock; QN_EVENT_NO_INT: not known */
    int64_t sent_after_ms; /* the same, from the beginning of the scenario */
    struct qn_str reason;  /* how it came there, and how the last attempt ended */
    struct qn_str body;    /* its beginning */
};
typedef void qn_dead_letter_fn(void *context, const struct qn_dead_letter *letter);
/* Tells each; what it says is borrowed for the call. */
void qn_report_dead_letters(const struct qn_report_entry *entry, qn_dead_letter_fn *tell,
                            void *context);
/* stuck_groups.c: how long the groups of a FIFO queue stood still behind one message. */
struct qn_group_hold {
    struct qn_str name;
    int64_t sent, done;   /* messages; done: not in the queue any more */
    struct qn_str behind; /* the message that held it longest; none: no one was received */
    int64_t held_ms;      /* from its first receive until it left the queue */
    int64_t leases;       /* of that message */
    int64_t waiting;      /* messages behind it then */
    bool is_stuck;        /* longer than a lease lasts, with somebody waiting */
};
enum { QN_GROUP_HOLDS_MAX = 20 };
struct qn_group_holds {
    struct qn_group_hold items[QN_GROUP_HOLDS_MAX]; /* the longest first */
    size_t count;
    size_t all; /* groups that there are; 0: it is no FIFO queue */
};
void qn_report_group_holds(const struct qn_report_entry *entry, struct qn_group_holds *holds);
/* "effectively-once", "at-least-once" (it repeats), "at-most-once" (it loses), "no guarantee"
 * (both), or "not observable". */
const char *qn_report_semantics(const struct qn_report *report);
/* "pass", "fail", "not observable"; "must", "should", "info". */
const char *qn_report_result_name(enum qn_result result);
const char *qn_report_severity_name(enum qn_severity severity);
/* "std" of std.delete-lost. */
struct qn_str qn_report_family(const struct qn_report_entry *entry);
/* Nothing in it that somebody will want to look into. */
bool qn_report_is_fine(enum qn_outcome outcome);
/* The invariant that decided a FAIL or a WARN; NULL without one. */
const struct qn_invariant *qn_report_broken(const struct qn_judgement *judgement);
/* exit.c: of a process that ended by itself, and of all others. */
/* Why what is broken matters, and how it is fixed: the scenario's own texts, but for a process that
 * ended by itself. Empty when nothing is broken. */
struct qn_str qn_report_why(const struct qn_report_entry *entry);
struct qn_str qn_report_fix(const struct qn_report_entry *entry);
/* When a process that ended by itself leads the trouble: the last lines that it printed. */
void qn_report_last_words(const struct qn_report_entry *entry, const char *indent,
                          struct qn_buf *buf);
/* Of a FAIL in which no message was deleted: the line that the consumer printed most often, or the
 * last ones. The cause may be nowhere else. */
void qn_report_most_said(const struct qn_report_entry *entry, const char *indent,
                         struct qn_buf *buf);
/* At most so many of the lines that were printed last, each behind the indent and the mark. */
void qn_report_last_lines(const struct qn_history *history, size_t most, const char *indent,
                          const char *mark, struct qn_buf *buf);
/* The command that runs the scenario again as it was run, for a shell. */
void qn_report_rerun(const struct qn_report *report, const struct qn_report_entry *entry,
                     struct qn_buf *buf);
/* "it still fails with 1 of its 11 rules alone", when the smallest set was looked for. */
void qn_report_shrunk(const struct qn_report_entry *entry, struct qn_buf *buf);
/* Of a broken invariant: the witnesses, why it matters, how it is fixed, how it is run again; each
 * line begins with the indent. Nothing when none is broken. */
void qn_report_trouble(const struct qn_report *report, const struct qn_report_entry *entry,
                       const char *indent, struct qn_buf *buf);
/* "3 ChangeMessageVisibility calls were refused: InvalidParameterValue: ..." */
void qn_report_refusal(const struct qn_refusal *refusal, struct qn_buf *buf);
/* The last lines that the consumer printed. */
void qn_report_log_tail(const struct qn_report_entry *entry, struct qn_buf *buf);

/* witness.c */
/* "#1" of QUERN0001, in the room. */
const char *qn_report_instance_name(struct qn_str instance, char room[24]);
/* One event as a sentence, without its number. */
void qn_report_describe(const struct qn_check_event *event, struct qn_buf *buf);
/* The story of a broken invariant: the events of the messages that its witnesses are about, and
 * what the harness did between them. */
void qn_report_witness(struct qn_buf *buf, const char *indent, const struct qn_history *history,
                       const struct qn_finding *finding);

/* text.c: texts that others wrote. */
/* As UTF-8 that XML can carry, without the control sequences of terminals and with the canary of
 * the message bodies masked. */
void qn_report_clean(struct qn_buf *buf, struct qn_str s);
/* The same for text and attributes of XML and HTML. */
void qn_report_escape(struct qn_buf *buf, struct qn_str s);
/* The same as a JSON string. */
json_t *qn_report_json_text(struct qn_str s);

/* json_books.c: sets what became of the messages of a scenario: accounting, tenants, groups, dead
 * letters. */
void qn_report_json_books(json_t *object, const struct qn_report_entry *entry);
/* The accounting over all scenarios, which is the caller's. */
json_t *qn_report_json_total(const struct qn_report *report);

#endif
