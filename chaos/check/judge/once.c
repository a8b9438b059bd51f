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
    if (!qn_str_is_none(event->step)) {
        qn_buf_append_char(room, '/');
        qn_buf_append_str(room, event->step);
    }
    return qn_buf_str(room);
}

void qn_judge_once(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_table table;
    struct qn_buf room;

    if (in->level < QN_LEVEL_SINK) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE, "needs the effect sink");
        return;
    }
    qn_table_init(&table, sizeof(struct applied));
    qn_buf_init(&room, 4096);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind != QN_CHECK_WORK_COMMIT || event->replayed) {
            continue;
        }
        struct qn_str name = effect_name(event, &room);
        struct applied *applied = qn_table_at(&table, name);
        if (++applied->times == 1) {
            applied->first_seq = event->seq;
            applied->first_instance = event->instance;
        } else if (ret_finding->result != QN_RESULT_FAIL) {
            qn_finding_set(ret_finding, QN_RESULT_FAIL,
                           "%.*s applied 2 times (seq %llu by %.*s, seq %llu by %.*s)%s",
                           QN_STR_ARG(name), (unsigned long long)applied->first_seq,
                           QN_STR_ARG(applied->first_instance), (unsigned long long)event->seq,
                           QN_STR_ARG(event->instance),
                           qn_str_is_none(event->ik) ? ", without an Idempotency-Key" : "");
            qn_finding_witness(ret_finding, applied->first_seq);
            qn_finding_witness(ret_finding, event->seq);
        }
    }
    qn_buf_done(&room);
    qn_table_done(&table);
}
