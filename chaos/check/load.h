/* The messages of a scenario: made from its load, sent in their time, and found again by key. */
#ifndef QN_CHECK_LOAD_H
#define QN_CHECK_LOAD_H

#include "chaos/check/effects.h"
#include "chaos/check/scenario.h"
#include "chaos/check/terms.h"
#include "client/quern.h"

/* What a message waits for, apart from its time. */
enum qn_load_wait {
    QN_LOAD_WAITS_NOT,
    QN_LOAD_WAITS_FOR_RETURN, /* of the queue */
    QN_LOAD_WAITS_FOR_WINDOW  /* the last one */
};

struct qn_load_message {
    struct qn_str id;    /* "m-003" */
    struct qn_str k;     /* "k-003" */
    struct qn_str mid;   /* of the queue, once it is sent */
    struct qn_str group; /* none on a standard queue */
    struct qn_str body;
    json_t *attributes;        /* MessageAttributes, or NULL */
    json_t *system_attributes; /* MessageSystemAttributes, or NULL */
    enum qn_load_outcome outcome;
    int64_t at_ms;            /* after readiness; -1: before the start */
    enum qn_load_wait waits;  /* for that: at_ms counts from then */
    struct qn_str other_name; /* of the key, as the load gives it; none without one */
    int64_t copy;             /* from 1, of the same key and payload */
    size_t number;            /* of the key, from 0: the same in each copy */
    int64_t version;          /* of the entity */
    int64_t chunk;            /* of the job that the entity is, from 1; 0: it is none */
    int64_t chunks;           /* of that job */
    size_t nth;               /* of its line of the load, from 0 */
    size_t position;          /* among all as they were made */
    struct qn_str entity;
    struct qn_str tenant;
    bool has_own_tenant; /* the load names it */
    struct qn_effect_script script;
    enum qn_load_object object;
    struct qn_str object_name; /* SHA-256 of what was sent, in hexadecimal; none without one */
    struct qn_str content;     /* of the object, as it was sent */
};

struct qn_load {
    struct qn_arena arena;
    struct qn_load_message *messages; /* those before the start first, then by at_ms */
    size_t count;                     /* copies are messages of their own */
    size_t sent_count;
    size_t doubtful_count;   /* of the next ones: sent, and the server was gone before its answer */
    struct qn_str tag;       /* with bodies of the user's: what the ids begin with */
    struct qn_table by_name; /* struct qn_load_message *, by key, by id, by the key's other name, by
                                the message id of the queue and by the name of its object */
};

struct qn_load_options {
    bool is_fifo;
    uint64_t seed;
    const char *run_id;
    int64_t now_ms; /* virtual */
    const struct qn_terms *terms;
    const struct qn_check_options *check; /* NULL: bodies of the harness's own */
    struct qn_str sink_url;               /* where objects lie that messages point to */
};

/* Where messages go, and who writes it down. */
struct qn_load_target {
    struct quern_client *client;
    const char *queue_url;
    struct qn_str queue_name;
    struct qn_str self; /* access key of the harness */
    struct qn_recorder *recorder;
};

void qn_load_init(struct qn_load *load, const struct qn_scenario *scenario,
                  const struct qn_load_options *options);
/* Accepts a zeroed load. */
void qn_load_done(struct qn_load *load);
/* By key, id, other name, message id of the queue or name of its object; NULL when it is none of
 * them. */
const struct qn_load_message *qn_load_find(const struct qn_load *load, struct qn_str name);
/* Whether the message cannot succeed, so that it belongs into the dead-letter queue. */
bool qn_load_is_dead(const struct qn_load_message *message, int64_t max_receive);
/* Sends what is due: with a time below 0 all that comes before the start, else what comes up to so
 * long after readiness. In order, as many in one call as it takes, each recorded as a `load` event.
 */
QN_MUST_CHECK bool qn_load_send(struct qn_load *load, const struct qn_load_target *target,
                                int64_t since_ready_ms, struct qn_error *err);
/* After a crash: those of the doubtful that lie in the queue by the history count as sent, and the
 * others are due again. The history has to reach up to the start of the server. */
void qn_load_settle(struct qn_load *load, const struct qn_load_target *target,
                    const struct qn_history *history);
/* When the next is due after readiness; INT64_MAX when all are sent that do not wait for something
 * else. */
int64_t qn_load_next_ms(const struct qn_load *load);
/* When the last of those is due; -1: all come before the start. */
int64_t qn_load_last_ms(const struct qn_load *load);
/* What some wait for comes so long after readiness: nothing waits for it any more. */
void qn_load_plan(struct qn_load *load, enum qn_load_wait what, int64_t from_ms);

#endif
