/* ACK-AFTER-EFFECT: a delete arrives only after the effect, or a record of rejection, is there. */
#include "chaos/check/judge/judge.h"

struct settled {
    uint64_t seq; /* of the first effect or record; 0: none so far */
    int64_t at_ms;
};

/* The arrival of the call that carried the handle; it may lie before the execution, when the call
 * was held. */
static uint64_t arrival(const struct qn_table *arrivals, const struct qn_check_event *deletion)
{
    const uint64_t *seq = qn_table_find_kept(arrivals, deletion->h);

    return seq != NULL ? *seq : deletion->seq;
}

static void note_call(struct qn_table *arrivals, const struct qn_check_event *call)
{
    if (!qn_str_starts_with(call->action, QN_STR("Delete"))) {
        return;
    }
    for (size_t i = 0; i < call->detail->handle_count; i++) {
        uint64_t *seq = qn_table_at_kept(arrivals, call->detail->handles[i]);
        *seq = call->seq;
    }
}

static void judge_delete(const struct qn_table *effects, const struct qn_table *arrivals,
                         const struct qn_check_event *deletion, struct qn_finding *finding)
{
    const struct settled *settled = qn_table_find_kept(effects, deletion->k);
    uint64_t at = arrival(arrivals, deletion);

    if ((settled != NULL && settled->seq < at) || finding->result == QN_RESULT_FAIL) {
        return;
    }
    if (settled != NULL) {
        qn_finding_set(finding, QN_RESULT_FAIL,
                       "the delete of %.*s arrived before its effect (seq %llu, effect %llu)",
                       QN_STR_ARG(deletion->k), (unsigned long long)at,
                       (unsigned long long)settled->seq);
    } else {
        qn_finding_set(finding, QN_RESULT_FAIL,
                       "%.*s was deleted (seq %llu) when it had neither an effect nor a record",
                       QN_STR_ARG(deletion->k), (unsigned long long)at);
    }
    qn_finding_witness(finding, at);
    if (at != deletion->seq) {
        qn_finding_witness(finding, deletion->seq);
    }
}

/* A message that can never succeed, and a consumer that says it throws such away. */
static bool may_be_dropped(const struct qn_judge_input *in, struct qn_str key)
{
    return qn_judge_is_excepted(in, key) ||
           (in->poison == QN_POISON_DISCARD && qn_judge_is_poison(in, key));
}

void qn_judge_ack_after_effect(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_table effects;
    struct qn_table arrivals;
    int64_t count = 0;

    if (in->level < QN_LEVEL_SINK) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE, "needs the effect sink");
        return;
    }
    qn_table_init_for(&effects, sizeof(struct settled), &in->history->texts);
    qn_table_init_for(&arrivals, sizeof(uint64_t), &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (qn_judge_settles(in, event)) {
            struct settled *settled = qn_table_at_kept(&effects, event->k);
            settled->seq = settled->seq != 0 ? settled->seq : event->seq;
        } else if (event->kind == QN_CHECK_API_IN && qn_judge_counts(in, event)) {
            note_call(&arrivals, event);
        } else if (event->kind == QN_CHECK_MSG_DELETE && qn_judge_on_source(in, event)) {
            count++;
            if (!may_be_dropped(in, event->k)) {
                judge_delete(&effects, &arrivals, event, ret_finding);
            }
        }
    }
    if (ret_finding->result == QN_RESULT_PASS) {
        qn_finding_set(ret_finding, QN_RESULT_PASS, "%lld deletes, each after its effect",
                       (long long)count);
    }
    qn_table_done(&arrivals);
    qn_table_done(&effects);
}
