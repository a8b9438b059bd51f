/* The event loop: HTTP in, actions executed, entries and events kept, answers out. */
#ifndef QN_HTTP_LOOP_H
#define QN_HTTP_LOOP_H

#include <jansson.h>

#include "chaos/chaos.h"
#include "server/base/clock.h"
#include "server/engine/engine.h"
#include "server/http/legacy.h"
#include "server/http/listen.h"
#include "server/journal/journal.h"
#include "server/trace/trace.h"

struct qn_loop;
struct qn_record;

/* What the loop works with. Everything is borrowed and outlives it. */
struct qn_loop_parts {
    struct qn_engine *engine;
    struct qn_journal *journal; /* NULL: in memory only */
    struct qn_trace *trace;
    struct qn_plan *plan;
    struct qn_clock *clock;
    struct qn_listeners *listeners;
    struct qn_legacy *legacy; /* NULL: nobody comes behind */
};

struct qn_loop_options {
    uint64_t seed;
    uint64_t boot;
    uint64_t boot_lsn; /* the store came back to this one */
    int64_t first_ms;  /* the clock never runs before this instant */
    struct qn_str account;
    struct qn_str region;
    struct qn_str public_url; /* none: queue URLs from the Host header */
    unsigned client_timeout_s;
    size_t under_way_max; /* bytes of requests and answers; beyond, no further body is read */
    bool fault_header;    /* answers name the rules that touched them */
    bool trace_is_wanted; /* from the start; otherwise from the first reader on */
    bool watches_assumptions;
    const json_t *shown;                  /* options for GET info */
    struct qn_failpoint_reach failpoints; /* those that can be met here */
};

QN_MUST_CHECK bool qn_loop_new(const struct qn_loop_parts *parts,
                               const struct qn_loop_options *options, struct qn_loop **ret_loop,
                               struct qn_error *err);
/* From here on everything is recorded (http/record.h); borrowed. */
void qn_loop_record(struct qn_loop *loop, struct qn_record *record);
/* Logs which queues the rules name that are not there. */
void qn_loop_tell_slips(const struct qn_loop *loop);
/* Runs until SIGTERM or SIGINT, which must be blocked in all threads, and answers what is under
 * way. */
void qn_loop_run(struct qn_loop *loop);
/* Accepts NULL. */
void qn_loop_free(struct qn_loop *loop);

/* Executes one action as a client's call would, before the loop runs: its input as AWS JSON, its
 * output appended to ret_output (may be NULL). */
QN_MUST_CHECK bool qn_loop_call(struct qn_loop *loop, struct qn_str action, struct qn_str input,
                                struct qn_buf *ret_output, struct qn_error *err);

#endif
