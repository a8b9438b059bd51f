/* The server's modules, from the options of `quern serve`. */
#ifndef QN_CLI_SERVICE_H
#define QN_CLI_SERVICE_H

#include "server/actions/actions.h"
#include "server/cli/queue_list.h"

struct qn_service {
    struct qn_options options;
    struct qn_settings settings;
    struct qn_queue_list queues;
    struct qn_str *failpoints; /* of --failpoint */
    size_t failpoint_count;
    json_t *shown;
    /* Of a supervisor, else NULL and nothing. */
    struct qn_legacy *legacy;
    void *trace_memory; /* NULL: --trace names a file */
    struct qn_listeners reserve;
    /* From here on what qn_service_open makes. */
    struct qn_listeners listeners;
    struct qn_clock clock;
    struct qn_engine *engine;
    struct qn_journal *journal;
    struct qn_trace *trace;
    struct qn_plan *plan;
    struct qn_loop *loop;
    struct qn_record *record; /* NULL: nothing is recorded */
    struct qn_journal_identity identity;
    int64_t first_ms;
    const char *action_names[QN_ACTION_COUNT];
};

/* What the options say, checked as far as that goes without touching anything. */
QN_MUST_CHECK bool qn_service_read(struct qn_service *service, struct qn_error *err);
/* For a supervisor: what its servers find and leave. */
QN_MUST_CHECK bool qn_service_supervise(struct qn_service *service, struct qn_error *err);
/* Everything up to the loop that can be run; listens. */
QN_MUST_CHECK bool qn_service_open(struct qn_service *service, struct qn_error *err);
/* Undoes qn_service_open, also a half-done one. */
void qn_service_close(struct qn_service *service);
/* Undoes qn_service_read, also a half-done one, and frees the options. */
void qn_service_done(struct qn_service *service);

#endif
