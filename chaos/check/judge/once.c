/* ONCE: the effect of each business key is applied at most once. */
#include "chaos/check/judge/judge.h"

struct applied {
    int64_t times;
    uint64_t first_seq;
    struct qn_str first_instance;
};

/* The steps of a handler are effects of their own. */
static struct qn_str effect_name(const struct qn_check_event *event, struct qn_buf *room)
{
    qn_buf_clear(room);
    qn_buf_append_str(room, event->k);
    if (!qn_str_is_none(event->detail->step)) {
        qn_buf_append_char(room, '/');
        qn_buf_append_str(room, event->detail->step);
    }
    return qn_buf_str(room);
}

/* By message id, each message with the same key has an effect of its own. */
static int64_t allowed(const struct qn_judge_input *in, struct qn_str key)
{
    const struct qn_tally_key *known =
        in->idempotency == QN_IDEMPOTENCY_MESSAGE_ID ? qn_table_find(&in->tally->keys, key) : NULL;

    return known != NULL && known->sent > 1 ? known->sent : 1;
}

/* The command tells how often, and not when. */
static void break_by_count(const struct qn_check_event *event, enum qn_severity severity,
                           struct qn_finding *finding)
{
    if (qn_finding_break(finding, severity, "%.*s is there %lld times by the effects command",
                         QN_STR_ARG(event->k), (long long)event->detail->count)) {
        qn_finding_witness(finding, event->seq);
    }
}

void qn_judge_once(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_table table;
    struct qn_buf room;
    enum qn_severity severity = in->idempotency == QN_IDEMPOTENCY_NONE ? QN_INFO : QN_MUST;

    if (in->level < QN_LEVEL_COMMAND) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE,
                       "needs the effect sink or an effects command");
        return;
    }
    qn_table_init(&table, sizeof(struct applied));
    qn_buf_init(&room, 4096);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind == QN_CHECK_EFFECT_COUNT && event->detail->count > allowed(in, event->k) &&
            !qn_judge_is_excepted(in, event->k)) {
            break_by_count(event, severity, ret_finding);
        }
        if (event->kind != QN_CHECK_WORK_COMMIT || event->replayed ||
            qn_judge_is_excepted(in, event->k)) {
            continue;
        }
        struct qn_str name = effect_name(event, &room);
        struct applied *applied = qn_table_at(&table, name);
        if (++applied->times == 1) {
            applied->first_seq = event->seq;
            applied->first_instance = event->instance;
        } else if (applied->times > allowed(in, event->k) &&
                   qn_finding_break(
                       ret_finding, severity,
                       "%.*s applied %lld times (seq %llu by %.*s, seq %llu by %.*s)%s",
                       QN_STR_ARG(name), (long long)applied->times,
                       (unsigned long long)applied->first_seq, QN_STR_ARG(applied->first_instance),
                       (unsigned long long)event->seq, QN_STR_ARG(event->instance),
                       qn_str_is_none(event->ik) ? ", without an Idempotency-Key" : "")) {
            qn_finding_witness(ret_finding, applied->first_seq);
            qn_finding_witness(ret_finding, event->seq);
        }
    }
    qn_buf_done(&room);
    qn_table_done(&table);
}
