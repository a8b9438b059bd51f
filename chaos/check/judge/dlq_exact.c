/* DLQ-EXACT: the dead-letter queue got the messages that belong there, and no others. */
#include "chaos/check/judge/judge.h"

static bool is_expected(const struct qn_judge_input *in, struct qn_str key)
{
    for (size_t i = 0; i < in->expected_dead_count; i++) {
        if (qn_str_equal(in->expected_dead[i], key)) {
            return true;
        }
    }
    return false;
}

void qn_judge_dlq_exact(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_table dead;

    qn_table_init(&dead, sizeof(uint64_t));
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind != QN_CHECK_MSG_DLQ || !qn_judge_on_source(in, event)) {
            continue;
        }
        *(uint64_t *)qn_table_at(&dead, event->k) = event->seq;
        if (!is_expected(in, event->k)) {
            if (ret_finding->result == QN_RESULT_PASS) {
                qn_finding_set(ret_finding, QN_RESULT_FAIL,
                               "%.*s went to the dead-letter queue, though its handler can succeed",
                               QN_STR_ARG(event->k));
            }
            qn_finding_witness(ret_finding, event->seq);
        }
    }
    for (size_t i = 0; i < in->expected_dead_count && ret_finding->result == QN_RESULT_PASS; i++) {
        if (qn_table_find(&dead, in->expected_dead[i]) == NULL) {
            qn_finding_set(ret_finding, QN_RESULT_FAIL, "%.*s never reached the dead-letter queue",
                           QN_STR_ARG(in->expected_dead[i]));
        }
    }
    qn_table_done(&dead);
}
