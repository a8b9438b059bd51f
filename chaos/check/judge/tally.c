/* The counts that expressions ask for. */
#include "chaos/check/judge/judge.h"

static void count_in(struct qn_table *table, struct qn_str name)
{
    int64_t *count = qn_table_at_kept(table, name);

    (*count)++;
}

/* What the consumer itself sends on: to the next in line, or to itself for later. */
static void count_sends(struct qn_tally *tally, const struct qn_judge_input *in,
                        const struct qn_check_event *event)
{
    if (event->kind != QN_CHECK_MSG_SEND || qn_str_equal(event->instance, in->self)) {
        return;
    }
    struct qn_tally_key *key = qn_table_at_kept(&tally->keys, event->k);
    key->outputs += in->output_queue.len > 0 && qn_str_equal(event->queue, in->output_queue);
    if (in->retry_queue.len > 0 && qn_str_equal(event->queue, in->retry_queue)) {
        key->resent++;
        key->resent_at_once += event->deadline == QN_EVENT_NO_INT;
    }
}

static void count_by_key(struct qn_tally *tally, const struct qn_judge_input *in,
                         const struct qn_check_event *event)
{
    bool is_state = event->kind >= QN_CHECK_LEASE_GRANT && event->kind <= QN_CHECK_MSG_DUPCOPY;

    if (qn_str_is_none(event->k)) {
        return;
    }
    count_sends(tally, in, event);
    if (is_state && !qn_judge_on_source(in, event)) {
        return;
    }
    struct qn_tally_key *key = qn_table_at_kept(&tally->keys, event->k);
    if (event->kind == QN_CHECK_LOAD) {
        key->digest = event->digest != QN_EVENT_NO_INT ? event->digest : 0;
        key->outcome = event->what;
        if (!qn_str_is_none(event->detail->target)) {
            *(struct qn_str *)qn_table_at(&tally->names, event->detail->target) = event->k;
        }
    }
    if (event->kind == QN_CHECK_EFFECT_COUNT && in->level < QN_LEVEL_SINK) {
        key->effects += event->detail->count;
    }
    key->grp = qn_str_is_none(key->grp) ? event->grp : key->grp;
    key->sent += event->kind == QN_CHECK_MSG_SEND;
    key->rejects += event->kind == QN_CHECK_REJECT;
    key->leases += event->kind == QN_CHECK_LEASE_GRANT;
    key->attempts += event->kind == QN_CHECK_WORK_BEGIN;
    key->effects += event->kind == QN_CHECK_WORK_COMMIT && !event->replayed;
    key->deletes += event->kind == QN_CHECK_MSG_DELETE;
    key->dead += event->kind == QN_CHECK_MSG_DLQ;
    key->changed += event->kind == QN_CHECK_WORK_BEGIN && key->digest != 0 &&
                    event->digest != QN_EVENT_NO_INT && event->digest != key->digest;
}

void qn_tally_init(struct qn_tally *tally, const struct qn_judge_input *in)
{
    qn_table_init_for(&tally->keys, sizeof(struct qn_tally_key), &in->history->texts);
    qn_table_init_for(&tally->calls, sizeof(int64_t), &in->history->texts);
    qn_table_init(&tally->names, sizeof(struct qn_str));
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (!qn_judge_counts(in, event)) {
            continue;
        }
        if (event->kind == QN_CHECK_API_IN) {
            count_in(&tally->calls, event->action);
        }
        count_by_key(tally, in, event);
    }
}

bool qn_tally_selects(const struct qn_tally *tally, struct qn_str which, struct qn_str key)
{
    struct qn_str group;
    const struct qn_tally_key *known = qn_table_find(&tally->keys, key);
    const struct qn_str *named = qn_table_find(&tally->names, which);

    if (known == NULL) {
        return false;
    }
    if (named != NULL) {
        return qn_str_equal(*named, key);
    }
    if (qn_str_equal(qn_str_cut(which, '=', &group), QN_STR("group")) && !qn_str_is_none(group)) {
        return qn_judge_fits(known->grp, group);
    }
    return qn_str_equal(which, QN_STR("all")) || qn_judge_fits(key, which) ||
           qn_str_equal(known->outcome, which);
}

void qn_tally_done(struct qn_tally *tally)
{
    qn_table_done(&tally->keys);
    qn_table_done(&tally->calls);
    qn_table_done(&tally->names);
}
