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

/* A receive that the SDK repeated: its attempts have one invocation id. */
struct receive {
    struct qn_str req; /* the last attempt's */
    bool is_touched;   /* by a rule */
    bool is_answered;  /* well, and untouched */
};

static void find_repeated(struct qn_table *receives, const struct qn_judge_input *in)
{
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind == QN_CHECK_API_IN && event->attempt > 1 &&
            !qn_str_is_none(event->detail->invocation) &&
            qn_judge_is_call(in, event, QN_STR("ReceiveMessage"))) {
            (void)qn_table_at(receives, event->detail->invocation);
        }
    }
}

static void note_attempt(struct receive *receive, struct qn_str req, struct qn_table *attempts,
                         struct qn_table *dropped)
{
    if (receive->is_answered) {
        (void)qn_table_at(dropped, receive->req);
    }
    *receive = (struct receive){.req = req};
    *(struct receive **)qn_table_at(attempts, req) = receive;
}

/* Requests whose answer the client lost by itself: it was sent whole, no rule touched it, and the
 * SDK asks again all the same. Seen with the SDK for Go, once in some hundred receives, against any
 * server. What is leased by them is nobody's, and no fault of the consumer. */
static void find_dropped(struct qn_table *dropped, const struct qn_judge_input *in)
{
    struct qn_table receives; /* struct receive, by invocation */
    struct qn_table attempts; /* struct receive *, by request */

    qn_table_init(&receives, sizeof(struct receive));
    qn_table_init(&attempts, sizeof(struct receive *));
    find_repeated(&receives, in);
    for (size_t i = 0; receives.first != NULL && i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        struct receive *receive;
        if (event->kind == QN_CHECK_BOOT) { /* what was on the wire is gone */
            for (struct qn_table_item *item = receives.first; item != NULL; item = item->next) {
                receive = item->value;
                receive->is_answered = false;
            }
        } else if (event->kind == QN_CHECK_API_IN && !qn_str_is_none(event->detail->invocation)) {
            receive = qn_table_find(&receives, event->detail->invocation);
            if (receive != NULL) {
                note_attempt(receive, event->req, &attempts, dropped);
            }
        } else if ((event->kind == QN_CHECK_API_OUT || event->kind == QN_CHECK_FAULT) &&
                   !qn_str_is_none(event->req)) {
            struct receive **attempt = qn_table_find(&attempts, event->req);
            if (attempt != NULL && qn_str_equal((*attempt)->req, event->req)) {
                receive = *attempt;
                receive->is_touched |= event->kind == QN_CHECK_FAULT;
                receive->is_answered = !receive->is_touched && event->kind == QN_CHECK_API_OUT &&
                                       qn_str_equal(event->code, QN_STR("OK"));
            }
        }
    }
    qn_table_done(&attempts);
    qn_table_done(&receives);
}

static void count_by_key(struct qn_tally *tally, const struct qn_judge_input *in,
                         const struct qn_table *dropped, const struct qn_check_event *event)
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
    key->leases += event->kind == QN_CHECK_LEASE_GRANT &&
                   (qn_str_is_none(event->req) || qn_table_find(dropped, event->req) == NULL);
    key->attempts += event->kind == QN_CHECK_WORK_BEGIN;
    key->effects += event->kind == QN_CHECK_WORK_COMMIT && !event->replayed &&
                    qn_str_is_none(event->detail->step);
    key->deletes += event->kind == QN_CHECK_MSG_DELETE;
    key->dead += event->kind == QN_CHECK_MSG_DLQ;
    key->changed += event->kind == QN_CHECK_WORK_BEGIN && key->digest != 0 &&
                    event->digest != QN_EVENT_NO_INT && event->digest != key->digest;
}

void qn_tally_init(struct qn_tally *tally, const struct qn_judge_input *in)
{
    struct qn_table dropped;

    tally->has_effect = false;
    qn_table_init(&dropped, 1);
    find_dropped(&dropped, in);
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
        tally->has_effect |=
            event->kind == QN_CHECK_WORK_BEGIN && qn_str_is_none(event->detail->step);
        count_by_key(tally, in, &dropped, event);
    }
    qn_table_done(&dropped);
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
