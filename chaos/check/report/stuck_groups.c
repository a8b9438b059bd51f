/* How long each group of a FIFO queue stood still behind one message: from the first receive of the
 * message until it left the queue nothing behind it can be received. An empty poll shows nothing of
 * that, and the age of the oldest message does not say whose it is. */
#include "chaos/check/report/report.h"

#include <stdlib.h>

struct member {
    struct qn_group_hold *group;
    struct qn_str name;
    int64_t since_ms; /* its first receive */
    int64_t leases;   /* 0: it was not received so far */
    bool is_gone;
};

struct reader {
    struct qn_table groups;   /* struct qn_group_hold */
    struct qn_table messages; /* struct member, by message id */
    struct qn_str source;
    int64_t visibility_ms;
};

/* The longest hold counts. */
static void note_hold(const struct reader *reader, const struct member *member, int64_t now_ms)
{
    struct qn_group_hold *group = member->group;
    int64_t held_ms = now_ms - member->since_ms;

    if (member->leases == 0 || held_ms <= group->held_ms) {
        return;
    }
    group->held_ms = held_ms;
    group->behind = member->name;
    group->leases = member->leases;
    group->waiting = group->sent - group->done - 1;
    group->is_stuck = group->waiting > 0 && held_ms > reader->visibility_ms;
}

static void note_send(struct reader *reader, const struct qn_check_event *event)
{
    struct member *member = qn_table_at(&reader->messages, event->mid);

    /* Groups of a standard queue hold up nobody; its messages have no sequence number. */
    if (member->group != NULL || event->grp.len == 0 || event->sn.len == 0) {
        return;
    }
    member->group = qn_table_at(&reader->groups, event->grp);
    member->group->name = event->grp;
    member->group->sent++;
    member->name = qn_judge_message_name(event);
}

static void note(struct reader *reader, const struct qn_check_event *event)
{
    bool is_of_queue =
        !event->undone && !qn_str_is_none(event->mid) && qn_str_equal(event->queue, reader->source);
    struct member *member = is_of_queue ? qn_table_find(&reader->messages, event->mid) : NULL;

    if (is_of_queue && event->kind == QN_CHECK_MSG_SEND) {
        note_send(reader, event);
        return;
    }
    if (member == NULL || member->group == NULL || member->is_gone) {
        return;
    }
    switch (event->kind) {
    case QN_CHECK_LEASE_GRANT:
        member->since_ms = member->leases == 0 ? event->vt : member->since_ms;
        member->leases++;
        break;
    case QN_CHECK_MSG_DELETE:
    case QN_CHECK_MSG_DLQ:
    case QN_CHECK_MSG_MOVE:
    case QN_CHECK_MSG_EXPIRE:
        note_hold(reader, member, event->vt);
        member->is_gone = true;
        member->group->done++;
        break;
    default:
        break;
    }
}

static int longest_first(const void *a, const void *b)
{
    const struct qn_group_hold *x = a;
    const struct qn_group_hold *y = b;

    if (x->held_ms != y->held_ms) {
        return x->held_ms < y->held_ms ? 1 : -1;
    }
    return qn_str_compare(x->name, y->name);
}

static void collect(const struct reader *reader, struct qn_group_holds *holds)
{
    struct qn_group_hold *all = qn_memory_new_array(reader->groups.count + 1, sizeof(*all));
    size_t count = 0;

    for (const struct qn_table_item *item = reader->groups.first; item != NULL; item = item->next) {
        all[count++] = *(const struct qn_group_hold *)(const void *)item->value;
    }
    qsort(all, count, sizeof(*all), longest_first);
    holds->all = count;
    holds->count = count < QN_GROUP_HOLDS_MAX ? count : QN_GROUP_HOLDS_MAX;
    memcpy(holds->items, all, holds->count * sizeof(*all));
    qn_memory_free(all);
}

void qn_report_group_holds(const struct qn_report_entry *entry, struct qn_group_holds *holds)
{
    const struct qn_history *history = &entry->result.history;
    struct reader reader = {0};
    struct qn_report_queues queues;
    int64_t now_ms = 0;

    qn_report_queues(entry, &queues);
    reader.source = queues.source;
    reader.visibility_ms = queues.visibility_ms;
    qn_table_init(&reader.groups, sizeof(struct qn_group_hold));
    qn_table_init(&reader.messages, sizeof(struct member));
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        now_ms = event->vt;
        if (event->kind == QN_CHECK_MARK && qn_str_equal(event->detail->reason, QN_STR("end"))) {
            break;
        }
        note(&reader, event);
    }
    for (const struct qn_table_item *item = reader.messages.first; item != NULL;
         item = item->next) {
        const struct member *member = (const void *)item->value;
        if (member->group != NULL && !member->is_gone) {
            note_hold(&reader, member, now_ms);
        }
    }
    collect(&reader, holds);
    qn_table_done(&reader.messages);
    qn_table_done(&reader.groups);
    qn_report_queues_done(&queues);
}
