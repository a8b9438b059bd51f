/* What became of everything that was sent: Jepsen's accounting for queues, extended to effects. */
#include "chaos/check/judge/judge.h"

struct entry {
    bool is_sent;
    bool is_acked;
    int64_t queued; /* messages with this key */
    bool is_dead;
    bool is_recorded;  /* rejected or reconciled, or a step where there are steps alone */
    bool is_filtered;  /* no filter of a Lambda mapping fits it: it is deleted, as was wished */
    bool is_premature; /* removed before there was anything to show for it */
    int64_t applied;
};

/* A message may be said to be there twice, and two messages may have one key. */
static void place(struct qn_table *messages, struct entry *entry,
                  const struct qn_check_event *event, bool in_queue)
{
    bool *is_there = qn_table_at_kept(messages, qn_str_is_none(event->mid) ? event->k : event->mid);

    if (*is_there != in_queue) {
        entry->queued += in_queue ? 1 : -1;
        *is_there = in_queue;
    }
}

struct books {
    struct qn_table entries;  /* struct entry, by key */
    struct qn_table messages; /* bool, by message id: it is in the source queue */
};

static void step(struct books *books, const struct qn_judge_input *in,
                 const struct qn_check_event *event, struct qn_accounting *accounting)
{
    bool settles = qn_judge_settles(in, event);

    if (qn_str_is_none(event->k) ||
        (!settles && qn_judge_is_state(event) && !qn_judge_on_source(in, event))) {
        return;
    }
    struct entry *entry = qn_table_at_kept(&books->entries, event->k);
    if (settles && (event->kind != QN_CHECK_WORK_COMMIT || !qn_str_is_none(event->detail->step))) {
        entry->is_recorded = true;
        return;
    }
    switch (event->kind) {
    case QN_CHECK_LOAD:
        entry->is_sent = true;
        entry->is_acked = entry->is_acked || qn_str_equal(event->code, QN_STR("OK"));
        accounting->attempts++;
        accounting->acked += qn_str_equal(event->code, QN_STR("OK"));
        break;
    case QN_CHECK_MSG_SEND:
    case QN_CHECK_MSG_DUPCOPY:
        entry->is_sent = true;
        place(&books->messages, entry, event, true);
        break;
    case QN_CHECK_MSG_DELETE:
        place(&books->messages, entry, event, false);
        entry->is_premature = entry->is_premature || (entry->applied == 0 && !entry->is_recorded);
        break;
    case QN_CHECK_LAMBDA_FILTERED:
        entry->is_filtered = true;
        break;
    case QN_CHECK_MSG_DLQ:
        place(&books->messages, entry, event, false);
        entry->is_dead = true;
        break;
    case QN_CHECK_MSG_MOVE:
    case QN_CHECK_MSG_EXPIRE:
        place(&books->messages, entry, event, false);
        break;
    case QN_CHECK_EFFECT_COUNT:
        if (in->level < QN_LEVEL_SINK) {
            entry->applied += event->detail->count;
            accounting->applied += event->detail->count;
        }
        break;
    case QN_CHECK_WORK_COMMIT:
        if (!event->replayed && qn_str_is_none(event->detail->step)) {
            entry->applied++;
            accounting->applied++;
        }
        break;
    default:
        break;
    }
}

static void name_key(json_t *list, bool applies, struct qn_str key)
{
    if (applies) {
        json_array_append_new(list, json_stringn(key.ptr, key.len));
    }
}

void qn_accounting_init(struct qn_accounting *accounting, const struct qn_judge_input *in)
{
    struct books books;
    bool has_sink = in->level >= QN_LEVEL_SINK;
    bool has_effects = in->level >= QN_LEVEL_COMMAND;

    *accounting = (struct qn_accounting){
        .lost = json_array(),
        .unexpected = json_array(),
        .duplicated = json_array(),
        .recovered = json_array(),
        .orphaned = json_array(),
        .premature = json_array(),
    };
    qn_table_init_for(&books.entries, sizeof(struct entry), &in->history->texts);
    qn_table_init_for(&books.messages, sizeof(bool), &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        step(&books, in, &in->history->events[i], accounting);
    }
    for (const struct qn_table_item *item = books.entries.first; item != NULL; item = item->next) {
        const struct entry *entry = item->value;
        bool is_out = entry->applied > 0 || entry->is_dead || entry->is_recorded;
        bool is_gone = !is_out && !entry->is_filtered && entry->queued == 0;
        name_key(accounting->lost, has_effects && entry->is_acked && is_gone, item->key);
        name_key(accounting->unexpected, is_out && !entry->is_sent, item->key);
        name_key(accounting->duplicated, entry->applied > 1, item->key);
        name_key(accounting->recovered, is_out && entry->is_sent && !entry->is_acked, item->key);
        name_key(accounting->orphaned, entry->applied > 0 && entry->queued > 0, item->key);
        name_key(accounting->premature, has_sink && entry->is_premature && !entry->is_filtered,
                 item->key);
    }
    qn_table_done(&books.messages);
    qn_table_done(&books.entries);
}

void qn_accounting_done(struct qn_accounting *accounting)
{
    json_decref(accounting->lost);
    json_decref(accounting->unexpected);
    json_decref(accounting->duplicated);
    json_decref(accounting->recovered);
    json_decref(accounting->orphaned);
    json_decref(accounting->premature);
    *accounting = (struct qn_accounting){0};
}
