/* EXIT-IN-GRACE: after SIGTERM the process ends by itself before the grace period is over. */
#include "chaos/check/judge/busy.h"

enum { MARGIN_MS = 250 };

/* The check kills when the time is over by one clock and notes it by another; a busy machine, or
 * milliseconds cut off on both sides, make it look early. That must not turn into a pass. */
enum { EARLY_MS = 100 };

static void judge(const struct qn_judge_input *in, const struct qn_stop *stop, int64_t last_wt,
                  struct qn_finding *finding)
{
    const struct qn_check_event *ended = stop->killed != NULL ? stop->killed : stop->exit;
    int64_t busy_ms = qn_busy_ms(in, stop->told->seq, ended != NULL ? ended->seq : UINT64_MAX,
                                 qn_busy_grace_limit_ms(in->grace_ms));
    int64_t limit_ms = stop->told->wt + in->grace_ms + in->slack_ms + busy_ms;
    int64_t ended_ms = ended != NULL ? ended->wt : last_wt;

    /* Killed earlier by a rule, or the history is over before the time is. */
    if (ended_ms < limit_ms + (stop->killed != NULL ? -EARLY_MS : MARGIN_MS)) {
        return;
    }
    if (qn_finding_break(
            finding, QN_MUST,
            "%.*s got SIGTERM (seq %llu) and %s %lld ms later (%lld ms of them without "
            "a processor)",
            QN_STR_ARG(stop->owner->name), (unsigned long long)stop->told->seq,
            stop->killed != NULL ? "had to be killed"
            : stop->exit != NULL ? "ended only"
                                 : "still ran",
            (long long)(ended_ms - stop->told->wt), (long long)busy_ms)) {
        qn_finding_witness(finding, stop->told->seq);
        if (ended != NULL) {
            qn_finding_witness(finding, ended->seq);
        }
    }
}

void qn_judge_exit_in_grace(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    const struct qn_history *history = in->history;
    int64_t last_wt = history->count > 0 ? history->events[history->count - 1].wt : 0;
    int64_t slowest_ms = 0;
    size_t count = 0;

    for (const struct qn_stop *stop = in->book->stops; stop != NULL; stop = stop->next) {
        if (stop->is_judged) {
            int64_t took_ms = stop->exit != NULL ? stop->exit->wt - stop->told->wt : 0;
            slowest_ms = took_ms > slowest_ms ? took_ms : slowest_ms;
            count++;
            judge(in, stop, last_wt, ret_finding);
        }
    }
    if (ret_finding->result == QN_RESULT_PASS && slowest_ms > 0) {
        qn_finding_set(ret_finding, QN_RESULT_PASS, "ended %.2g s after SIGTERM (limit %.3g s)",
                       (double)slowest_ms / 1000, (double)in->grace_ms / 1000);
    }
    if (count == 0) {
        qn_finding_set_unexercised(ret_finding, "nobody was told to end");
    }
}
