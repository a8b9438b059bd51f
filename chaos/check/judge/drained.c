/* DRAINED: at the end nothing is visible, in flight or delayed on the source queue. Where rules
 * kept each answer with what is left from the consumer, it was not put to the test. */
#include "chaos/check/judge/book.h"

enum { LAPSES_KEPT_AWAY = 2 }; /* so many visibility timeouts before the end */

struct message {
    struct qn_str name;
    struct qn_str grp;
    int64_t leases;
    uint64_t last_seq;
    int64_t granted_ms; /* the last lease */
    bool in_queue;
    bool is_delivered; /* some answer brought it */
};

static bool is_delivered(const struct qn_book *book, const struct qn_check_event *grant)
{
    const struct qn_lease *lease = qn_book_lease_of(book, grant->h);

    return lease == NULL || !lease->is_kept_away;
}

static void note(const struct qn_judge_input *in, struct qn_table *messages,
                 const struct qn_check_event *event)
{
    if (qn_str_is_none(event->mid)) {
        return;
    }
    struct message *message = qn_table_at_kept(messages, event->mid);
    message->name = qn_judge_message_name(event);
    message->last_seq = event->seq;
    message->leases += event->kind == QN_CHECK_LEASE_GRANT;
    message->grp = qn_str_is_none(message->grp) ? event->grp : message->grp;
    message->granted_ms = event->kind == QN_CHECK_LEASE_GRANT ? event->vt : message->granted_ms;
    if (event->kind == QN_CHECK_LEASE_GRANT && in->book != NULL) {
        message->is_delivered = message->is_delivered || is_delivered(in->book, event);
    }
    /* A lease tells it too: a message that was twice in the queue is deleted once, and the other
     * copy may be held for ever by one who extends the handle that it forgot. */
    message->in_queue = event->kind < QN_CHECK_MSG_DELETE || event->kind > QN_CHECK_MSG_EXPIRE;
}

/* It was received, and never arrived. Who has not asked again since the lease lapsed has given up:
 * that is no rule's doing. */
static bool was_kept_away(const struct message *message, int64_t since_ms)
{
    return message->in_queue && message->leases > 0 && !message->is_delivered &&
           message->granted_ms >= since_ms;
}

/* What stands behind such a message in its group could not be received either. NULL: the consumer
 * has had one of those left, or could have. */
static const struct message *all_kept_away(const struct qn_table *messages, int64_t since_ms)
{
    const struct message *first = NULL;
    struct qn_table blocked; /* bool, by group */
    bool is_all = true;

    qn_table_init(&blocked, sizeof(bool));
    for (const struct qn_table_item *item = messages->first; item != NULL; item = item->next) {
        const struct message *message = item->value;
        if (was_kept_away(message, since_ms)) {
            first = first != NULL ? first : message;
            if (!qn_str_is_none(message->grp)) {
                *(bool *)qn_table_at(&blocked, message->grp) = true;
            }
        }
    }
    for (const struct qn_table_item *item = messages->first; item != NULL; item = item->next) {
        const struct message *message = item->value;
        bool is_behind = message->leases == 0 && !qn_str_is_none(message->grp) &&
                         qn_table_find(&blocked, message->grp) != NULL;
        is_all = is_all && (!message->in_queue || was_kept_away(message, since_ms) || is_behind);
    }
    qn_table_done(&blocked);
    return is_all ? first : NULL;
}

static void name_those_left(const struct qn_table *messages, int64_t left,
                            struct qn_finding *finding)
{
    const struct message *first = NULL;

    for (const struct qn_table_item *item = messages->first; item != NULL; item = item->next) {
        const struct message *message = item->value;
        /* One that was tried and not finished tells more than one that nobody touched. */
        if (message->in_queue && (first == NULL || message->leases > first->leases)) {
            first = message;
        }
    }
    if (first != NULL) {
        qn_finding_witness(finding, first->last_seq);
        qn_finding_set(
            finding, QN_RESULT_FAIL,
            "%lld messages still in the queue at the deadline, among them %.*s (received "
            "%lld times)",
            (long long)left, QN_STR_ARG(first->name), (long long)first->leases);
    } else {
        qn_finding_set(finding, QN_RESULT_FAIL, "%lld messages still in the queue at the deadline",
                       (long long)left);
    }
}

void qn_judge_drained(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_table messages;
    const struct qn_check_event *end = NULL;

    qn_table_init_for(&messages, sizeof(struct message), &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind == QN_CHECK_MARK && qn_str_equal(event->detail->reason, QN_STR("end"))) {
            end = event;
        } else if (event->kind >= QN_CHECK_LEASE_GRANT && event->kind <= QN_CHECK_MSG_DUPCOPY &&
                   qn_judge_on_source(in, event)) {
            note(in, &messages, event);
        }
    }
    int64_t left =
        end != NULL ? end->detail->visible + end->detail->in_flight + end->detail->delayed : 0;
    if (end == NULL) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE, "the history has no end");
    } else if (left > 0) {
        int64_t since_ms = end->vt - LAPSES_KEPT_AWAY * in->visibility_ms;
        const struct message *kept = in->book != NULL ? all_kept_away(&messages, since_ms) : NULL;
        if (kept == NULL) {
            name_those_left(&messages, left, ret_finding);
        } else {
            qn_finding_set_unexercised(ret_finding,
                                       "rules broke each answer with a message that is left");
            qn_finding_witness(ret_finding, kept->last_seq);
        }
    }
    qn_table_done(&messages);
}
