/* DLQ-EXACT: the dead-letter queue got the messages that belong there, and no others. Which those
 * are stands in brackets, "none" for nobody; without brackets they are those that can never
 * succeed, and these may be recorded elsewhere instead, if the consumer is not declared to leave
 * them to the redrive policy. Without the sink such a record is not seen: a delete may stand for
 * it.
 */
#include "chaos/check/judge/judge.h"

struct key {
    bool is_dead;
    bool is_settled;
};

static bool is_expected(const struct qn_judge_input *in, struct qn_str key)
{
    return qn_str_is_none(in->arguments) ? qn_judge_is_poison(in, key)
                                         : qn_judge_list_has(in, in->arguments, key);
}

static bool is_own_copy(const struct qn_judge_input *in, const struct qn_check_event *event)
{
    return event->kind == QN_CHECK_MSG_SEND && qn_judge_settles(in, event) &&
           qn_str_equal(event->queue, in->dlq);
}

static void note(const struct qn_judge_input *in, struct qn_table *keys,
                 const struct qn_check_event *event, struct qn_finding *finding)
{
    bool is_dead = (event->kind == QN_CHECK_MSG_DLQ && qn_judge_on_source(in, event)) ||
                   is_own_copy(in, event);

    if (in->level < QN_LEVEL_SINK && event->kind == QN_CHECK_MSG_DELETE && !event->undone &&
        qn_judge_on_source(in, event)) {
        struct key *deleted = qn_table_at(keys, event->k);
        deleted->is_settled = true;
        return;
    }
    if (!is_dead && !qn_judge_settles(in, event)) {
        return;
    }
    struct key *key = qn_table_at_kept(keys, event->k);
    key->is_dead = key->is_dead || is_dead;
    key->is_settled = key->is_settled || event->kind != QN_CHECK_WORK_COMMIT;
    if (!is_dead || is_expected(in, event->k)) {
        return;
    }
    (void)qn_finding_break(finding, QN_MUST,
                           "%.*s went to the dead-letter queue, though its handler can succeed",
                           QN_STR_ARG(event->k));
    qn_finding_witness(finding, event->seq);
}

static void judge_missing(const struct qn_judge_input *in, const struct qn_table *keys,
                          struct qn_str wanted, struct qn_finding *finding)
{
    const struct key *key = qn_table_find(keys, wanted);
    bool is_there =
        key != NULL && (key->is_dead || (in->poison != QN_POISON_DLQ && key->is_settled));

    if (!is_there && in->poison != QN_POISON_DISCARD) {
        (void)qn_finding_break(
            finding, QN_MUST, "%.*s never reached the dead-letter queue%s", QN_STR_ARG(wanted),
            in->poison == QN_POISON_DLQ ? "" : ", and nothing else was recorded of it");
    }
}

void qn_judge_dlq_exact(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_table keys;

    qn_table_init_for(&keys, sizeof(struct key), &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        note(in, &keys, &in->history->events[i], ret_finding);
    }
    for (size_t i = 0; qn_str_is_none(in->arguments) && i < in->expected_dead_count; i++) {
        judge_missing(in, &keys, in->expected_dead[i], ret_finding);
    }
    for (const struct qn_table_item *item = in->tally->keys.first; item != NULL;
         item = item->next) {
        if (qn_judge_list_has(in, in->arguments, item->key)) {
            judge_missing(in, &keys, item->key, ret_finding);
        }
    }
    qn_table_done(&keys);
}
