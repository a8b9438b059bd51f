/* What the clients relied on: found by one pass over the trace that is there, or from the start on,
 * when the server was told to. */
#include "server/http/control/control.h"
#include "server/http/feed.h"

void qn_control_feed_assumptions(struct qn_loop *loop)
{
    if (loop->assumptions != NULL &&
        qn_trace_last_seq(loop->parts.trace) != loop->assumptions_seen) {
        loop->assumptions_seen =
            qn_feed_assumptions(loop->parts.trace, loop->assumptions_seen, loop->assumptions);
    }
}

void qn_control_assumptions(struct qn_call *call, struct qn_str rest)
{
    struct qn_loop *loop = call->loop;
    struct qn_assumptions *pass = loop->assumptions;

    (void)rest;
    if (pass == NULL) {
        pass = qn_assumptions_new();
        (void)qn_feed_assumptions(loop->parts.trace, 0, pass);
    } else {
        qn_control_feed_assumptions(loop);
    }
    json_t *report = qn_assumptions_report(pass);
    json_object_set_new(report, "live", json_boolean(loop->assumptions != NULL));
    if (loop->assumptions == NULL) {
        qn_assumptions_free(pass);
    }
    if (!loop->trace_is_wanted) {
        loop->trace_is_wanted = true; /* from now on in full */
        qn_keep_refresh(loop);
    }
    qn_control_answer(call, 200, report);
}
