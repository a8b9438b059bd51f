/* GROUP-SERIAL: no two runs of handlers of one group overlap. */
#include "chaos/check/judge/judge.h"

struct open_run {
    int64_t run;
    struct qn_str k;
    uint64_t seq;
};

enum { OPEN_MAX = 16 };

struct group {
    struct open_run open[OPEN_MAX];
    size_t count;
};

static void begin(struct group *group, struct qn_str name, const struct qn_check_event *event,
                  struct qn_finding *finding)
{
    for (size_t i = 0; i < group->count && finding->result == QN_RESULT_PASS; i++) {
        /* Two runs of one message overlap when its lease was taken away: not the order's fault. */
        if (!qn_str_equal(group->open[i].k, event->k)) {
            qn_finding_set(
                finding, QN_RESULT_FAIL,
                "%.*s of group %.*s began (seq %llu) while %.*s was open (since seq %llu)",
                QN_STR_ARG(event->k), QN_STR_ARG(name), (unsigned long long)event->seq,
                QN_STR_ARG(group->open[i].k), (unsigned long long)group->open[i].seq);
            qn_finding_witness(finding, group->open[i].seq);
            qn_finding_witness(finding, event->seq);
        }
    }
    if (group->count < OPEN_MAX) {
        group->open[group->count++] = (struct open_run){event->run, event->k, event->seq};
    }
}

static void end(struct group *group, int64_t run)
{
    for (size_t i = 0; i < group->count; i++) {
        if (group->open[i].run == run) {
            group->open[i] = group->open[--group->count];
            return;
        }
    }
}

void qn_judge_group_serial(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_table group_of; /* by key: the name of its group */
    struct qn_table groups;

    if (in->level < QN_LEVEL_SINK) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE, "needs the effect sink");
        return;
    }
    qn_table_init(&group_of, sizeof(struct qn_str));
    qn_table_init(&groups, sizeof(struct group));
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind == QN_CHECK_LOAD || event->kind == QN_CHECK_MSG_SEND) {
            if (!qn_str_is_none(event->grp)) {
                *(struct qn_str *)qn_table_at(&group_of, event->k) = event->grp;
            }
            continue;
        }
        const struct qn_str *name = qn_table_find(&group_of, event->k);
        if (name == NULL) {
            continue;
        }
        if (event->kind == QN_CHECK_WORK_BEGIN) {
            begin(qn_table_at(&groups, *name), *name, event, ret_finding);
        } else if (event->kind == QN_CHECK_WORK_COMMIT || event->kind == QN_CHECK_WORK_ABORT) {
            end(qn_table_at(&groups, *name), event->run);
        }
    }
    qn_table_done(&groups);
    qn_table_done(&group_of);
}
