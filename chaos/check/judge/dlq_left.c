/* What lies in the dead-letter queue at the end: what came into it, by the redrive policy or by the
 * consumer, and was neither moved back nor deleted there. */
#include "chaos/check/judge/expression.h"

double qn_expression_dlq_left(const struct qn_expression *x)
{
    const struct qn_judge_input *in = x->in;
    double left = 0;

    for (size_t i = 0; i < in->history->count && !qn_str_is_none(in->dlq); i++) {
        const struct qn_check_event *event = &in->history->events[i];
        bool is_in_it = qn_str_equal(event->queue, in->dlq);
        if (event->undone) {
            continue;
        }
        if ((event->kind == QN_CHECK_MSG_DLQ && qn_judge_on_source(in, event)) ||
            (event->kind == QN_CHECK_MSG_SEND && is_in_it)) {
            left++;
        } else if (is_in_it &&
                   (event->kind == QN_CHECK_MSG_MOVE || event->kind == QN_CHECK_MSG_DELETE)) {
            left--;
        }
    }
    return left;
}
