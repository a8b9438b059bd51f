/* One scenario, read from its JSON file. scenarios.md has the format. */
#ifndef QN_CHECK_SCENARIO_H
#define QN_CHECK_SCENARIO_H

#include <jansson.h>

#include "chaos/embedded.h"
#include "chaos/rule.h"
#include "server/base/arena.h"
#include "server/base/buf.h"

/* What becomes of a message of the load. */
enum qn_load_outcome {
    QN_LOAD_OK,
    QN_LOAD_FLAKY,    /* the first attempts fail */
    QN_LOAD_PERM,     /* it can never succeed */
    QN_LOAD_HANG,     /* the sink does not answer */
    QN_LOAD_BADJSON,  /* its body is no JSON */
    QN_LOAD_SCHEMA99, /* its schemaVersion is unknown */
    QN_LOAD_BOMB,     /* its work never ends: a rule kills who touches it */
    QN_LOAD_ODD,      /* bodies and attributes that are legal and rare */
    QN_LOAD_OUTCOMES
};

enum { QN_LOAD_FAILS_ALWAYS = -1 };

/* The object that a message points to. */
enum qn_load_object {
    QN_OBJECT_NONE, /* the message has all */
    QN_OBJECT_STORED,
    QN_OBJECT_MISSING, /* nobody has it */
    QN_OBJECT_CHANGED, /* other bytes, as many, lie in its place */
    QN_OBJECTS
};

struct qn_scenario_load {
    enum qn_load_outcome outcome;
    int64_t count;
    struct qn_str work;   /* an expression, or none */
    int64_t fails;        /* flaky, hang: of the first attempts; or QN_LOAD_FAILS_ALWAYS */
    int64_t groups;       /* over how many groups they go round; 0: one each */
    struct qn_str group;  /* all of them in this one; none: as groups says */
    int64_t copies;       /* how often each is sent, at least 1 */
    int64_t versions;     /* of each of `count` entities, at least 1 */
    int64_t chunks;       /* of each of `count` jobs, at least 1 */
    struct qn_str at;     /* an expression: so long after readiness; none: before the start */
    struct qn_str back;   /* an expression: so long after the queue is back; or none */
    struct qn_str window; /* an expression: so long after the first failure in the last
                             window; or none */
    int64_t rate;         /* per second from then on; 0: all at once */
    struct qn_str lasts;  /* an expression: so long at that rate, in place of count; or none */
    int64_t size_bytes;   /* of each body, or of what it points to; 0: as it comes */
    enum qn_load_object object;
    struct qn_str key; /* another name of the first one's key, or none */
};

struct qn_scenario_fault {
    struct qn_rule *rule; /* with some time in place of each {expression} */
    struct qn_str text;   /* with a name in any case */
    struct qn_str name;
    int64_t planned;      /* how often it must fire at least */
    bool has_blanks;      /* {expressions}, to be filled in for a run */
    struct qn_str window; /* an expression: it lasts until so long after the first call that failed
                             for good; none: the rule alone says when it acts */
};

struct qn_scenario {
    json_t *json; /* the whole of it, of a variant with its fields filled in */
    struct qn_arena arena;
    struct qn_str id, title, severity, why, fix;
    bool for_standard;
    bool for_fifo;
    bool for_lambda;
    bool is_fifo; /* its queue is, whatever the profile */
    /* Of the event source mapping, in place of what is declared; 0: as declared. */
    int64_t lambda_batch_size, lambda_window_s, lambda_concurrency, lambda_reserved;
    struct qn_str lambda_filter; /* a pattern, or "" */
    bool has_dlq;
    int64_t max_receive;
    /* Expressions in milliseconds; none where they are left out and have no default. */
    struct qn_str visibility;
    struct qn_str created_after;
    struct qn_str away_for; /* the queue is deleted, and so long after made again */
    struct qn_str restart_delay;
    struct qn_str grace;
    struct qn_str drained_within;
    struct qn_str settle; /* how long it must stay drained */
    struct qn_str run_for;
    bool judges_final_stop;
    bool shrinks; /* after a failure the smallest set of its rules is looked for */
    int64_t instance_count;
    bool restarts;
    struct qn_scenario_load *loads;
    size_t load_count;
    struct qn_scenario_fault *faults;
    size_t fault_count;
    struct qn_scenario *without_sink; /* the same, as it is run where nobody calls the sink; NULL:
                                         it is run as it is */
};

/* Grows as it is filled. Zeroed at first. */
struct qn_scenarios {
    struct qn_scenario **items;
    size_t count;
    size_t cap;
};

/* text is the file, name is for error messages. Adds the scenario and its variants, which are
 * called ID+NAME. False: ret_mistakes has got a line for everything that is wrong, and nothing is
 * added. */
QN_MUST_CHECK bool qn_scenarios_read(struct qn_scenarios *scenarios, struct qn_str text,
                                     const char *name, struct qn_buf *ret_mistakes);
void qn_scenarios_done(struct qn_scenarios *scenarios);
/* The scenario alone, without its variants; err has the first mistake, and how many more there
 * are. */
QN_MUST_CHECK bool qn_scenario_read(struct qn_str text, const char *name,
                                    struct qn_scenario **ret_scenario, struct qn_error *err);
/* Accepts NULL. */
void qn_scenario_free(struct qn_scenario *scenario);
/* members.c: whether the file has the members that a scenario has, and each of the right kind;
 * whether its invariants and expressions can be read. */
QN_MUST_CHECK bool qn_scenario_check_members(const json_t *json, struct qn_str text,
                                             const char *name, struct qn_buf *mistakes);
/* "ok", "flaky" ... */
const char *qn_load_outcome_name(enum qn_load_outcome outcome);
/* Whether it belongs to the profile: "standard", "fifo" or "lambda". */
bool qn_scenario_is_for(const struct qn_scenario *scenario, const char *profile);
/* How many instances its rules may add. */
int64_t qn_scenario_spawn_count(const struct qn_scenario *scenario);

#endif
