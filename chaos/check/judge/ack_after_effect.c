/* ACK-AFTER-EFFECT: a delete arrives only after the effect, or a record of rejection, is there. */
#include <stdio.h>

#include "chaos/check/judge/judge.h"

struct settled {
    const struct qn_check_event *by; /* the first effect or record; NULL: none so far */
};

struct arrival {
    const struct qn_check_event *call;
};

struct walk {
    struct qn_table effects;  /* struct settled */
    struct qn_table arrivals; /* struct arrival, by handle */
    int64_t deletes;
    int64_t closest_ms; /* wall: between an effect and the delete behind it; below 0: none */
};

/* The arrival of the call that carried the handle; it may lie before the execution, when the call
 * was held. */
static const struct qn_check_event *arrival(const struct walk *walk,
                                            const struct qn_check_event *deletion)
{
    const struct arrival *arrival = qn_table_find_kept(&walk->arrivals, deletion->h);

    return arrival != NULL ? arrival->call : deletion;
}

static void note_call(struct qn_table *arrivals, const struct qn_check_event *call)
{
    if (!qn_str_starts_with(call->action, QN_STR("Delete"))) {
        return;
    }
    for (size_t i = 0; i < call->detail->handle_count; i++) {
        struct arrival *arrival = qn_table_at_kept(arrivals, call->detail->handles[i]);
        arrival->call = call;
    }
}

static void judge_delete(struct walk *walk, const struct qn_check_event *deletion,
                         struct qn_finding *finding)
{
    const struct settled *settled = qn_table_find_kept(&walk->effects, deletion->k);
    const struct qn_check_event *call = arrival(walk, deletion);
    uint64_t at = call->seq;

    if (settled != NULL && settled->by->seq < at) {
        int64_t gap_ms = call->wt > settled->by->wt ? call->wt - settled->by->wt : 0;
        walk->closest_ms =
            walk->closest_ms < 0 || gap_ms < walk->closest_ms ? gap_ms : walk->closest_ms;
        return;
    }
    if (finding->result == QN_RESULT_FAIL) {
        return;
    }
    if (settled != NULL) {
        qn_finding_set(finding, QN_RESULT_FAIL,
                       "the delete of %.*s arrived before its effect (seq %llu, effect %llu)",
                       QN_STR_ARG(deletion->k), (unsigned long long)at,
                       (unsigned long long)settled->by->seq);
    } else {
        qn_finding_set(finding, QN_RESULT_FAIL,
                       "%.*s was deleted (seq %llu) when it had neither an effect nor a record",
                       QN_STR_ARG(qn_judge_message_name(deletion)), (unsigned long long)at);
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

/* Of a pass: how close the closest was. */
static void tell(const struct walk *walk, struct qn_finding *finding)
{
    char gap[48] = "";

    if (walk->closest_ms >= 0) {
        (void)snprintf(gap, sizeof(gap), ", min gap effect->delete %lld ms",
                       (long long)walk->closest_ms);
    }
    qn_finding_set(finding, QN_RESULT_PASS, "%lld delete%s%s", (long long)walk->deletes,
                   walk->deletes == 1 ? "" : "s", gap);
}

void qn_judge_ack_after_effect(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct walk walk = {.closest_ms = -1};

    if (in->level < QN_LEVEL_SINK) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE, "needs the effect sink");
        return;
    }
    qn_table_init_for(&walk.effects, sizeof(struct settled), &in->history->texts);
    qn_table_init_for(&walk.arrivals, sizeof(struct arrival), &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (qn_judge_settles(in, event)) {
            struct settled *settled = qn_table_at_kept(&walk.effects, event->k);
            settled->by = settled->by != NULL ? settled->by : event;
        } else if (event->kind == QN_CHECK_API_IN && qn_judge_counts(in, event)) {
            note_call(&walk.arrivals, event);
        } else if (event->kind == QN_CHECK_MSG_DELETE && qn_judge_on_source(in, event)) {
            walk.deletes++;
            if (!may_be_dropped(in, event->k)) {
                judge_delete(&walk, event, ret_finding);
            }
        }
    }
    if (ret_finding->result == QN_RESULT_PASS) {
        tell(&walk, ret_finding);
    }
    qn_table_done(&walk.arrivals);
    qn_table_done(&walk.effects);
}
