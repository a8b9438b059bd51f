/* What became of everything that was sent: Jepsen's accounting for queues, extended to effects. */
#include "chaos/check/judge/judge.h"

struct entry {
    bool is_sent;
    bool is_acked;
    bool in_queue;
    bool is_dead;
    bool is_recorded;  /* rejected or reconciled */
    bool is_premature; /* removed before there was anything to show for it */
    int64_t applied;
};

static void step(struct qn_table *entries, const struct qn_judge_input *in,
                 const struct qn_check_event *event, struct qn_accounting *accounting)
{
    bool is_state = event->kind >= QN_CHECK_LEASE_GRANT && event->kind <= QN_CHECK_MSG_DUPCOPY;

    if (qn_str_is_none(event->k) || (is_state && !qn_judge_on_source(in, event))) {
        return;
    }
    struct entry *entry = qn_table_at(entries, event->k);
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
        entry->in_queue = true;
        break;
    case QN_CHECK_MSG_DELETE:
        entry->in_queue = false;
        entry->is_premature = entry->is_premature || (entry->applied == 0 && !entry->is_recorded);
        break;
    case QN_CHECK_MSG_DLQ:
        entry->in_queue = false;
        entry->is_dead = true;
        break;
    case QN_CHECK_WORK_COMMIT:
        entry->applied += !event->replayed;
        accounting->applied += !event->replayed;
        break;
    case QN_CHECK_REJECT:
    case QN_CHECK_RECONCILE:
        entry->is_recorded = true;
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
    struct qn_table entries;
    bool has_sink = in->level >= QN_LEVEL_SINK;

    *accounting = (struct qn_accounting){
        .lost = json_array(),
        .unexpected = json_array(),
        .duplicated = json_array(),
        .recovered = json_array(),
        .orphaned = json_array(),
        .premature = json_array(),
    };
    qn_table_init(&entries, sizeof(struct entry));
    for (size_t i = 0; i < in->history->count; i++) {
        step(&entries, in, &in->history->events[i], accounting);
    }
    for (const struct qn_table_item *item = entries.first; item != NULL; item = item->next) {
        const struct entry *entry = item->value;
        bool is_out = entry->applied > 0 || entry->is_dead || entry->is_recorded;
        name_key(accounting->lost, has_sink && entry->is_acked && !is_out && !entry->in_queue,
                 item->key);
        name_key(accounting->unexpected, is_out && !entry->is_sent, item->key);
        name_key(accounting->duplicated, entry->applied > 1, item->key);
        name_key(accounting->recovered, is_out && entry->is_sent && !entry->is_acked, item->key);
        name_key(accounting->orphaned, entry->applied > 0 && entry->in_queue, item->key);
        name_key(accounting->premature, has_sink && entry->is_premature, item->key);
    }
    qn_table_done(&entries);
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
