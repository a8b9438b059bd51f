/* DISTINCT-IDS: no batch names two of its entries alike. SQS refuses such a batch whole. */
#include <stdio.h>

#include "chaos/check/judge/judge.h"

void qn_judge_distinct_ids(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    size_t count = 0;

    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind != QN_CHECK_API_OUT ||
            !qn_str_ends_with(event->code, QN_STR("BatchEntryIdsNotDistinct")) ||
            !qn_judge_is_call(in, event, QN_STR("*"))) {
            continue;
        }
        count++;
        if (qn_finding_break(ret_finding, QN_MUST,
                             "a %.*s had two entries with one id (seq %llu), so none of them was "
                             "done",
                             QN_STR_ARG(event->action), (unsigned long long)event->seq)) {
            qn_finding_witness(ret_finding, event->seq);
        }
    }
    if (count > 1) {
        size_t len = strlen(ret_finding->text);
        (void)snprintf(ret_finding->text + len, sizeof(ret_finding->text) - len,
                       ", %zu times in all", count);
    }
}
