/* NEWEST-HANDLE: what ends a message is a delete with the handle of the last receive. A late one
 * with an older handle is harmless when another follows, or when the message is gone. */
#include "chaos/check/judge/book.h"

/* An answer takes its time to be read: a delete that crosses it on the way is no mistake. */
enum { MARGIN_MS = 50 };

/* Per message: its last delete request while it was in the queue. */
struct message {
    bool is_gone;
    const struct qn_check_event *call;
    const struct qn_lease *used;
    const struct qn_lease *newest; /* that the caller had in its hands then */
};

static const struct qn_lease *newest_delivered(const struct qn_lease *used,
                                               const struct qn_lease *newest,
                                               const struct qn_check_event *call, int64_t slack_ms)
{
    int64_t before_ms = call->wt - MARGIN_MS - slack_ms;

    for (const struct qn_lease *lease = newest; lease != NULL && lease != used;
         lease = lease->older) {
        if (lease->owner == used->owner && lease->life == used->life && lease->delivered != NULL &&
            lease->delivered->seq < call->seq && lease->delivered->wt < before_ms) {
            return lease;
        }
    }
    return used;
}

static void note_call(const struct qn_judge_input *in, struct qn_table *messages,
                      const struct qn_check_event *call)
{
    for (size_t i = 0; i < call->detail->handle_count; i++) {
        const struct qn_lease *used = qn_book_lease_of(in->book, call->detail->handles[i]);
        if (used == NULL || qn_judge_is_excepted(in, used->grant->k)) {
            continue;
        }
        struct message *message = qn_table_at_kept(messages, used->grant->mid);
        struct qn_lease **newest = qn_table_find_kept(&in->book->by_message, used->grant->mid);
        if (!message->is_gone) {
            message->call = call;
            message->used = used;
            message->newest = newest_delivered(used, *newest, call, in->slack_ms);
        }
    }
}

static void judge(const struct message *message, struct qn_finding *finding)
{
    const struct qn_lease *newest = message->newest;

    /* The newer one may still be worked on, or its process died over it. */
    if (newest == message->used || newest->ended == NULL || newest->is_left || newest->is_excused) {
        return;
    }
    if (qn_finding_break(finding, QN_MUST,
                         "the last delete of %.*s (seq %llu) used the handle of receive %lld, and "
                         "receive %lld had brought a newer one (seq %llu)",
                         QN_STR_ARG(qn_judge_message_name(newest->grant)),
                         (unsigned long long)message->call->seq, (long long)message->used->grant->n,
                         (long long)newest->grant->n, (unsigned long long)newest->delivered->seq)) {
        qn_finding_witness(finding, message->used->grant->seq);
        qn_finding_witness(finding, newest->grant->seq);
        qn_finding_witness(finding, message->call->seq);
    }
}

void qn_judge_newest_handle(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_table messages;

    qn_table_init_for(&messages, sizeof(struct message), &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (qn_judge_asks_to_delete(in, event)) {
            note_call(in, &messages, event);
        } else if (event->kind == QN_CHECK_MSG_DELETE && !event->undone &&
                   !qn_str_is_none(event->mid)) {
            struct message *message = qn_table_at_kept(&messages, event->mid);
            message->is_gone = true;
        } else if (event->kind == QN_CHECK_MSG_DUPCOPY && !event->undone) {
            struct message *message = qn_table_at_kept(&messages, event->mid);
            message->is_gone = false;
        }
    }
    for (const struct qn_table_item *item = messages.first; item != NULL; item = item->next) {
        const struct message *message = item->value;
        if (message->call != NULL) {
            judge(message, ret_finding);
        }
    }
    qn_table_done(&messages);
}
