/* Feeding: one walk over the ring. */
#include "server/http/feed.h"

struct feeding {
    struct qn_assumptions *pass;
    uint64_t last;
};

static bool stop_at_once(void *state, const struct qn_event *event, uint64_t seq, int64_t wall_ms)
{
    (void)state;
    (void)event;
    (void)seq;
    (void)wall_ms;
    return false;
}

static bool feed_one(void *state, const struct qn_event *event, uint64_t seq, int64_t wall_ms)
{
    struct feeding *feeding = state;

    qn_assumptions_observe(feeding->pass, event, seq, wall_ms);
    feeding->last = seq;
    return true;
}

uint64_t qn_feed_assumptions(const struct qn_trace *trace, uint64_t since,
                             struct qn_assumptions *pass)
{
    struct feeding feeding = {pass, since};
    uint64_t missed;

    /* Those that are gone come first, and are told last. */
    qn_trace_each(trace, since, stop_at_once, NULL, &missed);
    if (missed > 0) {
        qn_assumptions_gap(pass, missed);
    }
    qn_trace_each(trace, since, feed_one, &feeding, &missed);
    return feeding.last;
}
