/* The messages of a scenario: made from its load, sent, and found again by key. */
#ifndef QN_CHECK_LOAD_H
#define QN_CHECK_LOAD_H

#include "chaos/check/effects.h"
#include "chaos/check/scenario.h"
#include "client/quern.h"

struct qn_load_message {
    struct qn_str id;    /* "m-003" */
    struct qn_str k;     /* "k-003" */
    struct qn_str group; /* none on a standard queue */
    struct qn_str body;
    struct qn_effect_script script;
};

struct qn_load {
    struct qn_arena arena;
    struct qn_load_message *messages;
    size_t count;
    struct qn_table by_name; /* struct qn_load_message *, by key and by id */
};

struct qn_load_options {
    bool is_fifo;
    uint64_t seed;
    const char *run_id;
    int64_t now_ms; /* virtual */
};

void qn_load_init(struct qn_load *load, const struct qn_scenario *scenario,
                  const struct qn_load_options *options);
/* Accepts a zeroed load. */
void qn_load_done(struct qn_load *load);
/* By key or id; NULL when it is neither. */
const struct qn_load_message *qn_load_find(const struct qn_load *load, struct qn_str name);
/* Sends all in order, ten at a time, and records each as a `load` event. */
QN_MUST_CHECK bool qn_load_send(const struct qn_load *load, struct quern_client *client,
                                const char *queue_url, struct qn_str queue_name,
                                struct qn_recorder *recorder, struct qn_error *err);

#endif
