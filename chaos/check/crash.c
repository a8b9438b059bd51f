/* Which rule killed the server: it says how long it stays down. */
#include "chaos/check/running.h"
#include "server/trace/trace.h"

/* What a crash follows closest: the newest fault of a rule that crashes the server. */
struct newest {
    const struct qn_faults *faults;
    uint64_t seq;
    int64_t delay_ms; /* -1: none so far */
};

static void look_at(struct newest *newest, struct qn_str rule, uint64_t seq)
{
    int64_t delay_ms;

    if (seq >= newest->seq && qn_faults_restart_delay(newest->faults, rule, &delay_ms)) {
        newest->seq = seq;
        newest->delay_ms = delay_ms;
    }
}

static bool look_at_unread(void *state, const struct qn_event *event, uint64_t seq, int64_t wall_ms)
{
    (void)wall_ms;
    if (event->kind == QN_EVENT_FAULT) {
        look_at(state, event->rule, seq);
    }
    return true;
}

/* The server cannot be asked any more; its last events lie in the file. */
static void look_into_file(const struct qn_running *run, struct newest *newest)
{
    struct qn_trace *trace = NULL;
    struct qn_error ignored;
    uint64_t missed;

    if (qn_trace_open(run->server.trace_path, 0, &trace, &ignored)) {
        qn_trace_each(trace, run->server.last_seq, look_at_unread, newest, &missed);
        qn_trace_close(trace);
    }
}

bool qn_running_restart_delay(const struct qn_running *run, int64_t *ret_delay_ms)
{
    struct newest newest = {.faults = &run->faults, .delay_ms = -1};

    for (size_t i = 0; i < run->history.count; i++) {
        const struct qn_check_event *event = &run->history.events[i];
        if (event->kind == QN_CHECK_FAULT) {
            look_at(&newest, event->detail->rule, event->seq);
        }
    }
    look_into_file(run, &newest);
    *ret_delay_ms = newest.delay_ms;
    return newest.delay_ms >= 0;
}
