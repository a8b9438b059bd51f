/* SURVIVES: no instance ends unless the harness told it to. */
#include <stdio.h>

#include "chaos/check/judge/judge.h"

size_t qn_judge_own_exits(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_table signalled; /* by instance: the pid that was told to end */
    size_t exits = 0;

    qn_table_init(&signalled, sizeof(int64_t));
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind != QN_CHECK_PROC) {
            continue;
        }
        int64_t *pid = qn_table_at(&signalled, event->instance);
        if (qn_str_equal(event->what, QN_STR("signal"))) {
            *pid = event->detail->pid;
        } else if (qn_str_equal(event->what, QN_STR("exit")) && *pid != event->detail->pid) {
            exits++;
            qn_finding_witness(ret_finding, event->seq);
            if (exits > 1) {
                continue;
            }
            bool by_signal = event->detail->signal != QN_EVENT_NO_INT;
            qn_finding_set(
                ret_finding, QN_RESULT_FAIL, "%.*s ended by itself (%s %lld)",
                QN_STR_ARG(event->instance), by_signal ? "signal" : "exit code",
                (long long)(by_signal ? event->detail->signal : event->detail->exit_code));
        }
    }
    qn_table_done(&signalled);
    return exits;
}

void qn_judge_survives(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    size_t exits = qn_judge_own_exits(in, ret_finding);

    if (exits > 1) {
        size_t len = strlen(ret_finding->text);
        (void)snprintf(ret_finding->text + len, sizeof(ret_finding->text) - len,
                       ", %zu times in all", exits);
    }
}
