/* What lies in the dead-letter queue at the end, as somebody would look at it who has to decide
 * what becomes of it: how each came there, what was tried, and the beginning of its body. */
#include "chaos/check/report/report.h"

#include <inttypes.h>

/* What is known of a message from its key. */
struct past {
    const struct qn_check_event *sent;    /* the first time */
    const struct qn_check_event *aborted; /* the last attempt that failed */
    const struct qn_check_event *rejected;
    int64_t leases;
};

static void note(struct qn_table *pasts, struct qn_table *moved,
                 const struct qn_report_queues *queues, const struct qn_check_event *event)
{
    if (event->undone) {
        return;
    }
    if (event->kind == QN_CHECK_MSG_DLQ && !qn_str_is_none(event->mid)) {
        (void)qn_table_at(moved, event->mid);
    }
    struct qn_str name = qn_judge_message_name(event);
    if (name.len == 0) {
        return;
    }
    struct past *past = qn_table_at(pasts, name);
    switch (event->kind) {
    case QN_CHECK_MSG_SEND:
        past->sent = past->sent != NULL ? past->sent : event;
        break;
    case QN_CHECK_LEASE_GRANT:
        past->leases += qn_str_equal(event->queue, queues->source);
        break;
    case QN_CHECK_WORK_ABORT:
        past->aborted = event;
        break;
    case QN_CHECK_REJECT:
        past->rejected = event;
        break;
    default:
        break;
    }
}

static void tell_reason(const struct past *past, bool was_moved, struct qn_buf *buf)
{
    if (was_moved) {
        qn_buf_append_format(buf, "received %" PRId64 " time%s", past->leases,
                             past->leases == 1 ? "" : "s");
    } else {
        qn_buf_append_literal(buf, "the consumer put it there");
    }
    if (past->rejected != NULL) {
        qn_buf_append_literal(buf, "; recorded as rejected");
    } else if (past->aborted != NULL && past->aborted->detail->reason.len > 0) {
        qn_buf_append_format(buf, "; last attempt: %.*s",
                             QN_STR_ARG(past->aborted->detail->reason));
    }
}

void qn_report_dead_letters(const struct qn_report_entry *entry, qn_dead_letter_fn *tell,
                            void *context)
{
    const struct qn_history *history = &entry->result.history;
    struct qn_report_queues queues;
    struct qn_table pasts; /* struct past, by the name of the message */
    struct qn_table moved; /* by message id: the queue itself moved it */
    struct qn_buf reason;

    qn_report_queues(entry, &queues);
    qn_table_init(&pasts, sizeof(struct past));
    qn_table_init(&moved, 1);
    qn_buf_init(&reason, SIZE_MAX / 2);
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (event->kind != QN_CHECK_LETTER) {
            note(&pasts, &moved, &queues, event);
            continue;
        }
        const struct past *past = qn_table_at(&pasts, qn_judge_message_name(event));
        const struct qn_check_event *sent = past->sent;
        bool was_moved = qn_table_find(&moved, event->mid) != NULL;
        qn_buf_clear(&reason);
        tell_reason(past, was_moved, &reason);
        const struct qn_dead_letter letter = {
            .mid = event->mid,
            .k = event->k,
            .receives = was_moved ? past->leases : event->n,
            .sent_at_ms = sent != NULL ? sent->vt : QN_EVENT_NO_INT,
            .sent_after_ms = sent != NULL ? sent->vt - history->events[0].vt : 0,
            .reason = qn_buf_str(&reason),
            .body = event->detail->reason,
        };
        tell(context, &letter);
    }
    qn_buf_done(&reason);
    qn_table_done(&moved);
    qn_table_done(&pasts);
    qn_report_queues_done(&queues);
}
