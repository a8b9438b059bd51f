/* QUIET: a consumer that was told to end asks for no more messages. */
#include "chaos/check/judge/busy.h"

/* To notice the signal. */
enum { NOTICE_MS = 1000 };

struct calls {
    struct qn_table invocations; /* present: the SDK has tried it before */
};

/* The SDK may try again what the application asked for earlier. */
static bool is_new(struct calls *calls, const struct qn_check_event *call)
{
    if (qn_str_is_none(call->detail->invocation)) {
        return true;
    }
    bool *known = qn_table_at_kept(&calls->invocations, call->detail->invocation);
    bool is_first = !*known;
    *known = true;
    return is_first;
}

static const struct qn_stop *stop_of(const struct qn_judge_input *in,
                                     const struct qn_check_event *call)
{
    const struct qn_book_instance *instance = qn_book_instance_of(in->book, call->instance);

    for (const struct qn_stop *stop = in->book->stops; stop != NULL; stop = stop->next) {
        if (stop->owner == instance && stop->is_judged && stop->told->seq < call->seq &&
            (stop->exit == NULL || stop->exit->seq > call->seq)) {
            return stop;
        }
    }
    return NULL;
}

void qn_judge_quiet(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct calls calls = {0};

    qn_table_init_for(&calls.invocations, sizeof(bool), &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind != QN_CHECK_API_IN ||
            !qn_judge_is_call(in, event, QN_STR("ReceiveMessage")) || !is_new(&calls, event)) {
            continue;
        }
        const struct qn_stop *stop = stop_of(in, event);
        if (stop == NULL || event->wt - stop->told->wt <=
                                NOTICE_MS + in->slack_ms +
                                    qn_busy_ms(in, stop->told->seq, event->seq, in->grace_ms)) {
            continue;
        }
        if (qn_finding_break(ret_finding, QN_MUST,
                             "%.*s asked for messages (seq %llu) %lld ms after SIGTERM (seq %llu)",
                             QN_STR_ARG(stop->owner->name), (unsigned long long)event->seq,
                             (long long)(event->wt - stop->told->wt),
                             (unsigned long long)stop->told->seq)) {
            qn_finding_witness(ret_finding, stop->told->seq);
        }
        qn_finding_witness(ret_finding, event->seq);
    }
    qn_table_done(&calls.invocations);
    const struct qn_stop *stop = in->book->stops;
    while (stop != NULL && !stop->is_judged) {
        stop = stop->next;
    }
    if (stop == NULL) {
        qn_finding_set_unexercised(ret_finding, "nobody was told to end");
    }
}
