/* The effect sink: an HTTP endpoint that stands for the business world. Runs in the caller's
 * thread: the caller watches qn_sink_fd and calls qn_sink_run when it is readable or
 * qn_sink_next_ms has come. */
#ifndef QN_CHECK_SINK_H
#define QN_CHECK_SINK_H

#include "chaos/check/routes.h"

struct qn_sink;

/* Listens on a free port of the loopback. The answer and is_there of options.effects are set here.
 */
QN_MUST_CHECK bool qn_sink_open(const struct qn_routes_options *options, struct qn_sink **ret_sink,
                                struct qn_error *err);
/* Same port and connections for another scenario, with an empty ledger; nothing may be open. */
void qn_sink_renew(struct qn_sink *sink, const struct qn_routes_options *options);
/* Open calls are answered 503. Accepts NULL. */
void qn_sink_close(struct qn_sink *sink);
int qn_sink_port(const struct qn_sink *sink);
int qn_sink_fd(const struct qn_sink *sink);
void qn_sink_run(struct qn_sink *sink);
/* On the monotonic clock. */
int64_t qn_sink_next_ms(const struct qn_sink *sink);
/* Nobody listens for so long; who is connected goes on. */
void qn_sink_refuse(struct qn_sink *sink, int64_t for_ms);
/* Lets go what a rule holds: a run of the ledger, or a record. */
void qn_sink_release(struct qn_sink *sink, int64_t run);
struct qn_effects *qn_sink_effects(struct qn_sink *sink);

#endif
