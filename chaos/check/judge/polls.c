/* The function of expressions that tells long polls from short ones. */
#include "chaos/check/judge/expression.h"

/* Whoever waits at all waits for a second at least; half of it allows for a busy machine. */
enum { AT_ONCE_MS = 500 };

struct poll {
    int64_t since_ms; /* wall */
    bool is_short;
    bool got_any;
};

/* Answers that came at once and empty. What a rule or a crash answered in place of the queue does
 * not count, and nor does a poll that is given up: it has no answer. */
double qn_expression_short_polls(struct qn_expression *x, uint64_t from_seq, uint64_t to_seq)
{
    const struct qn_judge_input *in = x->in;
    struct qn_table polls; /* struct poll, by request */
    double count = 0;

    qn_table_init_for(&polls, sizeof(struct poll), &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (qn_str_is_none(event->req)) {
            continue;
        }
        if (event->kind == QN_CHECK_API_IN && event->seq >= from_seq && event->seq < to_seq &&
            qn_judge_is_call(in, event, QN_STR("ReceiveMessage"))) {
            *(struct poll *)qn_table_at_kept(&polls, event->req) =
                (struct poll){.since_ms = event->wt};
            continue;
        }
        struct poll *poll = qn_table_find_kept(&polls, event->req);
        if (poll == NULL) {
            continue;
        }
        poll->got_any |= event->kind == QN_CHECK_LEASE_GRANT || event->kind == QN_CHECK_FAULT;
        poll->is_short |= event->kind == QN_CHECK_API_OUT &&
                          qn_str_equal(event->code, QN_STR("OK")) &&
                          event->wt - poll->since_ms < AT_ONCE_MS;
    }
    for (const struct qn_table_item *item = polls.first; item != NULL; item = item->next) {
        const struct poll *poll = item->value;
        count += poll->is_short && !poll->got_any;
    }
    qn_table_done(&polls);
    return count;
}
