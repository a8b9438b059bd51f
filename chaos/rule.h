/* One rule of the fault grammar: parsed whole, by the server and by the harness alike. Who carries
 * out which action is decided elsewhere (carry.c for the server).
 *
 *   rule   := ["disabled"] ["unsound"] "on" event {cond} "do" action {"then" action}
 *             ["unsound"] ["as" NAME]
 *   event  := [target "."] name       target: sqs sink lambda proc clock; implied by the name
 *   name   := an API action, with * and ? as wildcards, or any
 *           | lease.grant | lease.expire | msg.dlq | msg.delete            sqs, inside the server
 *           | work.begin | work.commit | reject | reconcile | ready        sink
 *           | invoke | response | init                                     lambda
 *           | spawn | exit                                                 proc
 *           | tick DURATION                                                clock
 *   cond   := "where" pred | "at" point | when       in any order, each at most once
 *   pred   := conj {"or" conj}
 *   conj   := unary {"and" unary}
 *   unary  := "not" unary | "(" pred ")" | field op value | field "in" "(" value {"," value} ")"
 *   field  := queue | instance | code                       of the request
 *           | attempt | size | wait | max | entries         numbers
 *           | t             virtual seconds since the first request, or since the ready mark
 *           | mid | rc | group | tenant | key | tag | body."path" | attr."name"     of a message
 *   op     := = | != | < | <= | > | >= | ~                  ~ compares with * and ?
 *   when   := nth LIST | every N | first N | after N | once | times N | prob P [seed S]
 *           | between DURATION DURATION | for DURATION
 *           | per (message | group | instance | queue | connection)
 *   point  := arrive | pre-commit | post-commit | mid-response | post-response
 *   action := a row of actions.def; "after" DURATION in front of it lets it wait
 *
 * Arguments of actions that touch messages and queues. Without a queue it is the event's; a tick
 * has none, so there it must be said.
 *
 *   shorten-lease DURATION | extend-lease DURATION
 *   deliver-again ["to" (same | other | "instance" "=" I)]
 *   reorder (reverse | shuffle) ["window" "=" N] | reorder delay KEY by DURATION
 *   send ("body" | @FILE) ["to" QUEUE] ["group" G]      @FILE: one JSON object a line, with body,
 *                                                      attributes, groupId and dedupId
 *   dup-send ["group" G] | poison-body ["group" G]
 *   redrive ["of" QUEUE] | purge ["of" QUEUE] | delete-queue ["of" QUEUE] | create-queue [QUEUE]
 *   set-attr NAME "=" VALUE ["of" QUEUE]
 *
 * A chain. Each action comes when the one before it is finished. The request itself can be delayed
 * or held, more than once, and then one thing is done to it. Behind `delay D` and `after D` all
 * else comes so much later, by the clock of the server. A held request goes on when the action
 * behind the hold is finished (which may be `after D` alone), or when it is released over the
 * control API if nothing stands behind. What the harness carries out comes last.
 *
 * What is done apart from the request comes at the rule's point: before the request is checked or
 * executed, which is then checked again, before it is answered, or when a part of the answer, or
 * all of it, has left.
 *
 * A DURATION has a unit: 300ms, 2s, 5m, 1h. A LIST is 1,2,4 with or without brackets. A # begins a
 * comment. A value with blanks or signs in it stands in "quotes", with \", \\ and \n inside.
 *
 * What a match is. A predicate with message fields, `per message` and `per group` look at each
 * message of the request (batch entry, or message of an answer): each that fits is a match of its
 * own, and the actions touch these only; a request without messages does not match. Otherwise the
 * request is one match. At a time outside of between or for there is no match. An absent field
 * equals nothing: != holds, every other comparison does not.
 *
 * When it fires. nth, every, first and after count matches, once and times count firings, each for
 * itself under `per`; prob draws by the seed, the rule's name and its own count of matches. All
 * clauses must agree. A message is resurrected once by a rule, whatever else the rule says.
 *
 * key is the idempotencyKey of a JSON body or its payload.id, whichever fits. tenant is the group
 * on a standard queue, else the body's tenantId. tag is the body's member tag, else the message
 * attribute tag. instance=2 also means the access key QUERN0002.
 *
 * A rule that would break a promise of AWS is refused unless it says `unsound`. */
#ifndef QN_CHAOS_RULE_H
#define QN_CHAOS_RULE_H

#include "chaos/mistake.h"
#include "server/base/arena.h"
#include "server/model/verdict.h"

enum qn_rule_target {
    QN_TARGET_SQS,
    QN_TARGET_SINK,
    QN_TARGET_LAMBDA,
    QN_TARGET_PROC,
    QN_TARGET_CLOCK
};

enum qn_rule_point {
    QN_RULE_ANYWHERE, /* an event without points, or none said */
    QN_RULE_ARRIVE,
    QN_RULE_PRE_COMMIT,
    QN_RULE_POST_COMMIT,
    QN_RULE_MID_RESPONSE,
    QN_RULE_POST_RESPONSE
};

enum qn_rule_per {
    QN_PER_NOTHING,
    QN_PER_MESSAGE,
    QN_PER_GROUP,
    QN_PER_INSTANCE,
    QN_PER_QUEUE,
    QN_PER_CONNECTION
};

/* The rows of actions.def. */
enum qn_rule_verb {
#define QN_RULE_ACTION(symbol, ...) QN_DO_##symbol,
#include "chaos/actions.def"
#undef QN_RULE_ACTION
    QN_DO_COUNT
};

struct qn_rule_pred;

