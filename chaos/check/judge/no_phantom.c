/* NO-PHANTOM: no effect has a business key that nobody sent. */
#include "chaos/check/judge/judge.h"

static bool is_effect(const struct qn_check_event *event)
{
    return (event->kind == QN_CHECK_WORK_COMMIT && !event->replayed) ||
           (event->kind == QN_CHECK_EFFECT_COUNT && event->detail->count > 0);
}

void qn_judge_no_phantom(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_table sent;

    if (in->level < QN_LEVEL_COMMAND) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE,
                       "needs the effect sink or an effects command");
        return;
    }
    qn_table_init_for(&sent, 1, &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        /* An attempt counts: a send whose answer was lost may have arrived. */
        if (event->kind == QN_CHECK_LOAD || event->kind == QN_CHECK_MSG_SEND) {
            (void)qn_table_at_kept(&sent, event->k);
        } else if (is_effect(event) && qn_table_find_kept(&sent, event->k) == NULL) {
            qn_finding_set(ret_finding, QN_RESULT_FAIL,
                           "an effect has the key %.*s, which was never sent",
                           QN_STR_ARG(event->k));
            qn_finding_witness(ret_finding, event->seq);
            break;
        }
    }
    qn_table_done(&sent);
}
