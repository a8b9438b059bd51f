/* GROUP-SERIAL: no two runs of handlers of one group overlap, unless the scenario took the lease of
 * the older one away. */
#include "chaos/check/judge/book.h"

enum { OPEN_MAX = 16 };

struct group {
    const struct qn_handler *open[OPEN_MAX];
    size_t count;
};

static bool may_overlap(const struct qn_judge_input *in, const struct qn_handler *older,
                        const struct qn_handler *run)
{
    const struct qn_lease *lease = older->lease;

    /* Two runs of one message overlap when its lease was taken away: not the order's fault. */
    return qn_str_equal(older->begin->k, run->begin->k) ||
           (lease != NULL && lease->is_excused && lease->ended->seq < run->begin->seq) ||
           qn_judge_is_excepted(in, older->begin->k) || qn_judge_is_excepted(in, run->begin->k);
}

static void begin(const struct qn_judge_input *in, struct group *group, struct qn_str name,
                  const struct qn_handler *run, struct qn_finding *finding)
{
    size_t kept = 0;

    for (size_t i = 0; i < group->count; i++) {
        const struct qn_handler *older = group->open[i];
        if (older->end != NULL && older->end->seq < run->begin->seq) {
            continue;
        }
        group->open[kept++] = older;
        if (!may_overlap(in, older, run) &&
            qn_finding_break(finding, QN_MUST,
                             "%.*s of group %.*s began (seq %llu) while %.*s was open (since seq "
                             "%llu)",
                             QN_STR_ARG(run->begin->k), QN_STR_ARG(name),
                             (unsigned long long)run->begin->seq, QN_STR_ARG(older->begin->k),
                             (unsigned long long)older->begin->seq)) {
            qn_finding_witness(finding, older->begin->seq);
            qn_finding_witness(finding, run->begin->seq);
        }
    }
    group->count = kept;
    if (group->count < OPEN_MAX) {
        group->open[group->count++] = run;
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
    qn_table_init_for(&group_of, sizeof(struct qn_str), &in->history->texts);
    qn_table_init(&groups, sizeof(struct group));
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if ((event->kind == QN_CHECK_LOAD || event->kind == QN_CHECK_MSG_SEND) &&
            !qn_str_is_none(event->grp) && !qn_str_is_none(event->k)) {
            *(struct qn_str *)qn_table_at_kept(&group_of, event->k) = event->grp;
        }
    }
    for (const struct qn_handler *run = in->book->handlers; run != NULL; run = run->next) {
        const struct qn_str *name =
            qn_str_is_none(run->begin->k) ? NULL : qn_table_find_kept(&group_of, run->begin->k);
        if (name != NULL) {
            begin(in, qn_table_at(&groups, *name), *name, run, ret_finding);
        }
    }
    qn_table_done(&groups);
    qn_table_done(&group_of);
}