/* Absent numbers are -1, absent texts are none. */
struct qn_rule_action {
    enum qn_rule_verb verb;
    struct qn_str source; /* its words in the rule, with `after` in front */
    int64_t after_ms;     /* of `after D` in front of it */
    enum qn_error_code error;
    int64_t http_status;
    bool sender;
    int64_t count; /* short N, fail-entries N, spawn N, status N, capacity N, bandwidth, window */
    int64_t duration_ms; /* delay, stop, refuse, freeze, jump, shorten-lease, respawn after ... */
    int64_t jitter_ms;   /* delay */
    double fraction;     /* reset, close, truncate: 0 to 1 */
    int64_t bytes;       /* the same in bytes */
    struct qn_str instance; /* kill, signal, stop, deliver-again; none: the one of the event */
    struct qn_str text;     /* mark NAME, signal X, crash at FAILPOINT, send BODY or FILE, set-attr
                               NAME, reorder HOW, gate, to */
    struct qn_str value;  /* set-attr value, reorder delay KEY, what happens at FAILPOINT, group */
    struct qn_str queue;  /* of QUEUE: the one that the action is for; none: the event's */
    struct qn_str inputs; /* send: of SendMessage as JSON, one a line (sends.c) */
    struct qn_str *list;  /* outcome LIST */
    size_t list_count;
    struct qn_rule_pred *entries; /* fail-entries PRED, outcome ... for PRED; or NULL */
    bool force;                   /* jump */
    bool is_file;                 /* send @FILE */
};

struct qn_rule_when {
    int64_t *nth;
    size_t nth_count;
    int64_t every;
    int64_t first;
    int64_t after;
    int64_t times;
    double prob;
    bool has_seed;
    uint64_t seed;
    int64_t from_ms; /* between */
    int64_t to_ms;
    int64_t for_ms;
    enum qn_rule_per per;
};

struct qn_rule {
    struct qn_arena arena; /* all of what follows */
    struct qn_arena files; /* but what came from files that it names */
    struct qn_str whole;   /* as given; first_line is the number of its first line */
    int64_t first_line;
    struct qn_str text; /* without blanks and comments around, and without `disabled` */
    struct qn_str name; /* none when it has no `as` */
    size_t name_at;     /* where in `whole` it stands */
    enum qn_rule_target target;
    struct qn_str event;        /* "*" for any */
    bool is_internal;           /* lease.* and msg.*: no request, no point */
    int64_t tick_ms;            /* of tick */
    struct qn_rule_pred *where; /* or NULL */
    bool by_message;            /* each message is a match of its own */
    struct qn_rule_when when;
    enum qn_rule_point point;
    bool unsound;
    bool is_disabled; /* from the start */
    struct qn_rule_action *actions;
    size_t action_count; /* at least 1 */
};

/* The names that an API action may have, for the check of spelling; NULL accepts every name of the
 * right form. */
struct qn_rule_names {
    const char *const *actions;
    size_t count;
};

/* text is copied. Each mistake names line (from first_line on), column, what was expected and the
 * nearest legal word; behind one the parser goes on with the next part of the rule. Free with
 * qn_rule_free. */
QN_MUST_CHECK bool qn_rule_read(struct qn_str text, int64_t first_line,
                                const struct qn_rule_names *names, struct qn_rule **ret_rule,
                                struct qn_mistakes *mistakes);
/* The same with one message for all. */
QN_MUST_CHECK bool qn_rule_parse(struct qn_str text, int64_t first_line,
                                 const struct qn_rule_names *names, struct qn_rule **ret_rule,
                                 struct qn_error *err);
/* Accepts NULL. */
void qn_rule_free(struct qn_rule *rule);

/* The keys that a body has; none where it has none. */
struct qn_rule_keys {
    bool is_known;
    struct qn_str key;
    struct qn_str payload_id;
};

/* Something that happened, to which a rule may apply: a request at a point, an event of the server,
 * of the sink ... */
struct qn_rule_subject {
    enum qn_rule_target target;
    struct qn_str event;      /* "DeleteMessage", "msg.delete", "work.commit" */
    enum qn_rule_point point; /* QN_RULE_ANYWHERE: there are none */
    struct qn_arena *arena;   /* for reading bodies */
    struct qn_str queue;
    struct qn_str instance;
    struct qn_str code;
    int64_t connection;
    int64_t attempt;
    int64_t size;
    int64_t wait_s;
    int64_t max;
    int64_t entries;
    int64_t since_ready_ms;
    bool is_fifo;
    bool is_meant; /* the rule's event, point and kind of queue have been looked at */
    const struct qn_fact_message *messages;
    size_t message_count;
    struct qn_rule_keys *keys; /* one per message, not known at first; or NULL: nothing is kept */
    /* The keys of a message without a body: of the only one, or of one that is not listed. */
    struct qn_str key;
    struct qn_str payload_id;
};

/* A subject with every number absent. */
void qn_rule_subject_init(struct qn_rule_subject *subject, enum qn_rule_target target,
                          struct qn_str event, struct qn_arena *arena);

/* Event, point, predicate and the times of between; not the counts. 0: no match. By message: bit i
 * says that message i matches (the first 64 are looked at). Otherwise all bits are set. */
uint64_t qn_rule_match(const struct qn_rule *rule, const struct qn_rule_subject *subject);
/* Whether it may match once the messages and the code are known as well: of request, point and
 * event apart, by what else is known of the subject. is_now: the time is the one that will count.
 */
bool qn_rule_may_match(const struct qn_rule *rule, const struct qn_rule_subject *subject,
                       bool is_now);
/* The messages (bits as above) for which a predicate holds. */
uint64_t qn_rule_pred_match(const struct qn_rule_pred *pred, const struct qn_rule_subject *subject);

/* * and ? as in a shell. */
bool qn_rule_glob(struct qn_str pattern, struct qn_str text);
/* "delay", "kill" ... */
const char *qn_rule_verb_name(enum qn_rule_verb verb);

#endif
