/* GROUP-ORDER: within a group, a message is begun only when all before it are finished. Without the
 * sink, by the order of the deletes. */
#include "chaos/check/judge/judge.h"

struct message {
    struct qn_str k;
    struct qn_str sn;
    struct qn_str grp;
    struct message *next; /* later in the group */
    bool finished;
    bool begun;
    uint64_t
        deleted_lsn; /* deletes of one request are one entry of the journal: they have no order */
};

struct group {
    struct message *first; /* by sequence number */
};

struct state {
    struct qn_table by_key; /* struct message *, by business key and by message id */
    struct qn_table groups;
    struct qn_arena arena;
};

static void add(struct state *state, const struct qn_check_event *event)
{
    struct group *group = qn_table_at(&state->groups, event->grp);
    struct message *message = qn_arena_alloc(&state->arena, sizeof(*message));
    struct message **at = &group->first;

    message->k = event->k;
    message->sn = event->sn;
    message->grp = event->grp;
    while (*at != NULL && qn_judge_compare_sn((*at)->sn, event->sn) < 0) {
        at = &(*at)->next;
    }
    message->next = *at;
    *at = message;
    *(struct message **)qn_table_at(&state->by_key, event->k) = message;
    *(struct message **)qn_table_at(&state->by_key, event->mid) = message;
}

static struct message *find(const struct state *state, struct qn_str name)
{
    struct message **found = qn_str_is_none(name) ? NULL : qn_table_find(&state->by_key, name);

    return found != NULL ? *found : NULL;
}

/* The first unfinished message before this one, or NULL. */
static const struct message *open_before(const struct state *state, const struct message *message,
                                         uint64_t lsn)
{
    const struct group *group = qn_table_find(&state->groups, message->grp);
    const struct message *at = group != NULL ? group->first : NULL;

    for (; at != NULL && at != message; at = at->next) {
        if (!at->finished && (lsn == 0 || at->deleted_lsn != lsn)) {
            return at;
        }
    }
    return NULL;
}

static void judge(const struct state *state, const struct message *message, uint64_t lsn,
                  const struct qn_check_event *event, struct qn_finding *finding)
{
    const struct message *before = open_before(state, message, lsn);

    if (before != NULL && finding->result == QN_RESULT_PASS) {
        qn_finding_set(finding, QN_RESULT_FAIL,
                       "%.*s of group %.*s was %s (seq %llu) before %.*s was finished",
                       QN_STR_ARG(message->k), QN_STR_ARG(message->grp),
                       event->kind == QN_CHECK_MSG_DELETE ? "deleted" : "begun",
                       (unsigned long long)event->seq, QN_STR_ARG(before->k));
        qn_finding_witness(finding, event->seq);
    }
}

static void step(const struct qn_judge_input *in, const struct state *state,
                 const struct qn_check_event *event, struct qn_finding *finding)
{
    bool has_sink = in->level >= QN_LEVEL_SINK;
    struct message *message = find(state, qn_str_is_none(event->mid) ? event->k : event->mid);

    if (message == NULL) {
        return;
    }
    switch (event->kind) {
    case QN_CHECK_WORK_BEGIN:
        if (!message->begun) {
            message->begun = true;
            judge(state, message, 0, event, finding);
        }
        break;
    case QN_CHECK_WORK_COMMIT:
    case QN_CHECK_REJECT:
    case QN_CHECK_RECONCILE:
        message->finished = true;
        break;
    case QN_CHECK_MSG_DELETE:
        if (!has_sink) {
            judge(state, message, event->lsn, event, finding);
            message->finished = true;
        }
        break;
    case QN_CHECK_MSG_DLQ:
        message->finished = true;
        break;
    default:
        break;
    }
}

void qn_judge_group_order(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct state state;

    qn_table_init(&state.by_key, sizeof(struct message *));
    qn_table_init(&state.groups, sizeof(struct group));
    qn_arena_init(&state.arena, SIZE_MAX / 2);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind == QN_CHECK_MSG_SEND && qn_judge_on_source(in, event) &&
            !qn_str_is_none(event->grp)) {
            add(&state, event);
        } else if (event->kind == QN_CHECK_MSG_DELETE && qn_judge_on_source(in, event)) {
            struct message *message = find(&state, event->mid);
            if (message != NULL) {
                message->deleted_lsn = event->lsn;
            }
        }
    }
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        bool is_state = event->kind == QN_CHECK_MSG_DELETE || event->kind == QN_CHECK_MSG_DLQ;
        if (!is_state || qn_judge_on_source(in, event)) {
            step(in, &state, event, ret_finding);
        }
    }
    if (ret_finding->result == QN_RESULT_PASS && in->level < QN_LEVEL_SINK) {
        qn_finding_set(ret_finding, QN_RESULT_PASS, "by the order of the deletes");
    }
    qn_arena_done(&state.arena);
    qn_table_done(&state.groups);
    qn_table_done(&state.by_key);
}
