/* NO-LOSS: every accepted message has its effect, a record of rejection or a place in the
 * dead-letter queue, or is still in a queue. Without the sink or an effects command: it was deleted
 * or dead-lettered. An effects command counts effects, not records: behind the delete of what can
 * never succeed there may be one. */
#include "chaos/check/judge/judge.h"

struct message {
    struct qn_str k;
    uint64_t sent_seq;    /* the send was answered, or seen in the queue */
    uint64_t deleted_seq; /* the last delete */
    int64_t deleted_ms;
    struct qn_str deleted_by;
    bool in_queue;
    bool dead;
};

static void note(struct qn_table *messages, const struct qn_check_event *event)
{
    if (qn_str_is_none(event->mid) || event->undone) {
        return;
    }
    struct message *message = qn_table_at_kept(messages, event->mid);
    message->k = qn_str_is_none(message->k) ? event->k : message->k;
    switch (event->kind) {
    case QN_CHECK_LOAD:
        message->sent_seq = event->seq;
        break;
    case QN_CHECK_MSG_SEND:
        message->sent_seq = event->seq;
        message->in_queue = true;
        break;
    case QN_CHECK_MSG_DUPCOPY:
        message->in_queue = true;
        break;
    case QN_CHECK_MSG_DELETE:
        message->deleted_seq = event->seq;
        message->deleted_ms = event->vt;
        message->deleted_by = event->instance;
        message->in_queue = false;
        break;
    case QN_CHECK_MSG_DLQ:
    case QN_CHECK_MSG_MOVE:
        message->dead = true;
        message->in_queue = false;
        break;
    default:
        break;
    }
}

static bool is_lost(const struct qn_judge_input *in, const struct message *message,
                    const struct qn_table *terms)
{
    if (message->sent_seq == 0 || message->dead || qn_judge_is_excepted(in, message->k)) {
        return false;
    }
    if (message->in_queue) {
        return false; /* that it is still there is for DRAINED to say */
    }
    if (in->level < QN_LEVEL_COMMAND) {
        return message->deleted_seq == 0;
    }
    bool is_record_unseen = in->level < QN_LEVEL_SINK && in->poison != QN_POISON_DLQ;
    if ((in->poison == QN_POISON_DISCARD || is_record_unseen) &&
        qn_judge_is_poison(in, message->k)) {
        return message->deleted_seq == 0 && qn_table_find(terms, message->k) == NULL;
    }
    return qn_table_find_kept(terms, message->k) == NULL;
}

/* What took the work from the one who had deleted its message, such as a kill, while it would have
 * held the lease. 0: nothing did. */
static uint64_t died_seq(const struct qn_judge_input *in, const struct message *message)
{
    for (size_t i = 0; message->deleted_seq != 0 && i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        bool is_end =
            event->kind == QN_CHECK_MARK && qn_str_equal(event->detail->reason, QN_STR("end"));
        if (is_end || (event->seq > message->deleted_seq &&
                       event->vt > message->deleted_ms + in->visibility_ms)) {
            break;
        }
        if (event->kind == QN_CHECK_PROC && event->seq > message->deleted_seq &&
            qn_str_equal(event->what, QN_STR("exit")) && event->detail->signal > 0 &&
            qn_str_equal(event->instance, message->deleted_by)) {
            return event->seq;
        }
    }
    return 0;
}

static void judge(const struct qn_judge_input *in, const struct qn_table *messages,
                  const struct qn_table *terms, bool has_unnamed, struct qn_finding *finding)
{
    const struct message *first = NULL;
    uint64_t died = 0;
    size_t lost = 0;

    for (const struct qn_table_item *item = messages->first; item != NULL; item = item->next) {
        const struct message *message = item->value;
        if (!is_lost(in, message, terms)) {
            continue;
        }
        lost++;
        qn_finding_witness(finding, message->sent_seq);
        if (message->deleted_seq != 0) {
            qn_finding_witness(finding, message->deleted_seq);
        }
        if (first == NULL) {
            first = message;
            died = died_seq(in, first);
            if (died != 0) {
                qn_finding_witness(finding, died);
            }
        }
    }
    if (first == NULL) {
        return;
    }
    bool is_untold = in->level == QN_LEVEL_COMMAND && terms->first == NULL;
    const char *what = first->deleted_seq == 0 ? "was accepted and is nowhere"
                       : is_untold ? "was deleted, and --effects-cmd told of no effect at all"
                       : has_unnamed
                           ? "was deleted, and no effect has its key (one has no key at all)"
                           : "was deleted without any effect";
    qn_finding_set(finding, QN_RESULT_FAIL, "%zu of %zu messages lost: %.*s %s%s", lost,
                   messages->count, QN_STR_ARG(first->k), what,
                   died != 0 ? ", and then its process died" : "");
}

void qn_judge_no_loss(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_table messages;
    struct qn_table terms;
    bool has_unnamed = false;

    qn_table_init_for(&messages, sizeof(struct message), &in->history->texts);
    qn_table_init_for(&terms, 1, &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (qn_judge_settles(in, event) ||
            (event->kind == QN_CHECK_EFFECT_COUNT && event->detail->count > 0)) {
            (void)qn_table_at_kept(&terms, event->k);
            has_unnamed = has_unnamed || qn_str_equal(event->k, QN_STR(QN_CHECK_NO_KEY));
        } else if (event->kind == QN_CHECK_LOAD ||
                   (qn_judge_is_state(event) && qn_judge_on_source(in, event))) {
            note(&messages, event);
        }
    }
    judge(in, &messages, &terms, has_unnamed, ret_finding);
    qn_table_done(&terms);
    qn_table_done(&messages);
}
