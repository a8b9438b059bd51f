/* FIFO groups, message by message. */
#include "chaos/check/judge/groups.h"

#include "chaos/check/judge/book.h"

static void insert(struct qn_group *group, struct qn_group_message *message)
{
    struct qn_group_message **at = &group->first;

    if (group->last != NULL && qn_judge_compare_sn(group->last->sn, message->sn) <= 0) {
        group->last->next = message;
        group->last = message;
        return;
    }
    while (*at != NULL && qn_judge_compare_sn((*at)->sn, message->sn) < 0) {
        at = &(*at)->next;
    }
    message->next = *at;
    *at = message;
    group->last = message->next == NULL ? message : group->last;
}

static void add(struct qn_groups *groups, const struct qn_check_event *event)
{
    struct qn_group *group = qn_table_at(&groups->groups, event->grp);
    struct qn_group_message *message = qn_arena_alloc(&groups->arena, sizeof(*message));

    group->name = event->grp;
    message->k = event->k;
    message->sn = event->sn;
    message->group = group;
    insert(group, message);
    *(struct qn_group_message **)qn_table_at(&groups->by_name, event->k) = message;
    *(struct qn_group_message **)qn_table_at(&groups->by_name, event->mid) = message;
}

struct qn_group_message *qn_groups_find(const struct qn_groups *groups,
                                        const struct qn_check_event *event)
{
    struct qn_str name = qn_str_is_none(event->mid) ? event->k : event->mid;
    struct qn_group_message **found =
        qn_str_is_none(name) ? NULL : qn_table_find(&groups->by_name, name);

    return found != NULL ? *found : NULL;
}

bool qn_groups_are_seen(const struct qn_judge_input *in, struct qn_finding *finding)
{
    if (in->level >= QN_LEVEL_SINK || !in->skips_in_group) {
        return true;
    }
    qn_finding_set(finding, QN_RESULT_NOT_OBSERVABLE,
                   "needs the effect sink, as a group goes on behind a failure");
    return false;
}

void qn_groups_init(struct qn_groups *groups, const struct qn_judge_input *in)
{
    *groups = (struct qn_groups){.in = in};
    qn_table_init(&groups->by_name, sizeof(struct qn_group_message *));
    qn_table_init(&groups->groups, sizeof(struct qn_group));
    qn_arena_init(&groups->arena, SIZE_MAX / 2);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind == QN_CHECK_MSG_SEND && qn_judge_on_source(in, event) &&
            !qn_str_is_none(event->grp)) {
            add(groups, event);
        }
    }
}

void qn_groups_done(struct qn_groups *groups)
{
    qn_arena_done(&groups->arena);
    qn_table_done(&groups->groups);
    qn_table_done(&groups->by_name);
}

struct qn_group_message *qn_groups_of_request(const struct qn_groups *groups,
                                              const struct qn_check_event *call, size_t nth)
{
    const struct qn_lease *lease = qn_book_lease_of(groups->in->book, call->detail->handles[nth]);

    return lease != NULL ? qn_groups_find(groups, lease->grant) : NULL;
}

bool qn_groups_note_request(const struct qn_groups *groups, const struct qn_check_event *call)
{
    if (groups->in->level >= QN_LEVEL_SINK || !qn_judge_asks_to_delete(groups->in, call)) {
        return false;
    }
    for (size_t i = 0; i < call->detail->handle_count; i++) {
        struct qn_group_message *message = qn_groups_of_request(groups, call, i);
        if (message != NULL) {
            message->is_finished = true;
        }
    }
    return true;
}

void qn_groups_note(const struct qn_groups *groups, const struct qn_check_event *event)
{
    bool is_dead = event->kind == QN_CHECK_MSG_DLQ && qn_judge_on_source(groups->in, event);
    bool is_settled = is_dead || qn_judge_settles(groups->in, event);

    if (!is_settled && event->kind != QN_CHECK_WORK_ABORT) {
        return;
    }
    struct qn_group_message *message = qn_groups_find(groups, event);
    if (message == NULL && !qn_str_is_none(event->k)) {
        struct qn_group_message **found = qn_table_find(&groups->by_name, event->k);
        message = found != NULL ? *found : NULL; /* its own copy has another message id */
    }
    if (message != NULL) {
        message->is_finished = message->is_finished || is_settled;
        message->has_failed = message->has_failed || !is_settled;
    }
}

const struct qn_group_message *qn_groups_open_before(const struct qn_groups *groups,
                                                     const struct qn_group_message *message)
{
    struct qn_group *group = message->group;

    while (group->first != NULL && group->first->is_finished && group->first != message) {
        group->first = group->first->next;
    }
    /* The message itself may have left the list. */
    for (const struct qn_group_message *at = group->first;
         at != NULL && qn_judge_compare_sn(at->sn, message->sn) < 0; at = at->next) {
        bool is_excused = at->is_finished || (groups->in->skips_in_group && at->has_failed) ||
                          qn_judge_is_excepted(groups->in, at->k);
        if (!is_excused) {
            return at;
        }
    }
    return NULL;
}
